//! Simulation of NVMFS and Conquest under the workloads of the paper, without a mount.

use crate::Failure;
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::job::CleanerWork;
use crate::nvmfs::load::Load;
use crate::nvmfs::trial::Trial;
use serde::Serialize;
use wearwell_base::seed::Seed;
use wearwell_nvmfs::options::{Caching, Format, Grouping, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{BlockOp, BlockRequest};
use wearwell_nvmfs::top::{Machine, MachineSettings};
use wearwell_trace::{Op, Request, RequestBatch};

const BLOCK_BYTES: u64 = 4096;

/// Error of a file system that did not complete a workload.
#[derive(Debug, thiserror::Error)]
#[error("{case}: {cause}")]
pub struct WorkloadFailure {
    /// File system and workload.
    case: String,
    #[source]
    cause: Failure,
}

/// True if the error means that a file system had no free space.
pub fn ran_out_of_space(error: &Failure) -> bool {
    let first: &(dyn std::error::Error + 'static) = &**error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    causes.any(|error| matches!(error.downcast_ref(), Some(wearwell_nvmfs::api::Error::NoSpace(_))))
}

/// Maximum size in bytes of the files that Conquest keeps on NVRAM, by workload. Files up to this size are estimated to
/// take at most a third of the NVRAM. The maximum of 1 MiB in the design of Conquest would include all files of three
/// workloads, of which only a tenth fits on the NVRAM.
const CONQUEST_MAX_FILE_BYTES: [(&str, u64); 4] =
    [("iozone", 1 << 20), ("postmark", 1 << 10), ("fio", 128 << 10), ("fileserver", 32 << 10)];

/// Sizes of devices and writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Size of the SSD in bytes.
    pub disk_bytes: u64,
    /// Size of the NVRAM in bytes; the paper has "4GB" with an SSD of 64 GB.
    pub nvram_bytes: u64,
    /// Number of bytes that a workload writes after its files are made.
    pub written_bytes: u64,
    /// Seed of the workload.
    pub seed: u64,
}

impl Sizes {
    /// Returns sizes with an NVRAM of the SSD's size divided by `one_over`, rounded to whole blocks.
    pub fn with_nvram(disk_bytes: u64, one_over: u64, written_bytes: u64, seed: u64) -> Sizes {
        let nvram_bytes = disk_bytes / one_over / BLOCK_BYTES * BLOCK_BYTES;
        Sizes { disk_bytes, nvram_bytes, written_bytes, seed }
    }
}

/// File system to simulate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatedFileSystem {
    /// Name of the file system in the tables.
    pub name: &'static str,
    /// Placement of data.
    pub placement: PlacementKind,
    /// Options of the file system.
    pub options: Options,
    /// Share of the SSD's extents that the file system keeps free for cleaning.
    pub reserve: f64,
    /// Factor for the maximum size of files that Conquest keeps on NVRAM.
    #[serde(rename = "keeps")]
    pub size_factor: f64,
}

/// Returns the number of inodes of NVMFS for files of this total size, if it differs from the default. PostMark's files
/// take 8.5 KB each on the disk, and further files are created and deleted; the other workloads have far fewer files.
pub(super) fn inodes(workload: &str, files_bytes: f64) -> Option<u32> {
    (workload == "postmark").then_some((files_bytes / 7000.0) as u32)
}

impl SimulatedFileSystem {
    /// Returns NVMFS with both groupings, and Conquest.
    pub fn all(assumed: &AssumedValues) -> [SimulatedFileSystem; 3] {
        let file_system = |name, placement, grouping| SimulatedFileSystem {
            name,
            placement,
            options: Options { grouping, ..assumed.options() },
            reserve: assumed.reserve,
            size_factor: assumed.conquest_size_factor,
        };
        [
            file_system("nvmfs", PlacementKind::Nvmfs, Grouping::UpdateLikelihood),
            file_system("nvmfs lru", PlacementKind::Nvmfs, Grouping::Lru),
            file_system("conquest", PlacementKind::Conquest, Grouping::default()),
        ]
    }

