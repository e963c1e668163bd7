//! Cleaning: a user block is cleaned by moving its valid pages; a metadata block by waiting until all its pages are
//! invalid, or by moving.

use super::space::BlockGroup;
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::mapping::Mapping;
use crate::nand::{Flash, PageState};
use crate::pool::PendingBlock;
use crate::units::{BlockId, Lpn, Slot, StreamId};

impl<F: Flash> PagedFtl<F> {
    /// Ensures that there are enough erased blocks for the next page of the user and all writes that it may cause.
    pub(super) fn make_space(&mut self) -> Result<(), LayerError> {
        self.space.pool.check_end_of_life()?;
        self.gain_space()?;
        let Some(worn_block) = self.space.next_wear_move() else { return Ok(()) };
        self.empty_block(worn_block, Cause::WearLevelling)?;
        self.gain_space()
    }

    /// Cleans until there are enough erased blocks. This also works after the end of life, as long as any space can be
    /// freed.
    pub(super) fn gain_space(&mut self) -> Result<(), LayerError> {
        let mut refreshes_left = self.space.pool.blocks.len();
        loop {
            if !self.space.erasable.is_empty() {
                self.erase_erasable()?;
            }
            self.fill_pool()?;
            // Each of these operations uses erased blocks before it frees a block, so the pool must be filled before
            // each operation.
            if let Some(&PendingBlock { block, .. }) = self.space.pool.pending_blocks.first() {
                self.empty_block(block, Cause::Cleaning)?;
            } else if refreshes_left > 0
                && let Some(block) = self.space.pool.take_disturbed()
            {
                refreshes_left -= 1;
                self.refresh(block)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Rewrites the blocks that were read too often.
    pub(super) fn refresh_disturbed(&mut self) -> Result<(), LayerError> {
        // Rewriting reads other blocks of metadata. With a very low limit, these would be rewritten without end.
        for _ in 0..self.space.pool.blocks.len() {
            let Some(block) = self.space.pool.take_disturbed() else { break };
            let erases = self.space.pool.medium.erases(block);
            // The pages of the block need erased blocks, and cleaning may erase the block itself.
            self.fill_pool()?;
            if self.space.pool.medium.erases(block) == erases {
                self.refresh(block)?;
            }
            self.after_cache_update()?;
        }
        Ok(())
    }

    /// Cleans until the pool has enough erased blocks.
    fn fill_pool(&mut self) -> Result<(), LayerError> {
        let mut fruitless = 0;
        while self.space.pool.must_clean() {
            if self.space.erasable.is_empty() {
                self.clean_one(&mut fruitless)?;
                self.erase_erasable()?;
            } else {
                self.flush_and_release()?;
            }
        }
        Ok(())
    }

    /// Erases blocks without needed pages, except those that protect data which the validity store has not written
    /// yet.
    fn erase_erasable(&mut self) -> Result<(), LayerError> {
        if self.space.protects_versions {
            self.space.release();
        }
        let release_count = Some(self.space.protected.release_count);
        if self.space.release_count_at_check == release_count {
            return Ok(());
        }
        // Erasing a block may add blocks to the list, which are examined later.
        self.space.release_count_at_check = release_count;
        let erasable = std::mem::take(&mut self.space.erasable);
        for (at, &block) in erasable.iter().enumerate() {
            if self.space.is_protected(block) {
                self.space.erasable.push(block);
                continue;
            }
            let group = self.space.group(block);
            self.events.metadata_blocks_erased += u64::from(group != BlockGroup::User);
            if let Err(error) = self.erase(block, group.cause()) {
                self.space.erasable.extend(&erasable[at..]);
                self.space.release_count_at_check = None;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Forces the validity store to write its buffer, because erased blocks are short and this write makes blocks
    /// without needed pages erasable.
    fn flush_and_release(&mut self) -> Result<(), LayerError> {
        self.space.reported_before = self.space.pool.sequence;
        self.validity.save(&mut self.space)?;
        self.space.protected.clear();
        self.erase_erasable()
    }

    /// Erases a block and notifies the validity store.
    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        // The validity store does not cover metadata blocks.
        let is_user = self.space.group(block) == BlockGroup::User;
        self.space.erase_or_retire(block, cause)?;
        self.approximate_blocks.remove(&block);
        self.space.protected.remove(block);
        self.space.reported_before = self.space.pool.sequence;
        if is_user { self.validity.record_erase(block, &mut self.space) } else { Ok(()) }
    }

    /// Cleans a victim in idle time, unless enough blocks are erased. Returns true if this gained space.
    pub(super) fn clean_in_idle_time(&mut self) -> Result<bool, LayerError> {
        if !self.space.pool.needs_idle_cleaning() {
            return Ok(false);
        }
        let mut fruitless = 0;
        self.clean_one(&mut fruitless)?;
        self.erase_erasable()?;
        Ok(fruitless == 0)
    }

    /// Cleans the next victim.
    fn clean_one(&mut self, fruitless: &mut u64) -> Result<(), LayerError> {
        if let Some(block) = self.metadata_to_clean() {
            self.events.metadata_blocks_cleaned += 1;
            return self.empty_metadata_block(block);
        }
        if self.is_search_exhausted(*fruitless) {
            *fruitless = 0;
            return self.identify_invalid_pages();
        }
        self.query_candidates(*fruitless)?;
        self.space.pool.blocks.set_target_blocks(self.placement.target_blocks());
        let Some(victim) = self.space.pool.take_victim(fruitless) else {
            self.drop_unremembered(None);
            *fruitless = 0;
            return self.identify_invalid_pages();
        };
        self.drop_unremembered((*fruitless == 0).then_some(victim));
        if *fruitless > 0 {
            // Moving all pages of the victim would gain no space and would cause writes of translation pages.
            self.space.close(victim);
            return Ok(());
        }
        self.space.pool.count_victim(victim);
        if self.space.group(victim) == BlockGroup::User {
            if let Some(&opened_at) = self.space.host_pages_at_open.get(victim.index()) {
                let (stream, blocks) = (self.space.streams[victim.index()], &self.space.pool.blocks);
                self.placement.reclaimed(stream, opened_at, blocks.now(), blocks.valid_pages(victim));
            }
            self.empty_user_block(victim, Cause::Cleaning)
        } else {
            self.events.metadata_blocks_cleaned += 1;
            self.empty_metadata_block(victim)
        }
    }

    /// Synchronises dirty entries to identify invalid pages, because no block has any known invalid page.
    fn identify_invalid_pages(&mut self) -> Result<(), LayerError> {
        let Some(oldest) = self.cache.oldest_dirty() else {
            return Err(self.space.pool.no_space());
        };
        self.synchronise(self.translation_page(self.cache.page(oldest)))
    }

    /// Returns a metadata block to clean, if metadata is not cleaned by moving but a block must be cleaned
    /// nevertheless. There are two reasons: mostly invalid metadata occupies more than half of the spare space, or
    /// erased blocks run out.
    ///
    /// The paper has no such rule. Without the rule, a translation page that is never rewritten can keep a block of
    /// otherwise invalid pages.
    fn metadata_to_clean(&self) -> Option<BlockId> {
        if self.space.cleans_metadata {
            return None;
        }
        let pages_per_block = u64::from(self.space.pages_per_block());
        let user = u64::from(self.config.logical_pages).div_ceil(pages_per_block);
        let spare = u64::from(self.space.pool.usable_blocks).saturating_sub(user);
        let used = self.space.pool.blocks.candidates() as usize
            + self.space.pool.erased.len()
            + self.space.pool.frontiers.len();
        let metadata = (self.space.pool.usable_blocks as usize).saturating_sub(used);
        // With a very small cache, moving user pages writes as many translation pages as user pages, and gains no space
        // at first.
        let is_pool_low = self.space.pool.erased.len() * 2 <= self.reserve_blocks;
        if (metadata as u64) * 2 <= spare && !is_pool_low {
            return None;
        }
        let (valid, emptiest) = self.space.closed_metadata().min()?;
        let max_valid = if is_pool_low { pages_per_block / 2 } else { pages_per_block };
        (u64::from(valid) < max_valid).then_some(emptiest)
    }

    /// Moves the valid pages of a user block elsewhere and erases the block (paper, sec. 4: garbage-collection
    /// operations; 4.1).
    ///
    /// The old locations of moved pages are not reported as invalid, because the block is about to be erased. If power
    /// is cut before the erase, recovery must find these locations unreported, so the validity store refers to the
    /// state before the move until the erase.
    fn empty_user_block(&mut self, victim: BlockId, cause: Cause) -> Result<(), LayerError> {
        self.prefetch_cleaning(victim);
        self.find_invalid(victim)?;
        self.current_victim = Some(victim);
        self.space.reported_before = self.space.pool.sequence;
        self.space.frozen_state = Some(self.space.current_state());
        let moved = match self.migration.take() {
            None => self.move_valid(victim, cause),
            Some(mut executor) => {
                let moved = self.move_by_policy(victim, cause, &mut executor);
                self.migration = Some(executor);
                moved
            }
        };
        let result = moved.and_then(|()| self.erase_or_retire(victim, cause));
        self.space.frozen_state = None;
        self.current_victim = None;
        self.prefetch_next_cleaning();
        result
    }

    fn move_valid(&mut self, victim: BlockId, cause: Cause) -> Result<(), LayerError> {
        let from = self.space.streams[victim.index()];
        for page in 0..self.space.pages_per_block() {
            self.prefetch_moves(victim, page);
            if self.invalid.contains(page) {
                continue;
            }
            self.replenish_erased()?;
            let at = self.space.slot(victim, page);
            if let PageState::Written(spare) = self.read_victim_spare(at, cause)
                && self.is_live(spare.owner, at)?
            {
                self.move_page(spare.owner, at, cause, from)?;
            }
        }
        Ok(())
    }

    /// Erases blocks without needed pages, if few erased blocks are left during a move.
    pub(super) fn replenish_erased(&mut self) -> Result<(), LayerError> {
        let few = self.space.pool.erased.len() <= 2;
        if few && !self.space.erasable.is_empty() { self.erase_erasable() } else { Ok(()) }
    }

    /// Returns the spare area of a page of the victim that was not reported as invalid. With eager reports the bitmap
    /// is exact, and the owner is read together with the page, so no separate read is counted.
    pub(super) fn read_victim_spare(&mut self, at: Slot, cause: Cause) -> PageState {
        let (block, page) = self.space.split(at);
        if self.config.eager {
            self.space.pool.medium.spare(block, page)
        } else {
            self.space.read_spare(at, cause)
        }
    }

    /// True if the page at `at`, which was not reported as invalid, is the current copy of `page`; a cached entry has
    /// priority.
    pub(super) fn is_live(&mut self, page: Lpn, at: Slot) -> Result<bool, LayerError> {
        let Some(handle) = self.cache.find(page) else { return Ok(true) };
        let mapping = self.cache.get(handle);
        if mapping.slot == at {
            return Ok(true);
        }
        self.events.unidentified_found += 1;
        if mapping.slot == Slot::NONE && mapping.dirty {
            // The translation page still points to this location, which would be wrong once the block holds other data.
            self.synchronise(self.translation_page(page))?;
        } else if mapping.unidentified && !mapping.uncertain {
            // The physical page is about to be erased and must not be reported later, when the block holds other data.
            self.cache.amend(handle, Mapping { unidentified: false, ..mapping });
        }
        Ok(false)
    }

    fn move_page(&mut self, page: Lpn, at: Slot, cause: Cause, from: StreamId) -> Result<(), LayerError> {
        self.content.clear();
        let mut content = std::mem::take(&mut self.content);
        let read = self.space.read_user(at, cause, &mut content);
        self.content = content;
        read?;
        let data = self.content[0];
        self.relocate_page((page, at), &data, cause, from, 1)
    }

    /// Writes a page that was read at `at` to a new location; `references` logical pages share the page.
    pub(super) fn relocate_page(
        &mut self,
        (page, at): (Lpn, Slot),
        data: &F::Payload,
        cause: Cause,
        from: StreamId,
        references: u32,
    ) -> Result<(), LayerError> {
        if self.cache.find(page).is_none() {
            self.make_room()?;
        }
        let stream = self.stream_for(page, cause, Some(from), 0, references);
        let to = self.space.append(stream, page, data, cause)?;
        match self.cache.find(page) {
            Some(handle) => {
                let old = self.cache.get(handle);
                self.cache.set(handle, Mapping { slot: to, dirty: true, ..old });
                self.cache.touch(handle);
            }
            None => {
                // The page's old location is about to be erased.
                self.cache.insert(page, Mapping { dirty: true, ..Mapping::clean(to) });
            }
        }
        self.space.invalidate(at);
        self.limit_dirty(false)
    }

    /// Moves the needed pages of a metadata block and erases the block.
    fn empty_metadata_block(&mut self, victim: BlockId) -> Result<(), LayerError> {
        let group = self.space.group(victim);
        for page in 0..self.space.pages_per_block() {
            if self.space.pool.blocks.valid_pages(victim) == 0 {
                break;
            }
            let at = self.space.slot(victim, page);
            let PageState::Written(spare) = self.space.read_spare(at, group.cause()) else { continue };
            match group {
                BlockGroup::Validity => {
                    self.validity.relocate(at, &mut self.space)?;
                }
                _ => self.move_translation(spare.owner.0, at)?,
            }
        }
        if self.space.is_protected(victim) {
            self.validity.save(&mut self.space)?;
            self.space.release();
        }
        self.space.erasable.retain(|&erasable| erasable != victim);
        self.erase_or_retire(victim, group.cause())
    }

    fn move_translation(&mut self, label: u32, at: Slot) -> Result<(), LayerError> {
        if label >= self.space.contents.translation_pages() {
            return self.directory.relocate_node(label, at, &mut self.space);
        }
        if self.directory.locate(label, &mut self.space)? != at {
            return Ok(());
        }
        self.rewrite(label)
    }

    /// Erases an emptied block, or retires it if it has failed.
    fn erase_or_retire(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        if !self.space.pool.has_failed(block) {
            return self.erase(block, cause);
        }
        self.events.failed_programs += 1;
        self.space.erase_or_retire(block, cause)?;
        self.approximate_blocks.remove(&block);
        self.space.protected.remove(block);
        self.validity.record_erase(block, &mut self.space)
    }

    /// Rewrites the pages of a block that was read too often.
    fn refresh(&mut self, block: BlockId) -> Result<(), LayerError> {
        if self.space.pool.has_failed(block) {
            return Ok(());
        }
        self.close_early(block);
        if self.space.pool.blocks.valid_pages(block) == 0 {
            return Ok(());
        }
        self.events.refreshed_blocks += 1;
        self.empty_block(block, Cause::WearLevelling)
    }

    /// Closes a block before it is full, if it is open. Its unwritten pages no longer count as valid.
    fn close_early(&mut self, block: BlockId) {
        let Some(frontier) = self.space.pool.close_early(block) else { return };
        let pool = &mut self.space.pool;
        let unwritten = pool.room(frontier).min(pool.blocks.valid_pages(block));
        pool.blocks.invalidate_many(block, unwritten);
        self.space.close(block);
    }

    /// Moves all needed pages of a closed block, and erases the block.
    pub(super) fn empty_block(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        self.space.pool.take_candidate(block);
        if self.space.group(block) == BlockGroup::User {
            self.empty_user_block(block, cause)
        } else {
            self.empty_metadata_block(block)
        }
    }
}
