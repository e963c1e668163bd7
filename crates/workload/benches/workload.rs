//! Cost of each workload in nanoseconds per page: `cargo bench --bench workload`.
//!
//! Fills of 4,096 pages into one batch, at a million pages and at those of a 2 TiB device. Prints the best and
//! the median of 300 chunks of 64 Ki pages: on a shared machine the best is the closest to the speed of the code.

use std::time::Instant;
use wearwell_base::seed::Seed;
use wearwell_workload::{PageBatch, Workload, WorkloadConfig};

const CASES: &[(&str, &str)] = &[
    ("uniform", "kind = 'uniform'"),
    ("uniform, 30 % reads", "kind = 'uniform'\nread_ratio = 0.3"),
    ("uniform, 32-page requests", "kind = 'uniform'\nrequest_pages = 32"),
    (
        "uniform, mix of 1 and 32",
        "kind = 'uniform'\nrequest_pages = [{ pages = 1, weight = 0.7 }, { pages = 32, weight = 0.3 }]",
    ),
    ("hot_cold", "kind = 'hot_cold'\nhot_writes = 0.8\nhot_space = 0.2"),
    ("hot_cold, scattered", "kind = 'hot_cold'\nhot_writes = 0.8\nhot_space = 0.2\nscatter = true"),
    ("hot_cold, hinted", "kind = 'hot_cold'\nhot_writes = 0.8\nhot_space = 0.2\nhint = 'temperature'"),
    ("zipf 0.6", "kind = 'zipf'\nexponent = 0.6"),
    ("zipf 0.99", "kind = 'zipf'\nexponent = 0.99"),
    ("zipf 1.2", "kind = 'zipf'\nexponent = 1.2"),
    ("zipf 0.99, scattered", "kind = 'zipf'\nexponent = 0.99\nscatter = true"),
    ("zipf 0.99, scattered, hinted", "kind = 'zipf'\nexponent = 0.99\nscatter = true\nhint = 'temperature'"),
    ("sequential", "kind = 'sequential'"),
    ("sequential, 32-page requests", "kind = 'sequential'\nrequest_pages = 32"),
    (
        "mixed: log beside uniform",
        "kind = 'mixed'
         [[parts]]
         weight = 1
         space = 0.5
         workload = { kind = 'sequential' }
         [[parts]]
         weight = 1
         space = 0.5
         workload = { kind = 'uniform' }",
    ),
    (
        "phases: two of uniform",
        "kind = 'phases'
         repeat = true
         phases = [{ writes = 0.1, workload = { kind = 'uniform' } },
                   { writes = 0.2, workload = { kind = 'uniform' } }]",
    ),
];

fn main() {
    println!("{:30} {:>12} {:>8} {:>8}", "workload", "pages", "best", "median");
    for &(name, config) in CASES {
        let config: WorkloadConfig = toml::from_str(config).expect(name);
        for logical_pages in [1_000_000, 370_000_000] {
            let mut workload = config.build(logical_pages, Seed(1)).expect(name);
            let (best, median) = nanoseconds_per_page(workload.as_mut());
            println!("{name:30} {logical_pages:12} {best:8.2} {median:8.2}");
        }
    }
}

/// Returns the best and the median over chunks.
fn nanoseconds_per_page(workload: &mut dyn Workload) -> (f64, f64) {
    let mut batch = PageBatch::default();
    let mut chunk = || {
        let (begin, mut pages) = (Instant::now(), 0);
        while pages < 1 << 16 {
            batch.clear();
            workload.fill(&mut batch, 4096);
            pages += std::hint::black_box(&batch).pages.len();
        }
        begin.elapsed().as_nanos() as f64 / pages as f64
    };
    let mut times: Vec<f64> = (0..300).map(|_| chunk()).collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}
