//! Data that is not yet in a sorted table: the memtable, and the log that protects the memtable or, in a SILT tree,
//! replaces it.

use super::tables::{TableId, Tables};
use crate::counters::Cause;
use crate::layer::{LayerError, Payload};
use crate::units::Slot;
use std::collections::BTreeMap;

/// Stream hint of log pages. Tables of level `l` have the hint `2 + l`, so that a layer below can separate them.
const LOG_HINT: u16 = 1;

/// The newest version of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewestVersion<P> {
    /// In memory.
    Record(P),
    /// In the log store on flash.
    Logged,
    /// Trimmed.
    Deleted,
}

#[derive(Debug)]
pub(super) struct Memtable<P> {
    pub entries: BTreeMap<u32, NewestVersion<P>>,
    pub tombstones: usize,
    tombstones_per_page: usize,
}

impl<P: Payload> Memtable<P> {
    pub fn new(tombstones_per_page: usize) -> Self {
        Memtable { entries: BTreeMap::new(), tombstones: 0, tombstones_per_page }
    }

    pub fn insert(&mut self, key: u32, newest: NewestVersion<P>) {
        self.tombstones += usize::from(matches!(newest, NewestVersion::Deleted));
        if let Some(NewestVersion::Deleted) = self.entries.insert(key, newest) {
            self.tombstones -= 1;
        }
    }

    /// Returns the number of pages that the memtable would take on flash if it were written now.
    pub fn pages(&self) -> u32 {
        let records = self.entries.len() - self.tombstones;
        (records + self.tombstones.div_ceil(self.tombstones_per_page)) as u32
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.tombstones = 0;
    }
}

/// Location of a log.
#[derive(Debug)]
pub(super) enum LogLocation {
    /// No log.
    NoLog,
    /// A write-ahead log in a ring of pages; the next page goes to `first + head`.
    Ring { first: u32, pages: u32, head: u32 },
    /// SILT's log store, on extents like those of tables.
    Store { tables: Vec<TableId>, table_pages: u32 },
}

/// Log of records in order of arrival, one page each; tombstones wait in memory until they fill a page.
#[derive(Debug)]
pub(super) struct RecordLog {
    pub location: LogLocation,
    /// Maximum number of pages.
    pub capacity: u32,
    /// Current number of pages.
    pub used: u32,
    buffered_tombstones: usize,
}

impl RecordLog {
    pub fn new(location: LogLocation, capacity: u32) -> Self {
        RecordLog { location, capacity, used: 0, buffered_tombstones: 0 }
    }

    /// True if the tree has a log.
    pub fn is_enabled(&self) -> bool {
        !matches!(self.location, LogLocation::NoLog)
    }

    pub fn is_full(&self) -> bool {
        self.is_enabled() && self.used >= self.capacity
    }

    /// Returns the number of pages that can be appended contiguously.
    pub fn free_pages(&self) -> u32 {
        let left = self.capacity.saturating_sub(self.used);
        match &self.location {
            LogLocation::NoLog => u32::MAX,
            LogLocation::Ring { pages, head, .. } => left.min(pages - head),
            LogLocation::Store { table_pages, .. } => left.min(table_pages - self.used % table_pages),
        }
    }

    /// Appends pages; they must fit into the free pages. Returns the location of the first page if pages are read from
    /// the log later (SILT).
    pub fn append<P: Payload>(
        &mut self,
        tables: &mut Tables<P>,
        data: &[P],
    ) -> Result<Option<Slot>, LayerError> {
        let count = data.len() as u32;
        let location = match &mut self.location {
            LogLocation::NoLog => return Ok(None),
            LogLocation::Ring { first, pages, head } => {
                tables.write(*first + *head, data, Cause::LogMetadata, LOG_HINT)?;
                *head = (*head + count) % *pages;
                None
            }
            LogLocation::Store { tables: opened, table_pages } => {
                let page = self.used % *table_pages;
                if page == 0 {
                    opened.push(tables.open()?);
                }
                let id = *opened.last().expect("one is open");
                let slot = tables.slot(id, page as usize);
                tables.write(slot.0, data, Cause::Host, LOG_HINT)?;
                let table = tables.tables[id as usize].as_mut().expect("one is open");
                table.pages += count;
                table.written += count;
                Some(slot)
            }
        };
        self.used += count;
        Ok(location)
    }

    pub fn append_tombstone<P: Payload>(
        &mut self,
        tables: &mut Tables<P>,
        per_page: usize,
    ) -> Result<(), LayerError> {
        self.buffered_tombstones += 1;
        if self.buffered_tombstones == per_page { self.write_tombstones(tables) } else { Ok(()) }
    }

    /// Writes the waiting tombstones, if any.
    pub fn write_tombstones<P: Payload>(&mut self, tables: &mut Tables<P>) -> Result<(), LayerError> {
        if self.buffered_tombstones == 0 {
            return Ok(());
        }
        self.buffered_tombstones = 0;
        self.append(tables, &[P::default()]).map(drop)
    }

    /// Empties the log, whose records are now in tables.
    pub fn clear<P: Payload>(&mut self, tables: &mut Tables<P>) -> Result<(), LayerError> {
        let used = std::mem::take(&mut self.used);
        self.buffered_tombstones = 0;
        match &mut self.location {
            LogLocation::NoLog => Ok(()),
            LogLocation::Ring { first, pages, head } => {
                // The used part may wrap around the end of the ring.
                let after_start = used.min(*head);
                tables.trim(*first + *pages - (used - after_start), used - after_start)?;
                tables.trim(*first + *head - after_start, after_start)
            }
            LogLocation::Store { tables: opened, .. } => {
                opened.drain(..).try_for_each(|id| tables.drop_table(id))
            }
        }
    }
}
