//! Measurement of one case, from new drives to the final check.

use crate::Failure;
use crate::live::cases::{Case, DiskRequests, Measurement, Outcome};
use crate::live::drives::{DriveCounts, DriveSpec, Drives, PAGE_BYTES};
use crate::live::file_systems::{self, FileSystem, Kernel};
use crate::live::loads::{self, LoadPlan, Sizes};
use crate::nvmfs::clean_up::CleanUp;
use crate::nvmfs::guest::{guest_command, merge_requests};
use crate::nvmfs::job::{JobReport, REPORT, SET_UP_LINE, run_with_lines, timeout_command};
use crate::nvmfs::nilfs_logs::{LogBlocks, NilfsLogs};
use crate::nvmfs::recorder::{Media, OnWrite, Recorder, attach_loop};
use crate::nvmfs::replay::pages_of;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wearwell_trace::{Op, RequestBatch};

/// Lock that allows one measurement at a time: concurrent measurements would compete for loop devices and for the
/// processor.
pub(super) static MEASUREMENT_LOCK: Mutex<()> = Mutex::new(());

/// Line that marks the end of the measured part.
pub(super) const DONE_LINE: &str = "live: done";
/// Last line of a completed script.
pub(super) const ENDED_LINE: &str = "live: ended";
/// Message of the C library if a file system is full.
const NO_SPACE_MESSAGE: &str = "No space left on device";
/// Memory of a guest.
const GUEST_BYTES: u64 = 512 << 20;

/// Counts at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    pub requests: usize,
    pub drives: Vec<DriveCounts>,
    /// Number of bytes passed to the file system, as the script printed it last.
    files: Option<u64>,
    /// Number of pages that the cleaner moved, as the script printed it last.
    moved: Option<u64>,
    logs: Option<LogBlocks>,
}

/// Results of observing a script.
#[derive(Default)]
pub(super) struct ScriptOutput {
    pub set_up: Option<Mark>,
    pub done: Option<Mark>,
    seconds: Duration,
    report: Option<JobReport>,
    main: Option<u64>,
    pub is_ended: bool,
    pub lines: Vec<String>,
}

impl Case {
    /// Measures the case.
    ///
    /// # Errors
    ///
    /// The errors of mounting; a script that fails for a reason other than space and time; drives that disagree or
    /// whose counts are wrong.
    pub fn measure(&self) -> Result<Outcome, Failure> {
        let _lock = MEASUREMENT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let (system, load) = (file_systems::find(&self.file_system)?, loads::find(&self.load)?);
        let folder = tempfile::Builder::new().prefix("wearwell-live-").tempdir()?;
        let scratch = folder.path();
        // A database runs as a separate user, which needs access to the mount point in this folder.
        std::fs::set_permissions(scratch, std::fs::Permissions::from_mode(0o755))?;
        let specs: Vec<DriveSpec> = self.drives.iter().map(|name| (name.as_str(), true)).collect();
        let drives = Arc::new(Drives::new(&specs, self.disk_bytes())?);
        drives.fill(self.disk_bytes())?;
        let sizes = Sizes {
            disk_bytes: self.disk_bytes(),
            file_bytes: self.file_bytes(),
            written_bytes: self.written_bytes(),
            pace_mib_per_s: system.pace_mib_per_s,
            seed: self.seed,
            scratch,
        };
        let plan = (load.plan)(&sizes)?;
        let begin = system.begin_script(self.discard, load.needs_log, scratch)?;
        let script = script(system, &begin, &plan);
        let started = Instant::now();
        let bench = ScriptRun {
            system,
            drives: &drives,
            disk_bytes: self.disk_bytes(),
            guest_bytes: GUEST_BYTES,
            scratch,
            limit_seconds: self.limit_seconds,
        };
        let output = bench.run(&script, |recorder, seen| self.outcome(system, &plan, recorder, seen));
        match output? {
            Ok(measured) => Ok(Outcome::Measured(Box::new(measured))),
            Err(lines) if lines.iter().any(|line| line.contains(NO_SPACE_MESSAGE)) => Ok(Outcome::NoRoom),
            Err(_) if started.elapsed().as_secs() >= self.limit_seconds.into() => Ok(Outcome::TimedOut),
            Err(lines) => {
                let last = &lines[lines.len().saturating_sub(30)..];
                Err(format!("{}: it did not end well:\n{}", self.name(), last.join("\n")).into())
            }
        }
    }

