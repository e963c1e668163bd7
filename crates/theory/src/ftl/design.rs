//! FTL designs: the three decisions that determine RAM and recovery (section 5.3, "Competing FTLs").

/// Location of the table from logical to physical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLocation {
    /// Whole table in RAM.
    Ram,
    /// Table in flash; a directory in RAM locates each translation page (as in DFTL).
    Directory,
    /// B-tree in flash with its root in RAM.
    BTree,
}

/// Data structure that records valid pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidityStore {
    /// A bit for every page, in RAM (PVB).
    RamBitmap,
    /// A bit for every page, in flash.
    FlashBitmap,
    /// A log of invalid pages in flash, chained by block (appendix E).
    Log,
    /// Logarithmic Gecko (section 3).
    Gecko,
}

/// Handling of dirty mapping entries at a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyEntryPolicy {
    /// A battery supplies power until the dirty entries are in flash.
    Battery,
    /// The number of dirty entries is bounded; recovery finds and writes them before the drive accepts requests.
    Bounded,
    /// Recovery finds the dirty entries, and writes them after the drive accepts requests again (section 4.3).
    Deferred,
    /// Recovery reads the spare areas of all pages (section 2).
    Scan,
}

/// Blocks whose number of valid pages is in RAM, where no bitmap in RAM gives it (section 5.3: "only storing a
/// sample").
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CounterCoverage {
    /// All blocks.
    #[default]
    Full,
    /// A fraction of the blocks. For each victim, `choices` random blocks are drawn and queried, and the counts of
    /// those with the fewest valid pages are kept.
    Sampled {
        /// Fraction of the blocks with counters, above 0 and at most 1.
        share: f64,
        /// Blocks drawn for each victim, 2 or more.
        choices: u32,
    },
    /// No blocks: for each victim, `choices` random blocks are drawn and queried.
    None {
        /// Blocks drawn for each victim, 1 or more.
        choices: u32,
    },
}

impl CounterCoverage {
    /// Returns the maximum number of validity queries per victim. With counters, one of them is for the victim itself;
    /// without counters, the victim is one of the drawn blocks, which are all queried.
    pub fn queries(&self) -> u32 {
        match *self {
            CounterCoverage::Full => 1,
            CounterCoverage::Sampled { choices, .. } => choices + 1,
            CounterCoverage::None { choices } => choices,
        }
    }
}

/// Decisions that make up an FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FtlDesign {
    /// Location of the mapping table.
    pub table: TableLocation,
    /// Data structure that records valid pages.
    pub validity: ValidityStore,
    /// Handling of dirty mapping entries.
    pub dirty: DirtyEntryPolicy,
}

/// FTLs of the paper, and one with the whole table in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ftl {
    /// The whole table in RAM, restored by reading all spare areas.
    Page,
    /// DFTL by Kim, Gupta, Urgaonkar 2013, with a battery, as the paper assumes.
    Dftl,
    /// LazyFTL by Ma, Feng, Li, SIGMOD 2011.
    LazyFtl,
    /// mu-FTL by Lee, Jung, Kang, Kim, EMSOFT 2008.
    MuFtl,
    /// IB-FTL by Huang, Chang, Kuo, TODAES 2013, with the cleaning of appendix E.
    IbFtl,
    /// GeckoFTL by Dayan, Bonnet, Idreos, SIGMOD 2016.
    GeckoFtl,
}

impl Ftl {
    /// All FTLs.
    pub const ALL: [Ftl; 6] = [Ftl::Page, Ftl::Dftl, Ftl::LazyFtl, Ftl::MuFtl, Ftl::IbFtl, Ftl::GeckoFtl];

    fn entry(self) -> (&'static str, &'static str, FtlDesign) {
        let design = |table, validity, dirty| FtlDesign { table, validity, dirty };
        match self {
            Ftl::Page => (
                "page",
                "page map",
                design(TableLocation::Ram, ValidityStore::RamBitmap, DirtyEntryPolicy::Scan),
            ),
            Ftl::Dftl => (
                "dftl",
                "DFTL",
                design(TableLocation::Directory, ValidityStore::RamBitmap, DirtyEntryPolicy::Battery),
            ),
            Ftl::LazyFtl => (
                "lazyftl",
                "LazyFTL",
                design(TableLocation::Directory, ValidityStore::RamBitmap, DirtyEntryPolicy::Bounded),
            ),
            Ftl::MuFtl => (
                "mu_ftl",
                "mu-FTL",
                design(TableLocation::BTree, ValidityStore::FlashBitmap, DirtyEntryPolicy::Battery),
            ),
            Ftl::IbFtl => (
                "ib_ftl",
                "IB-FTL",
                design(TableLocation::BTree, ValidityStore::Log, DirtyEntryPolicy::Bounded),
            ),
            Ftl::GeckoFtl => (
                "geckoftl",
                "GeckoFTL",
                design(TableLocation::Directory, ValidityStore::Gecko, DirtyEntryPolicy::Deferred),
            ),
        }
    }

    /// Returns the identifier of the FTL, for files and other programs.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Returns the name of the FTL, for text that is read by people.
    pub fn title(self) -> &'static str {
        self.entry().1
    }

    /// Returns the published design, or a variant with or without a battery. Without a battery, an FTL that was
    /// published with one must read the spare areas of all pages, because it keeps no record of where dirty entries are
    /// (section 2).
    pub fn design(self, battery: Option<bool>) -> FtlDesign {
        let published = self.entry().2;
        let dirty = match (battery, published.dirty) {
            (Some(true), _) => DirtyEntryPolicy::Battery,
            (Some(false), DirtyEntryPolicy::Battery) => DirtyEntryPolicy::Scan,
            (_, dirty) => dirty,
        };
        FtlDesign { dirty, ..published }
    }
}
