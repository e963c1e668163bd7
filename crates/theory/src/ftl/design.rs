//! The FTLs, each by the three decisions that its RAM and its recovery follow from (section 5.3, "Competing FTLs").

/// Where the table from logical to physical pages is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// In RAM as a whole.
    Ram,
    /// In flash; a directory in RAM tells where each translation page is (DFTL's scheme).
    Directory,
    /// In flash, as a B-tree whose root is in RAM.
    BTree,
}

/// Where is kept which pages are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// A bit for every page, in RAM (PVB).
    RamBitmap,
    /// The same in flash.
    FlashBitmap,
    /// A log of invalid pages in flash, chained by block (appendix E).
    Log,
    /// Logarithmic Gecko (section 3).
    Gecko,
}

/// What becomes of dirty mapping entries when power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dirty {
    /// A battery lasts until they are in flash.
    Battery,
    /// There are few; they are found and written before the drive works again.
    Bounded,
    /// They are found, and written when the drive works again (section 4.3).
    Deferred,
    /// The spare areas of all pages are read (section 2).
    Scan,
}

/// Of which blocks the number of valid pages is in RAM, where it cannot be counted from a bitmap there (section 5.3: "only
/// storing a sample").
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Counters {
    /// Of all.
    #[default]
    Full,
    /// Of a share of them: for each victim so many blocks are drawn at random and asked about, and those with the fewest valid
    /// pages are remembered.
    Sampled {
        /// Share of the blocks that are remembered, above 0 and at most 1.
        share: f64,
        /// Blocks drawn for each victim, 2 or more.
        choices: u32,
    },
    /// Of none: for each victim so many blocks are drawn at random and asked about.
    None {
        /// Blocks drawn, 1 or more.
        choices: u32,
    },
}

impl Counters {
    /// Queries of the validity store for each victim, at most: its own, which is one of those drawn where none is remembered.
    pub fn queries(&self) -> u32 {
        match *self {
            Counters::Full => 1,
            Counters::Sampled { choices, .. } => choices + 1,
            Counters::None { choices } => choices,
        }
    }
}

/// What an FTL is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// Where the table is.
    pub table: Table,
    /// Where is kept which pages are valid.
    pub validity: Validity,
    /// What becomes of dirty mapping entries.
    pub dirty: Dirty,
}

/// The FTLs of the paper, and one whose table is in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ftl {
    /// The whole table in RAM, restored by reading all spare areas.
    Page,
    /// Kim, Gupta, Urgaonkar 2013, as the paper has it: with a battery.
    Dftl,
    /// Ma, Feng, Li, SIGMOD 2011.
    LazyFtl,
    /// Lee, Jung, Kang, Kim, EMSOFT 2008.
    MuFtl,
    /// Huang, Chang, Kuo, TODAES 2013, with the cleaning of appendix E.
    IbFtl,
    /// Dayan, Bonnet, Idreos, SIGMOD 2016.
    GeckoFtl,
}

impl Ftl {
    /// All of them.
    pub const ALL: [Ftl; 6] = [Ftl::Page, Ftl::Dftl, Ftl::LazyFtl, Ftl::MuFtl, Ftl::IbFtl, Ftl::GeckoFtl];

    fn entry(self) -> (&'static str, &'static str, Design) {
        let design = |table, validity, dirty| Design { table, validity, dirty };
        match self {
            Ftl::Page => ("page", "page map", design(Table::Ram, Validity::RamBitmap, Dirty::Scan)),
            Ftl::Dftl => ("dftl", "DFTL", design(Table::Directory, Validity::RamBitmap, Dirty::Battery)),
            Ftl::LazyFtl => {
                ("lazyftl", "LazyFTL", design(Table::Directory, Validity::RamBitmap, Dirty::Bounded))
            }
            Ftl::MuFtl => ("mu_ftl", "mu-FTL", design(Table::BTree, Validity::FlashBitmap, Dirty::Battery)),
            Ftl::IbFtl => ("ib_ftl", "IB-FTL", design(Table::BTree, Validity::Log, Dirty::Bounded)),
            Ftl::GeckoFtl => {
                ("geckoftl", "GeckoFTL", design(Table::Directory, Validity::Gecko, Dirty::Deferred))
            }
        }
    }

    /// Its name where programs read it.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Its name in text.
    pub fn title(self) -> &'static str {
        self.entry().1
    }

    /// As it was published, or with or without a battery. Without one, an FTL that counts on it must read the spare areas of
    /// all pages, as it keeps nothing that would tell where to look (section 2).
    pub fn design(self, battery: Option<bool>) -> Design {
        let published = self.entry().2;
        let dirty = match (battery, published.dirty) {
            (Some(true), _) => Dirty::Battery,
            (Some(false), Dirty::Battery) => Dirty::Scan,
            (_, dirty) => dirty,
        };
        Design { dirty, ..published }
    }
}
