//! Yang et al. (2014), Figure 2 and Table 1, measured end to end: F2FS of Linux with 2, 4 and 6 logs over live
//! drives, compared with the replay of its recordings, and with its model.

use crate::Failure;
use crate::f2fs::cases::{Case, LOGS};
use crate::f2fs::replay::{AGED, AssumedValues, DRIVES, Outcome, drive_name};
use crate::f2fs::shipped::read;
use crate::live::f2fs_loads::LiveResult;
use crate::live::measure_each;
use crate::live::requirements::reason_to_skip;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of the loads; all recorded loads if empty.
    loads: Vec<String>,
}

/// A load with a number of logs.
#[derive(Clone, Debug, Serialize)]
struct Key {
    load: String,
    logs: u8,
}

/// Results of a load with a number of logs, live and replayed.
struct Row<'a> {
    live: &'a LiveResult,
    replayed: &'a Outcome,
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let cases: Vec<Case> = cases(&settings)?;
    for logs in LOGS {
        if let Some(reason) = reason_to_skip(&format!("f2fs_{logs}"), "random")? {
            return Err(format!("skipped: {reason}").into());
        }
    }
    let replayed = replayed(session, &cases)?;
    let keys: Vec<Key> = cases.iter().map(|case| Key { load: case.load.clone(), logs: case.logs }).collect();
    let live = measure_each(session, "live F2FS", &keys, |key| {
        let case = cases.iter().find(|case| case.load == key.load && case.logs == key.logs);
        LiveResult::measure(case.expect("keys are of cases"))
    })?;
    let rows: Vec<Row> = live.iter().zip(&replayed).map(|(live, replayed)| Row { live, replayed }).collect();
    requests_table(&rows).publish(session, "sent")?;
    drives_table(&rows).publish(session, "drives")?;
    statements(&rows).publish(session)
}

/// Returns the cases with the first seed of each load and number of logs.
fn cases(settings: &Settings) -> Result<Vec<Case>, Failure> {
    let all: Vec<Case> = Case::all().into_iter().filter(|case| case.seed == 1).collect();
    if let Some(name) = settings.loads.iter().find(|name| !all.iter().any(|case| case.load == **name)) {
        let mut names: Vec<&str> = all.iter().map(|case| case.load.as_str()).collect();
        names.dedup();
        return Err(format!("there is no load `{name}`; there are {}", names.join(", ")).into());
    }
    let is_selected = |case: &Case| settings.loads.is_empty() || settings.loads.contains(&case.load);
    Ok(all.into_iter().filter(is_selected).collect())
}

/// Replays the recording of each case on simulated drives.
fn replayed(session: &Session, cases: &[Case]) -> Result<Vec<Outcome>, Failure> {
    let (recordings, assumed) = (read()?, AssumedValues::from_session(session)?);
    let recording_of = |case: &Case| {
        let is_it = |known: &crate::f2fs::shipped::F2fsRecordingInfo| {
            known.load == case.load && known.logs == case.logs && known.seed == case.seed
        };
        let at = recordings.iter().position(|one| is_it(&one.info));
        at.ok_or_else(|| format!("{} was not recorded", case.name()))
    };
    let selected = cases.iter().map(recording_of).collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<(usize, AssumedValues)> = selected.into_iter().map(|at| (at, assumed)).collect();
    session.compute_each("replayed F2FS", &keys, |(at, assumed)| Outcome::replay(&recordings[*at], assumed))
}

/// Returns the requests of F2FS to its disk.
fn requests_table(rows: &[Row]) -> Table {
    let mut table = Table::default();
    for Row { live, replayed } in rows {
        let moved = |pages: u64| pages as f64 / replayed.load_pages();
        let recorded = &replayed.info;
        table.add(
            Fields::default()
                .text("load", &live.info.load)
                .text("logs", live.info.logs)
                .number("fswa_live", live.info.write_amplification(), 4)
                .number("fswa_recorded", replayed.fswa(), 4)
                .number("fswa_model", replayed.model_fswa(), 4)
                .number("moved_live", moved(live.info.moved_pages), 4)
                .number("moved_recorded", moved(recorded.moved_pages), 4)
                .number("moved_model", replayed.model.map(|written| moved(written.moved_pages)), 4)
                .text("checkpoints_live", live.info.checkpoints)
                .text("checkpoints_recorded", recorded.checkpoints)
                .text("check", if live.check.is_empty() { "sound" } else { first_line(&live.check) }),
        );
    }
    table
}

