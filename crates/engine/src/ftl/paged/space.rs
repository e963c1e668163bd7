//! The flash of an FTL, divided into groups of blocks: pages are appended to a group's open block, are invalidated,
//! and are erased with their block.

use super::contents::{MetaPage, MetadataContents, StateNote};
use super::known_blocks::VictimChooser;
use super::protected_blocks::ProtectedBlocks;
use crate::config::ConfigError;
use crate::counters::{Cause, Counters, Operation};
use crate::flash_format::ValidityCodec;
use crate::layer::{Invalidation, LayerError, MediumExt, Pages};
use crate::nand::{Flash, PageState};
use crate::pool::{Frontier, Pool, PoolConfig, Purpose};
use crate::table::{filled, prefetch};
use crate::units::{BlockId, Divider, Lpn, Slot, StreamId};
use crate::validity::ValidityPage;
use crate::victim::VictimPolicy;
use std::collections::BTreeSet;

/// Type of a block's contents (paper, sec. 4: the three block groups).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockGroup {
    /// User pages.
    User,
    /// Translation pages, and nodes of a tree over them.
    Translation,
    /// Pages of the validity store.
    Validity,
}

impl BlockGroup {
    /// Returns the cause with which pages of the group are written, read and erased; for user pages, only for
    /// cleaning.
    pub fn cause(self) -> Cause {
        match self {
            BlockGroup::User => Cause::Cleaning,
            BlockGroup::Translation => Cause::Translation,
            BlockGroup::Validity => Cause::Validity,
        }
    }
}

/// Sequence number of the first page ever written; 0 is before all pages.
const FIRST_SEQUENCE: u64 = 1;

/// Blocks and pages of an FTL. The spare area of a translation page or validity page contains the page's number as
/// owner; its group is known from the block's stream.
pub struct Space<F: Flash> {
    /// The blocks, with an open block for each stream: user streams first, then translation, then validity. The
    /// numbers of valid pages are the paper's block validity counters.
    pub pool: Pool<F, VictimChooser>,
    pub contents: MetadataContents,
    /// Stream of every block that is not erased.
    pub streams: Vec<StreamId>,
    /// Sequence number of the first page of every block that is not erased.
    pub first_sequences: Vec<u64>,
    /// Number of pages that the host had written when each block was opened; empty if the placement does not need
    /// this.
    pub host_pages_at_open: Vec<u64>,
    /// Blocks without valid or readable pages, to be erased later.
    pub erasable: Vec<BlockId>,
    /// Value of `protected.release_count` when the blocks in `erasable` were last examined. If it has not changed
    /// since, none of them can be erased.
    pub release_count_at_check: Option<u64>,
    pub protected: ProtectedBlocks,
    /// True if old versions must be protected.
    pub protects_versions: bool,
    /// True if metadata blocks are candidates for cleaning.
    pub cleans_metadata: bool,
    /// Recovery horizon: no dirty mapping entry refers to a page older than this sequence number.
    pub horizon: u64,
    /// All reports to the validity store caused by pages older than this sequence number have been made.
    pub reported_before: u64,
    /// State when the validity store last wrote its buffer.
    pub flushed_state: StateNote,
    /// During recovery: pages of the validity store that turned out to be unneeded.
    pub unneeded: Option<BTreeSet<Slot>>,
    /// Earlier state that pages of the validity store note while recovery repeats lost reports, or while a block is
    /// emptied.
    pub frozen_state: Option<StateNote>,
    /// Spare areas read, by cause, except those read by wear levelling.
    spare_reads: [u64; Cause::ALL.len()],
    divider: Divider,
    /// Codec for pages of the validity store.
    pub codec: ValidityCodec,
}

