//! Conflicts between features, each with the physical reason; no other place lists them.
//!
//! A row states that one feature conflicts with some other features; the error names the key of the first. Rows are
//! checked in order.

/// Features that one layer cannot have at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// The feature that is refused, whose key the error names.
    pub feature: &'static str,
    /// The features that it conflicts with.
    pub with: &'static [&'static str],
    /// Reason of the conflict.
    pub reason: &'static str,
}

/// Defines a row against a block directory. A block directory is exact only under two conditions. A page's block must
/// be the block that was open when the page was last written or moved, and no feature may need the position or the
/// owner of a page.
macro_rules! only_page {
    ($with:literal, $called:literal) => {
        Refusal {
            feature: "block_directory",
            with: &[$with],
            reason: concat!(
                "block is exact only for placement = \"single\", reclaim = \"in_place\" on flash that does not wear out and holds \
                 no data; the ",
                $called,
                " needs page"
            ),
        }
    };
}

/// All rows.
pub static REFUSALS: &[Refusal] = &[
    Refusal {
        feature: "dedup",
        with: &["zones"],
        reason: "means nothing on a zoned drive, which has no map",
    },
    Refusal {
        feature: "dedup_cleaning",
        with: &["fast", "bast"],
        reason: "looks at pages while they are moved, and a hybrid FTL moves a page to the place that its number has in its block: one \
                 that is left out is written as padding, and one that is shared cannot go to blocks of its own, so that nothing is \
                 saved; use a kind that looks at pages as they are written, such as inline",
    },
    Refusal {
        feature: "references",
        with: &["unshared"],
        reason: "needs a drive that stores equal pages once: `ftl.dedup`",
    },
    Refusal {
        feature: "references",
        with: &["zones", "fast", "bast"],
        reason: "says where pages go that cleaning moves, by how many logical pages share them; a hybrid FTL moves a page to the place \
                 that its number has in its block, and a zoned drive moves none",
    },
    Refusal {
        feature: "partial_counters",
        with: &["bitmap_in_ram"],
        reason: "would save nothing beside a bitmap in RAM, from which the valid pages of every block are counted: counters take no RAM \
                 of their own there; keep validity in flash, by `flash_bitmap`, `log` or `gecko`",
    },
    Refusal {
        feature: "partial_counters",
        with: &["own_victim", "foreseeing_victim"],
        reason: "shows a victim policy only the blocks whose valid pages are known, in a table of their own, and one of the calling \
                 program's, or one that knows the future, goes by the numbers of all blocks",
    },
    Refusal {
        feature: "power",
        with: &["zones"],
        reason: "needs an FTL that comes back from its flash, and a zoned drive has no map to come back with",
    },
    Refusal {
        feature: "power",
        with: &["volatile_map"],
        reason: "needs all that was flushed on flash, and a hit, a merge or a trim of a drive that deduplicates changes only the map \
                 above the pages stored; `ftl.dedup.map_log = true` writes that down",
    },
    Refusal {
        feature: "power",
        with: &["own_victim", "own_placement", "oracle", "foresight"],
        reason: "needs a victim policy and a placement that can be built anew after a cut; the program's own, the oracle and those that \
                 know the future cannot",
    },
    Refusal {
        feature: "power_cuts",
        with: &["held_data"],
        reason: "cuts in the middle of the work know pages by stamps, or by the names of contents, and pages that a calling program \
                 fills have neither; use at_end",
    },
    Refusal {
        feature: "power_cuts",
        with: &["unverified"],
        reason: "cuts in the middle of the work are judged by what pages hold, and fingerprints of few bits that nobody verifies corrupt \
                 pages by themselves; use 64 bits, or `verify`",
    },
    Refusal {
        feature: "power_cuts",
        with: &["evict"],
        reason: "cuts in the middle of the work are judged by whether all that was acknowledged is still there, and a cache may have \
                 dropped it; leave out `evict`, or cut `at_end`",
    },
    Refusal {
        feature: "oracle",
        with: &["under_layer", "sharing"],
        reason: "knows how hot the pages of one workload are that has the whole layer; what a layer above or several tenants write \
                 lies elsewhere than they wrote it",
    },
    Refusal {
        feature: "foresight",
        with: &["under_layer", "sharing"],
        reason: "knows what one workload or trace writes that has the whole layer; what a layer above writes depends on how that cleans, \
                 and whose turn it is of several tenants is not known beforehand",
    },
    Refusal {
        feature: "foresight",
        with: &["held_data"],
        reason: "goes by what a workload or trace of the scenario will write; a calling program that fills pages writes as it likes",
    },
    Refusal {
        feature: "foresight",
        with: &["dedup"],
        reason: "goes by the writes of the host, and a drive that stores equal pages once does not write them all",
    },
    Refusal {
        feature: "own_victim",
        with: &["fast", "bast"],
        reason: "means nothing with a hybrid FTL, which merges log blocks in their order",
    },
    Refusal {
        feature: "own_victim",
        with: &["zones"],
        reason: "means nothing on a zoned drive, which does not clean",
    },
    Refusal {
        feature: "own_placement",
        with: &["fast", "bast"],
        reason: "means nothing with a hybrid FTL, where a page's number says which block it goes to",
    },
    Refusal {
        feature: "own_placement",
        with: &["zones"],
        reason: "means nothing on a zoned drive, where its user says which zone a page goes to",
    },
    Refusal {
        feature: "zones",
        with: &["tenant"],
        reason: "is \"zones\", which a workload cannot write to as it likes; put a log on it",
    },
    Refusal {
        feature: "on_zones",
        with: &["lsm", "silt", "pass_through", "sparse", "objects"],
        reason: "is a zoned drive, where a log must stand, which writes segments in order and frees them as a whole",
    },
    Refusal {
        feature: "unaligned",
        with: &["on_zones"],
        reason: "is false; a partition of a zoned drive consists of whole zones",
    },
    Refusal {
        feature: "no_trim",
        with: &["on_zones"],
        reason: "must be true on a zoned drive: a segment is reset when it is freed",
    },
    Refusal {
        feature: "wear_levelling",
        with: &["zones"],
        reason: "means nothing on a zoned drive, which moves nothing: which zone is written next is for its user to say",
    },
    Refusal {
        feature: "wear_levelling",
        with: &["in_place"],
        reason: "needs erased blocks to choose from, and in_place keeps none",
    },
    Refusal {
        feature: "metadata_in_place",
        with: &["on_zones"],
        reason: "is written in place in an area of its own, and zones are written in order; use a layout that is in the log as a \
                 whole, such as nilfs2",
    },
    Refusal {
        feature: "weighing_below",
        with: &["on_zones"],
        reason: "weighs what a trim leaves valid below, and a zoned drive resets zones as a whole, so that nothing is left; use 0, or \
                 d_choices",
    },
    Refusal {
        feature: "watermarks",
        with: &["in_place"],
        reason: "means nothing with reclaim = \"in_place\", which keeps no erased blocks",
    },
    Refusal {
        feature: "deferral",
        with: &["in_place"],
        reason: "means nothing with in_place, which keeps no erased blocks to live on meanwhile",
    },
    Refusal {
        feature: "deferral",
        with: &["unheard"],
        reason: "waits while a log above cleans, and above this layer is none that does: it needs a log or a merge tree that stands \
                 on it; leave it out",
    },
    Refusal {
        feature: "idle_cleaning",
        with: &["in_place"],
        reason: "means nothing with in_place, which keeps no erased blocks",
    },
    Refusal {
        feature: "in_place",
        with: &["more_streams"],
        reason: "in_place is defined for the single and the double frontier only; use free_pool",
    },
    Refusal {
        feature: "in_place",
        with: &["dedup_cleaning"],
        reason: "is in_place, where live pages go back into the victim; deduplication while cleaning needs \"free_pool\"",
    },
    Refusal {
        feature: "in_place",
        with: &["power"],
        reason: "in_place keeps pages in RAM alone while it cleans; use free_pool",
    },
    Refusal {
        feature: "program_failures",
        with: &["in_place"],
        reason: "needs an erased block to move the pages of a failed one to, and in_place keeps none; use free_pool",
    },
    Refusal {
        feature: "evict",
        with: &["in_place"],
        reason: "needs reclaim = \"free_pool\": in_place writes the live pages of a victim back into it",
    },
    Refusal {
        feature: "evict",
        with: &["metadata_in_log"],
        reason: "needs a log without metadata of its own among its pages, which must not be lost",
    },
    Refusal {
        feature: "evict",
        with: &["dedup_cleaning"],
        reason: "drops live pages, which deduplication while cleaning would have to find again",
    },
    only_page!("separate_streams", "placement"),
    only_page!("free_pool", "reclaim"),
    only_page!("wears_out", "wear"),
    only_page!("sharing", "sharing"),
    only_page!("content", "content"),
    only_page!("metadata", "metadata"),
    only_page!("timing", "timing"),
    only_page!("program_failures", "failing flash"),
    only_page!("read_disturb", "read disturb"),
    only_page!("wear_levelling", "wear levelling"),
    only_page!("power", "power"),
    only_page!("foreseeing_victim", "victim policy that knows the future"),
];

/// Returns the reason why `feature` conflicts with `other`, if that is found before all features are known.
pub(crate) fn reason(feature: &str, other: &str) -> &'static str {
    let row = REFUSALS.iter().find(|row| row.feature == feature && row.with.contains(&other));
    row.expect("a row of the table").reason
}

/// Returns the first row that applies to the required features.
pub(super) fn first(has: impl Fn(&str) -> bool) -> Option<&'static Refusal> {
    REFUSALS.iter().find(|row| has(row.feature) && row.with.iter().any(|other| has(other)))
}

/// Returns the first row of `feature` that applies to the other required features.
pub(super) fn between(feature: &str, has: impl Fn(&str) -> bool) -> Option<&'static Refusal> {
    REFUSALS.iter().find(|row| row.feature == feature && row.with.iter().any(|other| has(other)))
}
