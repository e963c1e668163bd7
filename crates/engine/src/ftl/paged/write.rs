//! Writes and trims of user pages, and evictions from the mapping cache.

use super::config::Durability;
use super::store::PagedFtl;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, MediumExt};
use crate::mapping::{Handle, Mapping};
use crate::nand::Flash;
use crate::placement::PageContext;
use crate::units::{Lpn, Slot, StreamId};

impl<F: Flash> PagedFtl<F> {
    /// Writes one page (paper, sections 4 and 4.1).
    pub(super) fn write_page(&mut self, page: Lpn, data: &F::Payload, hint: u16) -> Result<(), LayerError> {
        self.make_space()?;
        let cached = self.entry_for_write(page)?;
        self.space.reported_before = self.space.pool.sequence;
        let stream = self.stream_for(page, Cause::Host, None, hint, 1);
        let at = self.space.append(stream, page, data, Cause::Host)?;
        self.space.pool.counters.add_incoming(Operation::Write, 1);
        self.space.pool.blocks.advance(1);
        self.map_written_page(page, at, cached)?;
        self.after_cache_update()
    }

    /// Stores the location `at` of a written page in the cache; `cached` is its cache entry, if there is one.
    #[inline]
    pub(super) fn map_written_page(
        &mut self,
        page: Lpn,
        at: Slot,
        cached: Option<Handle>,
    ) -> Result<(), LayerError> {
        self.mark_mapped(page);
        match cached {
            Some(handle) => {
                let old = self.cache.get(handle);
                self.cache.set(handle, Mapping { slot: at, before_image: Slot::NONE, dirty: true, ..old });
                self.cache.touch(handle);
                self.report_invalid(old.slot, false)?;
                self.report_invalid(old.before_image, false)?;
            }
            None => {
                let (before, uncertain) = (Slot::NONE, false);
                let mapping =
                    Mapping { slot: at, before_image: before, dirty: true, unidentified: true, uncertain };
                self.cache.insert(page, mapping);
            }
        }
        Ok(())
    }

    /// Trims one page.
    ///
    /// Its last location is reported as invalid only after the translation page records that the page has no
    /// location. If power is lost before that, the page reappears, so its location must not have been reused.
    pub(super) fn trim_page(&mut self, page: Lpn) -> Result<(), LayerError> {
        self.make_space()?;
        let cached = self.entry_for_write(page)?;
        self.space.pool.counters.add_incoming(Operation::Trim, 1);
        if self.mapped.contains(page.0) {
            self.placement.trimmed(page);
        }
        self.space.pool.moves.trimmed(&[page]);
        if self.space.pool.medium.wants_invalidations() && self.mapped.contains(page.0) {
            self.space.notify_invalidation(self.peek_location(page));
        }
        self.mark_unmapped(page);
        let unmapped = Mapping { dirty: true, unidentified: true, ..Mapping::clean(Slot::NONE) };
        match cached {
            Some(handle) => {
                let old = self.cache.get(handle);
                if old.slot == Slot::NONE {
                    return Ok(());
                }
                let trimmed = Mapping { slot: Slot::NONE, before_image: old.slot, dirty: true, ..old };
                if old.dirty {
                    // The entry keeps the age of the unreported page, so that recovery searches back far enough.
                    self.cache.amend(handle, trimmed);
                } else {
                    self.cache.set(handle, trimmed);
                }
                self.cache.touch(handle);
            }
            None => {
                self.cache.insert(page, unmapped);
            }
        }
        self.trimmed.insert(self.translation_page(page));
        self.after_cache_update()
    }

    pub(super) fn mark_mapped(&mut self, page: Lpn) {
        self.mapped_pages += u32::from(!self.mapped.contains(page.0));
        self.mapped.insert(page.0);
    }

    pub(super) fn mark_unmapped(&mut self, page: Lpn) {
        self.mapped_pages -= u32::from(self.mapped.contains(page.0));
        self.mapped.remove(page.0);
    }

    /// Returns the cache entry of a page that is about to change; if there is none, ensures that the cache has a free
    /// entry.
    fn entry_for_write(&mut self, page: Lpn) -> Result<Option<Handle>, LayerError> {
        match self.cache.find(page) {
            Some(handle) => {
                self.events.cache_hits += 1;
                Ok(Some(handle))
            }
            None if self.config.eager => self.fetch(page).map(Some),
            None => {
                self.events.cache_misses += 1;
                self.make_room()?;
                Ok(None)
            }
        }
    }

