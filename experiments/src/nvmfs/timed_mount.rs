//! Timed measurements of file systems. Each is mounted in User-mode Linux, with the same kernel, on a disk with the
//! speed of a drive.
//!
//! The guest's processor is slower than the machine's, above all for context switches, which a file system in user
//! space needs for each request. To keep the relative cost of the processor realistic, the drive and all timeouts of
//! the kernel are slowed down. Results are in the time of the slowed drive.

use crate::Failure;
use crate::nvmfs::guest::{
    self, CLEANER_CONFIG, NILFS2, RESERVED_PERCENT, SEGMENT_BLOCKS, SEGMENT_WRITE_BLOCKS,
};
use crate::nvmfs::job::{GeneratedJob, Job, JobOutput, run_job};
use crate::nvmfs::pace::{Pacer, Rates};
use crate::nvmfs::recorder::Recorder;
use crate::nvmfs::simulate::inodes;
use crate::recordings::written_bytes;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wearwell_nvmfs::workload::FileWorkloadConfig;
use wearwell_trace::Op;

/// Name of NVMFS, which this program mounts.
pub const NVMFS: &str = "nvmfs";

/// Arguments with which this program runs a job: `wearwell reproduce --play JOB ROOT`.
pub const PLAY_ARGUMENTS: [&str; 2] = ["reproduce", "--play"];

/// Memory of the guest in addition to the page cache or the NVRAM: for its kernel, the servers and the cleaner.
const SYSTEM_MEMORY_BYTES: u64 = 128 << 20;
/// Memory of the program that runs the job, which is charged in the same way as its page cache.
const PLAYER_BYTES: u64 = 16 << 20;

/// Limits for dirty data as shares of the page cache. Above the first limit, the kernel writes in the background; at
/// the second, it blocks writers. The values are the kernel's defaults, which the kernel applies to the whole memory.
const DIRTY_SHARES: [f64; 2] = [0.1, 0.2];

/// Programs that a measurement needs.
const PROGRAMS: [&str; 9] = [
    "linux.uml",
    "mkfs.ext4",
    "mkfs.btrfs",
    "mkfs.nilfs2",
    "nilfs-tune",
    "nilfs_cleanerd",
    "busybox",
    "modprobe",
    "timeout",
];

/// Lock that allows one measurement at a time: concurrent measurements would compete for the processor.
static MEASUREMENT_LOCK: Mutex<()> = Mutex::new(());

/// A file system under a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Name of the file system.
    pub file_system: String,
    /// Name of the workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Size of the disk in MiB.
    pub disk_mib: u64,
    /// Size of the NVRAM or, for a file system without NVRAM, of the page cache, in MiB.
    pub cache_mib: u64,
    /// Number of bytes that the workload writes after its files are made.
    pub written_bytes: u64,
    /// Factor by which the drive is slowed down.
    pub slowed_by: u32,
    /// Seed of the workload.
    pub seed: u64,
    /// Time limit in seconds.
    pub limit_seconds: u32,
}

/// Outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimedOutcome {
    /// The measurement is complete.
    Measured(TimedResult),
    /// The file system had no free space for the writes of the workload.
    NoRoom,
    /// The workload did not complete within the time limit.
    #[serde(rename = "not_at_the_end")]
    TimedOut,
}

/// Results of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedResult {
    /// Number of bytes that the workload wrote.
    pub written_bytes: u64,
    /// Number of bytes that the workload read.
    pub read_bytes: u64,
    /// Number of operations of the workload.
    pub operations: u64,
    /// Duration in the drive's time, including the final sync.
    pub seconds: f64,
    /// Time spent waiting for free space.
    pub waited_seconds: f64,
    /// Time that the drive was busy.
    pub busy_seconds: f64,
    /// Number of bytes sent to the drive.
    pub sent_bytes: u64,
    /// Number of writes sent to the drive, with neighbours in time and place merged.
    pub sent_requests: u64,
}

/// Returns the reason why measurements are impossible on this machine; `None` if measurements are possible.
pub fn reason_not_to_measure() -> Option<String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&paths).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let absent = |program: &&&str| !folders.iter().any(|folder| folder.join(program).is_file());
    let programs: Vec<&str> = PROGRAMS.iter().filter(absent).copied().collect();
    if !programs.is_empty() {
        return Some(format!(
            "it needs {}, of the packages e2fsprogs, btrfs-progs, nilfs-tools, user-mode-linux, busybox and kmod",
            programs.join(", ")
        ));
    }
    let may_mount = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    (!may_mount).then(|| "it must be run by root, with /dev/fuse".to_owned())
}

impl Case {
    /// Returns the name of the case.
    pub fn name(&self) -> String {
        format!("{} under {} at {}", self.file_system, self.workload, self.utilisation)
    }

