//! The store: its state and its operations.

use super::checkpoint::Checkpoint;
use super::clean::StagedPages;
use super::config::{Reclaim, StoreConfig};
use super::directory::Directory;
use crate::config::ConfigError;
use crate::counters::{Cause, Operation};
use crate::layer::{
    Abilities, Answer, Command, Invalidation, Layer, LayerError, LayerReport, Medium, MediumExt, Pages,
    Query, Reports, Scatter, check_range,
};
use crate::placement::Placement;
use crate::pool::{MigrationExecutor, Pool, PoolConfig};
use crate::seed::Random;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::{Blocks, VictimPolicy};
use crate::wear::WearLevelling;
use rand::RngCore;

/// RAM per page of a page map, in bytes.
const MAP_ENTRY_BYTES: u64 = 4;

/// Minimum size of a store's tables for prefetching by writes: the size of a core's own cache. With smaller tables,
/// prefetching costs 5 to 10 % of the time without benefit. With tables of 2 MB, it saves as much, and with larger
/// tables more.
const MIN_PREFETCH_BYTES: usize = 512 << 10;

/// Minimum size of a store's tables for prefetching by cleaning: a few times the size of a core's L1 cache.
const MIN_CLEANING_PREFETCH_BYTES: usize = 192 << 10;

/// A log-structured store over the medium `M`, with a directory `D`, a victim policy `V` and a placement `P`.
pub struct LogStore<M: Medium, D, V, P> {
    pub(super) config: StoreConfig,
    /// True if writes prefetch table entries of later pages.
    pub(super) prefetch: bool,
    /// True if cleaning prefetches the next victim's tables and the map entries of the pages that it moves.
    pub(super) prefetch_cleaning: bool,
    /// The blocks, and the counts of operations on the medium below.
    pub(super) pool: Pool<M, V>,
    pub(super) directory: D,
    pub(super) placement: P,
    /// Reason for the current moves: cleaning, or wear levelling.
    pub(super) move_cause: Cause,
    /// True if a power cut interrupted cleaning after it had taken an erased block of the reserve.
    pub(super) is_cleaning_interrupted: bool,
    /// True while pages of a block that was read too often are rewritten.
    pub(super) is_refreshing: bool,
    /// Stream and opening time of each block, if the placement needs them.
    pub(super) block_history: Vec<(StreamId, u64)>,
    pub(super) staged: StagedPages<M::Payload>,
    pub(super) stats: StoreStats,
    pub(super) random: Random,
    /// Blocks in which the current range of trims invalidated pages.
    pub(super) affected_blocks: Vec<BlockId>,
    /// Indices of the pages being read; kept to reuse the allocation.
    indices: Vec<u32>,
    /// Invalidated pages to report to the medium; kept to reuse the allocation.
    pub(super) invalidations: Vec<Invalidation>,
    pub(super) checkpoint: Checkpoint<M::Payload>,
    /// True while a checkpoint is written during cleaning.
    pub(super) is_checkpoint_during_cleaning: bool,
    /// Migration policy, which decides about each live page of a victim; without a policy, all live pages are moved.
    pub(super) migration: Option<Box<MigrationExecutor<M::Payload>>>,
}

