//! Cache of mapping entries of an FTL with its mapping table in flash (DFTL, LazyFTL, GeckoFTL).

use super::ENTRY_BYTES;
use super::index::Index;
use super::lists::{Chains, DIRTY, Links, Node, Queue, Ring, UNCERTAIN, UNIDENTIFIED, WriteOrder};
use super::lookahead::EvictionLookahead;
use crate::config::ConfigError;
use crate::table::{filled, prefetch};
use crate::units::{Divider, Lpn, Slot};

/// A cached mapping entry (GeckoFTL, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Location of the page; [`Slot::NONE`] if it was trimmed.
    pub slot: Slot,
    /// A before-image that is known but not yet reported as invalid; [`Slot::NONE`] without one.
    pub before_image: Slot,
    /// True if the entry is not yet in the table in flash.
    pub dirty: bool,
    /// True if the table points to a before-image that was not reported as invalid yet (the UIP flag, section 4.1).
    pub unidentified: bool,
    /// True after restoration from a power loss, until it is known if the entry is really `dirty` and `unidentified`
    /// (appendix C.3).
    pub uncertain: bool,
}

impl Mapping {
    /// Returns an entry that equals the table in flash.
    #[inline(always)]
    pub fn clean(slot: Slot) -> Self {
        Mapping { slot, before_image: Slot::NONE, dirty: false, unidentified: false, uncertain: false }
    }

    #[inline(always)]
    fn flags(&self) -> u32 {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        flag(self.dirty, DIRTY) | flag(self.unidentified, UNIDENTIFIED) | flag(self.uncertain, UNCERTAIN)
    }
}

/// Handle of a cached entry, valid until the entry is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

/// Sizes of a [`MapCache`].
#[derive(Clone, Copy, Debug)]
pub struct CacheConfig {
    /// Maximum number of entries, C in the paper; at least 1.
    pub entries: u32,
    /// Number of logical pages of the drive.
    pub logical_pages: u32,
    /// Number of consecutive mapping entries in a translation page.
    pub entries_per_translation_page: u32,
    /// Maximum number of dirty entries, if it is limited (LazyFTL and IB-FTL, section 5.3).
    pub dirty_entries: Option<u32>,
}

impl CacheConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let error = |key: &str, problem: String| Err(ConfigError::new(key, problem));
        // The numbers must also suffice for two more nodes and for the value that means "no node".
        if !(1..=1 << 31).contains(&self.entries) {
            return error("entries", format!("{}, but 1 to 2^31 are allowed", self.entries));
        }
        let per_page = self.entries_per_translation_page;
        if !(1..=1 << 31).contains(&per_page) {
            return error("entries_per_translation_page", format!("{per_page}, but 1 to 2^31 are allowed"));
        }
        match self.dirty_entries {
            Some(dirty) if !(1..=self.entries).contains(&dirty) => {
                error("dirty_entries", format!("{dirty}, but 1 to {} are allowed", self.entries))
            }
            _ => Ok(()),
        }
    }
}

/// Prefetch distances, in evictions, for the tables of an entry at the end of the queue, and for its neighbours in
/// them.
const TABLE_PREFETCH_DISTANCE: usize = 59;
const NEIGHBOUR_PREFETCH_DISTANCE: usize = 55;
/// Prefetch distances, in evictions, for the entries that precede a dirty entry in the chain of its translation page.
/// One entry is prefetched after the other: an eviction takes longer than a memory access.
const CHAIN_PREFETCH_DISTANCES: [usize; MAX_CHAIN_PREFETCHES] = [52, 49, 46, 43, 40];
/// Prefetch distance, in synchronisations, for an entry, if the number of dirty entries is limited.
const WRITE_PREFETCH_DISTANCE: usize = 16;
/// Maximum number of entries of a translation page that are prefetched.
const MAX_CHAIN_PREFETCHES: usize = 5;
/// Minimum capacity for prefetching: a smaller cache fits in the CPU cache.
const MIN_PREFETCH_CAPACITY: u32 = 1 << 11;

