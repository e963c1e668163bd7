//! Interface of a file system, as used by a front end: a mount, a workload generator or a test.
//!
//! Files are identified by inode number. The caller passes the time, so equal calls have equal results.
//! Permissions are not checked here: with a mounted file system, the kernel checks them.

use std::ops::ControlFlow;

/// Bytes of a block, in files and on both devices (section III-C).
pub const BLOCK_BYTES: usize = 4096;
/// Maximum length of the name of a directory entry, bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Maximum length of the target of a symbolic link, bytes.
pub const MAX_LINK_TARGET_BYTES: usize = 4095;
/// Maximum number of links to a file or directory.
pub const MAX_LINKS: u32 = 65_000;
/// Maximum size of a file in bytes: an inode points to 4 blocks directly, to 512 through one pointer block, and so
/// on, through up to three levels of pointer blocks.
pub const MAX_FILE_BYTES: u64 = (4 + 512 + 512 * 512 + 512 * 512 * 512) * BLOCK_BYTES as u64;
/// Maximum length of the name of an extended attribute, bytes.
pub const MAX_XATTR_NAME_BYTES: usize = 255;
/// Maximum total bytes of a file's extended attributes. Each attribute counts with its name, its value and
/// [`XATTR_HEAD_BYTES`].
pub const MAX_XATTRS_BYTES: usize = 4080;
/// Overhead of an extended attribute in addition to its name and value, bytes.
pub const XATTR_HEAD_BYTES: usize = 8;
/// Extended attribute that holds the access ACL of a file.
pub const ACCESS_ACL: &[u8] = b"system.posix_acl_access";
/// Extended attribute of a directory that holds the default ACL, which new files in the directory inherit.
pub const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";
/// Maximum age of the access time before a read updates it (relatime), ns.
pub const RELATIME_NS: i64 = 24 * 3600 * 1_000_000_000;

/// Number of an inode; the root directory has [`ROOT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u32);

/// The root directory.
pub const ROOT: Ino = Ino(1);

/// Error of a file system operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// ENOENT.
    #[error("no such file or directory")]
    NotFound,
    /// EEXIST.
    #[error("the name exists")]
    Exists,
    /// ENOTDIR.
    #[error("not a directory")]
    NotDirectory,
    /// EISDIR.
    #[error("a directory")]
    IsDirectory,
    /// ENOTEMPTY.
    #[error("the directory is not empty")]
    NotEmpty,
    /// ENOSPC.
    #[error("no space left: {0}")]
    NoSpace(&'static str),
    /// ENAMETOOLONG.
    #[error("the name is too long")]
    NameTooLong,
    /// EINVAL.
    #[error("invalid: {0}")]
    Invalid(&'static str),
    /// EMLINK.
    #[error("too many links")]
    TooManyLinks,
    /// EFBIG.
    #[error("the file would be too large")]
    TooLarge,
    /// EPERM.
    #[error("not permitted: {0}")]
    NotPermitted(&'static str),
    /// EROFS: the file belongs to a snapshot.
    #[error("a snapshot does not change")]
    ReadOnly,
    /// ESTALE: the snapshot no longer exists.
    #[error("the snapshot was deleted")]
    Stale,
    /// ENODATA: no such extended attribute.
    #[error("no such attribute")]
    NoAttribute,
    /// ENXIO: no data or hole at or after this offset.
    #[error("nothing from this offset on")]
    NoDataOrHole,
    /// EOPNOTSUPP.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// Not an error: blocks must be read from the SSD first, concurrently with other requests; the caller then
    /// repeats the call. Returned only if the caller allowed waiting.
    #[error("blocks of the SSD are to be read first")]
    Wait,
    /// EIO: the file system is damaged; the text says where.
    #[error("the file system is damaged: {0}; run fsck")]
    Damaged(String),
    /// EIO: the SSD failed.
    #[error("the SSD: {0}")]
    Ssd(#[from] std::io::Error),
}

/// Result of a file system operation.
pub type Result<T> = std::result::Result<T, Error>;

/// File type of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
}

/// Attributes of a file: everything except its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Inode number.
    pub ino: Ino,
    /// Number of times that the inode number was assigned to a new file.
    pub generation: u32,
    /// File type.
    pub kind: Kind,
    /// Permission bits, with set-user-id, set-group-id and sticky: the low 12 bits of the mode.
    pub permissions: u32,
    /// Number of hard links.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device file, as the kernel encodes it; otherwise 0.
    pub device: u32,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Blocks of [`BLOCK_BYTES`] that the file uses on NVRAM and SSD together, including blocks of
    /// pointers.
    pub blocks: u64,
    /// Last access, ns since 1970.
    pub accessed_ns: i64,
    /// Last change of the content, ns since 1970.
    pub modified_ns: i64,
    /// Last change of content or attributes, ns since 1970.
    pub changed_ns: i64,
}

/// Identity of the caller, and the time of the call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller {
    /// User of new files.
    pub uid: u32,
    /// Group of new files, unless the directory is set-group-id.
    pub gid: u32,
    /// Time of the call, ns since 1970.
    pub now_ns: i64,
}