impl<F: Flash> Space<F> {
    /// Creates the space on flash whose erased blocks are not determined yet.
    pub fn new(
        flash: F,
        contents: MetadataContents,
        codec: ValidityCodec,
        (logical_pages, user_streams): (u32, u8),
        victim: VictimChooser,
    ) -> Self {
        let (blocks, pages_per_block) = (flash.blocks(), flash.pages_per_block());
        let config = PoolConfig {
            pages: logical_pages,
            streams: usize::from(user_streams) + 2,
            first_sequence: FIRST_SEQUENCE,
            watermarks: None,
            survives_failed_programs: true,
        };
        let mut pool = Pool::new(flash, victim, config);
        pool.erased.clear();
        Space {
            pool,
            contents,
            streams: filled(blocks as usize, StreamId(0)),
            first_sequences: filled(blocks as usize, 0),
            host_pages_at_open: Vec::new(),
            erasable: Vec::new(),
            release_count_at_check: None,
            protected: ProtectedBlocks::default(),
            protects_versions: false,
            cleans_metadata: true,
            horizon: 0,
            reported_before: 0,
            flushed_state: StateNote::default(),
            unneeded: None,
            frozen_state: None,
            spare_reads: [0; Cause::ALL.len()],
            divider: Divider::new(pages_per_block),
            codec,
        }
    }

    /// Rejects flash with fewer blocks than the FTL's logical pages, metadata and reserve need.
    pub fn check_size(&self, reserve_blocks: u32) -> Result<(), ConfigError> {
        let needed_blocks = self.pool.needed_blocks;
        if self.pool.usable_blocks >= needed_blocks {
            return self.check_watermarks(reserve_blocks + self.pool.usable_blocks - needed_blocks);
        }
        let problem = format!(
            "has {} usable blocks; this FTL needs {needed_blocks} for the logical pages, its metadata and a reserve of \
             erased blocks to clean with",
            self.pool.usable_blocks
        );
        Err(ConfigError::new("device", problem))
    }

    /// Rejects watermarks of the pool that could never be reached: at most `max_erased` blocks can be erased at a time.
    fn check_watermarks(&self, max_erased: u32) -> Result<(), ConfigError> {
        let Some(marks) = self.pool.watermarks else { return Ok(()) };
        let watermarks = [("free_blocks_low", Some(marks.low)), ("free_blocks_idle", marks.idle_high)];
        match watermarks.into_iter().find(|(_, mark)| mark.is_some_and(|mark| mark > max_erased)) {
            Some((key, mark)) => {
                let mark = mark.expect("just compared");
                Err(ConfigError::new(
                    key,
                    format!("is {mark}; at most {max_erased} blocks can be erased at a time here"),
                ))
            }
            None => Ok(()),
        }
    }

    pub fn pages_per_block(&self) -> u32 {
        self.divider.divisor()
    }

    /// Returns the block of a page, and the page's index in it.
    #[inline]
    pub fn split(&self, at: Slot) -> (BlockId, u32) {
        let block = self.divider.quotient(at.0);
        (BlockId(block), at.0 - block * self.pages_per_block())
    }

    #[inline]
    pub fn slot(&self, block: BlockId, page: u32) -> Slot {
        Slot(block.0 * self.pages_per_block() + page)
    }

    /// Returns the sequence number of the first page of the block that contains the page.
    pub fn first_sequence_of(&self, at: Slot) -> u64 {
        self.first_sequences[self.split(at).0.index()]
    }

    pub fn user_streams(&self) -> usize {
        self.pool.frontiers.len() - 2
    }

    pub fn stream_of(&self, group: BlockGroup) -> StreamId {
        let streams = self.user_streams() as u8;
        match group {
            BlockGroup::User => StreamId(0),
            BlockGroup::Translation => StreamId(streams),
            BlockGroup::Validity => StreamId(streams + 1),
        }
    }

    pub fn group_of_stream(&self, stream: StreamId) -> BlockGroup {
        match stream.index().checked_sub(self.user_streams()) {
            None => BlockGroup::User,
            Some(0) => BlockGroup::Translation,
            Some(_) => BlockGroup::Validity,
        }
    }

    /// Returns the group of a block that is not erased.
    pub fn group(&self, block: BlockId) -> BlockGroup {
        self.group_of_stream(self.streams[block.index()])
    }

    /// Returns the number of pages that may be written in a block: all, or those before its frontier.
    pub fn end_of(&self, block: BlockId) -> u32 {
        self.pool.frontier_in(block).map_or(self.pages_per_block(), |frontier| frontier.page)
    }

