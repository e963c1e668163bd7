//! Yang et al. (2014), Figure 2 and Table 1: what F2FS of Linux wrote with 2, 4 and 6 logs, what its model writes, and what an
//! FTL makes of it.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::f2fs::cases::{AGED_BYTES, LOGS, OVERWRITTEN_BYTES};
use crate::f2fs::model::{Model, PAGE_BYTES, Written, permuted};
use crate::f2fs::shipped::{Known, Recording, read};
use crate::interval::Interval;
use crate::nvmfs::replay::{Drive, Replayed, replay_on};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use wearwell_trace::{Op, Request, RequestBatch};

/// The load of the aged file system that stands for the paper's.
const AGED: &str = "overwrites logged";

/// Pages of 4 KiB in a block of the drives, and whether they hear of discards.
const DRIVES: [(u32, bool); 4] = [(64, false), (512, false), (64, true), (512, true)];

/// What the device cleans more with 6 logs, as the paper has it.
const MOST: f64 = 1.32;

/// What no paper gives.
#[derive(Clone, Copy, Debug, Serialize)]
struct Assumed {
    /// Pages that gather in the page cache before they are written, in the order of the file.
    dirty_pages: usize,
    /// Erased segments at which the model cleans.
    cleans_at: u32,
}

/// What came of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Outcome {
    known: Known,
    /// What the model wrote under the same load, where it has one.
    model: Option<Written>,
    /// What the drives did, in the order of [`DRIVES`].
    drives: Vec<Replayed>,
}

/// The recordings of a load with so many logs, one a seed.
type Group<'a> = Vec<&'a Outcome>;

pub fn run(session: &Session) -> Result<(), Failure> {
    let recordings = read()?;
    let assumed = Assumed {
        dirty_pages: (session.assumed("log_on_log/dirty-mib")? * 256.0) as usize,
        cleans_at: session.assumed("log_on_log/cleans-at")? as u32,
    };
    let keys: Vec<(u32, Assumed)> = recordings.iter().map(|one| (one.known.volume, assumed)).collect();
    let outcomes = session.each("recording of F2FS", &keys, |(volume, assumed)| {
        outcome(&recordings[*volume as usize], assumed)
    })?;
    let loads = loads(&outcomes);
    publish(session, &outcomes, &loads)?;
    let mut statements = Statements::default();
    check_figure_2(&mut statements, &outcomes, &loads);
    check_table_1(&mut statements, &outcomes);
    check_model(&mut statements, &outcomes);
    statements.publish(session)
}

fn outcome(recording: &Recording, assumed: &Assumed) -> Result<Outcome, Failure> {
    let drives = DRIVES.map(|(pages_per_block, trims)| on_drive(recording, pages_per_block, trims));
    Ok(Outcome {
        known: recording.known.clone(),
        model: modelled(&recording.known, assumed)?,
        drives: drives.into_iter().collect::<Result<_, _>>()?,
    })
}

/// What a drive that was written all over before does with the recording.
fn on_drive(recording: &Recording, pages_per_block: u32, trims: bool) -> Result<Replayed, Failure> {
    let Known { disk_bytes, measured_from, .. } = recording.known;
    let mut requests = RequestBatch::default();
    let length_bytes = 1 << 20;
    for at in 0..disk_bytes / length_bytes {
        let offset_bytes = at * length_bytes;
        requests.push(&Request { time_ns: 0, op: Op::Write, volume: 0, offset_bytes, length_bytes, hint: 0 });
    }
    let mut from = 0;
    for at in 0..recording.requests.len() {
        if at == measured_from {
            from = requests.len();
        }
        if trims || recording.requests.op[at] != Op::Trim {
            requests.push(&recording.requests.get(at));
        }
    }
    let drive = Drive::of_the_paper(disk_bytes, pages_per_block, "structure = \"log\"");
    replay_on(&requests, from, &drive)
}

/// What the model writes under the load; `None` for requests of 1 KiB and overwrites in place, which it does not have. Checkpoints
/// come as often as they did.
fn modelled(known: &Known, assumed: &Assumed) -> Result<Option<Written>, Failure> {
    let Known { load, logs, seed, disk_bytes, load_bytes, written_bytes, checkpoints, .. } = known;
    let synced = load.ends_with(" 4k direct synced");
    if !load.contains(" 4k ") && load != AGED {
        return Ok(None);
    }
    let every = if synced { 64 << 20 } else { written_bytes / (checkpoints + 1) / PAGE_BYTES * PAGE_BYTES };
    let mut model = Model::new(*logs, *disk_bytes, every.max(PAGE_BYTES), assumed.cleans_at)?;
    if load == AGED {
        let pages = (AGED_BYTES / PAGE_BYTES) as u32;
        model.write(0..pages, false)?;
        let before = model.written();
        model.write(overwrites(pages, *seed, assumed.dirty_pages).into_iter(), false)?;
        let after = model.written();
        return Ok(Some(Written {
            pages: after.pages - before.pages,
            moved_pages: after.moved_pages - before.moved_pages,
        }));
    }
    let pages = (load_bytes / PAGE_BYTES) as u32;
    let order = if load.starts_with("random") { permuted(pages, *seed) } else { (0..pages).collect() };
    model.write(order.into_iter(), synced)?;
    Ok(Some(model.written()))
}

