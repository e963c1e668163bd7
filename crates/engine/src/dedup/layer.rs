//! The layer: converts writes, reads and trims of logical pages to slots of the store below.

use super::SharedTables;
use super::config::{Detect, ENTRY_BYTES};
use super::hashes::{LookupMode, account_hash, record_full_hash};
use super::index::mix;
use super::pages::IndexAccess;
use super::tables::{PlannedWrite, Tables};
use crate::config::ConfigError;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{
    Abilities, Answer, Command, ContentId, DedupReport, Layer, LayerError, LayerExt, Query, RecoveryReport,
    Reports, check_range,
};
use crate::log::BoxedLayer;
use crate::timing::Journal;
use crate::units::Lpn;

/// Prefetch distances in writes: for the page's lines of map and index (`FAR_PREFETCH`), for the data they point to
/// (`MIDDLE_PREFETCH`), and for the data these point to (`NEAR_PREFETCH`).
const FAR_PREFETCH: usize = 48;
const MIDDLE_PREFETCH: usize = 32;
const NEAR_PREFETCH: usize = 16;

/// Deduplicating layer; see [`crate::dedup`].
pub struct Dedup<L = BoxedLayer<ContentId>> {
    pub(super) sharing: SharedTables,
    pub(super) lower: L,
    journal: Option<Journal>,
    pub(super) logical_pages: u32,
    /// Number of slots in addition to the logical pages, for the current atomic group.
    pub(super) spare_slots: u32,
    /// True if the index is in flash.
    pub(super) is_paged: bool,
    /// True if cleaning merges pages.
    merges_in_cleaning: bool,
    /// True if the pages that cleaning compares are read later.
    defers_verification: bool,
    counters: Counters,
    /// Numbers of reads and writes of this layer that the store below counts as requests of the host.
    pub(super) internal_reads: u64,
    pub(super) internal_writes: u64,
    /// True if the log of the map is written.
    pub(super) has_log: bool,
    /// Recovery after the last power cut, if any.
    pub(super) recovery: Option<RecoveryReport>,
    // The current write.
    planned: Vec<PlannedWrite>,
    slots: Vec<Lpn>,
    data: Vec<ContentId>,
    pub(super) unreferenced: Vec<Lpn>,
    index_accesses: Vec<IndexAccess>,
    read_buffer: Vec<ContentId>,
}

impl<L: Layer<ContentId>> Dedup<L> {
    /// Creates the layer over a store of [`SharedTables::store_pages`] logical pages, whose cleaning consults
    /// [`SharedTables::migration_policy`], if there is one. Hashes are recorded in `journal`.
    pub fn new(sharing: SharedTables, lower: L, journal: Option<Journal>) -> Result<Self, ConfigError> {
        let (needed, available) = (sharing.store_pages(), lower.logical_pages());
        if needed != available {
            let problem = format!("needs {needed} pages below, and {available} are there");
            return Err(ConfigError::new("dedup", problem));
        }
        let tables = sharing.lock();
        let (logical_pages, slots) = (tables.logical_pages(), tables.slots());
        let has_log = tables.log.is_some();
        let is_paged = tables.index().cache.is_some();
        let merges_in_cleaning = matches!(tables.detect, Detect::Cleaning { .. });
        let defers_verification = tables.verify && merges_in_cleaning;
        drop(tables);
        Ok(Dedup {
            sharing,
            lower,
            journal,
            logical_pages,
            spare_slots: if has_log { 0 } else { slots - logical_pages },
            has_log,
            is_paged,
            merges_in_cleaning,
            defers_verification,
            counters: Counters::default(),
            internal_reads: 0,
            internal_writes: 0,
            recovery: None,
            planned: Vec::new(),
            slots: Vec::new(),
            data: Vec::new(),
            unreferenced: Vec::new(),
            index_accesses: Vec::new(),
            read_buffer: Vec::new(),
        })
    }

    /// Returns the tables, for tests and inspection.
    pub fn sharing(&self) -> &SharedTables {
        &self.sharing
    }

    /// Returns the index of the request's page that is hashed first, and the treatment of the other pages.
    fn sample(&mut self, data: &[ContentId]) -> (usize, LookupMode) {
        let highest = |at: &usize| (mix(data[*at].0), std::cmp::Reverse(*at));
        let Some(at) = (0..data.len()).max_by_key(highest) else { return (0, LookupMode::Skip) };
        let mut tables = self.sharing.lock();
        record_full_hash(&self.journal, &mut tables.report);
        let found = data[at] != ContentId::UNKNOWN && tables.find(data[at]).is_some();
        (at, if found { LookupMode::Hash } else { LookupMode::Skip })
    }

