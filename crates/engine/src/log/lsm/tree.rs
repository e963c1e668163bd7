//! The tree: its state and its operations.

use super::LsmConfig;
use super::Shape;
use super::memtable::{LogLocation, Memtable, NewestVersion, RecordLog};
use super::merge::Run;
use super::space::SpacePlan;
use super::table_builder::TableBuilder;
use super::tables::{LEVEL_0_HINT, Tables};
use crate::config::ConfigError;
use crate::counters::{Cause, Operation};
use crate::layer::{
    Abilities, Answer, Command, Layer, LayerError, LayerExt, LayerReport, LsmLevel, LsmReport, Payload,
    Query, Reports, check_range,
};
use crate::log::BoxedLayer;
use crate::units::{Lpn, Slot};

/// A log-structured merge tree on any layer; see the module's documentation for its design and its simplifications.
///
/// Pages are counted as incoming writes on arrival. Overwrites within a memtable are merged, so flushes (cause `host`)
/// may write fewer pages than came in. Pages written by merges and by the conversion of SILT's log stores count as
/// `cleaning`. Pages of the write-ahead log and of the tables' indexes count as `log_metadata`. Dropping a table counts
/// as an erase. Stream hints for the layer below: 1 for the log, `2 + l` for a table of level `l`.
pub struct LsmTree<P> {
    pub(super) config: LsmConfig,
    pub(super) plan: SpacePlan,
    pub(super) tables: Tables<P>,
    pub(super) memtable: Memtable<P>,
    pub(super) log: RecordLog,
    /// Runs of each level, oldest first.
    pub(super) levels: Vec<Vec<Run>>,
    /// First key of the next table that each level pushes down.
    pub(super) next_keys: Vec<u32>,
    pub(super) builder: TableBuilder<P>,
    /// Logical pages that hold data.
    pub(super) mapped_pages: u32,
    pub(super) flushes: u64,
    pub(super) compactions: u64,
    pub(super) trivial_moves: u64,
    pub(super) squeezes: u64,
    /// True after an error of the layer below during a flush or merge: reads still work, but tables are missing in
    /// the levels.
    pub(super) interrupted: bool,
}

impl<P: Payload> LsmTree<P> {
    /// Creates a tree on an empty layer. Fails if a setting cannot work, in particular if there are more logical pages
    /// than fit in the worst case; the error names its key.
    pub fn new(config: LsmConfig, lower: BoxedLayer<P>) -> Result<Self, ConfigError> {
        let lower_pages = lower.logical_pages();
        config.validate(lower_pages)?;
        let (extents, extent_pages) = (config.extents_on(lower_pages), config.extent_pages());
        let log = match (config.shape, config.wal_pages) {
            (Shape::Silt { .. }, _) => {
                let location = LogLocation::Store { tables: Vec::new(), table_pages: config.table_pages };
                RecordLog::new(location, config.memtable_pages)
            }
            (_, Some(pages)) => {
                RecordLog::new(LogLocation::Ring { first: extents * extent_pages, pages, head: 0 }, pages)
            }
            (_, None) => RecordLog::new(LogLocation::NoLog, 0),
        };
        let plan = config.plan(config.logical_pages);
        let per_page = config.tombstones_per_page();
        Ok(LsmTree {
            tables: Tables::new(lower, config, extents, extent_pages),
            memtable: Memtable::new(per_page),
            log,
            levels: vec![Vec::new(); plan.levels],
            next_keys: vec![0; plan.levels],
            builder: TableBuilder::new(config.table_pages, per_page),
            mapped_pages: 0,
            flushes: 0,
            compactions: 0,
            trivial_moves: 0,
            squeezes: 0,
            interrupted: false,
            config,
            plan,
        })
    }

    /// Returns the stream hint of the tables of a level.
    pub(super) fn hint(level: usize) -> u16 {
        LEVEL_0_HINT + level as u16
    }

    fn is_silt(&self) -> bool {
        matches!(self.config.shape, Shape::Silt { .. })
    }

