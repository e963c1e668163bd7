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
/// Longest file, bytes: an inode points to 4 blocks directly, to 512 through one block of pointers, and so on up to
/// three deep.
pub const MAX_FILE_BYTES: u64 = (4 + 512 + 512 * 512 + 512 * 512 * 512) * BLOCK_BYTES as u64;
/// Longest name of an extended attribute, bytes.
pub const MAX_XATTR_NAME_BYTES: usize = 255;
/// Bytes that the extended attributes of a file may take together, each its name, its value and
/// [`XATTR_HEAD_BYTES`].
pub const MAX_XATTRS_BYTES: usize = 4080;
/// Bytes that an extended attribute takes besides its name and value.
pub const XATTR_HEAD_BYTES: usize = 8;
/// The extended attribute with the access control list that decides on access to a file.
pub const ACCESS_ACL: &[u8] = b"system.posix_acl_access";
/// The extended attribute of a directory with the list that files in it begin with.
pub const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";
/// An access is noted once in this time at least (relatime), ns.
pub const RELATIME_NS: i64 = 24 * 3600 * 1_000_000_000;

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
    /// EROFS: of a file as it was in a snapshot.
    #[error("a snapshot does not change")]
    ReadOnly,
    /// ESTALE: the snapshot is there no more.
    #[error("the snapshot was deleted")]
    Stale,
    /// ENODATA: no such extended attribute.
    #[error("no such attribute")]
    NoAttribute,
    /// ENXIO: no data or hole from here on.
    #[error("nothing from this offset on")]
    NothingThere,
    /// EOPNOTSUPP.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// Not refused: blocks of the SSD are to be read beside other requests, and then it is to be asked again. Only where waiting
    /// was allowed.
    #[error("blocks of the SSD are to be read first")]
    Wait,
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
    /// Reserves blocks for its holes: they read as zeros, and writing them needs no more room. Extends the file to its end unless
    /// `keep_size` (FALLOC_FL_KEEP_SIZE).
    Reserve {
        /// The file keeps its length.
        keep_size: bool,
    },
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
    /// Those of them that can be had: what leads to them needs room as well.
    pub available_blocks: u64,
    /// Inodes.
    pub inodes: u64,
    /// Those not in use that can be had: their names need room as well.
    pub free_inodes: u64,
}

/// A file system.
///
/// Every operation either happens or returns an error and changes nothing that can be seen, unless it says otherwise.
/// Where POSIX leaves a choice, these rules hold. [`crate::model`] is the same in code.
///
/// # Inodes and errors
///
/// An inode number that names no file is [`Error::NotFound`]. Where a directory is asked for, anything else is
/// [`Error::NotDirectory`], and a directory that was removed while open is [`Error::NotFound`]. Where a regular file
/// is asked for, a directory is [`Error::IsDirectory`] and anything else [`Error::Invalid`]. When several errors
/// apply, the first of these is returned: inode, directory, form of the name, [`Error::NotFound`] or
/// [`Error::Exists`] of the entry, its kind, limits and room.
///
/// # Names
///
/// 1 to [`MAX_NAME_BYTES`] bytes ([`Error::NameTooLong`]) other than 0 and `/` ([`Error::Invalid`], as is an empty
/// name). `.` and `..` can be looked up; the root is its own parent. To create them is [`Error::Exists`], to unlink
/// them [`Error::IsDirectory`], to remove `.` [`Error::Invalid`] and `..` [`Error::NotEmpty`], to rename from or to
/// them [`Error::Invalid`].
///
/// # Links
///
/// A directory has 2 links and one for each directory in it. Link counts end at [`MAX_LINKS`]
/// ([`Error::TooManyLinks`]), those of directories too. A file without links, and a removed directory, lives until
/// the last release; mounting releases everything.
///
/// # Blocks
///
/// A block of a file exists when any of its bytes was written (zeros count) or reserved; [`FileSystem::seek`] tells.
/// There are none beyond the end but those reserved with [`Allocate::Reserve`] that keeps the size; they count in
/// [`Attributes::blocks`], and stay when the file grows. Cutting a file, also to the size it has, frees the blocks wholly beyond its
/// end, and what was cut reads as zeros when the file grows again; growing makes holes. Punching and zeroing free the blocks that the range covers
/// wholly and write zeros into those blocks that exist and are covered in part.
/// [`Attributes::blocks`] and the size of a directory depend on the implementation.
///
/// # Times
///
/// A new file has all three times set, its directory the times of modification and change. Writing (not of 0 bytes),
/// setting the size (even to what it is) and allocating set modification and change; other changes of attributes
/// (not an empty [`Change`]) and of extended attributes set the change, and a time asked for wins over one implied.
/// Link, unlink, removal and rename set the change of the files that gain, lose or change a name, and modification
/// and change of the directories. Reading (not of 0 bytes, but at the end too) sets the access if that is not later
/// than modification or not later than change, or [`RELATIME_NS`] or more ago. Listing a directory and reading a
/// link set nothing.
///
/// # Access control lists
///
/// [`ACCESS_ACL`] of any file but a link ([`Error::Unsupported`]) and [`DEFAULT_ACL`] of a directory (else
/// [`Error::NotPermitted`]) are lists as Linux has them; another value is [`Error::Invalid`]. Setting the access list sets the permission bits to those
/// that it shows, as a group's those of the mask, if there is one; a list that the bits say all of is not kept. Setting the bits changes owner,
/// mask (or else owning group) and others of the list. A new file in a directory with a default list begins with it as its access list,
/// owner, mask and others limited to the permissions asked for, and a new directory has it as its default list, too. Removing a list leaves the
/// bits. Who may do what, by lists or bits, is the caller's business.
///
/// # Groups
///
/// In a directory that is set-group-id, new files get its group, and new directories the bit too.
pub trait FileSystem {
    /// The file called `name` in a directory.
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes>;

