//! IB-FTL, an FTL with its page map in flash.

use super::paged::{BOUNDED_DIRTY_SHARE, DirtyEntries, PagedDesign, PaperDefaults, TranslationDirectory};
use wearwell_base::config::Entry;

/// Page map in flash as a B-tree; log of invalid pages in flash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IbFtl;

impl PagedDesign for IbFtl {
    const ENTRY: Entry = Entry {
        name: "ib_ftl",
        help: "the FTL only: page map in flash as a B-tree, log of invalid pages in flash, few dirty entries, no battery",
        source: "Huang, Chang and Kuo, TODAES 2013; as in Dayan et al., SIGMOD 2016, sec. 5.3 and App. E",
    };
    const PAPER_DEFAULTS: PaperDefaults = PaperDefaults {
        eager: false,
        directory: TranslationDirectory::Tree,
        validity: "log",
        dirty_share: BOUNDED_DIRTY_SHARE,
        durability: DirtyEntries::Synchronised,
        cleans_metadata: true,
        checkpoints: false,
    };
}
