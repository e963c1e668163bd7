//! The FTL: its state and its operations.

use super::config::{Durability, PagedConfig};
use super::contents::MetadataContents;
use super::counters;
use super::directory::Directory;
use super::parts;
use super::prefetch_queue::PrefetchQueue;
use super::protected_blocks::ProtectedBlocks;
use super::space::Space;
use crate::config::ConfigError;
use crate::counters::{Cause, Operation};
use crate::layer::{
    Abilities, Answer, Command, FtlReport, Layer, LayerError, LayerReport, Query, RamPart, RecoveryReport,
    Reports, check_range,
};
use crate::mapping::{CacheConfig, Handle, MapCache};
use crate::nand::Flash;
use crate::placement::Placement;
use crate::pool::MigrationExecutor;
use crate::units::{BlockId, Lpn, Slot};
use crate::validity::{PageSet, PageValidity};
use crate::victim::VictimPolicy;
use std::collections::BTreeSet;

/// Policies for victims and placement.
pub struct Policies {
    /// Victim policy.
    pub victim: Box<dyn VictimPolicy>,
    /// Placement policy for user pages.
    pub placement: Box<dyn Placement>,
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventCounts {
    pub cache_hits: u64,
    pub cache_misses: u64,
    pub synchronisations: u64,
    pub aborted_synchronisations: u64,
    pub synchronised_entries: u64,
    pub checkpoints: u64,
    pub unidentified_found: u64,
    pub metadata_blocks_cleaned: u64,
    pub metadata_blocks_erased: u64,
    pub failed_programs: u64,
    pub refreshed_blocks: u64,
    pub blocks_queried: u64,
}

/// Time of the next checkpoint, and the sequence number it settles (paper, sec. 4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CheckpointSchedule {
    /// Insertions into and updates of the cache until the next checkpoint.
    pub operations_left: u64,
    /// Sequence number at the previous checkpoint.
    pub last: u64,
}

/// An FTL with a flash-resident translation table.
pub struct PagedFtl<F: Flash> {
    pub(super) config: PagedConfig,
    pub(super) space: Space<F>,
    pub(super) cache: MapCache,
    pub(super) directory: Directory,
    pub(super) validity: Box<dyn PageValidity>,
    pub(super) placement: Box<dyn Placement>,
    /// Migration policy, which decides about each live page; without it, all are moved.
    pub(super) migration: Option<Box<MigrationExecutor<F::Payload>>>,
    pub(super) checkpoints: CheckpointSchedule,
    pub(super) events: EventCounts,
    /// Number of erased blocks that cleaning needs.
    pub(super) reserve_blocks: usize,
    /// The block being cleaned.
    pub(super) current_victim: Option<BlockId>,
    pub(super) invalid: PageSet,
    /// Translation pages with trims that are only in the cache.
    pub(super) trimmed: BTreeSet<u32>,
    /// Blocks whose counter may be too low, because reports were repeated after a power cut.
    pub(super) approximate_blocks: BTreeSet<BlockId>,
    /// Logical pages that hold data. The modelled device does not have this information.
    pub(super) mapped: PageSet,
    pub(super) mapped_pages: u32,
    /// During recovery: pages that power loss left unreadable.
    pub(super) torn: Vec<Slot>,
    pub(super) recovery: Option<RecoveryReport>,
    /// Entries, changes and reports of the current synchronisation; kept to reuse the allocations.
    pub(super) handles: Vec<Handle>,
    pub(super) entries: Vec<(u32, Slot)>,
    pub(super) reports: Vec<(Slot, bool)>,
    pub(super) content: Vec<F::Payload>,
    /// Pages and evictions known in advance, for prefetching.
    pub(super) prefetch_queue: PrefetchQueue,
}

impl<F: Flash> PagedFtl<F> {
    /// Creates an FTL on erased flash with spare areas. Fails if a setting cannot work; the error names its key.
    pub fn new(config: PagedConfig, flash: F, policies: Policies) -> Result<Self, ConfigError> {
        config.validate()?;
        let (blocks, pages_per_block) = (flash.blocks(), flash.pages_per_block());
        let entries = config.entries_per_translation_page();
        let contents = MetadataContents::new(blocks, pages_per_block, config.logical_pages, entries);
        let mut ftl = Self::assemble(config, flash, contents, policies)?;
        let erased = (0..blocks).map(BlockId).filter(|&block| !ftl.space.pool.medium.is_bad(block));
        ftl.space.pool.erased = erased.collect();
        ftl.space.check_size(ftl.reserve_blocks as u32)?;
        Ok(ftl)
    }

