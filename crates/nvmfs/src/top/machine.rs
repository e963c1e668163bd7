//! File system without a mount, driven by a workload.

use crate::api::{Error, ROOT};
use crate::fs::Nvmfs;
use crate::layout::Checksums;
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::{BlockRequest, NullSsd, RecordingSsd};
use crate::stats::Stats;
use crate::store::OpenError;
use crate::workload::play::{FileSystemTarget, PlayCounts, PlayError, PlayOptions, Player};
use crate::workload::{FileWorkload, FileWorkloadConfig};
use std::sync::{Arc, Mutex, PoisonError};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;

/// Time in ns by which each request of the workload advances the file system's clock.
const STEP_NS: i64 = 1000;

/// Configuration of a machine.
#[derive(Clone, Debug)]
pub struct MachineSettings {
    /// Size of the NVRAM in bytes, a multiple of 4096.
    pub nvram_bytes: u64,
    /// Number of blocks of the SSD.
    pub ssd_blocks: u64,
    /// Settings for creating the file system.
    pub format: Format,
    /// Use of the devices by the file system.
    pub options: Options,
    /// Workload of file operations.
    pub workload: FileWorkloadConfig,
    /// Seed of random numbers.
    pub seed: Seed,
}

/// Error of a machine.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The file system cannot be created.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The workload does not fit the file system.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file system refused an operation.
    #[error("the file system: {0}")]
    Refused(#[from] PlayError<Error>),
}

type Ssd = RecordingSsd<NullSsd>;

/// File system without a mount, on which a workload runs. Metadata and data on NVRAM have content; blocks on the SSD
/// have no content.
pub struct Machine {
    player: Player<FileSystemTarget<Nvmfs<PlainNvram, Ssd>>>,
    workload: Box<dyn FileWorkload>,
    requests: Arc<Mutex<Vec<BlockRequest>>>,
}

impl Machine {
    /// Creates a file system, and a workload that has not started.
    ///
    /// # Errors
    /// Invalid sizes or settings of the file system or its workload.
    pub fn new(settings: &MachineSettings) -> Result<Self, MachineError> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&requests);
        let ssd = RecordingSsd::new(NullSsd::new(settings.ssd_blocks), move |request| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        });
        let nvram = PlainNvram::new(settings.nvram_bytes as usize);
        // The file system is never opened again, and the drive holds no content that checksums could verify.
        let format = Format { checksums: Checksums::None, ..settings.format.clone() };
        let fs = Nvmfs::format(nvram, Arc::new(ssd), &format, settings.options.clone())?;
        let capacity_bytes = fs.store().capacity_blocks() * crate::api::BLOCK_BYTES as u64;
        let workload = settings.workload.build(capacity_bytes, settings.seed)?;
        let options = PlayOptions { step_ns: STEP_NS, ..PlayOptions::default() };
        let player = Player::new(FileSystemTarget::new(fs, ROOT), options);
        Ok(Machine { player, workload, requests })
    }

    /// Executes one operation, and appends the requests to the SSD that it causes. Returns false at the end of a
    /// limited workload.
    ///
    /// # Errors
    /// An operation was refused by the file system, for example because it is full.
    pub fn step(&mut self, requests: &mut Vec<BlockRequest>) -> Result<bool, MachineError> {
        let played = self.player.play(&mut *self.workload, 1)?;
        requests.append(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(played > 0)
    }

    /// True if the set-up of the workload is complete.
    pub fn is_set_up(&self) -> bool {
        self.workload.is_set_up()
    }

    /// Resets the counts of operations to 0, for example after the set-up.
    pub fn reset_counts(&mut self) {
        self.player.reset_counts();
    }

    /// Returns the counts of operations.
    pub fn played(&self) -> PlayCounts {
        self.player.counts()
    }

    /// Returns the statistics of the file system.
    pub fn stats(&self) -> Stats {
        self.player.target.file_system.stats()
    }

    /// Recounts everything in the file system.
    ///
    /// # Errors
    /// A description of the first inconsistency, which is a bug.
    pub fn check(&self) -> Result<(), String> {
        self.player.target.file_system.store().check()
    }
}
