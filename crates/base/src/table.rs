//! Memory for large tables.

mod aligned;

pub use aligned::Table;

/// Minimum size of a table that requests huge pages: two huge pages, below which there is no benefit.
#[cfg(target_os = "linux")]
const MIN_HUGE_TABLE_BYTES: usize = 4 << 20;

/// The largest page that Linux is built with, a multiple of all other page sizes. This is a constant, because querying
/// the system fails under valgrind.
#[cfg(target_os = "linux")]
const LARGEST_PAGE_BYTES: usize = 64 << 10;

/// Returns `len` copies of `value`, on huge pages if the table is large and the system has them.
///
/// Every access to a table of gigabytes also misses the address-translation cache; 2 MiB pages make random access
/// to 1.4 GiB more than twice as fast. By default, Linux provides them only on request. The request comes before
/// the first write, which allocates the pages.
pub fn filled<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut table = with_capacity(len);
    table.resize(len, value);
    table
}

/// Returns an empty vector with capacity for `len` values, on huge pages as in [`filled`].
pub fn with_capacity<T>(len: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(len);
    request_huge_pages(&mut table);
    table
}

#[cfg(target_os = "linux")]
fn request_huge_pages<T>(table: &mut Vec<T>) {
    let memory = table.spare_capacity_mut();
    let bytes = size_of_val(memory);
    if bytes >= MIN_HUGE_TABLE_BYTES {
        advise_huge_pages(memory.as_mut_ptr().cast(), bytes);
    }
}

/// Requests huge pages for memory of a page and more that the caller has allocated and not yet written.
#[cfg(target_os = "linux")]
fn advise_huge_pages(start: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};
    let skip = start.align_offset(LARGEST_PAGE_BYTES);
    let whole_pages = (bytes - skip) / LARGEST_PAGE_BYTES * LARGEST_PAGE_BYTES;
    // SAFETY: the range lies within the caller's allocation, and this advice changes no content. If the kernel rejects
    // the advice, the pages stay normal pages.
    let _ = unsafe { madvise(start.wrapping_add(skip).cast(), whole_pages, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_start: *mut u8, _bytes: usize) {}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_table: &mut Vec<T>) {}

/// Prefetches the cache line at `address` for writing; any address is allowed.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    #[test]
    fn small_and_large_tables_hold_requested_values() {
        for len in [0, 1, 1000, 3 << 20] {
            let table = super::filled(len, 7u32);
            assert_eq!(table.len(), len);
            assert!(table.iter().all(|&value| value == 7));
        }
    }
}
