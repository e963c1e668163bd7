//! Qiu and Reddy (2013), figures 8 and 9, as timed measurements: NVMFS and real file systems, mounted with the same
//! kernel on a disk with the speed of the paper's drive.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::{Interval, mean};
use crate::nvmfs::guest::NILFS2;
use crate::nvmfs::stop::unless_interrupted;
use crate::nvmfs::timed_mount::{Case, NVMFS, TimedOutcome, TimedResult, reason_not_to_measure};
use crate::session::{Interrupted, Session};
use crate::statements::Statements;
use crate::table::Table;
use serde::Deserialize;
use std::path::PathBuf;
use wearwell_nvmfs::workload::FILE_WORKLOADS;

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// File systems that are compared with NVMFS.
    rivals: Vec<String>,
    /// Names of the workloads; all if empty.
    workloads: Vec<String>,
    /// Shares of the disk that the files take.
    utilisations: Vec<f64>,
    /// Size of the disk in MiB.
    disk_mib: u64,
    /// Ratio of the size of the disk to the size of the NVRAM or page cache.
    #[serde(rename = "nvram_one_over")]
    nvram_divisor: u64,
    /// Number of bytes that a workload writes after its files are made, as a multiple of the size of the disk.
    written: f64,
    /// Factor by which the drive is slower than the paper's drive.
    slowed_by: u32,
    /// Number of runs of each case, with the seeds 1, 2, …
    runs: u64,
    /// Time limit of a run, in seconds of the machine.
    limit_seconds: u32,
    /// Folder on a tmpfs for the content of the disk.
    memory: PathBuf,
}

impl Settings {
    fn workloads(&self) -> Vec<&'static str> {
        let all = FILE_WORKLOADS.iter().map(|entry| entry.name);
        all.filter(|name| self.workloads.is_empty() || self.workloads.iter().any(|one| one == name)).collect()
    }

    fn case(&self, file_system: &str, workload: &str, utilisation: f64, seed: u64) -> Case {
        Case {
            file_system: file_system.to_owned(),
            workload: workload.to_owned(),
            utilisation,
            disk_mib: self.disk_mib,
            cache_mib: self.disk_mib / self.nvram_divisor,
            written_bytes: (self.written * (self.disk_mib << 20) as f64) as u64,
            slowed_by: self.slowed_by,
            seed,
            limit_seconds: self.limit_seconds,
        }
    }
}

/// Results of all runs of a file system under a workload; empty if a run was not measured.
struct Row {
    utilisation: f64,
    workload: &'static str,
    file_system: String,
    runs: Vec<TimedResult>,
    /// Reason why results are missing.
    missing_reason: &'static str,
}

impl Row {
    fn write_speed(&self) -> Interval {
        let speed = |run: &TimedResult| run.written_bytes as f64 / 1e6 / run.seconds;
        Interval::from_values(&self.runs.iter().map(speed).collect::<Vec<_>>())
    }

    fn mean(&self, field: impl Fn(&TimedResult) -> f64) -> f64 {
        mean(&self.runs, field)
    }

    fn name(&self) -> String {
        format!("{} at {}", self.workload, self.utilisation)
    }
}

fn measure(session: &Session, settings: &Settings) -> Result<Vec<Row>, Failure> {
    let systems: Vec<&str> = [NVMFS].into_iter().chain(settings.rivals.iter().map(String::as_str)).collect();
    let (mut rows, mut cases) = (Vec::new(), Vec::new());
    for &utilisation in &settings.utilisations {
        for workload in settings.workloads() {
            for system in &systems {
                let file_system = (*system).to_owned();
                rows.push(Row { utilisation, workload, file_system, runs: Vec::new(), missing_reason: "" });
                let seeds = 1..=settings.runs;
                cases.extend(seeds.map(|seed| settings.case(system, workload, utilisation, seed)));
            }
        }
    }
    session.require_clean_up();
    session.require_local("it measures this machine by the clock, and mounts file systems on it");
    let measured = session.compute_each("file system by the clock", &cases, |case| {
        let measured = unless_interrupted(session, || case.measure(&settings.memory));
        if session.flow().is_break() { Err(Interrupted.into()) } else { measured }
    })?;
    for (row, runs) in rows.iter_mut().zip(measured.chunks(settings.runs as usize)) {
        for run in runs {
            match run {
                TimedOutcome::Measured(clocked) => row.runs.push(*clocked),
                TimedOutcome::NoRoom => row.missing_reason = "no room",
                TimedOutcome::TimedOut => row.missing_reason = "not at the end in time",
            }
        }
        if !row.missing_reason.is_empty() {
            row.runs.clear();
        }
    }
    Ok(rows)
}

/// Returns the results of NVMFS in the same case.
fn nvmfs_row<'a>(rows: &'a [Row], other: &Row) -> Option<&'a Row> {
    let same = |row: &&Row| row.workload == other.workload && row.utilisation == other.utilisation;
    rows.iter().filter(same).find(|row| row.file_system == NVMFS && !row.runs.is_empty())
}

