//! The entries of a page of the validity log, in the memory of the simulation.
//!
//! A drive of terabytes has hundreds of millions of entries. The entries of a page have similar times and refer to
//! entries that are not far back, so ten bytes per entry suffice.

use crate::units::Slot;
use std::sync::Arc;

/// One invalidated page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEntry {
    /// The invalidated page.
    pub page: Slot,
    /// Sequence number at which the entry was added to the log: by the report of the invalidation, or by the cleaning
    /// of an older page of the log.
    pub time: u64,
    /// Number of the previous entry for a page of the same block, counted since the log began; `u64::MAX` without
    /// one.
    pub previous: u64,
}

/// Number that means "no entry".
pub(super) const NONE: u64 = u64::MAX;

/// An entry in packed form. The entry has no padding, because padding would increase the size by a sixth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, packed(2))]
struct PackedEntry {
    page: u32,
    /// Distance to the previous entry for the same block; 0 without one.
    distance: u32,
    /// Time of the entry minus the earliest time in its page.
    time_offset: u16,
}

impl PackedEntry {
    /// Packs an entry with this number; `None` if it does not fit.
    fn of(entry: &LogEntry, number: u64, earliest: u64) -> Option<Self> {
        let distance = match entry.previous {
            NONE => 0,
            previous => u32::try_from(number - previous).ok()?,
        };
        Some(PackedEntry {
            page: entry.page.0,
            distance,
            time_offset: u16::try_from(entry.time - earliest).ok()?,
        })
    }
}

/// The entries of one page of the log. Copies share their memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntries {
    /// Number of the first entry.
    first: u64,
    storage: EntryStorage,
}

#[derive(Clone, Debug, PartialEq)]
enum EntryStorage {
    Packed {
        earliest: u64,
        entries: Arc<[PackedEntry]>,
    },
    /// Unpacked entries of a page, used if an entry does not fit the packed form.
    Unpacked(Arc<[LogEntry]>),
}

impl LogEntries {
    /// Creates the list of entries, numbered from `first` on.
    pub fn new(first: u64, entries: &[LogEntry]) -> Self {
        let earliest = entries.iter().map(|entry| entry.time).min().unwrap_or(0);
        let packed = (first..).zip(entries).map(|(number, entry)| PackedEntry::of(entry, number, earliest));
        let storage = match packed.collect::<Option<Vec<PackedEntry>>>() {
            Some(packed) => EntryStorage::Packed { earliest, entries: packed.into() },
            None => EntryStorage::Unpacked(entries.into()),
        };
        LogEntries { first, storage }
    }

    /// Returns the number of the first entry.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the entry with this number, which must be in the page.
    #[inline]
    pub fn get(&self, number: u64) -> LogEntry {
        let at = (number - self.first) as usize;
        match &self.storage {
            EntryStorage::Packed { earliest, entries } => {
                let PackedEntry { page, distance: back, time_offset: later } = entries[at];
                let previous = if back == 0 { NONE } else { number - u64::from(back) };
                LogEntry { page: Slot(page), time: earliest + u64::from(later), previous }
            }
            EntryStorage::Unpacked(entries) => entries[at],
        }
    }

    /// Returns the entries in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = LogEntry> + '_ {
        (self.first..self.first + self.len() as u64).map(|number| self.get(number))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        match &self.storage {
            EntryStorage::Packed { entries, .. } => entries.len(),
            EntryStorage::Unpacked(entries) => entries.len(),
        }
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if both lists of entries share the same memory.
    pub(super) fn shares_memory_with(&self, other: &LogEntries) -> bool {
        match (&self.storage, &other.storage) {
            (EntryStorage::Packed { entries: one, .. }, EntryStorage::Packed { entries: other, .. }) => {
                Arc::ptr_eq(one, other)
            }
            (EntryStorage::Unpacked(one), EntryStorage::Unpacked(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Returns the memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match &self.storage {
            EntryStorage::Packed { entries, .. } => size_of_val(&**entries),
            EntryStorage::Unpacked(entries) => size_of_val(&**entries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Generates entries, some of which fit the packed form, and some of which just do not fit.
    fn entry(number: u64) -> impl Strategy<Value = LogEntry> {
        let time = prop_oneof![Just(0u64), 0..70_000u64, Just(65_535), Just(65_536), 0..u64::MAX / 2];
        let max_distance = u64::from(u32::MAX);
        let distance = prop_oneof![1..1000u64, Just(max_distance), Just(max_distance + 1), 1..number];
        let previous = prop_oneof![Just(NONE), distance.prop_map(move |back| number - back)];
        (any::<u32>(), time, previous).prop_map(|(page, time, previous)| LogEntry {
            page: Slot(page),
            time,
            previous,
        })
    }

    proptest! {
        #[test]
        fn packed_entries_roundtrip(entries in prop::collection::vec(entry(1 << 40), 0..12)) {
            let numbered: Vec<LogEntry> = entries;
            let entries_read = LogEntries::new(1 << 40, &numbered);
            prop_assert_eq!(entries_read.len(), numbered.len());
            prop_assert_eq!(entries_read.iter().collect::<Vec<_>>(), numbered);
        }
    }

    #[test]
    fn nearby_entries_take_10_bytes() {
        let entry = |number: u64| LogEntry {
            page: Slot(7),
            time: 1 << 50 | number,
            previous: number.wrapping_sub(1),
        };
        let near_entries: Vec<LogEntry> = (0..300).map(entry).collect();
        assert_eq!(LogEntries::new(0, &near_entries).memory_bytes(), 3000);
        let far_entries = [entry(0), LogEntry { time: 0, ..entry(1) }];
        assert_eq!(LogEntries::new(0, &far_entries).memory_bytes(), 48);
    }
}