    /// Measures the case.
    ///
    /// # Errors
    ///
    /// The errors of mounting, and of a guest that fails.
    pub fn measure(&self, memory: &Path) -> Result<TimedOutcome, Failure> {
        let _lock = MEASUREMENT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = |parent: &Path| tempfile::Builder::new().prefix("wearwell-").tempdir_in(parent);
        // The scratch folder must not be in the folder of the content, because a guest mounts another file system
        // there.
        let (memory, scratch) = (folder(memory)?, folder(&std::env::temp_dir())?);
        let pace = Arc::new(Pacer::new(Rates::X25_E, self.slowed_by));
        let recorder = Recorder::start_paced(memory.path(), self.disk_mib << 20, Arc::clone(&pace))?;
        std::fs::create_dir_all(scratch.path().join("out"))?;
        std::fs::write(scratch.path().join("cleaner.conf"), CLEANER_CONFIG)?;
        let script = self.script(&self.job(scratch.path())?.command("/mnt/fs"), scratch.path())?;
        let bytes = (self.cache_mib << 20) + PLAYER_BYTES + SYSTEM_MEMORY_BYTES;
        let mut command =
            guest::guest_command(&script, &recorder.disk, bytes, scratch.path(), self.limit_seconds)?;
        let (started, mut before) = (Instant::now(), Duration::ZERO);
        let output = run_job(&mut command, &recorder, || before = pace.busy_time());
        if output.is_err() && started.elapsed().as_secs() >= self.limit_seconds.into() {
            return Ok(TimedOutcome::TimedOut);
        }
        self.outcome(&output?, &recorder, pace.busy_time() - before)
    }

    fn job(&self, scratch: &Path) -> Result<Job, Failure> {
        let Case { workload, utilisation, .. } = self;
        let job = GeneratedJob {
            workload: toml::from_str::<FileWorkloadConfig>(&format!(
                "kind = \"{workload}\"\nutilisation = {utilisation:?}\n"
            ))?,
            capacity_bytes: self.disk_mib << 20,
            seed: self.seed,
            main_bytes: self.written_bytes,
            sync_bytes: None,
            unique_pages: false,
        };
        Job::generated(&job, &PLAY_ARGUMENTS, scratch)
    }

    fn outcome(
        &self,
        output: &JobOutput,
        recorder: &Recorder,
        busy: Duration,
    ) -> Result<TimedOutcome, Failure> {
        let Some(report) = output.report else {
            if output.lines.iter().any(|line| line.contains("No space left on device")) {
                return Ok(TimedOutcome::NoRoom);
            }
            let last = &output.lines[output.lines.len().saturating_sub(30)..];
            return Err(format!("{}: the job did not end well:\n{}", self.name(), last.join("\n")).into());
        };
        let (requests, main) = guest::merge_requests(&recorder.requests(), output.set_up_requests);
        let writes = (main..requests.len()).filter(|at| requests.op[*at] == Op::Write).count();
        let slowed_by = f64::from(self.slowed_by);
        Ok(TimedOutcome::Measured(TimedResult {
            written_bytes: report.counts.written_bytes,
            read_bytes: report.counts.read_bytes,
            operations: report.counts.operations,
            seconds: report.seconds / slowed_by,
            waited_seconds: report.waited_seconds / slowed_by,
            busy_seconds: busy.as_secs_f64() / slowed_by,
            sent_bytes: written_bytes(&requests, main),
            sent_requests: writes as u64,
        }))
    }

    /// Returns the script of the guest.
    fn script(&self, job: &[String], scratch: &Path) -> Result<String, Failure> {
        let quoted: Vec<String> = job.iter().map(|part| format!("'{part}'")).collect();
        let (begin, end) = self.mount_commands(&scratch.display().to_string())?;
        let cache_bytes = self.cache_mib << 20;
        let [background, dirty] = DIRTY_SHARES.map(|share| (share * cache_bytes as f64) as u64);
        let slowed = |hundredths: u32| hundredths * self.slowed_by;
        let (expire, wake_up) = (slowed(3000), slowed(500));
        Ok(format!(
            "cd /proc/sys/vm\n\
             echo {background} > dirty_background_bytes; echo {dirty} > dirty_bytes\n\
             echo {expire} > dirty_expire_centisecs; echo {wake_up} > dirty_writeback_centisecs\n\
             mkdir /mnt/groups; mount -t cgroup2 none /mnt/groups; echo +memory > /mnt/groups/cgroup.subtree_control\n\
             mkdir /mnt/groups/job; echo {} > /mnt/groups/job/memory.max\n\
             {begin}\
             sh -c 'echo $$ > /mnt/groups/job/cgroup.procs && exec \"$@\"' sh {}\n\
             df -k /mnt/fs; {end}",
            cache_bytes + PLAYER_BYTES,
            quoted.join(" ")
        ))
    }

