//! The cache of mapping entries of an FTL that keeps its table in flash (DFTL, LazyFTL, GeckoFTL).

use super::ENTRY_BYTES;
use super::ahead::Ahead;
use super::index::Index;
use super::lists::{Chains, DIRTY, Links, Node, Queue, Ring, UNCERTAIN, UNIDENTIFIED, WriteOrder};
use crate::config::ConfigError;
use crate::table::{filled, prefetch};
use crate::units::{Divider, Lpn, Slot};

/// A cached mapping entry (GeckoFTL, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where the page is; [`Slot::NONE`] if it was trimmed.
    pub slot: Slot,
    /// A before-image that is known but not yet reported invalid; [`Slot::NONE`] if there is none.
    pub before: Slot,
    /// Not yet in the table in flash.
    pub dirty: bool,
    /// The table points to a before-image that was not reported invalid yet (the UIP flag, section 4.1).
    pub unidentified: bool,
    /// Restored after a loss of power: whether it is `dirty` and `unidentified` must still be found out (appendix C.3).
    pub uncertain: bool,
}

impl Mapping {
    #[inline(always)]
    fn flags(&self) -> u32 {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        flag(self.dirty, DIRTY) | flag(self.unidentified, UNIDENTIFIED) | flag(self.uncertain, UNCERTAIN)
    }
}

/// A cached entry, until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

/// The sizes of a [`MapCache`].
#[derive(Clone, Copy, Debug)]
pub struct CacheConfig {
    /// Entries at most, C in the paper; at least 1.
    pub entries: u32,
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Consecutive mapping entries in a translation page.
    pub entries_per_translation_page: u32,
    /// Dirty entries at most, where that is bounded (LazyFTL and IB-FTL, section 5.3).
    pub dirty_entries: Option<u32>,
}

impl CacheConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key: &str, problem: String| Err(ConfigError::new(key, problem));
        // Two more nodes and the mark of no node need numbers, too.
        if !(1..=1 << 31).contains(&self.entries) {
            return wrong("entries", format!("{}, but 1 to 2^31 are allowed", self.entries));
        }
        let per_page = self.entries_per_translation_page;
        if !(1..=1 << 31).contains(&per_page) {
            return wrong("entries_per_translation_page", format!("{per_page}, but 1 to 2^31 are allowed"));
        }
        match self.dirty_entries {
            Some(dirty) if !(1..=self.entries).contains(&dirty) => {
                wrong("dirty_entries", format!("{dirty}, but 1 to {} are allowed", self.entries))
            }
            _ => Ok(()),
        }
    }
}

/// Removals before which the tables of an entry at the end of the queue are fetched, and its neighbours in them.
const TABLES_AHEAD: usize = 59;
const NEIGHBOURS_AHEAD: usize = 55;
/// The same of the entries of its translation page that are before it in the chain, one after the other, if it is dirty: a removal
/// takes longer than memory does.
const CHAIN_AHEAD: [usize; COMPANIONS] = [52, 49, 46, 43, 40];
/// Synchronisations before which an entry is fetched, where dirty entries are bounded.
const WRITTEN_AHEAD: usize = 16;
/// Entries of a translation page, at most, that are looked at beforehand.
const COMPANIONS: usize = 5;
/// Entries from which on a cache looks ahead: those of a smaller one are all in the processor's.
const AHEAD_FROM: u32 = 1 << 11;

/// Mapping entries by page, by their last use, and by the translation page that they belong to.
///
/// All operations but those on whole translation pages take constant time. The paper keeps the entries in a tree for the
/// sake of the latter (section 4, footnote 6); here each translation page has a chain of its entries.
///
/// Memory: 56 bytes an entry (and up to 16 more where `entries` is no power of two), 4 bytes a translation page.
pub struct MapCache {
    /// The entries, then the anchor of the queue.
    pub(super) queue: Queue,
    /// Its anchor is that of the queue, too.
    pub(super) write_order: WriteOrder,
    pub(super) chains: Chains,
    pub(super) index: Index,
    per_translation_page: Divider,
    /// The first free node.
    pub(super) free: u32,
    pub(super) capacity: u32,
    pub(super) len: u32,
    pub(super) dirty: u32,
    pub(super) dirty_limit: Option<u32>,
    pub(super) ahead: Ahead,
    /// Entries inserted so far.
    pub(super) inserted: u64,
    /// Uses of cached entries since the nodes were last in order.
    pub(super) used: u64,
    /// Insertions after which they are put in order, if it is worth while.
    pub(super) order_due: u64,
}