/// Every page once a pass, at random as fio draws them, in the order in which a page cache writes them.
fn overwrites(pages: u32, seed: u64, dirty_pages: usize) -> Vec<u32> {
    let passes = OVERWRITTEN_BYTES / AGED_BYTES;
    let mut drawn: Vec<u32> = (0..passes).flat_map(|pass| permuted(pages, seed * passes + pass)).collect();
    drawn.chunks_mut(dirty_pages).for_each(<[u32]>::sort_unstable);
    drawn
}

/// The loads in the order of the recordings.
fn loads(outcomes: &[Outcome]) -> Vec<String> {
    let mut loads: Vec<String> = outcomes.iter().map(|one| one.known.load.clone()).collect();
    loads.dedup();
    loads
}

fn group<'a>(outcomes: &'a [Outcome], load: &str, logs: u8) -> Group<'a> {
    outcomes.iter().filter(|one| one.known.load == load && one.known.logs == logs).collect()
}

/// Over the recordings of a group.
fn interval(group: &[&Outcome], field: impl Fn(&Outcome) -> f64) -> Interval {
    Interval::of(&group.iter().map(|one| field(one)).collect::<Vec<_>>())
}

fn mean(group: &[&Outcome], field: impl Fn(&Outcome) -> f64) -> f64 {
    interval(group, field).mean
}

fn fswa(outcome: &Outcome) -> f64 {
    outcome.known.write_amplification()
}

fn load_pages(outcome: &Outcome) -> f64 {
    outcome.known.load_bytes as f64 / PAGE_BYTES as f64
}

fn model_fswa(outcome: &Outcome) -> Option<f64> {
    outcome.model.map(|written| written.pages as f64 / load_pages(outcome))
}

/// Mean of `field` with 6 logs over that with 2.
fn growth(outcomes: &[Outcome], load: &str, field: impl Fn(&Outcome) -> f64 + Copy) -> f64 {
    mean(&group(outcomes, load, 6), field) / mean(&group(outcomes, load, 2), field)
}

fn publish(session: &Session, outcomes: &[Outcome], loads: &[String]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "load",
        "logs",
        "recordings",
        "sectors",
        "fswa",
        "model_fswa",
        "checkpoints",
        "moved",
        "model_moved",
        "wa_256k",
        "wa_2m",
        "wa_256k_trim",
        "wa_2m_trim",
        "erases_256k",
        "erases_2m",
        "erases_256k_trim",
        "erases_2m_trim",
    ]);
    for load in loads {
        for logs in LOGS {
            let group = group(outcomes, load, logs);
            let modelled = group.iter().all(|one| one.model.is_some());
            let maybe = |value: f64| if modelled { format!("{value:.4}") } else { String::new() };
            let mut row = vec![load.clone(), logs.to_string(), group.len().to_string()];
            row.push(format!("{:.0}", mean(&group, |one| one.known.written_bytes as f64 / 512.0)));
            row.push(format!("{:.4}", mean(&group, fswa)));
            row.push(maybe(mean(&group, |one| model_fswa(one).unwrap_or(0.0))));
            row.push(format!("{:.0}", mean(&group, |one| one.known.checkpoints as f64)));
            row.push(format!("{:.4}", mean(&group, |one| one.known.moved_pages as f64 / load_pages(one))));
            let moved =
                |one: &Outcome| one.model.map_or(0, |written| written.moved_pages) as f64 / load_pages(one);
            row.push(maybe(mean(&group, moved)));
            for at in 0..DRIVES.len() {
                row.push(format!("{:.4}", mean(&group, |one| device(one, at))));
            }
            for at in 0..DRIVES.len() {
                row.push(format!("{:.1}", mean(&group, |one| one.drives[at].erases as f64)));
            }
            table.push(row);
        }
    }
    table.publish(session, "data")?;
    publish_growth(session, outcomes, loads)
}

/// What 6 logs write more than 2, per cent, beside what the paper prints.
fn publish_growth(session: &Session, outcomes: &[Outcome], loads: &[String]) -> Result<(), Failure> {
    let mut table =
        Table::new(&["load", "fswa_2", "fswa_4", "fswa_6", "growth_percent", "model_growth_percent"]);
    let mut series = Vec::new();
    for load in loads {
        let of = |logs: u8| mean(&group(outcomes, load, logs), fswa);
        let modelled = group(outcomes, load, 2).iter().all(|one| one.model.is_some());
        let percent = |growth: f64| format!("{:.2}", (growth - 1.0) * 100.0);
        let mut row = vec![load.clone()];
        row.extend(LOGS.map(|logs| format!("{:.4}", of(logs))));
        row.push(percent(of(6) / of(2)));
        let model = |one: &Outcome| model_fswa(one).unwrap_or(0.0);
        row.push(if modelled { percent(growth(outcomes, load, model)) } else { String::new() });
        table.push(row);
        let points = LOGS.map(|logs| (f64::from(logs), interval(&group(outcomes, load, logs), fswa)));
        series.push(Series { name: load.clone(), points: points.to_vec(), joined: true });
    }
    table.publish(session, "growth")?;
    let title = "Figure 2: what F2FS of Linux 6.1 writes with 2, 4 and 6 logs";
    Chart { title, x: "logs", y: "FSWA" }.draw(session, "plot", &series)
}

