//! Buffer of updates that are not written yet.

use super::entry::Layout;
use crate::units::{BlockId, Slot};
use crate::validity::PageSet;

/// Marker of an unused entry.
const EMPTY: u64 = u64::MAX;

/// Entries of the next flash page, in a hash table with linear probing; they are sorted when they are written.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    layout: Layout,
    table: Vec<u64>,
    /// Capacity of the table in entries, which is a power of two, minus one.
    mask: usize,
    shift: u32,
    len: u32,
    updates: u32,
}

impl Buffer {
    /// Creates a buffer for `entries` entries.
    pub fn new(layout: Layout, entries: u32) -> Self {
        // The table is at most half full, so that probe sequences are short.
        let capacity = (2 * entries as usize).next_power_of_two();
        let table = vec![EMPTY; capacity * layout.stride];
        Buffer {
            layout,
            table,
            mask: capacity - 1,
            shift: 64 - capacity.trailing_zeros(),
            len: 0,
            updates: 0,
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns the number of updates since the buffer was last emptied.
    pub fn updates(&self) -> u32 {
        self.updates
    }

    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Returns the index of the first word of the key's entry; the error is the index at which the entry would be
    /// inserted.
    #[inline(always)]
    fn find(&self, key: u64) -> Result<usize, usize> {
        let mut position = self.home(key);
        loop {
            let at = position * self.layout.stride;
            match self.table[at] {
                EMPTY => return Err(at),
                head if self.layout.key(head) == key => return Ok(at),
                _ => position = (position + 1) & self.mask,
            }
        }
    }

    /// Returns the key's entry; creates it if there is none.
    #[inline(always)]
    fn entry(&mut self, key: u64) -> &mut [u64] {
        let stride = self.layout.stride;
        let at = match self.find(key) {
            Ok(at) => at,
            Err(at) => {
                self.table[at..at + stride].fill(0);
                self.table[at] = self.layout.head(key);
                self.len += 1;
                at
            }
        };
        &mut self.table[at..at + stride]
    }

    /// True if an update of the key adds an entry.
    pub fn is_new(&self, key: u64) -> bool {
        self.find(key).is_err()
    }

    /// Algorithm 1: sets the page's bit.
    #[inline(always)]
    pub fn invalidate(&mut self, page: Slot) {
        let (key, word, bit) = self.layout.locate(page);
        self.entry(key)[word] |= bit;
        self.updates += 1;
    }

    /// Algorithm 2: adds one entry with the erase flag and removes the entries of the block's other parts.
    pub fn erase(&mut self, block: BlockId) {
        let key = self.layout.first_key(block);
        for part in 1..u64::from(self.layout.parts) {
            if let Ok(at) = self.find(key + part) {
                self.remove(at / self.layout.stride);
            }
        }
        let head = self.layout.head(key) | self.layout.flag;
        let entry = self.entry(key);
        entry.fill(0);
        entry[0] = head;
        self.updates += 1;
    }

    /// Removes the entry at `hole`, and moves up later entries that could otherwise no longer be found.
    fn remove(&mut self, mut hole: usize) {
        let stride = self.layout.stride;
        let mut position = hole;
        loop {
            position = (position + 1) & self.mask;
            let head = self.table[position * stride];
            if head == EMPTY {
                break;
            }
            let distance = position.wrapping_sub(self.home(self.layout.key(head))) & self.mask;
            if distance >= position.wrapping_sub(hole) & self.mask {
                self.table.copy_within(position * stride..(position + 1) * stride, hole * stride);
                hole = position;
            }
        }
        self.table[hole * stride] = EMPTY;
        self.len -= 1;
    }

    /// Adds the block's invalid pages. Returns true if the block was erased after all older entries.
    pub fn collect_block(&self, block: BlockId, invalid: &mut PageSet) -> bool {
        let first = self.layout.first_key(block);
        let mut is_erased = false;
        for key in first..first + u64::from(self.layout.parts) {
            if let Ok(at) = self.find(key) {
                let entry = &self.table[at..at + self.layout.stride];
                is_erased |= entry[0] & self.layout.flag != 0;
                self.layout.collect(entry, invalid);
            }
        }
        is_erased
    }

    /// Returns the entries, sorted and packed.
    pub fn sorted(&self) -> Vec<u64> {
        let stride = self.layout.stride;
        if stride == 1 {
            let mut entries: Vec<u64> = self.table.iter().copied().filter(|head| *head != EMPTY).collect();
            entries.sort_unstable();
            return entries;
        }
        let mut entries: Vec<&[u64]> = self.table.chunks(stride).filter(|entry| entry[0] != EMPTY).collect();
        entries.sort_unstable_by_key(|entry| entry[0]);
        entries.concat()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.table.fill(EMPTY);
        self.len = 0;
        self.updates = 0;
    }
}
