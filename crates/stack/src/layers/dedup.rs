//! Deduplication in front of an FTL: the features it requires of the FTL, and its construction.

use super::features::{Feature, Features, RequiredFeature};
use super::spec::LayerSpec;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::{DedupConfig, Detect, SharedTables};
use wearwell_engine::instances::DedupPlan;
use wearwell_engine::placement::PlacementConfig;

/// Bits of a fingerprint that distinguishes all contents.
const ALL_BITS: u32 = 64;

/// Returns the deduplication in front of an FTL that is built from `spec`; `None` without deduplication.
pub(super) fn plan(spec: &LayerSpec) -> Result<Option<DedupPlan>, ConfigError> {
    if spec.dedup.is_none() {
        return Ok(None);
    }
    let (config, logical_pages) = (spec.dedup.clone(), spec.logical_pages);
    let sharing = SharedTables::new(&config, logical_pages, 0).map_err(|error| error.within("dedup"))?;
    let wants_references = spec.features.has(Feature::References);
    Ok(Some(DedupPlan { config, logical_pages, needs_references: wants_references, sharing }))
}

/// Returns the number of pages that the FTL stores: without deduplication, the `logical_pages` that it shows above.
pub(super) fn stored_pages(equal: &Option<DedupPlan>, logical_pages: u32) -> u32 {
    equal.as_ref().map_or(logical_pages, |equal| equal.sharing.store_pages())
}

/// Adds the features that `dedup` requires of an FTL with victim and placement policies. Returns an error if `dedup`
/// and `placement` have different thresholds.
pub(super) fn add_features(
    dedup: &DedupConfig,
    placement: &PlacementConfig,
    features: &mut Features,
) -> Result<(), ConfigError> {
    let cold_threshold = placement.reference_threshold();
    if let (Some(dedup_threshold), Some(placement_threshold)) = (dedup.threshold(), cold_threshold)
        && dedup_threshold != placement_threshold
    {
        let problem = format!(
            "is {dedup_threshold}, but the {placement_threshold} of the placement says which pages are cold; they must be equal"
        );
        return Err(ConfigError::new("dedup.threshold", problem));
    }
    if !dedup.is_none() && cold_threshold.is_some() {
        features.add(RequiredFeature::new(Feature::DedupCleaning, "dedup"));
    }
    Ok(())
}

/// Returns the features that `dedup` requires of any FTL.
pub(crate) fn features_of(dedup: &DedupConfig) -> Vec<RequiredFeature> {
    let index = dedup.index();
    let given = [
        (true, Feature::Dedup, "dedup"),
        (matches!(dedup.detect(), Detect::Cleaning { .. }), Feature::DedupCleaning, "dedup"),
        (dedup.map_log_page_records().is_none(), Feature::VolatileMap, "dedup.map_log"),
        (index.fingerprint_bits < ALL_BITS && !index.verify, Feature::Unverified, "dedup.index.verify"),
    ];
    let given = given.into_iter().filter(|(given, ..)| *given && !dedup.is_none());
    given.map(|(_, feature, key)| RequiredFeature::new(feature, key)).collect()
}
