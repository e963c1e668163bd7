//! Sizes of Logarithmic Gecko (sections 3.2 and 3.3).

/// Bits of the key of a Gecko entry, including the erase flag and the part number (section 3.3: "a 32 bits key").
const KEY_BITS: u64 = 32;

/// Returns V: Gecko entries in a page of `page_bytes`. Each has a key and the bits of `pages_per_block` / `partitions`
/// pages (section 3.3; V = 8 P / (key + B) if S is 1). All sizes must be positive.
pub fn entries_per_page(page_bytes: u32, pages_per_block: u32, partitions: u32) -> u64 {
    let bits = KEY_BITS + u64::from(pages_per_block.div_ceil(partitions));
    8 * u64::from(page_bytes) / bits
}

/// Returns L: levels of Logarithmic Gecko, the logarithm of K S / V to the base T, rounded up (section 3.2), at least
/// 1.
///
/// `size_ratio` (T) is 2 or more, `entries` (V) 1 or more.
pub fn levels(size_ratio: u32, entries: u64, blocks: u64, partitions: u32) -> u32 {
    let all = u128::from(blocks) * u128::from(partitions);
    let mut levels = 0;
    let mut covered = u128::from(entries);
    while covered < all {
        covered *= u128::from(size_ratio);
        levels += 1;
    }
    levels.max(1)
}

/// Returns the pages of all runs: twice those of the largest run, 2 K S / V (appendix B; section 3.2,
/// "Space-Amplification").
pub fn gecko_pages(entries: u64, blocks: u64, partitions: u32) -> u64 {
    (2 * blocks * u64::from(partitions)).div_ceil(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_logarithm_rounded_up() {
        for (ratio, entries, blocks, expected) in [
            (2, 16, 16, 1),
            (2, 16, 17, 1),
            (2, 16, 32, 1),
            (2, 16, 33, 2),
            (4, 16, 1024, 3),
            (4, 16, 1025, 4),
        ] {
            assert_eq!(levels(ratio, entries, blocks, 1), expected, "T {ratio}, K {blocks}");
            assert_eq!(levels(ratio, entries, blocks / 2, 2), levels(ratio, entries, blocks / 2 * 2, 1));
        }
        assert_eq!(levels(2, 1, u64::MAX, u32::MAX), 96);
    }

    /// Section 3.3: four parts of a block of 128 pages, each of 32 bits and a key of 32 bits.
    #[test]
    fn partitioned_entries_fit_more_per_page() {
        assert_eq!(entries_per_page(4096, 128, 1), 204);
        assert_eq!(entries_per_page(4096, 128, 4), 512);
        // V no longer depends on B if S grows with it.
        assert_eq!(entries_per_page(4096, 1024, 32), 512);
    }
}
