//! The store: its parts, and what its user can ask of it.

use super::attribution::Attribution;
use super::checkpoint::Checkpoint;
use super::clean::Staged;
use super::config::StoreConfig;
use super::directory::Directory;
use super::fault::SetAside;
use super::migration::Judge;
use crate::config::ConfigError;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{
    Group, Layer, LayerError, LayerReport, Medium, Pages, Reports, Run, Scatter, check_range,
};
use crate::placement::Placement;
use crate::seed::Random;
use crate::units::{BlockId, Lpn, StreamId, runs};
use crate::victim::{Blocks, VictimPolicy};
use rand::RngCore;
use std::collections::VecDeque;

/// RAM of a page in a map of pages.
const MAP_ENTRY_BYTES: u64 = 4;

/// From this size of its tables on a store prefetches: a core's own cache. In smaller tables the look-ahead is work for
/// nothing (5 to 10 % of the time); in tables of 2 MB it gains as much, in larger ones more and more.
const PREFETCH_FROM_BYTES: usize = 512 << 10;

/// An open block and the page it takes next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    pub block: BlockId,
    pub page: u32,
}

/// What lies below the store, and what was sent there.
pub(super) struct Below<M> {
    pub medium: M,
    /// Pages appended so far, cleaned ones included.
    pub sequence: u64,
    pub counters: Counters,
    /// Pages still to come of the atomic group in hand; 0 if there is none.
    pub group_left: usize,
    /// Whether there is one.
    pub in_group: bool,
}

impl<M: Medium> Below<M> {
    /// Programs a run at `frontier` and counts it.
    #[inline]
    pub fn program(
        &mut self,
        stream: StreamId,
        frontier: Frontier,
        owners: Option<&[Lpn]>,
        data: &[M::Payload],
        cause: Cause,
    ) -> Result<(), LayerError> {
        let group = match self.group_left {
            0 => Group::None,
            left if left == data.len() => Group::Ends,
            _ => Group::GoesOn,
        };
        self.group_left = self.group_left.saturating_sub(data.len());
        let run = Run { owners, data, sequence: self.sequence, cause, stream, group, note: 0 };
        self.medium.program(frontier.block, frontier.page, run)?;
        self.sequence += data.len() as u64;
        self.counters.add_outgoing(cause, Operation::Write, data.len() as u64);
        Ok(())
    }
}

impl<M: Medium> crate::victim::Below for Below<M> {
    fn left_valid(&self, block: BlockId) -> f64 {
        self.medium.left_valid(block)
    }
}

/// A log-structured store over the medium `M`, with a directory `D`, a victim policy `V` and a placement `P`.
pub struct LogStore<M: Medium, D, V, P> {
    pub(super) config: StoreConfig,
    /// Whether writes look ahead and prefetch.
    pub(super) prefetch: bool,
    pub(super) below: Below<M>,
    pub(super) directory: D,
    pub(super) victim: V,
    pub(super) placement: P,
    pub(super) blocks: Blocks,
    /// The open block of each stream.
    pub(super) frontiers: Vec<Option<Frontier>>,
    /// Blocks closed before they were full, which wait to be emptied.
    pub(super) set_aside: Vec<SetAside>,
    /// Whether pages of a block that was read too often are being written anew.
    pub(super) refreshing: bool,
    /// Erased blocks, in the order in which they were erased.
    pub(super) free: VecDeque<BlockId>,
    /// Blocks that are not bad.
    pub(super) usable_blocks: u32,
    /// Stream and opening time of each block, where the placement wants them.
    pub(super) history: Vec<(StreamId, u64)>,
    pub(super) staged: Staged<M::Payload>,
    pub(super) victim_valid_pages: Vec<u64>,
    pub(super) spilled_pages: u64,
    /// Who is charged with moved pages, in a store that several users share.
    pub(super) attribution: Option<Box<Attribution>>,
    pub(super) random: Random,
    /// Blocks that lost pages to the range of trims in hand.
    touched: Vec<BlockId>,
    scatter: Scatter,
    /// Indices of the pages being read.
    indices: Vec<u32>,
    /// How often cleaning has moved each logical page since it was written, where that is counted.
    moves: Vec<u8>,
    /// Pages moved that had been moved before.
    moved_again_pages: u64,
    pub(super) checkpoint: Checkpoint<M::Payload>,
    /// Logs above that are cleaning.
    pub(super) cleaning_above: u32,
    pub(super) deferrals: u64,
    /// Live pages that cleaning dropped.
    pub(super) evicted_pages: u64,
    /// Who says what becomes of a victim's live pages, if not all are simply moved.
    pub(super) judge: Option<Box<Judge<M::Payload>>>,
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// A store on an erased medium, or the setting that cannot work.
    pub fn new(
        config: StoreConfig,
        mut medium: M,
        directory: D,
        victim: V,
        placement: P,
    ) -> Result<Self, ConfigError> {
        medium.serve(placement.streams())?;
        let store = Self::assemble(config, medium, directory, victim, placement);
        store.validate()?;
        Ok(store)
    }

