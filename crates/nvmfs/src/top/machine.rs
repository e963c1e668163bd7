//! A file system without a mount, at work on a workload.

use crate::api::{Error, ROOT};
use crate::fs::Nvmfs;
use crate::layout::Checksums;
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::{BlockRequest, CountingSsd, Recorded};
use crate::stats::Stats;
use crate::store::OpenError;
use crate::workload::play::{OnFileSystem, PlayCounts, PlayError, PlayOptions, Player};
use crate::workload::{FileWorkload, FileWorkloadConfig};
use std::sync::{Arc, Mutex, PoisonError};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;

/// Between two requests of the workload the file system's clock goes on by this, ns.
const STEP_NS: i64 = 1000;

/// What a machine is made of.
#[derive(Clone, Debug)]
pub struct MachineSettings {
    /// Bytes of NVRAM, a multiple of 4096.
    pub nvram_bytes: u64,
    /// Blocks of the SSD.
    pub ssd_blocks: u64,
    /// How the file system is made.
    pub format: Format,
    /// How it uses its devices.
    pub options: Options,
    /// What is done with it.
    pub workload: FileWorkloadConfig,
    /// Where random numbers come from.
    pub seed: Seed,
}

/// Why a machine does not run.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The file system cannot be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The workload does not fit it.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file system refused an operation.
    #[error("the file system: {0}")]
    Refused(#[from] PlayError<Error>),
}

type Ssd = Recorded<CountingSsd>;

/// A file system without a mount, at work on a workload. Blocks on the SSD have no content here; metadata and what is on
/// NVRAM do.
pub struct Machine {
    player: Player<OnFileSystem<Nvmfs<PlainNvram, Ssd>>>,
    workload: Box<dyn FileWorkload>,
    requests: Arc<Mutex<Vec<BlockRequest>>>,
}

impl Machine {
    /// A new file system, and a workload that has not begun.
    ///
    /// # Errors
    /// Sizes or settings that make no file system, or no workload on it.
    pub fn new(settings: &MachineSettings) -> Result<Self, MachineError> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&requests);
        let ssd = Recorded::new(CountingSsd::new(settings.ssd_blocks), move |request| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        });
        let nvram = PlainNvram::new(settings.nvram_bytes as usize);
        // Nobody opens it again, and its drive keeps no content to be compared with a checksum.
        let format = Format { checksums: Checksums::None, ..settings.format.clone() };
        let fs = Nvmfs::format(nvram, Arc::new(ssd), &format, settings.options.clone())?;
        let capacity_bytes = fs.store().capacity_blocks() * crate::api::BLOCK_BYTES as u64;
        let workload = settings.workload.build(capacity_bytes, settings.seed)?;
        let options = PlayOptions { step_ns: STEP_NS, ..PlayOptions::default() };
        let player = Player::new(OnFileSystem::new(fs, ROOT), options);
        Ok(Machine { player, workload, requests })
    }

    /// Plays one operation, and appends the requests to the SSD that came of it. False at the end of a workload that has one.
    ///
    /// # Errors
    /// What the file system refused, as a full one does.
    pub fn step(&mut self, requests: &mut Vec<BlockRequest>) -> Result<bool, MachineError> {
        let played = self.player.play(&mut *self.workload, 1)?;
        requests.append(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(played > 0)
    }

    /// Whether the workload's files are made, so that its main phase goes on.
    pub fn is_set_up(&self) -> bool {
        self.workload.is_set_up()
    }

    /// Counts what is played from 0 again, as after the set-up.
    pub fn reset_counts(&mut self) {
        self.player.reset_counts();
    }

    /// What was played.
    pub fn played(&self) -> PlayCounts {
        self.player.counts()
    }

    /// How the file system stands.
    pub fn stats(&self) -> Stats {
        self.player.target.file_system.stats()
    }

    /// Counts everything in the file system again.
    ///
    /// # Errors
    /// A defect.
    pub fn check(&self) -> Result<(), String> {
        self.player.target.file_system.store().check()
    }
}
