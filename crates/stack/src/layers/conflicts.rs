//! Conflicts between features, each with the physical reason; no other place lists them.
//!
//! A row states that one feature conflicts with some other features; the error names the key of the first. Rows are
//! checked in order.

use super::features::{Feature, Features};
use super::hybrid::Hybrid;
use super::kinds::Kind;
use super::{bast, fast, lsm, objects, pass_through, silt, sparse, zones};
use wearwell_base::config::ConfigError;

pub(crate) const BAST: Feature = kind::<Hybrid<bast::Bast>>();
pub(crate) const FAST: Feature = kind::<Hybrid<fast::Fast>>();
const LSM: Feature = kind::<lsm::Lsm>();
const OBJECTS: Feature = kind::<objects::Objects>();
const PASS_THROUGH: Feature = kind::<pass_through::PassThrough>();
const SILT: Feature = kind::<silt::Silt>();
const SPARSE: Feature = kind::<sparse::Sparse>();
pub(crate) const ZONES: Feature = kind::<zones::Zones>();

/// Returns the feature that a layer of kind `K` is.
const fn kind<K: Kind>() -> Feature {
    Feature::Kind(const { &K::ENTRY })
}

/// Features that one layer cannot have at the same time.
#[derive(Clone, Copy, Debug)]
pub struct FeatureConflict {
    /// The feature that is refused, whose key the error names.
    pub feature: Feature,
    /// The features that conflict with the refused feature.
    pub with: &'static [Feature],
    /// Reason of the conflict.
    pub reason: &'static str,
}

/// Defines a row for a conflict with a block directory, which is exact only under two conditions. A page's block must
/// be the block that was open when the page was last written or moved, and no feature may need the position or the
/// owner of a page.
macro_rules! only_page {
    ($with:ident, $called:literal) => {
        FeatureConflict {
            feature: Feature::BlockDirectory,
            with: &[Feature::$with],
            reason: concat!(
                "block is exact only for placement = \"single\", reclaim = \"in_place\" on flash that does not wear out and holds \
                 no data; the ",
                $called,
                " needs page"
            ),
        }
    };
}

