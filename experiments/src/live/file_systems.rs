//! File systems of the measurements: the commands that make, mount and check them, with discards and without.

use crate::Failure;
use crate::nvmfs::clean_up::output_of;
use crate::nvmfs::guest::{CLEANER_CONFIG, RESERVED_PERCENT, SEGMENT_BLOCKS, SEGMENT_WRITE_BLOCKS};
use std::ops::Range;
use std::path::Path;

/// Bytes of a block, equal for all file systems.
const BLOCK_BYTES: u64 = 4096;

/// Kernel in which a file system runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The kernel of the machine, with a loop device.
    Host,
    /// The kernel of User-mode Linux.
    Guest,
}

/// A file system. Its commands are shell commands, with `$DEV` for its disk and `$ROOT` for its mount point.
pub struct FileSystem {
    /// Name of the file system in settings and tables.
    pub name: &'static str,
    /// Kernel in which the file system runs.
    pub kernel: Kernel,
    /// Module of the guest's kernel.
    pub module: &'static str,
    /// Command for mkfs, to which the device is appended; it discards the whole device.
    make: &'static str,
    /// Option of mkfs that prevents discards.
    make_without_discard: &'static str,
    /// Type and options of the mount.
    mount: [&'static str; 2],
    /// Mount options with discards, and without.
    discard: [&'static str; 2],
    /// Additional mount options for a load that must be logged.
    logging: &'static str,
    /// Command that checks the unmounted file system without changing it; empty if there is no checker.
    check: &'static [&'static str],
    /// Location of the journal or the metadata area.
    area: Area,
    /// Package that contains the programs of the file system.
    package: &'static str,
    /// Rate limit for fio in MiB per second, if the cleaner of the file system works periodically: without a limit, a
    /// drive in memory would be too fast for the cleaner.
    pub pace_mib_per_s: Option<u32>,
}

/// Method of finding the range that a file system uses for its journal or metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Area {
    /// There is no contiguous range.
    None,
    /// The journal of the ext file systems, inode 8.
    ExtJournal,
    /// The log of XFS.
    XfsLog,
    /// All blocks of F2FS before its segments.
    BelowMain,
}

/// Returns F2FS with the given mount options. F2FS overwrites in place where this is allowed, which bypasses the log.
const fn f2fs(name: &'static str, mount: [&'static str; 2]) -> FileSystem {
    FileSystem {
        name,
        kernel: Kernel::Guest,
        module: "f2fs",
        make: "mkfs.f2fs -q -f",
        make_without_discard: "mkfs.f2fs -q -f -t 0",
        mount,
        discard: ["discard", "nodiscard"],
        logging: "mode=lfs",
        check: &["fsck.f2fs", "-f", "--dry-run"],
        area: Area::BelowMain,
        package: "f2fs-tools",
        pace_mib_per_s: None,
    }
}

/// All file systems. Commits that depend on time are deferred for a day where possible, so that slow and fast
/// machines send the same requests. The tables of the ext file systems are zeroed by mkfs, and not later in the
/// background.
pub const FILE_SYSTEMS: [FileSystem; 8] = [
    FileSystem {
        name: "ext4",
        kernel: Kernel::Host,
        module: "",
        make: "mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0",
        make_without_discard: "mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard",
        mount: ["ext4", "commit=86400"],
        discard: ["discard", "nodiscard"],
        logging: "",
        check: &["e2fsck", "-f", "-n"],
        area: Area::ExtJournal,
        package: "e2fsprogs",
        pace_mib_per_s: None,
    },
    FileSystem {
        name: "ext3",
        kernel: Kernel::Host,
        module: "",
        make: "mkfs.ext3 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0",
        make_without_discard: "mkfs.ext3 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard",
        mount: ["ext3", "commit=86400"],
        discard: ["discard", "nodiscard"],
        logging: "",
        check: &["e2fsck", "-f", "-n"],
        area: Area::ExtJournal,
        package: "e2fsprogs",
        pace_mib_per_s: None,
    },
    FileSystem {
        name: "btrfs",
        kernel: Kernel::Host,
        module: "",
        make: "mkfs.btrfs -q -f",
        make_without_discard: "mkfs.btrfs -q -f -K",
        mount: ["btrfs", "commit=86400"],
        discard: ["discard=sync", "nodiscard"],
        logging: "",
        check: &["btrfs", "check", "--readonly", "--force"],
        area: Area::None,
        package: "btrfs-progs",
        pace_mib_per_s: None,
    },
    FileSystem {
        name: "xfs",
        kernel: Kernel::Host,
        module: "",
        make: "mkfs.xfs -q -f",
        make_without_discard: "mkfs.xfs -q -f -K",
        mount: ["xfs", "noquota"],
        discard: ["discard", "nodiscard"],
        logging: "",
        check: &["xfs_repair", "-n", "-f"],
        area: Area::XfsLog,
        package: "xfsprogs",
        pace_mib_per_s: None,
    },
    f2fs("f2fs_2", ["f2fs", "active_logs=2"]),
    f2fs("f2fs_4", ["f2fs", "active_logs=4"]),
    f2fs("f2fs_6", ["f2fs", "active_logs=6"]),
    FileSystem {
        name: "nilfs2",
        kernel: Kernel::Guest,
        module: "nilfs2",
        make: "mkfs.nilfs2 -q -f",
        make_without_discard: "mkfs.nilfs2 -q -f -K",
        mount: ["nilfs2", "errors=remount-ro"],
        discard: ["discard", "nodiscard"],
        logging: "",
        check: &[],
        area: Area::None,
        package: "nilfs-tools",
        pace_mib_per_s: Some(4),
    },
];