    pub(super) fn is_mapped(&self, key: u32) -> bool {
        self.tables.locations[key as usize] != Slot::NONE
            || matches!(self.memtable.entries.get(&key), Some(NewestVersion::Record(_)))
    }

    /// Sets the newest version of `key`. `location` is its location in the layer below, if it is stored there.
    fn set_newest(&mut self, key: u32, newest: NewestVersion<P>, location: Slot) {
        self.mapped_pages -= u32::from(self.is_mapped(key));
        self.mapped_pages += u32::from(!matches!(newest, NewestVersion::Deleted));
        self.memtable.insert(key, newest);
        self.tables.set_location(key, location);
    }

    /// Returns a number of pages that can be accepted in any case before the memtable or its log is full.
    fn free_pages(&self) -> u32 {
        match self.is_silt() {
            true => self.log.free_pages(),
            false => self.log.free_pages().min(self.config.memtable_pages - self.memtable.pages()),
        }
    }

    fn flush_memtable_if_full(&mut self) -> Result<(), LayerError> {
        let full = !self.is_silt() && self.memtable.pages() >= self.config.memtable_pages;
        if full || self.log.is_full() { self.flush_memtable() } else { Ok(()) }
    }

    /// Writes the memtable out, or converts the log store, and compacts.
    fn flush_memtable(&mut self) -> Result<(), LayerError> {
        self.interrupted = true;
        self.while_cleaning(Self::squeeze_if_needed)?;
        let run = if self.is_silt() { self.while_cleaning(Self::write_run)? } else { self.write_run()? };
        self.levels[0].push(run);
        self.flushes += 1;
        self.memtable.clear();
        self.log.clear(&mut self.tables)?;
        self.while_cleaning(Self::compact)?;
        self.interrupted = false;
        Ok(())
    }

    /// Runs `clean` and notifies the layer below when `clean` begins and ends, because the pages that a merge replaces
    /// are trimmed soon.
    fn while_cleaning<T>(
        &mut self,
        clean: impl FnOnce(&mut Self) -> Result<T, LayerError>,
    ) -> Result<T, LayerError> {
        self.tables.lower.notify_cleaning_above(true);
        let result = clean(self);
        self.tables.lower.notify_cleaning_above(false);
        result
    }

    /// Writes the memtable or the log store as a sorted run of level 0.
    fn write_run(&mut self) -> Result<Run, LayerError> {
        let cause = if self.is_silt() { Cause::Cleaning } else { Cause::Host };
        let entries = &self.memtable.entries;
        let logged = entries.iter().filter(|(_, newest)| matches!(newest, NewestVersion::Logged));
        let locations: Vec<Slot> = logged.map(|(&key, _)| self.tables.locations[key as usize]).collect();
        let mut data = Vec::new();
        if !locations.is_empty() {
            self.tables.read(locations.iter().copied(), cause, &mut data)?;
        }
        let mut read = locations.into_iter().zip(data);
        let mut run = Run::new();
        for (&key, newest) in entries {
            if !self.builder.has_room(matches!(newest, NewestVersion::Deleted)) {
                run.push(self.tables.write_table(&mut self.builder, cause, Self::hint(0))?);
            }
            match newest {
                NewestVersion::Deleted => self.builder.tombstones.push(key),
                NewestVersion::Record(data) => self.builder.push(key, Slot::NONE, *data),
                NewestVersion::Logged => {
                    let (from, data) = read.next().expect("each logged record was read");
                    self.builder.push(key, from, data);
                }
            }
        }
        run.push(self.tables.write_table(&mut self.builder, cause, Self::hint(0))?);
        Ok(run)
    }

    fn report(&self) -> LsmReport {
        let level = |(at, runs): (usize, &Vec<Run>)| LsmLevel {
            runs: runs.len() as u32,
            tables: runs.iter().map(|run| run.len() as u32).sum(),
            pages: runs.iter().flatten().map(|&id| u64::from(self.tables.table(id).pages)).sum(),
            written_pages: self.tables.written_pages.get(at).copied().unwrap_or(0),
        };
        LsmReport {
            levels: self.levels.iter().enumerate().map(level).collect(),
            flushes: self.flushes,
            compactions: self.compactions,
            trivial_moves: self.trivial_moves,
            squeezes: self.squeezes,
            free_extents: self.tables.free.len() as u32,
        }
    }

