//! `wearwell nvmfs umount`.

use super::devices::option_failure;
use crate::exit::Failure;
use crate::interrupt::interrupted;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wearwell_mount::unmount_directory;
use wearwell_nvmfs::backing::is_in_use;

/// Unmounts a file system, and waits until NVRAM and SSD are free
///
/// `umount` returns while the server is still closing the file system, which takes seconds with millions of files. When
/// this command returns, the file system can be checked, copied and mounted again.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Directory of the mount
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

const HELP: &str = "\
Examples:
  wearwell nvmfs umount /mnt
  wearwell nvmfs umount /mnt && wearwell nvmfs fsck --nvram /dev/shm/nvram --ssd ssd.img";

/// File-system types in the mount table; old kernels use the second.
const TYPES: [&[u8]; 2] = [b"fuse.nvmfs", b"fuse"];
/// Interval between checks whether the server has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let shown = args.directory.display().to_string();
    // A mount whose server has crashed has no accessible files.
    let canonical = args.directory.canonicalize().or_else(|_| std::path::absolute(&args.directory));
    let at = canonical.map_err(|error| option_failure(&shown, error))?;
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| option_failure("/proc/self/mountinfo", error))?;
    let nvram = nvram_of_mount(&table, &at).ok_or_else(|| {
        option_failure(&shown, "no NVMFS is mounted on it; give the directory that was mounted on")
    })?;
    unmount_directory(&at).map_err(|error| option_failure(&shown, error))?;
    while is_in_use(&nvram)
        .map_err(|error| option_failure("it was unmounted, and may still be closed", error))?
    {
        if interrupted() {
            return Err(option_failure(&shown, "it was unmounted, and its server still closes it"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Returns the NVRAM of the NVMFS mounted on a directory. If several file systems are mounted on the directory, the
/// last one counts.
fn nvram_of_mount(table: &[u8], mount_point: &Path) -> Option<PathBuf> {
    table.split(|byte| *byte == b'\n').rev().find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        // Optional fields precede a dash; type and source follow it.
        let dash = fields.iter().position(|field| *field == b"-")?;
        let (directory, kind, source) = (fields.get(4)?, fields.get(dash + 1)?, fields.get(dash + 2)?);
        let is_match = TYPES.contains(kind) && unescaped(directory) == mount_point.as_os_str().as_bytes();
        let nvram: PathBuf = is_match.then(|| OsString::from_vec(unescaped(source)).into())?;
        (*kind == TYPES[0] || is_in_use(&nvram).unwrap_or(false)).then_some(nvram)
    })
}

/// Decodes a field of the mount table, in which spaces and some other characters are octal escapes.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.first_chunk::<3>().filter(|_| byte == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_mount_of_directory_is_found() {
        let table = b"30 1 0:5 / /mnt/a\\040b rw shared:1 - fuse.nvmfs /dev/shm/one rw\n\
            31 1 0:6 / /mnt/c rw - tmpfs tmpfs rw\n\
            32 1 0:7 / /mnt/a\\040b rw - fuse.nvmfs /dev/shm/the\\134other\\011one rw\n";
        let found = nvram_of_mount(table, Path::new("/mnt/a b"));
        assert_eq!(found.as_deref(), Some(Path::new("/dev/shm/the\\other\tone")));
        assert_eq!(nvram_of_mount(table, Path::new("/mnt/c")), None);
        assert_eq!(nvram_of_mount(b"", Path::new("/mnt/c")), None);
    }
}