    /// Returns the index of a page of the request, its treatment, and the treatment of all other pages.
    pub(super) fn lookup_modes(&mut self, data: &[ContentId]) -> (usize, LookupMode, LookupMode) {
        let detect = self.sharing.lock().detect;
        match detect {
            Detect::Nothing | Detect::Cleaning { .. } => (0, LookupMode::Skip, LookupMode::Skip),
            Detect::EveryPage => (0, LookupMode::Hash, LookupMode::Hash),
            Detect::PreHash { percent, .. } => {
                (0, LookupMode::WeakHash { percent }, LookupMode::WeakHash { percent })
            }
            Detect::Sample => {
                let (at, other_mode) = self.sample(data);
                (at, LookupMode::AlreadyHashed, other_mode)
            }
        }
    }

    /// Prefetches the data that the writes soon after the `at`-th will access. Does not affect any result.
    #[inline(always)]
    fn prefetch_upcoming(&self, tables: &Tables, pages: &[Lpn], data: &[ContentId], at: usize) {
        if let Some(&page) = pages.get(at + FAR_PREFETCH) {
            tables.prefetch_page(page, data[at + FAR_PREFETCH]);
        }
        if let Some(&page) = pages.get(at + MIDDLE_PREFETCH) {
            let slots = [
                tables.prefetch_slots(page, data[at + MIDDLE_PREFETCH]),
                tables.prefetch_free(MIDDLE_PREFETCH),
            ];
            slots.into_iter().flatten().for_each(|slot| self.lower.prefetch(Lpn(slot), false));
        }
        if let Some(slot) = pages.get(at + NEAR_PREFETCH).and_then(|&page| tables.prefetch_old_content(page))
        {
            self.lower.prefetch(Lpn(slot), true);
        }
    }

    /// Looks a page up and decides where its content will be stored. `may_replace` is false for a page of a group,
    /// during which old content must be kept.
    pub(super) fn plan(
        &mut self,
        page: Lpn,
        content: ContentId,
        mode: LookupMode,
        may_replace: bool,
    ) -> Result<(), LayerError> {
        let Dedup { sharing, lower, journal, slots, read_buffer, .. } = self;
        let mut tables = sharing.lock();
        let mut is_known = mode != LookupMode::Skip && content != ContentId::UNKNOWN;
        let needs_lookup = account_hash(journal, &mut tables, content, mode);
        let mut found = if is_known && needs_lookup { tables.find(content) } else { None };
        if let Some(slot) = found {
            let mut equal = tables.content(slot) == content;
            // A page of the current group is still in RAM.
            if tables.verify && !slots.contains(&Lpn(slot)) {
                // Unlock the tables: a read may make the store clean, and cleaning uses the tables.
                drop(tables);
                read_buffer.clear();
                lower.read(&[Lpn(slot)], read_buffer)?;
                tables = sharing.lock();
                self.internal_reads += 1;
                tables.report.verify_reads += 1;
                equal = read_buffer[0] == content;
            }
            tables.report.collisions += u64::from(!equal);
            if tables.verify && !equal {
                // The fingerprint belongs to other content.
                is_known = false;
                found = None;
            }
        }
        let planned = match found {
            Some(slot) => tables.plan_sharing(page, slot),
            None => tables.plan_storing(page, may_replace),
        };
        if found.is_none() {
            if is_known {
                tables.add_to_index(planned.slot, content);
            }
            slots.push(Lpn(planned.slot));
            self.data.push(content);
        }
        self.planned.push(planned);
        Ok(())
    }

    /// Performs the reads and writes that the index in flash needs.
    pub(super) fn perform_index_accesses(&mut self) -> Result<(), LayerError> {
        if !self.is_paged {
            return Ok(());
        }
        let Dedup { sharing, lower, index_accesses, read_buffer, .. } = self;
        let mut tables = sharing.lock();
        let first = tables.slots();
        index_accesses.clear();
        if let Some(cache) = tables.cache() {
            cache.take_pending(index_accesses);
        }
        // Unlock the tables: a write may make the store clean, and cleaning uses the tables.
        drop(tables);
        read_buffer.clear();
        for &IndexAccess { page, is_write } in &*index_accesses {
            let page = [Lpn(first + page)];
            if is_write {
                lower.write(&page, &[ContentId::UNKNOWN], 0)?;
                self.internal_writes += 1;
                sharing.lock().report.index_writes += 1;
            } else {
                lower.read(&page, read_buffer)?;
                self.internal_reads += 1;
                sharing.lock().report.index_reads += 1;
            }
        }
        self.read_pages_to_verify()
    }

