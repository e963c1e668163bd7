//! User-mode Linux on a recorded disk, for file systems that the running kernel may lack, in particular nilfs2.

use crate::Failure;
use crate::nvmfs::job::{CleanerWork, Job, JobOutput, run_job, timeout_command};
use crate::nvmfs::nilfs_logs::NilfsLogs;
use crate::nvmfs::recorder::Recorder;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use wearwell_trace::{Op, RequestBatch};

/// Name of the file system that runs in a guest.
pub const NILFS2: &str = "nilfs2";

/// Folder of the package with the guest kernel's modules.
const MODULES: &str = "/usr/lib/uml/modules";

/// Configuration of the nilfs2 cleaner: the default thresholds, but a faster cleaner. No segment is protected for an
/// hour, the cleaner hardly pauses, and it logs its work. By default, it frees two segments in five seconds, and any
/// workload would fill the disk.
pub(crate) const CLEANER_CONFIG: &str = "protection_period 1\nmin_clean_segments 10%\nmax_clean_segments 20%\n\
    clean_check_interval 1\nselection_policy timestamp\nnsegments_per_clean 2\nmc_nsegments_per_clean 4\n\
    cleaning_interval 0.1\nmc_cleaning_interval 0.01\nretry_interval 1\nmin_reclaimable_blocks 10%\n\
    mc_min_reclaimable_blocks 1%\nuse_set_suinfo\nuse_mmap\nlog_priority debug\n";

/// Number of 4 KiB blocks per segment. The default of `mkfs.nilfs2` is eight times this number; a small disk would
/// have too few such segments for the minimum reserve.
pub(crate) const SEGMENT_BLOCKS: u64 = 256;

/// Share of the segments in reserve, in per cent; with the default of 5, the paper's fullest disks would not fit.
pub(crate) const RESERVED_PERCENT: u32 = 3;

/// Maximum size in bytes of a request that [`merge_requests`] makes; requests of the host's loop device have an equal
/// maximum size.
const MERGED_BYTES: u64 = 1 << 20;

/// Number of dirty blocks that triggers the writing of a segment. It is far below the number of free, unreserved
/// blocks on the fullest disk, because nilfs2 refuses writes if the dirty data leave no free segments.
pub(crate) const SEGMENT_WRITE_BLOCKS: u32 = 512;

/// First lines of a script for a guest.
const INIT_SCRIPT: &str = "#!/bin/sh\n\
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
    mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev 2> /dev/null\n\
    mount -t tmpfs tmpfs /mnt; mkdir /mnt/fs /mnt/out\n\
    mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm\n";

/// Memory that the guest's kernel and the cleaner need in addition to the page cache, which also holds the segments
/// that are being cleaned. With less memory, the cleaner thrashes.
const SYSTEM_MEMORY_BYTES: u64 = 128 << 20;

/// Runs the job on nilfs2 in a guest with about `memory_bytes` of page cache.
///
/// The disk driver of the guest splits requests into blocks and does not forward flushes. `logs` observes the writes
/// to `recorder`.
pub fn run(
    recorder: &Recorder,
    logs: &NilfsLogs,
    job: &Job,
    memory_bytes: u64,
    scratch: &Path,
) -> Result<JobOutput, Failure> {
    let out = scratch.join("out");
    std::fs::create_dir_all(&out)?;
    std::fs::write(scratch.join("cleaner.conf"), CLEANER_CONFIG)?;
    let script = script(&job.command("/mnt/fs"), scratch);
    let mut command = guest_command(
        &script,
        &recorder.disk,
        memory_bytes + SYSTEM_MEMORY_BYTES,
        scratch,
        job.limit_seconds,
    )?;
    let cleaner_log = || std::fs::read_to_string(out.join("cleaner.log")).unwrap_or_default();
    let mut before = (0, 0);
    let mut output = run_job(&mut command, recorder, || {
        before = (count_cleaned_segments(&cleaner_log()), logs.blocks().moved);
    })?;
    let log = cleaner_log();
    let job_lines = output.lines.len();
    output.lines.extend(log.lines().map(str::to_owned));
    if output.report.is_none() {
        let [job, cleaner] = [&output.lines[..job_lines], &output.lines[job_lines..]]
            .map(|lines| lines[lines.len().saturating_sub(40)..].join("\n"));
        return Err(
            format!("the job in the guest did not end well:\n{job}\nand its cleaner:\n{cleaner}").into()
        );
    }
    let segments = count_cleaned_segments(&log) - before.0;
    output.cleaner_work = Some(CleanerWork {
        segments,
        recycled_blocks: segments * SEGMENT_BLOCKS,
        moved_blocks: logs.blocks().moved - before.1,
    });
    Ok(output)
}

