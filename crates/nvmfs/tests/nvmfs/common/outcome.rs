//! Visible outcome of an operation.

use super::op::{Attribute, Op, Position};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use wearwell_nvmfs::api::{
    ACCESS_ACL, Attributes, Caller, Change, DEFAULT_ACL, Error, FileSystem, Ino, Kind, MAX_FILE_BYTES, Result,
};

/// Visible part of an operation's result. Inode numbers are returned separately; implementation-dependent
/// values are omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Attributes without the inode number, generation, blocks, and the size of directories.
    Attributes(Attributes),
    Bytes(Vec<u8>),
    Number(u64),
    /// Sorted names.
    Names(Vec<(Vec<u8>, Option<Kind>)>),
    /// Name of the error.
    Refused(&'static str),
}

/// Files to which the numbers in operations refer. Operations mostly, but not always, get files of a suitable type.
#[derive(Clone, Debug)]
pub struct Files {
    pub all: Vec<Ino>,
    pub directories: Vec<Ino>,
    pub regular: Vec<Ino>,
    pub open: Vec<Ino>,
}

impl Files {
    /// Of this many numbers, one refers to a file of any type and not to a file of a suitable type.
    const ANY: usize = 32;

    pub fn any(&self, number: usize) -> Ino {
        self.all[number % self.all.len()]
    }

    fn pick(&self, suitable: &[Ino], number: usize) -> Ino {
        if suitable.is_empty() || number % Self::ANY == 1 {
            return self.any(number / Self::ANY);
        }
        suitable[number / Self::ANY % suitable.len()]
    }

    fn directory(&self, number: usize) -> Ino {
        self.pick(&self.directories, number)
    }

    fn regular(&self, number: usize) -> Ino {
        self.pick(&self.regular, number)
    }

    pub fn open(&self, number: usize) -> Ino {
        self.pick(&self.open, number)
    }
}

/// Returns the attributes without the fields that depend on the implementation.
pub fn comparable(attributes: &Attributes) -> Attributes {
    let is_directory = attributes.kind == Kind::Directory;
    let size_bytes = if is_directory { 0 } else { attributes.size_bytes };
    Attributes { ino: Ino(0), generation: 0, blocks: 0, size_bytes, ..attributes.clone() }
}

/// Returns the name of an error.
pub fn error_name(error: &Error) -> &'static str {
    match error {
        Error::NotFound => "NotFound",
        Error::Exists => "Exists",
        Error::NotDirectory => "NotDirectory",
        Error::IsDirectory => "IsDirectory",
        Error::NotEmpty => "NotEmpty",
        Error::NoSpace(_) => "NoSpace",
        Error::NameTooLong => "NameTooLong",
        Error::Invalid(_) => "Invalid",
        Error::TooManyLinks => "TooManyLinks",
        Error::TooLarge => "TooLarge",
        Error::NotPermitted(_) => "NotPermitted",
        Error::NoAttribute => "NoAttribute",
        Error::NoDataOrHole => "NoDataOrHole",
        Error::Unsupported(_) => "Unsupported",
        Error::ReadOnly => "ReadOnly",
        Error::Stale => "Stale",
        Error::Wait => "Wait",
        Error::Damaged(_) => "Damaged",
        Error::Ssd(_) => "Ssd",
    }
}

/// Returns a name for an entry: one of a few simple names, or a special name.
pub fn name(number: usize) -> Vec<u8> {
    match number {
        0..34 => vec![b'a' + (number % 6) as u8],
        34 => vec![0xff, 0x80, b'\n'],
        35 => vec![b'n'; 255],
        36 => vec![b'n'; 256],
        37 => b".".to_vec(),
        38 => b"..".to_vec(),
        _ => b"x/y".to_vec(),
    }
}

/// Returns a name for an extended attribute, including those of ACLs.
fn xattr_name(number: usize) -> Vec<u8> {
    match number {
        20..28 => ACCESS_ACL.to_vec(),
        28..34 => DEFAULT_ACL.to_vec(),
        _ => name(number),
    }
}