    /// Returns the commands that make and mount the file system, and the commands that unmount it.
    fn mount_commands(&self, scratch: &str) -> Result<(String, String), Failure> {
        let seconds = |seconds: u32| seconds * self.slowed_by;
        let ext = |kind: &str| {
            format!(
                "mkfs.{kind} -q -F -b 4096 -i 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/ubda\n\
                 mount -t {kind} -o discard,commit={} /dev/ubda /mnt/fs\n",
                seconds(5)
            )
        };
        let unmount = || "umount /mnt/fs\n".to_owned();
        match self.file_system.as_str() {
            NVMFS => {
                let program = std::env::current_exe()?;
                let program = program.display();
                let files_bytes = self.utilisation * (self.disk_mib << 20) as f64;
                let inodes = inodes(&self.workload, files_bytes).map(|inodes| format!("--inodes {inodes}"));
                let begin = format!(
                    "modprobe -d {scratch}/modules fuse\n\
                     {program} nvmfs mkfs --nvram /dev/shm/nvram --size '{} MiB' --ssd /dev/ubda {}\n\
                     {program} nvmfs mount --nvram /dev/shm/nvram --ssd /dev/ubda --ssd-direct -o direct_io --background /mnt/fs\n",
                    self.cache_mib,
                    inodes.unwrap_or_default()
                );
                Ok((begin, format!("{program} nvmfs umount /mnt/fs\n")))
            }
            kind @ ("ext3" | "ext4") => Ok((ext(kind), unmount())),
            "btrfs" => {
                let begin = format!(
                    "mkfs.btrfs -q -f --mixed /dev/ubda\n\
                     mount -t btrfs -o discard,commit={} /dev/ubda /mnt/fs\n",
                    seconds(30)
                );
                Ok((begin, unmount()))
            }
            NILFS2 => {
                let begin = format!(
                    "modprobe -d {scratch}/modules nilfs2\n\
                     mount -t hostfs none /mnt/out -o {scratch}/out\n\
                     mkdir -p /dev/mqueue; mount -t mqueue mqueue /dev/mqueue\n\
                     busybox syslogd -O /mnt/out/cleaner.log\n\
                     mkfs.nilfs2 -q -f -B {SEGMENT_BLOCKS} -m {RESERVED_PERCENT} /dev/ubda\n\
                     nilfs-tune -i {} -m {SEGMENT_WRITE_BLOCKS} /dev/ubda && mount -i -t nilfs2 -o discard /dev/ubda /mnt/fs\n\
                     nilfs_cleanerd -n -c {scratch}/cleaner.conf /dev/ubda /mnt/fs &\n",
                    seconds(5)
                );
                Ok((begin, "kill %1; wait %1; umount -i /mnt/fs\n".to_owned()))
            }
            other => Err(format!("no file system called {other}").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(file_system: &str) -> Case {
        Case {
            file_system: file_system.to_owned(),
            workload: "fio".to_owned(),
            utilisation: 0.6,
            disk_mib: 96,
            cache_mib: 16,
            written_bytes: 24 << 20,
            slowed_by: 8,
            seed: 1,
            limit_seconds: 60,
        }
    }

    #[test]
    fn guest_timeouts_are_slowed_like_drive() {
        let script = |name| case(name).script(&["play".to_owned()], Path::new("/tmp/x")).unwrap();
        assert!(script("ext4").contains("discard,commit=40 "));
        assert!(script("btrfs").contains("discard,commit=240 "));
        assert!(script(NILFS2).contains("nilfs-tune -i 40 "));
        assert!(
            script(NVMFS).contains("--size '16 MiB'") && script(NVMFS).contains("echo 24000 > dirty_expire")
        );
        assert!(case("fat").script(&[], Path::new("/")).is_err());
    }

    #[test]
    fn full_file_system_is_no_room_and_missing_output_is_error() {
        let folder = tempfile::tempdir().unwrap();
        let output_of = |line: &str| JobOutput { lines: vec![line.to_owned()], ..JobOutput::default() };
        if reason_not_to_measure().is_some() {
            eprintln!("skipped: {}", reason_not_to_measure().unwrap_or_default());
            return;
        }
        let recorder = Recorder::start(folder.path(), 1 << 20).unwrap();
        let outcome_of = |line| case("ext4").outcome(&output_of(line), &recorder, Duration::ZERO);
        assert_eq!(outcome_of("Write: No space left on device (os error 28)").unwrap(), TimedOutcome::NoRoom);
        assert!(outcome_of("a panic").unwrap_err().to_string().contains("a panic"));
    }
}
