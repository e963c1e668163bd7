//! Figure 9 of the CAGC paper: erases and moved pages with and without deduplication, and the response times of the
//! next figure, whose text is lost.
//!
//! The paper does not state the utilisation of its drive, nor its initial contents; a full drive with 7 % spare space
//! cannot keep its watermark of 20 % erased blocks. Each reading is run.

use crate::Failure;
use crate::cagc::{
    Assumed, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, WATERMARK, all_us, by_trace, hashed, saved,
    sharing, unevenness, write_p99_us, write_us,
};
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::session::Session;
use crate::stacks::{Column, Runs, copied_below, erases, find, run_stacks, table, total};
use crate::statements::{Statements, rises};
use crate::table::{Table, number};
use wearwell_stack::RunResult;

const DOUBLE: Scheme = Scheme::new("none double", "kind = \"none\"", "\"double\"");

/// Merging without separate regions.
const UNSORTED: Scheme = Scheme::new("cagc single", "kind = \"cagc\"", "\"single\"");

const SCHEMES: [Scheme; 5] = [NONE, DOUBLE, INLINE, CAGC, UNSORTED];

/// A reading of the paper's set-up.
struct Reading {
    name: &'static str,
    change: fn(Drive) -> Drive,
}

const fn reading(name: &'static str, change: fn(Drive) -> Drive) -> Reading {
    Reading { name, change }
}

const READINGS: [Reading; 13] = [
    reading("60 % used", |drive| Drive { used: 0.6, ..drive }),
    reading("70 % used", |drive| Drive { used: 0.7, ..drive }),
    reading("80 % used", |drive| Drive { used: 0.8, ..drive }),
    reading("90 % used", |drive| Drive { used: 0.9, ..drive }),
    reading("full", |drive| drive),
    reading("60 % used; watermark 20 %", |drive| Drive { used: 0.6, watermark: WATERMARK, ..drive }),
    reading("80 % used; watermark 20 %", |drive| Drive { used: 0.8, watermark: WATERMARK, ..drive }),
    reading("60 % used; watermark 20 % not kept", |drive| Drive {
        used: 0.6,
        watermark: WATERMARK,
        keeps_watermark: false,
        ..drive
    }),
    reading("80 % used; watermark 20 % not kept", |drive| Drive {
        used: 0.8,
        watermark: WATERMARK,
        keeps_watermark: false,
        ..drive
    }),
    reading("full; not filled before", |drive| Drive { fill: "none", ..drive }),
    reading("full; 4 times the flash", |drive| Drive {
        flash_mib: 4 * drive.flash_mib,
        timing: None,
        ..drive
    }),
    reading("80 % used; long", |drive| Drive { used: 0.8, timing: None, drive_writes: LONG, ..drive }),
    reading("full; long", |drive| Drive { timing: None, drive_writes: LONG, ..drive }),
];

/// Drive writes of warm-up and measurement that overwrite nearly all initial contents: the cold four fifths of the
/// space get a fifth of the writes.
const LONG: [f64; 2] = [15.0, 5.0];

/// Readings that differ only in the share in use.
const USED: [(&str, f64); 5] =
    [("60 % used", 0.6), ("70 % used", 0.7), ("80 % used", 0.8), ("90 % used", 0.9), ("full", 1.0)];

pub fn run(session: &Session) -> Result<(), Failure> {
    let (assumed, mut stacks) = (Assumed::of(session)?, Vec::new());
    for Reading { name, change } in &READINGS {
        for (trace, _) in TRACES {
            let drive = |scheme| change(Drive::new(&assumed, trace, scheme));
            stacks.extend(SCHEMES.iter().map(|scheme| drive(scheme).stack(&[name], session.length)));
        }
    }
    let runs = run_stacks(session, stacks)?;
    publish(session, &runs)?;
    let mut statements = check(&runs);
    twins(session, &assumed, &runs, &mut statements)?;
    statements.publish(session)
}

/// Runs a twin of each drive with CAGC: a drive without deduplication whose share in use is reduced by the sharing of
/// CAGC. It measures the benefit of the freed space alone.
fn twins(
    session: &Session,
    assumed: &Assumed,
    runs: &[Runs],
    statements: &mut Statements,
) -> Result<(), Failure> {
    let ours = |used, trace| Pair::find(runs, &[used], trace, "cagc", "none");
    let mut stacks = Vec::new();
    for (name, used) in USED {
        for (trace, _) in TRACES {
            let used = used / ours(name, trace).ours.mean(sharing);
            stacks.push(
                Drive { used, timing: None, ..Drive::new(assumed, trace, &NONE) }
                    .stack(&[name], session.length),
            );
        }
    }
    let twins = run_stacks(session, stacks)?;
    let head =
        ["reading", "trace", "none", "cagc", "twin", "twin_ci", "percent_of_the_saving", "sharing_ratio"];
    let mut table = Table::new(&head);
    let mut less = Vec::new();
    for (name, _) in USED {
        for (trace, _) in TRACES {
            let (pair, twin) = (ours(name, trace), find(&twins, &[name, trace]));
            let [none, cagc] = [pair.base, pair.ours].map(|runs| runs.mean(erases));
            let room = twin.of(erases);
            let share = 100.0 * (none - room.mean) / (none - cagc);
            let values = [none, cagc, room.mean, room.half_width, share, pair.ours.mean(sharing)];
            let keys = [name, trace].map(str::to_owned).into_iter();
            table.push(keys.chain(values.map(|value| number(value, 3))).collect());
            less.push((format!("{name}: {trace}"), twin.exceeds(pair.ours, erases)));
        }
    }
    statements
        .check("ours: CAGC erases less than a drive without it that has the room which merging makes", less);
    table.publish(session, "twins")
}

