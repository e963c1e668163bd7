//! Random selection: every block is selected with equal probability.

use super::{LevelContext, Selection};

/// Random selection: `p_j = m_j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random;

impl Selection for Random {
    fn describe(&self) -> String {
        "random".to_owned()
    }

    fn probabilities(&self, masses: &[f64], _: f64, victims: &mut [f64]) {
        victims.copy_from_slice(masses);
    }

    fn is_descending(&self) -> bool {
        true
    }

    fn hazard(&self, _: &LevelContext) -> f64 {
        1.0
    }
}
