//! Names: directories and the inodes to which their entries refer (section III-E).
//!
//! `Names` is the in-memory state. An operation looks up locations in this state, collects its changes in
//! [`Changes`], applies the changes atomically, and then updates the state.

pub mod check;
pub(crate) mod directory;
mod free_space;
mod index;
mod inodes;
mod number_set;
pub(crate) mod record;

pub(crate) use directory::{FoundEntry, is_empty, list, list_pages};
pub(crate) use inodes::Inodes;

use crate::api::{BLOCK_BYTES, Entry, Error, Ino, Kind, MAX_NAME_BYTES, Result};
use crate::layout::{BlockLocation, DIRECT, MAX_DIRECTORY_BLOCKS, POINTERS, PageId};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Changes, Region, Store};
use directory::Slot;
use index::Indexes;
use std::ops::ControlFlow;

/// In-memory state of directories and inodes.
pub(crate) struct Names {
    pub(crate) indexes: Indexes,
    /// Free and open inodes.
    pub inodes: Inodes,
}

/// New block that a directory gets.
#[derive(Clone, Copy, Debug)]
struct Growth {
    page: PageId,
    block: u32,
    /// Offset of the pointer to the block.
    pointer_at: usize,
}

/// Location of a new entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryLocation {
    dir: Ino,
    slot: Slot,
    growth: Option<Growth>,
}

/// Pages that a directory no longer uses after an entry was removed.
#[derive(Debug)]
#[must_use]
pub(crate) struct FreedName {
    dir: Ino,
    pages: Vec<PageId>,
    /// True if the directory has no blocks left.
    is_empty: bool,
}