fn publish(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let columns: [Column; 11] = [
        ("moved_pages", copied_below),
        ("programs", total),
        ("saved_pages", saved),
        ("hashed_pages", hashed),
        ("sharing_ratio", sharing),
        ("all_us", all_us),
        ("write_us", write_us),
        ("write_p99_us", write_p99_us),
        ("erases_max_over_mean", unevenness),
        ("tbw", |result| result.lifetime.map_or(f64::NAN, |lifetime| lifetime.tbw)),
        ("tbw_first_block", |result| {
            result.lifetime.and_then(|lifetime| lifetime.tbw_first_block).unwrap_or(f64::NAN)
        }),
    ];
    let keys = ["reading", "trace", "scheme"];
    table(&keys, ("erases_per_1000", erases), &columns, runs).write(session, "data")?;
    let mut savings = by_trace(&["reading", "scheme", "saved_percent"]);
    let fields: [Column; 4] = [
        ("erases", erases),
        ("moved pages", copied_below),
        ("response time", all_us),
        ("p99 of writes", write_p99_us),
    ];
    for Reading { name, .. } in &READINGS {
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

/// Draws the erases saved over the share in use, with the paper's values.
fn draw(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let mut series = Vec::new();
    for (trace, paper) in TRACES {
        let point = |(name, used): (&str, f64)| {
            let Pair { ours, base } = Pair::find(runs, &[name], trace, "cagc", "none");
            let ratio = ours.over(base, erases);
            (used, Interval { mean: 100.0 * (1.0 - ratio.mean), half_width: 100.0 * ratio.half_width })
        };
        series.push(Series { name: trace.to_owned(), points: USED.map(point).into(), joined: true });
        let level = USED.map(|(_, used)| (used, 100.0 * paper));
        series.push(Series::line(format!("{trace}, the paper"), level));
    }
    let title = "Erases that CAGC saves against no deduplication";
    let chart = Chart { title, x: "share of the user space in use", y: "percent" };
    chart.draw(session, "plot", &series)
}

fn check(runs: &[Runs]) -> Statements {
    let mut statements = Statements::default();
    let each = |scheme: &str, base: &str, holds: &dyn Fn(&Pair, f64) -> bool| -> Vec<(String, bool)> {
        let cases =
            READINGS.iter().flat_map(|reading| TRACES.map(|(trace, paper)| (reading.name, trace, paper)));
        let tried = cases.map(|(name, trace, paper)| {
            (format!("{name}: {trace}"), holds(&Pair::find(runs, &[name], trace, scheme, base), paper))
        });
        tried.collect()
    };
    let within = |pair: &Pair, paper: f64| (pair.saved_percent(erases) - 100.0 * paper).abs() <= 5.0;
    statements.check("CAGC erases less than none", each("cagc", "none", &|pair, _| pair.is_less(erases)));
    statements.check("CAGC moves fewer pages", each("cagc", "none", &|pair, _| pair.is_less(copied_below)));
    statements
        .check("the saving is within 5 percentage points of the paper's", each("cagc", "none", &within));
    let bounded = |pair: &Pair, paper: f64| paper <= 1.0 - 1.0 / pair.base.mean(total);
    statements.check(
        "ours: it is possible: none programs so much that storing each written page once saves the paper's share",
        each("cagc", "none", &bounded),
    );
    let order = READINGS.iter().map(|reading| {
        let saved = TRACES
            .map(|(trace, _)| Pair::find(runs, &[reading.name], trace, "cagc", "none").saved_percent(erases));
        (reading.name.to_owned(), rises(saved))
    });
    statements.check("the more duplicates the more is saved: Homes Web-vm Mail", order);
    let timed = |cases: Vec<(String, bool)>| -> Vec<(String, bool)> {
        let untimed = ["long", "times"];
        cases.into_iter().filter(|(name, _)| !untimed.iter().any(|word| name.contains(word))).collect()
    };
    let faster = |field: fn(&RunResult) -> f64| move |pair: &Pair, _: f64| pair.is_less(field);
    statements.check("CAGC shortens responses", timed(each("cagc", "none", &faster(all_us))));
    statements.check("ours: inline erases less than CAGC", each("inline", "cagc", &faster(erases)));
    statements.check("ours: inline answers faster than CAGC", timed(each("inline", "cagc", &faster(all_us))));
    statements.check("ours: the regions save erases", each("cagc", "cagc single", &faster(erases)));
    statements.check(
        "ours: CAGC erases less than none with two frontiers",
        each("cagc", "none double", &faster(erases)),
    );
    statements
}