    /// A store whose settings are known to work.
    pub(super) fn assemble(config: StoreConfig, medium: M, directory: D, victim: V, placement: P) -> Self {
        let all_pages = config.logical_pages + medium.metadata_pages();
        let blocks = Blocks::new(medium.blocks(), medium.pages_per_block(), all_pages, victim.needs());
        let free: VecDeque<BlockId> =
            (0..medium.blocks()).map(BlockId).filter(|&block| !medium.is_bad(block)).collect();
        let history = if placement.wants_block_history() { medium.blocks() as usize } else { 0 };
        let tables = directory.memory_bytes() + blocks.memory_bytes();
        LogStore {
            prefetch: config.prefetch.unwrap_or(tables > PREFETCH_FROM_BYTES),
            usable_blocks: free.len() as u32,
            frontiers: vec![None; usize::from(placement.streams()) + usize::from(medium.has_own_stream())],
            history: vec![(StreamId(0), 0); history],
            staged: Staged::default(),
            victim_valid_pages: vec![0; medium.pages_per_block() as usize + 1],
            spilled_pages: 0,
            attribution: None,
            random: config.seed.of("copy order").random(),
            touched: Vec::new(),
            scatter: Scatter::default(),
            indices: Vec::new(),
            moves: vec![0; if config.count_moves { all_pages as usize } else { 0 }],
            moved_again_pages: 0,
            checkpoint: Checkpoint::default(),
            cleaning_above: 0,
            deferrals: 0,
            evicted_pages: 0,
            judge: None,
            config,
            below: Below {
                medium,
                sequence: 0,
                counters: Counters::default(),
                group_left: 0,
                in_group: false,
            },
            directory,
            victim,
            placement,
            blocks,
            set_aside: Vec::new(),
            refreshing: false,
            free,
        }
    }

    /// Streams of the placement and, if it has one, that of the log's own pages.
    pub(super) fn streams(&self) -> u8 {
        self.frontiers.len() as u8
    }

    /// The medium below.
    pub fn medium(&self) -> &M {
        &self.below.medium
    }

