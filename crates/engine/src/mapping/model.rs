//! Comparison of the cache with a naive model: ordered lists that are searched linearly.

use super::{CacheConfig, Handle, MapCache, Mapping};
use crate::units::{Lpn, Slot};
use proptest::prelude::*;

/// An entry in the model.
type Entry = (u32, Mapping);

struct Model {
    config: CacheConfig,
    /// Entries, most recently used first.
    queue: Vec<Entry>,
    /// Pages of dirty entries, most recently written first.
    writes: Vec<u32>,
}

impl Model {
    fn position(&self, page: u32) -> Option<usize> {
        self.queue.iter().position(|entry| entry.0 == page)
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = (u32, Mapping)> {
        self.queue.iter().copied()
    }

    fn note_write(&mut self, page: u32, dirty: bool) {
        self.writes.retain(|&written| written != page);
        if dirty {
            self.writes.insert(0, page);
        }
    }

    fn of_translation_page(&self, translation_page: u32, all: bool) -> Vec<u32> {
        let per_page = self.config.entries_per_translation_page;
        let entries = self
            .entries()
            .filter(|(page, mapping)| page / per_page == translation_page && (all || mapping.dirty));
        let mut pages: Vec<u32> = entries.map(|(page, _)| page).collect();
        pages.sort_unstable();
        pages
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Sets and touches a cached entry; inserts an uncached one, after removing the oldest if the cache is full.
    Write(u32, Mapping),
    /// Inserts a clean entry, or touches a cached one.
    Read(u32),
    Set(u32, Mapping),
    Touch(u32),
    Remove(u32),
    RemoveOldest,
    CleanOldestDirty,
    Synchronise(u32),
    Amend(u32, Mapping),
    /// Sorts the nodes, which must have no visible effect.
    SortNodes,
}

const PAGES: u32 = 50;

fn mapping() -> impl Strategy<Value = Mapping> {
    let slot = prop_oneof![(0u32..9).prop_map(Slot), Just(Slot::NONE)];
    (slot.clone(), slot, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(slot, before, dirty, unidentified, uncertain)| Mapping {
            slot,
            before_image: before,
            dirty,
            unidentified,
            uncertain,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..PAGES, mapping()).prop_map(|(page, mapping)| Step::Write(page, mapping)),
        3 => (0..PAGES).prop_map(Step::Read),
        4 => (0..PAGES, mapping()).prop_map(|(page, mapping)| Step::Set(page, mapping)),
        2 => (0..PAGES).prop_map(Step::Touch),
        2 => (0..PAGES).prop_map(Step::Remove),
        1 => Just(Step::RemoveOldest),
        1 => Just(Step::CleanOldestDirty),
        1 => (0..PAGES).prop_map(Step::Synchronise),
        1 => (0..PAGES, mapping()).prop_map(|(page, mapping)| Step::Amend(page, mapping)),
        2 => Just(Step::SortNodes),
    ]
}

struct CacheAndModel {
    cache: MapCache,
    model: Model,
}

impl CacheAndModel {
    fn new(config: CacheConfig) -> Self {
        let model = Model { config, queue: Vec::new(), writes: Vec::new() };
        CacheAndModel { cache: MapCache::new(config).unwrap(), model }
    }

    fn pages(&self, handles: &[Handle]) -> Vec<u32> {
        handles.iter().map(|&handle| self.cache.page(handle).0).collect()
    }

    fn set(&mut self, page: u32, mapping: Mapping) {
        if let Some(handle) = self.cache.find(Lpn(page)) {
            self.cache.set(handle, mapping);
        }
        if let Some(at) = self.model.position(page) {
            self.model.queue[at] = (page, mapping);
            self.model.note_write(page, mapping.dirty);
        }
    }

    fn touch(&mut self, page: u32) {
        if let Some(handle) = self.cache.find(Lpn(page)) {
            self.cache.touch(handle);
        }
        if let Some(at) = self.model.position(page) {
            let entry = self.model.queue.remove(at);
            self.model.queue.insert(0, entry);
        }
    }

    fn remove(&mut self, page: u32) {
        if let Some(handle) = self.cache.find(Lpn(page)) {
            self.cache.remove(handle);
        }
        if let Some(at) = self.model.position(page) {
            self.model.queue.remove(at);
            self.model.note_write(page, false);
        }
    }

    /// Removes the oldest entry of cache and model separately; the comparison afterwards finds any difference.
    fn remove_oldest(&mut self) {
        if let Some(handle) = self.cache.oldest() {
            self.cache.remove(handle);
        }
        let oldest = self.model.entries().next_back();
        if let Some((page, _)) = oldest {
            let at = self.model.position(page).unwrap();
            self.model.queue.remove(at);
            self.model.note_write(page, false);
        }
    }

    fn insert(&mut self, page: u32, mapping: Mapping) {
        if self.cache.is_full() {
            self.remove_oldest();
        }
        self.cache.insert(Lpn(page), mapping);
        self.model.queue.insert(0, (page, mapping));
        self.model.note_write(page, mapping.dirty);
    }

    fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Write(page, mapping) if self.model.position(page).is_none() => self.insert(page, mapping),
            Step::Write(page, mapping) => {
                self.set(page, mapping);
                self.touch(page);
            }
            Step::Read(page) if self.model.position(page).is_none() => {
                let (slot, before) = (Slot(page), Slot::NONE);
                let flags = Mapping {
                    slot,
                    before_image: before,
                    dirty: false,
                    unidentified: false,
                    uncertain: false,
                };
                self.insert(page, flags);
            }
            Step::Set(page, mapping) => self.set(page, mapping),
            Step::Read(page) | Step::Touch(page) => self.touch(page),
            Step::Remove(page) => self.remove(page),
            Step::RemoveOldest => self.remove_oldest(),
            Step::CleanOldestDirty => {
                if let Some(handle) = self.cache.oldest_dirty() {
                    let clean = Mapping { dirty: false, ..self.cache.get(handle) };
                    self.set(self.cache.page(handle).0, clean);
                }
            }
            Step::Synchronise(page) => {
                let translation_page = page / self.model.config.entries_per_translation_page;
                for page in self.model.of_translation_page(translation_page, false) {
                    let (_, mapping) = self.model.queue[self.model.position(page).unwrap()];
                    self.set(page, Mapping { dirty: false, unidentified: false, ..mapping });
                }
            }
            Step::SortNodes => self.cache.sort_nodes(),
            Step::Amend(page, mapping) => {
                if let (Some(handle), Some(at)) = (self.cache.find(Lpn(page)), self.model.position(page)) {
                    let amended = Mapping { dirty: self.cache.get(handle).dirty, ..mapping };
                    self.cache.amend(handle, amended);
                    self.model.queue[at] = (page, amended);
                }
            }
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (cache, model) = (&self.cache, &self.model);
        prop_assert_eq!(cache.check(), Ok(()));
        let len = model.entries().count();
        prop_assert_eq!(cache.len() as usize, len);
        prop_assert_eq!(cache.is_empty(), len == 0);
        prop_assert_eq!(cache.is_full(), len == model.config.entries as usize);
        prop_assert_eq!(cache.dirty_len() as usize, model.writes.len());
        let limit = model.config.dirty_entries;
        prop_assert_eq!(
            cache.is_over_dirty_limit(),
            limit.is_some_and(|limit| model.writes.len() > limit as usize)
        );
        let page_of = |handle: Option<Handle>| handle.map(|handle| cache.page(handle).0);
        prop_assert_eq!(page_of(cache.oldest()), model.entries().next_back().map(|(page, _)| page));
        let oldest_dirty = model.writes.last().copied();
        prop_assert_eq!(page_of(cache.oldest_dirty()), oldest_dirty);
        for page in 0..PAGES {
            cache.prefetch(Lpn(page));
            let expected = model.position(page).map(|at| model.queue[at].1);
            prop_assert_eq!(cache.find(Lpn(page)).map(|handle| cache.get(handle)), expected);
        }
        let mut found = Vec::new();
        for translation_page in 0..PAGES.div_ceil(model.config.entries_per_translation_page) {
            cache.dirty_of_translation_page(translation_page, &mut found);
            prop_assert_eq!(self.pages(&found), model.of_translation_page(translation_page, false));
            cache.cached_of_translation_page(translation_page, &mut found);
            prop_assert_eq!(self.pages(&found), model.of_translation_page(translation_page, true));
        }
        Ok(())
    }
}

fn config() -> impl Strategy<Value = CacheConfig> {
    let entries = prop_oneof![Just(1u32), Just(2), 3u32..24, Just(60)];
    (entries, 1u32..=PAGES, any::<bool>(), 1u32..24).prop_map(
        |(entries, entries_per_translation_page, bounded, dirty)| CacheConfig {
            entries,
            logical_pages: PAGES,
            entries_per_translation_page,
            dirty_entries: bounded.then_some(dirty.min(entries)),
        },
    )
}

proptest! {
    #[test]
    fn cache_matches_naive_model(config in config(), steps in prop::collection::vec(step(), 1..150)) {
        let mut pair = CacheAndModel::new(config);
        pair.compare()?;
        for step in &steps {
            pair.apply(step)?;
            pair.compare()?;
        }
    }
}

const CLEAN: Mapping =
    Mapping { slot: Slot(1), before_image: Slot::NONE, dirty: false, unidentified: false, uncertain: false };

fn small() -> CacheConfig {
    CacheConfig { entries: 2, logical_pages: PAGES, entries_per_translation_page: 8, dirty_entries: None }
}

#[test]
fn invalid_sizes_are_rejected_by_key() {
    let rejected_key = |config: CacheConfig| MapCache::new(config).err().map(|error| error.key);
    assert_eq!(rejected_key(small()), None);
    assert_eq!(rejected_key(CacheConfig { entries: 0, ..small() }).as_deref(), Some("entries"));
    assert_eq!(rejected_key(CacheConfig { entries: u32::MAX, ..small() }).as_deref(), Some("entries"));
    for entries_per_translation_page in [0, u32::MAX] {
        let config = CacheConfig { entries_per_translation_page, ..small() };
        assert_eq!(rejected_key(config).as_deref(), Some("entries_per_translation_page"));
    }
    for dirty in [0, 3] {
        let config = CacheConfig { dirty_entries: Some(dirty), ..small() };
        assert_eq!(rejected_key(config).as_deref(), Some("dirty_entries"));
    }
}

#[test]
#[should_panic(expected = "in a full cache")]
fn insert_into_full_cache_panics() {
    let mut cache = MapCache::new(small()).unwrap();
    for page in 0..3 {
        cache.insert(Lpn(page), CLEAN);
    }
}

#[test]
#[should_panic(expected = "a second entry for page 4")]
fn second_entry_for_page_panics() {
    let mut cache = MapCache::new(small()).unwrap();
    cache.insert(Lpn(4), CLEAN);
    cache.insert(Lpn(4), CLEAN);
}

#[test]
fn paper_cache_needs_4_mib_of_ram() {
    let config = CacheConfig { entries: 1 << 19, logical_pages: 375_809_638, ..small() };
    let cache = MapCache::new(CacheConfig { entries_per_translation_page: 1024, ..config }).unwrap();
    assert_eq!(cache.ram(), 4 << 20);
    // Memory of the simulation: 56 bytes for each entry and for one additional entry, and 4 bytes per translation page.
    let tables = 4 * 367_002;
    assert!((56 << 19..58 << 19).contains(&(cache.memory_bytes() - tables)), "{}", cache.memory_bytes());
}

/// Returns a cache of four entries, two of which are dirty, over two translation pages.
fn half_dirty() -> MapCache {
    let mut cache = MapCache::new(CacheConfig { entries: 6, ..small() }).unwrap();
    for (page, dirty) in [(0, true), (9, false), (1, false), (10, true)] {
        cache.insert(Lpn(page), Mapping { dirty, ..CLEAN });
    }
    cache
}

#[test]
fn check_finds_inconsistencies() {
    type Break = fn(&mut MapCache);
    let breaks: [(&str, Break); 9] = [
        ("entries in the queue", |cache| cache.len += 1),
        ("entries in the index", |cache| cache.index.remove(1)),
        ("dirty entries", |cache| cache.dirty += 1),
        ("free nodes", |cache| cache.first_free = cache.node(cache.first_free).queue.after),
        ("is found at", |cache| cache.queue.0[0].page = 2),
        ("in chain 0", |cache| cache.chains.heads.swap(0, 1)),
        ("in chain 0", |cache| cache.queue.0[0].chain.before = 1),
        ("entries in chains", |cache| cache.chains.heads[0] = cache.chains.end),
        ("the order of writes", |cache| {
            let flags = [cache.node(1).flags, cache.node(0).flags];
            (0..2).for_each(|node| cache.queue.0[node].flags = flags[node]);
        }),
    ];
    assert_eq!(half_dirty().check(), Ok(()));
    for (what, break_it) in breaks {
        let mut cache = half_dirty();
        break_it(&mut cache);
        let problem = cache.check().expect_err(what);
        assert!(problem.contains(what), "{problem}, expected: {what}");
    }
}
