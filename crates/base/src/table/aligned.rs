//! A table of fixed length that lies on huge pages from its first value to its last.

use super::advise_huge_pages;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Tables from this size on are given whole huge pages: half of one.
const MIN_LARGE_TABLE_BYTES: usize = 1 << 20;

/// Values in memory that begins and ends on a boundary of huge pages where the table is large.
///
/// The memory of a `Vec` begins anywhere, so that up to 2 MiB at each of its ends are on small pages: a quarter of the
/// map of an 8 GiB drive. A large table takes up to 2 MiB more than its values.
pub struct Table<T> {
    start: NonNull<T>,
    len: usize,
}

impl<T: Copy> Table<T> {
    /// `len` copies of `value`.
    pub fn filled(len: usize, value: T) -> Self {
        let Some(layout) = layout::<T>(len) else { return Table { start: NonNull::dangling(), len } };
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(memory.cast::<T>()) else { handle_alloc_error(layout) };
        if layout.size() >= MIN_LARGE_TABLE_BYTES {
            advise_huge_pages(memory, layout.size());
        }
        // SAFETY: the layout has space for `len` values, at their alignment at least.
        (0..len).for_each(|at| unsafe { start.add(at).write(value) });
        Table { start, len }
    }
}

/// Memory of a table; `None` where it needs none.
fn layout<T>(len: usize) -> Option<Layout> {
    let layout = Layout::array::<T>(len).expect("a table that fits the address space");
    match layout.size() {
        0 => None,
        bytes if bytes < MIN_LARGE_TABLE_BYTES => Some(layout),
        _ => Some(layout.align_to(HUGE_PAGE_BYTES).expect("a power of two").pad_to_align()),
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        if let Some(layout) = layout::<T>(self.len) {
            // SAFETY: `filled` allocated it with the layout of this length. Its values are `Copy` and need no dropping.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `filled` wrote this number of values there, or the values have no size.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; the table owns the values.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: a table owns its values, as a `Vec` does.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: a shared table gives shared references only.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_any_length_hold_their_values() {
        for len in [0, 1, 1000, 3 << 20] {
            let mut table = Table::filled(len, 7u32);
            assert_eq!(table.len(), len);
            table.iter_mut().for_each(|value| *value += 1);
            assert!(table.iter().all(|&value| value == 8));
            let is_large = size_of_val(&*table) >= MIN_LARGE_TABLE_BYTES;
            assert!(!is_large || table.as_ptr().addr().is_multiple_of(HUGE_PAGE_BYTES), "{len}");
        }
        assert_eq!(format!("{:?} {}", Table::filled(2, 5u8), Table::filled(9, ()).len()), "[5, 5] 9");
    }
}
