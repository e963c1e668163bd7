//! F2FS in User-mode Linux on a recorded disk.

use crate::Failure;
use crate::f2fs::cases::Case;
use crate::f2fs::shipped::F2fsRecordingInfo;
use crate::nvmfs::guest::{guest_command, merge_requests};
use crate::nvmfs::job::{SET_UP_LINE, run_job};
use crate::nvmfs::recorder::Recorder;
use std::path::Path;
use wearwell_trace::{Op, RequestBatch};

/// Time limit of a guest, seconds.
const LIMIT_SECONDS: u32 = 900;

/// Makes the recording of `case`. The content of the disk is in the folder `memory`, which is on a tmpfs. The files
/// of the guest are in `scratch`, which must be elsewhere.
///
/// # Errors
///
/// The errors of mounting by FUSE, which requires root; a guest that does not complete its work.
pub fn record(
    case: &Case,
    memory: &Path,
    scratch: &Path,
) -> Result<(F2fsRecordingInfo, RequestBatch), Failure> {
    let recorder = Recorder::start(memory, case.disk_bytes())?;
    let script = format!("modprobe -d {}/modules f2fs\n{}", scratch.display(), case.script(SET_UP_LINE));
    let mut command = guest_command(&script, &recorder.disk, case.memory_bytes(), scratch, LIMIT_SECONDS)?;
    let output = run_job(&mut command, &recorder, || ())?;
    info_from_output(case, &output.lines, &recorder.requests(), output.set_up_requests)
}

/// Extracts the figures of `case` from the output and the requests of a guest; the measured part begins with request
/// `set_up`. Also returns the requests, without reads and times.
///
/// # Errors
///
/// Returns an error if counts are missing from the output.
pub fn info_from_output(
    case: &Case,
    lines: &[String],
    requests: &RequestBatch,
    set_up: usize,
) -> Result<(F2fsRecordingInfo, RequestBatch), Failure> {
    let count = |name: &str| -> Result<u64, Failure> {
        let line = lines.iter().find_map(|line| line.strip_prefix(name));
        let missing = || format!("the guest does not say {name}:\n{}", lines.join("\n"));
        Ok(line.ok_or_else(missing)?.trim().parse()?)
    };
    let moved_pages = count("moved_blocks_foreground ")? + count("moved_blocks_background ")?;
    let (all_requests, set_up) = merge_requests(requests, set_up);
    let (mut requests, mut measured_from) = (RequestBatch::default(), 0);
    // Reads are not used, and times depend on the machine, so reads and times are dropped.
    for at in 0..all_requests.len() {
        if at == set_up {
            measured_from = requests.len();
        }
        let mut request = all_requests.get(at);
        if request.op != Op::Read {
            request.time_ns = 0;
            requests.push(&request);
        }
    }
    Ok((F2fsRecordingInfo::new(case, moved_pages, measured_from, &requests), requests))
}
