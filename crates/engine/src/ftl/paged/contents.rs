//! What the pages hold that an FTL writes for itself: they survive power cuts as their flash does.

use crate::table::{filled, prefetch};
use crate::units::{BlockId, Slot};
use crate::validity::ValidityPage;

/// An entry of a translation page that its predecessor had otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Position in the translation page.
    pub entry: u32,
    /// What the version before said.
    pub old: Slot,
}

/// How things stood when a page of the validity store was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What was to be reported because of pages older than this one had been reported.
    pub settled: u64,
    /// No mapping entry was dirty that is older than this page.
    pub horizon: u64,
}

/// The changes of a version; most have one, which needs no memory of its own.
#[derive(Debug)]
pub enum Changes {
    /// A single one.
    One(Change),
    /// None, or several.
    Several(Box<[Change]>),
}

impl Changes {
    fn as_slice(&self) -> &[Change] {
        match self {
            Changes::One(change) => std::slice::from_ref(change),
            Changes::Several(changes) => changes,
        }
    }
}

/// A page that the FTL wrote for itself.
#[derive(Debug)]
pub enum MetaPage {
    /// A version of a translation page, told by what it changed.
    Translation {
        /// Where the version before was written; [`Slot::NONE`] for the first.
        previous: Slot,
        /// Entries that differ from it.
        changes: Changes,
    },
    /// A node of a translation tree: addresses of its children.
    Node(Box<[Slot]>),
    /// A page of the validity store, and how things stood at the time.
    Validity(Box<(ValidityPage, Note)>),
    /// A page that was not programmed to its end.
    Unreadable,
}

/// Contents of the flash-resident translation table and of all other metadata pages, by their place in flash.
///
/// Of the table's pages the newest versions are kept whole, in one array, and older ones as differences: a
/// synchronisation changes one or two of a thousand entries, and copying the others would be most of the simulation's
/// work. What can be read is the same: any version, as long as its block is not erased.
pub struct Contents {
    /// Erase timestamps of the blocks, which are in their spare areas; empty unless wear levelling keeps them.
    pub erased_at: Vec<u32>,
    entries_per_page: u32,
    /// The newest version of every translation page, one after the other.
    table: Vec<Slot>,
    /// Where the newest version of each is.
    newest: Vec<Slot>,
    /// Number of each block's entry in `held`, plus 1; 0 for a block without metadata.
    holders: Vec<u32>,
    held: Vec<Vec<MetaPage>>,
    unused: Vec<u32>,
    pages_per_block: u32,
}

