//! A table in the making.

use crate::units::Slot;

/// Entries of a table that is not yet written, in the order of their keys.
#[derive(Debug)]
pub(super) struct Draft<P> {
    pub keys: Vec<u32>,
    /// Where each record was read from, or none if it comes out of the memtable.
    pub from: Vec<Slot>,
    pub data: Vec<P>,
    pub tombstones: Vec<u32>,
    tombstones_per_page: usize,
    table_pages: usize,
}

impl<P> Draft<P> {
    pub fn new(table_pages: u32, tombstones_per_page: usize) -> Self {
        Draft {
            keys: Vec::new(),
            from: Vec::new(),
            data: Vec::new(),
            tombstones: Vec::new(),
            tombstones_per_page,
            table_pages: table_pages as usize,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.tombstones.is_empty()
    }

    /// Whether another record, or another tombstone, still fits.
    pub fn has_room(&self, tombstone: bool) -> bool {
        let tombstones = self.tombstones.len() + usize::from(tombstone);
        let records = self.keys.len() + usize::from(!tombstone);
        records + tombstones.div_ceil(self.tombstones_per_page) <= self.table_pages
    }

    pub fn push(&mut self, key: u32, from: Slot, data: P) {
        self.keys.push(key);
        self.from.push(from);
        self.data.push(data);
    }

    pub fn tombstone_pages(&self) -> usize {
        self.tombstones.len().div_ceil(self.tombstones_per_page)
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.from.clear();
        self.data.clear();
        self.tombstones.clear();
    }
}
