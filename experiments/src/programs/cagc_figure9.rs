//! Figure 9 of the CAGC paper: erases and moved pages with and without deduplication; and the response times of the
//! next figure, whose text is lost.
//!
//! The paper states neither the utilisation of its drive nor the initial content; a full drive with 7 % spare space
//! cannot keep its watermark of 20 % erased blocks. Each interpretation is run.

use crate::Failure;
use crate::cagc::{
    AssumedValues, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, WATERMARK, by_trace,
    dedup_pages_per_host, hashed_pages_per_host, max_to_mean_erases, mean_request_us, mean_write_us,
    sharing_ratio, write_p99_us,
};
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::session::Session;
use crate::stacks::{
    Column, StackRuns, copied_below, erases_per_thousand, find, run_stacks, table, total_amplification,
};
use crate::statements::{Statements, is_rising};
use crate::table::{Table, number};
use wearwell_stack::RunResult;

const DOUBLE: Scheme = Scheme::new("none double", "kind = \"none\"", "\"double\"");

/// CAGC without separate regions.
const UNSORTED: Scheme = Scheme::new("cagc single", "kind = \"cagc\"", "\"single\"");

const SCHEMES: [Scheme; 5] = [NONE, DOUBLE, INLINE, CAGC, UNSORTED];

/// Interpretation of the paper's set-up.
struct SetUp {
    name: &'static str,
    change: fn(Drive) -> Drive,
}

const fn set_up(name: &'static str, change: fn(Drive) -> Drive) -> SetUp {
    SetUp { name, change }
}

const SET_UPS: [SetUp; 13] = [
    set_up("60 % used", |drive| Drive { used_share: 0.6, ..drive }),
    set_up("70 % used", |drive| Drive { used_share: 0.7, ..drive }),
    set_up("80 % used", |drive| Drive { used_share: 0.8, ..drive }),
    set_up("90 % used", |drive| Drive { used_share: 0.9, ..drive }),
    set_up("full", |drive| drive),
    set_up("60 % used; watermark 20 %", |drive| Drive { used_share: 0.6, watermark: WATERMARK, ..drive }),
    set_up("80 % used; watermark 20 %", |drive| Drive { used_share: 0.8, watermark: WATERMARK, ..drive }),
    set_up("60 % used; watermark 20 % not kept", |drive| Drive {
        used_share: 0.6,
        watermark: WATERMARK,
        keeps_watermark: false,
        ..drive
    }),
    set_up("80 % used; watermark 20 % not kept", |drive| Drive {
        used_share: 0.8,
        watermark: WATERMARK,
        keeps_watermark: false,
        ..drive
    }),
    set_up("full; not filled before", |drive| Drive { fill: "none", ..drive }),
    set_up("full; 4 times the flash", |drive| Drive {
        flash_mib: 4 * drive.flash_mib,
        timing: None,
        ..drive
    }),
    set_up("80 % used; long", |drive| Drive {
        used_share: 0.8,
        timing: None,
        drive_writes: LONG_DRIVE_WRITES,
        ..drive
    }),
    set_up("full; long", |drive| Drive { timing: None, drive_writes: LONG_DRIVE_WRITES, ..drive }),
];

/// Drive writes of warm-up and measurement that overwrite nearly all initial content: the cold four fifths of the
/// space get a fifth of the writes.
const LONG_DRIVE_WRITES: [f64; 2] = [15.0, 5.0];

/// Interpretations that differ only in the share of the space in use.
const USED_SHARES: [(&str, f64); 5] =
    [("60 % used", 0.6), ("70 % used", 0.7), ("80 % used", 0.8), ("90 % used", 0.9), ("full", 1.0)];