/// All conflicts.
pub static FEATURE_CONFLICTS: &[FeatureConflict] = &[
    FeatureConflict {
        feature: Feature::Dedup,
        with: &[ZONES],
        reason: "means nothing on a zoned drive, which has no map",
    },
    FeatureConflict {
        feature: Feature::DedupCleaning,
        with: &[FAST, BAST],
        reason: "looks at pages while they are moved, and a hybrid FTL moves a page to the place that its number has in its block: one \
                 that is left out is written as padding, and one that is shared cannot go to blocks of its own, so that nothing is \
                 saved; use a kind that looks at pages as they are written, such as inline",
    },
    FeatureConflict {
        feature: Feature::References,
        with: &[Feature::Unshared],
        reason: "needs a drive that stores equal pages once: `ftl.dedup`",
    },
    FeatureConflict {
        feature: Feature::References,
        with: &[ZONES, FAST, BAST],
        reason: "says where pages go that cleaning moves, by how many logical pages share them; a hybrid FTL moves a page to the place \
                 that its number has in its block, and a zoned drive moves none",
    },
    FeatureConflict {
        feature: Feature::PartialCounters,
        with: &[Feature::BitmapInRam],
        reason: "would save nothing beside a bitmap in RAM, from which the valid pages of every block are counted: counters take no RAM \
                 of their own there; keep validity in flash, by `flash_bitmap`, `log` or `gecko`",
    },
    FeatureConflict {
        feature: Feature::PartialCounters,
        with: &[Feature::OwnVictim, Feature::ForeseeingVictim],
        reason: "shows a victim policy only the blocks whose valid pages are known, in a table of their own, and one of the calling \
                 program's, or one that knows the future, goes by the numbers of all blocks",
    },
    FeatureConflict {
        feature: Feature::Power,
        with: &[ZONES],
        reason: "needs an FTL that can be recovered from its flash, and a zoned drive has no map to recover",
    },
    FeatureConflict {
        feature: Feature::Power,
        with: &[Feature::VolatileMap],
        reason: "needs all that was flushed on flash, and a hit, a merge or a trim of a drive that deduplicates changes only the map \
                 above the pages stored; `ftl.dedup.map_log = true` writes that down",
    },
    FeatureConflict {
        feature: Feature::Power,
        with: &[Feature::OwnVictim, Feature::OwnPlacement, Feature::Oracle, Feature::Foresight],
        reason: "needs a victim policy and a placement that can be built anew after a cut; the program's own, the oracle and those that \
                 know the future cannot",
    },
    FeatureConflict {
        feature: Feature::PowerCuts,
        with: &[Feature::HeldData],
        reason: "cuts in the middle of the work know pages by stamps, or by the names of contents, and pages that a calling program \
                 fills have neither; use at_end",
    },
    FeatureConflict {
        feature: Feature::PowerCuts,
        with: &[Feature::Unverified],
        reason: "cuts in the middle of the work are judged by what pages hold, and fingerprints of few bits that nobody verifies corrupt \
                 pages by themselves; use 64 bits, or `verify`",
    },
    FeatureConflict {
        feature: Feature::PowerCuts,
        with: &[Feature::Evict],
        reason: "cuts in the middle of the work are judged by whether all that was acknowledged is still there, and a cache may have \
                 dropped it; leave out `evict`, or cut `at_end`",
    },
    FeatureConflict {
        feature: Feature::Oracle,
        with: &[Feature::UnderLayer, Feature::Sharing],
        reason: "knows how hot the pages of one workload are that has the whole layer; what a layer above or several tenants write \
                 lies elsewhere than they wrote it",
    },
    FeatureConflict {
        feature: Feature::Foresight,
        with: &[Feature::UnderLayer, Feature::Sharing],
        reason: "knows what one workload or trace writes that has the whole layer; what a layer above writes depends on how that cleans, \
                 and whose turn it is of several tenants is not known beforehand",
    },
    FeatureConflict {
        feature: Feature::Foresight,
        with: &[Feature::HeldData],
        reason: "goes by what a workload or trace of the scenario will write; a calling program that fills pages writes as it likes",
    },
    FeatureConflict {
        feature: Feature::Foresight,
        with: &[Feature::Dedup],
        reason: "goes by the writes of the host, and a drive that stores equal pages once does not write them all",
    },
    FeatureConflict {
        feature: Feature::OwnVictim,
        with: &[FAST, BAST],
        reason: "means nothing with a hybrid FTL, which merges log blocks in their order",
    },
    FeatureConflict {
        feature: Feature::OwnVictim,
        with: &[ZONES],
        reason: "means nothing on a zoned drive, which does not clean",
    },
    FeatureConflict {
        feature: Feature::OwnPlacement,
        with: &[FAST, BAST],
        reason: "means nothing with a hybrid FTL, where a page's number says which block it goes to",
    },
    FeatureConflict {
        feature: Feature::OwnPlacement,
        with: &[ZONES],
        reason: "means nothing on a zoned drive, where its user says which zone a page goes to",
    },
    FeatureConflict {
        feature: ZONES,
        with: &[Feature::Tenant],
        reason: "is \"zones\", which a workload cannot write to as it likes; put a log on it",
    },
    FeatureConflict {
        feature: Feature::OnZones,
        with: &[LSM, SILT, PASS_THROUGH, SPARSE, OBJECTS],
        reason: "is a zoned drive, where a log must stand, which writes segments in order and frees them as a whole",
    },
    FeatureConflict {
        feature: Feature::Unaligned,
        with: &[Feature::OnZones],
        reason: "is false; a partition of a zoned drive consists of whole zones",
    },
    FeatureConflict {
        feature: Feature::NoTrim,
        with: &[Feature::OnZones],
        reason: "must be true on a zoned drive: a segment is reset when it is freed",
    },
    FeatureConflict {
        feature: Feature::WearLevelling,
        with: &[ZONES],
        reason: "means nothing on a zoned drive, which moves nothing: which zone is written next is for its user to say",
    },
    FeatureConflict {
        feature: Feature::WearLevelling,
        with: &[Feature::InPlace],
        reason: "needs erased blocks to choose from, and in_place keeps none",
    },
    FeatureConflict {
        feature: Feature::MetadataInPlace,
        with: &[Feature::OnZones],
        reason: "is written in place in an area of its own, and zones are written in order; use a layout that is in the log as a \
                 whole, such as nilfs2",
    },
    FeatureConflict {
        feature: Feature::WeighingBelow,
        with: &[Feature::OnZones],
        reason: "weighs what a trim leaves valid below, and a zoned drive resets zones as a whole, so that nothing is left; use 0, or \
                 d_choices",
    },
    FeatureConflict {
        feature: Feature::Watermarks,
        with: &[Feature::InPlace],
        reason: "means nothing with reclaim = \"in_place\", which keeps no erased blocks",
    },
    FeatureConflict {
        feature: Feature::Deferral,
        with: &[Feature::InPlace],
        reason: "means nothing with in_place, which keeps no erased blocks to live on meanwhile",
    },
    FeatureConflict {
        feature: Feature::Deferral,
        with: &[Feature::Unheard],
        reason: "waits while a log above cleans, and above this layer is none that does: it needs a log or a merge tree that stands \
                 on it; leave it out",
    },
    FeatureConflict {
        feature: Feature::IdleCleaning,
        with: &[Feature::InPlace],
        reason: "means nothing with in_place, which keeps no erased blocks",
    },
    FeatureConflict {
        feature: Feature::InPlace,
        with: &[Feature::MoreStreams],
        reason: "in_place is defined for the single and the double frontier only; use free_pool",
    },
    FeatureConflict {
        feature: Feature::InPlace,
        with: &[Feature::DedupCleaning],
        reason: "is in_place, where live pages go back into the victim; deduplication while cleaning needs \"free_pool\"",
    },
    FeatureConflict {
        feature: Feature::InPlace,
        with: &[Feature::Power],
        reason: "in_place keeps pages in RAM alone while it cleans; use free_pool",
    },
    FeatureConflict {
        feature: Feature::ProgramFailures,
        with: &[Feature::InPlace],
        reason: "needs an erased block to move the pages of a failed one to, and in_place keeps none; use free_pool",
    },
    FeatureConflict {
        feature: Feature::Evict,
        with: &[Feature::InPlace],
        reason: "needs reclaim = \"free_pool\": in_place writes the live pages of a victim back into it",
    },
    FeatureConflict {
        feature: Feature::Evict,
        with: &[Feature::MetadataInLog],
        reason: "needs a log without metadata of its own among its pages, which must not be lost",
    },
    FeatureConflict {
        feature: Feature::Evict,
        with: &[Feature::Dedup],
        reason: "drops live pages, and the map of a drive that deduplicates would refer to them still: all pages that share one would \
                 be lost, and a later write of the same content would count as stored; leave out `evict`, or set it in a log above",
    },
    only_page!(SeparateStreams, "placement"),
    only_page!(FreePool, "reclaim"),
    only_page!(WearsOut, "wear"),
    only_page!(Sharing, "sharing"),
    only_page!(Content, "content"),
    only_page!(Metadata, "metadata"),
    only_page!(Timing, "timing"),
    only_page!(ProgramFailures, "failing flash"),
    only_page!(ReadDisturb, "read disturb"),
    only_page!(WearLevelling, "wear levelling"),
    only_page!(Power, "power"),
    only_page!(ForeseeingVictim, "victim policy that knows the future"),
    FeatureConflict {
        feature: Feature::ReadDisturb,
        with: &[ZONES],
        reason: "means nothing on a zoned drive, which moves nothing: its user reads and rewrites zones",
    },
];

