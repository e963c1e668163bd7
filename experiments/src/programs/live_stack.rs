//! Real file systems and databases on live drives: TCWA by layer and by cause, with discards and without.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::live::cases::{Case, Measurement, Outcome};
use crate::live::measure_each;
use crate::live::requirements::{reason_not_to_mount, reason_to_skip};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use serde::Deserialize;
use wearwell_engine::counters::Cause;

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of the file systems.
    file_systems: Vec<String>,
    /// Names of the loads.
    loads: Vec<String>,
    /// Use of discards: true, false, or both.
    discards: Vec<bool>,
    /// Names of the drives, which all process the requests of each mount.
    drives: Vec<String>,
    /// Size of the disk in MiB.
    disk_mib: u64,
    /// Approximate share of the disk that a load's files take.
    share: f64,
    /// Number of bytes that a load writes after its files are made, as a multiple of the size of its files.
    written: f64,
    /// Seed of the loads.
    seed: u64,
    /// Time limit of a case in seconds.
    limit_seconds: u32,
}

/// A case and its outcome.
struct Row {
    case: Case,
    outcome: Option<Outcome>,
    /// Reason why the case was skipped.
    skipped: String,
}

impl Row {
    fn measured(&self) -> Option<&Measurement> {
        match &self.outcome {
            Some(Outcome::Measured(measured)) => Some(measured),
            _ => None,
        }
    }

    /// Returns the reason why numbers are missing.
    fn missing_reason(&self) -> String {
        match &self.outcome {
            Some(Outcome::NoRoom) => "no room".to_owned(),
            Some(Outcome::TimedOut) => "not at the end in time".to_owned(),
            _ => format!("skipped: {}", self.skipped),
        }
    }

    /// Returns the file system, the load, and the use of discards.
    fn keys(&self) -> Vec<String> {
        let Case { file_system, load, discard, .. } = &self.case;
        vec![load.clone(), file_system.clone(), if *discard { "yes" } else { "no" }.to_owned()]
    }
}

fn cases(settings: &Settings) -> Vec<Case> {
    let mut cases = Vec::new();
    for load in &settings.loads {
        for file_system in &settings.file_systems {
            cases.extend(settings.discards.iter().map(|discard| Case {
                file_system: file_system.clone(),
                load: load.clone(),
                discard: *discard,
                drives: settings.drives.clone(),
                disk_mib: settings.disk_mib,
                share: settings.share,
                written: settings.written,
                seed: settings.seed,
                limit_seconds: settings.limit_seconds,
            }));
        }
    }
    cases
}

fn measure(session: &Session, settings: &Settings) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for case in cases(settings) {
        let skipped = reason_to_skip(&case.file_system, &case.load)?.unwrap_or_default();
        if !skipped.is_empty() {
            eprintln!("skipped: {}: {skipped}", case.name());
        }
        rows.push(Row { case, outcome: None, skipped });
    }
    let possible: Vec<Case> =
        rows.iter().filter(|row| row.skipped.is_empty()).map(|row| row.case.clone()).collect();
    let outcomes = measure_each(session, "live stack", &possible, Case::measure)?;
    for (row, outcome) in rows.iter_mut().filter(|row| row.skipped.is_empty()).zip(outcomes) {
        row.outcome = Some(outcome);
    }
    Ok(rows)
}

