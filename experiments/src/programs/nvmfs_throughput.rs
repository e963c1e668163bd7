//! Qiu and Reddy (2013), figures 8 and 9, on the drive that the paper measured: throughput of NVMFS and Conquest.

use crate::Failure;
use crate::interval::{Interval, mean};
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::interpretation::Interpretation;
use crate::nvmfs::load::Load;
use crate::nvmfs::simulate::{SimulatedFileSystem, Sizes};
use crate::nvmfs::timed_replay::Clock;
use crate::nvmfs::timed_replay::{ReplayDrive, timed_seconds};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};
use wearwell_nvmfs::workload::FILE_WORKLOADS;

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Size of the SSD in MiB, unless another size is assumed.
    disk_mib: u64,
    /// Ratio of SSD size to NVRAM size.
    #[serde(rename = "nvram_one_over")]
    nvram_divisor: u64,
    /// Shares of the SSD that the files take.
    utilisations: Vec<f64>,
    /// Number of bytes that a workload writes after its files are made, as a multiple of the size of the SSD.
    written: Vec<f64>,
    /// Drive for the replay.
    drive: ReplayDrive,
    /// Number of runs of each case, with the seeds 1, 2, …
    runs: u64,
}

impl Settings {
    /// Returns the settings of a session, with the values of the interpretation that fits the paper.
    fn from_session(session: &Session) -> Result<Settings, Failure> {
        let mut settings: Settings = session.settings()?;
        let one_over = std::slice::from_mut(&mut settings.nvram_divisor);
        Interpretation::from_session(session)?.apply_to(one_over, &mut settings.written)?;
        settings.disk_mib = (settings.disk_mib as f64 * session.assumed_value("nvmfs/disk")?) as u64;
        Ok(settings)
    }
}

/// A file system under a workload.
#[derive(Clone, Serialize)]
struct Point {
    simulated: SimulatedFileSystem,
    load: Load,
    utilisation: f64,
    sizes: Sizes,
    drive: ReplayDrive,
    clock: Clock,
}

/// Throughput of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Throughput {
    /// Megabytes (10^6 bytes) that the workload wrote per second; drive and memory work one after the other.
    #[serde(rename = "mb_a_second")]
    mb_per_second: f64,
    /// Mean size of a request to the drive in KiB.
    #[serde(rename = "kib_a_request")]
    kib_per_request: f64,
    /// Number of cleaned extents.
    recycled: u64,
}

impl Point {
    fn speed(&self) -> Result<Throughput, Failure> {
        let trial = self.simulated.play(&self.load, self.utilisation, &self.sizes)?;
        let (shown_bytes, clock) = (self.sizes.disk_bytes, &self.clock);
        let measured = timed_seconds(&trial.requests, trial.measured_from, shown_bytes, self.drive, clock)?;
        let (sent_bytes, requests) = trial.sent();
        Ok(Throughput {
            mb_per_second: trial.written_bytes as f64 / 1e6 / (measured + trial.memory_seconds(clock)),
            kib_per_request: sent_bytes as f64 / 1024.0 / requests.max(1) as f64,
            recycled: trial.cleaner_work.map_or(0, |cleaned| cleaned.segments),
        })
    }
}

/// NVMFS compared with one rival.
struct Row {
    utilisation: f64,
    written: f64,
    workload: &'static str,
    rival: &'static str,
    nvmfs: Vec<Throughput>,
    rival_runs: Vec<Throughput>,
}

