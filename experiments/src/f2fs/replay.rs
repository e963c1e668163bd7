//! Replay of the F2FS recordings on drives, and comparison with the model.

use crate::Failure;
use crate::f2fs::cases::{AGED_BYTES, OVERWRITTEN_BYTES};
use crate::f2fs::model::model;
use crate::f2fs::shipped::{F2fsRecordingInfo, Recording};
use crate::layer_model::{PAGE_BYTES, WriteCounts, shuffled_pages};
use crate::nvmfs::replay::{Drive, ReplayCounts, replay_on};
use crate::session::Session;
use serde::{Deserialize, Serialize};
use wearwell_trace::{Op, Request, RequestBatch};

/// Load of the aged file system that represents the load of the paper.
pub const AGED: &str = "overwrites logged";

/// Drives, each with its number of 4 KiB pages per block, and true if it receives discards.
pub const DRIVES: [(u32, bool); 4] = [(64, false), (512, false), (64, true), (512, true)];

/// Returns the name of the drive with this index in [`DRIVES`], for tables.
pub fn drive_name(at: usize) -> String {
    let (pages, trims) = DRIVES[at];
    format!("blocks of {} KiB, {}", pages * 4, if trims { "discards" } else { "no discards" })
}

/// Assumed numbers, which no paper gives.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AssumedValues {
    /// Number of dirty pages in the page cache that are written together, sorted by their position in the file.
    dirty_pages: usize,
    /// Number of erased segments at which the model cleans.
    #[serde(rename = "cleans_at")]
    low_watermark: u32,
}

impl AssumedValues {
    /// Reads the values of the register.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Self, Failure> {
        Ok(AssumedValues {
            dirty_pages: (session.assumed_value("log_on_log/dirty-mib")? * 256.0) as usize,
            low_watermark: session.assumed_value("log_on_log/cleans-at")? as u32,
        })
    }
}

/// Results of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Figures of the recording.
    #[serde(rename = "known")]
    pub info: F2fsRecordingInfo,
    /// Writes of the model under the same load; `None` if the model does not support the load.
    pub model: Option<WriteCounts>,
    /// Results of the drives, in the order of [`DRIVES`].
    pub drives: Vec<ReplayCounts>,
}

impl Outcome {
    /// Replays a recording.
    ///
    /// # Errors
    ///
    /// Returns an error if the sizes do not fit together.
    pub fn replay(recording: &Recording, assumed: &AssumedValues) -> Result<Outcome, Failure> {
        let drives =
            DRIVES.map(|(pages_per_block, trims)| replay_on_drive(recording, pages_per_block, trims));
        Ok(Outcome {
            info: recording.info.clone(),
            model: model_writes(&recording.info, assumed)?,
            drives: drives.into_iter().collect::<Result<_, _>>()?,
        })
    }

    /// Returns the write amplification of F2FS.
    pub fn fswa(&self) -> f64 {
        self.info.write_amplification()
    }

    /// Returns the number of pages that the load wrote.
    pub fn load_pages(&self) -> f64 {
        self.info.load_bytes as f64 / PAGE_BYTES as f64
    }

    /// Returns the write amplification of the model, if it supports the load.
    pub fn model_fswa(&self) -> Option<f64> {
        self.model.map(|written| written.pages as f64 / self.load_pages())
    }

    /// Returns the write amplification of the drive with this index in [`DRIVES`].
    pub fn device(&self, drive: usize) -> f64 {
        self.drives[drive].write_amplification().unwrap_or(1.0)
    }
}

/// Replays the recording on a drive that was completely written before.
fn replay_on_drive(
    recording: &Recording,
    pages_per_block: u32,
    trims: bool,
) -> Result<ReplayCounts, Failure> {
    let F2fsRecordingInfo { disk_bytes, measured_from, .. } = recording.info;
    let mut requests = RequestBatch::default();
    let length_bytes = 1 << 20;
    for at in 0..disk_bytes / length_bytes {
        let offset_bytes = at * length_bytes;
        requests.push(&Request { time_ns: 0, op: Op::Write, volume: 0, offset_bytes, length_bytes, hint: 0 });
    }
    let mut begin = 0;
    for at in 0..recording.requests.len() {
        if at == measured_from {
            begin = requests.len();
        }
        if trims || recording.requests.op[at] != Op::Trim {
            requests.push(&recording.requests.get(at));
        }
    }
    let drive = Drive::with_paper_reserve(disk_bytes, pages_per_block, "structure = \"log\"");
    replay_on(&requests, begin, &drive)
}

/// Returns the writes of the model under the load, with checkpoints at the recorded frequency. `None` for requests of
/// 1 KiB and for overwrites in place, which the model does not support.
fn model_writes(info: &F2fsRecordingInfo, assumed: &AssumedValues) -> Result<Option<WriteCounts>, Failure> {
    let F2fsRecordingInfo { load, logs, seed, disk_bytes, load_bytes, written_bytes, checkpoints, .. } = info;
    let synced = load.ends_with(" 4k direct synced");
    if !load.contains(" 4k ") && load != AGED {
        return Ok(None);
    }
    let every = if synced { 64 << 20 } else { written_bytes / (checkpoints + 1) / PAGE_BYTES * PAGE_BYTES };
    let mut model = model(*logs, *disk_bytes, every.max(PAGE_BYTES), assumed.low_watermark)?;
    if load == AGED {
        let pages = (AGED_BYTES / PAGE_BYTES) as u32;
        model.write(0..pages, None)?;
        let before = model.write_counts();
        model.write(overwrites(pages, *seed, assumed.dirty_pages).into_iter(), None)?;
        return Ok(Some(model.write_counts().since(&before)));
    }
    let pages = (load_bytes / PAGE_BYTES) as u32;
    let order = if load.starts_with("random") { shuffled_pages(pages, *seed) } else { (0..pages).collect() };
    model.write(order.into_iter(), synced.then_some(1))?;
    Ok(Some(model.write_counts()))
}

/// Returns every page once per pass, in random order as in fio, and sorted within each write-back of the page cache.
fn overwrites(pages: u32, seed: u64, dirty_pages: usize) -> Vec<u32> {
    let passes = OVERWRITTEN_BYTES / AGED_BYTES;
    let mut drawn: Vec<u32> =
        (0..passes).flat_map(|pass| shuffled_pages(pages, seed * passes + pass)).collect();
    drawn.chunks_mut(dirty_pages).for_each(<[u32]>::sort_unstable);
    drawn
}