/// Returns a table of the layers above the drives, with one row per case.
fn upper_layers_table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "load",
        "file_system",
        "discard",
        "application_mib",
        "database_wa",
        "file_system_wa",
        "above_drive",
        "journal_or_area",
        "cleaned",
        "kib_a_write",
        "flushes",
        "discarded_mib",
        "check",
    ]);
    for row in rows {
        let mut cells = row.keys();
        let Some(measured) = row.measured() else {
            cells.extend([row.missing_reason()].into_iter().chain((0..9).map(|_| String::new())));
            table.push(cells);
            continue;
        };
        let application = measured.application_bytes as f64;
        let sent = &measured.disk_requests;
        let written = sent.written_bytes as f64;
        let share = |bytes: Option<u64>| {
            bytes.map_or(String::new(), |bytes| format!("{:.4}", bytes as f64 / written))
        };
        cells.push(format!("{:.2}", application / f64::from(1 << 20)));
        cells.push(
            measured.file_bytes.map_or(String::new(), |_| format!("{:.3}", measured.passed_on_ratio())),
        );
        cells.push(format!("{:.4}", measured.upper_amplification() / measured.passed_on_ratio()));
        cells.push(format!("{:.4}", measured.upper_amplification()));
        cells.push(share(sent.area_bytes));
        cells.push(share(sent.moved_pages.map(|pages| pages * 4096)));
        cells.push(format!("{:.1}", written / 1024.0 / sent.writes.max(1) as f64));
        cells.push(sent.flushes.to_string());
        cells.push(format!("{:.0}", sent.discarded_bytes as f64 / f64::from(1 << 20)));
        cells.push(match &measured.check {
            None => "none".to_owned(),
            Some(said) if said.is_empty() => "sound".to_owned(),
            Some(said) => said.lines().next().unwrap_or_default().to_owned(),
        });
        table.push(cells);
    }
    table
}

/// Returns a table of flash operations in pages per page of the application, with one row per case and drive.
fn flash_table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "load",
        "file_system",
        "discard",
        "drive",
        "tcwa",
        "drive_wa",
        "cleaning",
        "translation",
        "validity",
        "dedup",
        "log_above",
        "erases",
    ]);
    for row in rows {
        let Some(measured) = row.measured() else { continue };
        for (number, (name, done)) in row.case.drives.iter().zip(&measured.drives).enumerate() {
            let pages =
                |pages: u64| format!("{:.4}", pages as f64 * 4096.0 / measured.application_bytes as f64);
            let mut cells = row.keys();
            cells.push(name.clone());
            cells.push(format!("{:.4}", measured.total_amplification(number)));
            cells.push(format!("{:.4}", done.write_amplification()));
            cells.extend(
                [Cause::Cleaning, Cause::Translation, Cause::Validity, Cause::Dedup]
                    .map(|cause| pages(done.for_cause(cause))),
            );
            cells.push(pages(done.upper_log_pages));
            cells.push(done.erases.to_string());
            table.push(cells);
        }
    }
    table
}

/// Returns pairs of the same case without discards and with discards.
fn pairs(rows: &[Row]) -> Vec<(&Row, &Measurement, &Measurement)> {
    let with = rows.iter().filter(|row| row.case.discard);
    let pair = |row: &'_ Row| {
        let is_other = |other: &&Row| {
            !other.case.discard
                && other.case.load == row.case.load
                && other.case.file_system == row.case.file_system
        };
        rows.iter().find(is_other).and_then(Row::measured)
    };
    with.filter_map(|row| Some((row, pair(row)?, row.measured()?))).collect()
}

/// Returns the benefit of discards on each drive.
fn discard_benefit_table(rows: &[Row]) -> Table {
    let mut table =
        Table::new(&["load", "file_system", "drive", "tcwa_without", "tcwa_with", "saved_percent"]);
    for (row, without, with) in pairs(rows) {
        for (number, name) in row.case.drives.iter().enumerate() {
            let [before, after] = [without, with].map(|measured| measured.total_amplification(number));
            let mut cells = vec![row.case.load.clone(), row.case.file_system.clone(), name.clone()];
            cells.extend([before, after].map(|total| format!("{total:.4}")));
            cells.push(format!("{:.1}", (1.0 - after / before) * 100.0));
            table.push(cells);
        }
    }
    table
}

/// Returns the cases with their totals on two drives.
fn compare_drives<'a>(rows: &'a [Row], one: &str, other: &str) -> Vec<(&'a Row, f64, f64)> {
    let totals_of = |row: &'a Row| {
        let index_of = |name: &str| row.case.drives.iter().position(|drive| drive == name);
        let measured = row.measured()?;
        Some((
            row,
            measured.total_amplification(index_of(one)?),
            measured.total_amplification(index_of(other)?),
        ))
    };
    rows.iter().filter_map(totals_of).collect()
}

