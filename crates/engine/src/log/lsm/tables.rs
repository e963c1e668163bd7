//! Tables on extents of the layer below. All operations on that layer pass through here and are counted here.

use super::LsmConfig;
use super::table_builder::TableBuilder;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{LayerError, Payload, TrimCounts};
use crate::log::BoxedLayer;
use crate::pool::Moves;
use crate::units::{Lpn, Slot};
use std::collections::VecDeque;

/// Owner of a page of tombstones.
const NO_OWNER: Lpn = Lpn(u32::MAX);

/// Stream hint of the tables of level 0; each level has its own.
pub(super) const LEVEL_0_HINT: u16 = 2;

/// Identifier of a table: the number of its extent.
pub(super) type TableId = u32;

/// Metadata of a table, kept in memory. Record `k` is on page `k` of the extent, followed by the tombstones and the
/// index.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Keys of the records, sorted. Empty in a SILT log store, which is not sorted.
    pub keys: Vec<u32>,
    pub tombstones: Vec<u32>,
    /// Pages of records and tombstones.
    pub pages: u32,
    /// Pages of records, tombstones and index.
    pub written: u32,
}

impl Table {
    /// Returns the first and the last key.
    pub fn range(&self) -> (u32, u32) {
        let ends = [&self.keys, &self.tombstones].map(|keys| keys.first().copied().zip(keys.last().copied()));
        let ends = ends.into_iter().flatten();
        ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("a table has entries")
    }
}

pub(super) struct Tables<P> {
    pub lower: BoxedLayer<P>,
    pub counters: Counters,
    /// Counts of trims; `None` if TRIM is off.
    pub trims: Option<TrimCounts>,
    pub extent_pages: u32,
    /// Extents without a table, in the order in which they became free.
    pub free: VecDeque<TableId>,
    pub tables: Vec<Option<Table>>,
    /// For each logical page, the lower page that stores its newest record; no page if the record is in the memtable or
    /// the page is trimmed.
    pub locations: Vec<Slot>,
    /// Number of newest records on each extent.
    pub live: Vec<u32>,
    /// Pages written into tables of each level, with their indexes.
    pub written_pages: Vec<u64>,
    pub moves: Moves,
    config: LsmConfig,
    /// Page numbers of the current operation; kept to reuse the allocation.
    pages: Vec<Lpn>,
}

impl<P: Payload> Tables<P> {
    /// Creates the extents on an empty layer `lower`: all its pages except those of the write-ahead log at its end.
    pub fn new(lower: BoxedLayer<P>, config: LsmConfig, extents: u32, extent_pages: u32) -> Self {
        Tables {
            lower,
            counters: Counters::default(),
            trims: config.trim.then(TrimCounts::default),
            extent_pages,
            free: (0..extents).collect(),
            tables: vec![None; extents as usize],
            locations: vec![Slot::NONE; config.logical_pages as usize],
            live: vec![0; extents as usize],
            written_pages: Vec::new(),
            moves: Moves::default(),
            config,
            pages: Vec::new(),
        }
    }

    pub fn table(&self, id: TableId) -> &Table {
        self.tables[id as usize].as_ref().expect("a table that is in use")
    }

    /// Returns the lower page that stores page `index` of a table.
    pub fn slot(&self, id: TableId, index: usize) -> Slot {
        Slot(id * self.extent_pages + index as u32)
    }

    /// Writes consecutive pages to the layer below. After a failed write, as on a failing drive, counts the pages that
    /// the layer accepted.
    pub fn write(&mut self, first: u32, data: &[P], cause: Cause, hint: u16) -> Result<(), LayerError> {
        self.pages.clear();
        self.pages.extend((first..).take(data.len()).map(Lpn));
        let result = self.lower.write(&self.pages, data, hint);
        let accepted = match &result {
            Ok(()) => data.len() as u64,
            Err(_) => self.lower.written_pages() - self.counters.outgoing_total(Operation::Write),
        };
        self.counters.add_outgoing(cause, Operation::Write, accepted);
        result
    }

