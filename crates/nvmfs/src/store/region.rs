//! NVRAM with its areas: typed access to inodes and words, and atomic updates.

use super::change_notes::{ChangeNotes, Unit};
use super::inode_page_map::InodePages;
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{
    Areas, BlockLocation, Field, INODE_BYTES, INODES, Inode, PageId, checked_number, checked_word,
};
use crate::nvram::Nvram;

/// Bytes of a log entry in front of the old content: update number, offset, length, checksum.
const LOG_ENTRY_HEAD_BYTES: usize = 24;

/// Set of metadata changes that become durable atomically.
///
/// An inode is read when it is first requested; later requests return the same copy, so an operation may change the
/// inode in several steps. Nothing is stored until [`Region::apply`].
#[derive(Debug, Default)]
pub struct Changes {
    inodes: Vec<(Ino, Inode)>,
    bytes: Vec<(usize, Vec<u8>)>,
    /// Blocks of directories that change.
    blocks: Vec<(Ino, u32)>,
    /// Files whose attributes change in place.
    xattrs: Vec<Ino>,
}

impl Changes {
    /// Adds new bytes at offset `at`, outside of inodes.
    pub fn put(&mut self, at: usize, bytes: Vec<u8>) {
        self.bytes.push((at, bytes));
    }

    /// Adds a new word of 8 bytes at offset `at`; the word must not be in an inode that is also changed as a whole.
    pub fn put_word(&mut self, at: usize, word: u64) {
        self.put(at, word.to_le_bytes().to_vec());
    }

    /// Marks a block of a directory as added, removed or changed.
    pub fn touch_block(&mut self, dir: Ino, block: u32) {
        self.blocks.push((dir, block));
    }

    /// Marks the attributes of a file as changed.
    pub fn touch_xattrs(&mut self, ino: Ino) {
        self.xattrs.push(ino);
    }

    /// Returns the changed inodes with their new content.
    pub(super) fn changed_inodes(&self) -> Vec<(Ino, Inode)> {
        self.inodes.clone()
    }

    /// Returns the blocks of directories that change.
    pub(super) fn changed_blocks(&self) -> Vec<(Ino, u32)> {
        self.blocks.clone()
    }

    /// True if the attributes of a file change in place.
    pub(super) fn are_xattrs_changed(&self, ino: Ino) -> bool {
        self.xattrs.contains(&ino)
    }

    /// Adds an inode with its new content.
    pub fn put_inode(&mut self, ino: Ino, inode: Inode) {
        match self.inodes.iter_mut().find(|(one, _)| *one == ino) {
            Some(entry) => entry.1 = inode,
            None => self.inodes.push((ino, inode)),
        }
    }

    /// Returns an inode with the changes made so far, for further changes.
    pub fn inode<N: Nvram>(&mut self, region: &Region<N>, ino: Ino) -> Result<&mut Inode> {
        let at = match self.inodes.iter().position(|(one, _)| *one == ino) {
            Some(at) => at,
            None => {
                self.inodes.push((ino, region.inode(ino)?));
                self.inodes.len() - 1
            }
        };
        Ok(&mut self.inodes[at].1)
    }
}

/// NVRAM with its layout.
pub struct Region<N> {
    nvram: N,
    /// Layout of the areas.
    pub areas: Areas,
    /// Number of the update to which the log belongs: log entries with other numbers are invalid.
    update: u64,
    /// Pages that hold inodes.
    pub(super) inode_pages: InodePages,
    /// Units that currently have no valid checksum.
    pub(super) notes: ChangeNotes,
}

impl<N: Nvram> Region<N> {
    /// Opens the NVRAM of a file system; `is_checked` is true if metadata has checksums. Undoes an interrupted
    /// update, and recomputes the checksums of other metadata that was being changed.
    pub fn open(nvram: N, areas: Areas, is_checked: bool) -> Self {
        let notes = ChangeNotes::new(&areas, is_checked);
        let mut region = Region { nvram, areas, update: 0, inode_pages: InodePages::default(), notes };
        match update_of(region.bytes(), &region.areas, is_checked) {
            Some(update) => {
                region.update = update;
                region.undo();
            }
            // The log is cleared, because the number of the update to which it belongs is unknown.
            None => region.clear_log(),
        }
        if is_checked {
            region.recompute_noted_checksums();
        }
        region
    }

    /// Returns the NVRAM.
    pub fn into_nvram(self) -> N {
        self.nvram
    }

    /// Returns the whole content of the NVRAM.
    pub fn bytes(&self) -> &[u8] {
        self.nvram.bytes()
    }

