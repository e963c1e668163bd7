//! µ-FTL, an FTL with its page map in flash.

use super::paged::{DirtyEntries, PagedDesign, PaperDefaults, TranslationDirectory};
use wearwell_base::config::Entry;

/// Page map in flash as a B-tree; validity bitmap in flash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MuFtl;

impl PagedDesign for MuFtl {
    const ENTRY: Entry = Entry {
        name: "mu_ftl",
        help: "the FTL only: page map in flash as a B-tree, validity bitmap in flash, battery",
        source: "Lee, Jung, Kang and Kim, EMSOFT 2008; as in Dayan et al., SIGMOD 2016, sec. 5.3",
    };
    const PAPER_DEFAULTS: PaperDefaults = PaperDefaults {
        eager: true,
        directory: TranslationDirectory::Tree,
        validity: "flash_bitmap",
        dirty_share: 1.0,
        durability: DirtyEntries::Battery,
        cleans_metadata: true,
        checkpoints: false,
    };
}