    /// Appends a page to the open block of `stream`.
    pub fn append(
        &mut self,
        stream: StreamId,
        owner: Lpn,
        data: &F::Payload,
        cause: Cause,
    ) -> Result<Slot, LayerError> {
        loop {
            let frontier = match self.pool.frontiers[stream.index()] {
                Some(frontier) => frontier,
                None => self.open(stream, cause)?,
            };
            let purpose = Purpose { cause, note: self.horizon };
            let (owners, content) = ([owner], std::slice::from_ref(data));
            if let Err(error) = self.pool.program(stream, frontier, Some(&owners), content, purpose) {
                self.pool.programmed_before_failure(frontier, (None, 1), cause, error)?;
                self.handle_failed_program(stream, frontier);
                continue;
            }
            if self.pool.advance_frontier(stream, frontier, 1) {
                self.close(frontier.block);
            }
            return Ok(self.slot(frontier.block, frontier.page));
        }
    }

    /// Erases a metadata block without needed pages, if there is one. This frees space within one long operation,
    /// such as the reports of all pages of a large trim.
    #[cold]
    fn reclaim_metadata(&mut self) -> Result<(), LayerError> {
        let is_erasable = |&block: &BlockId| {
            self.pool.blocks.valid_pages(block) == 0
                && (self.pool.blocks.is_candidate(block) || self.erasable.contains(&block))
                && self.group(block) != BlockGroup::User
                && !self.is_protected(block)
                && !self.pool.has_failed(block)
        };
        let Some(block) = (0..self.pool.blocks.len()).map(BlockId).find(is_erasable) else { return Ok(()) };
        self.pool.take_candidate(block);
        self.erasable.retain(|&erasable| erasable != block);
        self.erase_or_retire(block, self.group(block).cause()).map(drop)
    }

    fn open(&mut self, stream: StreamId, cause: Cause) -> Result<Frontier, LayerError> {
        if self.pool.erased.len() < 2 {
            self.reclaim_metadata()?;
        }
        if cause == Cause::Host {
            self.pool.count_deferral();
        }
        let block = self.pool.take_erased(cause).ok_or(LayerError::NoSpace)?;
        self.streams[block.index()] = stream;
        self.first_sequences[block.index()] = self.pool.sequence;
        if let Some(opened) = self.host_pages_at_open.get_mut(block.index()) {
            *opened = self.pool.blocks.now();
        }
        if let Some(&next) = self.pool.erased.front() {
            self.prefetch_block(next);
            self.pool.medium.prefetch_spares(next);
        }
        Ok(self.pool.open(stream, block))
    }

    /// Closes the block, which accepts no more pages.
    pub fn close(&mut self, block: BlockId) {
        let is_user = self.group(block) == BlockGroup::User;
        if self.cleans_metadata || is_user {
            self.pool.close(block);
            if let VictimChooser::KnownBlocks(known) = &mut self.pool.victim
                && !is_user
            {
                known.add_metadata(block, &self.pool.blocks);
            }
        } else if self.pool.blocks.valid_pages(block) == 0 {
            self.mark_erasable(block);
        }
    }

    /// Handles a failed program at the frontier: closes the block with its current contents.
    fn handle_failed_program(&mut self, stream: StreamId, frontier: Frontier) {
        let unwritten = self.pool.room(frontier);
        self.pool.close_failed_block(stream, frontier, 0);
        let valid = self.pool.blocks.valid_pages(frontier.block).saturating_sub(unwritten);
        self.pool
            .blocks
            .invalidate_many(frontier.block, self.pool.blocks.valid_pages(frontier.block) - valid);
        self.close(frontier.block);
        // The block is treated as failed, and not as a block without valid pages.
        self.erasable.retain(|&block| block != frontier.block);
    }

    /// Prefetches the counter of a page's block, for a page that will be invalidated soon.
    #[inline]
    pub fn prefetch_counter(&self, at: Slot) {
        self.pool.blocks.prefetch_score(self.split(at).0);
    }