pub fn run(session: &Session) -> Result<(), Failure> {
    let (assumed, mut stacks) = (AssumedValues::from_session(session)?, Vec::new());
    for SetUp { name, change } in &SET_UPS {
        for (trace, _) in TRACES {
            let drive = |scheme| change(Drive::new(&assumed, trace, scheme));
            stacks.extend(SCHEMES.iter().map(|scheme| drive(scheme).stack(&[name], session.length)));
        }
    }
    let runs = run_stacks(session, stacks)?;
    publish(session, &runs)?;
    let mut statements = check(&runs);
    run_twins(session, &assumed, &runs, &mut statements)?;
    statements.publish(session)
}

/// For each drive with CAGC, runs a drive without deduplication whose share in use is reduced by the sharing ratio of
/// CAGC. It measures the benefit of only the freed space.
fn run_twins(
    session: &Session,
    assumed: &AssumedValues,
    runs: &[StackRuns],
    statements: &mut Statements,
) -> Result<(), Failure> {
    let ours = |used, trace| Pair::find(runs, &[used], trace, "cagc", "none");
    let mut stacks = Vec::new();
    for (name, used) in USED_SHARES {
        for (trace, _) in TRACES {
            let used = used / ours(name, trace).ours.mean(sharing_ratio);
            stacks.push(
                Drive { used_share: used, timing: None, ..Drive::new(assumed, trace, &NONE) }
                    .stack(&[name], session.length),
            );
        }
    }
    let twins = run_stacks(session, stacks)?;
    let head =
        ["reading", "trace", "none", "cagc", "twin", "twin_ci", "percent_of_the_saving", "sharing_ratio"];
    let mut table = Table::new(&head);
    let mut less = Vec::new();
    for (name, _) in USED_SHARES {
        for (trace, _) in TRACES {
            let (pair, twin_runs) = (ours(name, trace), find(&twins, &[name, trace]));
            let [none, cagc] = [pair.reference, pair.ours].map(|runs| runs.mean(erases_per_thousand));
            let twin_erases = twin_runs.interval(erases_per_thousand);
            let share = 100.0 * (none - twin_erases.mean) / (none - cagc);
            let values =
                [none, cagc, twin_erases.mean, twin_erases.half_width, share, pair.ours.mean(sharing_ratio)];
            let keys = [name, trace].map(str::to_owned).into_iter();
            table.push(keys.chain(values.map(|value| number(value, 3))).collect());
            less.push((format!("{name}: {trace}"), twin_runs.exceeds(pair.ours, erases_per_thousand)));
        }
    }
    statements
        .check("ours: CAGC erases less than a drive without it that has the room which merging makes", less);
    table.publish(session, "twins")
}

fn publish(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let columns: [Column; 11] = [
        ("moved_pages", copied_below),
        ("programs", total_amplification),
        ("saved_pages", dedup_pages_per_host),
        ("hashed_pages", hashed_pages_per_host),
        ("sharing_ratio", sharing_ratio),
        ("all_us", mean_request_us),
        ("write_us", mean_write_us),
        ("write_p99_us", write_p99_us),
        ("erases_max_over_mean", max_to_mean_erases),
        ("tbw", |result| result.lifetime.map_or(f64::NAN, |lifetime| lifetime.tbw)),
        ("tbw_first_block", |result| {
            result.lifetime.and_then(|lifetime| lifetime.tbw_first_block).unwrap_or(f64::NAN)
        }),
    ];
    let keys = ["reading", "trace", "scheme"];
    table(&keys, ("erases_per_1000", erases_per_thousand), &columns, runs).write(session, "data")?;
    let mut savings = by_trace(&["reading", "scheme", "saved_percent"]);
    let fields: [Column; 4] = [
        ("erases", erases_per_thousand),
        ("moved pages", copied_below),
        ("response time", mean_request_us),
        ("p99 of writes", write_p99_us),
    ];
    for SetUp { name, .. } in &SET_UPS {
        for scheme in &SCHEMES[1..] {
            for (what, field) in fields {
                let saved = TRACES.map(|(trace, _)| {
                    number(Pair::find(runs, &[name], trace, scheme.name, "none").saved_percent(field), 1)
                });
                let keys = [*name, scheme.name, what].map(str::to_owned);
                savings.push(keys.into_iter().chain(saved).collect());
            }
        }
    }
    savings.publish(session, "savings")?;
    draw(session, runs)
}