    /// The medium below, to be changed from outside as only a fault would.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.below.medium
    }

    /// The block table.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The directory.
    pub fn directory(&self) -> &D {
        &self.directory
    }

    /// Pages of `block` written since its erase.
    pub fn written(&self, block: BlockId) -> u32 {
        let open = self.frontiers.iter().flatten().find(|frontier| frontier.block == block);
        match open {
            Some(frontier) => frontier.page,
            None if self.blocks.is_candidate(block) => self.below.medium.pages_per_block(),
            None => {
                let aside = self.set_aside.iter().find(|aside| aside.block == block);
                aside.map_or(0, |aside| aside.written)
            }
        }
    }

    /// The pages have just been written by the host, or moved by cleaning.
    #[inline(always)]
    pub(super) fn note_moves(&mut self, pages: &[Lpn], cause: Cause) {
        if self.moves.is_empty() {
            return;
        }
        for page in pages {
            let moves = &mut self.moves[page.index()];
            if !matches!(cause, Cause::Cleaning | Cause::WearLevelling) {
                *moves = 0;
            } else {
                self.moved_again_pages += u64::from(*moves > 0);
                *moves = moves.saturating_add(1);
            }
        }
    }

    /// Trims consecutive pages, and counts how many blocks they were scattered over.
    fn trim_run(&mut self, run: &[Lpn]) {
        let LogStore { directory, touched, blocks, victim, placement, .. } = self;
        directory.remove_run(run, |block, pages| {
            touched.push(block);
            let before = blocks.score(block);
            let left = blocks.invalidate_many(block, pages.len() as u32);
            (left..before).rev().for_each(|score| victim.invalidated(block, score, blocks));
            pages.iter().for_each(|&page| placement.trimmed(page));
        });
        if self.touched.is_empty() {
            return;
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        self.scatter.ranges += 1;
        self.scatter.blocks += self.touched.len() as u64;
        self.touched.clear();
    }

    /// Reads pages that are all in `block`.
    fn read_group(
        &mut self,
        block: BlockId,
        group: &[Lpn],
        out: &mut Vec<M::Payload>,
    ) -> Result<(), LayerError> {
        self.below.counters.add_outgoing(Cause::Host, Operation::Read, group.len() as u64);
        let pages = if D::PAGE_EXACT {
            let directory = &self.directory;
            self.indices.clear();
            self.indices.extend(group.iter().filter_map(|&page| directory.page_in_block(page)));
            Pages::Listed(&self.indices)
        } else {
            Pages::Counted(group.len() as u32)
        };
        Ok(self.below.medium.read(block, pages, Cause::Host, out)?)
    }

    /// Charges what a write causes to whom its first page belongs.
    fn begin_write(&mut self, pages: &[Lpn]) {
        if let (Some(attribution), Some(&first)) = (&mut self.attribution, pages.first()) {
            attribution.begin(first);
        }
    }
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> Layer<M::Payload> for LogStore<M, D, V, P> {
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[M::Payload], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.config.logical_pages)?;
        self.begin_write(pages);
        self.append_host(pages, data, hint)
    }

    fn write_atomic(&mut self, pages: &[Lpn], data: &[M::Payload], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.config.logical_pages)?;
        self.begin_write(pages);
        self.append_group(pages, data, hint)
    }

    fn atomic_pages(&self) -> u32 {
        self.longest_group()
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<M::Payload>) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.below.counters.add_incoming(Operation::Read, pages.len() as u64);
        if !M::READS_BY_PAGE && D::PAGE_EXACT {
            let stored = self.directory.stored(pages) as u64;
            self.below.counters.add_outgoing(Cause::Host, Operation::Read, stored);
            self.below.medium.count_reads(stored);
            out.resize(out.len() + pages.len(), M::Payload::default());
            return Ok(());
        }
        let mut rest = pages;
        while !rest.is_empty() {
            let Some((block, count)) = self.directory.together(rest) else {
                out.push(M::Payload::default());
                rest = &rest[1..];
                continue;
            };
            let (group, others) = rest.split_at(count);
            self.read_group(block, group, out)?;
            rest = others;
        }
        match self.refresh_disturbed() {
            // What was read was read; the next write will say that the drive has come to its end.
            Err(error) if error.is_end_of_life() => Ok(()),
            refreshed => refreshed,
        }
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.below.counters.add_incoming(Operation::Trim, pages.len() as u64);
        self.tell_deaths(pages);
        self.touched.clear();
        for run in runs(pages) {
            self.trim_run(run);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.below.counters.add_incoming(Operation::Flush, 1);
        Ok(self.below.medium.flush()?)
    }

    fn describe(&self, reports: &mut Reports) {
        let tables = self.directory.memory_bytes() + self.blocks.memory_bytes() + self.victim.memory_bytes();
        let history = self.history.len() * size_of::<(StreamId, u64)>();
        reports.layers.push(LayerReport {
            counters: self.below.counters,
            logical_pages: self.config.logical_pages,
            physical_pages: u64::from(self.below.medium.blocks())
                * u64::from(self.below.medium.pages_per_block()),
            mapped_pages: self.directory.mapped_pages() - self.mapped_metadata(),
            victim_valid_pages: self.victim_valid_pages.clone(),
            spilled_pages: self.spilled_pages,
            memory_bytes: (tables + history + self.placement.memory_bytes() + 4 * self.free.capacity())
                as u64,
            directory: D::NAME,
            moved_pages: self.attribution.as_ref().map_or_else(Vec::new, |attribution| attribution.matrix()),
            scatter: self.scatter,
            moved_again_pages: self.moved_again_pages,
            evicted_pages: self.config.evict.then_some(self.evicted_pages),
            deferrals: self.config.deferred_low.map(|_| self.deferrals),
            map_bytes: Some(MAP_ENTRY_BYTES * u64::from(self.config.logical_pages)),
            cleanings: Some(self.victim_valid_pages.iter().sum()),
            ..LayerReport::default()
        });
        self.below.medium.describe(reports);
    }

    fn divide(&mut self, ends: &[u32]) {
        // What is left beyond the last partition, the log's own pages among it, is nobody's, but has a place in the table.
        let all_pages = self.config.logical_pages + self.below.medium.metadata_pages();
        let rest = ends.last().is_none_or(|&end| end < all_pages);
        let mut ends = ends.to_vec();
        ends.extend(rest.then_some(all_pages));
        self.attribution = D::PAGE_EXACT.then(|| Box::new(Attribution::new(&ends)));
    }

    #[inline]
    fn foresee(&self, page: Lpn, near: bool) {
        if self.prefetch {
            self.directory.foresee(page, near, &self.blocks);
        }
    }

    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Ok(LogStore::clean_ahead(self)? || self.below.medium.clean_ahead()?)
    }

    fn cleaning_above(&mut self, begins: bool) {
        self.cleaning_above =
            if begins { self.cleaning_above + 1 } else { self.cleaning_above.saturating_sub(1) };
        self.below.medium.cleaning(begins);
    }

    fn left_valid(&self, first: Lpn, pages: u32) -> f64 {
        let end = first.0.saturating_add(pages).min(self.config.logical_pages);
        let mut holders: Vec<BlockId> =
            (first.0..end).filter_map(|page| self.directory.block_of(Lpn(page))).collect();
        let trimmed = holders.len() as f64;
        holders.sort_unstable();
        holders.dedup();
        let size = self.below.medium.pages_per_block();
        // The pages that an open block still takes count as valid in the table, but hold nothing.
        let valid = |&block: &BlockId| self.blocks.valid_pages(block) - (size - self.written(block));
        let valid: u64 = holders.iter().map(|block| u64::from(valid(block))).sum();
        let held = holders.len() as f64 * f64::from(size);
        if held == 0.0 { 0.0 } else { (valid as f64 - trimmed) / held }
    }

    fn moved_pages(&self, pages: &[Lpn]) -> u64 {
        let moved = |page: &&Lpn| self.moves.get(page.index()).is_some_and(|moves| *moves > 0);
        pages.iter().filter(moved).count() as u64
    }

    fn final_draw(&mut self) -> u64 {
        self.victim.final_draw() ^ self.random.next_u64().rotate_left(1)
    }

    fn check(&self) -> Result<(), String> {
        self.directory.check(&self.blocks, |block| self.written(block))?;
        let candidates = self.blocks.iter_candidates().count() as u32;
        let open = self.frontiers.iter().flatten().count() as u32;
        if candidates != self.blocks.candidates()
            || candidates + open + (self.free.len() + self.set_aside.len()) as u32 != self.usable_blocks
        {
            return Err(format!(
                "{candidates} candidates ({} counted), {open} open, {} erased and {} other blocks are not all of {}",
                self.blocks.candidates(),
                self.free.len(),
                self.set_aside.len(),
                self.usable_blocks
            ));
        }
        self.below.medium.check()
    }
}