/// Returns a value for an attribute; most values for ACL attributes are ACLs.
fn xattr_content(number: usize, seed: u8, length: usize) -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    if !(20..34).contains(&number) || seed.is_multiple_of(16) {
        return content(seed, length);
    }
    let right = |shift: u32| u32::from(seed).rotate_right(shift) & 7;
    let mut entries = vec![(1, right(0), NOBODY)];
    entries.extend((0..length as u32 % 4).map(|id| (2, right(id), id)));
    entries.push((4, right(1), NOBODY));
    entries.extend((0..u32::from(seed) % 3).map(|id| (8, right(id), 100 + id)));
    // Some ACLs are invalid without a mask.
    entries.extend((!seed.is_multiple_of(5)).then_some((16, right(2), NOBODY)));
    entries.push((32, right(3), NOBODY));
    let bytes =
        |(tag, rights, id): (u32, u32, u32)| [(tag | rights << 16).to_le_bytes(), id.to_le_bytes()].concat();
    [2, 0, 0, 0].into_iter().chain(entries.into_iter().flat_map(bytes)).collect()
}

/// Returns bytes that depend on `seed` and offset.
pub fn content(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| if seed == 0 { 0 } else { seed.wrapping_add((at % 251) as u8) }).collect()
}

/// Lists a directory, a few entries per call; a duplicate entry is an error.
pub fn list(fs: &mut dyn FileSystem, ino: Ino) -> Result<BTreeMap<Vec<u8>, (Ino, Kind)>> {
    const ENTRIES_PER_CALL: usize = 5;
    let mut found = BTreeMap::new();
    let mut from = 0;
    loop {
        let mut listed = 0;
        fs.read_directory(ino, from, &mut |entry| {
            let former = found.insert(entry.name.to_vec(), (entry.ino, entry.kind));
            assert!(former.is_none(), "a name is told twice: {:?}", entry.name);
            from = entry.next;
            listed += 1;
            if listed == ENTRIES_PER_CALL { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if listed < ENTRIES_PER_CALL {
            return Ok(found);
        }
    }
}

/// Runs an operation; `files` maps the numbers in the operation to inodes. If the result refers to a file, its inode
/// is returned, too.
pub fn run(fs: &mut dyn FileSystem, op: &Op, files: &Files, caller: &Caller) -> (Outcome, Option<Ino>) {
    let mut new_ino = None;
    let outcome = attempt(fs, op, files, caller, &mut new_ino).unwrap_or_else(|error| {
        if let Error::Damaged(what) = &error {
            panic!("{op:?}: damaged: {what}");
        }
        Outcome::Refused(error_name(&error))
    });
    (outcome, new_ino)
}

/// Runs an operation without evaluating errors, which the caller does.
pub fn attempt(
    fs: &mut dyn FileSystem,
    op: &Op,
    files: &Files,
    caller: &Caller,
    new_ino: &mut Option<Ino>,
) -> Result<Outcome> {
    let attributes = match *op {
        Op::Lookup { at, name: n } => fs.lookup(files.directory(at), &name(n))?,
        Op::Attributes { file } => fs.attributes(files.any(file))?,
        Op::Change { file, attribute } => fs.set_attributes(files.any(file), &change(attribute), caller)?,
        Op::Resize { file, to } => {
            let size_bytes = Some(at(fs, files.regular(file), to)?);
            fs.set_attributes(files.regular(file), &Change { size_bytes, ..Change::default() }, caller)?
        }
        Op::Make { at, name: n, kind, permissions } => {
            fs.create(files.directory(at), &name(n), kind, permissions, 0x1234, caller)?
        }
        Op::MakeDirectory { at, name: n, permissions } => {
            fs.make_directory(files.directory(at), &name(n), permissions, caller)?
        }
        Op::Symlink { at, name: n, length } => {
            fs.symlink(files.directory(at), &name(n), &content(n as u8 + 1, length % 4100), caller)?
        }
        Op::Link { file, at, name: n } => fs.link(files.any(file), files.directory(at), &name(n), caller)?,
        _ => return run_content(fs, op, files, caller),
    };
    *new_ino = Some(attributes.ino);
    Ok(Outcome::Attributes(comparable(&attributes)))
}

/// Runs operations whose results refer to no file.
fn run_content(fs: &mut dyn FileSystem, op: &Op, files: &Files, caller: &Caller) -> Result<Outcome> {
    match *op {
        Op::ReadLink { file } => return fs.read_link(files.any(file)).map(Outcome::Bytes),
        Op::Unlink { at, name: n } => fs.unlink(files.directory(at), &name(n), caller)?,
        Op::RemoveDirectory { at, name: n } => fs.remove_directory(files.directory(at), &name(n), caller)?,
        Op::Rename { from, to, how } => {
            fs.rename(
                (files.directory(from.0), &name(from.1)),
                (files.directory(to.0), &name(to.1)),
                how,
                caller,
            )?;
        }
        Op::Open { file } => fs.open(files.any(file))?,
        Op::Release { file } => fs.release(files.open(file))?,
        Op::Sync { file } => fs.sync(files.any(file))?,
        Op::Allocate { file, how, from, length } => {
            let from = at(fs, files.regular(file), from)?;
            fs.allocate(files.regular(file), how, from, length, caller)?;
        }
        Op::Read { file, from, length } => {
            let from = at(fs, files.regular(file), from)?;
            // The buffer is not zeros, so that bytes which the read does not set are detected.
            let mut out = vec![0xa5; length];
            let count = fs.read(files.regular(file), from, &mut out, caller)?;
            out.truncate(count);
            return Ok(Outcome::Bytes(out));
        }
        Op::Write { file, from, length, seed } => {
            let from = at(fs, files.regular(file), from)?;
            let count = fs.write(files.regular(file), from, &content(seed, length), caller)?;
            return Ok(Outcome::Number(count as u64));
        }
        Op::Seek { file, from, what } => {
            let from = at(fs, files.regular(file), from)?;
            return fs.seek(files.regular(file), from, what).map(Outcome::Number);
        }
        Op::List { file } => {
            let names =
                list(fs, files.directory(file))?.into_iter().map(|(name, (_, kind))| (name, Some(kind)));
            return Ok(Outcome::Names(names.collect()));
        }
        Op::Xattr { file, name: n } => return fs.xattr(files.any(file), &xattr_name(n)).map(Outcome::Bytes),
        Op::SetXattr { file, name: n, length, seed, how } => {
            fs.set_xattr(files.any(file), &xattr_name(n), &xattr_content(n, seed, length), how, caller)?;
        }
        Op::Xattrs { file } => {
            let mut names: Vec<_> =
                fs.xattrs(files.any(file))?.into_iter().map(|name| (name, None)).collect();
            names.sort();
            return Ok(Outcome::Names(names));
        }
        Op::RemoveXattr { file, name: n } => fs.remove_xattr(files.any(file), &xattr_name(n), caller)?,
        _ => {}
    }
    Ok(Outcome::Done)
}

fn change(attribute: Attribute) -> Change {
    let mut change = Change::default();
    match attribute {
        Attribute::Permissions(bits) => change.permissions = Some(bits),
        Attribute::Owner(uid) => change.uid = Some(uid),
        Attribute::Group(gid) => change.gid = Some(gid),
        Attribute::Accessed(ns) => change.accessed_ns = Some(ns),
        Attribute::Modified(ns) => change.modified_ns = Some(ns),
        Attribute::Nothing => {}
    }
    change
}

/// Returns the offset of a position in a file; for other file types, any offset.
fn at(fs: &mut dyn FileSystem, ino: Ino, position: Position) -> Result<u64> {
    Ok(match position {
        Position::At(offset) => offset,
        Position::FromEnd(distance) => {
            let attributes = fs.attributes(ino)?;
            let is_file = attributes.kind == Kind::File;
            let end = if is_file { attributes.size_bytes } else { 0 };
            end.saturating_add_signed(distance).min(MAX_FILE_BYTES + 1)
        }
    })
}
