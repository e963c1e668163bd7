//! Statistics for tests: do counts fit a law?

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Pearson's chi-square test of `counts` against `weights`, any multiple of the expected shares. Cells are
/// joined until each expects at least ten. Seeds are fixed, so that a pass stays a pass.
#[track_caller]
pub(super) fn assert_fits(counts: &[u64], weights: &[f64]) {
    assert_eq!(counts.len(), weights.len());
    let total: u64 = counts.iter().sum();
    let scale = total as f64 / weights.iter().sum::<f64>();
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut counted, mut expected) = (0.0, 0.0);
    let mut left = total as f64;
    for (&count, &weight) in counts.iter().zip(weights) {
        assert!(weight > 0.0 || count == 0, "{count} draws of something impossible");
        counted += count as f64;
        expected += weight * scale;
        // The last cell takes all the rest, lest it be too small.
        if expected >= 10.0 && left - expected >= 10.0 {
            statistic += (counted - expected).powi(2) / expected;
            left -= expected;
            cells += 1;
            (counted, expected) = (0.0, 0.0);
        }
    }
    if cells == 0 {
        return;
    }
    statistic += (counted - left).powi(2) / left;
    let tail = ChiSquared::new(f64::from(cells)).unwrap().sf(statistic);
    assert!(tail > 1e-4, "chi-square {statistic} on {cells} degrees of freedom has probability {tail}");
}
