//! Hybrid FTLs: block mapping for data blocks, and page mapping for a few log blocks.
//!
//! A data block holds the pages of one logical block at their own offsets, so the map needs only 4 bytes per block. The
//! pages of a flash block are programmed in order, so a page is written to its data block only if it is the next page
//! there. Every other write goes to a log block, and merges turn logs into data blocks. A merge writes padding for
//! pages without data.
//!
//! A write is on flash when [`Layer::write`] returns. A trim is not durable: after a power cut, a page that was trimmed
//! and not rewritten is empty or has an earlier content. Once a recovery has determined the content, later recoveries
//! do not change it, unless the page is written or trimmed again.
//!
//! A block with a failed program is emptied immediately and retired. If power is lost before that, recovery treats the
//! block as torn: the block accepts no more pages and is erased at the next merge.

mod abilities;
mod bast;
mod blocks;
mod check;
mod fast;
mod free_logs;
mod merge;
mod note;
mod recover;
mod write;

use super::Restart;
use crate::config::{ConfigError, StoreSize};
use crate::counters::{Cause, Operation};
use crate::layer::{
    Abilities, Answer, Command, FtlReport, Layer, LayerError, LayerReport, Medium, Query, RamPart,
    RecoveryReport, Reports, check_range,
};
use crate::log::MigrationPolicy;
use crate::nand::{Flash, StoredFlash, StoredFlashError};
use crate::pool::{FreeBlocks, SurvivingFlash};
use crate::seed::Seed;
use crate::units::{BlockId, Lpn};
use crate::wear::{WearConfig, WearLevelling};
use blocks::HybridState;
pub use blocks::PADDING;

/// RAM of a map entry, in bytes.
const ENTRY_BYTES: u64 = 4;

/// Default fraction of blocks used as logs: 3 percent.
const DEFAULT_LOG_FRACTION: (u64, u64) = (3, 100);

/// Minimum number of log blocks: a sequential one and a shared one.
const MIN_LOG_BLOCKS: u32 = 2;

/// Reason why migration policies cannot drop or redirect live pages.
const NO_MIGRATION_REASON: &str = "looks at pages while they are moved, and a merge moves a page to the place that its number has in \
     its block: one that is left out is written as padding, and one that is shared cannot go to blocks of its own, so that nothing is \
     saved; a kind that looks at pages as they are written can be used";

/// Maximum number of pages per block, limited by the spare area's format.
const MAX_PAGES_PER_BLOCK: u32 = (1 << 28) - 1;

/// Type of hybrid FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HybridKind {
    /// Block-associative sector translation: a log block for each logical block (Kim et al. 2002).
    Bast,
    /// Fully-associative sector translation: shared log blocks and a sequential one (Lee et al. 2007).
    Fast,
}

impl HybridKind {
    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            HybridKind::Bast => "bast",
            HybridKind::Fast => "fast",
        }
    }
}

/// Settings of a hybrid FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HybridConfig {
    /// Type of the FTL.
    pub kind: HybridKind,
    /// Number of log blocks, at least 2; see [`HybridConfig::default_log_blocks`].
    pub log_blocks: u32,
    /// Logical pages that the FTL exposes.
    pub logical_pages: u32,
}

impl HybridConfig {
    /// Returns the default number of log blocks of a drive with `blocks` blocks: 3 percent of the blocks, at least 2.
    pub fn default_log_blocks(blocks: u32) -> u32 {
        let (numerator, denominator) = DEFAULT_LOG_FRACTION;
        ((u64::from(blocks) * numerator / denominator) as u32).max(MIN_LOG_BLOCKS)
    }

    fn validate<F: Flash>(&self, state: &HybridState<F>) -> Result<(), ConfigError> {
        if self.log_blocks < MIN_LOG_BLOCKS {
            let problem = format!("is {}; at least {MIN_LOG_BLOCKS} are needed", self.log_blocks);
            return Err(ConfigError::new("log_blocks", problem));
        }
        if self.logical_pages == 0 {
            return Err(ConfigError::new("logical_pages", "is 0; at least one page is needed"));
        }
        if state.pages_per_block > MAX_PAGES_PER_BLOCK {
            let problem = format!("is {}; at most {MAX_PAGES_PER_BLOCK} are possible", state.pages_per_block);
            return Err(ConfigError::new("pages_per_block", problem));
        }
        if state.pool.usable_blocks < state.pool.needed_blocks {
            let problem = format!(
                "{} logical pages with {} log blocks need at least {} blocks of {} pages, there are {}; more \
                 flash, smaller blocks, more spare space or fewer log_blocks",
                self.logical_pages,
                self.log_blocks,
                state.pool.needed_blocks,
                state.pages_per_block,
                state.pool.usable_blocks
            );
            return Err(ConfigError::new("logical_pages", problem));
        }
        Ok(())
    }
}