/// True if `name` is `.` or `..`, which are not stored.
pub(crate) fn is_dot_or_dot_dot(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

/// Listing cookie that follows `.` and `..`: cookie 0 is the start, and cookie 1 follows `.`.
const AFTER_DOTS: u64 = 2;

/// Returns the listing cookie after the entry at a position.
pub(crate) fn cookie_after(position: u32) -> u64 {
    u64::from(position) + AFTER_DOTS + 1
}

/// Lists `.` and `..`, as far as they come after cookie `from`, with the given inodes. Returns the position at which
/// the listing continues; `None` if `each` ended the listing.
pub(crate) fn list_dots(
    (dot, dots): (Ino, Ino),
    from: u64,
    each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Option<u32> {
    let entries: [(&[u8], Ino); 2] = [(b".", dot), (b"..", dots)];
    for (next, (name, ino)) in (1..).zip(entries) {
        if next > from && each(Entry { next, ino, kind: Kind::Directory, name }).is_break() {
            return None;
        }
    }
    u32::try_from(from.saturating_sub(AFTER_DOTS)).ok()
}

/// Checks that a name is valid.
pub(crate) fn check_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.iter().any(|byte| matches!(byte, 0 | b'/')) {
        return Err(Error::Invalid("a name is empty, or has a 0 or a slash in it"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::NameTooLong);
    }
    Ok(())
}

impl Names {
    /// Reads the inodes, and finds the free inodes.
    pub fn new<N: Nvram>(region: &Region<N>, index_bytes: usize) -> Result<Self> {
        Ok(Names { indexes: Indexes::new(index_bytes), inodes: Inodes::new(region)? })
    }

    /// Finds the entry of a name other than `.` and `..`.
    pub fn find<N: Nvram>(
        &mut self,
        region: &Region<N>,
        dir: Ino,
        name: &[u8],
    ) -> Result<Option<FoundEntry>> {
        self.indexes.find(region, dir, name)
    }

    /// Allocates a location for an entry. The caller must use it immediately, so it allocates all other resources of
    /// the operation before.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the directory needs a new block and none is available.
    pub fn make_room<N: Nvram, S: Ssd>(
        &mut self,
        store: &mut Store<N, S>,
        dir: Ino,
        name: &[u8],
    ) -> Result<EntryLocation> {
        let bytes = record::record_bytes(name.len());
        if let Some(slot) = self.indexes.slot(&store.region, dir, bytes)? {
            return Ok(EntryLocation { dir, slot, growth: None });
        }
        let block = self.indexes.first_missing(&store.region, dir)?;
        if block >= MAX_DIRECTORY_BLOCKS {
            return Err(Error::NoSpace("the directory is as long as can be"));
        }
        if store.region.location_of(dir, block.into())? != BlockLocation::Hole {
            return Err(Error::Damaged(format!("directory {} has a block behind its end", dir.0)));
        }
        // For a snapshot, the inode is copied before the directory gets pages that did not exist at the time of the
        // snapshot.
        store.keep_inode(dir)?;
        let added = store.pointer_for(dir, block.into());
        let added = added.and_then(|pointer_at| Ok((pointer_at, store.new_metadata_page(dir)?)));
        let (pointer_at, page) = match added {
            Ok(made) => made,
            Err(error) => {
                store.prune(dir, block.into())?;
                return Err(error);
            }
        };
        let free = record::head(BLOCK_BYTES, None);
        store.region.store_word(store.region.areas.page(page), free);
        store.region.fence();
        let slot = Slot { position: directory::position(block, 0), bytes: BLOCK_BYTES };
        Ok(EntryLocation { dir, slot, growth: Some(Growth { page, block, pointer_at }) })
    }

    /// Updates the state after an entry was added and the changes were applied.
    pub fn note_added<N: Nvram>(&mut self, region: &Region<N>, location: EntryLocation, name: &[u8]) {
        self.indexes.note_added(region, location.dir, name, location.slot.position);
    }

    /// Updates the state after an entry was removed and the changes were applied; frees the pages that only this
    /// entry used.
    pub fn note_removed<N: Nvram, S: Ssd>(
        &mut self,
        store: &mut Store<N, S>,
        name: &[u8],
        found: FoundEntry,
        freed: FreedName,
    ) -> Result<()> {
        let FreedName { dir, pages, is_empty } = freed;
        if is_empty {
            self.forget(dir);
        } else {
            self.indexes.note_removed(&store.region, dir, name, found.position);
        }
        pages.into_iter().try_for_each(|page| store.free_metadata_page(dir, page))
    }

    /// Drops the state of a directory that was removed, or changed other than by adding or removing an entry.
    pub fn forget(&mut self, dir: Ino) {
        self.indexes.forget(dir);
    }
}

/// Adds to `changes` the creation of an entry.
pub(crate) fn put_entry<N: Nvram>(
    region: &Region<N>,
    changes: &mut Changes,
    location: EntryLocation,
    (ino, kind, name): (Ino, Kind, &[u8]),
) -> Result<()> {
    let at = match location.growth {
        Some(growth) => region.areas.page(growth.page),
        None => directory::address(region, location.dir, location.slot.position)?,
    };
    changes.touch_block(location.dir, directory::block_of(location.slot.position));
    let record = record::encode(ino, kind, name);
    let (length, rest) = (record.len(), location.slot.bytes - record.len());
    changes.put(at, record);
    if rest > 0 {
        changes.put_word(at + length, record::head(rest, None));
    }
    if let Some(growth) = location.growth {
        let pointer = BlockLocation::Nvram(growth.page).encode(&region.areas);
        let inode = changes.inode(region, location.dir)?;
        inode.size_bytes = inode.size_bytes.max(u64::from(growth.block + 1) * BLOCK_BYTES as u64);
        if (growth.block as usize) < DIRECT {
            inode.pointers[growth.block as usize] = pointer;
        } else {
            changes.put_word(growth.pointer_at, pointer);
        }
    }
    Ok(())
}

/// Adds to `changes` the replacement of the file that an entry refers to.
pub(crate) fn retarget_entry<N: Nvram>(
    region: &Region<N>,
    changes: &mut Changes,
    dir: Ino,
    found: FoundEntry,
    (ino, kind): (Ino, Kind),
) -> Result<()> {
    let at = directory::address(region, dir, found.position)?;
    changes.touch_block(dir, directory::block_of(found.position));
    let old = region.word(at);
    let (length, name) = ((old >> 32) as u16, (old >> 48) as u8);
    changes.put_word(at, record::head(length.into(), Some((ino, kind, name.into()))));
    Ok(())
}

/// Frees the record of an entry and merges it with free neighbours; frees the block if it has no other entry. The
/// block is kept if it contains `used`, a record that the same operation fills. `used` may be one of the merged
/// records and must already be in `changes`.
pub(crate) fn free_entry<N: Nvram>(
    region: &Region<N>,
    changes: &mut Changes,
    dir: Ino,
    found: FoundEntry,
    used: Option<EntryLocation>,
) -> Result<FreedName> {
    let at = directory::address(region, dir, found.position)?;
    let block = directory::block_of(found.position);
    changes.touch_block(dir, block);
    let used = used.filter(|room| room.dir == dir);
    let none = FreedName { dir, pages: Vec::new(), is_empty: false };
    if used.is_some_and(|room| directory::block_of(room.slot.position) == block) {
        let length = (region.word(at) >> 32) as u16;
        changes.put_word(at, record::head(length.into(), None));
        return Ok(none);
    }
    let (start, length) = directory::free_run(region, dir, found.position)?;
    if length == BLOCK_BYTES {
        return free_block(region, changes, dir, block, used.and_then(|room| room.growth));
    }
    let page_at = at - directory::byte_of(found.position);
    changes.put_word(page_at + start, record::head(length, None));
    Ok(none)
}

/// Removes the empty blocks of a directory that old versions of Wearwell left, because these versions never shrank
/// directories.
pub(crate) fn drop_empty_blocks<N: Nvram, S: Ssd>(store: &mut Store<N, S>, dir: Ino) -> Result<()> {
    for block in directory::empty_blocks(&store.region, dir)? {
        store.prepare_to_keep()?;
        let mut changes = Changes::default();
        changes.touch_block(dir, block);
        let freed = free_block(&store.region, &mut changes, dir, block, None)?;
        store.commit(changes)?;
        freed.pages.into_iter().try_for_each(|page| store.free_metadata_page(dir, page))?;
    }
    Ok(())
}

/// Removes a block of a directory, together with the pointer blocks that lead only to this block. The directory
/// becomes shorter if the block was its last one.
fn free_block<N: Nvram>(
    region: &Region<N>,
    changes: &mut Changes,
    dir: Ino,
    block: u32,
    growth: Option<Growth>,
) -> Result<FreedName> {
    let end = changes.inode(region, dir)?.size_bytes / BLOCK_BYTES as u64;
    let end = end.min(MAX_DIRECTORY_BLOCKS.into()) as u32;
    let end_block = if block + 1 == end { directory::blocks_before(region, dir, block)? } else { end };
    let end_block = end_block.max(growth.map_or(0, |growth| growth.block + 1));
    if end_block == 0 {
        let page = |location| match location {
            BlockLocation::Nvram(page) => Some(page),
            _ => None,
        };
        let pages = region.locations(dir)?.into_iter().filter_map(page).collect();
        let inode = changes.inode(region, dir)?;
        (inode.size_bytes, inode.pointers) = (0, [0; POINTERS]);
        return Ok(FreedName { dir, pages, is_empty: true });
    }
    let unlinked = region.find_unlinked(dir, block.into(), growth.map(|growth| growth.pointer_at))?;
    let inode = changes.inode(region, dir)?;
    inode.size_bytes = u64::from(end_block) * BLOCK_BYTES as u64;
    match unlinked.slot {
        Some(slot) => inode.pointers[slot] = 0,
        None => changes.put_word(unlinked.at, 0),
    }
    Ok(FreedName { dir, pages: unlinked.pages, is_empty: false })
}
