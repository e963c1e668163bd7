//! Emptying a user block under a migration policy, which decides about its live pages.
//!
//! All live pages are read before the first one is moved. A dropped page stays in the victim and in the map until all
//! pages that replace it are on flash: if power is lost before, the victim still exists. Afterwards, the translation
//! page must record that the page has no location before other data is written there.

use super::config::Durability;
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::mapping::Mapping;
use crate::nand::{Flash, PageState};
use crate::pool::{Judge, Mover};
use crate::units::{BlockId, Lpn, Slot, StreamId};
use std::collections::BTreeSet;

/// The live pages of a victim.
struct Live<P> {
    owners: Vec<Lpn>,
    places: Vec<Slot>,
    data: Vec<P>,
}

/// An FTL while it empties a victim with these live pages.
struct Emptying<'a, F: Flash> {
    ftl: &'a mut PagedFtl<F>,
    live: &'a Live<F::Payload>,
    from: StreamId,
    cause: Cause,
    forgotten: Vec<usize>,
}

impl<F: Flash> PagedFtl<F> {
    /// Executes the decisions of the migration policy `judge` on all live pages of `victim`.
    pub(super) fn move_judged(
        &mut self,
        victim: BlockId,
        cause: Cause,
        judge: &mut Judge<F::Payload>,
    ) -> Result<(), LayerError> {
        let live = self.gather_live(victim, cause)?;
        let from = self.space.streams[victim.index()];
        let mut emptying = Emptying { ftl: self, live: &live, from, cause, forgotten: Vec::new() };
        judge.execute(&live.owners, &live.data, cause, &mut emptying)?;
        let forgotten = emptying.forgotten;
        self.forget_live(&live, &forgotten)
    }

    /// Reads the live pages of `victim`.
    fn gather_live(&mut self, victim: BlockId, cause: Cause) -> Result<Live<F::Payload>, LayerError> {
        let mut live = Live { owners: Vec::new(), places: Vec::new(), data: Vec::new() };
        for page in 0..self.space.pages_per_block() {
            if self.invalid.contains(page) {
                continue;
            }
            self.spare_blocks()?;
            let at = self.space.slot(victim, page);
            if let PageState::Written(spare) = self.spare_of_victim(at, cause)
                && self.is_live(spare.owner, at)?
            {
                self.space.read_user(at, cause, &mut live.data)?;
                live.owners.push(spare.owner);
                live.places.push(at);
            }
        }
        Ok(live)
    }

    /// Drops pages of the current victim.
    fn forget_live(&mut self, live: &Live<F::Payload>, forgotten: &[usize]) -> Result<(), LayerError> {
        let mut translation_pages = BTreeSet::new();
        for &at in forgotten {
            let (page, place) = (live.owners[at], live.places[at]);
            match self.cache.find(page) {
                Some(handle) => {
                    let old = self.cache.get(handle);
                    self.cache.set(handle, Mapping { slot: Slot::NONE, dirty: true, ..old });
                }
                None => {
                    self.make_room()?;
                    // The page's old location is about to be erased.
                    let (slot, before) = (Slot::NONE, Slot::NONE);
                    let nowhere =
                        Mapping { slot, before, dirty: true, unidentified: false, uncertain: false };
                    self.cache.insert(page, nowhere);
                }
            }
            self.placement.trimmed(page);
            self.space.pool.moves.trimmed(&[page]);
            self.forget(page);
            self.space.invalidate(place);
            translation_pages.insert(self.translation_page(page));
        }
        // With a battery, the entries would be written at a power cut.
        translation_pages.retain(|_| self.config.durability != Durability::Battery);
        for number in translation_pages {
            self.spare_blocks()?;
            // Rewritten in any case, so that the translation page is newer than all copies of these pages.
            self.rewrite(number)?;
        }
        self.limit_dirty(false)
    }

    /// Writes a page with cause `cause`, like a write of the user.
    fn write_moved(
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
        self.enter_written(page, at, cached)?;
        self.limit_dirty(false)
    }
}

impl<F: Flash> Mover<F::Payload> for Emptying<'_, F> {
    fn carry(&mut self, at: usize, references: u32) -> Result<(), LayerError> {
        let (live, ftl) = (self.live, &mut *self.ftl);
        ftl.spare_blocks()?;
        let (page, place) = (live.owners[at], live.places[at]);
        ftl.carry_page((page, place), &live.data[at], self.cause, self.from, references)
    }

    fn forget(&mut self, at: usize) {
        self.forgotten.push(at);
    }

    fn write_instead(&mut self, page: Lpn, data: &F::Payload, references: u32) -> Result<(), LayerError> {
        self.ftl.write_moved(page, data, self.cause, references)
    }
}