impl MapCache {
    /// An empty cache. Errors name the key of [`CacheConfig`].
    pub fn new(config: CacheConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let anchor = config.entries;
        let empty = Node {
            page: 0,
            slot: Slot::NONE.0,
            before: Slot::NONE.0,
            flags: 0,
            queue: Links::NONE,
            chain: Links::NONE,
        };
        let mut nodes = filled(config.entries as usize + 1, empty);
        for (next, node) in (1..).zip(&mut nodes[..config.entries as usize - 1]) {
            node.queue.after = next;
        }
        nodes[anchor as usize].queue = Links::alone(anchor);
        let queue = Queue(nodes);
        let mut write_order = WriteOrder(filled(config.entries as usize + 1, Links::NONE));
        write_order.0[anchor as usize] = Links::alone(anchor);
        let per_translation_page = Divider::new(config.entries_per_translation_page);
        let translation_pages = config.logical_pages.div_ceil(config.entries_per_translation_page);
        Ok(MapCache {
            queue,
            write_order,
            chains: Chains { heads: filled(translation_pages as usize, anchor), end: anchor },
            index: Index::new(config.entries),
            per_translation_page,
            free: 0,
            capacity: config.entries,
            len: 0,
            dirty: 0,
            dirty_limit: config.dirty_entries,
            ahead: Ahead::new(anchor),
            inserted: 0,
            used: 0,
            order_due: Self::order_interval(config.entries),
        })
    }

    #[inline(always)]
    pub(super) fn anchor(&self) -> u32 {
        self.capacity
    }

    #[inline(always)]
    pub(super) fn node(&self, node: u32) -> &Node {
        &self.queue.0[node as usize]
    }

    #[inline(always)]
    pub(super) fn translation_page_of(&self, page: u32) -> u32 {
        self.per_translation_page.quotient(page)
    }

    /// The entry of `page`, if it is cached. Does not count as a use.
    #[inline(always)]
    pub fn find(&self, page: Lpn) -> Option<Handle> {
        self.index.find(page.0).map(Handle)
    }

    /// What the entry says.
    #[inline(always)]
    pub fn get(&self, handle: Handle) -> Mapping {
        let node = self.node(handle.0);
        Mapping {
            slot: Slot(node.slot),
            before: Slot(node.before),
            dirty: node.flags & DIRTY != 0,
            unidentified: node.flags & UNIDENTIFIED != 0,
            uncertain: node.flags & UNCERTAIN != 0,
        }
    }

    /// The logical page of the entry.
    #[inline(always)]
    pub fn page(&self, handle: Handle) -> Lpn {
        Lpn(self.node(handle.0).page)
    }

    /// Changes the entry. If it is dirty now, that counts as a write; it never counts as a use.
    #[inline(always)]
    pub fn set(&mut self, handle: Handle, mapping: Mapping) {
        let node = &mut self.queue.0[handle.0 as usize];
        let was_dirty = node.flags & DIRTY != 0;
        node.slot = mapping.slot.0;
        node.before = mapping.before.0;
        node.flags = mapping.flags();
        self.note_dirty(handle.0, was_dirty, mapping.dirty);
    }

    /// Corrects what the entry says, without a write of the page: it stays as dirty as it is, and where it is in all orders.
    pub fn amend(&mut self, handle: Handle, mapping: Mapping) {
        let node = &mut self.queue.0[handle.0 as usize];
        debug_assert_eq!(node.flags & DIRTY != 0, mapping.dirty);
        node.slot = mapping.slot.0;
        node.before = mapping.before.0;
        node.flags = mapping.flags();
    }

    /// Keeps the number of dirty entries and the order of their writes.
    #[inline(always)]
    fn note_dirty(&mut self, node: u32, was_dirty: bool, is_dirty: bool) {
        self.dirty += u32::from(is_dirty);
        self.dirty -= u32::from(was_dirty);
        if was_dirty {
            self.write_order.unlink(node);
        }
        if is_dirty {
            self.write_order.link(node, self.anchor());
        }
    }

    /// Makes the entry the most recently used one.
    #[inline(always)]
    pub fn touch(&mut self, handle: Handle) {
        self.used += 1;
        self.queue.unlink(handle.0);
        self.queue.link(handle.0, self.anchor());
    }