/// Statistics of a store in addition to those of the pool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreStats {
    /// Pages that cleaning wrote to a stream other than the chosen one, for lack of erased blocks.
    pub spilled_pages: u64,
    /// Live pages that cleaning evicted instead of moving them.
    pub evicted_pages: u64,
    pub scatter: Scatter,
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Creates a store on an erased medium. Fails if a setting cannot work; the error names its key.
    pub fn new(
        config: StoreConfig,
        mut medium: M,
        directory: D,
        victim: V,
        placement: P,
    ) -> Result<Self, ConfigError> {
        medium.set_streams(placement.streams())?;
        let store = Self::assemble(config, medium, directory, victim, placement);
        store.validate()?;
        Ok(store)
    }

    /// Returns the store with wear levelling. Fails if a setting is incompatible with it.
    pub fn with_levelling(mut self, policy: Option<Box<dyn WearLevelling>>) -> Result<Self, ConfigError> {
        if policy.is_some() && (!D::PAGE_EXACT || self.config.reclaim == Reclaim::InPlace) {
            let problem = "needs erased blocks to choose from and pages with owners to move: reclaim = \"free_pool\" and \
                           directory = \"page\"";
            return Err(ConfigError::new("wear", problem));
        }
        self.pool.set_wear_levelling(policy, Vec::new());
        Ok(self)
    }

    /// Creates a store without validating its settings.
    pub(super) fn assemble(config: StoreConfig, medium: M, directory: D, victim: V, placement: P) -> Self {
        let all_pages = config.logical_pages + medium.metadata_pages();
        let streams = placement.streams() + u8::from(medium.has_metadata_stream());
        let history = if placement.needs_block_history() { medium.blocks() as usize } else { 0 };
        let pool_config = PoolConfig {
            pages: all_pages,
            streams: usize::from(streams),
            first_sequence: 0,
            watermarks: config.watermarks(),
            survives_failed_programs: D::PAGE_EXACT && config.reclaim != Reclaim::InPlace,
        };
        let mut pool = Pool::new(medium, victim, pool_config);
        // Cleaning needs the blocks filled by the logical pages, the open blocks, the erased blocks of the reserve, and
        // one block of invalid pages as its gain.
        pool.needed_blocks = all_pages
            .div_ceil(pool.pages_per_block())
            .saturating_add(config.reclaim.reserved_blocks(streams));
        let tables = directory.memory_bytes() + pool.blocks.memory_bytes();
        LogStore {
            prefetch: config.prefetch.unwrap_or(tables > MIN_PREFETCH_BYTES),
            prefetch_cleaning: config.prefetch.unwrap_or(tables > MIN_CLEANING_PREFETCH_BYTES),
            pool,
            block_history: vec![(StreamId(0), 0); history],
            staged: StagedPages::default(),
            stats: StoreStats::default(),
            random: config.seed.derive("copy order").random(),
            affected_blocks: Vec::new(),
            indices: Vec::new(),
            invalidations: Vec::new(),
            checkpoint: Checkpoint::default(),
            is_checkpoint_during_cleaning: false,
            migration: None,
            config,
            directory,
            placement,
            move_cause: Cause::Cleaning,
            is_cleaning_interrupted: false,
            is_refreshing: false,
        }
    }

    /// Returns the number of streams: those of the placement and, if there is one, the metadata stream.
    pub(super) fn streams(&self) -> u8 {
        self.pool.frontiers.len() as u8
    }

    /// Returns the medium below.
    pub fn medium(&self) -> &M {
        &self.pool.medium
    }

    /// Returns the medium below as a mutable reference, for example to inject faults.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.pool.medium
    }

    /// Returns the block table.
    pub fn blocks(&self) -> &Blocks {
        &self.pool.blocks
    }

    /// Returns the directory.
    pub fn directory(&self) -> &D {
        &self.directory
    }

    /// Returns the number of pages of `block` written since its erase.
    pub fn written(&self, block: BlockId) -> u32 {
        self.pool.written(block)
    }

    /// Reads the `count` pages of `block` at the first `count` entries of `indices`.
    fn read_group(
        &mut self,
        block: BlockId,
        count: usize,
        out: &mut Vec<M::Payload>,
    ) -> Result<(), LayerError> {
        self.pool.counters.add_outgoing(Cause::Host, Operation::Read, count as u64);
        let listed = || Pages::Listed(&self.indices[..count]);
        let pages = if D::PAGE_EXACT { listed() } else { Pages::Counted(count as u32) };
        Ok(self.pool.medium.read(block, pages, Cause::Host, out)?)
    }
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> Layer<M::Payload> for LogStore<M, D, V, P> {
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[M::Payload], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.config.logical_pages)?;
        self.pool.moves.begin(pages);
        self.append_host(pages, data, hint)
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<M::Payload>) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.pool.counters.add_incoming(Operation::Read, pages.len() as u64);
        if !M::READS_BY_PAGE && D::PAGE_EXACT {
            let stored = self.directory.count_stored(pages) as u64;
            self.pool.counters.add_outgoing(Cause::Host, Operation::Read, stored);
            self.pool.medium.count_reads(stored);
            out.resize(out.len() + pages.len(), M::Payload::default());
            return Ok(());
        }
        if self.indices.len() < pages.len() {
            self.indices.resize(pages.len(), 0);
        }
        let mut rest = pages;
        while !rest.is_empty() {
            let Some((block, count)) =
                self.directory.leading_in_same_block(rest, &mut self.indices[..rest.len()])
            else {
                out.push(M::Payload::default());
                rest = &rest[1..];
                continue;
            };
            let count = count.min(self.pool.medium.reads_before_refresh(block) as usize);
            self.read_group(block, count, out)?;
            rest = &rest[count..];
            match self.refresh_disturbed() {
                // The data was read; the next write will report the end of life.
                Err(error) if error.is_out_of_blocks() => {}
                refreshed => refreshed?,
            }
        }
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.pool.counters.add_incoming(Operation::Trim, pages.len() as u64);
        self.notify_invalidations(pages);
        self.pool.moves.trimmed(pages);
        self.trim_runs(pages);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.pool.counters.add_incoming(Operation::Flush, 1);
        self.write_before_flush()?;
        Ok(self.pool.medium.flush()?)
    }

    fn describe(&self, reports: &mut Reports) {
        let tables =
            self.directory.memory_bytes() + self.pool.blocks.memory_bytes() + self.pool.victim.memory_bytes();
        let history = self.block_history.len() * size_of::<(StreamId, u64)>();
        reports.layers.push(LayerReport {
            counters: self.pool.counters,
            logical_pages: self.config.logical_pages,
            physical_pages: u64::from(self.pool.medium.blocks()) * u64::from(self.pool.pages_per_block()),
            mapped_pages: self.directory.mapped_pages() - self.mapped_metadata(),
            victim_valid_pages: self.pool.victim_valid_pages.clone(),
            spilled_pages: self.stats.spilled_pages,
            memory_bytes: (tables + history + self.placement.memory_bytes() + 4 * self.pool.erased.capacity())
                as u64,
            directory: D::NAME,
            moved_pages: self.pool.moves.matrix(),
            scatter: self.stats.scatter,
            moved_again_pages: self.pool.moves.repeated_moves(),
            evicted_pages: self.config.evicts.then_some(self.stats.evicted_pages),
            deferrals: self.config.deferred_low.map(|_| self.pool.deferrals),
            map_bytes: Some(MAP_ENTRY_BYTES * u64::from(self.config.logical_pages)),
            cleanings: Some(self.pool.victim_valid_pages.iter().sum()),
            erased_blocks: Some(self.pool.erased.len() as u32),
            ..LayerReport::default()
        });
        self.pool.medium.describe(reports);
    }

    fn abilities(&self) -> Abilities {
        self.supported_abilities()
    }

    #[inline]
    fn query(&self, query: Query<'_>) -> Answer {
        self.answer(query)
    }

    fn command(&mut self, command: Command<'_, M::Payload>) -> Result<Answer, LayerError> {
        self.execute(command)
    }

    fn written_pages(&self) -> u64 {
        self.pool.counters.incoming(Operation::Write)
    }

    fn final_draw(&mut self) -> u64 {
        self.pool.victim.final_draw() ^ self.random.next_u64().rotate_left(1)
    }

    fn check(&self) -> Result<(), String> {
        self.directory.check(&self.pool.blocks, |block| self.written(block))?;
        self.pool.check(0)?;
        self.pool.medium.check()
    }
}
