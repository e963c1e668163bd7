//! Conversions between the types of the kernel and of this crate.

use rustix::fs::{FallocateFlags, FileType as Type, Mode, XattrFlags};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wearwell_fuse::fuser::{Errno, FileAttr, FileType, INodeNo, RenameFlags, TimeOrNow};
use wearwell_nvmfs::api::{Allocate, Attributes, BLOCK_BYTES, Error, Kind, Rename, Seek, SetXattr};

/// Result of a request.
pub type RequestResult<T> = std::result::Result<T, Errno>;

/// Returns the errno of an error.
pub fn errno(error: &Error) -> Errno {
    match error {
        Error::NotFound => Errno::ENOENT,
        Error::Exists => Errno::EEXIST,
        Error::NotDirectory => Errno::ENOTDIR,
        Error::IsDirectory => Errno::EISDIR,
        Error::NotEmpty => Errno::ENOTEMPTY,
        Error::NoSpace(_) => Errno::ENOSPC,
        Error::NameTooLong => Errno::ENAMETOOLONG,
        Error::Invalid(_) => Errno::EINVAL,
        Error::TooManyLinks => Errno::EMLINK,
        Error::TooLarge => Errno::EFBIG,
        Error::NotPermitted(_) => Errno::EPERM,
        Error::ReadOnly => Errno::EROFS,
        Error::Stale => Errno::ESTALE,
        Error::NoAttribute => Errno::ENODATA,
        Error::NoDataOrHole => Errno::ENXIO,
        Error::Unsupported(_) => Errno::EOPNOTSUPP,
        Error::Wait => Errno::EAGAIN,
        Error::Damaged(_) | Error::Ssd(_) => Errno::EIO,
    }
}

/// Returns the file type in `mode`, if it is known.
pub fn kind(mode: u32) -> Option<Kind> {
    Some(match Type::from_raw_mode(mode) {
        Type::RegularFile => Kind::File,
        Type::Directory => Kind::Directory,
        Type::Symlink => Kind::Symlink,
        Type::Fifo => Kind::Fifo,
        Type::Socket => Kind::Socket,
        Type::CharacterDevice => Kind::CharacterDevice,
        Type::BlockDevice => Kind::BlockDevice,
        _ => return None,
    })
}

/// Returns the permission bits of `mode`.
pub fn permissions(mode: u32) -> u32 {
    Mode::from_raw_mode(mode).bits()
}

/// Returns the kernel's value for a file type.
pub fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
    }
}

/// Converts attributes to those of the kernel.
pub fn attributes(attributes: &Attributes) -> FileAttr {
    FileAttr {
        ino: INodeNo(attributes.ino.0.into()),
        size: attributes.size_bytes,
        // The kernel counts sectors of 512 bytes.
        blocks: attributes.blocks * (BLOCK_BYTES as u64 / 512),
        atime: system_time(attributes.accessed_ns),
        mtime: system_time(attributes.modified_ns),
        ctime: system_time(attributes.changed_ns),
        crtime: UNIX_EPOCH,
        kind: file_type(attributes.kind),
        perm: attributes.permissions as u16,
        nlink: attributes.links,
        uid: attributes.uid,
        gid: attributes.gid,
        rdev: attributes.device,
        blksize: BLOCK_BYTES as u32,
        flags: 0,
    }
}

/// Returns the attributes that mean "no such file", which the kernel may cache.
pub fn absent() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK_BYTES as u32,
        flags: 0,
    }
}

/// Converts nanoseconds since 1970 to a time.
fn system_time(ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(ns.unsigned_abs());
    if ns < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// Converts a time to nanoseconds since 1970, limited to the range of 64 bits (years 1677 to 2262).
pub fn ns(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// Returns the time that the caller requested, which may be `now_ns`.
pub fn time(requested: TimeOrNow, now_ns: i64) -> i64 {
    match requested {
        TimeOrNow::SpecificTime(time) => ns(correct_time_before_1970(time)),
        TimeOrNow::Now => now_ns,
    }
}

/// Corrects times before 1970: the kernel counts seconds downwards and their fraction upwards, but fuser 0.18 counts
/// both downwards.
fn correct_time_before_1970(time: SystemTime) -> SystemTime {
    match UNIX_EPOCH.duration_since(time) {
        Ok(before) => time + 2 * Duration::from_nanos(before.subsec_nanos().into()),
        Err(_) => time,
    }
}

/// Returns the variant of rename that the flags select, if it is supported.
pub fn rename(flags: RenameFlags) -> Option<Rename> {
    if flags.is_empty() {
        Some(Rename::Replace)
    } else if flags == RenameFlags::RENAME_NOREPLACE {
        Some(Rename::Keep)
    } else if flags == RenameFlags::RENAME_EXCHANGE {
        Some(Rename::Exchange)
    } else {
        None
    }
}

/// Returns the operation that `fallocate` with this mode requests, if it is supported.
pub fn allocate(mode: i32) -> Option<Allocate> {
    let keep_size = FallocateFlags::KEEP_SIZE;
    let flags = FallocateFlags::from_bits_retain(mode as u32);
    if flags.difference(keep_size).is_empty() {
        Some(Allocate::Reserve { keep_size: flags.contains(keep_size) })
    } else if flags == FallocateFlags::PUNCH_HOLE | keep_size {
        Some(Allocate::Punch)
    } else if flags.difference(keep_size) == FallocateFlags::ZERO_RANGE {
        Some(Allocate::Zero { keep_size: flags.contains(keep_size) })
    } else {
        None
    }
}

/// Converts SEEK_DATA and SEEK_HOLE of `lseek`; the kernel handles the other values.
pub fn seek(whence: i32) -> Option<Seek> {
    match whence {
        3 => Some(Seek::Data),
        4 => Some(Seek::Hole),
        _ => None,
    }
}

/// Converts the flags of `setxattr`, which select the treatment of an existing attribute.
pub fn set_xattr(flags: i32) -> Option<SetXattr> {
    let flags = XattrFlags::from_bits_retain(flags as u32);
    if flags.is_empty() {
        Some(SetXattr::Either)
    } else if flags == XattrFlags::CREATE {
        Some(SetXattr::Create)
    } else if flags == XattrFlags::REPLACE {
        Some(SetXattr::Replace)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_before_1970_counts_nanoseconds_upwards() {
        let as_fuser_has_it = UNIX_EPOCH - Duration::new(2, 300_000_000);
        assert_eq!(time(TimeOrNow::SpecificTime(as_fuser_has_it), 0), -1_700_000_000);
        assert_eq!(time(TimeOrNow::SpecificTime(UNIX_EPOCH - Duration::from_secs(2)), 0), -2_000_000_000);
        assert_eq!(time(TimeOrNow::SpecificTime(UNIX_EPOCH + Duration::new(2, 3)), 0), 2_000_000_003);
        assert_eq!(ns(system_time(-1_700_000_000)), -1_700_000_000);
        assert_eq!(ns(UNIX_EPOCH + Duration::from_secs(1 << 40)), i64::MAX);
    }
}