    /// Returns the stream for a user page that `references` logical pages share.
    pub(super) fn stream_for(
        &mut self,
        page: Lpn,
        cause: Cause,
        from: Option<StreamId>,
        hint: u16,
        references: u32,
    ) -> StreamId {
        let fixed = match cause {
            Cause::Host => self.placement.host_stream(),
            _ => self.placement.cleaning_stream(),
        };
        if let Some(stream) = fixed {
            return stream;
        }
        let now = self.space.pool.blocks.now();
        // Pages moved by wear levelling are placed like pages moved by cleaning.
        let cause = if cause == Cause::Host { cause } else { Cause::Cleaning };
        self.placement.place(&PageContext { page, cause, now, from, hint, references })
    }

    /// Reads the page's mapping entry from its translation page into the cache (paper, sec. 4: serving application
    /// reads).
    pub(super) fn fetch(&mut self, page: Lpn) -> Result<Handle, LayerError> {
        self.events.cache_misses += 1;
        self.make_room()?;
        let number = self.translation_page(page);
        let at = self.directory.locate(number, &mut self.space)?;
        let slot = self.read_entry(page, at)?;
        Ok(self.cache.insert(page, Mapping::clean(slot)))
    }

    /// Reads the page's entry in the translation page at `at`.
    pub(super) fn read_entry(&mut self, page: Lpn, at: Slot) -> Result<Slot, LayerError> {
        if at == Slot::NONE {
            return Ok(Slot::NONE);
        }
        self.space.read_metadata(at, Cause::Translation)?;
        let contents = &self.space.contents;
        Ok(contents.entry(self.translation_page(page), at, contents.entry_of(page)))
    }

    /// Evicts the least recently used entry if the cache is full, after synchronising it if it is dirty.
    pub(super) fn make_room(&mut self) -> Result<(), LayerError> {
        if self.cache.is_full() {
            self.prefetch_evictions();
        }
        while self.cache.is_full() {
            let oldest = self.cache.oldest().expect("a full cache has an entry");
            if self.cache.get(oldest).dirty {
                self.synchronise(self.translation_page(self.cache.page(oldest)))?;
            } else {
                self.cache.remove(oldest);
            }
        }
        Ok(())
    }

    /// To be called after a cache entry is inserted or updated: enforces the limit of dirty entries, and takes a
    /// checkpoint if one is due.
    pub(super) fn after_cache_update(&mut self) -> Result<(), LayerError> {
        self.limit_dirty(true)?;
        if !self.config.checkpoints {
            return Ok(());
        }
        self.checkpoints.operations_left = self.checkpoints.operations_left.saturating_sub(1);
        if self.checkpoints.operations_left > 0 {
            return Ok(());
        }
        self.take_checkpoint()
    }

    /// Synchronises the oldest dirty entries until the number of dirty entries is within the limit.
    pub(super) fn limit_dirty(&mut self, may_clean: bool) -> Result<(), LayerError> {
        while self.cache.is_over_dirty_limit() {
            if may_clean {
                self.make_space()?;
            }
            let Some(oldest) = self.cache.oldest_dirty() else { break };
            self.prefetch_synchronisations();
            self.synchronise(self.translation_page(self.cache.page(oldest)))?;
        }
        self.advance_horizon();
        Ok(())
    }

    /// With a limit of dirty entries, the oldest dirty entry determines how far back recovery must search.
    fn advance_horizon(&mut self) {
        if self.config.dirty_entries.is_none() || self.config.durability == Durability::Battery {
            return;
        }
        let oldest = self.cache.oldest_dirty().map(|handle| self.cache.get(handle).slot);
        match oldest {
            None => self.space.horizon = self.space.pool.sequence,
            // A trimmed page has no location; the horizon does not change.
            Some(Slot::NONE) => {}
            Some(at) => {
                self.space.horizon = self.space.horizon.max(self.space.first_sequence_of(at));
            }
        }
    }

    /// Synchronises every entry that has been dirty since before the last checkpoint (paper, sec. 4.3).
    ///
    /// The paper marks the position of the last checkpoint in the LRU queue. However, reading a page moves its entry
    /// ahead of the mark: an entry that is read repeatedly would stay dirty forever and be lost. Therefore the order
    /// of writes is used here, with the opening times of blocks.
    fn take_checkpoint(&mut self) -> Result<(), LayerError> {
        let start = self.space.pool.sequence;
        loop {
            self.make_space()?;
            let Some(oldest) = self.cache.oldest_dirty() else { break };
            let at = self.cache.get(oldest).slot;
            if at != Slot::NONE && self.space.first_sequence_of(at) > self.checkpoints.last {
                break;
            }
            self.synchronise(self.translation_page(self.cache.page(oldest)))?;
        }
        self.space.horizon = self.space.horizon.max(self.checkpoints.last);
        self.checkpoints.last = start;
        self.checkpoints.operations_left = u64::from(self.config.cache_entries);
        self.events.checkpoints += 1;
        Ok(())
    }
}
