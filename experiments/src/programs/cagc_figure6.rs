//! Figure 6 of the CAGC paper: largest reference counts of the pages that became invalid.
//!
//! The content generator was calibrated to the paper's statements. This program checks the statements on other drives
//! and under other schemes than those of the calibration; it gives no new information about the traces.

use crate::Failure;
use crate::cagc::{Assumed, CAGC, Drive, INLINE, TRACES, dedup, sharing};
use crate::chart::{Chart, Series};
use crate::session::Session;
use crate::stacks::{Column, Runs, Stack, run_stacks, table};
use crate::statements::Statements;
use wearwell_stack::RunResult;

/// Share of the user space in use.
const DRIVES: [(&str, f64); 2] = [("80 %", 0.8), ("full", 1.0)];

/// Returns the share of invalidated pages with this largest reference count: 1, 2, 3, more.
fn died(result: &RunResult, place: usize) -> f64 {
    let died = dedup(result).expect("the schemes of this figure share pages").died_by_references;
    died[place] as f64 / died.iter().sum::<u64>() as f64
}

fn once(result: &RunResult) -> f64 {
    died(result, 0)
}

fn three_or_more(result: &RunResult) -> f64 {
    died(result, 2) + died(result, 3)
}

/// Returns the share of stored pages with this reference count at the end of the run.
fn live(result: &RunResult, place: usize) -> f64 {
    let live = dedup(result).expect("the schemes of this figure share pages").live_by_references;
    live[place] as f64 / live.iter().sum::<u64>() as f64
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = Assumed::of(session)?;
    let mut stacks: Vec<Stack> = Vec::new();
    for (name, used) in DRIVES {
        for (trace, _) in TRACES {
            stacks.extend([INLINE, CAGC].iter().map(|scheme| {
                let drive = Drive {
                    used,
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
        ("died_at_2", |result| died(result, 1)),
        ("died_at_3", |result| died(result, 2)),
        ("died_at_more", |result| died(result, 3)),
        ("live_at_1", |result| live(result, 0)),
        ("live_at_2", |result| live(result, 1)),
        ("live_at_3", |result| live(result, 2)),
        ("live_at_more", |result| live(result, 3)),
        ("sharing_ratio", sharing),
    ];
    let keys = ["used", "trace", "scheme"];
    table(&keys, ("died_at_1", once), &columns, &runs).publish(session, "data")?;
    let series = |(number, name): (usize, &str)| {
        let shown = runs.iter().filter(|runs| runs.is(&["full"]));
        let points = (0..).map(f64::from).zip(shown.map(|runs| runs.of(|result| died(result, number))));
        Series { name: format!("{name} references"), points: points.collect(), joined: false }
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

fn check(runs: &[Runs]) -> Statements {
    let mut statements = Statements::default();
    let each = |holds: &dyn Fn(&Runs) -> bool| -> Vec<(String, bool)> {
        runs.iter().map(|runs| (runs.name(), holds(runs))).collect()
    };
    statements.check(
        "more than 80 % of the invalid pages had a reference count of 1",
        each(&|runs| runs.mean(once) > 0.8),
    );
    statements.check("fewer than 1 % had 3 or more", each(&|runs| runs.mean(three_or_more) < 0.01));
    statements.check(
        "pages with more references are less likely to die: ours: 3 or more are a smaller share of the dead than of the live",
        each(&|runs| runs.mean(three_or_more) < runs.mean(|result| live(result, 2) + live(result, 3))),
    );
    statements
}
