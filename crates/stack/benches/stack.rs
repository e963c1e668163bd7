//! Cost of each further log on a stack, compared with the FTL alone.
//!
//!     cargo bench --bench stack -- [--quick] [NAME…]
//!
//! Runs the stacks whose name contains one of the words, and the FTL alone.
//!
//! Runs the same workload on the FTL alone and on stacks of one, two and three logs above it, in turns, and takes the
//! median of each. Columns:
//!
//! - `pages`: page writes of all layers together, host and cleaning, metadata included.
//! - `ns/page`: CPU time per written page, including the workload generator.
//! - `above`: cost of a page written by the logs, over the cost of a page in the FTL alone. The FTL's pages are assumed
//!   to cost as much as in the FTL alone; the remaining time is divided by the pages of the logs. The goal is at most
//!   1.
//!
//! Times are CPU time of the thread. On a shared machine, times vary by a half and ratios by a tenth.

use cpu_time::ThreadTime;
use std::ops::ControlFlow;
use wearwell_stack::{Progress, RunResult, Scenario, run};

/// Stacks: number of logs on the FTL, and their special settings.
const STACKS: &[(&str, usize, &str)] = &[
    ("FTL alone", 0, ""),
    ("1 log", 1, ""),
    ("2 logs", 2, ""),
    ("3 logs", 3, ""),
    ("1 log, page TRIM", 1, "trim = { unit = \"page\" }\n"),
    ("1 log, F2FS metadata", 1, "metadata = \"f2fs\"\n"),
];

fn scenario(capacity: &str, logs: usize, special: &str) -> Scenario {
    let log = format!(
        "[[log]]\nsegment_size = \"2 MiB\"\nspare_factor = 0.2\nvictim = {{ policy = \"d_choices\" }}\n{special}"
    );
    let text = format!(
        "[device]\nraw_capacity = \"{capacity}\"\nspare_factor = 0.2\npages_per_block = 128\n\
         [ftl]\nvictim = {{ policy = \"d_choices\" }}\n{}\
         [workload]\nkind = \"uniform\"\n[measure]\nwarm_up = 1.0\ndrive_writes = 20.0\n",
        log.repeat(logs)
    );
    toml::from_str(&text).expect("a scenario")
}

/// Returns CPU nanoseconds of a run, page writes of all its layers, and page writes of the FTL.
fn measure(scenario: &Scenario) -> (f64, f64, f64) {
    let start = ThreadTime::now();
    let result: RunResult = run(scenario, &mut |_: &Progress| ControlFlow::Continue(())).expect("a run");
    let ns = start.elapsed().as_nanos() as f64;
    let pages = result.performance.page_writes_per_second * result.performance.seconds;
    let programs: u64 = result.windows.iter().map(|window| window.programs).sum();
    (ns, pages, programs as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let names: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    let stacks: Vec<_> = STACKS.iter().filter(|(name, logs, _)| *logs == 0 || is_selected(name)).collect();
    let quick = std::env::args().any(|argument| argument == "--quick");
    for (capacity, rounds) in if quick { &[("256 MiB", 5)][..] } else { &[("256 MiB", 9), ("4 GiB", 5)] } {
        println!(
            "{capacity} of flash\n{:<22} {:>14} {:>9} {:>14} {:>7}",
            "", "pages", "ns/page", "above", "goal"
        );
        let scenarios: Vec<Scenario> =
            stacks.iter().map(|(_, logs, special)| scenario(capacity, *logs, special)).collect();
        let mut runs = vec![Vec::new(); stacks.len()];
        for _ in 0..*rounds {
            runs.iter_mut().zip(&scenarios).for_each(|(runs, scenario)| runs.push(measure(scenario)));
        }
        let ftl_alone: Vec<f64> = runs[0].iter().map(|(ns, pages, _)| ns / pages).collect();
        for ((name, logs, _), runs) in stacks.iter().zip(&runs) {
            let (_, pages, programs) = runs[0];
            let per_page = median(runs.iter().map(|(ns, pages, _)| ns / pages).collect());
            let above = |(run, ftl_ns_per_page): (&(f64, f64, f64), &f64)| {
                (run.0 / ftl_ns_per_page - programs) / (pages - programs)
            };
            let ratio = median(runs.iter().zip(&ftl_alone).map(above).collect());
            let verdict = if ratio <= 1.0 { "met" } else { "MISSED" };
            let ratio_text = if *logs == 0 { String::new() } else { format!("{ratio:>12.2} x {verdict:>7}") };
            println!("{name:<22} {pages:>14.0} {per_page:>9.2} {ratio_text}");
        }
    }
}