    /// Creates all parts in their initial state; the erased blocks are not determined yet.
    pub(super) fn assemble(
        config: PagedConfig,
        flash: F,
        contents: MetadataContents,
        policies: Policies,
    ) -> Result<Self, ConfigError> {
        let pages_per_block = flash.pages_per_block();
        let Policies { victim, placement } = policies;
        let cache = MapCache::new(CacheConfig {
            entries: config.cache_entries,
            logical_pages: config.logical_pages,
            entries_per_translation_page: config.entries_per_translation_page(),
            dirty_entries: config.dirty_entries,
        })?;
        let size = config.validity_size(flash.blocks(), pages_per_block);
        let validity = config.validity.build(&size).map_err(|error| error.within("validity"))?;
        let locations = vec![Slot::NONE; contents.translation_pages() as usize];
        let directory = parts::build_directory(&config, &locations)?;
        let victim = parts::build_chooser(&config, &size, contents.translation_pages(), victim);
        let pages_and_streams = (config.logical_pages, placement.streams());
        let mut space = Space::new(flash, contents, config.codec(&size), pages_and_streams, victim);
        let erased_at = std::mem::take(&mut space.contents.erased_at);
        space.pool.set_wear_levelling(parts::build_levelling(&config, &size)?, erased_at);
        if placement.needs_block_history() {
            space.host_pages_at_open = vec![0; size.blocks as usize];
        }
        space.cleans_metadata = config.cleans_metadata;
        space.protects_versions = config.protects_versions();
        if space.protects_versions {
            space.protected = ProtectedBlocks::new(size.blocks);
        }
        let reserve = parts::reserve_blocks(&config, &size, placement.streams(), &directory, &*validity);
        let metadata = parts::metadata_pages(&config, &size, space.contents.translation_pages(), &*validity);
        let blocks_for = |pages: u64| pages.div_ceil(u64::from(pages_per_block));
        // Open blocks, one partly filled block in each group, and at least two blocks that cleaning can gain from.
        let needed_blocks = blocks_for(config.logical_pages.into())
            + blocks_for(metadata)
            + reserve
            + space.pool.frontiers.len() as u64
            + 6;
        space.pool.needed_blocks = u32::try_from(needed_blocks).unwrap_or(u32::MAX);
        space.pool.watermarks = Some(config.watermarks(reserve as u32)?);
        Ok(PagedFtl {
            checkpoints: CheckpointSchedule { operations_left: u64::from(config.cache_entries), last: 0 },
            space,
            cache,
            directory,
            validity,
            placement,
            migration: None,
            events: EventCounts::default(),
            reserve_blocks: reserve as usize,
            current_victim: None,
            invalid: PageSet::new(pages_per_block),
            trimmed: BTreeSet::new(),
            approximate_blocks: BTreeSet::new(),
            mapped: PageSet::new(config.logical_pages),
            mapped_pages: 0,
            torn: Vec::new(),
            recovery: None,
            handles: Vec::new(),
            entries: Vec::new(),
            reports: Vec::new(),
            content: Vec::new(),
            prefetch_queue: PrefetchQueue::default(),
            config,
        })
    }

    /// Returns the flash.
    pub fn flash(&self) -> &F {
        &self.space.pool.medium
    }

    /// Returns the settings.
    pub fn config(&self) -> &PagedConfig {
        &self.config
    }

