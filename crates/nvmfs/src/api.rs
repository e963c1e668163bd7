//! What a file system does, as seen by a front end: a mount, a generator of workloads, a test.
//!
//! Files are named by inode number, times are given by the caller, so that equal calls have equal results. Permissions are
//! not checked here: a mounted file system leaves that to the kernel.

use std::ops::ControlFlow;

/// Bytes of a block, in files as on both devices (section III-C).
pub const BLOCK_BYTES: usize = 4096;
/// Longest name of a directory entry, bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Longest target of a symbolic link, bytes.
pub const MAX_LINK_TARGET_BYTES: usize = 4095;
/// Largest number of links to a file or directory.
pub const MAX_LINKS: u32 = 65_000;

/// Number of an inode; the root directory's is [`ROOT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u32);

/// The root directory.
pub const ROOT: Ino = Ino(1);

/// Why a file system refused.
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
    /// ENODATA: no such extended attribute.
    #[error("no such attribute")]
    NoAttribute,
    /// ENXIO: no data or hole from here on.
    #[error("nothing from this offset on")]
    NothingThere,
    /// EOPNOTSUPP.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// EIO: the file system is damaged; says where.
    #[error("the file system is damaged: {0}; run fsck")]
    Damaged(String),
    /// EIO: the SSD failed.
    #[error("the SSD: {0}")]
    Ssd(#[from] std::io::Error),
}

/// What operations of a file system return.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of file an inode is.
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

/// What is known of a file besides its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its number.
    pub ino: Ino,
    /// Counts how often the number was given to a new file.
    pub generation: u32,
    /// What it is.
    pub kind: Kind,
    /// Permission bits, with set-user-id, set-group-id and sticky: the low 12 bits of the mode.
    pub permissions: u32,
    /// Links to it.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device file, as the kernel encodes it; else 0.
    pub device: u32,
    /// Bytes.
    pub size_bytes: u64,
    /// Blocks of [`BLOCK_BYTES`] that it takes, on NVRAM and SSD together, pointers included.
    pub blocks: u64,
    /// Last access, ns since 1970.
    pub accessed_ns: i64,
    /// Last change of the content, ns since 1970.
    pub modified_ns: i64,
    /// Last change of content or attributes, ns since 1970.
    pub changed_ns: i64,
}

/// Who asks, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller {
    /// User of new files.
    pub uid: u32,
    /// Group of new files, unless the directory is set-group-id.
    pub gid: u32,
    /// The time, ns since 1970.
    pub now_ns: i64,
}

/// A change of attributes; `None` leaves one as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Permission bits (12).
    pub permissions: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// New length: what is cut off is gone, what is added reads as zeros.
    pub size_bytes: Option<u64>,
    /// Last access, ns since 1970.
    pub accessed_ns: Option<i64>,
    /// Last change of the content, ns since 1970.
    pub modified_ns: Option<i64>,
}

/// How a rename treats a file that has the new name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    /// Replaces it, in one step.
    Replace,
    /// Refuses (RENAME_NOREPLACE).
    Keep,
    /// Gives it the old name (RENAME_EXCHANGE).
    Exchange,
}

/// What `fallocate` does with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Gives blocks to its holes, and extends the file to its end.
    Reserve,
    /// Makes it a hole (FALLOC_FL_PUNCH_HOLE with FALLOC_FL_KEEP_SIZE).
    Punch,
    /// Makes it read as zeros; extends the file unless `keep_size`.
    Zero {
        /// The file keeps its length.
        keep_size: bool,
    },
}

/// What `lseek` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// The next byte that has a block.
    Data,
    /// The next byte that has none; the end of the file counts as one.
    Hole,
}

/// How setting an extended attribute treats one that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetXattr {
    /// Creates or replaces.
    Either,
    /// Refuses if it is there (XATTR_CREATE).
    Create,
    /// Refuses if it is not (XATTR_REPLACE).
    Replace,
}

/// An entry of a directory; `.` and `..` are among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Where to go on after it; never 0.
    pub next: u64,
    /// The file.
    pub ino: Ino,
    /// What it is.
    pub kind: Kind,
    /// Its name, any bytes but 0 and `/`.
    pub name: &'a [u8],
}

/// How full a file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Blocks for data.
    pub blocks: u64,
    /// Those not in use.
    pub free_blocks: u64,
    /// Inodes.
    pub inodes: u64,
    /// Those not in use.
    pub free_inodes: u64,
}

/// A file system.
///
/// Every operation either happens or returns an error and changes nothing that can be seen, unless it says otherwise.
pub trait FileSystem {
    /// The file called `name` in a directory.
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes>;

    /// What is known of a file.
    fn attributes(&mut self, ino: Ino) -> Result<Attributes>;

    /// Changes attributes, the length among them.
    fn set_attributes(&mut self, ino: Ino, change: &Change, caller: &Caller) -> Result<Attributes>;

    /// Makes a file that is neither a directory nor a link; `device` matters for device files only.
    fn make(
        &mut self,
        parent: Ino,
        name: &[u8],
        kind: Kind,
        permissions: u32,
        device: u32,
        caller: &Caller,
    ) -> Result<Attributes>;

    /// Makes a directory.
    fn make_directory(
        &mut self,
        parent: Ino,
        name: &[u8],
        permissions: u32,
        caller: &Caller,
    ) -> Result<Attributes>;

    /// Makes a symbolic link.
    fn symlink(&mut self, parent: Ino, name: &[u8], target: &[u8], caller: &Caller) -> Result<Attributes>;

    /// The target of a symbolic link.
    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>>;

    /// Gives a file another name; not a directory.
    fn link(&mut self, ino: Ino, parent: Ino, name: &[u8], caller: &Caller) -> Result<Attributes>;

    /// Takes a name from a file that is not a directory. Without names it lives until the last [`FileSystem::release`].
    fn unlink(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Gives a file another name instead of one that it has, in one step.
    fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), how: Rename, caller: &Caller) -> Result<()>;

    /// The file is in use, until [`FileSystem::release`] is called as often.
    fn open(&mut self, ino: Ino) -> Result<()>;

    /// One user less.
    fn release(&mut self, ino: Ino) -> Result<()>;

    /// Reads from `offset` on as much as there is, up to `out.len()` bytes; returns how many.
    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], caller: &Caller) -> Result<usize>;

    /// Writes all of `data` or as much as there is room for; an error if nothing could be written. Returns how many bytes.
    fn write(&mut self, ino: Ino, offset: u64, data: &[u8], caller: &Caller) -> Result<usize>;

    /// `fallocate`.
    fn allocate(&mut self, ino: Ino, how: Allocate, offset: u64, length: u64, caller: &Caller) -> Result<()>;

    /// The next data or hole at or after `offset`.
    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64>;

    /// What was written to the file survives a power cut.
    fn sync(&mut self, ino: Ino) -> Result<()>;

    /// Tells the entries of a directory from `from` on (0: all), until told to break.
    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// The value of an extended attribute.
    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>>;

    /// Sets an extended attribute.
    fn set_xattr(
        &mut self,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
        caller: &Caller,
    ) -> Result<()>;

    /// The names of all extended attributes.
    fn xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>>;

    /// Removes an extended attribute.
    fn remove_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// How full the file system is.
    fn statistics(&mut self) -> Result<Statistics>;
}