    /// Returns NVMFS, and Conquest with each write-out policy.
    pub fn rivals(assumed: &AssumedValues) -> [SimulatedFileSystem; 4] {
        let [nvmfs, _, conquest] = SimulatedFileSystem::all(assumed);
        let conquest_with = |name, caching| {
            let write_out_share = (caching == Caching::Periodic).then_some(assumed.write_out_share);
            let options = Options { caching, write_out_share, ..conquest.options.clone() };
            SimulatedFileSystem { name, options, ..conquest.clone() }
        };
        [
            nvmfs,
            conquest_with("write-back", Caching::WriteBack),
            conquest_with("periodic", Caching::Periodic),
            conquest_with("write-through", Caching::WriteThrough),
        ]
    }

    /// Returns the machine for files that take the fraction `utilisation` of the SSD. This fraction refers to the
    /// size of the SSD; the space that a file system needs for its metadata is not subtracted.
    fn machine(&self, load: &Load, utilisation: f64, sizes: &Sizes) -> Result<Machine, Failure> {
        let files_bytes = utilisation * sizes.disk_bytes as f64;
        let inodes = inodes(&load.kind, files_bytes);
        let mut settings = MachineSettings {
            nvram_bytes: sizes.nvram_bytes,
            ssd_blocks: sizes.disk_bytes / BLOCK_BYTES,
            format: Format { inodes, placement: self.placement, reserve: self.reserve, ..Format::default() },
            options: Options {
                small_file_bytes: (max_nvram_file_bytes(&load.kind) as f64 * self.size_factor).round() as u64,
                ..self.options.clone()
            },
            workload: load.config(utilisation)?,
            seed: Seed(sizes.seed),
        };
        let capacity_bytes = Machine::new(&settings)?.stats().capacity_blocks * BLOCK_BYTES;
        settings.workload = load.config(files_bytes / capacity_bytes as f64)?;
        Ok(Machine::new(&settings)?)
    }

    fn failure(&self, load: &Load, utilisation: f64, why: Failure) -> WorkloadFailure {
        WorkloadFailure { case: format!("{}, {} at {utilisation}", self.name, load.name), cause: why }
    }

    /// Runs a workload until it has written each of these numbers of bytes in turn, counted since its files were
    /// made. Returns all requests to the drive, and the state when the files were made and at each number.
    ///
    /// Errors: a workload that does not fit on the file system.
    pub fn play_to(
        &self,
        load: &Load,
        utilisation: f64,
        sizes: &Sizes,
        moments: &[u64],
    ) -> Result<(RequestBatch, Vec<Mark>), Failure> {
        let failed = |why| self.failure(load, utilisation, why);
        let mut machine = self.machine(load, utilisation, sizes).map_err(failed)?;
        let (mut requests, mut new, mut marks) = (RequestBatch::default(), Vec::new(), Vec::new());
        let mut set_up_bytes = 0;
        for moment in [None].into_iter().chain(moments.iter().map(|bytes| Some(*bytes))) {
            while match moment {
                None => !machine.is_set_up(),
                Some(bytes) => machine.played().written_bytes < bytes,
            } {
                step(&mut machine, &mut requests, &mut new).map_err(failed)?;
            }
            if moment.is_none() {
                set_up_bytes = machine.played().written_bytes;
                machine.reset_counts();
            }
            let counts = machine.stats().counts;
            let writes = (0..requests.len()).filter(|at| requests.op[*at] == Op::Write);
            marks.push(Mark {
                requests: requests.len(),
                written_bytes: set_up_bytes + machine.played().written_bytes,
                sent_bytes: writes.map(|at| requests.length_bytes[at]).sum(),
                recycled_blocks: counts.recycled_blocks(),
                moved_blocks: counts.moved_blocks,
            });
        }
        machine.check().map_err(|error| failed(error.into()))?;
        Ok((requests, marks))
    }

