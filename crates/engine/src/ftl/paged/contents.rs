//! Contents of the metadata pages of an FTL. They survive power cuts together with the flash.

use crate::table::{filled, prefetch};
use crate::units::{BlockId, Divider, Lpn, Slot};
use crate::validity::ValidityPage;

/// An entry of a translation page that differs from the previous version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Position in the translation page.
    pub entry: u32,
    /// Value in the previous version.
    pub old: Slot,
}

/// State at the time when a page of the validity store was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateNote {
    /// All reports of invalid pages caused by pages older than this sequence number had been made.
    pub reported_before: u64,
    /// No dirty mapping entry referred to a page older than this sequence number.
    pub horizon: u64,
}

/// A metadata page of the FTL.
#[derive(Debug)]
pub enum MetaPage {
    /// A version of a translation page, stored as its changes.
    Translation {
        /// Location of the previous version; [`Slot::NONE`] for the first.
        previous: Slot,
        /// Index of the first changed entry in the list of its block's changes. The first version has no changes.
        first: u32,
        /// Number of changed entries.
        changes: u32,
    },
    /// A node of a translation tree: addresses of its children. The second box makes `MetaPage` a third smaller.
    Node(Box<Box<[Slot]>>),
    /// A page of the validity store, and the state when it was written.
    Validity(Box<(ValidityPage, StateNote)>),
    /// A replaced page of the bitmap. Such a page is never read again, because recovery only needs its spare area. If
    /// the bitmap is rewritten for each user page, storing all replaced contents would soon fill the simulation's
    /// memory.
    Replaced,
    /// A page that was not completely programmed.
    Unreadable,
}

impl MetaPage {
    /// Returns the bytes of heap memory that the page owns.
    fn heap_bytes(&self) -> usize {
        match self {
            MetaPage::Translation { .. } | MetaPage::Replaced | MetaPage::Unreadable => 0,
            MetaPage::Node(children) => size_of_val(children) + size_of_val(&***children),
            MetaPage::Validity(page) => size_of_val(&**page) + page.0.heap_bytes(),
        }
    }
}

/// Number of changes per page for which an erased metadata block keeps memory.
const MAX_RETAINED_CHANGES: usize = 8;
/// Contents of erased blocks keep their memory for reuse: one for each `USED_PER_RETAINED` metadata blocks in use, plus
/// `MIN_RETAINED`.
const USED_PER_RETAINED: usize = 4;
const MIN_RETAINED: usize = 16;

/// Contents of a metadata block. Some of these structures keep their memory after an erase, for reuse by other blocks.
#[derive(Debug, Default)]
struct BlockContents {
    pages: Vec<MetaPage>,
    /// Changes of all versions of translation pages in the block, concatenated.
    changes: Vec<Change>,
}

impl BlockContents {
    fn has_memory(&self) -> bool {
        self.pages.capacity() > 0
    }

    /// Prefetches, step by step, the heap memory of pages that are about to be dropped.
    fn prefetch_drop(&self) {
        let validity = || {
            self.pages
                .iter()
                .filter_map(|page| if let MetaPage::Validity(page) = page { Some(page) } else { None })
        };
        validity().for_each(|page| prefetch(&raw const **page));
        validity().for_each(|page| {
            if let ValidityPage::Gecko(page) = &page.0 {
                // The allocator's header is in front of an allocation.
                prefetch(page.entries.as_ptr().wrapping_sub(1));
            }
        });
    }
}

/// Contents of the flash-resident translation table and of all other metadata pages, by flash location.
///
/// The newest versions of translation pages are stored completely, in one array; older versions are stored as
/// differences. A synchronisation changes one or two of a thousand entries, and copying the other entries would be most
/// of the simulation's work. Every version can still be read until its block is erased.
pub struct MetadataContents {
    /// Erase timestamps of the blocks, which are in their spare areas; empty unless wear levelling stores them.
    pub erased_at: Vec<u32>,
    per_page: Divider,
    /// The newest version of every translation page, concatenated.
    table: Vec<Slot>,
    /// Location of the newest version of each translation page.
    newest: Vec<Slot>,
    /// For each block, number of its entry in `block_contents`, plus 1; 0 for a block without metadata.
    contents_of_block: Vec<u32>,
    block_contents: Vec<BlockContents>,
    free_contents: Vec<u32>,
    /// Number of unused entries of `block_contents` that keep their memory.
    retained: usize,
    /// Heap memory owned by pages, in bytes.
    heap_bytes: usize,
    per_block: Divider,
}

