//! BAST, a hybrid FTL.

use super::hybrid::HybridDesign;
use wearwell_base::config::Entry;
use wearwell_engine::ftl::hybrid::HybridKind;

/// BAST: block-associative sector translation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bast;

impl HybridDesign for Bast {
    const ENTRY: Entry = Entry {
        name: "bast",
        help: "the FTL only: a map of blocks; a log block for each logical block that needs one",
        source: "Kim et al., IEEE Trans. Consumer Electronics 48(2), 2002",
    };
    const KIND: HybridKind = HybridKind::Bast;
}
