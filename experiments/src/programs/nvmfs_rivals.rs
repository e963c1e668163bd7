//! NVMFS against recordings of real file systems, each pair under the same workload with the same bytes written: figures 6
//! to 11 of Qiu and Reddy (2013), and by how much it is ahead.

use crate::Failure;
use crate::nvmfs::assumed::Assumed;
use crate::nvmfs::recorded;
use crate::nvmfs::simulate::{Load, Simulated, Sizes};
use crate::nvmfs::trial::{Clock, Outcome};
use crate::session::Session;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use wearwell_nvmfs::workload::FILE_WORKLOADS;

const UTILISATIONS: [f64; 2] = [0.6, 0.87];

/// A recording, and NVMFS doing the same.
#[derive(Serialize, Deserialize)]
struct Pair {
    other: Outcome,
    ours: Outcome,
}

fn pair(
    path: &std::path::Path,
    sizes: &Sizes,
    nvmfs: &Simulated,
    assumed: &Assumed,
    clock: &Clock,
) -> Result<Pair, Failure> {
    let trial = recorded::read(path, sizes.disk_bytes)?;
    let sizes = Sizes { written_bytes: trial.written_bytes, ..*sizes };
    let other = trial.evaluate(sizes.disk_bytes, clock)?;
    let ours = nvmfs.play(&assumed.sized(Load::named(&trial.workload)), trial.utilisation, &sizes)?;
    Ok(Pair { other, ours: ours.evaluate(sizes.disk_bytes, clock)? })
}

fn pairs(session: &Session, traces: &std::path::Path, sizes: &Sizes) -> Result<Vec<Pair>, Failure> {
    let mut paths = Vec::new();
    for utilisation in UTILISATIONS {
        for workload in FILE_WORKLOADS {
            paths.extend(recorded::find(traces, workload.name, utilisation)?);
        }
    }
    // A recording in which hardly anything happened is none.
    let (assumed, clock) = (Assumed::of(session)?, Clock::of(session)?);
    let [nvmfs, ..] = Simulated::all(&assumed);
    let keys: Vec<(PathBuf, &Simulated, f64, Clock)> =
        paths.into_iter().map(|path| (path, &nvmfs, assumed.file_sizes, clock)).collect();
    let answer = |(path, nvmfs, _, clock): &(PathBuf, &Simulated, f64, Clock)| {
        Ok(pair(path, sizes, nvmfs, &assumed, clock).ok())
    };
    Ok(session.each("a recording and NVMFS", &keys, answer)?.into_iter().flatten().collect())
}

fn numbers(outcome: &Outcome) -> Vec<String> {
    let maybe = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    let mut row = vec![outcome.file_system.clone(), format!("{:.2}", outcome.traffic())];
    for replayed in &outcome.replayed {
        row.extend([replayed.erases.to_string(), maybe(replayed.erase_cost())]);
    }
    row.extend([0, 1].map(|ftl| format!("{:.2}", outcome.programs_a_user_page(ftl))));
    row.extend([0, 1].map(|drive| format!("{:.1}", outcome.throughput(drive))));
    row.push(outcome.cleaned.map_or(String::new(), |cleaned| cleaned.recycled_blocks.to_string()));
    let efficiency = outcome.cleaned.and_then(|cleaned| cleaned.efficiency());
    row.push(efficiency.map_or(String::new(), |efficiency| format!("{efficiency:.2}")));
    row
}

fn table(pairs: &[Pair]) -> Table {
    let mut table = Table::new(&[
        "utilisation",
        "workload",
        "user_mib",
        "file_system",
        "traffic",
        "page_erases",
        "page_cost",
        "fast_erases",
        "fast_cost",
        "page_programs",
        "fast_programs",
        "mb_a_second",
        "mb_a_second_planes",
        "recycled_blocks",
        "cleaning_efficiency",
        "nvmfs_faster_percent",
        "nvmfs_faster_planes_percent",
    ]);
    for Pair { other, ours } in pairs {
        let gain = [0, 1].map(|drive| (ours.throughput(drive) / other.throughput(drive) - 1.0) * 100.0);
        for (outcome, gain) in [(other, gain.map(|gain| format!("{gain:+.0}"))), (ours, Default::default())] {
            let mut row = vec![outcome.utilisation.to_string(), outcome.workload.clone()];
            row.push((outcome.user_sectors / 2048).to_string());
            row.extend(numbers(outcome));
            row.extend(gain);
            table.push(row);
        }
    }
    table
}

/// What it is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The folder of the recordings, as `nvmfs_record` leaves them.
    recordings: PathBuf,
    /// Of the disk that was recorded.
    disk_mib: u64,
    /// The seed.
    seed: u64,
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let Settings { recordings, disk_mib, seed } = session.settings()?;
    let disk_bytes = disk_mib << 20;
    let sizes = Sizes::with_nvram(disk_bytes, 16, 0, seed);
    table(&pairs(session, &recordings, &sizes)?).publish(session, "data")
}
