//! Page numbers of byte addresses.

use std::ops::Range;

/// Size of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    /// Bytes of a page.
    pub bytes: u64,
    /// Binary logarithm of a size that is a power of two: shifting is much faster than dividing.
    shift: Option<u32>,
}

impl PageSize {
    /// Returns a page size of `bytes`, which must not be 0.
    pub fn new(bytes: u64) -> Self {
        assert!(bytes > 0, "pages of 0 bytes");
        PageSize { bytes, shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()) }
    }

    /// Returns the page that holds the byte at `offset_bytes`.
    #[inline]
    pub fn page_of(self, offset_bytes: u64) -> u64 {
        match self.shift {
            Some(shift) => offset_bytes >> shift,
            None => offset_bytes / self.bytes,
        }
    }

    /// Returns the first page that begins at `offset_bytes` or later.
    #[inline]
    pub fn page_from(self, offset_bytes: u64) -> u64 {
        let page = self.page_of(offset_bytes);
        page + u64::from(page * self.bytes != offset_bytes)
    }

    /// Returns all pages that hold a byte of the range.
    #[inline]
    pub fn touched(self, offset_bytes: u64, length_bytes: u64) -> Range<u64> {
        self.page_of(offset_bytes)..self.page_from(offset_bytes.saturating_add(length_bytes))
    }

    /// Returns the pages that are completely in the range; if there are none, the end may be before the start.
    pub fn covered(self, offset_bytes: u64, length_bytes: u64) -> Range<u64> {
        self.page_from(offset_bytes)..self.page_of(offset_bytes.saturating_add(length_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn page_numbers_agree_with_division(bytes in 1u64..10_000, shift in 0u32..40, offset: u64, down in 0u32..64) {
            for bytes in [bytes, 1 << shift] {
                let size = PageSize::new(bytes);
                for offset in [offset, offset >> down, (offset >> down) / bytes * bytes] {
                    prop_assert_eq!(size.page_of(offset), offset / bytes);
                    prop_assert_eq!(size.page_from(offset), offset.div_ceil(bytes));
                }
            }
        }
    }
}
