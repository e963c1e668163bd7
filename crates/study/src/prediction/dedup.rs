//! Model of drives with deduplication.

use wearwell_engine::dedup::{Detect, Promotion};
use wearwell_stack::HostStore;
use wearwell_stack::layers::Feature;
use wearwell_theory::dedup::{Contents, DedupSteadyState, Detection};
use wearwell_workload::MAX_SINGLES;

/// Features of deduplicating drives that the model covers, in addition to those of every store.
pub const SUPPORTED_FEATURES: &[Feature] = &[
    Feature::Dedup,
    Feature::DedupCleaning,
    Feature::References,
    Feature::MoreStreams,
    Feature::VolatileMap,
];

/// Largest block, in pages, for which the fixed point is computed: it solves the mean field some tens of times.
const MAX_BLOCK_PAGES: u32 = 512;

/// Model parameters for deduplication.
pub struct DedupParameters {
    /// Time at which duplicates are found.
    pub detection: Detection,
    /// Contents that the workload writes.
    pub contents: Contents,
}

/// Returns the parameters for `store`; `None` if it does not deduplicate.
///
/// # Errors
///
/// Returns the reason why no model applies.
pub fn of(store: &HostStore<'_>, pages_per_block: u32) -> Result<Option<DedupParameters>, String> {
    let Some((dedup, content)) = store.dedup.zip(store.content) else { return Ok(None) };
    let index = dedup.index();
    if index.entries.is_some() || index.paged.is_some() {
        return Err("an index that does not hold all fingerprints in RAM is not modelled".into());
    }
    let apart = store.keys.placement.reference_threshold().is_some();
    let detection = match dedup.detect() {
        Detect::Nothing => return Ok(None),
        Detect::EveryPage | Detect::PreHash { .. } => Detection::Writing,
        Detect::Cleaning { threshold: 1, promotion, .. } => {
            Detection::Cleaning { promotes: apart && promotion == Promotion::Now, separates: apart }
        }
        Detect::Cleaning { .. } => return Err("a `dedup.threshold` above 1 is not modelled".into()),
        Detect::Sample => return Err("of `sampled` deduplication there is no model".into()),
    };
    if pages_per_block != store.pages_per_block {
        return Err("equal pages in requests longer than a page are not modelled".into());
    }
    if pages_per_block > MAX_BLOCK_PAGES {
        return Err(format!("equal pages in blocks of more than {MAX_BLOCK_PAGES} pages are not modelled"));
    }
    let popular = content.dedup_ratio - content.same_content_ratio - content.pair_ratio;
    let pool = (f64::from(store.logical_pages) * content.popular_contents).round().max(1.0);
    let contents = Contents {
        same: content.same_content_ratio,
        pairs: content.pair_ratio,
        // Pending contents are replaced by new ones.
        pair_delay: MAX_SINGLES as f64 / ((1.0 - content.dedup_ratio) * f64::from(store.logical_pages)),
        popular: popular.max(0.0),
        popular_contents: pool as u64,
        exponent: content.exponent,
        lifetime: content.popular_lifetime,
        cold_duplicates: content.cold_duplicates,
    };
    Ok(Some(DedupParameters { detection, contents }))
}

/// Describes sharing and its effect in words.
pub fn describe(state: &DedupSteadyState) -> String {
    format!(
        "equal pages: {:.3} logical ones for each stored, {:.3} written ones spared, {:.3} written once more to be apart; the room \
         alone would be worth {:.4}",
        state.sharing, state.saved, state.promoted, state.equivalent_amplification
    )
}