/// Mapping entries, accessible by page, by last use, and by translation page.
///
/// All operations take constant time, except those on whole translation pages. For the latter, the paper keeps the
/// entries in a tree (section 4, footnote 6); here, each translation page has a chain of its entries.
///
/// Memory: 56 bytes per entry (up to 16 more if `entries` is not a power of two), and 4 bytes per translation page.
pub struct MapCache {
    /// The entries, followed by the anchor of the queue.
    pub(super) queue: Queue,
    /// Order of writes of dirty entries; it has the same anchor as the queue.
    pub(super) write_order: WriteOrder,
    pub(super) chains: Chains,
    pub(super) index: Index,
    per_translation_page: Divider,
    /// The first free node.
    pub(super) first_free: u32,
    pub(super) capacity: u32,
    pub(super) len: u32,
    pub(super) dirty: u32,
    pub(super) dirty_limit: Option<u32>,
    pub(super) lookahead: EvictionLookahead,
    /// Number of entries inserted so far.
    pub(super) insertions: u64,
    /// Number of uses of cached entries since the nodes were last sorted.
    pub(super) uses: u64,
    /// Value of `insertions` at which the nodes may be sorted again.
    pub(super) next_sort_at: u64,
}

impl MapCache {
    /// Creates an empty cache. Errors name the key of [`CacheConfig`].
    pub fn new(config: CacheConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let anchor = config.entries;
        let empty = Node {
            page: 0,
            slot: Slot::NONE.0,
            before_image: Slot::NONE.0,
            flags: 0,
            queue: Links::NONE,
            chain: Links::NONE,
        };
        let mut nodes = filled(config.entries as usize + 1, empty);
        for (next, node) in (1..).zip(&mut nodes[..config.entries as usize - 1]) {
            node.queue.after = next;
        }
        nodes[anchor as usize].queue = Links::singleton(anchor);
        let queue = Queue(nodes);
        let mut write_order = WriteOrder(filled(config.entries as usize + 1, Links::NONE));
        write_order.0[anchor as usize] = Links::singleton(anchor);
        let per_translation_page = Divider::new(config.entries_per_translation_page);
        let translation_pages = config.logical_pages.div_ceil(config.entries_per_translation_page);
        Ok(MapCache {
            queue,
            write_order,
            chains: Chains { heads: filled(translation_pages as usize, anchor), end: anchor },
            index: Index::new(config.entries),
            per_translation_page,
            first_free: 0,
            capacity: config.entries,
            len: 0,
            dirty: 0,
            dirty_limit: config.dirty_entries,
            lookahead: EvictionLookahead::new(anchor),
            insertions: 0,
            uses: 0,
            next_sort_at: Self::sort_interval(config.entries),
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

    /// Returns the entry of `page`, if it is cached. Does not count as a use.
    #[inline(always)]
    pub fn find(&self, page: Lpn) -> Option<Handle> {
        self.index.find(page.0).map(Handle)
    }

    /// Returns the content of the entry.
    #[inline(always)]
    pub fn get(&self, handle: Handle) -> Mapping {
        let node = self.node(handle.0);
        Mapping {
            slot: Slot(node.slot),
            before_image: Slot(node.before_image),
            dirty: node.flags & DIRTY != 0,
            unidentified: node.flags & UNIDENTIFIED != 0,
            uncertain: node.flags & UNCERTAIN != 0,
        }
    }

    /// Returns the logical page of the entry.
    #[inline(always)]
    pub fn page(&self, handle: Handle) -> Lpn {
        Lpn(self.node(handle.0).page)
    }

    /// Changes the entry. Counts as a write if the entry is then dirty; never counts as a use.
    #[inline(always)]
    pub fn set(&mut self, handle: Handle, mapping: Mapping) {
        let node = &mut self.queue.0[handle.0 as usize];
        let was_dirty = node.flags & DIRTY != 0;
        node.slot = mapping.slot.0;
        node.before_image = mapping.before_image.0;
        node.flags = mapping.flags();
        self.update_dirty(handle.0, was_dirty, mapping.dirty);
    }

    /// Corrects the content of the entry without a write of the page: its dirty state and its positions in all orders
    /// do not change.
    pub fn amend(&mut self, handle: Handle, mapping: Mapping) {
        let node = &mut self.queue.0[handle.0 as usize];
        debug_assert_eq!(node.flags & DIRTY != 0, mapping.dirty);
        node.slot = mapping.slot.0;
        node.before_image = mapping.before_image.0;
        node.flags = mapping.flags();
    }

    /// Updates the number of dirty entries and the order of their writes.
    #[inline(always)]
    fn update_dirty(&mut self, node: u32, was_dirty: bool, is_dirty: bool) {
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
        self.uses += 1;
        self.queue.unlink(handle.0);
        self.queue.link(handle.0, self.anchor());
    }

    /// Caches an entry for `page` as the most recently used one.
    ///
    /// Panics if the cache is full or already contains an entry for the page.
    #[inline(always)]
    pub fn insert(&mut self, page: Lpn, mapping: Mapping) -> Handle {
        assert!(!self.is_full(), "an entry for page {} in a full cache", page.0);
        let node = self.first_free;
        let is_new = self.index.insert(page.0, node);
        assert!(is_new, "a second entry for page {}", page.0);
        let entry = &mut self.queue.0[node as usize];
        self.first_free = entry.queue.after;
        entry.page = page.0;
        entry.slot = mapping.slot.0;
        entry.before_image = mapping.before_image.0;
        entry.flags = mapping.flags();
        self.queue.link(node, self.anchor());
        let translation_page = self.translation_page_of(page.0);
        self.chains.link(&mut self.queue.0, node, translation_page);
        self.len += 1;
        self.insertions += 1;
        self.update_dirty(node, false, mapping.dirty);
        Handle(node)
    }

    /// Removes the entry from the cache, dirty or not.
    #[inline(always)]
    pub fn remove(&mut self, handle: Handle) {
        let Node { page, flags, queue, .. } = *self.node(handle.0);
        if queue.after == self.anchor() && self.capacity >= MIN_PREFETCH_CAPACITY {
            self.prefetch_evictions(handle.0);
        }
        self.index.remove(page);
        self.queue.unlink(handle.0);
        let translation_page = self.translation_page_of(page);
        self.chains.unlink(&mut self.queue.0, handle.0, translation_page);
        self.update_dirty(handle.0, flags & DIRTY != 0, false);
        self.queue.0[handle.0 as usize].queue.after = self.first_free;
        self.first_free = handle.0;
        self.len -= 1;
    }

    /// Prefetches the data for the next evictions, when an entry is evicted from the end of the queue. Halves the
    /// time in a cache of 2^19 entries.
    #[inline(always)]
    fn prefetch_evictions(&mut self, removed: u32) {
        let (nodes, end) = (&self.queue.0, self.anchor());
        let farthest = self.lookahead.on_eviction(removed, end, |node| nodes[node as usize].queue.before);
        self.prefetch_node(farthest);
        let tables_node = self.lookahead.node(TABLE_PREFETCH_DISTANCE);
        self.prefetch(Lpn(self.node(tables_node).page));
        self.write_order.prefetch(tables_node);
        let neighbours_node = self.lookahead.node(NEIGHBOUR_PREFETCH_DISTANCE);
        let Node { page, flags, chain: Links { before, after }, .. } = *self.node(neighbours_node);
        self.index.prefetch_more(page);
        self.prefetch_node(before);
        self.prefetch_node(after);
        if flags & DIRTY != 0 {
            *self.lookahead.chain_position(NEIGHBOUR_PREFETCH_DISTANCE) = neighbours_node;
            let Links { before, after } = self.write_order.neighbours(neighbours_node);
            [before, after].into_iter().for_each(|node| self.write_order.prefetch(node));
        }
    }

    #[inline(always)]
    fn prefetch_node(&self, node: u32) {
        prefetch(self.queue.0.as_ptr().wrapping_add(node as usize));
    }

    /// Follows the chains of the dirty entries that will be evicted soon, by one entry each. Prefetches the new
    /// entry; calls `visit` with the page of the previous one, which was prefetched earlier.
    #[inline(always)]
    pub fn follow_chains(&mut self, mut visit: impl FnMut(Lpn)) {
        if self.capacity < MIN_PREFETCH_CAPACITY {
            return;
        }
        let end = self.anchor();
        for removals in CHAIN_PREFETCH_DISTANCES {
            let position = self.lookahead.chain_position(removals);
            if *position != end {
                let Node { page, chain, .. } = self.queue.0[*position as usize];
                *position = chain.before;
                self.write_order.prefetch(chain.before);
                self.prefetch_node(chain.before);
                visit(Lpn(page));
            }
        }
    }

    /// Returns the page of the entry that will probably be evicted after `removals` other entries, if that entry is
    /// dirty. Returns `None` in a small cache, for which prefetching has no benefit. For prefetching only.
    #[inline(always)]
    pub fn dirty_page_evicted_after(&self, removals: usize) -> Option<Lpn> {
        let node = self.node(self.lookahead.node(removals));
        (self.capacity >= MIN_PREFETCH_CAPACITY && node.flags & DIRTY != 0).then_some(Lpn(node.page))
    }

    /// Returns the pages of the dirty entries that will probably be synchronised after `distances` other pages. Such
    /// pages exist if the number of dirty entries is limited, so that the oldest entries are written first. Returns
    /// `None` in a small cache. Also prefetches a more distant entry. For prefetching only.
    #[inline(always)]
    pub fn dirty_pages_written_after<const N: usize>(&self, distances: [usize; N]) -> [Option<Lpn>; N] {
        let mut found = [None; N];
        if self.dirty_limit.is_none() || self.capacity < MIN_PREFETCH_CAPACITY {
            return found;
        }
        let mut node = self.write_order.neighbours(self.anchor()).before;
        for distance in 0..WRITE_PREFETCH_DISTANCE {
            for (found, distance_wanted) in found.iter_mut().zip(distances) {
                if distance_wanted == distance && node != self.anchor() {
                    *found = Some(Lpn(self.node(node).page));
                }
            }
            node = self.write_order.neighbours(node).before;
        }
        self.prefetch_node(node);
        self.write_order.prefetch(node);
        found
    }

    /// True if an entry must be removed before another one can be inserted.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Returns the number of cached entries.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if no entry is cached.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of dirty entries.
    #[inline(always)]
    pub fn dirty_len(&self) -> u32 {
        self.dirty
    }

    /// Returns the least recently used entry.
    #[inline(always)]
    pub fn oldest(&self) -> Option<Handle> {
        let last = self.node(self.anchor()).queue.before;
        (last != self.anchor()).then_some(Handle(last))
    }

    /// Returns the least recently written dirty entry.
    #[inline(always)]
    pub fn oldest_dirty(&self) -> Option<Handle> {
        let last = self.write_order.0[self.anchor() as usize].before;
        (last != self.anchor()).then_some(Handle(last))
    }

    /// True if there are more dirty entries than allowed.
    #[inline(always)]
    pub fn is_over_dirty_limit(&self) -> bool {
        self.dirty_limit.is_some_and(|limit| self.dirty > limit)
    }

    /// Finds the dirty entries of a translation page, in the order of their pages; these are written by a
    /// synchronisation (section 4).
    pub fn dirty_of_translation_page(&self, translation_page: u32, found: &mut Vec<Handle>) {
        self.collect_chain(translation_page, found, |node| node.flags & DIRTY != 0);
    }

    /// Finds all cached entries of a translation page, in the order of their pages (section 4, footnote 6).
    pub fn cached_of_translation_page(&self, translation_page: u32, found: &mut Vec<Handle>) {
        self.collect_chain(translation_page, found, |_| true);
    }

    #[inline(always)]
    fn collect_chain(
        &self,
        translation_page: u32,
        found: &mut Vec<Handle>,
        predicate: impl Fn(&Node) -> bool,
    ) {
        found.clear();
        let nodes = self.chains.nodes(&self.queue.0, translation_page);
        found.extend(nodes.filter(|&node| predicate(self.node(node))).map(Handle));
        found.sort_unstable_by_key(|&handle| self.page(handle));
    }

    /// Prefetches the data that [`find`](Self::find) and [`insert`](Self::insert) of `page` read.
    #[inline(always)]
    pub fn prefetch(&self, page: Lpn) {
        self.index.prefetch(page.0);
        self.chains.prefetch(self.translation_page_of(page.0));
    }

    /// Returns some cached pages of the same translation page. For prefetching.
    #[inline(always)]
    pub fn pages_in_same_chain(&self, page: Lpn) -> impl Iterator<Item = Lpn> + '_ {
        let nodes = self.chains.nodes(&self.queue.0, self.translation_page_of(page.0));
        nodes.take(MAX_CHAIN_PREFETCHES).map(|node| self.page(Handle(node)))
    }

    /// Prefetches the data that these functions read next, once the data of [`MapCache::prefetch`] has arrived.
    #[inline(always)]
    pub fn prefetch_second_pass(&self, page: Lpn) {
        self.prefetch_node(self.chains.heads[self.translation_page_of(page.0) as usize]);
        self.prefetch_node(self.index.find_in_home_line(page.0, self.anchor()));
        self.index.prefetch_more(page.0);
    }

    /// Returns the RAM of the cache on the modelled drive in bytes: [`ENTRY_BYTES`] for each entry of its capacity.
    pub fn ram(&self) -> u64 {
        ENTRY_BYTES * u64::from(self.capacity)
    }

    /// Returns the memory used by the simulation, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Node>() * self.queue.0.len()
            + size_of::<Links>() * self.write_order.0.len()
            + size_of::<u32>() * self.chains.heads.len()
            + self.index.memory_bytes()
    }
}
