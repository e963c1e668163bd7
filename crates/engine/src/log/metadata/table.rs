//! Tables of a log's metadata: pages of entries; changed pages are written back.

use crate::units::Divider;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Location of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TablePlace {
    /// Appended to the log like data; cleaning moves it.
    #[default]
    InLog,
    /// In a separate area, in place.
    Area,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetadataKind {
    Summary,
    Map,
    Tree,
    SegmentInfo,
    Checkpoint,
}

/// Properties of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableShape {
    pub kind: MetadataKind,
    pub location: TablePlace,
    /// First page of the table, in the area or among the metadata pages of the log.
    pub first: u32,
    pub pages: u32,
    pub entries_per_page: u32,
    /// Number of entries by which the first page is smaller than the other pages.
    pub missing_entries: u32,
    pub copies: u32,
    /// Capacity of the journal: number of changed entries that checkpoints can store instead of writing the entries'
    /// pages.
    pub journal: u32,
}

/// Entries in pages; the changed pages are written back at a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct MetadataTable {
    pub shape: TableShape,
    per_page: Divider,
    /// Change flags: one per page or, with a journal, one per entry.
    dirty: Vec<bool>,
    changed: Vec<u32>,
    /// Entries whose newest value is only in the last checkpoint and not in a page.
    journal: Vec<u32>,
    /// For each page, number of the copy that is written next.
    next_copy: Vec<u8>,
}

impl MetadataTable {
    pub fn new(shape: TableShape) -> Self {
        let units = if shape.journal > 0 { shape.pages * shape.entries_per_page } else { shape.pages };
        MetadataTable {
            per_page: Divider::new(shape.entries_per_page),
            shape,
            dirty: vec![false; units as usize],
            changed: Vec::new(),
            journal: Vec::new(),
            next_copy: vec![0; shape.pages as usize],
        }
    }

    fn page_of(&self, entry: u32) -> u32 {
        self.per_page.quotient(entry + self.shape.missing_entries)
    }

    #[inline]
    pub fn mark_changed(&mut self, entry: u32) {
        let unit = if self.shape.journal > 0 { entry } else { self.page_of(entry) };
        if !std::mem::replace(&mut self.dirty[unit as usize], true) {
            self.changed.push(unit);
        }
    }

    /// Calls `visit` with the location to which each changed page is written, in ascending order of pages.
    pub fn take_changed(&mut self, mut visit: impl FnMut(u32)) {
        self.changed.sort_unstable();
        self.changed.iter().for_each(|&unit| self.dirty[unit as usize] = false);
        if self.shape.journal > 0 {
            self.changed = self.fill_journal();
        }
        for &page in &self.changed {
            let copy = &mut self.next_copy[page as usize];
            visit(self.shape.first + u32::from(*copy) * self.shape.pages + page);
            *copy = ((u32::from(*copy) + 1) % self.shape.copies) as u8;
        }
        self.changed.clear();
    }

    /// Moves changed entries into the journal as long as they fit, starting with the pages that have the fewest changed
    /// entries. Returns the pages of the other entries. If the new entries do not all fit into the journal in addition
    /// to its entries, these are first marked as changed again, which empties the journal.
    fn fill_journal(&mut self) -> Vec<u32> {
        let mut entries = std::mem::take(&mut self.changed);
        if entries.len() + self.journal.len() > self.shape.journal as usize {
            entries.append(&mut self.journal);
            entries.sort_unstable();
            entries.dedup();
        }
        let mut groups: Vec<&[u32]> = entries.chunk_by(|&a, &b| self.page_of(a) == self.page_of(b)).collect();
        groups.sort_by_key(|group| group.len());
        let mut pages = Vec::new();
        for group in groups {
            if group.len() + self.journal.len() <= self.shape.journal as usize {
                self.journal.extend(group);
            } else {
                pages.push(self.page_of(group[0]));
            }
        }
        self.journal.sort_unstable();
        self.journal.dedup();
        pages.sort_unstable();
        pages
    }

    pub fn area_pages(&self) -> u32 {
        self.shape.pages * self.shape.copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use wearwell_base::seed::Seed;

    fn table(journal: u32, missing: u32) -> MetadataTable {
        let (kind, place) = (MetadataKind::SegmentInfo, TablePlace::Area);
        let shape = TableShape {
            kind,
            location: place,
            first: 100,
            pages: 8,
            entries_per_page: 4,
            missing_entries: missing,
            copies: 2,
            journal,
        };
        MetadataTable::new(shape)
    }

    fn take_pages(table: &mut MetadataTable) -> Vec<u32> {
        let mut pages = Vec::new();
        table.take_changed(|page| pages.push(page));
        pages
    }

    #[test]
    fn smaller_first_page_shifts_entries_of_other_pages() {
        let mut table = table(0, 3);
        [0, 1, 4, 5].into_iter().for_each(|entry| table.mark_changed(entry));
        assert_eq!(take_pages(&mut table), [100, 101, 102]);
    }

    #[test]
    fn journal_avoids_page_writes_until_full() {
        let mut table = table(3, 0);
        [1, 9].into_iter().for_each(|entry| table.mark_changed(entry));
        assert_eq!(take_pages(&mut table), [0; 0], "both have room");
        table.mark_changed(9);
        assert_eq!((take_pages(&mut table), table.journal.as_slice()), (vec![], &[1, 9][..]), "once each");
        // Entries 1, 9 and three more exceed the journal. Entries of the pages with the fewest changes stay in the
        // journal; entries 4 and 5 are written with their page.
        [4, 5, 30].into_iter().for_each(|entry| table.mark_changed(entry));
        assert_eq!((take_pages(&mut table), table.journal.as_slice()), (vec![101], &[1, 9, 30][..]));
        // The page of entries 4 and 5 is written again, to its other copy.
        [4, 5].into_iter().for_each(|entry| table.mark_changed(entry));
        assert_eq!(take_pages(&mut table), [109]);
    }

    /// After any sequence of changes, recovery finds the newest value of every entry: in the journal or in its page,
    /// whichever is newer.
    #[test]
    fn random_changes_are_in_journal_or_page() {
        let mut random = Seed(5).random();
        let mut table = table(5, 0);
        let (mut newest, mut on_pages) = ([0u32; 32], [0u32; 32]);
        for checkpoint in 1..2000 {
            for _ in 0..wearwell_base::seed::random_below(&mut random, 9) {
                let entry = wearwell_base::seed::random_below(&mut random, 32) as u32;
                table.mark_changed(entry);
                newest[entry as usize] = checkpoint;
            }
            for page in take_pages(&mut table) {
                let entries = (page - 100) % 8 * 4;
                (entries..entries + 4).for_each(|entry| on_pages[entry as usize] = newest[entry as usize]);
            }
            let journal: BTreeSet<u32> = table.journal.iter().copied().collect();
            assert!(journal.len() == table.journal.len() && journal.len() <= 5);
            for entry in 0..32 {
                assert!(journal.contains(&entry) || on_pages[entry as usize] == newest[entry as usize]);
            }
        }
    }
}