/// Settings from which a hybrid FTL is built and, after power cuts, rebuilt.
#[derive(Clone, Debug)]
pub struct HybridSettings {
    /// Settings of the FTL itself.
    pub config: HybridConfig,
    /// Settings of wear levelling.
    pub wear: WearConfig,
    /// Numbers of free log blocks at which merges begin.
    pub free_blocks: FreeBlocks,
    /// Root seed of the FTL's random numbers.
    pub seed: Seed,
}

impl HybridSettings {
    /// Builds the FTL on erased flash with spare areas. Fails if a setting cannot work; the error names its key.
    pub fn build<F: Flash>(&self, flash: F) -> Result<HybridFtl<F>, ConfigError> {
        let levelling = self.levelling(&flash)?;
        HybridFtl::new(self.config, flash)?.with_levelling(levelling).with_free_blocks(self.free_blocks)
    }

    fn levelling(&self, flash: &impl Medium) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
        let size = StoreSize {
            blocks: flash.blocks(),
            pages_per_block: flash.pages_per_block(),
            logical_pages: self.config.logical_pages,
            seed: self.seed,
        };
        self.wear.build(&size).map_err(|error| error.within("wear"))
    }
}

impl From<HybridConfig> for HybridSettings {
    /// Returns default settings, without wear levelling.
    fn from(config: HybridConfig) -> Self {
        HybridSettings {
            config,
            wear: WearConfig::default(),
            free_blocks: FreeBlocks::default(),
            seed: Seed(0),
        }
    }
}

/// A hybrid FTL on flash with spare areas.
///
/// RAM of the modelled drive: 8 bytes per logical block (4 for its data block and 4 for the write pointer) and 4 bytes
/// per page of log blocks. One bit per logical page marks trimmed pages.
pub struct HybridFtl<F: Flash> {
    state: HybridState<F>,
}

impl<F: Flash> HybridFtl<F> {
    /// Creates an FTL on erased flash. Fails if a setting cannot work; the error names its key.
    pub fn new(config: HybridConfig, flash: F) -> Result<Self, ConfigError> {
        let mut state = HybridState::new(config, flash);
        config.validate(&state)?;
        let good =
            (0..state.pool.medium.blocks()).map(BlockId).filter(|&block| !state.pool.medium.is_bad(block));
        state.pool.erased = good.collect();
        Ok(HybridFtl { state })
    }

    /// Returns the FTL with wear levelling.
    pub fn with_levelling(mut self, policy: Option<Box<dyn WearLevelling>>) -> Self {
        self.state.pool.set_wear_levelling(policy, Vec::new());
        self
    }

    /// Returns the FTL with these numbers of free log blocks as merge thresholds; an error names the key of an
    /// impossible number.
    pub fn with_free_blocks(mut self, thresholds: FreeBlocks) -> Result<Self, ConfigError> {
        let max_free_logs = self.state.free_logs() as u32;
        let needed_logs =
            [("free_blocks_low", thresholds.low.map(|low| low + 1)), ("free_blocks_idle", thresholds.idle)];
        for (key, needed) in needed_logs {
            if needed.is_some_and(|needed| needed > max_free_logs) {
                let problem =
                    format!("is more than the {max_free_logs} log blocks that can be free leave room for");
                return Err(ConfigError::new(key, problem));
            }
        }
        self.state.pool.watermarks = Some(thresholds.watermarks(0)?);
        Ok(self)
    }

    /// Recovers the FTL from the flash state that a power cut left. Returns the FTL and the costs of recovery. If power
    /// fails again or another error occurs, returns the error and the remaining flash state.
    pub fn recover(
        config: HybridConfig,
        surviving: SurvivingFlash<F>,
        levelling: Option<Box<dyn WearLevelling>>,
    ) -> Result<(Self, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
        recover::recover(config, surviving, levelling)
            .map(|(blocks, report)| (HybridFtl { state: blocks }, report))
    }

    /// Returns the flash below.
    pub fn flash(&self) -> &F {
        &self.state.pool.medium
    }

