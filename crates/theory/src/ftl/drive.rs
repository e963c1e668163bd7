//! Drive parameters for the model of an FTL.

use super::super::error::{TheoryError, between};
use super::{CounterCoverage, gecko};

/// Bytes of a physical address, of a block number and of a Gecko entry's key (section 2, footnote 3; appendix B).
pub(super) const ADDRESS_BYTES: u64 = 4;

/// Parameters of a drive and its FTL; the letters are those of the paper's figure 2.
///
/// [`Default`] is the paper's default configuration (section 5), 2 TiB, with the partitions of section 3.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FtlSizes {
    /// Erase blocks (K).
    pub blocks: u64,
    /// Pages of a block (B).
    pub pages_per_block: u32,
    /// Bytes of a page (P).
    pub page_bytes: u32,
    /// Logical over physical pages (R).
    pub load: f64,
    /// Entries of the mapping cache (C).
    pub cache_entries: u64,
    /// Size ratio of successive runs in Logarithmic Gecko (T), 2 or more.
    pub size_ratio: u32,
    /// Number of parts of a Gecko entry (S), 1 to B.
    pub partitions: u32,
    /// Blocks whose number of valid pages is in RAM, for FTLs without a bitmap in RAM.
    pub counters: CounterCoverage,
    /// Maximum fraction of dirty cache entries, for FTLs that bound it (section 5.3).
    pub dirty_share: f64,
    /// Time to read a page, microseconds.
    pub read_us: f64,
    /// Time to program a page, microseconds.
    pub program_us: f64,
    /// Time to read a spare area, microseconds.
    pub spare_read_us: f64,
    /// True if a battery saves the contents of RAM; `None` for the published design of the FTL.
    pub battery: Option<bool>,
}

impl Default for FtlSizes {
    fn default() -> Self {
        FtlSizes {
            blocks: 1 << 22,
            pages_per_block: 128,
            page_bytes: 4096,
            load: 0.7,
            cache_entries: 1 << 19,
            size_ratio: 2,
            partitions: FtlSizes::balanced_partitions(128),
            counters: CounterCoverage::Full,
            dirty_share: 0.1,
            read_us: 100.0,
            program_us: 1000.0,
            spare_read_us: 100.0 / 32.0,
            battery: None,
        }
    }
}

impl FtlSizes {
    /// Returns S = B / key for keys of 32 bits, at least 1: as many bits of key as of pages in each part (section 3.3,
    /// "a good balance").
    pub fn balanced_partitions(pages_per_block: u32) -> u32 {
        (pages_per_block / 32).max(1)
    }
}

/// Validated sizes of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FtlDrive {
    sizes: FtlSizes,
}

/// Maximum number of pages of a drive: products of sizes then fit into 64 bits.
const MAX_PAGES: u64 = 1 << 48;

