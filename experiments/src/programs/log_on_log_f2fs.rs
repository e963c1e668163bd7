//! Yang et al. (2014), Figure 2 and Table 1: recorded writes of F2FS of Linux with 2, 4 and 6 logs, writes of a model
//! of F2FS, and the resulting writes of an FTL.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::f2fs::cases::LOGS;
use crate::f2fs::replay::{AGED, AssumedValues, DRIVES, Outcome, drive_name};
use crate::f2fs::shipped::read;
use crate::interval::Interval;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};

/// Maximum increase of the device's cleaning with 6 logs according to the paper, as a factor.
const MAX_INCREASE: f64 = 1.32;

/// Outcomes of a load with a number of logs, one per seed.
type Group<'a> = Vec<&'a Outcome>;

pub fn run(session: &Session) -> Result<(), Failure> {
    let recordings = read()?;
    let assumed = AssumedValues::from_session(session)?;
    let keys: Vec<(u32, AssumedValues)> = recordings.iter().map(|one| (one.info.volume, assumed)).collect();
    let outcomes = session.compute_each("recording of F2FS", &keys, |(volume, assumed)| {
        Outcome::replay(&recordings[*volume as usize], assumed)
    })?;
    let loads = loads(&outcomes);
    publish(session, &outcomes, &loads)?;
    let mut statements = Statements::default();
    check_figure_2(&mut statements, &outcomes, &loads);
    check_table_1(&mut statements, &outcomes);
    check_model(&mut statements, &outcomes);
    statements.publish(session)
}

/// Returns the loads in the order of the recordings.
fn loads(outcomes: &[Outcome]) -> Vec<String> {
    let mut loads: Vec<String> = outcomes.iter().map(|one| one.info.load.clone()).collect();
    loads.dedup();
    loads
}

fn group<'a>(outcomes: &'a [Outcome], load: &str, logs: u8) -> Group<'a> {
    outcomes.iter().filter(|one| one.info.load == load && one.info.logs == logs).collect()
}

/// Returns the mean of a field over the recordings of a group.
fn interval(group: &[&Outcome], field: impl Fn(&Outcome) -> f64) -> Interval {
    Interval::from_values(&group.iter().map(|one| field(one)).collect::<Vec<_>>())
}

fn mean(group: &[&Outcome], field: impl Fn(&Outcome) -> f64) -> f64 {
    interval(group, field).mean
}

/// Returns the ratio of the mean of `field` with 6 logs to that with 2 logs.
fn growth(outcomes: &[Outcome], load: &str, field: impl Fn(&Outcome) -> f64 + Copy) -> f64 {
    mean(&group(outcomes, load, 6), field) / mean(&group(outcomes, load, 2), field)
}

fn publish(session: &Session, outcomes: &[Outcome], loads: &[String]) -> Result<(), Failure> {
    let mut table = Table::default();
    for load in loads {
        for logs in LOGS {
            let group = group(outcomes, load, logs);
            let modelled = group.iter().all(|one| one.model.is_some());
            let maybe = |value: f64| modelled.then_some(value);
            let moved =
                |one: &Outcome| one.model.map_or(0, |written| written.moved_pages) as f64 / one.load_pages();
            let device = |at: usize| mean(&group, |one| one.device(at));
            let erases = |at: usize| mean(&group, |one| one.drives[at].erases as f64);
            table.add(
                Fields::default()
                    .text("load", load)
                    .text("logs", logs)
                    .text("recordings", group.len())
                    .number("sectors", mean(&group, |one| one.info.written_bytes as f64 / 512.0), 0)
                    .number("fswa", mean(&group, Outcome::fswa), 4)
                    .number("model_fswa", maybe(mean(&group, |one| one.model_fswa().unwrap_or(0.0))), 4)
                    .number("checkpoints", mean(&group, |one| one.info.checkpoints as f64), 0)
                    .number("moved", mean(&group, |one| one.info.moved_pages as f64 / one.load_pages()), 4)
                    .number("model_moved", maybe(mean(&group, moved)), 4)
                    .number("wa_256k", device(0), 4)
                    .number("wa_2m", device(1), 4)
                    .number("wa_256k_trim", device(2), 4)
                    .number("wa_2m_trim", device(3), 4)
                    .number("erases_256k", erases(0), 1)
                    .number("erases_2m", erases(1), 1)
                    .number("erases_256k_trim", erases(2), 1)
                    .number("erases_2m_trim", erases(3), 1),
            );
        }
    }
    table.publish(session, "data")?;
    publish_growth(session, outcomes, loads)
}

