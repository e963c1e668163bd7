//! What the pages hold that an FTL writes for itself: they survive power cuts as their flash does.

use crate::table::{filled, prefetch};
use crate::units::{BlockId, Divider, Lpn, Slot};
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

/// A page that the FTL wrote for itself.
#[derive(Debug)]
pub enum MetaPage {
    /// A version of a translation page, told by what it changed.
    Translation {
        /// Where the version before was written; [`Slot::NONE`] for the first.
        previous: Slot,
        /// Where the entries that differ from it begin among those of its block; of the first version there are none.
        first: u32,
        /// How many they are.
        changes: u32,
    },
    /// A node of a translation tree: addresses of its children. Boxed once more, which makes all pages a third smaller.
    Node(Box<Box<[Slot]>>),
    /// A page of the validity store, and how things stood at the time.
    Validity(Box<(ValidityPage, Note)>),
    /// A page of the bitmap that another has replaced: nobody reads it again, since its spare area says all that recovery asks. Bitmaps
    /// written anew for each page of the user would soon fill the simulation's memory.
    Replaced,
    /// A page that was not programmed to its end.
    Unreadable,
}

impl MetaPage {
    /// Bytes of memory that the page leads to.
    fn boxed_bytes(&self) -> usize {
        match self {
            MetaPage::Translation { .. } | MetaPage::Replaced | MetaPage::Unreadable => 0,
            MetaPage::Node(children) => size_of_val(children) + size_of_val(&***children),
            MetaPage::Validity(page) => size_of_val(&**page) + page.0.boxed_bytes(),
        }
    }
}

/// Changes a page for which an erased block of metadata keeps memory.
const KEPT_CHANGES: usize = 8;
/// Of so many blocks that hold metadata one may be erased and keep its memory, and a few besides.
const USED_FOR_EACH_KEPT: usize = 4;
const ALWAYS_KEPT: usize = 16;

/// What a block of metadata holds. Some keep their memory when they are erased, for those that come after them.
#[derive(Debug, Default)]
struct Held {
    pages: Vec<MetaPage>,
    /// Changes of all its versions of translation pages, one after the other.
    changes: Vec<Change>,
}

impl Held {
    fn has_memory(&self) -> bool {
        self.pages.capacity() > 0
    }

    /// The pages will be dropped, and each leads to memory elsewhere that is given back: fetches all of it, a step at a time.
    fn foresee_drop(&self) {
        let validity = || {
            self.pages
                .iter()
                .filter_map(|page| if let MetaPage::Validity(page) = page { Some(page) } else { None })
        };
        validity().for_each(|page| prefetch(&raw const **page));
        validity().for_each(|page| {
            if let ValidityPage::Gecko(page) = &page.0 {
                // What the allocator keeps of a piece of memory is before it.
                prefetch(page.entries.as_ptr().wrapping_sub(1));
            }
        });
    }
}

/// Contents of the flash-resident translation table and of all other metadata pages, by their place in flash.
///
/// Of the table's pages the newest versions are kept whole, in one array, and older ones as differences: a
/// synchronisation changes one or two of a thousand entries, and copying the others would be most of the simulation's
/// work. What can be read is the same: any version, as long as its block is not erased.
pub struct Contents {
    /// Erase timestamps of the blocks, which are in their spare areas; empty unless wear levelling keeps them.
    pub erased_at: Vec<u32>,
    per_page: Divider,
    /// The newest version of every translation page, one after the other.
    table: Vec<Slot>,
    /// Where the newest version of each is.
    newest: Vec<Slot>,
    /// Number of each block's entry in `held`, plus 1; 0 for a block without metadata.
    holders: Vec<u32>,
    held: Vec<Held>,
    unused: Vec<u32>,
    /// How many of those that are unused keep their memory.
    kept: usize,
    /// What pages lead to, bytes.
    boxed_bytes: usize,
    per_block: Divider,
}