fn device(outcome: &Outcome, drive: usize) -> f64 {
    outcome.drives[drive].write_amplification().unwrap_or(1.0)
}

fn check_figure_2(statements: &mut Statements, outcomes: &[Outcome], loads: &[String]) {
    let is_synced = |load: &&String| load.ends_with("synced");
    let papers: Vec<&String> =
        loads.iter().filter(|load| !load.starts_with("overwrites") && !is_synced(load)).collect();
    let each = |holds: &dyn Fn(&str) -> bool| -> Vec<(String, bool)> {
        papers.iter().map(|load| ((*load).clone(), holds(load))).collect()
    };
    let six = |load: &str| growth(outcomes, load, fswa);
    statements.check(
        "figure 2: with 6 logs F2FS writes more to the device than with 2 by more than 1 % and than runs differ",
        each(&|load| {
            let [two, six] = [2, 6].map(|logs| interval(&group(outcomes, load, logs), fswa));
            let noise = if two.half_width.is_finite() { two.half_width.hypot(six.half_width) } else { 0.0 };
            six.mean > 1.01 * two.mean && six.mean - two.mean > noise
        }),
    );
    statements.check(
        "figure 2: FSWA is 1.5 with 2 logs and 2.0 with 6 to a tenth",
        each(&|load| {
            let of = |logs| mean(&group(outcomes, load, logs), fswa);
            (of(2) - 1.5).abs() < 0.1 && (of(6) - 2.0).abs() < 0.1
        }),
    );
    let once: Vec<&String> = papers.iter().copied().filter(|load| !load.starts_with("random 1k")).collect();
    statements.check(
        "ours: where each page is written back once 2 4 and 6 logs write the same to 0.5 %",
        once.into_iter().map(|load| {
            let of = LOGS.map(|logs| mean(&group(outcomes, load, logs), fswa));
            (load.clone(), of.iter().all(|one| (one / of[0] - 1.0).abs() < 0.005))
        }),
    );
    statements.check(
        "ours: with a sync after each write 2 logs write more than twice as much as 6",
        loads
            .iter()
            .filter(is_synced)
            .filter(|load| load.contains("direct"))
            .map(|load| (load.clone(), six(load) < 0.5)),
    );
}

fn check_table_1(statements: &mut Statements, outcomes: &[Outcome]) {
    let drive = |at: usize| {
        let (pages, trims) = DRIVES[at];
        format!("blocks of {} KiB, {}", pages * 4, if trims { "discards" } else { "no discards" })
    };
    let ratio = |field: &dyn Fn(&Outcome) -> f64| growth(outcomes, AGED, field);
    let [two, six] = [2, 6].map(|logs| group(outcomes, AGED, logs));
    statements.check(
        "table 1: 6 logs write more to the device than 2",
        two.iter().zip(&six).map(|(two, six)| (format!("seed {}", two.known.seed), fswa(six) > fswa(two))),
    );
    let each = |holds: &dyn Fn(usize) -> bool| -> Vec<(String, bool)> {
        (0..DRIVES.len()).map(|at| (drive(at), holds(at))).collect()
    };
    statements.check(
        "table 1: the device's WA is higher with 6 logs",
        each(&|at| ratio(&|one| device(one, at)) > 1.0),
    );
    statements.check(
        "table 1: more erases with 6 logs",
        each(&|at| ratio(&|one| one.drives[at].erases as f64) > 1.0),
    );
    statements.check(
        "table 1: the device copies 32 % more or worse with 6 logs",
        each(&|at| {
            let copied =
                |one: &Outcome| one.drives[at].copied_pages as f64 / one.drives[at].host_pages as f64;
            mean(&six, copied) > 0.01 && mean(&six, copied) >= MOST * mean(&two, copied)
        }),
    );
    statements.check(
        "ours: with a sync after every 64 writes 6 logs write less than 2",
        [("overwrites logged, synced".to_owned(), growth(outcomes, "overwrites logged, synced", fswa) < 1.0)],
    );
}

fn check_model(statements: &mut Statements, outcomes: &[Outcome]) {
    let near = |outcome: &&Outcome, tolerance: f64| {
        let model = model_fswa(outcome).expect("chosen by having one");
        (outcome.known.load.clone(), (model / fswa(outcome) - 1.0).abs() < tolerance)
    };
    let (aged, new): (Vec<&Outcome>, Vec<&Outcome>) =
        outcomes.iter().filter(|one| one.model.is_some()).partition(|one| one.known.load == AGED);
    statements.check(
        "ours: the model writes what F2FS writes on a new file system to 2 %",
        new.iter().map(|one| near(one, 0.02)),
    );
    statements.check(
        "ours: the model writes what F2FS writes on an aged one to 5 %",
        aged.iter().map(|one| near(one, 0.05)),
    );
}