/// Change of attributes; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Permission bits (12).
    pub permissions: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// New size: data beyond it is discarded; bytes added at the end read as zeros.
    pub size_bytes: Option<u64>,
    /// Last access, ns since 1970.
    pub accessed_ns: Option<i64>,
    /// Last change of the content, ns since 1970.
    pub modified_ns: Option<i64>,
}

/// Treatment of an existing target of a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    /// Replaces the existing file atomically.
    Replace,
    /// Returns an error (RENAME_NOREPLACE).
    Keep,
    /// Gives the existing file the old name (RENAME_EXCHANGE).
    Exchange,
}

/// Operation of `fallocate` on a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Reserves blocks for the holes of the range: the holes read as zeros, and writing to them needs no further
    /// space. Extends the file to the end of the range unless `keep_size` (FALLOC_FL_KEEP_SIZE) is set.
    Reserve {
        /// True if the size of the file does not change.
        keep_size: bool,
    },
    /// Punches a hole (FALLOC_FL_PUNCH_HOLE with FALLOC_FL_KEEP_SIZE).
    Punch,
    /// Zeroes the range; extends the file unless `keep_size` is set.
    Zero {
        /// True if the size of the file does not change.
        keep_size: bool,
    },
}

/// Target of `lseek`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// The next byte whose block exists.
    Data,
    /// The next byte whose block does not exist; the end of the file counts as a hole.
    Hole,
}

/// Treatment of an existing extended attribute when an attribute is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetXattr {
    /// Creates or replaces.
    Either,
    /// Returns an error if the attribute exists (XATTR_CREATE).
    Create,
    /// Returns an error if the attribute does not exist (XATTR_REPLACE).
    Replace,
}

/// Entry of a directory; `.` and `..` are listed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Position after this entry, from which a listing continues; never 0.
    pub next: u64,
    /// Inode number of the file.
    pub ino: Ino,
    /// File type.
    pub kind: Kind,
    /// Name: any bytes except 0 and `/`.
    pub name: &'a [u8],
}

/// Usage of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Number of blocks for data.
    pub blocks: u64,
    /// Number of free blocks.
    pub free_blocks: u64,
    /// Number of free blocks that files can use; smaller than `free_blocks` because pointers need space, too.
    pub available_blocks: u64,
    /// Number of inodes.
    pub inodes: u64,
    /// Number of free inodes that files can use, given that names need space, too.
    pub free_inodes: u64,
}