    /// Returns the measurement, or the outcome of a script that did not complete.
    fn outcome(
        &self,
        system: &FileSystem,
        plan: &LoadPlan,
        recorder: &Recorder,
        output: ScriptOutput,
    ) -> Result<Result<Measurement, Vec<String>>, Failure> {
        let (Some(set_up), Some(done), true) = (output.set_up, output.done, output.is_ended) else {
            return Ok(Err(output.lines));
        };
        let check = system.check(&recorder.disk)?;
        let area = system.area(&recorder.disk, output.main)?;
        let requests = recorder.requests();
        let mut sent = sum_requests(&requests, set_up.requests, done.requests, system.kernel, &area);
        sent.moved_pages = set_up.moved.zip(done.moved).map(|(before, after)| after - before);
        sent.logs = set_up.logs.zip(done.logs).map(|(before, after)| after - before);
        let played = output.report.map(|report| report.counts.written_bytes);
        let application_bytes =
            plan.application_bytes.or(played).ok_or("the job has not said what it wrote")?;
        let drives: Vec<DriveCounts> =
            done.drives.iter().zip(&set_up.drives).map(|(now, then)| now.since(then)).collect();
        let file_bytes = set_up.files.zip(done.files).map(|(before, after)| after - before);
        let seconds = output.seconds.as_secs_f64();
        Ok(Ok(Measurement { application_bytes, file_bytes, disk_requests: sent, drives, check, seconds }))
    }
}

/// Returns the complete script for the file system; the caller sets `$DEV` and `$ROOT`.
fn script(system: &FileSystem, begin: &str, plan: &LoadPlan) -> String {
    let load = plan.script(system.count_script(), DONE_LINE);
    format!("set -e\nexec 2>&1\n{begin}{load}{}echo '{ENDED_LINE}'\n", system.end_script())
}

/// Environment of a script: a file system on a disk whose content is on `drives`.
pub(super) struct ScriptRun<'a> {
    pub system: &'a FileSystem,
    pub drives: &'a Arc<Drives>,
    pub disk_bytes: u64,
    /// Memory of the guest, if the file system runs in a guest.
    pub guest_bytes: u64,
    /// Folder for temporary files.
    pub scratch: &'a Path,
    pub limit_seconds: u32,
}

impl ScriptRun<'_> {
    /// Runs `script`, then calls `evaluate` while the disk still exists and is not mounted.
    pub fn run<T>(
        &self,
        script: &str,
        evaluate: impl FnOnce(&Recorder, ScriptOutput) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let logs = Arc::new(NilfsLogs::default());
        let observer = self.system.is_nilfs().then(|| Arc::clone(&logs));
        let on_write: OnWrite = Box::new(move |disk, offset, data| {
            if let Some(logs) = &observer {
                logs.record_write(disk, offset, data);
            }
        });
        let media: Arc<dyn Media> = Arc::clone(self.drives) as _;
        let recorder = Recorder::start_with_media(self.scratch, self.disk_bytes, media, on_write)?;
        let mut clean_up = CleanUp::default();
        let mut command = self.command(script, &recorder, &mut clean_up)?;
        let output =
            run_observed(&mut command, &recorder, self.drives, self.system.is_nilfs().then_some(&*logs))?;
        drop(clean_up);
        self.drives.check()?;
        check_counts(&recorder.requests(), &self.drives.counts()?, self.disk_bytes)?;
        evaluate(&recorder, output)
    }

    fn command(&self, script: &str, recorder: &Recorder, clean_up: &mut CleanUp) -> Result<Command, Failure> {
        let path = self.scratch.join("script.sh");
        if self.system.kernel == Kernel::Guest {
            std::fs::write(&path, format!("DEV=/dev/ubda; ROOT=/mnt/fs\n{script}"))?;
            let (modules, module) = (self.scratch.join("modules"), self.system.module);
            let init = format!("modprobe -d {} {module}\nsh {}\n", modules.display(), path.display());
            return guest_command(&init, &recorder.disk, self.guest_bytes, self.scratch, self.limit_seconds);
        }
        let device = attach_loop(recorder, clean_up)?;
        let root = self.scratch.join("mounted");
        std::fs::create_dir_all(&root)?;
        let root = root.to_string_lossy();
        clean_up.add(&["sh", "-c", &format!("! mountpoint -q '{root}' || umount '{root}'")]);
        std::fs::write(&path, format!("DEV={device}; ROOT={root}\n{script}"))?;
        let mut command = timeout_command(self.limit_seconds);
        command.arg("sh").arg(&path);
        Ok(command)
    }
}

/// Checks that each drive received the requests of the disk after the fill, and that the count of the flash equals
/// the sum over all causes.
///
/// # Errors
///
/// Returns an error if a count differs.
fn check_counts(requests: &RequestBatch, drives: &[DriveCounts], disk_bytes: u64) -> Result<(), Failure> {
    // The disk of a guest has sectors of 512 bytes; a drive counts a partial page as a page.
    let written = (0..requests.len()).map(|at| requests.get(at)).filter(|request| request.op == Op::Write);
    let pages = written.map(|request| pages_of(&request)).map(|pages| pages.end - pages.start).sum::<u64>();
    let pages = pages + disk_bytes / PAGE_BYTES;
    match drives.iter().find(|done| done.host_pages != pages || done.programmed() != done.flash_programs) {
        Some(done) => {
            Err(format!("the counts do not add up: {pages} pages were sent, and a drive has {done:?}").into())
        }
        None => Ok(()),
    }
}