    /// Returns the word of 8 bytes at `at`.
    #[inline]
    pub fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.nvram.bytes()[at..at + 8].try_into().expect("8 bytes"))
    }

    /// Returns the word of 4 bytes at `at`.
    #[inline]
    pub fn half(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.nvram.bytes()[at..at + 4].try_into().expect("4 bytes"))
    }

    /// Stores bytes that need not survive a power cut.
    #[inline]
    pub fn store_volatile(&mut self, at: usize, bytes: &[u8]) {
        self.nvram.store(at, bytes);
    }

    /// Stores 4 bytes that need not survive a power cut.
    #[inline]
    pub fn store_half_volatile(&mut self, at: usize, value: u32) {
        self.nvram.store(at, &value.to_le_bytes());
    }

    /// Stores bytes that are durable after the next fence.
    pub fn store(&mut self, at: usize, bytes: &[u8]) {
        self.nvram.store(at, bytes);
        self.nvram.write_back(at, bytes.len());
    }

    /// Stores a word of 8 bytes atomically; it is durable after the next fence. If the word is part of metadata, its
    /// checksum is updated later.
    pub fn store_word(&mut self, at: usize, word: u64) {
        self.before_change(at);
        self.patch_word(at, word);
    }

    /// Does what [`Region::store_word`] does, for a word without a checksum, or with a checksum that the caller
    /// updates.
    pub(crate) fn patch_word(&mut self, at: usize, word: u64) {
        self.nvram.store_word(at, word);
        self.nvram.write_back(at, 8);
    }

    /// Stores the content of a metadata page, durable after the next fence.
    pub fn store_page(&mut self, page: PageId, bytes: &[u8]) {
        let at = self.areas.page(page);
        self.before_change(at);
        self.store(at, bytes);
    }

    /// Makes all earlier stores durable.
    pub fn fence(&mut self) {
        self.nvram.fence();
        self.notes.mark_fenced();
    }

    /// Writes back an area that was stored with [`Region::store_volatile`].
    pub fn write_back(&mut self, at: usize, length: usize) {
        self.nvram.write_back(at, length);
    }

    /// Returns the content of a page.
    pub fn page(&self, page: PageId) -> &[u8; BLOCK_BYTES] {
        let at = self.areas.page(page);
        self.nvram.bytes()[at..at + BLOCK_BYTES].try_into().expect("a page")
    }

    /// Decodes a pointer.
    pub fn location(&self, pointer: u64) -> Result<BlockLocation> {
        BlockLocation::decode(pointer, &self.areas)
            .ok_or_else(|| Error::Damaged(format!("pointer {pointer:#x} leads nowhere")))
    }

    /// Returns an inode, used or free, without verifying its checksum.
    pub fn raw_inode(&self, ino: Ino) -> Result<Inode> {
        let at = self.inode_at(ino)?;
        Ok(Inode::decode(self.nvram.bytes()[at..at + INODE_BYTES].try_into().expect("an inode")))
    }

    /// Returns an inode that is in use.
    pub fn inode(&self, ino: Ino) -> Result<Inode> {
        let inode = self.verified_inode(ino)?;
        if inode.kind().is_none() || ino == INODES { Err(Error::NotFound) } else { Ok(inode) }
    }

    /// Returns an inode, used or free, after verifying its checksum.
    pub fn verified_inode(&self, ino: Ino) -> Result<Inode> {
        let inode = self.raw_inode(ino)?;
        match self.has_valid_checksum(Unit::Inode(ino)) {
            true => Ok(inode),
            false => Err(Error::Damaged(format!("the checksum of inode {} is wrong", ino.0))),
        }
    }

    /// Returns the content of a metadata page after verifying its checksum.
    pub fn verified_page(&self, page: PageId) -> Result<&[u8; BLOCK_BYTES]> {
        match self.has_valid_checksum(Unit::Page(page)) {
            true => Ok(self.page(page)),
            false => Err(Error::Damaged(format!("the checksum of page {} of metadata is wrong", page.0))),
        }
    }

    /// Returns the offset of a field of an inode.
    pub fn field(&self, ino: Ino, field: Field) -> Result<usize> {
        Ok(self.inode_at(ino)? + field as usize)
    }

    /// Applies all `changes` atomically with respect to power cuts (section III-D).
    ///
    /// The old content is made durable in the log before anything is overwritten. When the new content is durable,
    /// incrementing the update number invalidates the log. This takes three fences. Inodes are stored with their
    /// checksums. Notes of other changing metadata become durable with the first fence.
    pub fn apply(&mut self, changes: Changes) {
        self.make_room_for_notes(changes.bytes.len());
        for (at, _) in &changes.bytes {
            self.note_changing(*at);
        }
        let inodes = changes.inodes.into_iter().map(|(ino, inode)| {
            let at = self.inode_at(ino).expect("it was read");
            (at, inode.encode().to_vec())
        });
        let writes: Vec<(usize, Vec<u8>)> = inodes.chain(changes.bytes).collect();
        let mut end = self.areas.log + 8;
        for (at, bytes) in &writes {
            end = self.write_entry(end, *at, bytes.len());
        }
        self.fence();
        for (at, bytes) in &writes {
            self.store(*at, bytes);
        }
        self.nvram.fence();
        self.end_update();
    }

    fn write_entry(&mut self, to: usize, at: usize, length: usize) -> usize {
        let end = to + LOG_ENTRY_HEAD_BYTES + length.next_multiple_of(8);
        assert!(end <= self.areas.log_end(), "an update is larger than the log");
        let mut entry = Vec::with_capacity(end - to);
        entry.extend(self.update.to_le_bytes());
        entry.extend((at as u64).to_le_bytes());
        entry.extend((length as u32).to_le_bytes());
        entry.extend([0; 4]);
        entry.extend(&self.nvram.bytes()[at..at + length]);
        let sum = crc32fast::hash(&entry);
        entry[20..24].copy_from_slice(&sum.to_le_bytes());
        self.store(to, &entry);
        end
    }

    fn end_update(&mut self) {
        self.update = self.update.wrapping_add(1);
        self.write_update();
    }

    fn write_update(&mut self) {
        let word = if self.notes.is_checked { checked_word(self.update) } else { self.update };
        self.patch_word(self.areas.log, word);
        self.nvram.fence();
    }

    /// Enables checksums of metadata and of the update number.
    pub(super) fn begin_checksums(&mut self) {
        self.enable_checksums();
        self.update = checked_number(checked_word(self.update)).expect("it was made one");
        self.write_update();
    }

    /// Invalidates the log entries of all updates.
    fn clear_log(&mut self) {
        self.store(self.areas.log, &vec![0; self.areas.log_end() - self.areas.log]);
        self.nvram.fence();
        self.update = 0;
        self.end_update();
    }

    /// Returns the log entry at `from`, if it belongs to the unfinished update: its offset, its old content, and the
    /// end of the entry.
    fn entry(&self, from: usize) -> Option<(usize, Vec<u8>, usize)> {
        let start = from + LOG_ENTRY_HEAD_BYTES;
        let end_of_log = self.areas.log_end();
        if start > end_of_log || self.word(from) != self.update {
            return None;
        }
        let (at, length) = (usize::try_from(self.word(from + 8)).ok()?, self.half(from + 16) as usize);
        let end = start.checked_add(length.next_multiple_of(8)).filter(|end| *end <= end_of_log)?;
        let fits = at.checked_add(length).is_some_and(|end| end <= self.nvram.bytes().len());
        // The log never contains changes of the log or of the superblock.
        if !fits || at < end_of_log {
            return None;
        }
        let mut entry = self.nvram.bytes()[from..start + length].to_vec();
        entry[20..24].fill(0);
        (crc32fast::hash(&entry) == self.half(from + 20))
            .then(|| (at, entry.split_off(LOG_ENTRY_HEAD_BYTES), end))
    }

    fn undo(&mut self) {
        let mut entries = Vec::new();
        let mut from = self.areas.log + 8;
        while let Some((at, old, end)) = self.entry(from) {
            entries.push((at, old));
            from = end;
        }
        // The order is reversed, so that the first of two entries for the same offset takes effect last.
        for (at, old) in entries.iter().rev() {
            self.store(*at, old);
        }
        self.nvram.fence();
        // The number is incremented even if nothing was undone. If writing the log was interrupted, its first entry may
        // be lost while a later entry is present. The later entry must not be taken for an entry of the next update.
        self.end_update();
    }
}