/// Operations that a file system implements.
///
/// An operation either succeeds or returns an error without any visible change, unless its documentation says
/// otherwise. Where POSIX leaves a choice, the rules below apply. The model file system of the
/// tests, `tests/nvmfs/common/model`, implements the same rules in simple code.
///
/// # Inodes and errors
///
/// An inode number without a file is [`Error::NotFound`]. Where a directory is required, any other file type is
/// [`Error::NotDirectory`], and a directory that was removed while open is [`Error::NotFound`]. Where a regular
/// file is required, a directory is [`Error::IsDirectory`] and any other type is [`Error::Invalid`].
///
/// If several errors apply, the first one in this order is returned: inode, directory, syntax of the name,
/// [`Error::NotFound`] or [`Error::Exists`] of the entry, file type, limits and space.
///
/// # Names
///
/// A name has 1 to [`MAX_NAME_BYTES`] bytes ([`Error::NameTooLong`]) other than 0 and `/` ([`Error::Invalid`],
/// as is an empty name). Looking up `.` and `..` works; the root is its own parent.
///
/// Other operations on `.` and `..` fail. Creation returns [`Error::Exists`], unlink [`Error::IsDirectory`],
/// and a rename from or to these names [`Error::Invalid`]. Removal returns [`Error::Invalid`] for `.` and
/// [`Error::NotEmpty`] for `..`.
///
/// # Links
///
/// A directory has 2 links plus one for each subdirectory. Link counts of files and directories are limited to
/// [`MAX_LINKS`] ([`Error::TooManyLinks`]). A file without links, or a removed directory, exists until the last
/// release; mounting releases all files.
///
/// # Blocks
///
/// A block of a file exists if any of its bytes was written (zeros count) or reserved; [`FileSystem::seek`]
/// finds such blocks. Beyond the end of the file, only blocks reserved by [`Allocate::Reserve`] with
/// `keep_size` exist. These blocks count in [`Attributes::blocks`] and are kept when the file grows.
///
/// Truncation, also to the current size, frees the blocks entirely beyond the end. The removed bytes read as zeros
/// when the file grows again. Growing a file creates holes. Punching and zeroing free the blocks that the range
/// covers entirely, and write zeros into existing blocks that the range covers partly.
///
/// [`Attributes::blocks`] and the size of a directory depend on the implementation.
///
/// # Times
///
/// A new file gets all three times; its directory gets modification and change times. Writing (at least 1
/// byte), setting the size (even to the current size) and allocating set the modification and change times.
/// Other changes of attributes (except an empty [`Change`]) and of extended attributes set the change time. A
/// time given explicitly takes precedence over an implied one.
///
/// Link, unlink, removal and rename set the change time of the files that gain, lose or change a name, and the
/// modification and change times of the directories.
///
/// Reading (at least 1 byte, also at the end of the file) updates the access time in three cases. The old access time
/// is not later than the modification time, not later than the change time, or at least [`RELATIME_NS`] old. Listing a
/// directory and reading a link update no times.
///
/// # Access control lists
///
/// [`ACCESS_ACL`] of any file except a symbolic link ([`Error::Unsupported`]) and [`DEFAULT_ACL`] of a
/// directory (otherwise [`Error::NotPermitted`]) hold ACLs in the format of Linux. A malformed value is
/// [`Error::Invalid`].
///
/// Setting the access ACL sets the permission bits accordingly; the group bits come from the mask, if there is
/// one. An ACL equivalent to the permission bits is not stored. Setting the permission bits changes the ACL's
/// entries for the owner, for the mask (or else the owning group) and for other users. Removing an ACL leaves
/// the bits unchanged.
///
/// In a directory with a default ACL, a new file inherits that ACL as its access ACL. The entries for owner,
/// mask and other users are limited to the requested permissions. A new subdirectory also inherits the default
/// ACL. The caller enforces ACLs and permission bits.
///
/// # Groups
///
/// In a directory with the set-group-id bit, new files get the group of the directory, and new directories also
/// get the bit.
pub trait FileSystem {
    /// Returns the attributes of the file called `name` in a directory.
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes>;

    /// Returns the attributes of a file.
    fn attributes(&mut self, ino: Ino) -> Result<Attributes>;

    /// Changes attributes, including the size (regular files only; [`Error::TooLarge`] above [`MAX_FILE_BYTES`]).
    /// Permission bits beyond the low 12 bits are ignored.
    fn set_attributes(&mut self, ino: Ino, change: &Change, caller: &Caller) -> Result<Attributes>;

    /// Creates a file that is neither a directory nor a symbolic link (otherwise [`Error::Invalid`]);
    /// `device` is used for device files only.
    fn create(
        &mut self,
        parent: Ino,
        name: &[u8],
        kind: Kind,
        permissions: u32,
        device: u32,
        caller: &Caller,
    ) -> Result<Attributes>;

