//! Merges, each of which turns log blocks and a data block into a new data block.
//!
//! A block is erased only after its replacement is complete, so that recovery after a power cut finds either all old
//! blocks or a complete new block.

use super::blocks::{DataBlock, HybridState};
use super::note::{BlockNote, Role};
use crate::counters::Cause;
use crate::layer::{Invalidation, LayerError, MediumExt};
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};
use std::collections::BTreeSet;

impl<F: Flash> HybridState<F> {
    /// Merges the log of `logical` with its data block, with the cheapest possible kind of merge.
    pub fn merge_dedicated_log(&mut self, logical: u32, cause: Cause) -> Result<(), LayerError> {
        let log = &self.dedicated_logs[&logical];
        if log.note.in_place && !log.closed {
            self.switch_or_partial_merge(logical, cause)
        } else {
            self.full_merge(logical, cause)
        }
    }

    /// Turns the log of `logical`, whose pages are all at their own offsets, into the data block: either directly (a
    /// switch merge), or after the remaining live pages have been appended (a partial merge).
    ///
    /// If the log contains all live pages but is not full, one padding page is appended, whose note records the merge.
    fn switch_or_partial_merge(&mut self, logical: u32, cause: Cause) -> Result<(), LayerError> {
        let log = &self.dedicated_logs[&logical];
        let (block, from, mut note) = (log.block, log.written(), log.note);
        let mut end = from;
        if from < self.pages_per_block {
            end = self.live_end(logical).max(from + 1);
            let pages_read = self.read_newest(logical, from..end, cause)?;
            note.merged_pages = end;
            note.has_padding |= pages_read.padding > 0;
            if !self.program((block, from), &pages_read.owners, &pages_read.data, cause, note)? {
                return self.full_merge(logical, cause);
            }
            self.events.padding_pages += pages_read.padding;
            self.events.partial_merges += 1;
        } else {
            self.events.switch_merges += 1;
        }
        for offset in 0..end.min(self.offsets(logical).end) {
            let page = self.page_of(logical, offset);
            let slot = &mut self.log_map[page.index()];
            // A page may have a newer copy in a shared log. Pages from offset `from` on have just been copied from
            // their newest locations.
            if offset >= from || slot.0 / self.pages_per_block == block.0 {
                *slot = Slot::NONE;
            }
        }
        self.dedicated_logs.remove(&logical);
        self.replace_data(logical, DataBlock { block, written: end, closed: false, note }, cause)
    }

    /// Writes the live pages of `logical` to a new block, in order and with padding for missing pages, and then
    /// disposes of the old data block and of the dedicated log.
    pub fn full_merge(&mut self, logical: u32, cause: Cause) -> Result<(), LayerError> {
        let end = self.live_end(logical).max(1);
        let pages_read = self.read_newest(logical, 0..end, cause)?;
        let note = BlockNote {
            merged_pages: end,
            has_padding: pages_read.padding > 0,
            ..BlockNote::new(Role::Data, logical)
        };
        let block = loop {
            let block = self.take_erased(cause)?;
            if self.program((block, 0), &pages_read.owners, &pages_read.data, cause, note)? {
                break block;
            }
            self.erase_or_retire(block, cause)?;
        };
        self.events.padding_pages += pages_read.padding;
        self.events.full_merges += 1;
        for offset in self.offsets(logical) {
            let page = self.page_of(logical, offset);
            self.log_map[page.index()] = Slot::NONE;
        }
        let dedicated_log = self.dedicated_logs.remove(&logical);
        self.replace_data(logical, DataBlock { block, written: end, closed: false, note }, cause)?;
        dedicated_log.map_or(Ok(()), |log| self.erase_or_retire(log.block, cause))
    }

    fn replace_data(&mut self, logical: u32, data: DataBlock, cause: Cause) -> Result<(), LayerError> {
        let old = self.logical_blocks[logical as usize].data.replace(data);
        old.map_or(Ok(()), |old| self.erase_or_retire(old.block, cause))
    }

