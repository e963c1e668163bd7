//! The store: its parts, and what its user can ask of it.

use super::checkpoint::Checkpoint;
use super::clean::Staged;
use super::config::{Reclaim, StoreConfig};
use super::directory::Directory;
use crate::config::ConfigError;
use crate::counters::{Cause, Operation};
use crate::layer::{
    Abilities, Answer, Command, Death, Layer, LayerError, LayerReport, Medium, MediumExt, Pages, Query,
    Reports, Scatter, check_range,
};
use crate::placement::Placement;
use crate::pool::{Judge, Pool, PoolConfig};
use crate::seed::Random;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::{Blocks, VictimPolicy};
use crate::wear::WearLevelling;
use rand::RngCore;

/// RAM of a page in a map of pages.
const MAP_ENTRY_BYTES: u64 = 4;

/// From this size of its tables on a store prefetches: a core's own cache. In smaller tables the look-ahead is work for
/// nothing (5 to 10 % of the time); in tables of 2 MB it gains as much, in larger ones more and more.
const PREFETCH_FROM_BYTES: usize = 512 << 10;

/// From this size of its tables on a store prefetches what cleaning touches: a few times a core's first cache.
const PREFETCH_CLEANING_FROM_BYTES: usize = 192 << 10;

/// A log-structured store over the medium `M`, with a directory `D`, a victim policy `V` and a placement `P`.
pub struct LogStore<M: Medium, D, V, P> {
    pub(super) config: StoreConfig,
    /// Whether writes look ahead and prefetch.
    pub(super) prefetch: bool,
    /// Whether cleaning prefetches the next victim's tables and the map's entries of the pages that it moves.
    pub(super) prefetch_cleaning: bool,
    /// The blocks, and what was sent to the medium below.
    pub(super) pool: Pool<M, V>,
    pub(super) directory: D,
    pub(super) placement: P,
    /// Why pages are being moved: cleaning, unless it is for the sake of wear.
    pub(super) moving_for: Cause,
    /// Whether a power cut interrupted cleaning, which took the last erased block.
    pub(super) is_cut_short: bool,
    /// Whether pages of a block that was read too often are being written anew.
    pub(super) refreshing: bool,
    /// Stream and opening time of each block, where the placement wants them.
    pub(super) history: Vec<(StreamId, u64)>,
    pub(super) staged: Staged<M::Payload>,
    pub(super) tally: Tally,
    pub(super) random: Random,
    /// Blocks that lost pages to the range of trims in hand.
    pub(super) touched: Vec<BlockId>,
    /// Indices of the pages being read.
    indices: Vec<u32>,
    /// Pages whose deaths the medium is told of.
    pub(super) deaths: Vec<Death>,
    pub(super) checkpoint: Checkpoint<M::Payload>,
    /// Whether a checkpoint is being written in the middle of cleaning.
    pub(super) checkpoints_amid_cleaning: bool,
    /// Who says what becomes of a victim's live pages, if not all are simply moved.
    pub(super) judge: Option<Box<Judge<M::Payload>>>,
}

