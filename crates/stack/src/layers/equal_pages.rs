//! Deduplication in front of an FTL: what it asks of the FTL, and what it is built from.

use super::features::{Features, Used};
use super::spec::LayerSpec;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::{DedupConfig, Detect, Sharing};
use wearwell_engine::forms::EqualPages;
use wearwell_engine::placement::PlacementConfig;

/// Bits of a fingerprint by which no two contents are taken for equal.
const ALL_BITS: u32 = 64;

/// What is in front of an FTL that is built from `spec`; `None` where nothing is.
pub(super) fn of(spec: &LayerSpec) -> Result<Option<EqualPages>, ConfigError> {
    if spec.dedup.is_none() {
        return Ok(None);
    }
    let (config, logical_pages) = (spec.dedup.clone(), spec.logical_pages);
    let sharing = Sharing::new(&config, logical_pages, 0).map_err(|error| error.within("dedup"))?;
    let wants_references = spec.features.has("references");
    Ok(Some(EqualPages { config, logical_pages, wants_references, sharing }))
}

/// Pages that the FTL stores, of which `logical_pages` are shown above where nothing is in front.
pub(super) fn stored_pages(equal: &Option<EqualPages>, logical_pages: u32) -> u32 {
    equal.as_ref().map_or(logical_pages, |equal| equal.sharing.store_pages())
}

/// Adds what `dedup` asks of an FTL that cleans by a policy and places pages; or the setting of both that must be one.
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
        features.add(Used::new("dedup_cleaning", "dedup"));
    }
    Ok(())
}

/// What `dedup` asks of any FTL.
pub(crate) fn features_of(dedup: &DedupConfig) -> Vec<Used> {
    let index = dedup.index();
    let given = [
        (true, "dedup", "dedup"),
        (matches!(dedup.detect(), Detect::Cleaning { .. }), "dedup_cleaning", "dedup"),
        (dedup.map_log_page_records().is_none(), "volatile_map", "dedup.map_log"),
        (index.fingerprint_bits < ALL_BITS && !index.verify, "unverified", "dedup.index.verify"),
    ];
    let given = given.into_iter().filter(|(given, ..)| *given && !dedup.is_none());
    given.map(|(_, feature, key)| Used::new(feature, key)).collect()
}
