//! Figure 2 of the CAGC paper: increase of response times by inline deduplication on a drive with ultra-low latency.
//!
//! The paper does not state the utilisation of the drive, the request rate, the hashing time (the number is lost in
//! our copy) or the parallelism of the flash. All of these are varied here, one after the other.

use crate::Failure;
use crate::cagc::{
    AssumedValues, CLOSED_LOOP, Drive, INLINE, NONE, Pair, TRACES, mean_request_us, mean_write_us,
    write_p99_us,
};
use crate::chart::{Chart, Series};
use crate::session::Session;
use crate::stacks::{Column, StackRuns, erases_per_thousand, run_stacks};
use crate::statements::Statements;
use crate::table::{Fields, Table};
use wearwell_stack::RunResult;

/// Share of the space in use at which nothing is cleaned during these short runs, and the length of the runs.
const NO_CLEANING: (f64, [f64; 2]) = (0.35, [0.3, 1.0]);

/// One die without planes, and a channel without transfer time: pages are processed one after the other, with the
/// times in Table I.
const SERIAL: &str = "dies = 1\nplanes = 1";

/// An open block uses all four planes of the preset, which are on two dies with two planes each: the drive writes
/// four pages at the same time.
const PARALLEL: &str = "dies = 2\nsuperblock_blocks = 4";

/// Parallelism of the flash.
#[derive(Clone, Copy, PartialEq)]
enum Flash {
    /// An open block is on one plane, and each page is first transferred over the channel.
    Preset,
    Serial,
    Parallel,
}

/// A variant of the paper's set-up.
struct SetUp {
    name: &'static str,
    used_share: f64,
    flash: Flash,
    /// Microseconds to hash a page; the assumed value unless given.
    hash_us: Option<f64>,
    timing: &'static str,
}

const fn set_up(name: &'static str, used: f64, timing: &'static str) -> SetUp {
    SetUp { name, used_share: used, flash: Flash::Preset, hash_us: None, timing }
}

const fn closed_loop(name: &'static str, used: f64, flash: Flash, hash_us: Option<f64>) -> SetUp {
    SetUp { name, used_share: used, flash, hash_us, timing: CLOSED_LOOP }
}

const fn open_loop(rate: u32) -> &'static str {
    match rate {
        100 => "requests = { requests_per_second = 100.0, spacing = \"exponential\" }",
        500 => "requests = { requests_per_second = 500.0, spacing = \"exponential\" }",
        5000 => "requests = { requests_per_second = 5000.0, spacing = \"exponential\" }",
        _ => "requests = { requests_per_second = 10000.0, spacing = \"exponential\" }",
    }
}

const NO_CLEANING_SHARE: f64 = NO_CLEANING.0;

const SET_UPS: [SetUp; 20] = [
    set_up("nothing to clean; closed", NO_CLEANING_SHARE, CLOSED_LOOP),
    set_up("nothing to clean; 4 engines", NO_CLEANING_SHARE, "queue_depth = 1\nhash_engines = 4"),
    set_up("nothing to clean; 500 a second", NO_CLEANING_SHARE, open_loop(500)),
    set_up("nothing to clean; 5000 a second", NO_CLEANING_SHARE, open_loop(5000)),
    set_up("nothing to clean; 10000 a second", NO_CLEANING_SHARE, open_loop(10000)),
    closed_loop("nothing to clean; serial; 10 us", NO_CLEANING_SHARE, Flash::Serial, Some(10.0)),
    closed_loop("nothing to clean; serial", NO_CLEANING_SHARE, Flash::Serial, None),
    closed_loop("nothing to clean; serial; 20 us", NO_CLEANING_SHARE, Flash::Serial, Some(20.0)),
    closed_loop("nothing to clean; serial; 30 us", NO_CLEANING_SHARE, Flash::Serial, Some(30.0)),
    closed_loop("nothing to clean; parallel; 5 us", NO_CLEANING_SHARE, Flash::Parallel, Some(5.0)),
    closed_loop("nothing to clean; parallel; 10 us", NO_CLEANING_SHARE, Flash::Parallel, Some(10.0)),
    closed_loop("nothing to clean; parallel", NO_CLEANING_SHARE, Flash::Parallel, None),
    set_up("60 % used; closed", 0.6, CLOSED_LOOP),
    set_up("80 % used; closed", 0.8, CLOSED_LOOP),
    set_up("80 % used; 500 a second", 0.8, open_loop(500)),
    set_up("full; closed", 1.0, CLOSED_LOOP),
    set_up("full; 100 a second", 1.0, open_loop(100)),
    set_up("full; 500 a second", 1.0, open_loop(500)),
    set_up("full; cleaning in the background", 1.0, "queue_depth = 1\ncleaning = \"background\""),
    closed_loop("full; serial", 1.0, Flash::Serial, None),
];

/// Response times that are compared.
const TIMES: [Column; 3] = [("all", mean_request_us), ("writes", mean_write_us), ("p99", write_p99_us)];