    /// Reads the pages that cleaning has compared; this is impossible during cleaning.
    pub(super) fn read_pages_to_verify(&mut self) -> Result<(), LayerError> {
        if !self.defers_verification {
            return Ok(());
        }
        let mut pages = std::mem::take(&mut self.sharing.lock().to_verify);
        if pages.is_empty() {
            return Ok(());
        }
        let mut read_buffer = std::mem::take(&mut self.read_buffer);
        read_buffer.clear();
        let done = self.read_slots(&pages, &mut read_buffer);
        self.read_buffer = read_buffer;
        done?;
        self.internal_reads += pages.len() as u64;
        let mut tables = self.sharing.lock();
        tables.report.verify_reads += pages.len() as u64;
        pages.clear();
        if tables.to_verify.is_empty() {
            tables.to_verify = pages;
        }
        Ok(())
    }

    /// Reads the pages of slots. If the store cleans during the reads, these pages are not merged.
    fn read_slots(&mut self, slots: &[Lpn], out: &mut Vec<ContentId>) -> Result<(), LayerError> {
        if !self.merges_in_cleaning {
            return self.lower.read(slots, out);
        }
        self.sharing.lock().set_being_read(slots, true);
        let read = self.lower.read(slots, out);
        self.sharing.lock().set_being_read(slots, false);
        read
    }

    /// Stores the planned writes; undoes the plan if storing or planning failed.
    pub(super) fn store(
        &mut self,
        planned: Result<(), LayerError>,
        hint: u16,
        atomic: bool,
    ) -> Result<(), LayerError> {
        let stored = planned.and_then(|()| self.perform_index_accesses()).and_then(|()| {
            match (self.slots.is_empty(), atomic) {
                (true, _) => Ok(()),
                (false, true) => self.lower.write_atomic(&self.slots, &self.data, hint),
                (false, false) => self.lower.write(&self.slots, &self.data, hint),
            }
        });
        // The pages must be read before any of them is trimmed.
        let stored = stored.and_then(|()| self.read_pages_to_verify());
        let mut tables = self.sharing.lock();
        if stored.is_ok() {
            tables.commit(&self.planned, &mut self.unreferenced);
            let (pages, misses) = (self.planned.len() as u64, self.slots.len() as u64);
            tables.report.hits += pages - misses;
            tables.report.misses += misses;
            self.counters.add_incoming(Operation::Write, pages);
        } else {
            tables.cancel(&self.planned, &mut self.unreferenced);
        }
        drop(tables);
        self.planned.clear();
        self.slots.clear();
        self.data.clear();
        self.trim_unreferenced()?;
        stored.and_then(|()| self.write_log(false))
    }

    /// Trims the slots that no page refers to.
    pub(super) fn trim_unreferenced(&mut self) -> Result<(), LayerError> {
        if !self.unreferenced.is_empty() {
            self.lower.trim(&self.unreferenced)?;
            self.sharing.lock().release(&self.unreferenced);
            self.unreferenced.clear();
        }
        Ok(())
    }

    fn report(&self, tables: &Tables) -> DedupReport {
        let entries = tables.index().len() as u64;
        let paged = tables.index().cache.as_ref().map(|cache| cache.resident_bytes());
        let stored: u64 = tables.live_by_references().iter().sum();
        DedupReport {
            sharing_ratio: (stored > 0).then(|| f64::from(tables.mapped_pages()) / stored as f64),
            index_entries: entries,
            index_bytes: paged.unwrap_or(ENTRY_BYTES * entries),
            index_memory_bytes: tables.index_memory_bytes() as u64,
            index_evictions: tables.index().evictions,
            live_by_references: tables.live_by_references(),
            ..tables.report
        }
    }
}