impl Contents {
    /// Empty flash: no translation page has a version.
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32, entries_per_page: u32) -> Self {
        let translation_pages = logical_pages.div_ceil(entries_per_page) as usize;
        Contents {
            erased_at: Vec::new(),
            per_page: Divider::new(entries_per_page),
            table: filled(translation_pages * entries_per_page as usize, Slot::NONE),
            newest: filled(translation_pages, Slot::NONE),
            holders: filled(blocks as usize, 0),
            held: Vec::new(),
            unused: Vec::new(),
            kept: 0,
            boxed_bytes: 0,
            per_block: Divider::new(pages_per_block),
        }
    }

    /// Entries of a translation page.
    pub fn entries_per_page(&self) -> u32 {
        self.per_page.divisor()
    }

    /// The translation page that has the entry of a logical page.
    #[inline]
    pub fn translation_page(&self, page: Lpn) -> u32 {
        self.per_page.quotient(page.0)
    }

    /// Position of the logical page's entry in it.
    #[inline]
    pub fn entry_of(&self, page: Lpn) -> u32 {
        page.0 - self.translation_page(page) * self.per_page.divisor()
    }

    /// Position in the table of the first entry of a translation page.
    #[inline]
    fn first_entry(&self, number: u32) -> usize {
        number as usize * self.per_page.divisor() as usize
    }

    /// Number of translation pages.
    pub fn translation_pages(&self) -> u32 {
        self.newest.len() as u32
    }

    fn block_of(&self, at: Slot) -> (usize, usize) {
        let block = self.per_block.quotient(at.0);
        (block as usize, (at.0 - block * self.per_block.divisor()) as usize)
    }

    /// What the block of `at` holds, to be added what was programmed there.
    #[inline]
    fn holder(&mut self, at: Slot) -> &mut Held {
        let (block, index) = self.block_of(at);
        if self.holders[block] == 0 {
            self.holders[block] = match self.unused.pop() {
                Some(free) => {
                    self.kept -= usize::from(self.held[free as usize - 1].has_memory());
                    free
                }
                None => {
                    self.held.push(Held::default());
                    self.held.len() as u32
                }
            };
        }
        let held = &mut self.held[self.holders[block] as usize - 1];
        // Attempts that failed left no content.
        if held.pages.len() < index {
            held.pages.resize_with(index, || MetaPage::Unreadable);
        }
        held
    }

    /// A page other than one of the table was programmed.
    pub fn program(&mut self, at: Slot, page: MetaPage) {
        debug_assert!(!matches!(page, MetaPage::Translation { .. }));
        self.boxed_bytes += page.boxed_bytes();
        self.holder(at).pages.push(page);
    }

    /// The next version of translation page `number` was programmed at `at`, with these entries changed.
    pub fn program_translation(&mut self, number: u32, at: Slot, entries: &[(u32, Slot)]) {
        let first = self.first_entry(number);
        let previous = std::mem::replace(&mut self.newest[number as usize], at);
        let mut table = std::mem::take(&mut self.table);
        let held = self.holder(at);
        let from = held.changes.len();
        let changes = entries.iter().map(|&(entry, new)| {
            let old = std::mem::replace(&mut table[first + entry as usize], new);
            Change { entry, old }
        });
        // Nobody asks what there was before the first version, which has a thousand entries when a drive is filled.
        if previous == Slot::NONE {
            changes.for_each(drop)
        } else {
            held.changes.extend(changes)
        }
        let (from, changes) = (from as u32, (held.changes.len() - from) as u32);
        held.pages.push(MetaPage::Translation { previous, first: from, changes });
        self.table = table;
    }

    /// What was programmed at `at`; `None` where that is no metadata.
    pub fn page(&self, at: Slot) -> Option<&MetaPage> {
        let (block, index) = self.block_of(at);
        let holder = (*self.holders.get(block)?).checked_sub(1)?;
        self.held[holder as usize].pages.get(index)
    }

    /// The page at `at` has been replaced, and is forgotten if it is one of the bitmap.
    pub fn forget_bitmap(&mut self, at: Slot) {
        if self.bitmap(at).is_some() {
            let page = self.page_mut(at).expect("just found");
            let forgotten = std::mem::replace(page, MetaPage::Replaced);
            self.boxed_bytes -= forgotten.boxed_bytes();
        }
    }

    /// Gives the words of the bitmap's page at `from` to the page at `to`, and changes them there.
    pub fn hand_over(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64])) {
        let mut words = std::mem::take(self.bitmap(from).expect("a page of the bitmap"));
        change(&mut words);
        *self.bitmap(to).expect("a page of the bitmap") = words;
    }

    fn page_mut(&mut self, at: Slot) -> Option<&mut MetaPage> {
        let (block, index) = self.block_of(at);
        let holder = self.holders[block].checked_sub(1)?;
        self.held[holder as usize].pages.get_mut(index)
    }

    /// The words of the bitmap's page at `at`, if one is there.
    fn bitmap(&mut self, at: Slot) -> Option<&mut Box<[u64]>> {
        let MetaPage::Validity(page) = self.page_mut(at)? else { return None };
        let ValidityPage::Bitmap(bitmap) = &mut page.0 else { return None };
        Some(&mut bitmap.words)
    }

    /// The block was erased.
    pub fn erase(&mut self, block: BlockId) {
        let holder = std::mem::take(&mut self.holders[block.index()]);
        if holder > 0 {
            // Where a drive's spare blocks were filled for the first time, many more held metadata than ever will again.
            let used = self.held.len() - self.unused.len();
            let keeps = self.kept < used / USED_FOR_EACH_KEPT + ALWAYS_KEPT;
            let held = &mut self.held[holder as usize - 1];
            held.foresee_drop();
            self.boxed_bytes -= held.pages.iter().map(MetaPage::boxed_bytes).sum::<usize>();
            held.pages.clear();
            held.changes.clear();
            // When a drive is filled a version changes a thousand entries; hardly any later one does.
            if held.changes.capacity() > KEPT_CHANGES * self.per_block.divisor() as usize {
                held.changes = Vec::new();
            }
            if !keeps {
                *held = Held::default();
            }
            self.kept += usize::from(held.has_memory());
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
            return self.table[self.first_entry(number) + entry as usize];
        }
        self.version(number, at)[entry as usize]
    }

    /// All entries of the version of translation page `number` that was programmed at `at`; panics as [`Contents::entry`].
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

    /// What the version at `at` changed, of whatever translation page it is.
    pub fn changes(&self, at: Slot) -> &[Change] {
        let (_, changes) = self.translation(at).unwrap_or_else(|| panic!("no translation page is at {at:?}"));
        changes
    }

    /// The version at `at`, if one is there: where the version before it is, and what it changed.
    fn translation(&self, at: Slot) -> Option<(Slot, &[Change])> {
        let Some(&MetaPage::Translation { previous, first, changes }) = self.page(at) else { return None };
        let holder = self.holders[self.block_of(at).0] as usize - 1;
        Some((previous, &self.held[holder].changes[first as usize..(first + changes) as usize]))
    }

    /// The table's entry of a logical page will be read and changed soon: a hint.
    #[inline]
    pub fn prefetch(&self, page: Lpn) {
        self.prefetch_entry(page);
        self.prefetch_newest(self.translation_page(page));
    }

    /// The same of the entry alone.
    #[inline]
    pub fn prefetch_entry(&self, page: Lpn) {
        prefetch(self.table.as_ptr().wrapping_add(page.index()));
    }

    /// The newest version of translation page `number` will be read and replaced soon: a hint.
    #[inline]
    pub fn prefetch_newest(&self, number: u32) {
        prefetch(self.newest.as_ptr().wrapping_add(number as usize));
    }

    /// The page of the validity store at `at` will be read soon: fetches what the step leads to, of those from the address to
    /// the content.
    #[inline]
    pub fn foresee(&self, at: Slot, step: u32) {
        let (block, index) = self.block_of(at);
        if step == 0 {
            prefetch(self.holders.as_ptr().wrapping_add(block));
            return;
        }
        let held = self.held.as_ptr().wrapping_add((self.holders[block] as usize).wrapping_sub(1));
        if step == 1 {
            prefetch(held);
            return;
        }
        let Some(Held { pages, .. }) = self.held.get((self.holders[block] as usize).wrapping_sub(1)) else {
            return;
        };
        match pages.get(index) {
            None => {}
            Some(page) if step == 2 => prefetch(page),
            Some(MetaPage::Validity(page)) => prefetch(&raw const **page),
            Some(_) => {}
        }
    }

    /// All entries of the newest version of a translation page.
    pub fn newest_version(&self, number: u32) -> &[Slot] {
        let first = self.first_entry(number);
        &self.table[first..first + self.per_page.divisor() as usize]
    }

    /// The version of translation page `number` at `at` is the newest, and these are its entries.
    pub fn restore_newest(&mut self, number: u32, at: Slot, entries: &[Slot]) {
        let first = self.first_entry(number);
        self.table[first..first + entries.len()].copy_from_slice(entries);
        self.newest[number as usize] = at;
    }

    /// A version was found at `at`, after the one at `previous`, from which it differs by `changes`. Pages of a block are found in
    /// their order.
    pub fn restore_version(&mut self, at: Slot, previous: Slot, changes: &[Change]) {
        let held = self.holder(at);
        let first = held.changes.len() as u32;
        held.changes.extend_from_slice(changes);
        held.pages.push(MetaPage::Translation { previous, first, changes: changes.len() as u32 });
    }

    /// The last page of a run is at `at`, and has these lists, which followed from the run's other pages.
    pub fn complete_run(&mut self, at: Slot, first_keys: Box<[u64]>, slots: Box<[Slot]>) {
        let Some(page) = self.page_mut(at) else { return };
        let before = page.boxed_bytes();
        if let MetaPage::Validity(held) = page
            && let ValidityPage::Gecko(run) = &mut held.0
            && let Some(postamble) = &mut run.postamble
        {
            (postamble.first_keys, postamble.slots) = (first_keys, slots);
        }
        let after = page.boxed_bytes();
        self.boxed_bytes = self.boxed_bytes - before + after;
    }

    /// The entry of a logical page in the newest version of its translation page.
    #[inline]
    pub fn newest_entry(&self, page: Lpn) -> Slot {
        self.table[page.index()]
    }

    /// Bytes of memory of the simulation.
    pub fn memory_bytes(&self) -> u64 {
        let bytes = |held: &Held| {
            held.pages.capacity() * size_of::<MetaPage>() + held.changes.capacity() * size_of::<Change>()
        };
        let held: usize = self.held.iter().map(bytes).sum();
        (4 * (self.table.len() + self.newest.len() + self.holders.len()) + held + self.boxed_bytes) as u64
    }
}
