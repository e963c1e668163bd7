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

/// Number that stands for no entry.
pub(super) const NONE: u64 = u64::MAX;

/// An entry in packed form. Without padding, which would add a sixth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, packed(2))]
struct Packed {
    page: u32,
    /// Distance to the previous entry for the same block; 0 without one.
    back: u32,
    /// Time of the entry minus the earliest time in its page.
    later: u16,
}

impl Packed {
    /// Packs an entry with this number; `None` if it does not fit.
    fn of(entry: &LogEntry, number: u64, earliest: u64) -> Option<Self> {
        let back = match entry.previous {
            NONE => 0,
            previous => u32::try_from(number - previous).ok()?,
        };
        Some(Packed { page: entry.page.0, back, later: u16::try_from(entry.time - earliest).ok()? })
    }
}

/// The entries of one page of the log. Copies share their memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntries {
    /// Number of the first entry.
    first: u64,
    kept: Kept,
}

#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Packed {
        earliest: u64,
        entries: Arc<[Packed]>,
    },
    /// Unpacked entries of a page in which one does not fit the packed form.
    Whole(Arc<[LogEntry]>),
}

impl LogEntries {
    /// Creates the list of entries, numbered from `first` on.
    pub fn new(first: u64, entries: &[LogEntry]) -> Self {
        let earliest = entries.iter().map(|entry| entry.time).min().unwrap_or(0);
        let packed = (first..).zip(entries).map(|(number, entry)| Packed::of(entry, number, earliest));
        let kept = match packed.collect::<Option<Vec<Packed>>>() {
            Some(packed) => Kept::Packed { earliest, entries: packed.into() },
            None => Kept::Whole(entries.into()),
        };
        LogEntries { first, kept }
    }

    /// Returns the number of the first entry.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the entry with this number, which must be in the page.
    #[inline]
    pub fn get(&self, number: u64) -> LogEntry {
        let at = (number - self.first) as usize;
        match &self.kept {
            Kept::Packed { earliest, entries } => {
                let Packed { page, back, later } = entries[at];
                let previous = if back == 0 { NONE } else { number - u64::from(back) };
                LogEntry { page: Slot(page), time: earliest + u64::from(later), previous }
            }
            Kept::Whole(entries) => entries[at],
        }
    }

    /// Returns the entries in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = LogEntry> + '_ {
        (self.first..self.first + self.len() as u64).map(|number| self.get(number))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        match &self.kept {
            Kept::Packed { entries, .. } => entries.len(),
            Kept::Whole(entries) => entries.len(),
        }
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if both share the same memory.
    pub(super) fn are(&self, other: &LogEntries) -> bool {
        match (&self.kept, &other.kept) {
            (Kept::Packed { entries: one, .. }, Kept::Packed { entries: other, .. }) => {
                Arc::ptr_eq(one, other)
            }
            (Kept::Whole(one), Kept::Whole(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Returns the memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match &self.kept {
            Kept::Packed { entries, .. } => size_of_val(&**entries),
            Kept::Whole(entries) => size_of_val(&**entries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Generates entries: some fit the packed form, some just exceed it.
    fn entry(number: u64) -> impl Strategy<Value = LogEntry> {
        let time = prop_oneof![Just(0u64), 0..70_000u64, Just(65_535), Just(65_536), 0..u64::MAX / 2];
        let far = u64::from(u32::MAX);
        let back = prop_oneof![1..1000u64, Just(far), Just(far + 1), 1..number];
        let previous = prop_oneof![Just(NONE), back.prop_map(move |back| number - back)];
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
            let kept = LogEntries::new(1 << 40, &numbered);
            prop_assert_eq!(kept.len(), numbered.len());
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), numbered);
        }
    }

    #[test]
    fn close_entries_take_ten_bytes() {
        let entry = |number: u64| LogEntry {
            page: Slot(7),
            time: 1 << 50 | number,
            previous: number.wrapping_sub(1),
        };
        let near: Vec<LogEntry> = (0..300).map(entry).collect();
        assert_eq!(LogEntries::new(0, &near).memory_bytes(), 3000);
        let far = [entry(0), LogEntry { time: 0, ..entry(1) }];
        assert_eq!(LogEntries::new(0, &far).memory_bytes(), 48);
    }
}
