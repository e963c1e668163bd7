//! Cleaning: reads a victim's live pages, erases the victim and writes the pages back to flash.

use super::config::CopyOrder;
use super::directory::Directory;
use super::store::LogStore;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, Medium, MediumError, Pages};
use crate::placement::{PageContext, Placement};
use crate::pool::{Frontier, PendingBlock};
use crate::seed::random_below;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

/// Live pages that were read from a victim and are not yet written to an open block. The buffers are reused by all
/// cleanings.
#[derive(Debug)]
pub(super) struct StagedPages<P> {
    /// Owners of the pages, if the directory has page identities; followed by unused entries for the owners of another
    /// victim.
    pub(super) owners: Vec<Lpn>,
    /// Contents of the pages.
    pub(super) data: Vec<P>,
    /// Number of pages, from the first, that are back on flash.
    pub(super) written: usize,
    /// Stream of the victim, if the placement needs it.
    pub(super) from: Option<StreamId>,
    /// Indices of the pages just read, if the medium needs them; followed by unused entries for the indices of another
    /// victim.
    indices: Vec<u32>,
}

impl<P> Default for StagedPages<P> {
    fn default() -> Self {
        StagedPages { owners: Vec::new(), data: Vec::new(), written: 0, from: None, indices: Vec::new() }
    }
}

impl<P: Copy> StagedPages<P> {
    /// Returns the number of pages that are not yet back on flash.
    pub(super) fn len(&self) -> usize {
        self.data.len() - self.written
    }

    /// Returns the entries of `owners` for `pages` more pages; enlarges the buffer if necessary.
    fn owners_buffer(&mut self, pages: u32) -> &mut [Lpn] {
        let (end, needed) = (self.data.len(), self.data.len() + pages as usize);
        if self.owners.len() < needed {
            self.owners.resize(needed, Lpn(0));
        }
        &mut self.owners[end..needed]
    }

    /// Returns the entries of `owners` and `indices` for `pages` more pages; enlarges the buffers if necessary.
    fn listed_buffers(&mut self, pages: u32) -> (&mut [Lpn], &mut [u32]) {
        self.owners_buffer(pages);
        if self.indices.len() < pages as usize {
            self.indices.resize(pages as usize, 0);
        }
        (&mut self.owners[self.data.len()..], &mut self.indices)
    }