/// Writes the increase of writes from 2 to 6 logs in per cent, with the values of the paper.
fn publish_growth(session: &Session, outcomes: &[Outcome], loads: &[String]) -> Result<(), Failure> {
    let mut table =
        Table::new(&["load", "fswa_2", "fswa_4", "fswa_6", "growth_percent", "model_growth_percent"]);
    let mut series = Vec::new();
    for load in loads {
        let mean_fswa = |logs: u8| mean(&group(outcomes, load, logs), Outcome::fswa);
        let modelled = group(outcomes, load, 2).iter().all(|one| one.model.is_some());
        let percent = |growth: f64| format!("{:.2}", (growth - 1.0) * 100.0);
        let mut row = vec![load.clone()];
        row.extend(LOGS.map(|logs| format!("{:.4}", mean_fswa(logs))));
        row.push(percent(mean_fswa(6) / mean_fswa(2)));
        let model = |one: &Outcome| one.model_fswa().unwrap_or(0.0);
        row.push(if modelled { percent(growth(outcomes, load, model)) } else { String::new() });
        table.push(row);
        let points =
            LOGS.map(|logs| (f64::from(logs), interval(&group(outcomes, load, logs), Outcome::fswa)));
        series.push(Series { name: load.clone(), points: points.to_vec(), has_line: true });
    }
    table.publish(session, "growth")?;
    let title = "Figure 2: what F2FS of Linux 6.1 writes with 2, 4 and 6 logs";
    Chart { title, x: "logs", y: "FSWA" }.draw(session, "plot", &series)
}

fn check_figure_2(statements: &mut Statements, outcomes: &[Outcome], loads: &[String]) {
    let is_synced = |load: &&String| load.ends_with("synced");
    let papers: Vec<&String> =
        loads.iter().filter(|load| !load.starts_with("overwrites") && !is_synced(load)).collect();
    let each = |holds: &dyn Fn(&str) -> bool| -> Vec<(String, bool)> {
        papers.iter().map(|load| ((*load).clone(), holds(load))).collect()
    };
    let six = |load: &str| growth(outcomes, load, Outcome::fswa);
    statements.check(
        "figure 2: with 6 logs F2FS writes more to the device than with 2 by more than 1 % and than runs differ",
        each(&|load| {
            let [two, six] = [2, 6].map(|logs| interval(&group(outcomes, load, logs), Outcome::fswa));
            let noise = if two.half_width.is_finite() { two.half_width.hypot(six.half_width) } else { 0.0 };
            six.mean > 1.01 * two.mean && six.mean - two.mean > noise
        }),
    );
    statements.check(
        "figure 2: FSWA is 1.5 with 2 logs and 2.0 with 6 to a tenth",
        each(&|load| {
            let mean_fswa = |logs| mean(&group(outcomes, load, logs), Outcome::fswa);
            (mean_fswa(2) - 1.5).abs() < 0.1 && (mean_fswa(6) - 2.0).abs() < 0.1
        }),
    );
    let without_rewrites: Vec<&String> =
        papers.iter().copied().filter(|load| !load.starts_with("random 1k")).collect();
    statements.check(
        "ours: where each page is written back once 2 4 and 6 logs write the same to 0.5 %",
        without_rewrites.into_iter().map(|load| {
            let means = LOGS.map(|logs| mean(&group(outcomes, load, logs), Outcome::fswa));
            (load.clone(), means.iter().all(|one| (one / means[0] - 1.0).abs() < 0.005))
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
    let ratio = |field: &dyn Fn(&Outcome) -> f64| growth(outcomes, AGED, field);
    let [two, six] = [2, 6].map(|logs| group(outcomes, AGED, logs));
    statements.check(
        "table 1: 6 logs write more to the device than 2",
        two.iter().zip(&six).map(|(two, six)| (format!("seed {}", two.info.seed), six.fswa() > two.fswa())),
    );
    let each = |holds: &dyn Fn(usize) -> bool| -> Vec<(String, bool)> {
        (0..DRIVES.len()).map(|at| (drive_name(at), holds(at))).collect()
    };
    statements.check(
        "table 1: the device's WA is higher with 6 logs",
        each(&|at| ratio(&|one| one.device(at)) > 1.0),
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
            mean(&six, copied) > 0.01 && mean(&six, copied) >= MAX_INCREASE * mean(&two, copied)
        }),
    );
    statements.check(
        "ours: with a sync after every 64 writes 6 logs write less than 2",
        [(
            "overwrites logged, synced".to_owned(),
            growth(outcomes, "overwrites logged, synced", Outcome::fswa) < 1.0,
        )],
    );
}

fn check_model(statements: &mut Statements, outcomes: &[Outcome]) {
    let is_near = |outcome: &&Outcome, tolerance: f64| {
        let model = outcome.model_fswa().expect("chosen by having one");
        (outcome.info.load.clone(), (model / outcome.fswa() - 1.0).abs() < tolerance)
    };
    let (aged, new): (Vec<&Outcome>, Vec<&Outcome>) =
        outcomes.iter().filter(|one| one.model.is_some()).partition(|one| one.info.load == AGED);
    statements.check(
        "ours: the model writes what F2FS writes on a new file system to 2 %",
        new.iter().map(|one| is_near(one, 0.02)),
    );
    statements.check(
        "ours: the model writes what F2FS writes on an aged one to 5 %",
        aged.iter().map(|one| is_near(one, 0.05)),
    );
}