/// Returns the file system with this name.
///
/// # Errors
///
/// Returns an error for an unknown name.
pub fn find(name: &str) -> Result<&'static FileSystem, Failure> {
    FILE_SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
        let names: Vec<&str> = FILE_SYSTEMS.iter().map(|system| system.name).collect();
        format!("there is no file system `{name}`; there are {}", names.join(", ")).into()
    })
}

impl FileSystem {
    /// Returns the programs that the file system needs, each with its package.
    pub fn programs(&self) -> Vec<(&'static str, &'static str)> {
        let first = |command: &'static str| command.split(' ').next().unwrap_or(command);
        let mut programs = vec![(first(self.make), self.package)];
        programs.extend(self.check.first().map(|program| (*program, self.package)));
        match self.kernel {
            Kernel::Host => programs.push(("losetup", "mount")),
            Kernel::Guest => {
                let guest = [("linux.uml", "user-mode-linux"), ("busybox", "busybox"), ("modprobe", "kmod")];
                programs.extend(guest);
            }
        }
        if self.is_nilfs() {
            programs.extend(["nilfs-tune", "nilfs_cleanerd"].map(|program| (program, self.package)));
        }
        programs
    }

    /// True for nilfs2, which has a cleaner in user space.
    pub fn is_nilfs(&self) -> bool {
        self.module == "nilfs2"
    }

    /// Returns the script that makes and mounts the file system. A `logged` load writes to the log even if the file
    /// system would write in place. Additional files are in `scratch`.
    ///
    /// # Errors
    ///
    /// Returns an error if files cannot be written.
    pub fn begin_script(&self, discard: bool, logged: bool, scratch: &Path) -> Result<String, Failure> {
        let make = if discard { self.make } else { self.make_without_discard };
        let [kind, options] = self.mount;
        let discard_option = if discard { self.discard[0] } else { self.discard[1] };
        let logging =
            if logged && !self.logging.is_empty() { format!(",{}", self.logging) } else { String::new() };
        let options = format!("{options},{discard_option}{logging}");
        if !self.is_nilfs() {
            return Ok(format!("{make} $DEV > /dev/null\nmount -t {kind} -o {options} $DEV $ROOT\n"));
        }
        std::fs::write(scratch.join("cleaner.conf"), CLEANER_CONFIG)?;
        let scratch = scratch.display();
        Ok(format!(
            "mkdir -p /dev/mqueue; mount -t mqueue mqueue /dev/mqueue\n\
             busybox syslogd -O /mnt/cleaner.log\n\
             echo 0 > /proc/sys/vm/dirty_writeback_centisecs\n\
             {make} -B {SEGMENT_BLOCKS} -m {RESERVED_PERCENT} $DEV\n\
             nilfs-tune -i 86400 -m {SEGMENT_WRITE_BLOCKS} $DEV\n\
             mount -i -t {kind} -o {options} $DEV $ROOT\n\
             nilfs_cleanerd -n -c {scratch}/cleaner.conf $DEV $ROOT > /dev/null 2>&1 &\n"
        ))
    }