    /// Removes the first `pages` pages, which are back on flash.
    pub(super) fn drop_front(&mut self, pages: usize) {
        self.written += pages;
        if self.len() == 0 {
            self.data.clear();
            self.written = 0;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        let (a, b) = (self.written + a, self.written + b);
        self.data.swap(a, b);
        self.owners.swap(a, b);
    }
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Frees a block for the host without a pool of erased blocks, as in Van Houdt (2013), sec. 2.3.
    ///
    /// With a single frontier, the victim is erased and its live pages are written back into it; the remaining pages
    /// are free for the host. A victim without invalid pages is closed at once, and the next victim is taken.
    ///
    /// With two frontiers, live pages go to the cleaning frontier until it is full. If all live pages fit, the erased
    /// victim becomes the host's frontier. Otherwise the remaining pages are written into the erased victim, which
    /// becomes the cleaning frontier, and the next victim is taken.
    pub(super) fn reclaim_in_place(&mut self) -> Result<(), LayerError> {
        let host = StreamId(0);
        let cleaning = self.placement.cleaning_stream().expect("checked when the store was built");
        let mut fruitless = 0;
        while self.pool.frontiers[host.index()].is_none() {
            let victim = self.take_victim(&mut fruitless)?;
            self.stage(victim, self.pool.pages_per_block())?;
            if cleaning != host
                && let Some(frontier) = self.pool.frontiers[cleaning.index()]
            {
                self.select_copied(self.pool.room(frontier) as usize);
                self.append_staged(cleaning, frontier)?;
            }
            if !self.erase(victim)? {
                // The block has worn out. Its remaining live pages stay in RAM until the next victim is erased.
                continue;
            }
            let stream = if self.staged.len() == 0 { host } else { cleaning };
            let frontier = self.open(stream, victim);
            self.append_staged(stream, frontier)?;
        }
        Ok(())
    }

    /// Cleans until the pool has `high` erased blocks. If `high` is not above `low`, cleans only until the host can
    /// write to `stream`: to a frontier that cleaning opened, or to an erased block beyond the reserve.
    pub(super) fn refill_pool(&mut self, stream: StreamId, low: u32, high: u32) -> Result<(), LayerError> {
        let mut fruitless = 0;
        let enough = high.max(low + 1) as usize;
        while self.pool.erased.len() < enough
            && !(high == low && self.pool.frontiers[stream.index()].is_some())
        {
            if self.pool.blocks.candidates() == 0 && self.can_empty_set_aside_block() {
                self.empty_set_aside_block(0)?;
            } else {
                self.clean_victim(&mut fruitless)?;
                self.checkpoint_during_cleaning()?;
            }
        }
        Ok(())
    }

    /// Cleans one victim in idle time, unless the pool has enough erased blocks. Returns true if cleaning gained
    /// space.
    pub(super) fn clean_while_idle(&mut self) -> Result<bool, LayerError> {
        self.resume_if_interrupted()?;
        if !self.pool.needs_idle_cleaning() {
            return Ok(false);
        }
        let mut fruitless = 0;
        self.while_cleaning(|store| store.clean_victim(&mut fruitless))?;
        Ok(fruitless == 0)
    }

    /// Moves the live pages of the next victim and erases the victim into the pool.
    fn clean_victim(&mut self, fruitless: &mut u64) -> Result<(), LayerError> {
        let victim = self.take_victim(fruitless)?;
        if self.pool.erased.is_empty() && self.pool.blocks.valid_pages(victim) > self.pool.open_room() {
            // The reserve has been used up by blocks that wore out during cleaning or by pages torn in power cuts. The
            // victim is left unchanged so that its pages stay readable.
            let live = self.pool.blocks.valid_pages(victim);
            self.pool.close(victim);
            return Err(self.pool.no_room_for(live));
        }
        if self.config.evicts {
            self.evict(victim);
            return self.erase_or_retire(victim);
        }
        self.empty_full_block(victim)
    }

    /// Moves the live pages of a full block and erases the block into the pool.
    pub(super) fn empty_full_block(&mut self, block: BlockId) -> Result<(), LayerError> {
        let written = self.pool.pages_per_block();
        self.stage(block, written)?;
        let moved = match self.migration.take() {
            None => self.redistribute(),
            Some(judge) => self.redistribute_by_policy(block, judge),
        };
        if let Err(error) = moved {
            let error = self.abort_moving(block, written, error);
            self.pool.pending_blocks.push(PendingBlock { block, written, is_failed: false });
            return Err(error);
        }
        self.erase_or_retire(block)
    }

    /// Removes the live pages of `victim` from the map instead of moving them.
    fn evict(&mut self, victim: BlockId) {
        let (valid, written) = (self.pool.blocks.valid_pages(victim), self.pool.pages_per_block());
        let mut owners = std::mem::take(&mut self.staged.owners);
        owners.resize(owners.len().max(written as usize), Lpn(0));
        self.directory.gather(victim, written, &mut owners, self.prefetch_cleaning);
        let evicted = &owners[..valid as usize];
        self.notify_invalidations(evicted);
        for &page in evicted {
            self.directory.remove(page);
            self.pool.blocks.invalidate(victim);
            self.placement.trimmed(page);
        }
        self.stats.evicted_pages += u64::from(valid);
        self.staged.owners = owners;
    }

    /// Returns the next victim and removes it from the candidates.
    #[inline]
    fn take_victim(&mut self, fruitless: &mut u64) -> Result<BlockId, LayerError> {
        self.pool.blocks.set_target_blocks(self.placement.target_blocks());
        let mut victim = self.pool.take_victim(fruitless).ok_or_else(|| self.pool.no_space())?;
        while self.risks_reserve(victim) {
            self.pool.close(victim);
            victim = self.pool.take_victim(fruitless).ok_or_else(|| self.pool.no_space())?;
        }
        self.pool.count_victim(victim);
        if let Some(&(stream, opened_at)) = self.block_history.get(victim.index()) {
            // The metadata stream is no stream of the placement.
            let placed = stream.0 < self.placement.streams();
            if placed {
                let valid = self.pool.blocks.valid_pages(victim);
                self.placement.reclaimed(stream, opened_at, self.pool.blocks.now(), valid);
            }
            self.staged.from = placed.then_some(stream);
        }
        Ok(victim)
    }

    /// True if cleaning `victim` gains no page and a page torn during the move would use up the last erased block. This
    /// can happen only after a power cut.
    #[inline]
    fn risks_reserve(&self, victim: BlockId) -> bool {
        self.pool.is_recovered
            && self.pool.watermarks.is_some()
            && self.pool.erased.len() <= 1
            && self.pool.blocks.valid_pages(victim) == self.pool.pages_per_block()
    }

    /// Prefetches the table entries of the next victim, if the policy can predict that victim.
    #[inline(always)]
    fn prefetch_next_victim(&self) {
        if let Some(victim) = self.pool.victim.likely_victim(&self.pool.blocks) {
            self.directory.prefetch_block(victim);
            self.pool.medium.prefetch_block(victim);
        }
    }

    /// Reads the live pages among the first `written` pages of `victim` into RAM and appends them to the staged
    /// pages.
    #[inline]
    pub(super) fn stage(&mut self, victim: BlockId, written: u32) -> Result<(), LayerError> {
        let unwritten = self.pool.pages_per_block() - written;
        let valid = self.pool.blocks.valid_pages(victim) - unwritten;
        let staged = &mut self.staged;
        // Torn pages may lie between the live ones, so the live pages must be listed.
        let pages = if D::PAGE_EXACT && (M::READS_BY_PAGE || self.pool.is_recovered) {
            let (owners, indices) = staged.listed_buffers(written);
            let found = self.directory.gather_listed(victim, written, owners, indices);
            Pages::Listed(&staged.indices[..found])
        } else {
            if D::PAGE_EXACT {
                self.directory.gather(victim, written, staged.owners_buffer(written), self.prefetch_cleaning);
            }
            Pages::Counted(valid)
        };
        self.pool.medium.read(victim, pages, self.move_cause, &mut staged.data)?;
        self.pool.counters.add_outgoing(self.move_cause, Operation::Read, u64::from(valid));
        // This follows the read so that it overlaps with the prefetch of map entries started by `gather`.
        if self.prefetch_cleaning {
            self.prefetch_next_victim();
        }
        Ok(())
    }

    /// Moves the `room` staged pages that will fill the frontier to the front, if not all staged pages fit.
    #[inline(always)]
    fn select_copied(&mut self, room: usize) {
        if self.config.copy_order == CopyOrder::Random && room < self.staged.len() {
            self.shuffle_staged(room);
        }
    }

    #[inline(never)]
    fn shuffle_staged(&mut self, room: usize) {
        for at in 0..room {
            let rest = (self.staged.len() - at) as u64;
            let other = at + random_below(&mut self.random, rest) as usize;
            self.staged.swap(at, other);
        }
    }

    /// Appends as many staged pages as fit at `frontier`.
    #[inline]
    fn append_staged(&mut self, stream: StreamId, frontier: Frontier) -> Result<(), LayerError> {
        let room = self.pool.room(frontier) as usize;
        let length = room.min(self.staged.len());
        if length == 0 {
            return Ok(());
        }
        let range = self.staged.written..self.staged.written + length;
        let owners = D::PAGE_EXACT.then(|| &self.staged.owners[range.clone()]);
        match self.pool.program(stream, frontier, owners, &self.staged.data[range], self.move_cause) {
            Ok(()) => {
                self.relocate_staged(frontier, length);
                self.advance(stream, frontier, length as u32);
                Ok(())
            }
            Err(error) => self.handle_failed_relocation(stream, frontier, length, error),
        }
    }

    /// Records that the first `length` staged pages are now on flash, starting at `frontier`.
    #[inline(always)]
    fn relocate_staged(&mut self, frontier: Frontier, length: usize) {
        if D::PAGE_EXACT {
            let owners = &self.staged.owners[self.staged.written..self.staged.written + length];
            self.directory.relocate(frontier.block, frontier.page, owners);
        }
        self.staged.drop_front(length);
    }

    /// Handles a run of staged pages whose program failed with `error`: records the pages that the medium accepted
    /// before the failure, and sets the block aside.
    #[cold]
    fn handle_failed_relocation(
        &mut self,
        stream: StreamId,
        frontier: Frontier,
        length: usize,
        error: LayerError,
    ) -> Result<(), LayerError> {
        let range = self.staged.written..self.staged.written + length;
        let owners = D::PAGE_EXACT.then(|| &self.staged.owners[range]);
        match self.pool.programmed_before_failure(frontier, (owners, length), self.move_cause, error) {
            Ok(accepted) => {
                self.relocate_staged(frontier, accepted);
                self.pool.close_failed_block(stream, frontier, accepted as u32);
                Ok(())
            }
            Err(error) => {
                let accepted = self.pool.accepted_before_failure(frontier, owners, self.move_cause, &error);
                if accepted > 0 {
                    self.relocate_staged(frontier, accepted);
                    self.advance(stream, frontier, accepted as u32);
                }
                Err(error)
            }
        }
    }

    /// Appends all staged pages to the streams that the placement chooses; opens erased blocks as needed.
    pub(super) fn redistribute(&mut self) -> Result<(), LayerError> {
        let fixed = self.placement.cleaning_stream().filter(|_| !self.has_metadata_stream());
        if let Some(stream) = fixed {
            while self.staged.len() > 0 {
                let (target, frontier) = self.frontier_for_cleaning(stream)?;
                self.select_copied(self.pool.room(frontier) as usize);
                let before = self.staged.len();
                self.append_staged(target, frontier)?;
                self.count_spilled(stream, target, before - self.staged.len());
            }
            return Ok(());
        }
        let mut staged = std::mem::take(&mut self.staged);
        let mut pages = staged.owners.iter().zip(&staged.data).skip(staged.written);
        let moved = pages.try_for_each(|(&page, data)| self.append_cleaned(page, data, staged.from, 1));
        staged.drop_front(staged.len());
        self.staged = staged;
        moved
    }

    /// Appends a page read from a victim; `references` logical pages share it.
    pub(super) fn append_cleaned(
        &mut self,
        page: Lpn,
        data: &M::Payload,
        from: Option<StreamId>,
        references: u32,
    ) -> Result<(), LayerError> {
        let (stream, frontier) = self.program_cleaned(page, data, from, references)?;
        self.directory.relocate(frontier.block, frontier.page, &[page]);
        self.advance(stream, frontier, 1);
        Ok(())
    }

    /// Programs a moved page with `references` references in the stream that the placement chooses. Does not update
    /// the directory.
    pub(super) fn program_cleaned(
        &mut self,
        page: Lpn,
        data: &M::Payload,
        from: Option<StreamId>,
        references: u32,
    ) -> Result<(StreamId, Frontier), LayerError> {
        let (now, cause) = (self.pool.blocks.now(), Cause::Cleaning);
        let stream = match self.placement.cleaning_stream() {
            _ if page.0 >= self.config.logical_pages => self.metadata_stream(),
            Some(fixed) => fixed,
            None => self.placement.place(&PageContext { page, cause, now, from, hint: 0, references }),
        };
        loop {
            let (target, frontier) = self.frontier_for_cleaning(stream)?;
            let content = std::slice::from_ref(data);
            let Err(error) = self.pool.program(target, frontier, Some(&[page]), content, self.move_cause)
            else {
                self.count_spilled(stream, target, 1);
                return Ok((target, frontier));
            };
            if let Err(error) =
                self.pool.programmed_before_failure(frontier, (None, 1), self.move_cause, error)
            {
                // The page counts if the layer below accepted it, but it stays in the victim.
                self.pool.accepted_before_failure(frontier, Some(&[page]), self.move_cause, &error);
                return Err(error);
            }
            self.pool.close_failed_block(target, frontier, 0);
        }
    }

    /// Returns an open block for pages moved by cleaning, preferably that of `stream`; never starts cleaning.
    ///
    /// If the pool is empty, the pages go to another stream whose open block has free pages. There always are enough:
    /// cleaning started with an erased block, and a victim's live pages fill at most one block.
    fn frontier_for_cleaning(&mut self, stream: StreamId) -> Result<(StreamId, Frontier), LayerError> {
        if let Some(frontier) = self.pool.frontiers[stream.index()] {
            return Ok((stream, frontier));
        }
        if let Some(block) = self.pool.take_erased(self.move_cause) {
            return Ok((stream, self.open(stream, block)));
        }
        let open = self.pool.frontiers.iter().position(Option::is_some).ok_or(LayerError::NoSpace)?;
        let frontier = self.pool.frontiers[open].expect("found open");
        Ok((StreamId(open as u8), frontier))
    }

    /// Counts moved pages that are now on flash in `target`, if their stream is another.
    fn count_spilled(&mut self, stream: StreamId, target: StreamId, pages: usize) {
        if stream != target {
            self.stats.spilled_pages += pages as u64;
        }
    }

    /// Erases the block. Returns false if it wore out.
    #[inline]
    pub(super) fn erase(&mut self, block: BlockId) -> Result<bool, LayerError> {
        let erased = self.pool.erase(block, self.move_cause)?;
        self.check_after_erase(block, erased)
    }

    /// Erases a block without live pages into the pool; retires the block if it has failed.
    pub(super) fn erase_or_retire(&mut self, block: BlockId) -> Result<(), LayerError> {
        if self.pool.has_failed(block) {
            self.pool.reclaim(block, self.move_cause)?;
            return self.pool.check_end_of_life();
        }
        let erased = self.pool.reclaim(block, self.move_cause)?;
        self.check_after_erase(block, erased).map(drop)
    }

    /// Checks if the store can continue after an erase. A worn-out block ends the store's life if too few blocks
    /// remain. So does any worn-out block if the directory has no page identities and cannot record new locations of
    /// the block's pages.
    fn check_after_erase(&self, block: BlockId, erased: bool) -> Result<bool, LayerError> {
        if erased {
            return Ok(true);
        }
        if !D::PAGE_EXACT {
            let erases = self.pool.medium.erases(block);
            return Err(MediumError::WornOut { block: block.0, erases }.into());
        }
        self.pool.check_end_of_life().map(|()| false)
    }
}