    /// Returns the report of the recovery, if the FTL was recovered.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.recovery.as_ref()
    }

    /// Returns the RAM used in the device, by structure (paper, sec. 2 and App. B).
    pub fn ram(&self) -> Vec<RamPart> {
        let mut parts = vec![RamPart { name: "mapping cache", bytes: self.cache.ram() }];
        parts.extend(self.directory.ram(self.config.page_bytes));
        // A bitmap in RAM gives the numbers of valid pages, so no separate counters are needed.
        if !self.config.has_ram_bitmap() {
            let size = self.config.validity_size(self.space.pool.blocks.len(), self.space.pages_per_block());
            let translation_pages = self.space.contents.translation_pages();
            let metadata = counters::metadata_blocks(&self.config.validity, &size, translation_pages);
            let bytes = self.config.counters.ram(&size, metadata);
            parts.push(RamPart { name: "block validity counters", bytes });
        }
        parts.extend(self.validity.ram());
        parts.extend(self.space.pool.levelling.iter().flat_map(|levelling| levelling.ram()));
        parts
    }

    pub(super) fn translation_page(&self, page: Lpn) -> u32 {
        self.space.contents.translation_page(page)
    }

    /// Returns the location of the page, [`Slot::NONE`] if it has none; reads its translation page if the entry is
    /// not cached.
    fn look_up(&mut self, page: Lpn) -> Result<Slot, LayerError> {
        self.space.pool.counters.add_incoming(Operation::Read, 1);
        if let Some(handle) = self.cache.find(page) {
            self.events.cache_hits += 1;
            self.cache.touch(handle);
            return Ok(self.cache.get(handle).slot);
        }
        let ready = self.make_space().and_then(|()| self.after_cache_update());
        // Cleaning may have moved the page, in which case it is now cached.
        if let Some(handle) = self.cache.find(page) {
            return Ok(self.cache.get(handle).slot);
        }
        match ready {
            Ok(()) => {
                let handle = self.fetch(page)?;
                Ok(self.cache.get(handle).slot)
            }
            // A drive at the end of its life can still be read.
            Err(error) if error.is_end_of_life() || error == LayerError::NoSpace => {
                let number = self.translation_page(page);
                let at = self.directory.locate(number, &mut self.space)?;
                self.read_entry(page, at)
            }
            Err(error) => Err(error),
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let EventCounts {
            cache_hits,
            cache_misses,
            synchronisations,
            aborted_synchronisations,
            synchronised_entries,
            checkpoints,
            unidentified_found,
            metadata_blocks_cleaned,
            metadata_blocks_erased,
            failed_programs,
            refreshed_blocks,
            blocks_queried: blocks_asked_about,
        } = self.events;
        let mut counts = vec![
            ("cache hits", cache_hits),
            ("cache misses", cache_misses),
            ("synchronisations", synchronisations),
            ("synchronisations aborted", aborted_synchronisations),
            ("entries synchronised", synchronised_entries),
            ("checkpoints", checkpoints),
            ("invalid pages found while cleaning", unidentified_found),
            ("metadata blocks cleaned", metadata_blocks_cleaned),
            ("metadata blocks erased whole", metadata_blocks_erased),
            ("failed programs", failed_programs),
            ("blocks refreshed", refreshed_blocks),
        ];
        if self.config.counters.choices().is_some() {
            counts.push(("blocks asked about", blocks_asked_about));
        }
        counts.extend(self.space.pool.levelling.iter().flat_map(|levelling| levelling.counts()));
        counts
    }
}

impl<F: Flash> Layer<F::Payload> for PagedFtl<F> {
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[F::Payload], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.config.logical_pages)?;
        self.space.pool.moves.begin(pages);
        self.cache.sort_if_due();
        for (at, (&page, data)) in pages.iter().zip(data).enumerate() {
            self.prefetch_writes(pages, at);
            self.write_page(page, data, hint)?;
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<F::Payload>) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.space.pool.moves.begin(pages);
        for &page in pages {
            match self.look_up(page)? {
                Slot::NONE => out.push(F::Payload::default()),
                at => self.space.read_user(at, Cause::Host, out)?,
            }
            match self.refresh_disturbed() {
                // The data was read; the next write will report the end of life.
                Err(error) if error.is_out_of_blocks() || error == LayerError::NoSpace => {}
                refreshed => refreshed?,
            }
        }
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.space.pool.moves.begin(pages);
        pages.iter().try_for_each(|&page| self.trim_page(page))
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.space.pool.counters.add_incoming(Operation::Flush, 1);
        if self.config.durability != Durability::Battery {
            self.synchronise_trims()?;
        }
        Ok(self.space.pool.medium.flush()?)
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
        let marks = self.space.pool.watermarks;
        let memory = self.space.contents.memory_bytes()
            + (self.cache.memory_bytes() + 12 * self.space.first_sequences.len()) as u64;
        reports.layers.push(LayerReport {
            counters: self.space.pool.counters,
            logical_pages: self.config.logical_pages,
            physical_pages: u64::from(self.space.pool.blocks.len()) * u64::from(self.space.pages_per_block()),
            mapped_pages: self.mapped_pages,
            victim_valid_pages: self.space.pool.victim_valid_pages.clone(),
            memory_bytes: memory,
            directory: self.config.kind,
            moved_pages: self.space.pool.moves.matrix(),
            moved_again_pages: self.space.pool.moves.repeated_moves(),
            map_bytes: Some(self.ram().iter().map(|part| part.bytes).sum()),
            deferrals: marks.and_then(|marks| marks.deferred_low).map(|_| self.space.pool.deferrals),
            cleanings: Some(self.space.pool.victim_valid_pages.iter().sum()),
            erased_blocks: Some(self.space.pool.erased.len() as u32),
            ftl: Some(FtlReport {
                kind: self.config.kind,
                ram: self.ram(),
                counts: self.counts(),
                spare_reads: self.space.spare_reads(),
                recovery: self.recovery.clone(),
            }),
            ..LayerReport::default()
        });
        self.space.pool.medium.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.space.pool.counters.incoming(Operation::Write)
    }

    fn final_draw(&mut self) -> u64 {
        self.space.pool.victim.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.check_all()
    }
}
