//! Script of operations that covers every type of operation and all background activity.

use crate::common::content;
use wearwell_nvmfs::api::{
    ACCESS_ACL, Allocate, BLOCK_BYTES, Caller, Change, DEFAULT_ACL, FileSystem, Ino, Kind, ROOT, Rename,
    Result, SetXattr,
};

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Runs steps on a file system; files are identified by paths.
pub struct Player<'a> {
    pub fs: &'a mut dyn FileSystem,
    pub caller: Caller,
}

/// Step: a preparation, and an act during which the power is cut.
pub struct Step {
    pub name: &'static str,
    pub prepare: fn(&mut Player<'_>) -> Result<()>,
    pub act: fn(&mut Player<'_>) -> Result<()>,
    /// True if the act may be found partly complete.
    pub is_write: bool,
}

impl Player<'_> {
    fn file(&mut self, path: &str) -> Result<Ino> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(ROOT, |at, name| Ok(self.fs.lookup(at, name.as_bytes())?.ino))
    }

    fn parent_and_name<'p>(&mut self, path: &'p str) -> Result<(Ino, &'p [u8])> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.file(parent)?, name.as_bytes()))
    }

    pub fn create(&mut self, path: &str, kind: Kind) -> Result<()> {
        let (parent, name) = self.parent_and_name(path)?;
        self.fs.create(parent, name, kind, 0o644, 5, &self.caller).map(|_| ())
    }

    fn make_directory(&mut self, path: &str) -> Result<()> {
        let (parent, name) = self.parent_and_name(path)?;
        self.fs.make_directory(parent, name, 0o755, &self.caller).map(|_| ())
    }

    fn symlink(&mut self, path: &str, length: usize) -> Result<()> {
        let (parent, name) = self.parent_and_name(path)?;
        self.fs.symlink(parent, name, &vec![b't'; length], &self.caller).map(|_| ())
    }

    fn link(&mut self, path: &str, new: &str) -> Result<()> {
        let ino = self.file(path)?;
        let (parent, name) = self.parent_and_name(new)?;
        self.fs.link(ino, parent, name, &self.caller).map(|_| ())
    }

    pub fn unlink(&mut self, path: &str) -> Result<()> {
        let (parent, name) = self.parent_and_name(path)?;
        self.fs.unlink(parent, name, &self.caller)
    }

    fn remove_directory(&mut self, path: &str) -> Result<()> {
        let (parent, name) = self.parent_and_name(path)?;
        self.fs.remove_directory(parent, name, &self.caller)
    }

    fn rename(&mut self, from: &str, to: &str, how: Rename) -> Result<()> {
        let (from, to) = (self.parent_and_name(from)?, self.parent_and_name(to)?);
        self.fs.rename(from, to, how, &self.caller)
    }

    /// Creates files with long names, 19 of which fit into a block.
    fn make_many(&mut self, numbers: std::ops::Range<u32>) -> Result<()> {
        numbers.into_iter().try_for_each(|number| self.create(&format!("f/{number:0>200}"), Kind::Socket))
    }

    fn remove_many(&mut self, numbers: std::ops::Range<u32>) -> Result<()> {
        numbers.into_iter().try_for_each(|number| self.unlink(&format!("f/{number:0>200}")))
    }

    /// Overwrites part of every second block, one block at a time.
    fn scatter(&mut self, path: &str, blocks: u64) -> Result<()> {
        (0..blocks).step_by(2).try_for_each(|block| self.write(path, block * BLOCK, 100, 77))
    }

    pub fn write(&mut self, path: &str, offset: u64, length: usize, seed: u8) -> Result<()> {
        let ino = self.file(path)?;
        let written = self.fs.write(ino, offset, &content(seed, length), &self.caller)?;
        assert_eq!(written, length, "there is room");
        Ok(())
    }

    fn read(&mut self, path: &str, offset: u64, length: usize) -> Result<()> {
        let ino = self.file(path)?;
        self.fs.read(ino, offset, &mut vec![0; length], &self.caller).map(|_| ())
    }

    pub fn resize(&mut self, path: &str, size_bytes: u64) -> Result<()> {
        self.change(path, Change { size_bytes: Some(size_bytes), ..Change::default() })
    }

    fn change(&mut self, path: &str, change: Change) -> Result<()> {
        let ino = self.file(path)?;
        self.fs.set_attributes(ino, &change, &self.caller).map(|_| ())
    }

    fn allocate(&mut self, path: &str, how: Allocate, offset: u64, length: u64) -> Result<()> {
        let ino = self.file(path)?;
        self.fs.allocate(ino, how, offset, length, &self.caller)
    }

    fn set_acl(&mut self, path: &str, name: &[u8]) -> Result<()> {
        let ino = self.file(path)?;
        self.fs.set_xattr(ino, name, &acl(), SetXattr::Either, &self.caller)
    }

    fn set_xattr(&mut self, path: &str, name: &[u8], length: usize) -> Result<()> {
        let ino = self.file(path)?;
        self.fs.set_xattr(ino, name, &content(3, length), SetXattr::Either, &self.caller)
    }
}

