//! nilfs2, which the running kernel may lack, in User-mode Linux on a recorded disk.

use crate::Failure;
use crate::nvmfs::job::{Job, Seen, watch};
use crate::nvmfs::recorder::Recorder;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Name of the file system that is run in a guest.
pub const NILFS2: &str = "nilfs2";

/// Where the package puts the guest kernel's modules.
const MODULES: &str = "/usr/lib/uml/modules";

/// Longest run of a guest, seconds.
const TIMEOUT_S: &str = "900";

/// The cleaner as it comes, except that nothing is protected from it for an hour, that it looks every second, and that it
/// says what it does: a run of minutes would otherwise fill the disk.
const CLEANER: &str = "protection_period 1\nmin_clean_segments 10%\nmax_clean_segments 20%\n\
    clean_check_interval 1\nselection_policy timestamp\nnsegments_per_clean 2\nmc_nsegments_per_clean 4\n\
    cleaning_interval 1\nmc_cleaning_interval 0.1\nretry_interval 1\nmin_reclaimable_blocks 10%\n\
    mc_min_reclaimable_blocks 1%\nuse_set_suinfo\nuse_mmap\nlog_priority debug\n";

/// What the cleaner of a log-structured file system did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Segments made free.
    pub segments: u64,
    /// Blocks of 4 KiB in them, the paper's "recycled blocks" (section IV-D).
    pub recycled_blocks: u64,
    /// Valid ones among them, which were moved.
    pub moved_blocks: u64,
}

impl Cleaned {
    /// "1 - (moved_valid_blocks / total_recycled_blocks)" (section IV-D); `None` if nothing was recycled.
    pub fn efficiency(&self) -> Option<f64> {
        (self.recycled_blocks > 0).then(|| 1.0 - self.moved_blocks as f64 / self.recycled_blocks as f64)
    }
}

/// Runs the job on nilfs2 in a guest with `memory_bytes` of memory, its kernel's included.
///
/// The guest's disk driver cuts requests into blocks and keeps flushes to itself.
pub fn run(recorder: &Recorder, job: &Job, memory_bytes: u64, scratch: &Path) -> Result<Seen, Failure> {
    let modules = scratch.join("modules/lib");
    std::fs::create_dir_all(&modules)?;
    let link = modules.join("modules");
    if !link.exists() {
        std::os::unix::fs::symlink(MODULES, link)?;
    }
    let out = scratch.join("out");
    std::fs::create_dir_all(&out)?;
    std::fs::write(scratch.join("cleaner.conf"), CLEANER)?;
    let init = scratch.join("init.sh");
    std::fs::write(&init, script(&job.command("/mnt/fs"), scratch))?;
    std::fs::set_permissions(&init, std::fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new("timeout");
    command.env("TMPDIR", "/dev/shm").args([TIMEOUT_S, "linux.uml"]);
    command.arg(format!("mem={}M", memory_bytes >> 20)).arg(format!("ubd0={}", recorder.disk.display()));
    command.arg(format!("init={}", init.display()));
    let root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"];
    let mut seen = watch(command.args(root).args(["con=null", "con0=null,fd:1", "quiet"]), recorder)?;
    if seen.report.is_none() {
        let last = &seen.lines[seen.lines.len().saturating_sub(20)..];
        return Err(format!("the job in the guest did not end well:\n{}", last.join("\n")).into());
    }
    // The last word of the file system itself, behind what the job said.
    let log = std::fs::read_to_string(out.join("cleaner.log")).unwrap_or_default();
    seen.lines.extend(log.lines().map(str::to_owned));
    Ok(seen)
}

/// What the guest does, from its first process on.
fn script(job: &[String], scratch: &Path) -> String {
    let quoted: Vec<String> = job.iter().map(|part| format!("'{part}'")).collect();
    let scratch = scratch.display();
    format!(
        "#!/bin/sh\n\
         export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
         mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev\n\
         mount -t tmpfs tmpfs /mnt; mkdir /mnt/fs /mnt/out\n\
         mount -t hostfs none /mnt/out -o {scratch}/out\n\
         modprobe -d {scratch}/modules nilfs2\n\
         busybox syslogd -O /mnt/out/cleaner.log -s 0\n\
         mkfs.nilfs2 -q -f /dev/ubda && mount -i -t nilfs2 -o discard /dev/ubda /mnt/fs\n\
         nilfs_cleanerd -n -c {scratch}/cleaner.conf /dev/ubda /mnt/fs &\n\
         {}\n\
         df -k /mnt/fs; sleep 0.3; umount -i /mnt/fs || umount -l -i /mnt/fs; sync\n\
         busybox poweroff -f\n",
        quoted.join(" ")
    )
}