/// Returns the number of the update to which the log belongs; `None` if the number is damaged.
pub(super) fn update_of(bytes: &[u8], areas: &Areas, is_checked: bool) -> Option<u64> {
    let word = u64::from_le_bytes(bytes[areas.log..areas.log + 8].try_into().expect("8 bytes"));
    if is_checked { checked_number(word) } else { Some(word) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvram::PlainNvram;

    #[test]
    fn entries_of_an_interrupted_log_do_not_join_the_next_update() {
        let areas = Areas::new(8 << 20, 8192, 256).unwrap();
        let (first, second) = (areas.data, areas.data + 64);
        let mut region = Region::open(PlainNvram::new(8 << 20), areas.clone(), true);
        let log = areas.log + 8;
        let after_first = region.write_entry(log, first, 8);
        region.write_entry(after_first, second, 8);
        region.store(log, &[0; LOG_ENTRY_HEAD_BYTES]);
        let mut region = Region::open(region.into_nvram(), areas.clone(), true);
        region.patch_word(second, 7);
        region.write_entry(log, first, 8);
        region.patch_word(first, 9);
        let region = Region::open(region.into_nvram(), areas, true);
        assert_eq!((region.word(first), region.word(second)), (0, 7));
    }

    #[test]
    fn flipped_byte_of_log_entry_or_update_number_prevents_undo() {
        let areas = Areas::new(8 << 20, 8192, 256).unwrap();
        let (at, log) = (areas.data + 64, areas.log + 8);
        let mut region = Region::open(PlainNvram::new(8 << 20), areas.clone(), true);
        region.patch_word(at, 5);
        let end = region.write_entry(log, at, 8);
        region.patch_word(at, 9);
        let image = region.into_nvram().into_bytes();
        assert_eq!(update_of(&image, &areas, true), Some(1));
        let reopened = |bytes: Vec<u8>| Region::open(PlainNvram::from(bytes), areas.clone(), true);
        assert_eq!(reopened(image.clone()).word(at), 5, "the update is undone");
        for byte in areas.log..end {
            let mut flipped = image.clone();
            flipped[byte] ^= 0x10;
            let content = flipped[areas.data..].to_vec();
            let region = reopened(flipped);
            // Nothing is written at a wrong place either.
            assert!(region.bytes()[areas.data..] == content, "byte {byte}");
        }
    }
}