/// What a store counts besides the pool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Pages that cleaning put into another stream than the one that they belong to.
    pub spilled_pages: u64,
    /// Live pages that cleaning dropped.
    pub evicted_pages: u64,
    pub scatter: Scatter,
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

    /// The same store, which levels wear; or the setting that cannot work with that.
    pub fn with_levelling(mut self, policy: Option<Box<dyn WearLevelling>>) -> Result<Self, ConfigError> {
        if policy.is_some() && (!D::PAGE_EXACT || self.config.reclaim == Reclaim::InPlace) {
            let problem = "needs erased blocks to choose from and pages with owners to move: reclaim = \"free_pool\" and \
                           directory = \"page\"";
            return Err(ConfigError::new("wear", problem));
        }
        self.pool.level_with(policy, Vec::new());
        Ok(self)
    }

    /// A store whose settings are known to work.
    pub(super) fn assemble(config: StoreConfig, medium: M, directory: D, victim: V, placement: P) -> Self {
        let all_pages = config.logical_pages + medium.metadata_pages();
        let streams = placement.streams() + u8::from(medium.has_own_stream());
        let history = if placement.wants_block_history() { medium.blocks() as usize } else { 0 };
        let pool_config = PoolConfig {
            pages: all_pages,
            streams: usize::from(streams),
            first_sequence: 0,
            marks: config.marks(),
            survives_failed_programs: D::PAGE_EXACT && config.reclaim != Reclaim::InPlace,
        };
        let mut pool = Pool::new(medium, victim, pool_config);
        // Blocks that the logical pages fill, those that are open, those that must wait erased, and one whose dead pages are
        // the gain.
        pool.needed_blocks = all_pages
            .div_ceil(pool.pages_per_block())
            .saturating_add(config.reclaim.reserved_blocks(streams));
        let tables = directory.memory_bytes() + pool.blocks.memory_bytes();
        LogStore {
            prefetch: config.prefetch.unwrap_or(tables > PREFETCH_FROM_BYTES),
            prefetch_cleaning: config.prefetch.unwrap_or(tables > PREFETCH_CLEANING_FROM_BYTES),
            pool,
            history: vec![(StreamId(0), 0); history],
            staged: Staged::default(),
            tally: Tally::default(),
            random: config.seed.of("copy order").random(),
            touched: Vec::new(),
            indices: Vec::new(),
            deaths: Vec::new(),
            checkpoint: Checkpoint::default(),
            checkpoints_amid_cleaning: false,
            judge: None,
            config,
            directory,
            placement,
            moving_for: Cause::Cleaning,
            is_cut_short: false,
            refreshing: false,
        }
    }

    /// Streams of the placement and, if it has one, that of the log's own pages.
    pub(super) fn streams(&self) -> u8 {
        self.pool.frontiers.len() as u8
    }

    /// The medium below.
    pub fn medium(&self) -> &M {
        &self.pool.medium
    }

    /// The medium below, to be changed from outside as only a fault would.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.pool.medium
    }

    /// The block table.
    pub fn blocks(&self) -> &Blocks {
        &self.pool.blocks
    }

    /// The directory.
    pub fn directory(&self) -> &D {
        &self.directory
    }

    /// Pages of `block` written since its erase.
    pub fn written(&self, block: BlockId) -> u32 {
        self.pool.written(block)
    }

    /// Reads `count` pages that are all in `block`, at the indices in hand.
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
            let stored = self.directory.stored(pages) as u64;
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
            let Some((block, count)) = self.directory.together(rest, &mut self.indices[..rest.len()]) else {
                out.push(M::Payload::default());
                rest = &rest[1..];
                continue;
            };
            self.read_group(block, count, out)?;
            rest = &rest[count..];
        }
        match self.refresh_disturbed() {
            // What was read was read; the next write will say that the drive has come to its end.
            Err(error) if error.is_out_of_blocks() => Ok(()),
            refreshed => refreshed,
        }
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.pool.counters.add_incoming(Operation::Trim, pages.len() as u64);
        self.tell_deaths(pages);
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
        let history = self.history.len() * size_of::<(StreamId, u64)>();
        reports.layers.push(LayerReport {
            counters: self.pool.counters,
            logical_pages: self.config.logical_pages,
            physical_pages: u64::from(self.pool.medium.blocks()) * u64::from(self.pool.pages_per_block()),
            mapped_pages: self.directory.mapped_pages() - self.mapped_metadata(),
            victim_valid_pages: self.pool.victim_valid_pages.clone(),
            spilled_pages: self.tally.spilled_pages,
            memory_bytes: (tables + history + self.placement.memory_bytes() + 4 * self.pool.erased.capacity())
                as u64,
            directory: D::NAME,
            moved_pages: self.pool.moves.matrix(),
            scatter: self.tally.scatter,
            moved_again_pages: self.pool.moves.again_pages(),
            evicted_pages: self.config.evict.then_some(self.tally.evicted_pages),
            deferrals: self.config.deferred_low.map(|_| self.pool.deferrals),
            map_bytes: Some(MAP_ENTRY_BYTES * u64::from(self.config.logical_pages)),
            cleanings: Some(self.pool.victim_valid_pages.iter().sum()),
            erased_blocks: Some(self.pool.erased.len() as u32),
            ..LayerReport::default()
        });
        self.pool.medium.describe(reports);
    }

    fn abilities(&self) -> Abilities {
        self.own_abilities()
    }

    #[inline]
    fn query(&self, query: Query<'_>) -> Answer {
        self.answer(query)
    }

    fn command(&mut self, command: Command<'_, M::Payload>) -> Result<Answer, LayerError> {
        self.obey(command)
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