impl Row {
    fn gain(&self) -> Interval {
        let pairs = self.nvmfs.iter().zip(&self.rival_runs);
        let gains = pairs.map(|(ours, theirs)| (ours.mb_per_second / theirs.mb_per_second - 1.0) * 100.0);
        Interval::from_values(&gains.collect::<Vec<_>>())
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::default();
    for row in rows {
        let gain = row.gain();
        let [_, half_width] = gain.numbers(1);
        table.add(
            Fields::default()
                .text("utilisation", row.utilisation)
                .text("written", row.written)
                .text("workload", row.workload)
                .text("rival", row.rival)
                .number("mb_a_second", mean(&row.nvmfs, |speed| speed.mb_per_second), 1)
                .number("rivals_mb_a_second", mean(&row.rival_runs, |speed| speed.mb_per_second), 1)
                .number("kib_a_request", mean(&row.nvmfs, |speed| speed.kib_per_request), 0)
                .number("rivals_kib_a_request", mean(&row.rival_runs, |speed| speed.kib_per_request), 0)
                .number("extents_cleaned", mean(&row.nvmfs, |speed| speed.recycled as f64), 0)
                .text("faster_percent", format!("{:+.1}", gain.mean))
                .text("half_width", half_width),
        );
    }
    table
}

/// Returns the mean over the workloads, which the paper prints.
fn averages(settings: &Settings, systems: &[SimulatedFileSystem], rows: &[Row]) -> Table {
    let mut table = Table::new(&["utilisation", "written", "rival", "faster_percent"]);
    for &utilisation in &settings.utilisations {
        for &written in &settings.written {
            for rival in systems.iter().skip(1) {
                let is_selected = |row: &&Row| {
                    row.utilisation == utilisation && row.written == written && row.rival == rival.name
                };
                let gains: Vec<f64> = rows.iter().filter(is_selected).map(|row| row.gain().mean).collect();
                let average = gains.iter().sum::<f64>() / gains.len() as f64;
                let line = [utilisation.to_string(), written.to_string(), rival.name.to_owned()];
                table.push(line.into_iter().chain([format!("{average:+.1}")]).collect());
            }
        }
    }
    table
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings = Settings::from_session(session)?;
    let (assumed, clock) = (AssumedValues::from_session(session)?, Clock::from_session(session)?);
    let disk_bytes = settings.disk_mib << 20;
    let (systems, runs) = (SimulatedFileSystem::rivals(&assumed), settings.runs as usize);
    let mut cases = Vec::new();
    for &utilisation in &settings.utilisations {
        for &written in &settings.written {
            cases.extend(FILE_WORKLOADS.iter().map(|entry| (utilisation, written, entry.name)));
        }
    }
    let mut points = Vec::new();
    for &(utilisation, written, workload) in &cases {
        for simulated in &systems {
            for seed in 1..=settings.runs {
                let written_bytes = (written * disk_bytes as f64) as u64;
                points.push(Point {
                    simulated: simulated.clone(),
                    load: assumed.with_scaled_files(Load::named(workload)),
                    utilisation,
                    sizes: Sizes::with_nvram(disk_bytes, settings.nvram_divisor, written_bytes, seed),
                    drive: settings.drive,
                    clock,
                });
            }
        }
    }
    let speeds = session.compute_each("speed of a file system", &points, Point::speed)?;
    let mut rows = Vec::new();
    for (&(utilisation, written, workload), of_case) in cases.iter().zip(speeds.chunks(systems.len() * runs))
    {
        let by_system: Vec<&[Throughput]> = of_case.chunks(runs).collect();
        for (rival, rival_runs) in systems.iter().zip(&by_system).skip(1) {
            let (ours, rival_runs) = (by_system[0].to_vec(), rival_runs.to_vec());
            rows.push(Row { utilisation, written, workload, rival: rival.name, nvmfs: ours, rival_runs });
        }
    }
    averages(&settings, &systems, &rows).publish(session, "averages")?;
    table(&rows).publish(session, "throughput")?;
    let mut statements = Statements::default();
    for rival in systems.iter().skip(1) {
        let rows_against = rows.iter().filter(|row| row.rival == rival.name);
        let name = |row: &Row| format!("{} at {}; {} disks", row.workload, row.utilisation, row.written);
        let text = format!("NVMFS is faster than Conquest with {}", rival.name);
        statements.check(&text, rows_against.map(|row| (name(row), row.gain().mean > 0.0)));
    }
    by_utilisation(&rows, &mut statements);
    statements.publish(session)
}

/// Tests the paper's comparison of two utilisations, with the lowest and the highest that were run.
fn by_utilisation(rows: &[Row], statements: &mut Statements) {
    let same = |row: &&Row, other: &Row| {
        (row.workload, row.rival) == (other.workload, other.rival) && row.written == other.written
    };
    let last = rows.iter().filter(|row| row.utilisation > rows[0].utilisation);
    let pairs: Vec<(&Row, &Row)> = last
        .filter_map(|high| {
            rows.iter()
                .find(|row| same(row, high) && row.utilisation < high.utilisation)
                .map(|low| (low, high))
        })
        .collect();
    let name = |row: &Row| format!("{}; {} disks; {}", row.workload, row.written, row.rival);
    let speed = |speeds: &[Throughput]| mean(speeds, |speed| speed.mb_per_second);
    let slower = |(low, high): &(&Row, &Row)| (name(high), speed(&high.nvmfs) < 0.9 * speed(&low.nvmfs));
    // A single rival is enough, because the statement concerns only NVMFS.
    let of_ours = pairs.iter().filter(|(_, high)| high.rival == "periodic");
    statements.check("NVMFS is clearly slower at the higher utilisation", of_ours.map(slower));
    let alike = |(low, high): &(&Row, &Row)| {
        (name(high), (speed(&high.rival_runs) / speed(&low.rival_runs) - 1.0).abs() < 0.15)
    };
    statements.check(
        "Conquest which writes in place is within 15 % at the higher utilisation",
        pairs.iter().map(alike),
    );
    let cleaned = |row: &Row| mean(&row.nvmfs, |speed| speed.recycled as f64) > 0.0;
    let only_high = |(low, high): &(&Row, &Row)| (name(high), cleaned(high) && !cleaned(low));
    let of_ours = pairs.iter().filter(|(_, high)| high.rival == "periodic");
    statements.check("NVMFS cleans at the higher utilisation and not at the lower", of_ours.map(only_high));
}
