//! GeckoFTL, an FTL with its page map in flash.

use super::paged::{DirtyEntries, PagedDesign, PaperDefaults, TranslationDirectory};
use wearwell_base::config::Entry;

/// Page map in flash; validity in Logarithmic Gecko.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gecko;

impl PagedDesign for Gecko {
    const ENTRY: Entry = Entry {
        name: "gecko",
        help: "the FTL only: page map in flash, Logarithmic Gecko for validity, checkpoints, no battery",
        source: "Dayan, Bonnet and Idreos, SIGMOD 2016",
    };
    const PAPER_DEFAULTS: PaperDefaults = PaperDefaults {
        eager: false,
        directory: TranslationDirectory::Global,
        validity: "gecko",
        dirty_share: 1.0,
        durability: DirtyEntries::Deferred,
        cleans_metadata: false,
        checkpoints: true,
    };
}