impl FtlDrive {
    /// Validates the sizes; an error names the field of [`FtlSizes`].
    pub fn new(sizes: FtlSizes) -> Result<Self, TheoryError> {
        let check_range = |name: &'static str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(TheoryError::parameter(name, format!("{value} is not between {low} and {high}")))
        };
        let pages_per_block = u64::from(sizes.pages_per_block);
        check_range("pages_per_block", pages_per_block, 1, 1 << 20)?;
        check_range("blocks", sizes.blocks, 1, MAX_PAGES / pages_per_block)?;
        // A page holds at least one unpartitioned Gecko entry, and at least one entry of the log.
        let least = (32 + pages_per_block).div_ceil(8).max(16);
        check_range("page_bytes", u64::from(sizes.page_bytes), least, 1 << 24)?;
        check_range("cache_entries", sizes.cache_entries, 1, MAX_PAGES)?;
        check_range("size_ratio", u64::from(sizes.size_ratio), 2, 1 << 20)?;
        check_range("partitions", u64::from(sizes.partitions), 1, pages_per_block)?;
        between("load", sizes.load, 0.0, 1.0)?;
        if !(sizes.dirty_share > 0.0 && sizes.dirty_share <= 1.0) {
            let problem = format!("{} is not above 0 and at most 1", sizes.dirty_share);
            return Err(TheoryError::parameter("dirty_share", problem));
        }
        if let CounterCoverage::Sampled { share, .. } = sizes.counters
            && !(share > 0.0 && share <= 1.0)
        {
            let problem = format!("{share} is not above 0 and at most 1");
            return Err(TheoryError::parameter("counter_share", problem));
        }
        let (choices, least) = match sizes.counters {
            CounterCoverage::Full => (1, 1),
            CounterCoverage::Sampled { choices, .. } => (choices, 2),
            CounterCoverage::None { choices } => (choices, 1),
        };
        if choices < least {
            return Err(TheoryError::parameter("counter_choices", format!("{choices} is less than {least}")));
        }
        let times = [
            ("read_us", sizes.read_us),
            ("program_us", sizes.program_us),
            ("spare_read_us", sizes.spare_read_us),
        ];
        for (name, time) in times {
            between(name, time, 0.0, 1e9)?;
        }
        Ok(FtlDrive { sizes })
    }

    /// Returns the sizes of the drive.
    pub fn sizes(&self) -> &FtlSizes {
        &self.sizes
    }

    /// Returns the number of erase blocks (K).
    pub fn blocks(&self) -> u64 {
        self.sizes.blocks
    }

    /// Returns the number of physical pages, K B.
    pub fn physical_pages(&self) -> u64 {
        self.sizes.blocks * u64::from(self.sizes.pages_per_block)
    }

    /// Returns the number of logical pages, K B R, rounded down.
    pub fn logical_pages(&self) -> u64 {
        (self.physical_pages() as f64 * self.sizes.load) as u64
    }

    /// Returns the bytes of the table from logical to physical pages: TT = 4 K B R (section 2).
    pub fn table_bytes(&self) -> u64 {
        ADDRESS_BYTES * self.logical_pages()
    }

    /// Returns the number of translation pages, TT / P (section 2).
    pub fn translation_pages(&self) -> u64 {
        self.table_bytes().div_ceil(self.page_bytes())
    }

    /// Returns the bytes of a bitmap with a bit for every page: B K / 8 (section 2, the PVB).
    pub fn bitmap_bytes(&self) -> u64 {
        self.physical_pages().div_ceil(8)
    }

    /// Returns the number of flash pages that a bitmap with a bit for every page takes.
    pub fn bitmap_pages(&self) -> u64 {
        self.bitmap_bytes().div_ceil(self.page_bytes())
    }

    /// Returns the number of pages of IB-FTL's log of invalid pages (appendix E).
    ///
    /// The log has X = 2 D entries; D is the number of physical pages beyond the logical ones. The paper does not give
    /// the size of an entry. Here an entry is an address, a pointer to the block's next entry and a timestamp, of 4
    /// bytes each.
    pub fn log_pages(&self) -> u64 {
        let entries = 2 * (self.physical_pages() - self.logical_pages());
        entries.div_ceil(self.page_bytes() / (3 * ADDRESS_BYTES))
    }

    /// Returns the number of Gecko entries in a page or in the buffer (V).
    pub fn gecko_entries_per_page(&self) -> u64 {
        gecko::entries_per_page(self.sizes.page_bytes, self.sizes.pages_per_block, self.sizes.partitions)
    }

    /// Returns the number of levels of Logarithmic Gecko (L).
    pub fn gecko_levels(&self) -> u32 {
        let sizes = &self.sizes;
        gecko::levels(sizes.size_ratio, self.gecko_entries_per_page(), sizes.blocks, sizes.partitions)
    }

    /// Returns the number of pages of all runs of Logarithmic Gecko in flash.
    pub fn gecko_pages(&self) -> u64 {
        gecko::gecko_pages(self.gecko_entries_per_page(), self.sizes.blocks, self.sizes.partitions)
    }

    /// Returns the maximum number of dirty entries where an FTL bounds them (section 5.3); at least 1.
    pub fn bounded_dirty_entries(&self) -> u64 {
        ((self.sizes.cache_entries as f64 * self.sizes.dirty_share) as u64).max(1)
    }

    /// Returns the time to program a page over the time to read a page (delta).
    pub fn delta(&self) -> f64 {
        self.sizes.program_us / self.sizes.read_us
    }

    pub(super) fn page_bytes(&self) -> u64 {
        u64::from(self.sizes.page_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_sizes_are_refused_by_name() {
        let valid = FtlSizes::default();
        assert!(FtlDrive::new(valid).is_ok());
        let invalid = [
            ("blocks", FtlSizes { blocks: 0, ..valid }),
            ("blocks", FtlSizes { blocks: u64::MAX, ..valid }),
            ("pages_per_block", FtlSizes { pages_per_block: 0, ..valid }),
            ("page_bytes", FtlSizes { page_bytes: 19, ..valid }),
            ("cache_entries", FtlSizes { cache_entries: 0, ..valid }),
            ("size_ratio", FtlSizes { size_ratio: 1, ..valid }),
            ("partitions", FtlSizes { partitions: 129, ..valid }),
            ("load", FtlSizes { load: 1.0, ..valid }),
            ("load", FtlSizes { load: f64::NAN, ..valid }),
            ("dirty_share", FtlSizes { dirty_share: 0.0, ..valid }),
            (
                "counter_share",
                FtlSizes { counters: CounterCoverage::Sampled { share: 0.0, choices: 2 }, ..valid },
            ),
            (
                "counter_choices",
                FtlSizes { counters: CounterCoverage::Sampled { share: 0.1, choices: 1 }, ..valid },
            ),
            ("counter_choices", FtlSizes { counters: CounterCoverage::None { choices: 0 }, ..valid }),
            ("program_us", FtlSizes { program_us: f64::INFINITY, ..valid }),
        ];
        for (name, sizes) in invalid {
            match FtlDrive::new(sizes) {
                Err(TheoryError::Parameter { parameter, .. }) => assert_eq!(parameter, name),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