/// Returns the percentage by which NVMFS is faster than a rival, if both were measured.
fn faster_percent(rows: &[Row], rival: &Row) -> Option<f64> {
    let ours = nvmfs_row(rows, rival).filter(|_| rival.file_system != NVMFS && !rival.runs.is_empty())?;
    Some((ours.write_speed().mean / rival.write_speed().mean - 1.0) * 100.0)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "utilisation",
        "workload",
        "file_system",
        "mb_a_second",
        "half_width",
        "operations_a_second",
        "drive_busy_percent",
        "waited_percent",
        "sent_a_user_byte",
        "kib_a_request",
        "nvmfs_faster_percent",
    ]);
    for row in rows {
        let mut cells = vec![row.utilisation.to_string(), row.workload.to_owned(), row.file_system.clone()];
        if row.runs.is_empty() {
            cells.extend([row.missing_reason].into_iter().chain([""; 7]).map(str::to_owned));
            table.push(cells);
            continue;
        }
        cells.extend(row.write_speed().numbers(2));
        cells.push(format!("{:.0}", row.mean(|run| run.operations as f64 / run.seconds)));
        cells.push(format!("{:.0}", row.mean(|run| run.busy_seconds / run.seconds * 100.0)));
        cells.push(format!("{:.0}", row.mean(|run| run.waited_seconds / run.seconds * 100.0)));
        cells.push(format!("{:.2}", row.mean(|run| run.sent_bytes as f64 / run.written_bytes as f64)));
        let kib = |run: &TimedResult| run.sent_bytes as f64 / 1024.0 / run.sent_requests.max(1) as f64;
        cells.push(format!("{:.0}", row.mean(kib)));
        cells.push(faster_percent(rows, row).map_or(String::new(), |percent| format!("{percent:+.1}")));
        table.push(cells);
    }
    table
}

/// Returns the mean over the workloads, for each rival and for all rivals.
fn averages(settings: &Settings, rows: &[Row]) -> Table {
    let mut table = Table::new(&["utilisation", "rival", "cases", "faster_percent"]);
    for &utilisation in &settings.utilisations {
        for rival in settings.rivals.iter().map(String::as_str).chain(["all"]) {
            let gains: Vec<f64> = rows
                .iter()
                .filter(|row| row.utilisation == utilisation)
                .filter(|row| rival == "all" || row.file_system == rival)
                .filter_map(|row| faster_percent(rows, row))
                .collect();
            if gains.is_empty() {
                continue;
            }
            let average = gains.iter().sum::<f64>() / gains.len() as f64;
            let line = [utilisation.to_string(), rival.to_owned(), gains.len().to_string()];
            table.push(line.into_iter().chain([format!("{average:+.1}")]).collect());
        }
    }
    table
}

fn statements(rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let named = |row: &Row| format!("{} over {}", row.name(), row.file_system);
    let all = rows.iter().filter_map(|row| Some((named(row), faster_percent(rows, row)? > 0.0)));
    statements.check("NVMFS is faster than each", all);
    // Compares the lowest utilisation with each higher utilisation.
    let pairs = |file_system: &'static str| {
        let low = move |high: &Row| {
            let same = |row: &&Row| row.workload == high.workload && row.file_system == high.file_system;
            rows.iter().filter(same).find(|row| row.utilisation < high.utilisation && !row.runs.is_empty())
        };
        let all = rows.iter().filter(move |row| row.file_system == file_system && !row.runs.is_empty());
        all.filter_map(move |high| {
            Some((high.workload.to_owned(), high.write_speed().mean / low(high)?.write_speed().mean))
        })
    };
    for file_system in [NVMFS, NILFS2] {
        let cases = pairs(file_system).map(|(name, ratio)| (name, ratio < 0.9));
        statements.check(&format!("{file_system} is clearly slower at the higher utilisation"), cases);
    }
    let alike = pairs("ext4").map(|(name, ratio)| (name, (ratio - 1.0).abs() < 0.15));
    statements.check("ext4, which writes in place, is within 15 % at the higher utilisation", alike);
    statements
}

fn draw(session: &Session, settings: &Settings, rows: &[Row]) -> Result<(), Failure> {
    let workloads = settings.workloads();
    let names: Vec<String> =
        workloads.iter().enumerate().map(|(at, name)| format!("{} {name}", at + 1)).collect();
    for &utilisation in &settings.utilisations {
        let series = [NVMFS].into_iter().chain(settings.rivals.iter().map(String::as_str)).map(|system| {
            let points = rows
                .iter()
                .filter(|row| {
                    row.utilisation == utilisation && row.file_system == system && !row.runs.is_empty()
                })
                .filter_map(|row| {
                    let at = workloads.iter().position(|name| *name == row.workload)?;
                    Some(((at + 1) as f64, row.write_speed()))
                });
            Series { name: system.to_owned(), points: points.collect(), has_line: false }
        });
        let title = format!("What a workload writes, files on {:.0} % of the disk", utilisation * 100.0);
        let chart = Chart { title: &title, x: &names.join(", "), y: "MB/s, in the drive's time" };
        let name = format!("throughput_{:.0}", utilisation * 100.0);
        chart.draw(session, &name, &series.collect::<Vec<_>>())?;
    }
    Ok(())
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    if let Some(reason) = reason_not_to_measure() {
        return Err(format!("skipped, as nothing can be mounted here: {reason}").into());
    }
    let rows = measure(session, &settings)?;
    averages(&settings, &rows).publish(session, "averages")?;
    table(&rows).publish(session, "throughput")?;
    draw(session, &settings, &rows)?;
    statements(&rows).publish(session)
}
