//! DFTL, an FTL with its page map in flash.

use super::paged::{DirtyEntries, PagedDesign, PaperDefaults, TranslationDirectory};
use wearwell_base::config::Entry;

/// Page map in flash behind a cache; validity bitmap in RAM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dftl;

impl PagedDesign for Dftl {
    const ENTRY: Entry = Entry {
        name: "dftl",
        help: "the FTL only: page map in flash behind a cache, validity in RAM, battery",
        source: "Gupta, Kim and Urgaonkar, ASPLOS 2009; as in Dayan et al., SIGMOD 2016, sec. 5.3",
    };
    const PAPER_DEFAULTS: PaperDefaults = PaperDefaults {
        eager: true,
        directory: TranslationDirectory::Global,
        validity: "ram_bitmap",
        dirty_share: 1.0,
        durability: DirtyEntries::Battery,
        cleans_metadata: true,
        checkpoints: false,
    };
}