impl MetadataContents {
    /// Returns the contents of empty flash: no translation page has a version.
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32, entries_per_page: u32) -> Self {
        let translation_pages = logical_pages.div_ceil(entries_per_page) as usize;
        MetadataContents {
            erased_at: Vec::new(),
            per_page: Divider::new(entries_per_page),
            table: filled(translation_pages * entries_per_page as usize, Slot::NONE),
            newest: filled(translation_pages, Slot::NONE),
            contents_of_block: filled(blocks as usize, 0),
            block_contents: Vec::new(),
            free_contents: Vec::new(),
            retained: 0,
            heap_bytes: 0,
            per_block: Divider::new(pages_per_block),
        }
    }

    /// Returns the number of entries of a translation page.
    pub fn entries_per_page(&self) -> u32 {
        self.per_page.divisor()
    }

    /// Returns the translation page that contains the entry of a logical page.
    #[inline]
    pub fn translation_page(&self, page: Lpn) -> u32 {
        self.per_page.quotient(page.0)
    }

    /// Returns the position of the logical page's entry in its translation page.
    #[inline]
    pub fn entry_of(&self, page: Lpn) -> u32 {
        page.0 - self.translation_page(page) * self.per_page.divisor()
    }

    /// Returns the position in the table of a translation page's first entry.
    #[inline]
    fn first_entry(&self, number: u32) -> usize {
        number as usize * self.per_page.divisor() as usize
    }

    /// Returns the number of translation pages.
    pub fn translation_pages(&self) -> u32 {
        self.newest.len() as u32
    }

    fn block_of(&self, at: Slot) -> (usize, usize) {
        let block = self.per_block.quotient(at.0);
        (block as usize, (at.0 - block * self.per_block.divisor()) as usize)
    }

    /// Returns the contents of the block of `at`, to which the caller adds a programmed page.
    #[inline]
    fn contents_for(&mut self, at: Slot) -> &mut BlockContents {
        let (block, index) = self.block_of(at);
        if self.contents_of_block[block] == 0 {
            self.contents_of_block[block] = match self.free_contents.pop() {
                Some(free) => {
                    self.retained -= usize::from(self.block_contents[free as usize - 1].has_memory());
                    free
                }
                None => {
                    self.block_contents.push(BlockContents::default());
                    self.block_contents.len() as u32
                }
            };
        }
        let contents = &mut self.block_contents[self.contents_of_block[block] as usize - 1];
        // Pages with failed programs have no content.
        if contents.pages.len() < index {
            contents.pages.resize_with(index, || MetaPage::Unreadable);
        }
        contents
    }

    /// Stores a page, not a translation page, that was programmed at `at`.
    pub fn program(&mut self, at: Slot, page: MetaPage) {
        debug_assert!(!matches!(page, MetaPage::Translation { .. }));
        self.heap_bytes += page.heap_bytes();
        self.contents_for(at).pages.push(page);
    }

    /// Stores the next version of translation page `number`, which was programmed at `at` and changes these entries.
    pub fn program_translation(&mut self, number: u32, at: Slot, entries: &[(u32, Slot)]) {
        let first = self.first_entry(number);
        let previous = std::mem::replace(&mut self.newest[number as usize], at);
        let mut table = std::mem::take(&mut self.table);
        let contents = self.contents_for(at);
        let from = contents.changes.len();
        let changes = entries.iter().map(|&(entry, new)| {
            let old = std::mem::replace(&mut table[first + entry as usize], new);
            Change { entry, old }
        });
        // The state before the first version is never needed; storing it would be expensive, because this version has
        // a thousand entries when a drive is filled.
        if previous == Slot::NONE {
            changes.for_each(drop)
        } else {
            contents.changes.extend(changes)
        }
        let (from, changes) = (from as u32, (contents.changes.len() - from) as u32);
        contents.pages.push(MetaPage::Translation { previous, first: from, changes });
        self.table = table;
    }

    /// Returns the page programmed at `at`; `None` if it is not a metadata page.
    pub fn page(&self, at: Slot) -> Option<&MetaPage> {
        let (block, index) = self.block_of(at);
        let index_of_contents = (*self.contents_of_block.get(block)?).checked_sub(1)?;
        self.block_contents[index_of_contents as usize].pages.get(index)
    }

    /// Drops the content of the page at `at`, which has been replaced, if it is a bitmap page.
    pub fn drop_bitmap(&mut self, at: Slot) {
        if self.bitmap(at).is_some() {
            let page = self.page_mut(at).expect("just found");
            let dropped = std::mem::replace(page, MetaPage::Replaced);
            self.heap_bytes -= dropped.heap_bytes();
        }
    }

    /// Moves the words of the bitmap page at `from` to the page at `to`, and changes them there.
    pub fn move_words(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64])) {
        let mut words = std::mem::take(self.bitmap(from).expect("a page of the bitmap"));
        change(&mut words);
        *self.bitmap(to).expect("a page of the bitmap") = words;
    }

    fn page_mut(&mut self, at: Slot) -> Option<&mut MetaPage> {
        let (block, index) = self.block_of(at);
        let index_of_contents = self.contents_of_block[block].checked_sub(1)?;
        self.block_contents[index_of_contents as usize].pages.get_mut(index)
    }

    /// Returns the words of the bitmap page at `at`, if there is one.
    fn bitmap(&mut self, at: Slot) -> Option<&mut Box<[u64]>> {
        let MetaPage::Validity(page) = self.page_mut(at)? else { return None };
        let ValidityPage::Bitmap(bitmap) = &mut page.0 else { return None };
        Some(&mut bitmap.words)
    }

    /// Drops the contents of an erased block.
    pub fn erase(&mut self, block: BlockId) {
        let number = std::mem::take(&mut self.contents_of_block[block.index()]);
        if number > 0 {
            // When the spare blocks of a drive are filled for the first time, many more blocks hold metadata than
            // later.
            let used = self.block_contents.len() - self.free_contents.len();
            let is_retained = self.retained < used / USED_PER_RETAINED + MIN_RETAINED;
            let contents = &mut self.block_contents[number as usize - 1];
            contents.prefetch_drop();
            self.heap_bytes -= contents.pages.iter().map(MetaPage::heap_bytes).sum::<usize>();
            contents.pages.clear();
            contents.changes.clear();
            // When a drive is filled, a version changes a thousand entries; later versions change few.
            if contents.changes.capacity() > MAX_RETAINED_CHANGES * self.per_block.divisor() as usize {
                contents.changes = Vec::new();
            }
            if !is_retained {
                *contents = BlockContents::default();
            }
            self.retained += usize::from(contents.has_memory());
            self.free_contents.push(number);
        }
    }

    /// Returns entry `entry` of the version of translation page `number` that was programmed at `at`.
    ///
    /// # Panics
    ///
    /// If there is no such version, which is a bug of the caller.
    #[inline]
    pub fn entry(&self, number: u32, at: Slot, entry: u32) -> Slot {
        if self.newest[number as usize] == at {
            return self.table[self.first_entry(number) + entry as usize];
        }
        self.version(number, at)[entry as usize]
    }

    /// Returns all entries of the version of translation page `number` that was programmed at `at`; panics like
    /// [`MetadataContents::entry`].
    pub fn version(&self, number: u32, at: Slot) -> Vec<Slot> {
        let first = self.first_entry(number);
        let mut entries = self.table[first..first + self.per_page.divisor() as usize].to_vec();
        let mut newer = self.newest[number as usize];
        while newer != at {
            let Some((previous, changes)) = self.translation(newer) else {
                panic!("no version of translation page {number} is at {at:?}");
            };
            changes.iter().for_each(|change| entries[change.entry as usize] = change.old);
            newer = previous;
        }
        entries
    }

    /// Returns the changes of the translation page version at `at`.
    pub fn changes(&self, at: Slot) -> &[Change] {
        let (_, changes) = self.translation(at).unwrap_or_else(|| panic!("no translation page is at {at:?}"));
        changes
    }

    /// Returns the location of the previous version and the changes of the version at `at`, if there is one.
    fn translation(&self, at: Slot) -> Option<(Slot, &[Change])> {
        let Some(&MetaPage::Translation { previous, first, changes }) = self.page(at) else { return None };
        let index_of_contents = self.contents_of_block[self.block_of(at).0] as usize - 1;
        Some((
            previous,
            &self.block_contents[index_of_contents].changes[first as usize..(first + changes) as usize],
        ))
    }

    /// Prefetches the table entry of a logical page, which will be read and changed soon.
    #[inline]
    pub fn prefetch(&self, page: Lpn) {
        self.prefetch_entry(page);
        self.prefetch_newest(self.translation_page(page));
    }

    /// Prefetches only the entry of a logical page.
    #[inline]
    pub fn prefetch_entry(&self, page: Lpn) {
        prefetch(self.table.as_ptr().wrapping_add(page.index()));
    }

    /// Prefetches the location of the newest version of translation page `number`, which will be read and replaced
    /// soon.
    #[inline]
    pub fn prefetch_newest(&self, number: u32) {
        prefetch(self.newest.as_ptr().wrapping_add(number as usize));
    }

    /// Prefetches data of the validity store's page at `at`, which will be read soon. There is one step for each
    /// pointer on the way from the address to the content.
    #[inline]
    pub fn prefetch_validity(&self, at: Slot, step: u32) {
        let (block, index) = self.block_of(at);
        if step == 0 {
            prefetch(self.contents_of_block.as_ptr().wrapping_add(block));
            return;
        }
        let address = self
            .block_contents
            .as_ptr()
            .wrapping_add((self.contents_of_block[block] as usize).wrapping_sub(1));
        if step == 1 {
            prefetch(address);
            return;
        }
        let Some(BlockContents { pages, .. }) =
            self.block_contents.get((self.contents_of_block[block] as usize).wrapping_sub(1))
        else {
            return;
        };
        match pages.get(index) {
            None => {}
            Some(page) if step == 2 => prefetch(page),
            Some(MetaPage::Validity(page)) => prefetch(&raw const **page),
            Some(_) => {}
        }
    }

    /// Returns all entries of the newest version of a translation page.
    pub fn newest_version(&self, number: u32) -> &[Slot] {
        let first = self.first_entry(number);
        &self.table[first..first + self.per_page.divisor() as usize]
    }

    /// Restores the newest version of translation page `number`, which is at `at` and has these entries.
    pub fn restore_newest(&mut self, number: u32, at: Slot, entries: &[Slot]) {
        let first = self.first_entry(number);
        self.table[first..first + entries.len()].copy_from_slice(entries);
        self.newest[number as usize] = at;
    }

    /// Restores the version at `at`, which follows the version at `previous` and differs from it by `changes`. The
    /// pages of a block must be restored in order.
    pub fn restore_version(&mut self, at: Slot, previous: Slot, changes: &[Change]) {
        let contents = self.contents_for(at);
        let first = contents.changes.len() as u32;
        contents.changes.extend_from_slice(changes);
        contents.pages.push(MetaPage::Translation { previous, first, changes: changes.len() as u32 });
    }

    /// Adds lists to the last page of a run, which is at `at`; they were computed from the other pages of the run.
    pub fn complete_run(&mut self, at: Slot, first_keys: Box<[u64]>, slots: Box<[Slot]>) {
        let Some(page) = self.page_mut(at) else { return };
        let before = page.heap_bytes();
        if let MetaPage::Validity(page_and_note) = page
            && let ValidityPage::Gecko(run) = &mut page_and_note.0
            && let Some(postamble) = &mut run.postamble
        {
            (postamble.first_keys, postamble.slots) = (first_keys, slots);
        }
        let after = page.heap_bytes();
        self.heap_bytes = self.heap_bytes - before + after;
    }

    /// Returns the entry of a logical page in the newest version of its translation page.
    #[inline]
    pub fn newest_entry(&self, page: Lpn) -> Slot {
        self.table[page.index()]
    }

    /// Returns the memory used by the simulation, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let bytes = |contents: &BlockContents| {
            contents.pages.capacity() * size_of::<MetaPage>()
                + contents.changes.capacity() * size_of::<Change>()
        };
        let contents_bytes: usize = self.block_contents.iter().map(bytes).sum();
        (4 * (self.table.len() + self.newest.len() + self.contents_of_block.len())
            + contents_bytes
            + self.heap_bytes) as u64
    }
}
