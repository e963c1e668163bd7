//! In-memory indexes of large directories: they speed up searches and do not change results.
//!
//! An index maps the hash of each name to the position of its entry, and holds the free space of each block. Results
//! are compared with the directory, so hashes may collide.

use super::directory::{self, FoundEntry, Slot};
use super::free_space::FreeSpaceTree;
use crate::api::{Ino, Result};
use crate::nvram::Nvram;
use crate::store::Region;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

/// Minimum number of blocks of an indexed directory; a smaller directory is searched just as fast without an index.
const MIN_BLOCKS: u32 = 2;
/// Seed of the hashes. It is a constant, so that equal runs use equal amounts of memory.
const SEED: u64 = 0x6e76_6d66_7321;

/// Index of a directory.
#[derive(Default)]
struct Index {
    /// Hash of each name, with the position of its entry.
    entries: HashTable<(u32, u32)>,
    free_space: FreeSpaceTree,
    /// Number of the first block that may be missing: all blocks before it exist.
    missing_from: u32,
    /// Logical time of the last use of the index.
    used: u64,
    /// Memory use of the index at the last measurement, in bytes.
    counted_bytes: usize,
}

fn hash_of(name: &[u8]) -> u32 {
    FixedState::with_seed(SEED).hash_one(name) as u32
}

/// Expands a stored 32-bit hash to the 64 bits that the table expects.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Index {
    /// Builds the index of a directory; `None` if it would take more than `max_bytes`.
    fn build<N: Nvram>(region: &Region<N>, dir: Ino, max_bytes: usize) -> Result<Option<Index>> {
        let mut index = Index::default();
        let end = directory::blocks_of(region, dir)?;
        let mut next = 0;
        while let Some((block, page)) = directory::next_page(region, dir, next, end)? {
            for record in directory::records_of(region, dir, block, page) {
                let record = record?;
                if let Some((_, _, name)) = record.entry {
                    index.insert(name, directory::position(block, record.at));
                }
            }
            index.set_free_space(region, dir, block)?;
            if index.bytes() > max_bytes {
                return Ok(None);
            }
            next = block + 1;
        }
        Ok(Some(index))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.entries.allocation_size() + self.free_space.bytes()
    }

    fn insert(&mut self, name: &[u8], position: u32) {
        let hash = hash_of(name);
        self.entries.insert_unique(spread(hash), (hash, position), |(hash, _)| spread(*hash));
    }

    fn remove(&mut self, name: &[u8], position: u32) {
        let hash = hash_of(name);
        if let Ok(entry) = self.entries.find_entry(spread(hash), |entry| *entry == (hash, position)) {
            entry.remove();
        }
    }

    fn set_free_space<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, block: u32) -> Result<()> {
        let largest = directory::largest_free(region, dir, block)?;
        self.free_space.set(block as usize, largest);
        Ok(())
    }

    /// Finds a name. If a damaged directory has several entries with this name, returns the first one.
    fn find<N: Nvram>(&self, region: &Region<N>, dir: Ino, name: &[u8]) -> Result<Option<FoundEntry>> {
        let hash = hash_of(name);
        let candidates = self.entries.iter_hash(spread(hash)).filter(|(other, _)| *other == hash);
        let mut found: Option<FoundEntry> = None;
        for (_, position) in candidates {
            let entry = directory::entry_at(region, dir, *position, name)?;
            found = match (found, entry) {
                (Some(one), Some(other)) if one.position < other.position => Some(one),
                (one, other) => other.or(one),
            };
        }
        Ok(found)
    }

    fn slot<N: Nvram>(&self, region: &Region<N>, dir: Ino, bytes: usize) -> Result<Option<Slot>> {
        match self.free_space.first(bytes as u16) {
            Some(block) => directory::slot_in(region, dir, block as u32, bytes),
            None => Ok(None),
        }
    }
}

/// Indexes of all directories, within a memory limit.
pub(crate) struct Indexes {
    indexes: BTreeMap<Ino, Index>,
    /// Directories, sorted by the time of the last use of their index.
    by_use: BTreeMap<u64, Ino>,
    /// Directories that are searched linearly, because they are damaged or their index alone would exceed the limit.
    unindexed: BTreeSet<Ino>,
    max_bytes: usize,
    bytes: usize,
    clock: u64,
}

impl Indexes {
    /// Creates an empty set of indexes.
    pub fn new(max_bytes: usize) -> Self {
        Indexes {
            indexes: BTreeMap::new(),
            by_use: BTreeMap::new(),
            unindexed: BTreeSet::new(),
            max_bytes,
            bytes: 0,
            clock: 0,
        }
    }