impl Contents {
    /// Empty flash: no translation page has a version.
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32, entries_per_page: u32) -> Self {
        let translation_pages = logical_pages.div_ceil(entries_per_page) as usize;
        Contents {
            erased_at: Vec::new(),
            entries_per_page,
            table: filled(translation_pages * entries_per_page as usize, Slot::NONE),
            newest: vec![Slot::NONE; translation_pages],
            holders: vec![0; blocks as usize],
            held: Vec::new(),
            unused: Vec::new(),
            pages_per_block,
        }
    }

    /// Entries of a translation page.
    pub fn entries_per_page(&self) -> u32 {
        self.entries_per_page
    }

    /// Number of translation pages.
    pub fn translation_pages(&self) -> u32 {
        self.newest.len() as u32
    }

    fn block_of(&self, at: Slot) -> (usize, usize) {
        ((at.0 / self.pages_per_block) as usize, (at.0 % self.pages_per_block) as usize)
    }

    /// Notes what was programmed at `at`.
    fn hold(&mut self, at: Slot, page: MetaPage) {
        let (block, index) = self.block_of(at);
        if self.holders[block] == 0 {
            self.holders[block] = match self.unused.pop() {
                Some(free) => free,
                None => {
                    self.held.push(Vec::new());
                    self.held.len() as u32
                }
            };
        }
        let pages = &mut self.held[self.holders[block] as usize - 1];
        // Attempts that failed left no content.
        pages.resize_with(index, || MetaPage::Unreadable);
        pages.push(page);
    }

    /// A page other than one of the table was programmed.
    pub fn program(&mut self, at: Slot, page: MetaPage) {
        debug_assert!(!matches!(page, MetaPage::Translation { .. }));
        self.hold(at, page);
    }

    /// The next version of translation page `number` was programmed at `at`, with these entries changed.
    pub fn program_translation(&mut self, number: u32, at: Slot, entries: &[(u32, Slot)]) {
        let first = number as usize * self.entries_per_page as usize;
        let mut change = |&(entry, new): &(u32, Slot)| {
            let old = std::mem::replace(&mut self.table[first + entry as usize], new);
            Change { entry, old }
        };
        let changes = match entries {
            [only] => Changes::One(change(only)),
            several => Changes::Several(several.iter().map(change).collect()),
        };
        let previous = std::mem::replace(&mut self.newest[number as usize], at);
        self.hold(at, MetaPage::Translation { previous, changes });
    }

    /// What was programmed at `at`; `None` where that is no metadata.
    pub fn page(&self, at: Slot) -> Option<&MetaPage> {
        let (block, index) = self.block_of(at);
        let holder = (*self.holders.get(block)?).checked_sub(1)?;
        self.held[holder as usize].get(index)
    }

    /// Lets go of what a page of the bitmap holds that was replaced: nobody reads it again, its spare area says all that
    /// recovery asks, and bitmaps written anew for each page of the user would soon fill the simulation's memory.
    pub fn forget_bitmap(&mut self, at: Slot) {
        let (block, index) = self.block_of(at);
        let Some(holder) = self.holders[block].checked_sub(1) else { return };
        if let Some(MetaPage::Validity(page)) = self.held[holder as usize].get_mut(index)
            && let ValidityPage::Bitmap(bitmap) = &mut page.0
        {
            bitmap.words = Box::default();
        }
    }

    /// The block was erased.
    pub fn erase(&mut self, block: BlockId) {
        let holder = std::mem::take(&mut self.holders[block.index()]);
        if holder > 0 {
            self.held[holder as usize - 1].clear();
            self.unused.push(holder);
        }
    }

    /// Entry `entry` of the version of translation page `number` that was programmed at `at`.
    ///
    /// # Panics
    ///
    /// If there is no such version: a store that reads it has lost its way.
    #[inline]
    pub fn entry(&self, number: u32, at: Slot, entry: u32) -> Slot {
        if self.newest[number as usize] == at {
            return self.table[number as usize * self.entries_per_page as usize + entry as usize];
        }
        self.version(number, at)[entry as usize]
    }

    /// All entries of the version of translation page `number` that was programmed at `at`; panics as [`Contents::entry`].
    pub fn version(&self, number: u32, at: Slot) -> Vec<Slot> {
        let first = number as usize * self.entries_per_page as usize;
        let mut entries = self.table[first..first + self.entries_per_page as usize].to_vec();
        let mut newer = self.newest[number as usize];
        while newer != at {
            let Some(MetaPage::Translation { previous, changes }) = self.page(newer) else {
                panic!("no version of translation page {number} is at {at:?}");
            };
            changes.as_slice().iter().for_each(|change| entries[change.entry as usize] = change.old);
            newer = *previous;
        }
        entries
    }

    /// What the version at `at` changed, of whatever translation page it is.
    pub fn changes(&self, at: Slot) -> &[Change] {
        match self.page(at) {
            Some(MetaPage::Translation { changes, .. }) => changes.as_slice(),
            _ => panic!("no translation page is at {at:?}"),
        }
    }

    /// The table's entry of a logical page will be read and changed soon: a hint.
    #[inline]
    pub fn prefetch(&self, page: u32) {
        prefetch(self.table.as_ptr().wrapping_add(page as usize));
    }

    /// Bytes of memory of the simulation.
    pub fn memory_bytes(&self) -> u64 {
        let held: usize = self.held.iter().map(|pages| pages.capacity() * size_of::<MetaPage>()).sum();
        (4 * (self.table.len() + self.newest.len() + self.holders.len()) + held) as u64
    }
}