impl Features {
    /// Returns the reason why the power of a drive with these features cannot be cut; `None` if power cuts are
    /// possible.
    pub fn power_cut_conflict(&self) -> Option<&'static str> {
        let row = first_conflict(|feature| feature == Feature::Power || self.has(feature))?;
        Some(row.reason)
    }

    /// Drops optional features that conflict with other features, and refuses conflicts between required features.
    /// Errors name the key of the layer at `layer_key`.
    pub fn check(&mut self, layer_key: &str) -> Result<(), ConfigError> {
        let refused = |feature: Feature| conflict_of(feature, |other| self.has(other));
        let impossible: Vec<Feature> = self
            .0
            .iter()
            .filter(|used| used.optional && refused(used.feature).is_some())
            .map(|used| used.feature)
            .collect();
        self.0.retain(|used| !impossible.contains(&used.feature));
        match first_conflict(|feature| self.has(feature)) {
            Some(refusal) => Err(self.conflict_error(refusal, layer_key)),
            None => Ok(()),
        }
    }

    fn conflict_error(&self, refusal: &FeatureConflict, layer_key: &str) -> ConfigError {
        let used = self.0.iter().find(|used| used.feature == refusal.feature);
        ConfigError::new(used.expect("what is refused is asked for").key(layer_key), refusal.reason)
    }
}

/// Returns the reason why `feature` conflicts with `other`, if that is found before all features are known.
pub(crate) fn conflict_reason(feature: Feature, other: Feature) -> &'static str {
    let row = FEATURE_CONFLICTS.iter().find(|row| row.feature == feature && row.with.contains(&other));
    row.expect("a row of the table").reason
}

/// Returns the first row that applies to the required features.
fn first_conflict(has: impl Fn(Feature) -> bool) -> Option<&'static FeatureConflict> {
    FEATURE_CONFLICTS.iter().find(|row| has(row.feature) && row.with.iter().any(|&other| has(other)))
}

/// Returns the first row of `feature` that applies to the other required features.
fn conflict_of(feature: Feature, has: impl Fn(Feature) -> bool) -> Option<&'static FeatureConflict> {
    FEATURE_CONFLICTS.iter().find(|row| row.feature == feature && row.with.iter().any(|&other| has(other)))
}

/// Returns the first row of the feature named `feature` that conflicts with the feature named `other`.
pub(super) fn between_names(feature: &str, other: &str) -> Option<&'static FeatureConflict> {
    let names_both = |row: &&FeatureConflict| {
        row.feature.name() == feature && row.with.iter().any(|with| with.name() == other)
    };
    FEATURE_CONFLICTS.iter().find(names_both)
}