    /// Creates a directory.
    fn make_directory(
        &mut self,
        parent: Ino,
        name: &[u8],
        permissions: u32,
        caller: &Caller,
    ) -> Result<Attributes>;

    /// Creates a symbolic link with permissions 0o777. The target has 1 to [`MAX_LINK_TARGET_BYTES`] bytes
    /// ([`Error::NameTooLong`]) other than 0 ([`Error::Invalid`], as is an empty target). The size of the
    /// link is the length of its target.
    fn symlink(&mut self, parent: Ino, name: &[u8], target: &[u8], caller: &Caller) -> Result<Attributes>;

    /// Returns the target of a symbolic link; [`Error::Invalid`] for any other file type.
    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>>;

    /// Adds a name to a file. Fails for a directory ([`Error::NotPermitted`]) and for an unlinked file
    /// ([`Error::NotFound`]).
    fn link(&mut self, ino: Ino, parent: Ino, name: &[u8], caller: &Caller) -> Result<Attributes>;

    /// Removes a name of a file that is not a directory. A file without names exists until the last
    /// [`FileSystem::release`].
    fn unlink(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Renames a file atomically.
    ///
    /// Does nothing if both names refer to the same file. A directory can replace only an empty directory
    /// ([`Error::NotDirectory`], [`Error::NotEmpty`]); any other file cannot replace a directory
    /// ([`Error::IsDirectory`]). A directory cannot move into itself or below itself ([`Error::Invalid`]).
    /// [`Rename::Exchange`] requires both names to exist ([`Error::NotFound`]) and accepts any file types.
    fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), how: Rename, caller: &Caller) -> Result<()>;

    /// Marks the file as open; each call needs a matching [`FileSystem::release`].
    fn open(&mut self, ino: Ino) -> Result<()>;

    /// Closes the file once; [`Error::Invalid`] if the file is not open.
    fn release(&mut self, ino: Ino) -> Result<()>;

    /// Reads up to `out.len()` bytes from `offset`, or up to the end of the file; returns the number of
    /// bytes.
    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], caller: &Caller) -> Result<usize>;

    /// Writes `data`, or as much of it as fits on the devices ([`Error::NoSpace`]) and below
    /// [`MAX_FILE_BYTES`] ([`Error::TooLarge`]). Returns the number of bytes written, or an error if that
    /// would be 0.
    fn write(&mut self, ino: Ino, offset: u64, data: &[u8], caller: &Caller) -> Result<usize>;

    /// Implements `fallocate`. A length of 0 is [`Error::Invalid`]; an end above [`MAX_FILE_BYTES`] is
    /// [`Error::TooLarge`].
    fn allocate(&mut self, ino: Ino, how: Allocate, offset: u64, length: u64, caller: &Caller) -> Result<()>;

    /// Returns the offset of the next data or hole at or after `offset`. Returns [`Error::NoDataOrHole`] at or beyond
    /// the end of the file, and if no data follows.
    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64>;

    /// Makes all earlier writes to the file durable.
    fn sync(&mut self, ino: Ino) -> Result<()>;

    /// Calls `each` for the entries of a directory, starting at position `from` (0: the first), until `each` returns
    /// `Break`. An entry that exists throughout the listing is reported exactly once, even if other entries are added
    /// or removed between calls.
    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Returns the value of an extended attribute, or [`Error::NoAttribute`].
    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>>;

    /// Sets an extended attribute of any file. A name has 1 to [`MAX_XATTR_NAME_BYTES`] bytes
    /// ([`Error::NameTooLong`]) other than 0 ([`Error::Invalid`], as is an empty name). Exceeding
    /// [`MAX_XATTRS_BYTES`] is [`Error::NoSpace`].
    fn set_xattr(
        &mut self,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
        caller: &Caller,
    ) -> Result<()>;

    /// Returns the names of all extended attributes.
    fn xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>>;

    /// Removes an extended attribute.
    fn remove_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Returns the usage of the file system.
    fn statistics(&mut self) -> Result<Statistics>;
}