    /// Runs a workload.
    ///
    /// Errors: a workload that does not fit on the file system.
    pub fn play(&self, load: &Load, utilisation: f64, sizes: &Sizes) -> Result<Trial, Failure> {
        let failed = |why| self.failure(load, utilisation, why);
        let mut machine = self.machine(load, utilisation, sizes).map_err(failed)?;
        let (mut requests, mut new) = (RequestBatch::default(), Vec::new());
        while !machine.is_set_up() {
            step(&mut machine, &mut requests, &mut new).map_err(failed)?;
        }
        machine.reset_counts();
        let (measured_from, before) = (requests.len(), machine.stats().counts);
        while machine.played().written_bytes < sizes.written_bytes {
            step(&mut machine, &mut requests, &mut new).map_err(failed)?;
        }
        machine.check().map_err(|error| failed(error.into()))?;
        let (played, counts) = (machine.played(), machine.stats().counts);
        let recycled = counts.recycled_extents - before.recycled_extents;
        Ok(Trial {
            file_system: self.name.to_owned(),
            workload: load.name.clone(),
            utilisation,
            requests,
            measured_from,
            written_bytes: played.written_bytes,
            read_bytes: played.read_bytes,
            cleaner_work: (!self.placement.updates_in_place()).then_some(CleanerWork {
                segments: recycled,
                recycled_blocks: counts.recycled_blocks() - before.recycled_blocks(),
                moved_blocks: counts.moved_blocks - before.moved_blocks,
            }),
        })
    }
}

/// State of a file system at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Number of requests to the drive so far.
    pub requests: usize,
    /// Number of bytes that the workload wrote, including the creation of its files.
    pub written_bytes: u64,
    /// Number of bytes sent to the drive.
    pub sent_bytes: u64,
    /// Number of blocks in recycled segments.
    pub recycled_blocks: u64,
    /// Number of blocks in these segments that had to be moved.
    pub moved_blocks: u64,
}

/// Returns the maximum size of the files that Conquest keeps on NVRAM.
fn max_nvram_file_bytes(workload: &str) -> u64 {
    let found = CONQUEST_MAX_FILE_BYTES.iter().find(|(name, _)| *name == workload);
    found.map_or(Options::default().small_file_bytes, |(_, bytes)| *bytes)
}

fn step(
    machine: &mut Machine,
    requests: &mut RequestBatch,
    new: &mut Vec<BlockRequest>,
) -> Result<(), Failure> {
    machine.step(new)?;
    new.drain(..).for_each(|request| requests.push(&in_bytes(&request)));
    Ok(())
}

fn in_bytes(request: &BlockRequest) -> Request {
    let op = match request.op {
        BlockOp::Read => Op::Read,
        BlockOp::Write => Op::Write,
        BlockOp::Trim => Op::Trim,
        BlockOp::Flush => Op::Flush,
    };
    Request {
        time_ns: 0,
        op,
        volume: 0,
        offset_bytes: request.first * BLOCK_BYTES,
        length_bytes: request.blocks * BLOCK_BYTES,
        hint: request.stream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvmfs::timed_replay::Clock;
    use crate::session::tests::with_session;
    use wearwell_nvmfs::workload::FILE_WORKLOADS;

    #[test]
    fn every_file_system_plays_every_workload() {
        let sizes = Sizes { disk_bytes: 128 << 20, nvram_bytes: 8 << 20, written_bytes: 32 << 20, seed: 1 };
        let (assumed, clock) = with_session(1, 1.0, |session| {
            (AssumedValues::from_session(session).unwrap(), Clock::from_session(session).unwrap())
        });
        for simulated in SimulatedFileSystem::all(&assumed) {
            for workload in FILE_WORKLOADS {
                let trial = simulated.play(&Load::named(workload.name), 0.6, &sizes).unwrap();
                assert!(trial.written_bytes >= sizes.written_bytes);
                let outcome = trial.evaluate(sizes.disk_bytes, &clock).unwrap();
                assert!(outcome.traffic() > 0.1 && outcome.throughput(0) > 0.0, "{outcome:?}");
            }
        }
    }
}
