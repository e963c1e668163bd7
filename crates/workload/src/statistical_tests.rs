//! Statistical tests of draws against a distribution.

use super::{PageBatch, WorkloadConfig};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use wearwell_base::seed::Seed;

/// Checks `counts` against `weights` (any multiple of the expected shares) by Pearson's chi-square test.
/// Cells are joined until each expects at least ten. Seeds are fixed, so results are reproducible.
#[track_caller]
pub(super) fn assert_matches_weights(counts: &[u64], weights: &[f64]) {
    assert_eq!(counts.len(), weights.len());
    let total: u64 = counts.iter().sum();
    let scale = total as f64 / weights.iter().sum::<f64>();
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut counted, mut expected) = (0.0, 0.0);
    let mut remaining = total as f64;
    for (&count, &weight) in counts.iter().zip(weights) {
        assert!(weight > 0.0 || count == 0, "{count} draws of something impossible");
        counted += count as f64;
        expected += weight * scale;
        // The last cell takes all remaining weights, so that its expected count is large enough.
        if expected >= 10.0 && remaining - expected >= 10.0 {
            statistic += (counted - expected).powi(2) / expected;
            remaining -= expected;
            cells += 1;
            (counted, expected) = (0.0, 0.0);
        }
    }
    if cells == 0 {
        return;
    }
    statistic += (counted - remaining).powi(2) / remaining;
    let tail = ChiSquared::new(f64::from(cells)).unwrap().sf(statistic);
    assert!(tail > 1e-4, "chi-square {statistic} on {cells} degrees of freedom has probability {tail}");
}

/// Checks that the mean of `samples` is within four and a half standard errors of `mean`.
#[track_caller]
pub(super) fn assert_mean(samples: impl Iterator<Item = f64>, mean: f64, deviation: f64) {
    let (sum, count) = samples.fold((0.0, 0.0), |(sum, count), sample| (sum + sample, count + 1.0));
    let found = sum / count;
    let allowed = 4.5 * deviation / f64::sqrt(count) + 1e-7 * mean.abs();
    assert!((found - mean).abs() <= allowed, "mean {found}, where the law has {mean} and allows {allowed}");
}

/// Draws the first `pages` pages of the workload given as TOML.
#[track_caller]
pub(super) fn draw_pages(config: &str, logical_pages: u32, pages: usize) -> Vec<u32> {
    let config: WorkloadConfig = toml::from_str(config).unwrap();
    let mut batch = PageBatch::default();
    config.build(logical_pages, Seed(11)).unwrap().fill(&mut batch, pages);
    batch.pages.iter().map(|page| page.0).collect()
}
