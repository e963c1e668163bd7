//! Everything visible in a file system.

use crate::common::{comparable, list};
use std::collections::BTreeMap;
use wearwell_nvmfs::api::{Attributes, BLOCK_BYTES, Caller, Error, FileSystem, Ino, Kind, ROOT, Seek};

const BLOCK: u64 = BLOCK_BYTES as u64;

/// File, described without inode numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub path: Vec<u8>,
    pub attributes: Attributes,
    pub atomic: AtomicContent,
    /// Existing blocks of a regular file; bytes beyond the end are zero.
    pub blocks: BTreeMap<u64, Vec<u8>>,
}

/// Part of a file that changes atomically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicContent {
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub target: Option<Vec<u8>>,
    /// Entries of a directory, as indexes into the tree.
    pub entries: BTreeMap<Vec<u8>, usize>,
}

/// All files, in the order in which a walk through the names in order first reaches them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
    /// Number of data blocks in use that are not visible, because they are reserved beyond the ends of files.
    pub invisible_blocks: u64,
}

struct Walk<'a> {
    fs: &'a mut dyn FileSystem,
    visited: BTreeMap<Ino, usize>,
    tree: Tree,
}

impl Tree {
    /// Reads everything. Reading updates access times in the file system, but the tree has the earlier access times.
    pub fn read(fs: &mut dyn FileSystem) -> Result<Tree, String> {
        let mut walk = Walk { fs, visited: BTreeMap::new(), tree: Tree::default() };
        walk.file(ROOT, ROOT, b"/").map_err(|error| error.to_string())?;
        let statistics = walk.fs.statistics().map_err(|error| error.to_string())?;
        let used = statistics.blocks - statistics.free_blocks;
        let visible_blocks = walk.tree.blocks();
        walk.tree.invisible_blocks = used
            .checked_sub(visible_blocks)
            .ok_or(format!("{used} blocks are said to be in use, and {visible_blocks} are"))?;
        Ok(walk.tree)
    }

    /// Returns the number of data blocks.
    pub fn blocks(&self) -> u64 {
        self.nodes.iter().map(|node| node.blocks.len() as u64).sum()
    }
}

impl Walk<'_> {
    fn file(&mut self, ino: Ino, parent: Ino, path: &[u8]) -> Result<usize, Error> {
        if let Some(&at) = self.visited.get(&ino) {
            return Ok(at);
        }
        let attributes = self.fs.attributes(ino)?;
        let at = self.tree.nodes.len();
        self.visited.insert(ino, at);
        let mut xattrs = BTreeMap::new();
        for name in self.fs.xattrs(ino)? {
            let value = self.fs.xattr(ino, &name)?;
            xattrs.insert(name, value);
        }
        let target = if attributes.kind == Kind::Symlink { Some(self.fs.read_link(ino)?) } else { None };
        let rest = AtomicContent { xattrs, target, entries: BTreeMap::new() };
        let blocks = match attributes.kind {
            Kind::File => self.blocks(ino, attributes.size_bytes)?,
            _ => BTreeMap::new(),
        };
        self.tree.nodes.push(Node {
            path: path.to_vec(),
            attributes: comparable(&attributes),
            atomic: rest,
            blocks,
        });
        if attributes.kind == Kind::Directory {
            self.tree.nodes[at].atomic.entries = self.entries(ino, parent, path)?;
        }
        Ok(at)
    }

    fn entries(&mut self, ino: Ino, parent: Ino, path: &[u8]) -> Result<BTreeMap<Vec<u8>, usize>, Error> {
        let mut entries = BTreeMap::new();
        for (name, (child, kind)) in list(self.fs, ino)? {
            let looked_up = self.fs.lookup(ino, &name)?;
            let is_right = looked_up.ino == child && looked_up.kind == kind;
            let dots = match &name[..] {
                b"." => Some(ino),
                b".." => Some(parent),
                _ => None,
            };
            if !is_right || dots.is_some_and(|dots| dots != child) {
                let what = format!("{} {} leads elsewhere", path.escape_ascii(), name.escape_ascii());
                return Err(Error::Damaged(what));
            }
            if dots.is_none() {
                let at = self.file(child, ino, &[path, &name, b"/"].concat())?;
                entries.insert(name, at);
            }
        }
        Ok(entries)
    }

    fn blocks(&mut self, ino: Ino, size_bytes: u64) -> Result<BTreeMap<u64, Vec<u8>>, Error> {
        let mut blocks = BTreeMap::new();
        let mut at = 0;
        let caller = Caller::default();
        while at < size_bytes {
            let start = match self.fs.seek(ino, at, Seek::Data) {
                Err(Error::NoDataOrHole) => break,
                start => start?,
            };
            let end = self.fs.seek(ino, start, Seek::Hole)?;
            let first = start / BLOCK * BLOCK;
            let mut content = vec![0; (end.next_multiple_of(BLOCK) - first) as usize];
            self.fs.read(ino, first, &mut content, &caller)?;
            for (block, content) in (first / BLOCK..).zip(content.chunks(BLOCK_BYTES)) {
                blocks.insert(block, content.to_vec());
            }
            at = end;
        }
        Ok(blocks)
    }
}
