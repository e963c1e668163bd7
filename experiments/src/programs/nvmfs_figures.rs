//! Qiu and Reddy (2013), figures 6 to 11: requests of NVMFS and Conquest to their drive, the resulting cost on the
//! drive, and throughput. The program `nvmfs_rivals` has real file systems.

use crate::Failure;
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::load::Load;
use crate::nvmfs::simulate::{SimulatedFileSystem, Sizes};
use crate::nvmfs::timed_replay::Clock;
use crate::nvmfs::trial::Outcome;
use crate::session::Session;
use crate::table::{Fields, Table, number};
use serde::Serialize;
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::workload::FILE_WORKLOADS;

/// Settings of the program.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Size of the SSD in MiB. A sixteenth of the paper's flash of 24 GB is 1536 MiB.
    disk_mib: u64,
    /// Size of the NVRAM in MiB.
    nvram_mib: u64,
    /// Amount of data in MiB that a workload writes after its files are made.
    written_mib: u64,
    /// Seed of the workloads.
    seed: u64,
    /// Shares of the disk that the files take.
    utilisations: Vec<f64>,
    /// Names of the workloads; all four unless given.
    #[serde(default)]
    workloads: Vec<String>,
    /// If not empty, NVMFS runs with these thresholds of free extents for recycling, in place of the figures.
    #[serde(default)]
    recycle_free: Vec<f64>,
}

/// A file system under a workload.
#[derive(Serialize)]
struct Point {
    utilisation: f64,
    load: Load,
    simulated: SimulatedFileSystem,
    sizes: Sizes,
    clock: Clock,
}

impl Settings {
    fn sizes(&self) -> Sizes {
        Sizes {
            disk_bytes: self.disk_mib << 20,
            nvram_bytes: self.nvram_mib << 20,
            written_bytes: self.written_mib << 20,
            seed: self.seed,
        }
    }

    /// Returns the file systems for each workload: those of the figures, or NVMFS with each threshold of free
    /// extents.
    fn file_systems(&self, assumed: &AssumedValues) -> Vec<SimulatedFileSystem> {
        if self.recycle_free.is_empty() {
            return SimulatedFileSystem::all(assumed).into();
        }
        let [nvmfs, ..] = SimulatedFileSystem::all(assumed);
        let with = |&recycle_free| SimulatedFileSystem {
            options: Options { recycle_free, ..nvmfs.options.clone() },
            ..nvmfs.clone()
        };
        self.recycle_free.iter().map(with).collect()
    }

    /// Returns all outcomes, in the order of the tables.
    fn outcomes(&self, session: &Session) -> Result<Vec<Outcome>, Failure> {
        let (sizes, assumed, clock) =
            (self.sizes(), AssumedValues::from_session(session)?, Clock::from_session(session)?);
        let systems = self.file_systems(&assumed);
        let all = || FILE_WORKLOADS.iter().map(|entry| entry.name.to_owned()).collect();
        let workloads: Vec<String> = if self.workloads.is_empty() { all() } else { self.workloads.clone() };
        let mut points = Vec::new();
        for &utilisation in &self.utilisations {
            for workload in &workloads {
                let load = assumed.with_scaled_files(Load::named(workload));
                let point = |simulated: &SimulatedFileSystem| Point {
                    utilisation,
                    load: load.clone(),
                    simulated: simulated.clone(),
                    sizes,
                    clock,
                };
                points.extend(systems.iter().map(point));
            }
        }
        session.compute_each("file system on two FTLs", &points, |point| {
            let Point { utilisation, load, simulated, sizes, clock } = point;
            simulated.play(load, *utilisation, sizes)?.evaluate(sizes.disk_bytes, clock)
        })
    }
}