    /// Prefetches the data about a page's block, for a page that will be read and invalidated soon.
    #[inline]
    pub fn prefetch_location(&self, at: Slot) {
        let (block, _) = self.split(at);
        self.pool.blocks.prefetch_score(block);
        self.pool.medium.prefetch_block(block);
        self.protected.prefetch(block);
        prefetch(self.streams.as_ptr().wrapping_add(block.index()));
    }

    /// Prefetches the data about a block that will be opened or erased soon.
    pub fn prefetch_block(&self, block: BlockId) {
        self.prefetch_location(self.slot(block, 0));
        prefetch(self.first_sequences.as_ptr().wrapping_add(block.index()));
        self.contents.prefetch_validity(self.slot(block, 0), 0);
    }

    /// Decrements the number of valid pages of the page's block.
    #[inline]
    pub fn invalidate(&mut self, at: Slot) {
        let (block, _) = self.split(at);
        // Reports repeated after a power cut may refer to pages that are already counted as invalid.
        if self.pool.blocks.valid_pages(block) == 0 {
            return;
        }
        let score = self.pool.blocks.invalidate(block);
        self.pool.victim.invalidated(block, score, &self.pool.blocks);
    }

    /// Notifies the observer of the flash, if any, that a page is no longer needed. Rewritten pages are not reported
    /// this way.
    #[inline]
    pub fn notify_invalidation(&mut self, at: Slot) {
        if !self.pool.medium.wants_invalidations() {
            return;
        }
        let (block, page) = self.split(at);
        if let PageState::Written(spare) = self.pool.medium.spare(block, page) {
            self.pool.medium.on_invalidate(&[Invalidation { owner: spare.owner, block, page }]);
        }
    }

    /// Invalidates a metadata page, which has been replaced.
    pub fn discard_metadata(&mut self, at: Slot) {
        self.notify_invalidation(at);
        self.invalidate(at);
        let (block, _) = self.split(at);
        let candidate = self.cleans_metadata || self.pool.blocks.valid_pages(block) > 0;
        if !candidate && !self.pool.is_open(block) && !self.pool.has_failed(block) {
            self.mark_erasable(block);
        }
    }

    /// Adds a block without needed pages to the list of blocks to erase.
    fn mark_erasable(&mut self, block: BlockId) {
        self.erasable.push(block);
        self.release_count_at_check = None;
    }

    /// Protects an old version of a translation page until the validity store has written its buffer.
    pub fn protect(&mut self, at: Slot) {
        let (block, _) = self.split(at);
        if !self.protects_versions {
            return;
        }
        self.protected.insert(block, self.pool.sequence);
    }

    /// Does the same as [`Space::protect`] for a version whose next version has sequence number `until`.
    pub fn protect_until(&mut self, at: Slot, until: u64) {
        let (block, _) = self.split(at);
        if self.protects_versions {
            self.protected.insert(block, until);
        }
    }

    /// Counts all pages of the block, which must not be a candidate, as valid again.
    pub fn recount_from_full(&mut self, block: BlockId) {
        self.pool.blocks.open(block);
    }

    /// Releases the blocks that protected reports which the validity store has now written to flash.
    pub fn release(&mut self) {
        self.protected.release(self.flushed_state.reported_before);
    }

    /// Returns the current state for a note.
    pub fn current_state(&self) -> StateNote {
        StateNote { reported_before: self.reported_before, horizon: self.horizon }
    }

    /// Returns the note of the validity page at `at`.
    pub fn note_at(&self, at: Slot) -> Option<StateNote> {
        match self.contents.page(at) {
            Some(MetaPage::Validity(page)) => Some(page.1),
            _ => None,
        }
    }

    pub fn is_protected(&self, block: BlockId) -> bool {
        self.protected.contains(block)
    }

    /// Erases a block into the pool, or retires it if a program in it failed. Returns true if it was erased.
    pub fn erase_or_retire(&mut self, block: BlockId, cause: Cause) -> Result<bool, LayerError> {
        let erased = self.pool.reclaim(block, cause)?;
        self.contents.erase(block);
        Ok(erased)
    }