impl<L: Layer<ContentId>> Layer<ContentId> for Dedup<L> {
    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Writes page by page, so that the result does not depend on how writes are grouped into calls, except for
    /// sampling.
    fn write(&mut self, pages: &[Lpn], data: &[ContentId], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.logical_pages)?;
        let (first, mode, other_mode) = self.lookup_modes(data);
        for (at, (&page, &content)) in pages.iter().zip(data).enumerate() {
            self.prefetch_upcoming(&self.sharing.lock(), pages, data, at);
            let planned = self.plan(page, content, if at == first { mode } else { other_mode }, true);
            self.store(planned, hint, false)?;
        }
        Ok(())
    }

    /// Reads page by page if cleaning merges pages. A read may make the store clean, and cleaning merges no page that
    /// is being read. Reads of several pages would therefore merge fewer pages than single reads.
    fn read(&mut self, pages: &[Lpn], out: &mut Vec<ContentId>) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages)?;
        let longest_run = if self.merges_in_cleaning { 1 } else { usize::MAX };
        self.counters.add_incoming(Operation::Read, pages.len() as u64);
        let mut slots = std::mem::take(&mut self.slots);
        let mut rest = pages;
        while let Some(&first) = rest.first() {
            slots.clear();
            let tables = self.sharing.lock();
            let is_mapped = |page: &&Lpn| tables.slot_of(**page).is_some();
            let length = rest
                .iter()
                .take(longest_run)
                .take_while(|page| is_mapped(page) == is_mapped(&&first))
                .count();
            let (run, remaining) = rest.split_at(length);
            slots.extend(run.iter().filter_map(|&page| tables.slot_of(page)).map(Lpn));
            drop(tables);
            if slots.is_empty() {
                out.resize(out.len() + length, ContentId::default());
            } else {
                self.read_slots(&slots, out)?;
            }
            rest = remaining;
        }
        slots.clear();
        self.slots = slots;
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages)?;
        self.counters.add_incoming(Operation::Trim, pages.len() as u64);
        // Pending accesses of an index in flash wait for the next write, because the result must not depend on the
        // grouping of trims into calls.
        if self.has_log {
            for &page in pages {
                self.sharing.lock().trim(page, &mut self.unreferenced);
                self.trim_unreferenced()?;
                self.write_log(false)?;
            }
            return Ok(());
        }
        let mut tables = self.sharing.lock();
        for &page in pages {
            tables.trim(page, &mut self.unreferenced);
        }
        drop(tables);
        self.trim_unreferenced()
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.counters.add_incoming(Operation::Flush, 1);
        self.write_log(true)?;
        self.lower.flush()
    }

    fn abilities(&self) -> Abilities {
        self.own_abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.answer(query)
    }

    fn command(&mut self, command: Command<'_, ContentId>) -> Result<Answer, LayerError> {
        self.execute(command)
    }

    /// Merges the reports of this layer and the store, because neighbouring layers see them as one layer.
    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.lower.describe(reports);
        let layer_report = &mut reports.layers[at];
        let tables = self.sharing.lock();
        layer_report.counters.replace_incoming(&self.counters);
        layer_report.counters.reassign(Cause::Host, Cause::Dedup, Operation::Write, self.internal_writes);
        layer_report.counters.reassign(Cause::Host, Cause::Dedup, Operation::Read, self.internal_reads);
        let moving_pages = tables.log.as_ref().map_or(Default::default(), |log| log.moving_pages);
        for (cause, pages) in Cause::ALL.into_iter().zip(moving_pages) {
            layer_report.counters.reassign(cause, Cause::Dedup, Operation::Write, pages);
        }
        layer_report.logical_pages = self.logical_pages;
        layer_report.mapped_pages = tables.mapped_pages();
        layer_report.memory_bytes += tables.memory_bytes() as u64;
        layer_report.map_bytes = layer_report
            .map_bytes
            .map(|store_bytes| store_bytes + DedupReport::map_bytes(self.logical_pages));
        let report = self.report(&tables);
        if let Some(ftl) = &mut layer_report.ftl {
            ftl.ram.extend(report.ram(self.logical_pages));
            ftl.recovery = self.recovery.clone().or(ftl.recovery.take());
        }
        layer_report.dedup = Some(report);
    }

    fn written_pages(&self) -> u64 {
        self.counters.incoming(Operation::Write)
    }

    fn final_draw(&mut self) -> u64 {
        self.lower.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        let tables = self.sharing.lock();
        tables.check()?;
        let live: u64 = tables.live_by_references().iter().sum();
        let index_pages = tables.index().cache.as_ref().map_or(0, |cache| cache.stored_pages());
        let log_pages =
            tables.log.as_ref().map_or(0, |log| log.stored_pages() + log.unreferenced.len() as u64);
        drop(tables);
        let mut reports = Reports::default();
        self.lower.describe(&mut reports);
        let stored = u64::from(reports.layers[0].mapped_pages);
        if stored != live + index_pages + log_pages {
            return Err(format!(
                "{stored} pages are stored for {live} slots in use, {index_pages} of the index and {log_pages} of or for the log"
            ));
        }
        self.lower.check()
    }
}
