//! FAST, a hybrid FTL.

use super::hybrid::HybridDesign;
use wearwell_base::config::Entry;
use wearwell_engine::ftl::hybrid::HybridKind;

/// FAST: fully associative sector translation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fast;

impl HybridDesign for Fast {
    const ENTRY: Entry = Entry {
        name: "fast",
        help: "the FTL only: a map of blocks; shared log blocks and a sequential one, merged into data blocks",
        source: "Lee et al., ACM TECS 6(3), 2007",
    };
    const KIND: HybridKind = HybridKind::Fast;
}