    /// Returns the number of spare areas read, by cause.
    pub fn spare_reads(&self) -> [u64; Cause::ALL.len()] {
        let (ftl_reads, wear) = (self.spare_reads, self.pool.wear_spare_reads());
        std::array::from_fn(|cause| ftl_reads[cause] + wear[cause])
    }

    /// Resets all counts.
    pub fn reset_counts(&mut self) {
        self.pool.counters = Counters::default();
        self.spare_reads = [0; Cause::ALL.len()];
        if let Some(levelling) = &mut self.pool.levelling {
            levelling.reset_spare_reads();
        }
    }

    /// Returns the block that wear levelling selects to be emptied, if it is a full user block.
    pub fn next_wear_move(&mut self) -> Option<BlockId> {
        let (users, streams) = (self.user_streams(), &self.streams);
        self.pool.next_wear_move(|blocks, block| {
            blocks.is_candidate(block) && streams[block.index()].index() < users
        })
    }

    /// Reads the spare area of a page.
    #[inline]
    pub fn read_spare(&mut self, at: Slot, cause: Cause) -> PageState {
        let (block, page) = self.split(at);
        self.spare_reads[cause as usize] += 1;
        self.pool.medium.read_spare(block, page, cause)
    }

    /// Reads a user page and appends its content to `out`.
    pub fn read_user(&mut self, at: Slot, cause: Cause, out: &mut Vec<F::Payload>) -> Result<(), LayerError> {
        let (block, page) = self.split(at);
        self.pool.counters.add_outgoing(cause, Operation::Read, 1);
        Ok(self.pool.medium.read(block, Pages::Listed(&[page]), cause, out)?)
    }

    /// Counts the read of a page whose content is in `contents`.
    pub fn read_metadata(&mut self, at: Slot, cause: Cause) -> Result<(), LayerError> {
        let (block, page) = self.split(at);
        self.pool.counters.add_outgoing(cause, Operation::Read, 1);
        let mut no_content = Vec::new();
        Ok(self.pool.medium.read(block, Pages::Listed(&[page]), cause, &mut no_content)?)
    }

    /// Appends the next version of a translation page.
    pub fn append_translation(&mut self, number: u32, entries: &[(u32, Slot)]) -> Result<Slot, LayerError> {
        let stream = self.stream_of(BlockGroup::Translation);
        let at = self.append(stream, Lpn(number), &F::Payload::default(), Cause::Translation)?;
        self.contents.program_translation(number, at, entries);
        self.store_translation(number, at)?;
        Ok(at)
    }

    pub fn append_validity(&mut self, page: ValidityPage, note: StateNote) -> Result<Slot, LayerError> {
        let stream = self.stream_of(BlockGroup::Validity);
        let label = Lpn(page.label());
        let at = self.append(stream, label, &F::Payload::default(), Cause::Validity)?;
        self.contents.program(at, MetaPage::Validity(Box::new((page, note))));
        self.store_page(at)?;
        Ok(at)
    }

    /// Appends a node of the tree over the translation pages; `label` is a number above those of translation pages.
    pub fn append_node(&mut self, label: u32, children: &[Slot]) -> Result<Slot, LayerError> {
        let stream = self.stream_of(BlockGroup::Translation);
        let at = self.append(stream, Lpn(label), &F::Payload::default(), Cause::Translation)?;
        self.contents.program(at, MetaPage::Node(Box::new(children.into())));
        self.store_page(at)?;
        Ok(at)
    }

    /// Returns the metadata blocks that are neither open nor erased, with their numbers of valid pages.
    pub fn closed_metadata(&self) -> impl Iterator<Item = (u32, BlockId)> + '_ {
        let all = (0..self.pool.blocks.len()).map(BlockId);
        let used = all.filter(|&block| self.pool.blocks.valid_pages(block) > 0);
        let metadata = used.filter(|&block| self.group(block) != BlockGroup::User);
        metadata
            .filter(|&block| !self.pool.is_open(block))
            .map(|block| (self.pool.blocks.valid_pages(block), block))
    }
}
