//! Random selection among blocks with at least one invalid page.

use super::Selection;

/// Random selection among the blocks that are not completely valid: `p_j = m_j / (1 - m_b)` for `j < b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomNotFull;

impl Selection for RandomNotFull {
    fn describe(&self) -> String {
        "random among blocks that are not full".to_owned()
    }

    fn probabilities(&self, masses: &[f64], _: f64, victims: &mut [f64]) {
        let full = masses.len() - 1;
        let not_full: f64 = masses[..full].iter().sum();
        for (victims, mass) in victims.iter_mut().zip(masses) {
            *victims = mass / not_full;
        }
        victims[full] = 0.0;
    }
}