    /// Empties the shared log block at `index` with a full merge of every logical block that has a live page in it.
    pub fn reclaim_shared(&mut self, index: usize, cause: Cause) -> Result<(), LayerError> {
        let block = self.shared_logs[index].block;
        let owners = self.shared_logs[index].owners.clone();
        let owner_blocks: BTreeSet<u32> = owners.iter().map(|&owner| self.split(owner).0).collect();
        for &owner in &owners {
            let slot = self.log_map[owner.index()];
            if slot != Slot::NONE && self.block_of(slot).0 == block {
                self.full_merge(self.split(owner).0, cause)?;
            }
        }
        self.shared_logs.remove(index);
        self.erase_or_retire(block, cause)?;
        owner_blocks.into_iter().try_for_each(|logical| self.release_if_empty(logical, cause))
    }

    /// Disposes of the blocks of a logical block that no longer holds data.
    ///
    /// The data block is kept as long as a shared log contains an invalid copy of one of the pages: after a power cut,
    /// recovery sees from the data block that the copy is invalid. For the same reason, the data block is erased before
    /// the dedicated log, whose pages are newer.
    pub fn release_if_empty(&mut self, logical: u32, cause: Cause) -> Result<(), LayerError> {
        let state = &mut self.logical_blocks[logical as usize];
        if state.live > 0 || self.is_in_shared_logs(logical) {
            return Ok(());
        }
        if let Some(data) = self.logical_blocks[logical as usize].data.take() {
            self.erase_or_retire(data.block, cause)?;
        }
        self.dedicated_logs.remove(&logical).map_or(Ok(()), |log| self.erase_or_retire(log.block, cause))
    }

    /// Moves all needed pages out of `block` and disposes of it.
    pub fn empty_block(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        let is_data = |data: &Option<DataBlock>| data.is_some_and(|data| data.block == block);
        if let Some(logical) = self.logical_blocks.iter().position(|logical| is_data(&logical.data)) {
            return self.full_merge(logical as u32, cause);
        }
        let dedicated_log =
            self.dedicated_logs.iter().find(|(_, log)| log.block == block).map(|(&logical, _)| logical);
        if let Some(logical) = dedicated_log {
            return self.full_merge(logical, cause);
        }
        match self.shared_logs.iter().position(|log| log.block == block) {
            Some(index) => self.reclaim_shared(index, cause),
            None => Ok(()),
        }
    }

    /// Rewrites the pages of blocks that were read too often.
    pub fn refresh_disturbed(&mut self) -> Result<(), LayerError> {
        while let Some(block) = self.pool.medium.take_disturbed() {
            let merges = self.merges();
            self.empty_block(block, Cause::WearLevelling)?;
            self.events.refreshes += self.merges() - merges;
        }
        Ok(())
    }

    /// Merges the block chosen by wear levelling, if the block holds data.
    pub fn level_wear(&mut self) -> Result<(), LayerError> {
        let HybridState { pool, logical_blocks: logical, dedicated_logs, shared_logs: shared, .. } = self;
        let chosen = pool.next_wear_move(|_, block| {
            let mut data = logical.iter().filter_map(|logical| logical.data);
            let mut logs = dedicated_logs.values().chain(&*shared);
            data.any(|data| data.block == block) || logs.any(|log| log.block == block)
        });
        chosen.map_or(Ok(()), |block| self.empty_block(block, Cause::WearLevelling))
    }

    /// Returns the number of merges of all kinds.
    pub fn merges(&self) -> u64 {
        self.events.switch_merges + self.events.partial_merges + self.events.full_merges
    }

    /// Removes the data of `page`.
    pub fn trim_page(&mut self, page: Lpn) -> Result<(), LayerError> {
        if !self.is_present(page) {
            return Ok(());
        }
        self.pool.moves.trimmed(&[page]);
        if self.pool.medium.wants_invalidations()
            && let Some(slot) = self.locate(page)
        {
            let (block, at) = self.block_of(slot);
            self.pool.medium.on_invalidate(&[Invalidation { owner: page, block, page: at }]);
        }
        self.set_present(page, false);
        self.log_map[page.index()] = Slot::NONE;
        let logical = self.split(page).0;
        self.release_if_empty(logical, Cause::Cleaning)
    }
}
