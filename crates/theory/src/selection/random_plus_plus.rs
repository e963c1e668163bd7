//! Random++: draws until the block has fewer valid pages than the average block.

use super::Selection;

/// Selection law of random++: `p_j = m_j / sum_{l < b rho} m_l` for `j < b rho`, else 0. Van Houdt, SIGMETRICS 2013.
///
/// Strictly fewer: if `b rho` is an integer, blocks with exactly the average are not selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomPlusPlus;

/// Tolerance: `b * rho` computed as `b * (1 - S_f)` may miss an integer by rounding.
const ROUNDING: f64 = 1e-9;

impl Selection for RandomPlusPlus {
    fn describe(&self) -> String {
        "random++".to_owned()
    }

    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]) {
        let below = ((mean_valid_pages - ROUNDING).ceil() as usize).min(masses.len());
        let eligible: f64 = masses[..below].iter().sum();
        victims.fill(0.0);
        for (victims, mass) in victims.iter_mut().zip(&masses[..below]) {
            *victims = mass / eligible;
        }
    }
}
