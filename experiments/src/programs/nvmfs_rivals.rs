//! Comparison of NVMFS with recordings of real file systems. Each pair is under the same workload with the same
//! number of bytes written. The results are figures 6 to 11 of Qiu and Reddy (2013), and the advantage of NVMFS.

use crate::Failure;
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::load::Load;
use crate::nvmfs::recording::{FileSystemRecordingInfo, Recording, shipped};
use crate::nvmfs::simulate::{SimulatedFileSystem, Sizes};
use crate::nvmfs::timed_replay::Clock;
use crate::nvmfs::trial::{Outcome, Trial};
use crate::recordings::RecordingInfo as _;
use crate::session::Session;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};

/// A recording, and the results of NVMFS under the same workload.
#[derive(Serialize, Deserialize)]
struct Pair {
    #[serde(rename = "other")]
    rival: Outcome,
    #[serde(rename = "ours")]
    nvmfs: Outcome,
}

fn pair(recording: &Recording, nvmfs: &SimulatedFileSystem, clock: &Clock) -> Result<Pair, Failure> {
    let trial = Trial::from(recording);
    let FileSystemRecordingInfo { disk_bytes, cache_bytes, seed, .. } = recording.info;
    let sizes = Sizes { disk_bytes, nvram_bytes: cache_bytes, written_bytes: trial.written_bytes, seed };
    let other = trial.evaluate(disk_bytes, clock)?;
    // The files have the sizes of the recording, so assumed sizes do not apply.
    let ours = nvmfs.play(&Load::named(&trial.workload), trial.utilisation, &sizes)?;
    Ok(Pair { rival: other, nvmfs: ours.evaluate(disk_bytes, clock)? })
}

/// Identity of a pair, by which a pair that is finished is not run again.
#[derive(Serialize)]
struct Point<'a> {
    name: String,
    checksum: &'a str,
    nvmfs: &'a SimulatedFileSystem,
    clock: Clock,
    #[serde(skip)]
    recording: &'a Recording,
}

fn pairs(session: &Session, recordings: &[Recording]) -> Result<Vec<Pair>, Failure> {
    let (assumed, clock) = (AssumedValues::from_session(session)?, Clock::from_session(session)?);
    let [nvmfs, ..] = SimulatedFileSystem::all(&assumed);
    let point = |recording| -> Point {
        let Recording { info: known, .. }: &Recording = recording;
        Point { name: known.name(), checksum: &known.checksum, nvmfs: &nvmfs, clock, recording }
    };
    let points: Vec<Point> = recordings.iter().map(point).collect();
    session.compute_each("a recording and NVMFS", &points, |point| {
        pair(point.recording, point.nvmfs, &point.clock)
    })
}

fn table(pairs: &[Pair]) -> Table {
    let mut table = Table::default();
    for Pair { rival: other, nvmfs: ours } in pairs {
        let gain = [0, 1].map(|drive| (ours.throughput(drive) / other.throughput(drive) - 1.0) * 100.0);
        for (outcome, gain) in [(other, gain.map(|gain| format!("{gain:+.0}"))), (ours, Default::default())] {
            table.add(row(outcome, &gain));
        }
    }
    table
}

/// Returns the row of a file system. `gain` is the advantage of NVMFS over it in per cent, on each drive.
fn row(outcome: &Outcome, gain: &[String; 2]) -> Fields {
    let [page, fast] = [0, 1].map(|ftl| &outcome.replayed[ftl]);
    let work = outcome.cleaner_work.as_ref();
    Fields::default()
        .text("utilisation", outcome.utilisation)
        .text("workload", &outcome.workload)
        .text("user_mib", outcome.user_sectors / 2048)
        .text("file_system", &outcome.file_system)
        .number("traffic", outcome.traffic(), 2)
        .text("page_erases", page.erases)
        .number("page_cost", page.erase_cost(), 1)
        .text("fast_erases", fast.erases)
        .number("fast_cost", fast.erase_cost(), 1)
        .number("page_programs", outcome.programs_per_user_page(0), 2)
        .number("fast_programs", outcome.programs_per_user_page(1), 2)
        .number("mb_a_second", outcome.throughput(0), 1)
        .number("mb_a_second_planes", outcome.throughput(1), 1)
        .number("recycled_blocks", work.map(|cleaned| cleaned.recycled_blocks as f64), 0)
        .number("cleaning_efficiency", work.and_then(|cleaned| cleaned.efficiency()), 2)
        .text("nvmfs_faster_percent", &gain[0])
        .text("nvmfs_faster_planes_percent", &gain[1])
}

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of the workloads; all if empty.
    workloads: Vec<String>,
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let Settings { workloads } = session.settings()?;
    let mut recordings = shipped()?;
    recordings.retain(|one| workloads.is_empty() || workloads.contains(&one.info.workload));
    table(&pairs(session, &recordings)?).publish(session, "data")
}
