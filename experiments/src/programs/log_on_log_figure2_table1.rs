//! Yang et al. (2014), Figure 2 and Table 1: a log like F2FS with 2, 4 and 6 streams, and its metadata, on an FTL.

use crate::Failure;
use crate::session::Session;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::stacks::{
    Column, Runs, Stack, above, copied_above, copied_below, device, erases, find, metadata, per_host,
    run_stacks, steady, table, top, total, user_pages,
};
use crate::statements::{Statements, rises};
use wearwell_stack::{MetadataResult, RunResult};

/// Streams of the log: their number, the placement that has them, and the pages that their summaries fill if packed
/// three to a page.
const STREAMS: [(&str, &str, u32); 3] = [
    ("2", "\"double\"", 1),
    ("4", "{ kind = \"age_classes\", age_bounds = [] }", 2),
    ("6", "\"age_classes\"", 2),
];

/// KiB written from one checkpoint to the next; the layout's own assumption is the last.
const INTERVALS: [&str; 7] = ["16", "64", "256", "1024", "4096", "16384", "65536"];

/// How full the summaries of open segments are in a checkpoint: a page for each, or packed.
const SUMMARIES: [&str; 2] = ["full", "packed"];

/// What is written to a new log.
const NEW_LOADS: [(&str, &str); 4] = [
    ("random 4 KiB", "kind = \"uniform\""),
    ("random 64 KiB", "kind = \"uniform\"\nrequest_pages = 16"),
    ("skewed 4 KiB", "kind = \"zipf\"\nexponent = 0.9\nscatter = true"),
    ("sequential 4 KiB", "kind = \"sequential\""),
];

/// What is written to an aged one: the paper's load, and one with skew whose requests say how hot their pages are.
const AGED_LOADS: [(&str, &str); 2] = [
    ("random", NEW_LOADS[0].1),
    ("skewed", "kind = \"zipf\"\nexponent = 0.9\nscatter = true\nhint = \"temperature\""),
];

/// What 2 and 6 streams of an aged log are for. `age` tells data by age, and node blocks are among the host's data;
/// `f2fs` keeps them in a stream of their own, and with six streams cleaned pages as well as hot and cold data.
const FAMILIES: [(&str, [(&str, &str); 2]); 2] = [
    ("age", [("2", "\"double\""), ("6", "\"age_classes\"")]),
    (
        "f2fs",
        [
            ("2", "{ kind = \"host_hint\", streams = 2, beyond = \"last\" }"),
            ("6", "{ kind = \"host_hint\", streams = 5, beyond = \"last\", cleaned = \"apart\" }"),
        ],
    ),
];

/// Blocks of the FTL in KiB, below segments of 1 MiB.
const LOWERS: [&str; 3] = ["256", "1024", "2048"];

/// Without metadata, and with it at these intervals.
const AGED_METADATA: [&str; 4] = ["none", "1024", "4096", "65536"];

/// Erased segments at which the log cleans: what six streams need, for all.
const POOL: u32 = 7;

/// The most that the paper reports, as a ratio: of FSWA (Figure 2) and of the device's cleaning (Table 1).
const MOST: [f64; 2] = [1.33, 1.32];

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut statements = Statements::default();
    let new = run_stacks(session, new_stacks())?;
    publish_new(session, &new)?;
    check_new(&mut statements, &new);
    let aged = run_stacks(session, aged_stacks(session.length))?;
    publish_aged(session, &aged)?;
    check_aged(&mut statements, &aged);
    statements.publish(session)
}

fn layout(interval: &str, summaries: &str, packed_pages: u32) -> String {
    let room = match summaries {
        "packed" => format!(", checkpoint_pages = {}, checkpoint_pages_per_stream = 0", 2 + packed_pages),
        _ => String::new(),
    };
    format!("metadata = {{ preset = \"f2fs\", checkpoint_every = \"{interval} KiB\"{room} }}")
}

/// A log on an FTL that shows so many MiB. Data have hints from 1 up, which leaves 0 to the
/// node blocks.
fn stack(
    shown_mib: u32,
    lower_kib: &str,
    placement: &str,
    metadata: &str,
    load: &str,
    measure: &str,
) -> String {
    let first_hint = u32::from(!load.contains("hint"));
    let block_pages = lower_kib.parse::<u32>().expect("a whole number") / 4;
    format!(
        r#"
        [device]
        capacity = "{shown_mib} MiB"
        spare_factor = 0.1
        pages_per_block = {block_pages}
        [ftl]
        placement = "single"
        [[log]]
        segment_size = "1 MiB"
        placement = {placement}
        free_blocks_low = {POOL}
        {metadata}
        [[tenant]]
        first_hint = {first_hint}
        [tenant.workload]
        {load}
        {measure}
        "#
    )
}