    /// What is known of a file.
    fn attributes(&mut self, ino: Ino) -> Result<Attributes>;

    /// Changes attributes, the length among them (regular files only; [`Error::TooLarge`] over [`MAX_FILE_BYTES`]).
    /// Permission bits over the 12 are ignored.
    fn set_attributes(&mut self, ino: Ino, change: &Change, caller: &Caller) -> Result<Attributes>;

    /// Makes a file that is neither a directory nor a link (else [`Error::Invalid`]); `device` matters for device files
    /// only.
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

    /// Makes a symbolic link with permissions 0o777. The target has 1 to [`MAX_LINK_TARGET_BYTES`] bytes
    /// ([`Error::NameTooLong`]), none of them 0 ([`Error::Invalid`], as is an empty one); its length is the link's size.
    fn symlink(&mut self, parent: Ino, name: &[u8], target: &[u8], caller: &Caller) -> Result<Attributes>;

    /// The target of a symbolic link; of anything else [`Error::Invalid`].
    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>>;

    /// Gives a file another name; not a directory ([`Error::NotPermitted`]), nor a file that has no name any more
    /// ([`Error::NotFound`]).
    fn link(&mut self, ino: Ino, parent: Ino, name: &[u8], caller: &Caller) -> Result<Attributes>;

    /// Takes a name from a file that is not a directory. Without names it lives until the last [`FileSystem::release`].
    fn unlink(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()>;

    /// Gives a file another name instead of one that it has, in one step.
    ///
    /// If both names are of one file, nothing happens. A directory replaces an empty directory only
    /// ([`Error::NotDirectory`], [`Error::NotEmpty`]), another file no directory ([`Error::IsDirectory`]). A directory
    /// does not move into itself or below ([`Error::Invalid`]). [`Rename::Exchange`] asks for both names
    /// ([`Error::NotFound`]) and takes any kinds.
    fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), how: Rename, caller: &Caller) -> Result<()>;

    /// The file is in use, until [`FileSystem::release`] is called as often.
    fn open(&mut self, ino: Ino) -> Result<()>;

    /// One user less; [`Error::Invalid`] if there is none.
    fn release(&mut self, ino: Ino) -> Result<()>;

    /// Reads from `offset` on as much as there is, up to `out.len()` bytes; returns how many.
    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], caller: &Caller) -> Result<usize>;

    /// Writes all of `data` or as much as there is room for, on the devices ([`Error::NoSpace`]) and below
    /// [`MAX_FILE_BYTES`] ([`Error::TooLarge`]); an error if nothing could be written. Returns how many bytes.
    fn write(&mut self, ino: Ino, offset: u64, data: &[u8], caller: &Caller) -> Result<usize>;

    /// `fallocate`. No bytes at all are [`Error::Invalid`], an end over [`MAX_FILE_BYTES`] is [`Error::TooLarge`].
    fn allocate(&mut self, ino: Ino, how: Allocate, offset: u64, length: u64, caller: &Caller) -> Result<()>;

    /// The next data or hole at or after `offset`; [`Error::NothingThere`] from the end of the file on, and where no data
    /// follows.
    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64>;

    /// What was written to the file survives a power cut.
    fn sync(&mut self, ino: Ino) -> Result<()>;

    /// Tells the entries of a directory from `from` on (0: all), until told to break. Entries that are there all the
    /// while are told once, whatever else comes and goes between calls.
    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// The value of an extended attribute ([`Error::NoAttribute`]).
    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>>;

    /// Sets an extended attribute of any file. Names have 1 to [`MAX_XATTR_NAME_BYTES`] bytes
    /// ([`Error::NameTooLong`]), none of them 0 ([`Error::Invalid`], as is an empty one); what exceeds
    /// [`MAX_XATTRS_BYTES`] is [`Error::NoSpace`].
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
