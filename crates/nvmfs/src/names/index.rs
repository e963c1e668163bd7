//! Indexes of large directories, in memory: they make searching fast and change no result.
//!
//! An index knows the position of each name by its hash, and how much room each block has. What it says is looked up in the
//! directory, so that hashes may collide.

use super::directory::{self, Found, Slot};
use super::room::Room;
use crate::api::{Ino, Result};
use crate::nvram::Nvram;
use crate::store::Region;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

/// Directories with fewer blocks are searched as fast without.
const FEWEST_BLOCKS: u32 = 2;
/// Seed of the hashes: any number, but always the same, so that equal runs take equal memory.
const SEED: u64 = 0x6e76_6d66_7321;

/// Index of a directory.
#[derive(Default)]
struct Index {
    /// Hash of a name and its position.
    entries: HashTable<(u32, u32)>,
    room: Room,
    /// No block before this one is missing.
    missing_from: u32,
    /// When it was used last.
    used: u64,
    /// Its size when it was last counted.
    counted_bytes: usize,
}

fn hash_of(name: &[u8]) -> u32 {
    FixedState::with_seed(SEED).hash_one(name) as u32
}

/// The hash that a table wants, of which only 32 bits are kept.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Index {
    /// Reads a directory; `None` if its index would take more than `most_bytes`.
    fn build<N: Nvram>(region: &Region<N>, dir: Ino, most_bytes: usize) -> Result<Option<Index>> {
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
            index.set_room(region, dir, block)?;
            if index.bytes() > most_bytes {
                return Ok(None);
            }
            next = block + 1;
        }
        Ok(Some(index))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.entries.allocation_size() + self.room.bytes()
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

    fn set_room<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, block: u32) -> Result<()> {
        let largest = directory::largest_free(region, dir, block)?;
        self.room.set(block as usize, largest);
        Ok(())
    }

    /// Of several entries of one name, which only a damaged directory has, the first.
    fn find<N: Nvram>(&self, region: &Region<N>, dir: Ino, name: &[u8]) -> Result<Option<Found>> {
        let hash = hash_of(name);
        let candidates = self.entries.iter_hash(spread(hash)).filter(|(other, _)| *other == hash);
        let mut found: Option<Found> = None;
        for (_, position) in candidates {
            let here = directory::entry_at(region, dir, *position, name)?;
            found = match (found, here) {
                (Some(one), Some(other)) if one.position < other.position => Some(one),
                (one, other) => other.or(one),
            };
        }
        Ok(found)
    }

    fn slot<N: Nvram>(&self, region: &Region<N>, dir: Ino, bytes: usize) -> Result<Option<Slot>> {
        match self.room.first(bytes as u16) {
            Some(block) => directory::slot_in(region, dir, block as u32, bytes),
            None => Ok(None),
        }
    }
}

/// The indexes of all directories, within a bound of memory.
pub(crate) struct Indexes {
    indexes: BTreeMap<Ino, Index>,
    /// Directories by when their index was used last.
    by_use: BTreeMap<u64, Ino>,
    /// Directories whose index alone would take too much, or that are damaged: they are searched from front to back.
    without: BTreeSet<Ino>,
    most_bytes: usize,
    bytes: usize,
    clock: u64,
}

impl Indexes {
    /// No index yet.
    pub fn new(most_bytes: usize) -> Self {
        Indexes {
            indexes: BTreeMap::new(),
            by_use: BTreeMap::new(),
            without: BTreeSet::new(),
            most_bytes,
            bytes: 0,
            clock: 0,
        }
    }

    /// The entry of a name.
    pub fn find<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, name: &[u8]) -> Result<Option<Found>> {
        match self.index(region, dir)? {
            Some(index) => index.find(region, dir, name),
            None => directory::find(region, dir, name),
        }
    }

    /// The first free record of at least so many bytes.
    pub fn slot<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, bytes: usize) -> Result<Option<Slot>> {
        match self.index(region, dir)? {
            Some(index) => index.slot(region, dir, bytes),
            None => directory::find_slot(region, dir, bytes),
        }
    }

    /// The first block of a directory that is missing, or the one after the last.
    pub fn first_missing<N: Nvram>(&mut self, region: &Region<N>, dir: Ino) -> Result<u32> {
        let end = directory::blocks_of(region, dir)?;
        let from = self.indexes.get(&dir).map_or(0, |index| index.missing_from.min(end));
        let found = region.next_block(dir, from.into(), end.into(), false)?.map_or(end, |block| block as u32);
        if let Some(index) = self.indexes.get_mut(&dir) {
            index.missing_from = found;
        }
        Ok(found)
    }

    /// A name was entered at a position.
    pub fn entered<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, name: &[u8], position: u32) {
        self.update(region, dir, position, |index| index.insert(name, position));
    }

    /// The name at a position was removed, perhaps with its block.
    pub fn removed<N: Nvram>(&mut self, region: &Region<N>, dir: Ino, name: &[u8], position: u32) {
        self.update(region, dir, position, |index| {
            index.remove(name, position);
            let block = directory::block_of(position);
            if !matches!(directory::page_of(region, dir, block), Ok(Some(_))) {
                index.missing_from = index.missing_from.min(block);
            }
        });
    }

    /// A directory is gone, or was changed otherwise.
    pub fn forget(&mut self, dir: Ino) {
        self.drop_index(dir);
        self.without.remove(&dir);
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
        // An index that cannot be kept right is not kept.
        match index.set_room(region, dir, directory::block_of(position)) {
            Ok(()) => self.count(dir),
            Err(_) => self.drop_index(dir),
        }
    }

    /// The index of a directory, built if there is none; `None` if it is to be searched without.
    fn index<N: Nvram>(&mut self, region: &Region<N>, dir: Ino) -> Result<Option<&Index>> {
        if !self.indexes.contains_key(&dir) {
            if directory::blocks_of(region, dir)? < FEWEST_BLOCKS || self.without.contains(&dir) {
                return Ok(None);
            }
            // In a damaged directory what comes before the damage can be found without an index.
            match Index::build(region, dir, self.most_bytes) {
                Ok(Some(index)) => drop(self.indexes.insert(dir, index)),
                _ => {
                    self.without.insert(dir);
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

    /// Counts the bytes of an index anew, and drops least recently used ones until all fit.
    fn count(&mut self, dir: Ino) {
        let Some(index) = self.indexes.get_mut(&dir) else { return };
        let bytes = index.bytes();
        self.bytes = self.bytes - index.counted_bytes + bytes;
        index.counted_bytes = bytes;
        if bytes > self.most_bytes {
            self.drop_index(dir);
            self.without.insert(dir);
        }
        while self.bytes > self.most_bytes {
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
        (self.indexes.len(), self.without.len(), self.bytes)
    }
}