/// Draws the erases saved over the share of the space in use, with the values of the paper.
fn draw(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let mut series = Vec::new();
    for (trace, paper) in TRACES {
        let point = |(name, used): (&str, f64)| {
            let Pair { ours, reference: base } = Pair::find(runs, &[name], trace, "cagc", "none");
            let ratio = ours.ratio_to(base, erases_per_thousand);
            (used, Interval { mean: 100.0 * (1.0 - ratio.mean), half_width: 100.0 * ratio.half_width })
        };
        series.push(Series { name: trace.to_owned(), points: USED_SHARES.map(point).into(), has_line: true });
        let level = USED_SHARES.map(|(_, used)| (used, 100.0 * paper));
        series.push(Series::line(format!("{trace}, the paper"), level));
    }
    let title = "Erases that CAGC saves against no deduplication";
    let chart = Chart { title, x: "share of the user space in use", y: "percent" };
    chart.draw(session, "plot", &series)
}

fn check(runs: &[StackRuns]) -> Statements {
    let mut statements = Statements::default();
    let each = |scheme: &str, base: &str, holds: &dyn Fn(&Pair, f64) -> bool| -> Vec<(String, bool)> {
        let cases =
            SET_UPS.iter().flat_map(|reading| TRACES.map(|(trace, paper)| (reading.name, trace, paper)));
        let results = cases.map(|(name, trace, paper)| {
            (format!("{name}: {trace}"), holds(&Pair::find(runs, &[name], trace, scheme, base), paper))
        });
        results.collect()
    };
    let within =
        |pair: &Pair, paper: f64| (pair.saved_percent(erases_per_thousand) - 100.0 * paper).abs() <= 5.0;
    statements.check(
        "CAGC erases less than none",
        each("cagc", "none", &|pair, _| pair.is_less(erases_per_thousand)),
    );
    statements.check("CAGC moves fewer pages", each("cagc", "none", &|pair, _| pair.is_less(copied_below)));
    statements
        .check("the saving is within 5 percentage points of the paper's", each("cagc", "none", &within));
    let bounded = |pair: &Pair, paper: f64| paper <= 1.0 - 1.0 / pair.reference.mean(total_amplification);
    statements.check(
        "ours: it is possible: none programs so much that storing each written page once saves the paper's share",
        each("cagc", "none", &bounded),
    );
    let order = SET_UPS.iter().map(|reading| {
        let saved = TRACES.map(|(trace, _)| {
            Pair::find(runs, &[reading.name], trace, "cagc", "none").saved_percent(erases_per_thousand)
        });
        (reading.name.to_owned(), is_rising(saved))
    });
    statements.check("the more duplicates the more is saved: Homes Web-vm Mail", order);
    let timed = |cases: Vec<(String, bool)>| -> Vec<(String, bool)> {
        let untimed = ["long", "times"];
        cases.into_iter().filter(|(name, _)| !untimed.iter().any(|word| name.contains(word))).collect()
    };
    let faster = |field: fn(&RunResult) -> f64| move |pair: &Pair, _: f64| pair.is_less(field);
    statements.check("CAGC shortens responses", timed(each("cagc", "none", &faster(mean_request_us))));
    statements
        .check("ours: inline erases less than CAGC", each("inline", "cagc", &faster(erases_per_thousand)));
    statements.check(
        "ours: inline answers faster than CAGC",
        timed(each("inline", "cagc", &faster(mean_request_us))),
    );
    statements
        .check("ours: the regions save erases", each("cagc", "cagc single", &faster(erases_per_thousand)));
    statements.check(
        "ours: CAGC erases less than none with two frontiers",
        each("cagc", "none double", &faster(erases_per_thousand)),
    );
    statements
}
