//! Emptying a user block under a migration policy, which decides about its live pages.
//!
//! All live pages are read before the first one is moved. A dropped page stays in the victim and in the map until all
//! pages that replace it are on flash: if power is lost before, the victim still exists. Afterwards, the translation
//! page must record that the page is unmapped before other data is written to its old location.

use super::config::Durability;
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::mapping::Mapping;
use crate::nand::{Flash, PageState};
use crate::pool::{MigrationExecutor, PageMover};
use crate::units::{BlockId, Lpn, Slot, StreamId};
use std::collections::BTreeSet;

/// The live pages of a victim.
struct LivePages<P> {
    owners: Vec<Lpn>,
    locations: Vec<Slot>,
    data: Vec<P>,
}

/// An FTL while it empties a victim with these live pages.
struct VictimMover<'a, F: Flash> {
    ftl: &'a mut PagedFtl<F>,
    live: &'a LivePages<F::Payload>,
    from: StreamId,
    cause: Cause,
    dropped: Vec<usize>,
}

impl<F: Flash> PagedFtl<F> {
    /// Executes the decisions of the migration policy `executor` on all live pages of `victim`.
    pub(super) fn move_by_policy(
        &mut self,
        victim: BlockId,
        cause: Cause,
        executor: &mut MigrationExecutor<F::Payload>,
    ) -> Result<(), LayerError> {
        let live = self.read_live(victim, cause)?;
        let from = self.space.streams[victim.index()];
        let mut mover = VictimMover { ftl: self, live: &live, from, cause, dropped: Vec::new() };
        executor.execute(&live.owners, &live.data, cause, &mut mover)?;
        let dropped = mover.dropped;
        self.drop_live(&live, &dropped)
    }

    /// Reads the live pages of `victim`.
    fn read_live(&mut self, victim: BlockId, cause: Cause) -> Result<LivePages<F::Payload>, LayerError> {
        let mut live = LivePages { owners: Vec::new(), locations: Vec::new(), data: Vec::new() };
        for page in 0..self.space.pages_per_block() {
            if self.invalid.contains(page) {
                continue;
            }
            self.replenish_erased()?;
            let at = self.space.slot(victim, page);
            if let PageState::Written(spare) = self.read_victim_spare(at, cause)
                && self.is_live(spare.owner, at)?
            {
                self.space.read_user(at, cause, &mut live.data)?;
                live.owners.push(spare.owner);
                live.locations.push(at);
            }
        }
        Ok(live)
    }

    /// Unmaps the pages at the indices `dropped` of `live`, which the migration policy decided not to move.
    fn drop_live(&mut self, live: &LivePages<F::Payload>, dropped: &[usize]) -> Result<(), LayerError> {
        let mut translation_pages = BTreeSet::new();
        for &at in dropped {
            let (page, location) = (live.owners[at], live.locations[at]);
            match self.cache.find(page) {
                Some(handle) => {
                    let old = self.cache.get(handle);
                    self.cache.set(handle, Mapping { slot: Slot::NONE, dirty: true, ..old });
                }
                None => {
                    self.make_room()?;
                    // The page's old location is about to be erased.
                    self.cache.insert(page, Mapping { dirty: true, ..Mapping::clean(Slot::NONE) });
                }
            }
            self.placement.trimmed(page);
            self.space.pool.moves.trimmed(&[page]);
            self.mark_unmapped(page);
            self.space.invalidate(location);
            translation_pages.insert(self.translation_page(page));
        }
        // With a battery, the entries would be written at a power cut.
        translation_pages.retain(|_| self.config.durability != Durability::Battery);
        for number in translation_pages {
            self.replenish_erased()?;
            // The translation page is rewritten in any case, so that it is newer than all copies of these pages.
            self.rewrite(number)?;
        }
        self.limit_dirty(false)
    }

    /// Writes a page because of `cause`, in the same way as a write of the user.
    fn write_replacement(
        &mut self,
        page: Lpn,
        data: &F::Payload,
        cause: Cause,
        references: u32,
    ) -> Result<(), LayerError> {
        let cached = match self.cache.find(page) {
            Some(handle) => Some(handle),
            None if self.config.eager => Some(self.fetch(page)?),
            None => {
                self.make_room()?;
                None
            }
        };
        let stream = self.stream_for(page, cause, None, 0, references);
        let at = self.space.append(stream, page, data, cause)?;
        self.map_written_page(page, at, cached)?;
        self.limit_dirty(false)
    }
}

impl<F: Flash> PageMover<F::Payload> for VictimMover<'_, F> {
    fn move_page(&mut self, at: usize, references: u32) -> Result<(), LayerError> {
        let (live, ftl) = (self.live, &mut *self.ftl);
        ftl.replenish_erased()?;
        let (page, location) = (live.owners[at], live.locations[at]);
        ftl.relocate_page((page, location), &live.data[at], self.cause, self.from, references)
    }

    fn drop_page(&mut self, at: usize) {
        self.dropped.push(at);
    }

    fn write_replacement(&mut self, page: Lpn, data: &F::Payload, references: u32) -> Result<(), LayerError> {
        self.ftl.write_replacement(page, data, self.cause, references)
    }
}
