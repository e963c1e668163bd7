//! File systems of the running kernel, on a recorded disk.

use crate::Failure;
use crate::nvmfs::clean_up::{CleanUp, output_of};
use crate::nvmfs::job::{Job, JobOutput, run_job, timeout_command};
use crate::nvmfs::recorder::{Recorder, attach_loop};
use std::path::Path;

/// A file system of the host's kernel.
#[derive(Clone, Copy, Debug)]
pub struct HostFileSystem {
    /// Name of the file system.
    pub name: &'static str,
    /// Command for mkfs, to which the device is appended.
    make: &'static [&'static str],
    /// Type and options of the mount.
    mount: [&'static str; 2],
}

/// There is one inode per 4 KiB, because PostMark's files are small. mkfs zeroes the tables, so that this does not
/// happen in the background among the requests of the workload.
const ZERO_TABLES_AT_MKFS: &str = "lazy_itable_init=0,lazy_journal_init=0";

/// Mount options without timed commits: with timed commits, a slow machine would write more than a fast machine for
/// equal loads.
const NO_TIMED_COMMITS: &str = "discard,commit=86400";

/// Interval at which the kernel looks for old dirty data, in hundredths of a second; 0 disables it.
const WRITE_BACK_INTERVAL: &str = "/proc/sys/vm/dirty_writeback_centisecs";

/// File systems of the paper (section IV-A), and the successor of the first one. The ext4 driver serves both ext3 and
/// ext4; for ext3, it allocates immediately and by blocks, as the original driver does.
pub const HOST_FILE_SYSTEMS: [HostFileSystem; 3] = [
    HostFileSystem {
        name: "ext3",
        make: &["mkfs.ext3", "-q", "-F", "-b", "4096", "-i", "4096", "-E", ZERO_TABLES_AT_MKFS],
        mount: ["ext3", NO_TIMED_COMMITS],
    },
    HostFileSystem {
        name: "ext4",
        make: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "4096", "-E", ZERO_TABLES_AT_MKFS],
        mount: ["ext4", NO_TIMED_COMMITS],
    },
    // Data and metadata are mixed, as the developers of btrfs recommend for disks of less than a GiB.
    HostFileSystem {
        name: "btrfs",
        make: &["mkfs.btrfs", "-q", "-f", "--mixed"],
        mount: ["btrfs", NO_TIMED_COMMITS],
    },
];

/// Folder of memory limits (cgroups of version 1).
const MEMORY_GROUPS: &str = "/sys/fs/cgroup/memory";

/// Creates a group of processes with at most `bytes` of memory, including their page cache.
///
/// Errors: the kernel has no memory cgroups of version 1, or creating a group is not allowed.
fn limit_memory(bytes: u64, clean_up: &mut CleanUp) -> Result<String, Failure> {
    let group = format!("{MEMORY_GROUPS}/wearwell-{}", std::process::id());
    std::fs::create_dir(&group).map_err(|error| format!("{group}: {error}"))?;
    clean_up.add(&["rmdir", &group]);
    std::fs::write(format!("{group}/memory.limit_in_bytes"), bytes.to_string())?;
    Ok(format!("{group}/cgroup.procs"))
}

/// Disables the write-back of data by age until `clean_up` runs.
fn disable_timed_write_back(clean_up: &mut CleanUp) -> Result<(), Failure> {
    let before = std::fs::read_to_string(WRITE_BACK_INTERVAL)?;
    clean_up.add(&["sh", "-c", &format!("echo {} > {WRITE_BACK_INTERVAL}", before.trim())]);
    Ok(std::fs::write(WRITE_BACK_INTERVAL, "0")?)
}

impl HostFileSystem {
    /// Returns the file system with this name, if the host has it.
    pub fn named(name: &str) -> Option<&'static HostFileSystem> {
        HOST_FILE_SYSTEMS.iter().find(|system| system.name == name)
    }

    /// Makes the file system, runs the job with `memory_bytes` of memory for its processes and page cache, and unmounts.
    pub fn run(
        &self,
        recorder: &Recorder,
        job: &Job,
        memory_bytes: u64,
        scratch: &Path,
    ) -> Result<JobOutput, Failure> {
        let mut clean_up = CleanUp::default();
        let device = attach_loop(recorder, &mut clean_up)?;
        let make: Vec<&str> = self.make.iter().copied().chain([device.as_str()]).collect();
        output_of(&make)?;
        let mount_point = scratch.join("mounted");
        std::fs::create_dir_all(&mount_point)?;
        let mount_point = mount_point.to_string_lossy();
        let [kind, options] = self.mount;
        output_of(&["mount", "-t", kind, "-o", options, &device, &mount_point])?;
        clean_up.add_unmount(&mount_point);
        disable_timed_write_back(&mut clean_up)?;
        let group_members = limit_memory(memory_bytes, &mut clean_up)?;
        let mut command = timeout_command(job.limit_seconds);
        // The shell joins the group, and the program that replaces it stays in the group.
        command.args(["sh", "-c", &format!("echo $$ > {group_members} && exec \"$@\""), "sh"]);
        run_job(command.args(job.command(&mount_point)), recorder, || ())
    }
}