/// Group of set-ups that are evaluated together: its name, and a condition.
type SetUpGroup = (&'static str, fn(&SetUp) -> bool);

pub fn run(session: &Session) -> Result<(), Failure> {
    let (assumed, mut stacks) = (AssumedValues::from_session(session)?, Vec::new());
    for condition in &SET_UPS {
        for (trace, _) in TRACES {
            stacks.extend([NONE, INLINE].iter().map(|scheme| {
                let mut drive = Drive::new(&assumed, trace, scheme);
                drive.hash_us = condition.hash_us;
                drive.used_share = condition.used_share;
                if condition.used_share == NO_CLEANING_SHARE {
                    drive.drive_writes = NO_CLEANING.1;
                }
                let (device, channel) = match condition.flash {
                    Flash::Preset => ("dies = 2", ""),
                    Flash::Serial => (SERIAL, "\nchannel_mb_per_s = 1e9"),
                    Flash::Parallel => (PARALLEL, ""),
                };
                drive.device = device;
                drive.timing = Some(format!("{}{channel}", condition.timing));
                drive.stack(&[condition.name], session.length)
            }));
        }
    }
    let runs = run_stacks(session, stacks)?;
    publish(session, &runs)?;
    check(&runs).publish(session)
}

fn pair<'a>(runs: &'a [StackRuns], condition: &SetUp, trace: &str) -> Pair<'a> {
    Pair::find(runs, &[condition.name], trace, "inline", "none")
}

fn publish(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let mut table = Table::default();
    for condition in &SET_UPS {
        for (trace, _) in TRACES {
            let Pair { ours, reference: base } = pair(runs, condition, trace);
            let ratios = TIMES.map(|(_, time)| ours.ratio_to(base, time));
            let rate =
                |result: &RunResult| result.timing.as_ref().map_or(f64::NAN, |timing| timing.requests_per_s);
            table.add(
                Fields::default()
                    .text("condition", condition.name)
                    .text("trace", trace)
                    .number("none_us", base.mean(mean_request_us), 3)
                    .number("inline_us", ours.mean(mean_request_us), 3)
                    .number("all_ratio", ratios[0].mean, 3)
                    .number("ci", ratios[0].half_width, 3)
                    .number("writes_ratio", ratios[1].mean, 3)
                    .number("writes_ci", ratios[1].half_width, 3)
                    .number("p99_ratio", ratios[2].mean, 3)
                    .number("p99_ci", ratios[2].half_width, 3)
                    .number("none_erases_per_1000", base.mean(erases_per_thousand), 3)
                    .number("inline_erases_per_1000", ours.mean(erases_per_thousand), 3)
                    .number("none_requests_per_s", base.mean(rate), 3)
                    .number("inline_requests_per_s", ours.mean(rate), 3),
            );
        }
    }
    table.publish(session, "data")?;
    let series: Vec<Series> = TRACES
        .iter()
        .map(|(trace, _)| {
            let ratio = |condition: &SetUp| {
                let Pair { ours, reference: base } = pair(runs, condition, trace);
                ours.ratio_to(base, mean_request_us)
            };
            let points = (0..).map(f64::from).zip(SET_UPS.iter().map(ratio)).collect();
            Series { name: (*trace).to_owned(), points, has_line: false }
        })
        .collect();
    let title = "Mean response time, inline over none";
    let x = "0 to 11 nothing to clean (5 to 8 serial, 9 to 11 parallel), 12 to 14 partly used, 15 to 19 full";
    Chart { title, x, y: "normalised response time" }.draw(session, "plot", &series)
}

fn check(runs: &[StackRuns]) -> Statements {
    let mut statements = Statements::default();
    let groups: [SetUpGroup; 4] = [
        ("nothing to clean", |condition| {
            condition.used_share == NO_CLEANING_SHARE && condition.flash == Flash::Preset
        }),
        ("nothing to clean; serial", |condition| {
            condition.used_share == NO_CLEANING_SHARE && condition.flash == Flash::Serial
        }),
        ("nothing to clean; parallel", |condition| {
            condition.used_share == NO_CLEANING_SHARE && condition.flash == Flash::Parallel
        }),
        ("cleaning", |condition| condition.used_share != NO_CLEANING_SHARE),
    ];
    for (time, field) in TIMES {
        for (group, is_in) in groups {
            let cases = SET_UPS.iter().filter(|condition| is_in(condition)).flat_map(|condition| {
                TRACES.map(|(trace, _)| {
                    let Pair { ours, reference: base } = pair(runs, condition, trace);
                    (format!("{}: {trace}", condition.name), ours.exceeds(base, field))
                })
            });
            statements.check(&format!("inline is slower ({time}; {group})"), cases);
        }
    }
    let average = |condition: &SetUp| {
        let slower = TRACES.map(|(trace, _)| {
            let Pair { ours, reference: base } = pair(runs, condition, trace);
            ours.ratio_to(base, mean_request_us).mean - 1.0
        });
        (slower.iter().sum::<f64>() / 3.0, slower.into_iter().fold(f64::MIN, f64::max))
    };
    let of_average =
        SET_UPS.iter().map(|condition| (condition.name.to_owned(), average(condition).0 >= 0.431));
    statements.check("43.1 % on average is reached", of_average);
    let of_most = SET_UPS.iter().map(|condition| (condition.name.to_owned(), average(condition).1 >= 0.719));
    statements.check("71.9 % is reached under a trace", of_most);
    statements
}