/// A quarter of a drive write to a new log of 10 GiB, which has nothing to clean yet.
fn new_stacks() -> Vec<Stack> {
    let measure = "[precondition]\nfill = \"none\"\n[measure]\nwarm_up = 0.0\ndrive_writes = 0.25\n";
    let mut stacks = Vec::new();
    for (load, workload) in NEW_LOADS {
        for summaries in SUMMARIES {
            for interval in INTERVALS {
                stacks.extend(STREAMS.map(|(streams, placement, packed)| Stack {
                    keys: [load, summaries, interval, streams].map(str::to_owned).to_vec(),
                    toml: stack(
                        10240,
                        "2048",
                        placement,
                        &layout(interval, summaries, packed),
                        workload,
                        measure,
                    ),
                }));
            }
        }
    }
    stacks
}

fn aged_stacks(length: f64) -> Vec<Stack> {
    let measure = steady(length);
    let mut stacks = Vec::new();
    for (load, workload) in AGED_LOADS {
        for lower in LOWERS {
            for (family, placements) in FAMILIES {
                for kind in AGED_METADATA {
                    stacks.extend(placements.map(|(streams, placement)| {
                        let own = if kind == "none" { String::new() } else { layout(kind, "full", 0) };
                        let toml = stack(512, lower, placement, &own, workload, &measure);
                        Stack { keys: [load, lower, family, kind, streams].map(str::to_owned).to_vec(), toml }
                    }));
                }
            }
        }
    }
    stacks
}

fn kind(result: &RunResult, pages: fn(&MetadataResult) -> u64) -> f64 {
    per_host(result, top(result).metadata.as_ref().map_or(0, pages))
}

fn checkpoints(result: &RunResult) -> f64 {
    kind(result, |metadata| metadata.checkpoint_pages)
}

const KINDS: [Column; 4] = [
    ("summary_pages", |result| kind(result, |metadata| metadata.summary_pages)),
    ("map_pages", |result| kind(result, |metadata| metadata.map_pages)),
    ("segment_info_pages", |result| kind(result, |metadata| metadata.segment_info_pages)),
    ("checkpoint_pages", checkpoints),
];

/// Each group of runs that differ in the streams alone: its name, and the runs from 2 to 6.
fn groups(runs: &[Runs]) -> impl Iterator<Item = (String, &[Runs])> {
    let keys = |runs: &Runs| runs.keys[..runs.keys.len() - 1].join("; ");
    runs.chunk_by(move |a, b| keys(a) == keys(b)).map(move |runs| (keys(&runs[0]), runs))
}

/// The runs of a group with 2 and with 6 streams.
fn ends(runs: &[Runs]) -> [&Runs; 2] {
    [&runs[0], &runs[runs.len() - 1]]
}

/// 6 over 2 streams.
fn growth(runs: &[Runs], field: fn(&RunResult) -> f64) -> Interval {
    let [two, six] = ends(runs);
    six.over(two, field)
}

/// 6 streams less 2.
fn more(runs: &[Runs], field: fn(&RunResult) -> f64) -> f64 {
    let [two, six] = ends(runs);
    six.mean(field) - two.mean(field)
}

fn publish_new(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let last: [Column; 2] = [("copied_above", copied_above), ("user_pages", user_pages)];
    let columns: Vec<Column> = KINDS.into_iter().chain(last).collect();
    let keys = ["load", "summaries", "checkpoint_kib", "streams"];
    let out = "figure2";
    table(&keys, ("fswa", above), &columns, runs).publish(session, out)?;
    let mut series = Vec::new();
    for (load, _) in NEW_LOADS {
        for (streams, ..) in STREAMS {
            let at =
                |interval: &str| (log2(interval), find(runs, &[load, "full", interval, streams]).of(above));
            let points = INTERVALS.into_iter().map(at).collect();
            series.push(Series { name: format!("{load}, {streams}"), points, joined: true });
        }
    }
    let title = "Figure 2: pages written below by a new log with 2, 4 and 6 streams";
    let chart = Chart { title, x: "log2 of KiB from one checkpoint to the next", y: "FSWA" };
    chart.draw(session, "figure2", &series)
}

fn log2(interval: &str) -> f64 {
    interval.parse::<f64>().expect("a number").log2()
}