    /// Returns the script that prints the number of pages that the cleaner has moved, if the file system reports it:
    /// `live: moved N`.
    pub fn count_script(&self) -> &'static str {
        match self.area {
            Area::BelowMain => {
                "cd /sys/fs/f2fs/ubda\n\
                 echo \"live: moved $(($(cat moved_blocks_foreground) + $(cat moved_blocks_background)))\"\n\
                 echo \"live: main $(cat main_blkaddr)\"\ncd /\n"
            }
            _ => "",
        }
    }

    /// Returns the script that unmounts the file system.
    pub fn end_script(&self) -> &'static str {
        if self.is_nilfs() {
            "busybox killall nilfs_cleanerd || { tail -n 20 /mnt/cleaner.log; exit 1; }\n\
             while busybox pidof nilfs_cleanerd > /dev/null; do sleep 0.1; done\numount -i $ROOT\n"
        } else {
            "umount $ROOT\n"
        }
    }

    /// Runs the checker on the unmounted `disk`. Returns its messages, which are empty without errors; `None` if
    /// there is no checker.
    ///
    /// # Errors
    ///
    /// Returns an error if the checker cannot be run.
    pub fn check(&self, disk: &Path) -> Result<Option<String>, Failure> {
        let Some((program, arguments)) = self.check.split_first() else { return Ok(None) };
        let output = std::process::Command::new(program)
            .args(arguments)
            .arg(disk)
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        let messages = [output.stdout, output.stderr].concat();
        let messages = String::from_utf8_lossy(&messages).trim().to_owned();
        // fsck.f2fs always exits with 0; its output shows errors.
        let failed = !output.status.success() || messages.contains("[Fail]") || messages.contains("[FAIL]");
        Ok(Some(if failed { format!("{}: {messages}", output.status) } else { String::new() }))
    }

    /// Returns the byte ranges of the unmounted `disk` that contain only the journal or metadata. `main` is the block
    /// that F2FS reported as the start of its segments.
    ///
    /// # Errors
    ///
    /// Returns an error if the output of a program lacks the ranges.
    pub fn area(&self, disk: &Path, main: Option<u64>) -> Result<Vec<Range<u64>>, Failure> {
        let disk = disk.to_string_lossy();
        match self.area {
            Area::None => Ok(Vec::new()),
            Area::ExtJournal => Ok(ext_blocks(&output_of(&["debugfs", "-R", "stat <8>", &disk])?)),
            Area::XfsLog => {
                let print = "print logstart logblocks agblocks agblklog";
                Ok(vec![xfs_log(&output_of(&["xfs_db", "-r", "-f", "-c", "sb 0", "-c", print, &disk])?)?])
            }
            Area::BelowMain => Ok(main.map(|block| 0..block * BLOCK_BYTES).into_iter().collect()),
        }
    }
}

/// Parses the block ranges of a file from the output of debugfs about its inode: `(0-11):100-111, (IND):112`.
fn ext_blocks(output: &str) -> Vec<Range<u64>> {
    let blocks = output.split(|character: char| character.is_whitespace() || character == ',');
    let range = |part: &str| {
        let (_, blocks) = part.strip_prefix('(')?.split_once("):")?;
        let (first, last) = blocks.split_once('-').unwrap_or((blocks, blocks));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        Some(first * BLOCK_BYTES..(last + 1) * BLOCK_BYTES)
    };
    blocks.filter_map(range).collect()
}

/// Parses the range of the log of XFS from the output of xfs_db about the superblock.
fn xfs_log(output: &str) -> Result<Range<u64>, Failure> {
    let field = |name: &str| -> Result<u64, Failure> {
        let line = output.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
        Ok(line.ok_or_else(|| format!("xfs_db does not say {name}:\n{output}"))?.trim().parse()?)
    };
    let (start, log) = (field("logstart")?, field("agblklog")?);
    let first = (start >> log) * field("agblocks")? + (start & ((1 << log) - 1));
    Ok(first * BLOCK_BYTES..(first + field("logblocks")?) * BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_ranges_are_parsed_from_tool_output() {
        let output = "Inode: 8   Type: regular\nBLOCKS:\n(0-11):100-111, (IND):112, (12):200\nTOTAL: 14\n";
        let blocks: Vec<u64> =
            ext_blocks(output).iter().map(|range| range.end / 4096 - range.start / 4096).collect();
        assert_eq!(blocks, [12, 1, 1]);
        let output = "logstart = 131078\nlogblocks = 2560\nagblocks = 65536\nagblklog = 16\n";
        assert_eq!(xfs_log(output).unwrap(), (2 * 65_536 + 6) * 4096..(2 * 65_536 + 6 + 2560) * 4096);
        assert!(xfs_log("nothing").unwrap_err().to_string().contains("agblklog") || xfs_log("").is_err());
    }

    #[test]
    fn file_systems_are_mounted_with_and_without_discards() {
        let scratch = tempfile::tempdir().unwrap();
        for system in &FILE_SYSTEMS {
            let [with, without] =
                [true, false].map(|discard| system.begin_script(discard, true, scratch.path()).unwrap());
            assert!(with.contains(",discard") && without.contains("nodiscard"), "{with}{without}");
            let programs = system.programs();
            assert_eq!(programs.iter().any(|one| one.0 == "linux.uml"), system.kernel == Kernel::Guest);
        }
        assert!(
            find("f2fs_6")
                .unwrap()
                .begin_script(true, true, scratch.path())
                .unwrap()
                .contains("active_logs=6,discard,mode=lfs")
        );
        assert!(!find("f2fs_6").unwrap().begin_script(true, false, scratch.path()).unwrap().contains("lfs"));
        assert!(find("zfs").err().unwrap().to_string().contains("btrfs"));
    }
}
