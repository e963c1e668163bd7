//! A table under construction.

use crate::units::Slot;

/// Entries of a table that is not yet written, sorted by key.
#[derive(Debug)]
pub(super) struct TableBuilder<P> {
    pub keys: Vec<u32>,
    /// Previous location of each record; no location if the record comes from the memtable.
    pub sources: Vec<Slot>,
    pub data: Vec<P>,
    pub tombstones: Vec<u32>,
    tombstones_per_page: usize,
    table_pages: usize,
}

impl<P> TableBuilder<P> {
    pub fn new(table_pages: u32, tombstones_per_page: usize) -> Self {
        TableBuilder {
            keys: Vec::new(),
            sources: Vec::new(),
            data: Vec::new(),
            tombstones: Vec::new(),
            tombstones_per_page,
            table_pages: table_pages as usize,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.tombstones.is_empty()
    }

    /// True if one more record (or, if `tombstone`, one more tombstone) fits.
    pub fn has_room(&self, tombstone: bool) -> bool {
        let tombstones = self.tombstones.len() + usize::from(tombstone);
        let records = self.keys.len() + usize::from(!tombstone);
        records + tombstones.div_ceil(self.tombstones_per_page) <= self.table_pages
    }

    pub fn push(&mut self, key: u32, from: Slot, data: P) {
        self.keys.push(key);
        self.sources.push(from);
        self.data.push(data);
    }

    pub fn tombstone_pages(&self) -> usize {
        self.tombstones.len().div_ceil(self.tombstones_per_page)
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.sources.clear();
        self.data.clear();
        self.tombstones.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_share_pages_and_records_have_one_each() {
        let mut draft = TableBuilder::<()>::new(4, 3);
        for (records, tombstones, pages, fits_record, fits_tombstone) in [
            (0, 0, 0, true, true),
            (0, 1, 1, true, true),
            (3, 0, 0, true, true),
            (3, 2, 1, false, true),
            (3, 3, 1, false, false),
            (2, 3, 1, true, true),
            (2, 4, 2, false, true),
            (4, 0, 0, false, false),
        ] {
            (0..records).for_each(|key| draft.push(key, Slot::NONE, ()));
            draft.tombstones.extend(0..tombstones);
            let found = (draft.tombstone_pages(), draft.has_room(false), draft.has_room(true));
            assert_eq!(found, (pages, fits_record, fits_tombstone), "{records} and {tombstones}");
            assert_eq!(draft.is_empty(), records + tombstones == 0);
            draft.clear();
            assert!(draft.is_empty());
        }
    }
}