/// Runs the command, and records the counts at each marker line that the script prints.
fn run_observed(
    command: &mut Command,
    recorder: &Recorder,
    drives: &Drives,
    logs: Option<&NilfsLogs>,
) -> Result<ScriptOutput, Failure> {
    let mut output = ScriptOutput::default();
    let (mut files, mut moved, mut started) = (None, None, Instant::now());
    run_with_lines(command, &mut |line| {
        let number = |name: &str| line.strip_prefix(name).and_then(|rest| rest.trim().parse::<u64>().ok());
        let mark = |files, moved: Option<u64>| -> Result<Mark, Failure> {
            let logs = logs.map(NilfsLogs::blocks);
            let moved = logs.map_or(moved, |logs| Some(logs.moved));
            Ok(Mark { requests: recorder.len(), drives: drives.counts()?, files, moved, logs })
        };
        if line == SET_UP_LINE {
            output.set_up = Some(mark(files, moved)?);
            started = Instant::now();
        } else if line == DONE_LINE {
            output.done = Some(mark(files, moved)?);
            output.seconds = started.elapsed();
        } else if line == ENDED_LINE {
            output.is_ended = true;
        } else if let Some(report) = line.strip_prefix(REPORT) {
            output.report = Some(serde_json::from_str(report)?);
        } else if let Some(bytes) = number("live: files ") {
            files = Some(bytes);
        } else if let Some(pages) = number("live: moved ") {
            moved = Some(pages);
        } else if let Some(block) = number("live: main ") {
            output.main = Some(block);
        } else {
            output.lines.push(line.to_owned());
        }
        Ok(())
    })?;
    Ok(output)
}

/// Sums up the requests with the numbers `from` to `to`.
fn sum_requests(
    requests: &RequestBatch,
    from: usize,
    to: usize,
    kernel: Kernel,
    area: &[std::ops::Range<u64>],
) -> DiskRequests {
    let mut part = RequestBatch::default();
    (from..to).for_each(|at| part.push(&requests.get(at)));
    let part = if kernel == Kernel::Guest { merge_requests(&part, 0).0 } else { part };
    let mut sent = DiskRequests { area_bytes: (!area.is_empty()).then_some(0), ..DiskRequests::default() };
    for at in 0..part.len() {
        let request = part.get(at);
        let (begin, bytes) = (request.offset_bytes, request.length_bytes);
        match request.op {
            Op::Write => {
                sent.written_bytes += bytes;
                sent.writes += 1;
                let inside = |range: &std::ops::Range<u64>| {
                    (begin + bytes).min(range.end).saturating_sub(begin.max(range.start))
                };
                if let Some(sum) = &mut sent.area_bytes {
                    *sum += area.iter().map(inside).sum::<u64>();
                }
            }
            Op::Read => sent.read_bytes += bytes,
            Op::Trim => sent.discarded_bytes += bytes,
            Op::Flush => sent.flushes += 1,
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_trace::Request;

    fn batch(specs: &[(Op, u64, u64)]) -> RequestBatch {
        let mut requests = RequestBatch::default();
        for &(op, page, pages) in specs {
            let (offset_bytes, length_bytes) = (page * PAGE_BYTES, pages * PAGE_BYTES);
            requests.push(&Request { time_ns: 0, op, volume: 0, offset_bytes, length_bytes, hint: 0 });
        }
        requests
    }

    #[test]
    fn journal_writes_are_counted_separately() {
        let requests = batch(&[
            (Op::Write, 0, 9),
            (Op::Write, 10, 4),
            (Op::Write, 14, 2),
            (Op::Trim, 3, 5),
            (Op::Flush, 0, 0),
            (Op::Read, 7, 1),
            (Op::Write, 0, 9),
        ]);
        let journal = 12 * PAGE_BYTES..15 * PAGE_BYTES;
        let area = [journal];
        let host = sum_requests(&requests, 1, 6, Kernel::Host, &area);
        assert_eq!((host.written_bytes, host.writes, host.area_bytes), (6 * 4096, 2, Some(3 * 4096)));
        assert_eq!((host.discarded_bytes, host.flushes, host.read_bytes), (5 * 4096, 1, 4096));
        let guest = sum_requests(&requests, 1, 6, Kernel::Guest, &[]);
        assert_eq!((guest.writes, guest.written_bytes, guest.area_bytes), (1, 6 * 4096, None));
    }
}