/// Returns an ACL that is not equivalent to permission bits.
fn acl() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, 7, u32::MAX), (2, 6, 1000), (4, 5, u32::MAX), (16, 7, u32::MAX), (32, 1, u32::MAX)];
    let bytes = |(tag, rights, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2, 0, 0, 0].into_iter().chain(entries.into_iter().flat_map(bytes)).collect()
}

impl Step {
    const fn writes(self) -> Step {
        Step { is_write: true, ..self }
    }
}

const fn step(name: &'static str, act: fn(&mut Player<'_>) -> Result<()>) -> Step {
    Step { name, prepare: |_| Ok(()), act, is_write: false }
}

const fn write(name: &'static str, act: fn(&mut Player<'_>) -> Result<()>) -> Step {
    step(name, act).writes()
}

const fn step_after(
    name: &'static str,
    before: fn(&mut Player<'_>) -> Result<()>,
    act: fn(&mut Player<'_>) -> Result<()>,
) -> Step {
    Step { name, prepare: before, act, is_write: false }
}

/// Steps in order; each step starts from the state that the previous steps left.
pub const STEPS: &[Step] = &[
    step("make a file", |p| p.create("a", Kind::File)),
    write("write a new block", |p| p.write("a", 100, 3000, 1)),
    write("write in place", |p| p.write("a", 0, 4096, 2)),
    write("write behind a hole, through pointers", |p| p.write("a", 20 * BLOCK + 7, 9000, 3)),
    step("make a directory", |p| p.make_directory("d")),
    step("make a directory in one", |p| p.make_directory("d/e")),
    step("make a pipe", |p| p.create("d/pipe", Kind::Fifo)),
    step("make a device", |p| p.create("d/device", Kind::CharacterDevice)),
    step("a short link", |p| p.symlink("short", 10)),
    step("a long link", |p| p.symlink("long", 3000)),
    step("another name", |p| p.link("a", "d/also a")),
    step_after("write much", |p| p.create("large", Kind::File), |p| p.write("large", 0, 650 * 4096, 4))
        .writes(),
    write("write so much that extents are flushed", |p| p.write("large", 600 * BLOCK, 350 * 4096, 5)),
    step("read from the SSD, and keep it", |p| p.read("large", 0, 60 * 4096)),
    write("write to a page that is on the SSD too", |p| p.write("large", 10, 5000, 6)),
    write("write to blocks on the SSD", |p| p.write("large", 150 * BLOCK + 9, 9000, 7)),
    step_after(
        "flush, evict and recycle",
        |p| p.scatter("large", 550),
        |p| p.write("large", 600 * BLOCK, 100 * 4096, 8),
    )
    .writes(),
    step_after("recycle more", |p| p.scatter("large", 650), |p| p.write("large", 100 * BLOCK, 120 * 4096, 9))
        .writes(),
    step("read much, so that pages are evicted", |p| p.read("large", 0, 500 * 4096)),
    step("rename", |p| p.rename("a", "d/a", Rename::Keep)),
    step_after("rename over", |p| p.create("b", Kind::File), |p| p.rename("b", "d/a", Rename::Replace)),
    step("exchange", |p| p.rename("d/e", "short", Rename::Exchange)),
    step_after(
        "a directory to another",
        |p| p.make_directory("f"),
        |p| p.rename("short", "f/moved", Rename::Replace),
    ),
    step_after(
        "a directory over an empty one",
        |p| p.make_directory("g"),
        |p| p.rename("f/moved", "g", Rename::Replace),
    ),
    step("cut within a block", |p| p.resize("d/also a", 21 * BLOCK + 5)),
    step("grow", |p| p.resize("d/also a", 30 * BLOCK + 5)),
    step("cut much", |p| p.resize("large", 300 * BLOCK + 1)),
    write("punch", |p| p.allocate("large", Allocate::Punch, 3 * BLOCK + 9, 100 * BLOCK)),
    write("zero", |p| p.allocate("large", Allocate::Zero { keep_size: false }, 290 * BLOCK + 5, 20 * BLOCK)),
    write("reserve", |p| p.allocate("large", Allocate::Reserve { keep_size: false }, 50 * BLOCK, 30 * BLOCK)),
    write("reserve behind the end", |p| {
        p.allocate("large", Allocate::Reserve { keep_size: true }, 300 * BLOCK, 70 * BLOCK)
    }),
    write("write what is reserved behind the end", |p| p.write("large", 312 * BLOCK + 9, 9000, 10)),
    step("grow into what is reserved", |p| p.resize("large", 320 * BLOCK + 5)),
    write("reserve more behind the end, through pointers", |p| {
        p.allocate("large", Allocate::Reserve { keep_size: true }, 510 * BLOCK, 20 * BLOCK)
    }),
    write("punch what is reserved", |p| p.allocate("large", Allocate::Punch, 318 * BLOCK, 10 * BLOCK + 7)),
    step_after(
        "give back what is reserved behind the end",
        |p| p.write("large", 319 * BLOCK, 30 * 4096, 11),
        |p| p.resize("large", 349 * BLOCK),
    ),
    step_after(
        "cut what is reserved",
        |p| p.allocate("large", Allocate::Reserve { keep_size: true }, 300 * BLOCK, 70 * BLOCK),
        |p| p.resize("large", 310 * BLOCK + 5),
    ),
    step_after(
        "remove a file with blocks reserved",
        |p| {
            p.create("reserved", Kind::File)?;
            p.allocate("reserved", Allocate::Reserve { keep_size: true }, 0, 30 * BLOCK)
        },
        |p| p.unlink("reserved"),
    ),
    step("set an attribute", |p| p.set_xattr("large", b"one", 100)),
    step("replace an attribute", |p| p.set_xattr("large", b"one", 2000)),
    step("remove an attribute", |p| {
        let ino = p.file("large")?;
        p.fs.remove_xattr(ino, b"one", &p.caller)
    }),
    step("set a list of access", |p| p.set_acl("large", ACCESS_ACL)),
    step("permissions that change the list", |p| {
        p.change("large", Change { permissions: Some(0o4640), ..Change::default() })
    }),
    step_after(
        "set a list for new files",
        |p| p.make_directory("lists"),
        |p| p.set_acl("lists", DEFAULT_ACL),
    ),
    step("a file that begins with a list", |p| p.create("lists/file", Kind::File)),
    step("a directory that begins with lists", |p| p.make_directory("lists/below")),
    step("permissions and times", |p| {
        let change = Change { permissions: Some(0o4711), modified_ns: Some(-5), ..Change::default() };
        p.change("large", change)
    }),
    step_after(
        "release a file without a name",
        |p| {
            let ino = p.file("d/also a")?;
            p.fs.open(ino)?;
            p.unlink("d/also a")
        },
        // Only one file is open; its inode number is unknown.
        |p| (1..255).map(Ino).try_for_each(|ino| p.fs.release(ino).or(Ok(()))),
    ),
    step_after("remove a large file", |p| p.set_xattr("large", b"two", 9), |p| p.unlink("large")),
    step("remove a long link", |p| p.unlink("long")),
    step_after("a directory grows", |p| p.make_many(0..19), |p| p.make_many(19..20)),
    step_after("a directory gets pointers", |p| p.make_many(20..76), |p| p.make_many(76..77)),
    step_after(
        "a directory loses a block in the middle",
        |p| p.remove_many(19..37),
        |p| p.remove_many(37..38),
    ),
    step_after("a directory gets it back", |p| p.create("f/x", Kind::Fifo), |p| p.make_many(19..20)),
    step_after(
        "a directory loses its last block and its pointers",
        |p| p.remove_many(19..20),
        |p| p.remove_many(76..77),
    ),
    step_after(
        "a directory is shorter by more than a block",
        |p| p.remove_many(38..75),
        |p| p.remove_many(75..76),
    ),
    step_after(
        "a name leaves a block for another",
        |p| p.make_many(80..81).and_then(|()| p.remove_many(1..19)),
        |p| p.rename(&format!("f/{:0>200}", 80), "f/y", Rename::Keep),
    ),
    step_after(
        "a directory is emptied",
        |p| p.make_directory("i").and_then(|()| p.remove_many(0..1)).and_then(|()| p.unlink("f/y")),
        |p| p.rename("f/x", "i/x", Rename::Replace),
    ),
    step_after("remove a directory", |p| p.make_directory("h"), |p| p.remove_directory("h")),
];
