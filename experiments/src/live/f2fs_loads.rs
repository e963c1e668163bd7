//! The F2FS loads of the log-on-log paper on live drives, in the same form as in the recordings.

use crate::Failure;
use crate::f2fs::cases::Case;
use crate::f2fs::record::info_from_output;
use crate::f2fs::replay::DRIVES;
use crate::f2fs::shipped::F2fsRecordingInfo;
use crate::live::drives::{DriveCounts, DriveSpec, Drives};
use crate::live::file_systems;
use crate::live::measure::{DONE_LINE, ENDED_LINE, MEASUREMENT_LOCK, ScriptRun};
use crate::nvmfs::job::SET_UP_LINE;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError};
use wearwell_trace::RequestBatch;

/// Time limit of a guest, seconds.
const LIMIT_SECONDS: u32 = 900;

/// Results of a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveResult {
    /// Figures of the requests of F2FS.
    #[serde(rename = "known")]
    pub info: F2fsRecordingInfo,
    /// Counts of the drives, in the order of [`DRIVES`].
    pub drives: Vec<DriveCounts>,
    /// Messages of the file system's checker: empty if it found no error.
    pub check: String,
}

impl LiveResult {
    /// Runs the load of `case` on F2FS over drives that were completely written before.
    ///
    /// # Errors
    ///
    /// The errors of mounting; a guest that does not complete its work; drives whose counts do not agree.
    pub fn measure(case: &Case) -> Result<LiveResult, Failure> {
        let _lock = MEASUREMENT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let system = file_systems::find(&format!("f2fs_{}", case.logs))?;
        let folder = tempfile::Builder::new().prefix("wearwell-live-").tempdir()?;
        let kind = |pages_per_block| if pages_per_block == 64 { "page" } else { "page_2m" };
        let specs: Vec<DriveSpec> = DRIVES.iter().map(|&(pages, trims)| (kind(pages), trims)).collect();
        let drives = Arc::new(Drives::new(&specs, case.disk_bytes())?);
        drives.fill(case.disk_bytes())?;
        let bench = ScriptRun {
            system,
            drives: &drives,
            disk_bytes: case.disk_bytes(),
            guest_bytes: case.memory_bytes(),
            scratch: folder.path(),
            limit_seconds: LIMIT_SECONDS,
        };
        let script = format!(
            "{}echo '{DONE_LINE}'\n{}echo '{ENDED_LINE}'\n",
            case.script(SET_UP_LINE),
            system.end_script()
        );
        bench.run(&script, |recorder, seen| {
            let (Some(set_up), Some(done), true) = (&seen.set_up, &seen.done, seen.is_ended) else {
                let output = seen.lines.join("\n");
                return Err(format!("{}: it did not end well:\n{output}", case.name()).into());
            };
            let (all, mut requests) = (recorder.requests(), RequestBatch::default());
            (0..done.requests).for_each(|at| requests.push(&all.get(at)));
            let (info, _) = info_from_output(case, &seen.lines, &requests, set_up.requests)?;
            let drives = done.drives.iter().zip(&set_up.drives).map(|(now, then)| now.since(then)).collect();
            Ok(LiveResult { info, drives, check: system.check(&recorder.disk)?.unwrap_or_default() })
        })
    }
}