    fn memory_bytes(&self) -> u64 {
        let entries = |table: &super::tables::Table| table.keys.len() + table.tombstones.len();
        let keys: usize = self.tables.tables.iter().flatten().map(entries).sum();
        let memtable_bytes = self.memtable.entries.len() * size_of::<(u32, NewestVersion<P>)>();
        (4 * (keys + self.tables.locations.len()) + memtable_bytes) as u64
    }
}

impl<P: Payload> Layer<P> for LsmTree<P> {
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn write(&mut self, mut pages: &[Lpn], mut data: &[P], _hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.config.logical_pages)?;
        self.tables.moves.begin(pages);
        self.tables.moves.written(pages);
        while !pages.is_empty() {
            let length = pages.len().min(self.free_pages() as usize);
            let first = self.log.append(&mut self.tables, &data[..length])?;
            let stored = self.is_silt();
            for (at, (page, data)) in (0..).zip(pages[..length].iter().zip(data)) {
                let newest = if stored { NewestVersion::Logged } else { NewestVersion::Record(*data) };
                self.set_newest(page.0, newest, first.map_or(Slot::NONE, |first| Slot(first.0 + at)));
            }
            self.tables.counters.add_incoming(Operation::Write, length as u64);
            (pages, data) = (&pages[length..], &data[length..]);
            self.flush_memtable_if_full()?;
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.tables.counters.add_incoming(Operation::Read, pages.len() as u64);
        for page in pages {
            match (self.memtable.entries.get(&page.0), self.tables.locations[page.index()]) {
                (Some(NewestVersion::Record(data)), _) => out.push(*data),
                (_, Slot::NONE) => out.push(P::default()),
                (_, location) => self.tables.read(std::iter::once(location), Cause::Host, out)?,
            }
        }
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.config.logical_pages)?;
        self.tables.counters.add_incoming(Operation::Trim, pages.len() as u64);
        self.tables.moves.begin(pages);
        self.tables.moves.trimmed(pages);
        let per_page = self.config.tombstones_per_page();
        for page in pages {
            self.set_newest(page.0, NewestVersion::Deleted, Slot::NONE);
            self.log.append_tombstone(&mut self.tables, per_page)?;
            self.flush_memtable_if_full()?;
        }
        Ok(())
    }

    /// Makes accepted data durable: writes the waiting tombstones to the log; without a log, writes the memtable out.
    fn flush(&mut self) -> Result<(), LayerError> {
        self.tables.counters.add_incoming(Operation::Flush, 1);
        if self.log.is_enabled() {
            self.log.write_tombstones(&mut self.tables)?;
            self.flush_memtable_if_full()?;
        } else if !self.memtable.entries.is_empty() {
            self.flush_memtable()?;
        }
        self.tables.lower.flush()
    }

    fn abilities(&self) -> Abilities {
        self.supported_abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.answer(query)
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        self.execute(command)
    }

    fn describe(&self, reports: &mut Reports) {
        reports.layers.push(LayerReport {
            counters: self.tables.counters,
            logical_pages: self.config.logical_pages,
            physical_pages: u64::from(self.tables.lower.logical_pages()),
            mapped_pages: self.mapped_pages,
            memory_bytes: self.memory_bytes(),
            directory: "lsm",
            moved_pages: self.tables.moves.matrix(),
            moved_again_pages: self.tables.moves.repeated_moves(),
            trims: self.tables.trims.unwrap_or_default(),
            cleanings: Some(self.compactions),
            erased_blocks: Some(self.tables.free.len() as u32),
            lsm: Some(self.report()),
            ..LayerReport::default()
        });
        self.tables.lower.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.tables.counters.incoming(Operation::Write)
    }

    /// Returns the layer's draw: the tree itself draws no random numbers.
    fn final_draw(&mut self) -> u64 {
        self.tables.lower.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        if !self.interrupted {
            self.check_all()?;
        }
        self.tables.lower.check()
    }
}