    /// Reads pages from the layer below and appends their contents to `out`.
    pub fn read(
        &mut self,
        slots: impl Iterator<Item = Slot>,
        cause: Cause,
        out: &mut Vec<P>,
    ) -> Result<(), LayerError> {
        self.pages.clear();
        self.pages.extend(slots.map(|slot| Lpn(slot.0)));
        self.lower.read(&self.pages, out)?;
        self.counters.add_outgoing(cause, Operation::Read, self.pages.len() as u64);
        Ok(())
    }

    /// Reads all records and tombstones of a table, as a merge does.
    pub fn read_table(&mut self, id: TableId, out: &mut Vec<P>) -> Result<(), LayerError> {
        let (first, pages) = (self.slot(id, 0).0, self.table(id).pages);
        self.read((first..first + pages).map(Slot), Cause::Cleaning, out)
    }

    /// Trims consecutive pages of the layer below, if TRIM is on.
    pub fn trim(&mut self, first: u32, count: u32) -> Result<(), LayerError> {
        let Some(trims) = self.trims.as_mut().filter(|_| count > 0) else { return Ok(()) };
        self.pages.clear();
        self.pages.extend((first..first + count).map(Lpn));
        self.lower.trim(&self.pages)?;
        trims.sent_pages += u64::from(count);
        trims.sent_ranges += 1;
        Ok(())
    }

    /// Creates an empty table on a free extent.
    pub fn open(&mut self) -> Result<TableId, LayerError> {
        let id = self.free.pop_front().ok_or(LayerError::NoSpace)?;
        self.tables[id as usize] = Some(Table::default());
        Ok(id)
    }

    /// Records that the newest record of `key` is now at `location`.
    pub fn set_location(&mut self, key: u32, location: Slot) {
        let old = std::mem::replace(&mut self.locations[key as usize], location);
        for (slot, is_added) in [(old, false), (location, true)] {
            if slot != Slot::NONE {
                let live = &mut self.live[(slot.0 / self.extent_pages) as usize];
                *live = if is_added { *live + 1 } else { *live - 1 };
            }
        }
    }

    /// Writes the table under construction and empties `builder`. From now on, records that are still the newest ones
    /// of their pages are read from this table.
    pub fn write_table(
        &mut self,
        builder: &mut TableBuilder<P>,
        cause: Cause,
        hint: u16,
    ) -> Result<TableId, LayerError> {
        let id = self.open()?;
        let first = self.slot(id, 0).0;
        let records = builder.keys.len();
        let pages = (records + builder.tombstone_pages()) as u32;
        builder.data.resize(pages as usize, P::default());
        self.write(first, &builder.data, cause, hint)?;
        let index = self.config.index_pages(pages);
        let blank = vec![P::default(); index as usize];
        self.write(first + pages, &blank, Cause::LogMetadata, hint)?;
        let level = usize::from(hint - LEVEL_0_HINT);
        self.written_pages.resize(self.written_pages.len().max(level + 1), 0);
        self.written_pages[level] += u64::from(pages + index);
        for (at, (&key, &from)) in builder.keys.iter().zip(&builder.sources).enumerate() {
            if self.locations[key as usize] == from {
                self.set_location(key, Slot(first + at as u32));
                if cause == Cause::Cleaning {
                    self.moves.moved(&[Lpn(key)]);
                }
            }
        }
        if cause == Cause::Cleaning {
            builder.keys.iter().for_each(|&key| self.moves.attribute(&[Lpn(key)]));
            // A page of tombstones is shared by many keys, so it counts for no partition of the user.
            (records as u32..pages).for_each(|_| self.moves.attribute(&[NO_OWNER]));
        }
        let (keys, tombstones) = (builder.keys.clone(), builder.tombstones.clone());
        self.tables[id as usize] = Some(Table { keys, tombstones, pages, written: pages + index });
        builder.clear();
        Ok(id)
    }

    /// Frees the extent of a table.
    pub fn drop_table(&mut self, id: TableId) -> Result<(), LayerError> {
        let table = self.tables[id as usize].take().expect("a table that is in use");
        self.free.push_back(id);
        self.counters.add_outgoing(Cause::Cleaning, Operation::Erase, 1);
        self.trim(id * self.extent_pages, table.written)
    }
}