    fn report(&self) -> FtlReport {
        let HybridState { config, events, pages_per_block, pool, .. } = &self.state;
        let levelling = pool.levelling.iter();
        let entries = |entries: u64| entries * ENTRY_BYTES;
        let blocks = self.state.logical_blocks.len() as u64;
        let log_pages = u64::from(config.log_blocks) * u64::from(*pages_per_block);
        FtlReport {
            kind: config.kind.name(),
            ram: [
                RamPart { name: "block map", bytes: entries(blocks) },
                RamPart { name: "write pointers", bytes: entries(blocks) },
                RamPart { name: "log map", bytes: entries(log_pages) },
                RamPart { name: "trimmed pages", bytes: u64::from(config.logical_pages).div_ceil(8) },
            ]
            .into_iter()
            .chain(levelling.clone().flat_map(|levelling| levelling.ram()))
            .collect(),
            counts: [
                ("switch merges", events.switch_merges),
                ("partial merges", events.partial_merges),
                ("full merges", events.full_merges),
                ("refreshes", events.refreshes),
                ("program failures", events.program_failures),
                ("padding pages", events.padding_pages),
            ]
            .into_iter()
            .chain(levelling.clone().flat_map(|levelling| levelling.counts()))
            .collect(),
            spare_reads: pool.wear_spare_reads(),
            recovery: self.state.recovery.clone(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        let HybridState {
            logical_blocks: logical, log_map, shared_logs: shared, dedicated_logs, pool, ..
        } = &self.state;
        let owners: usize = dedicated_logs.values().chain(shared).map(|log| 4 * log.owners.capacity()).sum();
        (size_of_val(&logical[..])
            + 4 * log_map.len()
            + log_map.len() / 8
            + owners
            + 4 * pool.erased.capacity()) as u64
    }
}

impl<F: Flash> Layer<F::Payload> for HybridFtl<F> {
    fn logical_pages(&self) -> u32 {
        self.state.config.logical_pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[F::Payload], _hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.logical_pages())?;
        self.state.pool.moves.begin(pages);
        for (&page, data) in pages.iter().zip(data) {
            self.state.write(page, data)?;
            self.state.refresh_disturbed()?;
            self.state.level_wear()?;
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<F::Payload>) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages())?;
        self.state.pool.counters.add_incoming(Operation::Read, pages.len() as u64);
        for &page in pages {
            match self.state.locate(page) {
                Some(slot) => self.state.read_slot(slot, Cause::Host, out)?,
                None => out.push(F::Payload::default()),
            }
            match self.state.refresh_disturbed() {
                // The data was read; the next write will report the end of life.
                Err(error) if error.is_end_of_life() => {}
                refreshed => refreshed?,
            }
        }
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages())?;
        self.state.pool.counters.add_incoming(Operation::Trim, pages.len() as u64);
        self.state.pool.moves.begin(pages);
        pages.iter().try_for_each(|&page| self.state.trim_page(page))
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.state.pool.counters.add_incoming(Operation::Flush, 1);
        Ok(self.state.pool.medium.flush()?)
    }

    fn abilities(&self) -> Abilities {
        self.supported_abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.answer(query)
    }

    fn command(&mut self, command: Command<'_, F::Payload>) -> Result<Answer, LayerError> {
        self.execute(command)
    }

    fn describe(&self, reports: &mut Reports) {
        let ftl = self.report();
        let HybridState { config, pool, mapped, .. } = &self.state;
        reports.layers.push(LayerReport {
            counters: pool.counters,
            logical_pages: config.logical_pages,
            physical_pages: u64::from(pool.medium.blocks()) * u64::from(pool.pages_per_block()),
            mapped_pages: *mapped,
            memory_bytes: self.memory_bytes(),
            directory: config.kind.name(),
            moved_pages: self.state.pool.moves.matrix(),
            moved_again_pages: self.state.pool.moves.repeated_moves(),
            map_bytes: Some(ftl.ram.iter().map(|part| part.bytes).sum()),
            cleanings: Some(self.state.merges()),
            erased_blocks: Some(pool.erased.len() as u32),
            deferrals: pool.watermarks.and_then(|marks| marks.deferred_low).map(|_| pool.deferrals),
            ftl: Some(ftl),
            ..LayerReport::default()
        });
        pool.medium.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.state.pool.counters.incoming(Operation::Write)
    }

    fn final_draw(&mut self) -> u64 {
        0
    }

    fn check(&self) -> Result<(), String> {
        self.state.check()
    }
}

impl<F: Flash> Restart for HybridFtl<F> {
    type Flash = F;
    type SurvivingFlash = SurvivingFlash<F>;
    type Settings = HybridSettings;

    const DURABLE_TRIMS: bool = false;
    const READS_ALL_SPARE_AREAS: bool = false;

    fn into_flash(self) -> SurvivingFlash<F> {
        self.state.pool.into_surviving_flash()
    }

    fn restart(
        settings: &HybridSettings,
        surviving: SurvivingFlash<F>,
    ) -> Result<(Self, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
        let levelling = settings.levelling(&surviving.flash).expect("settings that were good before");
        let (mut ftl, report) = HybridFtl::recover(settings.config, surviving, levelling)?;
        ftl.state.pool.watermarks =
            Some(settings.free_blocks.watermarks(0).expect("settings that were good before"));
        Ok((ftl, report))
    }

    fn decode_flash(
        _settings: &HybridSettings,
        flash: F,
        _stored: &mut dyn StoredFlash,
    ) -> Result<SurvivingFlash<F>, StoredFlashError> {
        // Everything that the FTL stores in flash is in spare areas.
        Ok(SurvivingFlash::from(flash))
    }

    fn flash_mut(&mut self) -> &mut F {
        &mut self.state.pool.medium
    }

    fn set_migration_policy(
        &mut self,
        _migration: Box<dyn MigrationPolicy<F::Payload>>,
    ) -> Result<(), ConfigError> {
        Err(ConfigError::new("dedup", NO_MIGRATION_REASON))
    }
}