fn statements(rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let checked =
        rows.iter().filter_map(|row| Some((row.case.name(), row.measured()?.check.as_ref()?.is_empty())));
    statements.check("its own checker finds each file system sound", checked);
    let mut compare = |text: &str, one: &str, other: &str, holds: fn(f64, f64) -> bool| {
        let all = compare_drives(rows, one, other);
        statements.check(text, all.into_iter().map(|(row, one, other)| (row.case.name(), holds(one, other))));
    };
    compare("FAST programs more than a map of pages", "fast", "page", |fast, page| fast > page);
    compare("DFTL programs more than a map in RAM", "dftl", "page", |dftl, page| dftl > page);
    compare("GeckoFTL programs no more than DFTL by 5 %", "gecko", "dftl", |gecko, dftl| gecko < 1.05 * dftl);
    compare("CAGC programs less than a map of pages", "cagc", "page", |cagc, page| cagc < page);
    compare(
        "a host's log on zones programs less than an FTL with blocks as large",
        "zoned",
        "page_2m",
        |zoned, page| zoned < page,
    );
    let is_log = |name: &str| name.starts_with("f2fs") || name == "nilfs2" || name == "btrfs";
    let log_cases = rows.iter().filter(|row| is_log(&row.case.file_system)).filter_map(|row| {
        let is_ext4 = |other: &&Row| {
            other.case.file_system == "ext4"
                && other.case.load == row.case.load
                && other.case.discard == row.case.discard
        };
        let ext4 = rows.iter().find(is_ext4)?.measured()?;
        Some((row.case.name(), row.measured()?.upper_amplification() > ext4.upper_amplification()))
    });
    statements
        .check("file systems that do not write in place send more than ext4", log_cases.collect::<Vec<_>>());
    let each = |holds: fn(f64, f64) -> bool| {
        let mut cases = Vec::new();
        for (row, without, with) in pairs(rows) {
            for (number, drive) in row.case.drives.iter().enumerate() {
                let name = format!("{} on {} on {drive}", row.case.load, row.case.file_system);
                cases.push((
                    name,
                    holds(without.total_amplification(number), with.total_amplification(number)),
                ));
            }
        }
        cases
    };
    statements
        .check("discards do not raise TCWA by more than 2 %", each(|without, with| with < 1.02 * without));
    statements.check("discards save a tenth of TCWA or more", each(|without, with| with < 0.9 * without));
    statements
}

/// Draws a chart for each load, with discards and without: TCWA of each file system, one colour per drive.
fn draw(session: &Session, settings: &Settings, rows: &[Row]) -> Result<(), Failure> {
    let names: Vec<String> =
        settings.file_systems.iter().enumerate().map(|(at, name)| format!("{} {name}", at + 1)).collect();
    let drawn =
        settings.loads.iter().flat_map(|load| settings.discards.iter().map(move |&discard| (load, discard)));
    for (load, discard) in drawn {
        let series = settings.drives.iter().enumerate().map(|(drive, name)| {
            let total_of = |row: &Row| {
                let at = settings.file_systems.iter().position(|system| *system == row.case.file_system)?;
                let total = row.measured()?.total_amplification(drive);
                Some(((at + 1) as f64, Interval { mean: total, half_width: 0.0 }))
            };
            let selected = rows.iter().filter(|row| row.case.load == *load && row.case.discard == discard);
            Series { name: name.clone(), points: selected.filter_map(total_of).collect(), has_line: false }
        });
        let series: Vec<Series> = series.collect();
        if series.iter().any(|one| !one.points.is_empty()) {
            let (with, ending) = if discard { ("with", "") } else { ("without", "_without_discards") };
            let title = format!("TCWA under {load}, {with} discards");
            Chart { title: &title, x: &names.join(", "), y: "pages programmed a page of the application" }
                .draw(session, &format!("tcwa_{load}{ending}"), &series)?;
        }
    }
    Ok(())
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    if let Some(reason) = reason_not_to_mount() {
        return Err(format!("skipped, as nothing can be mounted here: {reason}").into());
    }
    let rows = measure(session, &settings)?;
    if rows.iter().all(|row| row.outcome.is_none()) {
        return Err("skipped, as this machine has none of what is to be mounted".into());
    }
    upper_layers_table(&rows).publish(session, "above")?;
    flash_table(&rows).publish(session, "total")?;
    if settings.discards.len() > 1 {
        discard_benefit_table(&rows).publish(session, "worth")?;
    }
    draw(session, &settings, &rows)?;
    statements(&rows).publish(session)
}
