//! Data that is not yet in a sorted table: the memtable, and the log that protects it or, in a SILT tree, replaces
//! it.

use super::tables::{TableId, Tables};
use crate::counters::Cause;
use crate::layer::{LayerError, Payload};
use crate::units::Slot;
use std::collections::BTreeMap;

/// Stream hint of log pages. Tables of level `l` have the hint `2 + l`, so that a layer below can separate them.
const LOG_HINT: u16 = 1;

/// The newest version of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Newest<P> {
    /// In memory.
    Record(P),
    /// In the log store on flash.
    Logged,
    /// Trimmed.
    Deleted,
}

#[derive(Debug)]
pub(super) struct Memtable<P> {
    pub entries: BTreeMap<u32, Newest<P>>,
    pub tombstones: usize,
    tombstones_per_page: usize,
}

impl<P: Payload> Memtable<P> {
    pub fn new(tombstones_per_page: usize) -> Self {
        Memtable { entries: BTreeMap::new(), tombstones: 0, tombstones_per_page }
    }

    pub fn insert(&mut self, key: u32, newest: Newest<P>) {
        self.tombstones += usize::from(matches!(newest, Newest::Deleted));
        if let Some(Newest::Deleted) = self.entries.insert(key, newest) {
            self.tombstones -= 1;
        }
    }

    /// Returns the number of pages that the memtable would fill if it were written now.
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
pub(super) enum Place {
    /// No log.
    Nowhere,
    /// A write-ahead log in a ring of pages; the next page goes to `first + head`.
    Ring { first: u32, pages: u32, head: u32 },
    /// SILT's log store, on extents like those of tables.
    Store { tables: Vec<TableId>, table_pages: u32 },
}

/// Log of records in order of arrival, one page each; tombstones wait in memory until they fill a page.
#[derive(Debug)]
pub(super) struct Log {
    pub place: Place,
    /// Maximum number of pages.
    pub capacity: u32,
    /// Current number of pages.
    pub used: u32,
    waiting_tombstones: usize,
}

impl Log {
    pub fn new(place: Place, capacity: u32) -> Self {
        Log { place, capacity, used: 0, waiting_tombstones: 0 }
    }

    /// True if the tree has a log.
    pub fn exists(&self) -> bool {
        !matches!(self.place, Place::Nowhere)
    }

    pub fn is_full(&self) -> bool {
        self.exists() && self.used >= self.capacity
    }

    /// Returns the number of pages that can be appended contiguously.
    pub fn room(&self) -> u32 {
        let left = self.capacity.saturating_sub(self.used);
        match &self.place {
            Place::Nowhere => u32::MAX,
            Place::Ring { pages, head, .. } => left.min(pages - head),
            Place::Store { table_pages, .. } => left.min(table_pages - self.used % table_pages),
        }
    }

    /// Appends pages, for which there must be room. Returns the location of the first one if pages are read from the
    /// log later (SILT).
    pub fn append<P: Payload>(
        &mut self,
        tables: &mut Tables<P>,
        data: &[P],
    ) -> Result<Option<Slot>, LayerError> {
        let count = data.len() as u32;
        let found = match &mut self.place {
            Place::Nowhere => return Ok(None),
            Place::Ring { first, pages, head } => {
                tables.write(*first + *head, data, Cause::LogMetadata, LOG_HINT)?;
                *head = (*head + count) % *pages;
                None
            }
            Place::Store { tables: opened, table_pages } => {
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
        Ok(found)
    }

    pub fn append_tombstone<P: Payload>(
        &mut self,
        tables: &mut Tables<P>,
        per_page: usize,
    ) -> Result<(), LayerError> {
        self.waiting_tombstones += 1;
        if self.waiting_tombstones == per_page { self.write_tombstones(tables) } else { Ok(()) }
    }

    /// Writes the waiting tombstones, if any.
    pub fn write_tombstones<P: Payload>(&mut self, tables: &mut Tables<P>) -> Result<(), LayerError> {
        if self.waiting_tombstones == 0 {
            return Ok(());
        }
        self.waiting_tombstones = 0;
        self.append(tables, &[P::default()]).map(drop)
    }

    /// Empties the log, whose records are now in tables.
    pub fn clear<P: Payload>(&mut self, tables: &mut Tables<P>) -> Result<(), LayerError> {
        let used = std::mem::take(&mut self.used);
        self.waiting_tombstones = 0;
        match &mut self.place {
            Place::Nowhere => Ok(()),
            Place::Ring { first, pages, head } => {
                // The used part may wrap around the end of the ring.
                let late = used.min(*head);
                tables.trim(*first + *pages - (used - late), used - late)?;
                tables.trim(*first + *head - late, late)
            }
            Place::Store { tables: opened, .. } => opened.drain(..).try_for_each(|id| tables.drop_table(id)),
        }
    }
}