    /// Caches an entry for `page`, as the most recently used one.
    ///
    /// Panics if the cache is full, or holds an entry for the page already.
    #[inline(always)]
    pub fn insert(&mut self, page: Lpn, mapping: Mapping) -> Handle {
        assert!(!self.is_full(), "an entry for page {} in a full cache", page.0);
        let node = self.free;
        let is_new = self.index.insert(page.0, node);
        assert!(is_new, "a second entry for page {}", page.0);
        let slot = &mut self.queue.0[node as usize];
        self.free = slot.queue.after;
        slot.page = page.0;
        slot.slot = mapping.slot.0;
        slot.before = mapping.before.0;
        slot.flags = mapping.flags();
        self.queue.link(node, self.anchor());
        let translation_page = self.translation_page_of(page.0);
        self.chains.link(&mut self.queue.0, node, translation_page);
        self.len += 1;
        self.inserted += 1;
        self.note_dirty(node, false, mapping.dirty);
        Handle(node)
    }

    /// Takes the entry out of the cache, dirty or not.
    #[inline(always)]
    pub fn remove(&mut self, handle: Handle) {
        let Node { page, flags, queue, .. } = *self.node(handle.0);
        if queue.after == self.anchor() && self.capacity >= AHEAD_FROM {
            self.look_ahead(handle.0);
        }
        self.index.remove(page);
        self.queue.unlink(handle.0);
        let translation_page = self.translation_page_of(page);
        self.chains.unlink(&mut self.queue.0, handle.0, translation_page);
        self.note_dirty(handle.0, flags & DIRTY != 0, false);
        self.queue.0[handle.0 as usize].queue.after = self.free;
        self.free = handle.0;
        self.len -= 1;
    }

    /// The end of the queue is removed, and those before it will be next: fetches what removing them will need. Halves the
    /// time in a cache of 2^19 entries.
    #[inline(always)]
    fn look_ahead(&mut self, removed: u32) {
        let (nodes, end) = (&self.queue.0, self.anchor());
        let farthest = self.ahead.removed(removed, end, |node| nodes[node as usize].queue.before);
        self.prefetch_node(farthest);
        let soon = self.ahead.node(TABLES_AHEAD);
        self.prefetch(Lpn(self.node(soon).page));
        self.write_order.prefetch(soon);
        let sooner = self.ahead.node(NEIGHBOURS_AHEAD);
        let Node { page, flags, chain: Links { before, after }, .. } = *self.node(sooner);
        self.index.prefetch_more(page);
        self.prefetch_node(before);
        self.prefetch_node(after);
        if flags & DIRTY != 0 {
            *self.ahead.followed(NEIGHBOURS_AHEAD) = sooner;
            let Links { before, after } = self.write_order.neighbours(sooner);
            [before, after].into_iter().for_each(|node| self.write_order.prefetch(node));
        }
    }

    #[inline(always)]
    fn prefetch_node(&self, node: u32) {
        prefetch(self.queue.0.as_ptr().wrapping_add(node as usize));
    }

    /// Follows the chains of the dirty entries that will be removed soon, each by one entry, which is fetched; `visit` is told the page of
    /// the one before it, which was fetched earlier.
    #[inline(always)]
    pub fn follow_chains(&mut self, mut visit: impl FnMut(Lpn)) {
        if self.capacity < AHEAD_FROM {
            return;
        }
        let end = self.anchor();
        for removals in CHAIN_AHEAD {
            let followed = self.ahead.followed(removals);
            if *followed != end {
                let Node { page, chain, .. } = self.queue.0[*followed as usize];
                *followed = chain.before;
                self.write_order.prefetch(chain.before);
                self.prefetch_node(chain.before);
                visit(Lpn(page));
            }
        }
    }

    /// The page of the entry that will probably be removed, as the least recently used one, after so many others, if it is dirty;
    /// `None` in a small cache, for which it is not worth while to know. A hint for prefetching.
    #[inline(always)]
    pub fn dirty_removed_after(&self, removals: usize) -> Option<Lpn> {
        let node = self.node(self.ahead.node(removals));
        (self.capacity >= AHEAD_FROM && node.flags & DIRTY != 0).then_some(Lpn(node.page))
    }

