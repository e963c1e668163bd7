//! Time of theoretical predictions, in milliseconds: `cargo bench --bench theory`.
//!
//! Computes fixed points to 1e-10 in write amplification on one thread; prints the best and the median of repeated
//! runs.

use cpu_time::ThreadTime;
use wearwell_theory::mean_field::{MeanField, Structure, optimal_choices};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Classes, Drive};

/// Spare factor, number of choices, fraction of writes to hot pages, fraction of space that is hot.
const CASES: &[(f64, f64, f64, f64)] = &[(0.10, 10.0, 0.9, 0.1), (0.05, 20.0, 0.94, 0.26)];

/// Returns the target time in milliseconds for a structure and a block size; `None` if the case has no target.
fn target_ms(structure: Structure, pages: u32) -> Option<f64> {
    match (structure, pages) {
        (Structure::Single, 64) => Some(2.0),
        (Structure::Single, 256) => Some(20.0),
        (Structure::Double, 64) => Some(10.0),
        (Structure::Double, 256) => Some(500.0),
        _ => None,
    }
}

fn write_amplification(pages: u32, case: (f64, f64, f64, f64), structure: Structure) -> (f64, usize) {
    let (spare_factor, choices, hot_writes, hot_space) = case;
    let selection = DChoices::new(choices).expect("choices");
    let drive = Drive::new(pages, spare_factor).expect("drive");
    let classes = Classes::hot_cold(hot_writes, hot_space).expect("classes");
    let state = MeanField::new(drive, classes, structure, &selection)
        .expect("size")
        .steady_state()
        .expect("fixed point");
    (state.write_amplification, state.evaluations)
}

/// Returns the best and the median time of `count` runs, in milliseconds.
fn milliseconds(count: usize, mut run: impl FnMut()) -> (f64, f64) {
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let start = ThreadTime::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[count / 2])
}

fn report(name: &str, pages: u32, result: &str, (best, median): (f64, f64), target_ms: Option<f64>) {
    let verdict = match target_ms {
        None => String::new(),
        Some(goal) => format!("{goal:8} {}", if median < goal { "met" } else { "MISSED" }),
    };
    println!("{name:34} {pages:5} {result:>24} {best:9.3} {median:9.3} {verdict}");
}

fn main() {
    println!(
        "{:34} {:>5} {:>24} {:>9} {:>9} {:>8}",
        "model", "b", "WA, passes", "best ms", "median ms", "goal ms"
    );
    for structure in [Structure::Single, Structure::Double] {
        for pages in [16, 32, 64, 128, 256] {
            for case in CASES {
                let (amplification, passes) = write_amplification(pages, *case, structure);
                let count = if pages < 128 { 50 } else { 7 };
                let times = milliseconds(count, || {
                    std::hint::black_box(write_amplification(pages, *case, structure));
                });
                let name = format!("{structure:?} S_f {} d {} ({}, {})", case.0, case.1, case.2, case.3);
                report(
                    &name,
                    pages,
                    &format!("{amplification:.10}, {passes}"),
                    times,
                    target_ms(structure, pages),
                );
            }
        }
    }
    let (spare_factor, _, hot_writes, hot_space) = CASES[0];
    let mut best = 0;
    let times = milliseconds(7, || {
        let drive = Drive::new(32, spare_factor).expect("drive");
        let classes = Classes::hot_cold(hot_writes, hot_space).expect("classes");
        let scan = optimal_choices(drive, &classes, Structure::Double, 150);
        best = scan.expect("fixed points").best.choices;
    });
    report("Double, 150 values of d", 32, &format!("best d = {best}"), times, Some(200.0));
}