    /// Finds the entry of a name.
    pub fn find<N: Nvram>(
        &mut self,
        region: &Region<N>,
        dir: Ino,
        name: &[u8],
    ) -> Result<Option<FoundEntry>> {
        match self.index(region, dir)? {
            Some(index) => index.find(region, dir, name),
            None => directory::find(region, dir, name),
        }
    }

    /// Returns the first free record of at least `bytes` bytes.
    pub fn slot<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, bytes: usize) -> Result<Option<Slot>> {
        match self.index(region, dir)? {
            Some(index) => index.slot(region, dir, bytes),
            None => directory::find_slot(region, dir, bytes),
        }
    }

    /// Returns the first missing block of a directory, or the block after the last.
    pub fn first_missing<N: Nvram>(&mut self, region: &Region<N>, dir: Ino) -> Result<u32> {
        let end = directory::blocks_of(region, dir)?;
        let from = self.indexes.get(&dir).map_or(0, |index| index.missing_from.min(end));
        let found = region.next_block(dir, from.into(), end.into(), false)?.map_or(end, |block| block as u32);
        if let Some(index) = self.indexes.get_mut(&dir) {
            index.missing_from = found;
        }
        Ok(found)
    }

    /// Updates the index after a name was added at a position.
    pub fn note_added<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, name: &[u8], position: u32) {
        self.update(region, dir, position, |index| index.insert(name, position));
    }

    /// Updates the index after the name at a position was removed, possibly with its block.
    pub fn note_removed<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, name: &[u8], position: u32) {
        self.update(region, dir, position, |index| {
            index.remove(name, position);
            let block = directory::block_of(position);
            if !matches!(directory::page_of(region, dir, block), Ok(Some(_))) {
                index.missing_from = index.missing_from.min(block);
            }
        });
    }

    /// Drops the index of a directory that was removed, or changed other than by adding or removing a name.
    pub fn forget(&mut self, dir: Ino) {
        self.drop_index(dir);
        self.unindexed.remove(&dir);
    }

    fn update<N: Nvram>(
        &mut self,
        region: &Region<N>,
        dir: Ino,
        position: u32,
        change: impl FnOnce(&mut Index),
    ) {
        let Some(index) = self.indexes.get_mut(&dir) else { return };
        change(index);
        // An index that cannot be updated is dropped.
        match index.set_free_space(region, dir, directory::block_of(position)) {
            Ok(()) => self.count(dir),
            Err(_) => self.drop_index(dir),
        }
    }

    /// Returns the index of a directory, building it if necessary; `None` if the directory is searched
    /// linearly.
    fn index<N: Nvram>(&mut self, region: &Region<N>, dir: Ino) -> Result<Option<&Index>> {
        if !self.indexes.contains_key(&dir) {
            if directory::blocks_of(region, dir)? < MIN_BLOCKS || self.unindexed.contains(&dir) {
                return Ok(None);
            }
            // If a directory is damaged, a linear search still finds entries before the damage.
            match Index::build(region, dir, self.max_bytes) {
                Ok(Some(index)) => drop(self.indexes.insert(dir, index)),
                _ => {
                    self.unindexed.insert(dir);
                    return Ok(None);
                }
            }
        }
        self.clock += 1;
        let index = self.indexes.get_mut(&dir).expect("it is there or was built");
        self.by_use.remove(&index.used);
        self.by_use.insert(self.clock, dir);
        index.used = self.clock;
        self.count(dir);
        Ok(self.indexes.get(&dir))
    }

    /// Updates the memory use of an index, and drops least recently used indexes until the remaining ones fit.
    fn count(&mut self, dir: Ino) {
        let Some(index) = self.indexes.get_mut(&dir) else { return };
        let bytes = index.bytes();
        self.bytes = self.bytes - index.counted_bytes + bytes;
        index.counted_bytes = bytes;
        if bytes > self.max_bytes {
            self.drop_index(dir);
            self.unindexed.insert(dir);
        }
        while self.bytes > self.max_bytes {
            let (_, oldest) = self.by_use.pop_first().expect("bytes are of indexes");
            self.drop_index(oldest);
        }
    }

    fn drop_index(&mut self, dir: Ino) {
        if let Some(index) = self.indexes.remove(&dir) {
            self.by_use.remove(&index.used);
            self.bytes -= index.counted_bytes;
        }
    }

    #[cfg(test)]
    pub fn state(&self) -> (usize, usize, usize) {
        (self.indexes.len(), self.unindexed.len(), self.bytes)
    }
}