fn check_new(statements: &mut Statements, runs: &[Runs]) {
    let each = |holds: &dyn Fn(&[Runs]) -> bool| -> Vec<(String, bool)> {
        groups(runs).map(|(name, runs)| (name, holds(runs))).collect()
    };
    let larger = each(&|runs| growth(runs, above).mean > 1.0);
    statements.check("figure 2: with 6 streams the log writes more to the device than with 2", larger);
    let steps = each(&|runs| rises(runs.iter().map(|runs| runs.mean(above))));
    statements.check("figure 2: … and more with each step from 2 to 4 to 6", steps);
    let felt = each(&|runs| growth(runs, above).mean > 1.01);
    statements.check("figure 2: by more than 1 %", felt);
    let most = NEW_LOADS.map(|(load, _)| {
        let of = groups(runs).filter(|(_, runs)| runs[0].is(&[load, "full"]));
        let most = of.map(|(_, runs)| growth(runs, above).mean).fold(0.0, f64::max);
        (format!("{load}: {most:.2}"), most >= MOST[0])
    });
    statements.check("figure 2: by up to 33 % at some interval between checkpoints", most);
    let range = each(&|runs| {
        let [two, six] = ends(runs);
        two.mean(above) > 1.45 && six.mean(above) < 2.05
    });
    statements.check("figure 2: FSWA lies between 1.5 and 2.0", range);
    let own = each(&|runs| more(runs, checkpoints) >= 0.9 * more(runs, above));
    statements.check("ours: the summaries in checkpoints are 90 % or more of what is added", own);
}

fn publish_aged(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let first: [Column; 7] = [
        ("fswa", above),
        ("device_wa", device),
        ("copied_above", copied_above),
        ("copied_below", copied_below),
        ("erases_per_1000", erases),
        ("metadata_pages", metadata),
        ("user_pages", user_pages),
    ];
    let columns: Vec<Column> = first.into_iter().chain(KINDS).collect();
    let keys = ["load", "lower_kib", "family", "checkpoint_kib", "streams"];
    let out = "table1";
    table(&keys, ("tcwa", total), &columns, runs).publish(session, out)?;
    for (family, _) in FAMILIES {
        let mut series = Vec::new();
        for (load, _) in AGED_LOADS {
            for lower in LOWERS {
                for (name, field) in [("device WA", device as fn(&RunResult) -> f64), ("FSWA", above)] {
                    let of = groups(runs).filter(|(_, runs)| runs[0].is(&[load, lower, family]));
                    let points = of.enumerate().map(|(at, (_, runs))| (at as f64, growth(runs, field)));
                    let name = format!("{name}, {load}, {lower} KiB");
                    series.push(Series { name, points: points.collect(), joined: true });
                }
            }
        }
        let title =
            format!("Table 1: 6 over 2 streams of an aged log, equal host writes, streams by {family}");
        let x = "metadata: none, checkpoints every 1 MiB, 4, 64 MiB";
        let chart = Chart { title: &title, x, y: "6 over 2 streams" };
        chart.draw(session, &format!("table1_{family}"), &series)?;
    }
    Ok(())
}

fn check_aged(statements: &mut Statements, runs: &[Runs]) {
    let each = |logs: bool, holds: &dyn Fn(&[Runs]) -> bool| -> Vec<(String, bool)> {
        let wanted = groups(runs).filter(|(_, runs)| logs == (runs[0].keys[3] != "none"));
        wanted.map(|(name, runs)| (name, holds(runs))).collect()
    };
    let rises = |field: fn(&RunResult) -> f64| {
        move |runs: &[Runs]| {
            let [two, six] = ends(runs);
            six.exceeds(two, field)
        }
    };
    let cases = [
        ("6 logs write more to the device than 2", above as fn(&RunResult) -> f64),
        ("the device's WA is higher with 6 logs", device),
        ("the device copies more with 6 logs", copied_below),
        ("more erases with 6 logs", erases),
    ];
    for (statement, field) in cases {
        statements.check(&format!("table 1: {statement}"), each(true, &rises(field)));
        statements.check(&format!("table 1 without metadata: {statement}"), each(false, &rises(field)));
    }
    let most = each(true, &|runs| {
        let [two, six] = ends(runs).map(|runs| runs.mean(copied_below));
        six > 0.01 && six >= MOST[1] * two
    });
    statements.check("table 1: the device copies 32 % more or worse", most);
    let streams = groups(runs).filter(|(_, runs)| runs[0].keys[3] != "none" && more(runs, device) > 0.0);
    let remains = streams.map(|(name, with)| {
        let keys = [0, 1, 2].map(|at| with[0].keys[at].as_str());
        let plain = |(_, runs): &(String, &[Runs])| runs[0].is(&[&keys[..], &["none"]].concat());
        let (_, without) = groups(runs).find(plain).expect("each also runs without metadata");
        (name, more(without, device) >= 0.5 * more(with, device))
    });
    statements.check(
        "table 1: where the device's WA rises half of that or more remains without metadata",
        remains.collect::<Vec<_>>(),
    );
}
