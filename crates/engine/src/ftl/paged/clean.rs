//! Cleaning: user blocks by moving their valid pages; metadata blocks by waiting until all pages are invalid, or by
//! moving.

use super::space::BlockGroup;
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::mapping::Mapping;
use crate::nand::{Flash, PageState};
use crate::pool::SetAside;
use crate::units::{BlockId, Lpn, Slot, StreamId};

impl<F: Flash> PagedFtl<F> {
    /// Ensures that there are enough erased blocks for the next page of the user and all writes that it may cause.
    pub(super) fn make_space(&mut self) -> Result<(), LayerError> {
        self.space.pool.check_life()?;
        self.win_space()?;
        let Some(worn) = self.space.next_wear_move() else { return Ok(()) };
        self.empty(worn, Cause::WearLevelling)?;
        self.win_space()
    }

    /// Cleans until there are enough erased blocks. Works also after the end of life, as long as any space can be
    /// freed.
    pub(super) fn win_space(&mut self) -> Result<(), LayerError> {
        loop {
            if !self.space.dead.is_empty() {
                self.erase_dead()?;
            }
            self.fill_pool()?;
            // Each of these operations uses blocks before it frees one, so the pool must be filled before each.
            if let Some(&SetAside { block, .. }) = self.space.pool.set_aside.first() {
                self.empty(block, Cause::Cleaning)?;
            } else if let Some(block) = self.space.pool.medium.take_disturbed() {
                self.refresh(block)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Cleans until the pool has enough erased blocks.
    fn fill_pool(&mut self) -> Result<(), LayerError> {
        let mut fruitless = 0;
        while self.space.pool.must_clean() {
            if self.space.dead.is_empty() {
                self.clean_one(&mut fruitless)?;
                self.erase_dead()?;
            } else {
                self.release_all()?;
            }
        }
        Ok(())
    }

    /// Erases blocks without needed pages, except those that protect data which the validity store has not written
    /// yet.
    fn erase_dead(&mut self) -> Result<(), LayerError> {
        if self.space.protects {
            self.space.release();
        }
        let looked_at = Some(self.space.protected.losses);
        if self.space.looked_at_dead == looked_at {
            return Ok(());
        }
        // Erasing a block may add blocks to the list, which are examined later.
        self.space.looked_at_dead = looked_at;
        let dead = std::mem::take(&mut self.space.dead);
        for (at, &block) in dead.iter().enumerate() {
            if self.space.is_protected(block) {
                self.space.dead.push(block);
                continue;
            }
            let group = self.space.group(block);
            self.events.metadata_blocks_erased += u64::from(group != BlockGroup::User);
            if let Err(error) = self.erase(block, group.cause()) {
                self.space.dead.extend(&dead[at..]);
                self.space.looked_at_dead = None;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Forces the validity store to write its buffer, because blocks are short and some blocks without needed pages
    /// only wait for this.
    fn release_all(&mut self) -> Result<(), LayerError> {
        self.space.settled = self.space.pool.sequence;
        self.validity.save(&mut self.space)?;
        self.space.protected.clear();
        self.erase_dead()
    }

    /// Erases a block and notifies the validity store.
    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        // The validity store does not cover metadata blocks.
        let is_user = self.space.group(block) == BlockGroup::User;
        self.space.give_back(block, cause)?;
        self.approximate.remove(&block);
        self.space.protected.remove(block);
        self.space.settled = self.space.pool.sequence;
        if is_user { self.validity.erased(block, &mut self.space) } else { Ok(()) }
    }

    /// Cleans a victim in idle time, unless enough blocks are erased. Returns true if this gained space.
    pub(super) fn clean_in_idle_time(&mut self) -> Result<bool, LayerError> {
        if !self.space.pool.wants_idle_cleaning() {
            return Ok(false);
        }
        let mut fruitless = 0;
        self.clean_one(&mut fruitless)?;
        self.erase_dead()?;
        Ok(fruitless == 0)
    }

    /// Cleans the next victim.
    fn clean_one(&mut self, fruitless: &mut u64) -> Result<(), LayerError> {
        if let Some(block) = self.metadata_in_the_way() {
            self.events.metadata_blocks_cleaned += 1;
            return self.empty_metadata(block);
        }
        if self.looked_in_vain(*fruitless) {
            *fruitless = 0;
            return self.bring_to_light();
        }
        self.learn(*fruitless)?;
        self.space.pool.blocks.want(self.placement.wanted_blocks());
        let Some(victim) = self.space.pool.take_victim(fruitless) else {
            self.forget_known(None);
            *fruitless = 0;
            return self.bring_to_light();
        };
        self.forget_known((*fruitless == 0).then_some(victim));
        if *fruitless > 0 {
            // Moving all of its pages would gain nothing and would cause writes of translation pages.
            self.space.close(victim);
            return Ok(());
        }
        self.space.pool.note_victim(victim);
        if self.space.group(victim) == BlockGroup::User {
            if let Some(&opened_at) = self.space.host_opened.get(victim.index()) {
                let (stream, blocks) = (self.space.streams[victim.index()], &self.space.pool.blocks);
                self.placement.reclaimed(stream, opened_at, blocks.now(), blocks.valid_pages(victim));
            }
            self.empty_user(victim, Cause::Cleaning)
        } else {
            self.events.metadata_blocks_cleaned += 1;
            self.empty_metadata(victim)
        }
    }

    /// Synchronises dirty entries to identify invalid pages, because no block has any known invalid page.
    fn bring_to_light(&mut self) -> Result<(), LayerError> {
        let Some(oldest) = self.cache.oldest_dirty() else {
            return Err(self.space.pool.no_space());
        };
        self.synchronise(self.translation_page(self.cache.page(oldest)))
    }

    /// Returns a metadata block to clean, if metadata is not cleaned by moving but a block must be cleaned
    /// nevertheless. There are two reasons: metadata, most of it invalid, occupies more than half of the spare space;
    /// or erased blocks run out.
    ///
    /// The paper has no such rule. Translation pages that are never rewritten can each pin a block of invalid ones.
    fn metadata_in_the_way(&self) -> Option<BlockId> {
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
        // With a very small cache, moving user pages writes as many translation pages and gains nothing at first.
        let drains = self.space.pool.erased.len() * 2 <= self.reserve_blocks;
        if (metadata as u64) * 2 <= spare && !drains {
            return None;
        }
        let (valid, emptiest) = self.space.closed_metadata().min()?;
        let most = if drains { pages_per_block / 2 } else { pages_per_block };
        (u64::from(valid) < most).then_some(emptiest)
    }

    /// Moves the valid pages of a user block elsewhere and erases the block (paper, sec. 4: garbage-collection
    /// operations; 4.1).
    ///
    /// The old locations of moved pages are not reported as invalid, because the block is about to be erased. After
    /// an earlier power cut, they must be found as unreported; until the erase, the validity store therefore refers
    /// to the state before the move.
    fn empty_user(&mut self, victim: BlockId, cause: Cause) -> Result<(), LayerError> {
        self.foresee_cleaning(victim);
        self.find_invalid(victim)?;
        self.cleaning = Some(victim);
        self.space.settled = self.space.pool.sequence;
        self.space.frozen = Some(self.space.standing());
        let moved = match self.judge.take() {
            None => self.move_valid(victim, cause),
            Some(mut judge) => {
                let moved = self.move_judged(victim, cause, &mut judge);
                self.judge = Some(judge);
                moved
            }
        };
        let done = moved.and_then(|()| self.give_back(victim, cause));
        self.space.frozen = None;
        self.cleaning = None;
        self.foresee_next_cleaning();
        done
    }

    fn move_valid(&mut self, victim: BlockId, cause: Cause) -> Result<(), LayerError> {
        let from = self.space.streams[victim.index()];
        for page in 0..self.space.pages_per_block() {
            self.foresee_moves(victim, page);
            if self.invalid.contains(page) {
                continue;
            }
            self.spare_blocks()?;
            let at = self.space.slot(victim, page);
            if let PageState::Written(spare) = self.spare_of_victim(at, cause)
                && self.is_live(spare.owner, at)?
            {
                self.move_page(spare.owner, at, cause, from)?;
            }
        }
        Ok(())
    }

    /// Erases blocks without needed pages, if few erased blocks are left during a move.
    pub(super) fn spare_blocks(&mut self) -> Result<(), LayerError> {
        let few = self.space.pool.erased.len() <= 2;
        if few && !self.space.dead.is_empty() { self.erase_dead() } else { Ok(()) }
    }

    /// Returns the spare area of a page of the victim that was not reported as invalid. With eager reports the bitmap
    /// is exact, and the owner is read together with the page, so no separate read is counted.
    pub(super) fn spare_of_victim(&mut self, at: Slot, cause: Cause) -> PageState {
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
            // The translation page still points here, which would be wrong once the block holds other data.
            self.synchronise(self.translation_page(page))?;
        } else if mapping.unidentified && !mapping.uncertain {
            // The page is about to be erased and must not be reported later, when the block holds other data.
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
        self.carry_page((page, at), &data, cause, from, 1)
    }

    /// Writes a page elsewhere that was read at `at` and that `references` logical pages share.
    pub(super) fn carry_page(
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
                let before = Slot::NONE;
                let mapping =
                    Mapping { slot: to, before, dirty: true, unidentified: false, uncertain: false };
                self.cache.insert(page, mapping);
            }
        }
        self.space.invalidate(at);
        self.limit_dirty(false)
    }

    /// Moves the needed pages of a metadata block and erases the block.
    fn empty_metadata(&mut self, victim: BlockId) -> Result<(), LayerError> {
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
        self.space.dead.retain(|&dead| dead != victim);
        self.give_back(victim, group.cause())
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
    fn give_back(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        if !self.space.pool.has_failed(block) {
            return self.erase(block, cause);
        }
        self.events.failed_programs += 1;
        self.space.give_back(block, cause)?;
        self.approximate.remove(&block);
        self.space.protected.remove(block);
        self.validity.erased(block, &mut self.space)
    }

    /// Rewrites the pages of a block that was read too often.
    fn refresh(&mut self, block: BlockId) -> Result<(), LayerError> {
        if self.space.pool.is_open(block)
            || self.space.pool.blocks.valid_pages(block) == 0
            || self.space.pool.has_failed(block)
        {
            return Ok(());
        }
        self.events.refreshed_blocks += 1;
        self.empty(block, Cause::WearLevelling)
    }

    /// Moves all needed pages of a closed block, and erases the block.
    pub(super) fn empty(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        self.space.pool.take_candidate(block);
        if self.space.group(block) == BlockGroup::User {
            self.empty_user(block, cause)
        } else {
            self.empty_metadata(block)
        }
    }
}