fn first_line(output: &str) -> &str {
    output.lines().next().unwrap_or_default()
}

/// Returns a table of the drives' results.
fn drives_table(rows: &[Row]) -> Table {
    let mut table =
        Table::new(&["load", "logs", "drive", "wa_live", "wa_replayed", "erases_live", "erases_replayed"]);
    for Row { live, replayed } in rows {
        for at in 0..DRIVES.len() {
            table.push(vec![
                live.info.load.clone(),
                live.info.logs.to_string(),
                drive_name(at),
                format!("{:.4}", live.drives[at].write_amplification()),
                format!("{:.4}", replayed.device(at)),
                live.drives[at].erases.to_string(),
                replayed.drives[at].erases.to_string(),
            ]);
        }
    }
    table
}

/// True if write-back rewrites pages that are not complete yet, or rewrites pages many times: the number of such
/// writes depends on the speed.
fn depends_on_speed(load: &str) -> bool {
    load.starts_with("random 1k") || load.starts_with("overwrites")
}

fn statements(rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let name = |row: &Row| format!("{}, {} logs", row.live.info.load, row.live.info.logs);
    let is_near = |one: f64, other: f64, tolerance: f64| (one / other - 1.0).abs() <= tolerance;
    let sends_as_recorded = |tolerance: f64| {
        move |row: &Row| is_near(row.live.info.write_amplification(), row.replayed.fswa(), tolerance)
    };
    statements.check(
        "its own checker finds each file system sound",
        rows.iter().map(|row| (name(row), row.live.check.is_empty())),
    );
    let steady = rows.iter().filter(|row| !depends_on_speed(&row.live.info.load));
    statements.check(
        "where the pace does not matter live F2FS sends what was recorded to 1 %",
        steady.map(|row| (name(row), sends_as_recorded(0.01)(row))),
    );
    let paced = rows.iter().filter(|row| depends_on_speed(&row.live.info.load));
    statements.check(
        "elsewhere it sends what was recorded to 10 %",
        paced.map(|row| (name(row), sends_as_recorded(0.1)(row))),
    );
    let each = rows.iter().flat_map(|row| (0..DRIVES.len()).map(move |at| (row, at)));
    statements.check(
        "live drives have the write amplification of replay to 5 %",
        each.map(|(row, at)| {
            let holds = is_near(row.live.drives[at].write_amplification(), row.replayed.device(at), 0.05);
            (format!("{}, {}", name(row), drive_name(at)), holds)
        }),
    );
    let modelled = rows.iter().filter_map(|row| Some((row, row.replayed.model_fswa()?)));
    statements.check(
        "the model writes what live F2FS writes to 5 %",
        modelled.map(|(row, model)| (name(row), is_near(model, row.live.info.write_amplification(), 0.05))),
    );
    let aged = |logs: u8| {
        rows.iter().find(|row| row.live.info.load == AGED && row.live.info.logs == logs).map(|row| row.live)
    };
    if let (Some(two), Some(six)) = (aged(2), aged(6)) {
        statements.check(
            "table 1: 6 logs write more to the device than 2",
            [(AGED.to_owned(), six.info.written_bytes > two.info.written_bytes)],
        );
        let more = |at: usize| six.drives[at].write_amplification() > two.drives[at].write_amplification();
        statements.check(
            "table 1: the device's WA is higher with 6 logs",
            (0..DRIVES.len()).map(|at| (drive_name(at), more(at))),
        );
    }
    statements
}
