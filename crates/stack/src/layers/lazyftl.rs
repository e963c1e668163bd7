//! LazyFTL, an FTL with its page map in flash.

use super::paged::{BOUNDED_DIRTY_SHARE, DirtyEntries, PagedDesign, PaperDefaults, TranslationDirectory};
use wearwell_base::config::Entry;

/// Page map in flash; few dirty entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LazyFtl;

impl PagedDesign for LazyFtl {
    const ENTRY: Entry = Entry {
        name: "lazyftl",
        help: "the FTL only: page map in flash, few dirty entries, validity in RAM, no battery",
        source: "Ma, Feng and Li, SIGMOD 2011; as in Dayan et al., SIGMOD 2016, sec. 5.3",
    };
    const PAPER_DEFAULTS: PaperDefaults = PaperDefaults {
        eager: false,
        directory: TranslationDirectory::Global,
        validity: "ram_bitmap",
        dirty_share: BOUNDED_DIRTY_SHARE,
        durability: DirtyEntries::Synchronised,
        cleans_metadata: true,
        checkpoints: false,
    };
}