    /// The pages of the dirty entries that will probably be synchronised after so many others, where their number is bounded and those
    /// written the longest ago go first; `None` in a small cache. Fetches an entry that is farther away. A hint for prefetching.
    #[inline(always)]
    pub fn dirty_written_after<const N: usize>(&self, others: [usize; N]) -> [Option<Lpn>; N] {
        let mut found = [None; N];
        if self.dirty_limit.is_none() || self.capacity < AHEAD_FROM {
            return found;
        }
        let mut node = self.write_order.neighbours(self.anchor()).before;
        for other in 0..WRITTEN_AHEAD {
            for (found, wanted) in found.iter_mut().zip(others) {
                if wanted == other && node != self.anchor() {
                    *found = Some(Lpn(self.node(node).page));
                }
            }
            node = self.write_order.neighbours(node).before;
        }
        self.prefetch_node(node);
        self.write_order.prefetch(node);
        found
    }

    /// Whether an entry must be removed before another can be inserted.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Entries in the cache.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether nothing is cached.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Dirty ones among them.
    #[inline(always)]
    pub fn dirty_len(&self) -> u32 {
        self.dirty
    }

    /// The least recently used entry.
    #[inline(always)]
    pub fn oldest(&self) -> Option<Handle> {
        let last = self.node(self.anchor()).queue.before;
        (last != self.anchor()).then_some(Handle(last))
    }

    /// The dirty entry that was written the longest ago.
    #[inline(always)]
    pub fn oldest_dirty(&self) -> Option<Handle> {
        let last = self.write_order.0[self.anchor() as usize].before;
        (last != self.anchor()).then_some(Handle(last))
    }

    /// Whether there are more dirty entries than are allowed.
    #[inline(always)]
    pub fn over_dirty_limit(&self) -> bool {
        self.dirty_limit.is_some_and(|limit| self.dirty > limit)
    }

    /// The dirty entries of a translation page, in the order of their pages; what a synchronisation writes (section 4).
    pub fn of_translation_page(&self, translation_page: u32, found: &mut Vec<Handle>) {
        self.in_chain(translation_page, found, |node| node.flags & DIRTY != 0);
    }

    /// All cached entries of a translation page, in the order of their pages (section 4, footnote 6).
    pub fn cached_of_translation_page(&self, translation_page: u32, found: &mut Vec<Handle>) {
        self.in_chain(translation_page, found, |_| true);
    }

    #[inline(always)]
    fn in_chain(&self, translation_page: u32, found: &mut Vec<Handle>, wanted: impl Fn(&Node) -> bool) {
        found.clear();
        let nodes = self.chains.nodes(&self.queue.0, translation_page);
        found.extend(nodes.filter(|&node| wanted(self.node(node))).map(Handle));
        found.sort_unstable_by_key(|&handle| self.page(handle));
    }

    /// Brings what [`find`](Self::find) and [`insert`](Self::insert) of `page` read into the processor's cache. A hint.
    #[inline(always)]
    pub fn prefetch(&self, page: Lpn) {
        self.index.prefetch(page.0);
        self.chains.prefetch(self.translation_page_of(page.0));
    }

    /// The cached pages of the same translation page, a few of them at most. For prefetching.
    #[inline(always)]
    pub fn companions(&self, page: Lpn) -> impl Iterator<Item = Lpn> + '_ {
        let nodes = self.chains.nodes(&self.queue.0, self.translation_page_of(page.0));
        nodes.take(COMPANIONS).map(|node| self.page(Handle(node)))
    }

    /// The same of what those read next, when what [`MapCache::prefetch`] asked for has arrived.
    #[inline(always)]
    pub fn prefetch_near(&self, page: Lpn) {
        self.prefetch_node(self.chains.heads[self.translation_page_of(page.0) as usize]);
        self.prefetch_node(self.index.find_at_home(page.0, self.anchor()));
        self.index.prefetch_more(page.0);
    }

    /// RAM of the cache on the modelled drive, bytes: [`ENTRY_BYTES`] for each entry that it may hold.
    pub fn ram(&self) -> u64 {
        ENTRY_BYTES * u64::from(self.capacity)
    }

    /// Memory of the simulation, bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Node>() * self.queue.0.len()
            + size_of::<Links>() * self.write_order.0.len()
            + size_of::<u32>() * self.chains.heads.len()
            + self.index.memory_bytes()
    }
}
