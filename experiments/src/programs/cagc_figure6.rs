//! Figure 6 of the CAGC paper: the highest reference count that each page had before it became invalid.
//!
//! The content generator was calibrated to the paper's statements. This program checks the statements on drives and
//! under schemes that differ from those of the calibration; it gives no new information about the traces.

use crate::Failure;
use crate::cagc::{AssumedValues, CAGC, Drive, INLINE, TRACES, dedup, sharing_ratio};
use crate::chart::{Chart, Series};
use crate::session::Session;
use crate::stacks::{Column, Stack, StackRuns, run_stacks, table};
use crate::statements::Statements;
use wearwell_stack::RunResult;

/// Share of the user space in use.
const USED_SHARES: [(&str, f64); 2] = [("80 %", 0.8), ("full", 1.0)];

/// Returns the share of invalidated pages with this highest reference count: 1, 2, 3, or more.
fn invalidated_share(result: &RunResult, index: usize) -> f64 {
    let died = dedup(result).expect("the schemes of this figure share pages").invalidated_by_references;
    died[index] as f64 / died.iter().sum::<u64>() as f64
}

fn invalidated_with_one_reference(result: &RunResult) -> f64 {
    invalidated_share(result, 0)
}

fn invalidated_with_three_or_more(result: &RunResult) -> f64 {
    invalidated_share(result, 2) + invalidated_share(result, 3)
}

/// Returns the share of stored pages with this reference count at the end of the run.
fn live_share(result: &RunResult, index: usize) -> f64 {
    let live = dedup(result).expect("the schemes of this figure share pages").live_by_references;
    live[index] as f64 / live.iter().sum::<u64>() as f64
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = AssumedValues::from_session(session)?;
    let mut stacks: Vec<Stack> = Vec::new();
    for (name, used) in USED_SHARES {
        for (trace, _) in TRACES {
            stacks.extend([INLINE, CAGC].iter().map(|scheme| {
                let drive = Drive {
                    used_share: used,
                    timing: None,
                    drive_writes: [6.0, 6.0],
                    ..Drive::new(&assumed, trace, scheme)
                };
                drive.stack(&[name], session.length)
            }));
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 8] = [
        ("died_at_2", |result| invalidated_share(result, 1)),
        ("died_at_3", |result| invalidated_share(result, 2)),
        ("died_at_more", |result| invalidated_share(result, 3)),
        ("live_at_1", |result| live_share(result, 0)),
        ("live_at_2", |result| live_share(result, 1)),
        ("live_at_3", |result| live_share(result, 2)),
        ("live_at_more", |result| live_share(result, 3)),
        ("sharing_ratio", sharing_ratio),
    ];
    let keys = ["used", "trace", "scheme"];
    table(&keys, ("died_at_1", invalidated_with_one_reference), &columns, &runs).publish(session, "data")?;
    let series = |(number, name): (usize, &str)| {
        let shown = runs.iter().filter(|runs| runs.has_keys(&["full"]));
        let points = (0..)
            .map(f64::from)
            .zip(shown.map(|runs| runs.interval(|result| invalidated_share(result, number))));
        Series { name: format!("{name} references"), points: points.collect(), has_line: false }
    };
    let series: Vec<Series> = ["1", "2", "3", "more"].into_iter().enumerate().map(series).collect();
    let title = "Invalid pages by the most references that they had, full drive";
    let chart = Chart {
        title,
        x: "0, 1 Homes; 2, 3 Web-vm; 4, 5 Mail: inline, cagc",
        y: "share of the invalid pages",
    };
    chart.draw(session, "plot", &series)?;
    check(&runs).publish(session)
}

fn check(runs: &[StackRuns]) -> Statements {
    let mut statements = Statements::default();
    let each = |holds: &dyn Fn(&StackRuns) -> bool| -> Vec<(String, bool)> {
        runs.iter().map(|runs| (runs.name(), holds(runs))).collect()
    };
    statements.check(
        "more than 80 % of the invalid pages had a reference count of 1",
        each(&|runs| runs.mean(invalidated_with_one_reference) > 0.8),
    );
    statements.check(
        "fewer than 1 % had 3 or more",
        each(&|runs| runs.mean(invalidated_with_three_or_more) < 0.01),
    );
    statements.check(
        "pages with more references are less likely to die: ours: 3 or more are a smaller share of the dead than of the live",
        each(&|runs| runs.mean(invalidated_with_three_or_more) < runs.mean(|result| live_share(result, 2) + live_share(result, 3))),
    );
    statements
}