/// Returns a table with a row per outcome, which begins with the keys.
fn table(
    outcomes: &[Outcome],
    columns: &[&'static str],
    values: impl Fn(&Outcome) -> Option<Vec<String>>,
) -> Table {
    let mut table = Table::new(&[&["utilisation", "workload", "file_system"], columns].concat());
    for outcome in outcomes {
        let Some(values) = values(outcome) else { continue };
        let mut row =
            vec![outcome.utilisation.to_string(), outcome.workload.clone(), outcome.file_system.clone()];
        row.extend(values);
        table.push(row);
    }
    table
}

fn traffic(outcomes: &[Outcome]) -> Table {
    table(outcomes, &["user_sectors", "sectors", "sectors_a_user_sector", "kib_a_request"], |outcome| {
        let kib = outcome.sectors as f64 / 2.0 / outcome.write_requests as f64;
        Some(vec![
            outcome.user_sectors.to_string(),
            outcome.sectors.to_string(),
            format!("{:.3}", outcome.traffic()),
            format!("{kib:.1}"),
        ])
    })
}

fn erases(outcomes: &[Outcome]) -> Table {
    let columns = [
        "page_erases",
        "page_erases_a_gib",
        "page_cost",
        "page_wa",
        "fast_erases",
        "fast_erases_a_gib",
        "fast_cost",
        "fast_wa",
    ];
    table(outcomes, &columns, |outcome| {
        let fields_of = |(ftl, replayed): (usize, &crate::nvmfs::replay::ReplayCounts)| {
            [
                replayed.erases.to_string(),
                format!("{:.0}", outcome.erases_per_gib(ftl)),
                number(replayed.erase_cost(), 2),
                number(replayed.write_amplification(), 3),
            ]
        };
        Some(outcome.replayed.iter().enumerate().flat_map(fields_of).collect())
    })
}

fn throughput(outcomes: &[Outcome]) -> Table {
    let columns =
        ["memory_seconds", "drive_seconds", "mb_a_second", "drive_seconds_planes", "mb_a_second_planes"];
    table(outcomes, &columns, |outcome| {
        let mut row = vec![format!("{:.2}", outcome.memory_seconds)];
        for (drive, seconds) in outcome.drive_seconds.iter().enumerate() {
            row.extend([format!("{seconds:.2}"), format!("{:.1}", outcome.throughput(drive))]);
        }
        Some(row)
    })
}

fn cleaning(outcomes: &[Outcome]) -> Table {
    table(outcomes, &["recycled_blocks", "moved_blocks", "cleaning_efficiency"], |outcome| {
        outcome.cleaner_work.map(|cleaned| {
            let counts = [cleaned.recycled_blocks, cleaned.moved_blocks].map(|count| count.to_string());
            counts.into_iter().chain([number(cleaned.efficiency(), 3)]).collect()
        })
    })
}

/// Returns a table of the effect of later recycling. `outcomes` repeats the values of `recycle_free` cyclically.
fn recycling(recycle_free: &[f64], outcomes: &[Outcome]) -> Table {
    let mut table = Table::default();
    for (outcome, share) in outcomes.iter().zip(recycle_free.iter().cycle()) {
        let work = outcome.cleaner_work.as_ref();
        table.add(
            Fields::default()
                .text("utilisation", outcome.utilisation)
                .text("workload", &outcome.workload)
                .text("recycle_free", share)
                .number("user_bytes_an_ssd_byte", 1.0 / outcome.traffic(), 3)
                .number("cleaning_efficiency", work.and_then(|cleaned| cleaned.efficiency()), 3)
                .text("page_erases", outcome.replayed[0].erases)
                .number("mb_a_second", outcome.throughput(0), 1)
                .number("mb_a_second_planes", outcome.throughput(1), 1),
        );
    }
    table
}

/// Returns the advantage of NVMFS over Conquest and over NVMFS without grouping, and the average advantage over
/// Conquest.
fn advantages(settings: &Settings, outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&[
        "utilisation",
        "workload",
        "over",
        "traffic_percent",
        "page_erases_percent",
        "fast_erases_percent",
        "throughput_percent",
        "throughput_planes_percent",
    ]);
    for &utilisation in &settings.utilisations {
        let selected: Vec<_> = outcomes.iter().filter(|outcome| outcome.utilisation == utilisation).collect();
        let mut gains = Vec::new();
        for ours in selected.iter().filter(|outcome| outcome.file_system == "nvmfs") {
            let same = selected.iter().filter(|other| other.workload == ours.workload);
            for other in same.filter(|other| other.file_system != "nvmfs") {
                let gain = [0, 1].map(|drive| percent(ours.throughput(drive), other.throughput(drive)));
                if other.file_system == "conquest" {
                    gains.push(gain);
                }
                let mut row = vec![utilisation.to_string(), ours.workload.clone(), other.file_system.clone()];
                row.push(signed(percent(ours.traffic(), other.traffic())));
                let erases = [0, 1].map(|ftl| percent(ours.erases_per_gib(ftl), other.erases_per_gib(ftl)));
                row.extend(erases.map(signed));
                row.extend(gain.map(signed));
                table.push(row);
            }
        }
        let mean = [0, 1].map(|drive| gains.iter().map(|gain| gain[drive]).sum::<f64>() / gains.len() as f64);
        let mut row = vec![utilisation.to_string(), "average".to_owned(), "conquest".to_owned()];
        row.extend([String::new(), String::new(), String::new()]);
        row.extend(mean.map(signed));
        table.push(row);
    }
    table
}

fn percent(ours: f64, other: f64) -> f64 {
    (ours / other - 1.0) * 100.0
}

/// Formats a difference; the text is empty if both values were 0, for example the numbers of erases in a short run.
fn signed(percent: f64) -> String {
    if percent.is_nan() { String::new() } else { format!("{percent:+.1}") }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let outcomes = settings.outcomes(session)?;
    if !settings.recycle_free.is_empty() {
        return recycling(&settings.recycle_free, &outcomes).publish(session, "recycle_free");
    }
    let tables = [
        ("figure6", traffic(&outcomes)),
        ("figure7", erases(&outcomes)),
        ("figures8_9", throughput(&outcomes)),
        ("figures10_11", cleaning(&outcomes)),
        ("advantages", advantages(&settings, &outcomes)),
    ];
    tables.iter().try_for_each(|(name, table)| table.publish(session, name))
}
