//! Deduplication in front of an FTL: the features it requires of the FTL, and its construction.

use super::features::{Feature, Features, Used};
use super::spec::LayerSpec;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::{DedupConfig, Detect, Sharing};
use wearwell_engine::forms::EqualPages;
use wearwell_engine::placement::PlacementConfig;

/// Bits of a fingerprint that distinguishes all contents.
const ALL_BITS: u32 = 64;

/// Returns the deduplication in front of an FTL that is built from `spec`; `None` without deduplication.
pub(super) fn of(spec: &LayerSpec) -> Result<Option<EqualPages>, ConfigError> {
    if spec.dedup.is_none() {
        return Ok(None);
    }
    let (config, logical_pages) = (spec.dedup.clone(), spec.logical_pages);
    let sharing = Sharing::new(&config, logical_pages, 0).map_err(|error| error.within("dedup"))?;
    let wants_references = spec.features.has(Feature::References);
    Ok(Some(EqualPages { config, logical_pages, wants_references, sharing }))
}

/// Returns the pages that the FTL stores; `logical_pages` are those shown above without deduplication.
pub(super) fn stored_pages(equal: &Option<EqualPages>, logical_pages: u32) -> u32 {
    equal.as_ref().map_or(logical_pages, |equal| equal.sharing.store_pages())
}

/// Adds the features that `dedup` requires of an FTL with victim and placement policies. Returns an error if a setting
/// that both have differs between them.
pub(super) fn add_features(
    dedup: &DedupConfig,
    placement: &PlacementConfig,
    features: &mut Features,
) -> Result<(), ConfigError> {
    let cold_above = placement.reference_threshold();
    if let (Some(own), Some(theirs)) = (dedup.threshold(), cold_above)
        && own != theirs
    {
        let problem = format!(
            "is {own}, but the {theirs} of the placement says which pages are cold; they must be equal"
        );
        return Err(ConfigError::new("dedup.threshold", problem));
    }
    if !dedup.is_none() && cold_above.is_some() {
        features.add(Used::new(Feature::DedupCleaning, "dedup"));
    }
    Ok(())
}

/// Returns the features that `dedup` requires of any FTL.
pub(crate) fn features_of(dedup: &DedupConfig) -> Vec<Used> {
    let index = dedup.index();
    let given = [
        (true, Feature::Dedup, "dedup"),
        (matches!(dedup.detect(), Detect::Cleaning { .. }), Feature::DedupCleaning, "dedup"),
        (dedup.map_log_page_records().is_none(), Feature::VolatileMap, "dedup.map_log"),
        (index.fingerprint_bits < ALL_BITS && !index.verify, Feature::Unverified, "dedup.index.verify"),
    ];
    let given = given.into_iter().filter(|(given, ..)| *given && !dedup.is_none());
    given.map(|(_, feature, key)| Used::new(feature, key)).collect()
}