/// Returns the command of a machine with `memory_bytes` of memory and the disk `disk`. Its first process runs
/// `script` after the file systems of the kernel are mounted. The machine is ended after `limit_seconds`. The modules
/// of the guest are in the folder `modules` of `scratch`, which must not be where the guest mounts another file
/// system (`/dev`, `/mnt`).
pub fn guest_command(
    script: &str,
    disk: &Path,
    memory_bytes: u64,
    scratch: &Path,
    limit_seconds: u32,
) -> Result<Command, Failure> {
    let modules = scratch.join("modules/lib");
    std::fs::create_dir_all(&modules)?;
    let link = modules.join("modules");
    if !link.exists() {
        std::os::unix::fs::symlink(MODULES, link)?;
    }
    let init = scratch.join("init.sh");
    std::fs::write(&init, format!("{INIT_SCRIPT}{script}busybox poweroff -f\n"))?;
    std::fs::set_permissions(&init, std::fs::Permissions::from_mode(0o755))?;
    let mut command = timeout_command(limit_seconds);
    command.env("TMPDIR", "/dev/shm").arg("linux.uml");
    command.arg(format!("mem={}M", memory_bytes >> 20)).arg(format!("ubd0={}", disk.display()));
    command.arg(format!("init={}", init.display()));
    command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]);
    command.args(["con=null", "con0=null,fd:1", "quiet"]);
    Ok(command)
}

/// Returns the number of freed segments according to the log of the cleaner.
fn count_cleaned_segments(log: &str) -> u64 {
    log.lines().filter(|line| line.contains("]: segment ") && line.ends_with(" cleaned")).count() as u64
}

/// Restores the requests as they were before the driver of the guest split them. It merges requests that are
/// neighbours in time and place, but not across request `set_up_requests`, and not above 1 MiB. Also returns the new
/// index of request `set_up_requests`.
pub fn merge_requests(requests: &RequestBatch, set_up_requests: usize) -> (RequestBatch, usize) {
    let mut merged = RequestBatch::default();
    let mut set_up = 0;
    for at in 0..requests.len() {
        if at == set_up_requests {
            set_up = merged.len();
        }
        let request = requests.get(at);
        let adjacent = merged.len().checked_sub(1).filter(|last| {
            merged.op[*last] == request.op
                && merged.offset_bytes[*last] + merged.length_bytes[*last] == request.offset_bytes
                && merged.length_bytes[*last] + request.length_bytes <= MERGED_BYTES
                && at != set_up_requests
        });
        match adjacent {
            Some(last) if request.op != Op::Flush => merged.length_bytes[last] += request.length_bytes,
            _ => merged.push(&request),
        }
    }
    (merged, if set_up_requests >= requests.len() { requests.len() } else { set_up })
}

/// Returns the script of the guest.
fn script(job: &[String], scratch: &Path) -> String {
    let quoted: Vec<String> = job.iter().map(|part| format!("'{part}'")).collect();
    let scratch = scratch.display();
    format!(
        "mount -t hostfs none /mnt/out -o {scratch}/out\n\
         modprobe -d {scratch}/modules nilfs2\n\
         mkdir -p /dev/mqueue; mount -t mqueue mqueue /dev/mqueue\n\
         busybox syslogd -O /mnt/out/cleaner.log\n\
         echo 0 > /proc/sys/vm/dirty_writeback_centisecs\n\
         mkfs.nilfs2 -q -f -B {SEGMENT_BLOCKS} -m {RESERVED_PERCENT} /dev/ubda\n\
         nilfs-tune -i 86400 -m {SEGMENT_WRITE_BLOCKS} /dev/ubda && mount -i -t nilfs2 -o discard /dev/ubda /mnt/fs\n\
         nilfs_cleanerd -n -c {scratch}/cleaner.conf /dev/ubda /mnt/fs &\n\
         {}\n\
         df -k /mnt/fs; kill %1; wait %1; umount -i /mnt/fs\n",
        quoted.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_trace::Request;

    #[test]
    fn adjacent_requests_are_merged_but_not_across_end_of_set_up() {
        let mut requests = RequestBatch::default();
        let ops = [
            (Op::Write, 0),
            (Op::Write, 1),
            (Op::Write, 2),
            (Op::Write, 3),
            (Op::Write, 9),
            (Op::Trim, 10),
            (Op::Trim, 11),
        ];
        for (op, page) in ops {
            let (offset_bytes, length_bytes) = (page * 4096, 4096);
            requests.push(&Request { time_ns: 0, op, volume: 0, offset_bytes, length_bytes, hint: 0 });
        }
        let (merged, set_up) = merge_requests(&requests, 2);
        assert_eq!(merged.length_bytes, [8192, 8192, 4096, 8192]);
        assert_eq!(merged.offset_bytes, [0, 8192, 36_864, 40_960]);
        assert_eq!(set_up, 1);
    }

    #[test]
    fn freed_segments_are_parsed_from_the_cleaner_log() {
        let log = "daemon.debug nilfs_cleanerd[7]: 2 segments selected to be cleaned\n\
                   daemon.debug nilfs_cleanerd[7]: segment 16 cleaned\n\
                   daemon.debug nilfs_cleanerd[7]: segment 17 cleaned\n";
        assert_eq!(count_cleaned_segments(log), 2);
    }
}
