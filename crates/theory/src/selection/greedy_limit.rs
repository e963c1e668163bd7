//! Limit of d-choices as the number of draws grows without bound.

use super::{LevelContext, Selection};

/// Limit of d-choices for `d -> infinity`: all victims come from the lowest level that blocks reach.
///
/// With one write frontier this is greedy cleaning. With two frontiers it differs: victims of true greedy depend on how
/// far the internal frontier is filled, which the mean field ignores, and true greedy amplifies about 1 % less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreedyLimit;

impl Selection for GreedyLimit {
    fn describe(&self) -> String {
        "d-choices with d without bound".to_owned()
    }

    /// Assigns all victims to the lowest level that holds a block.
    fn probabilities(&self, masses: &[f64], _: f64, victims: &mut [f64]) {
        victims.fill(0.0);
        if let Some(lowest) = masses.iter().position(|mass| *mass > 0.0) {
            victims[lowest] = 1.0;
        }
    }

    fn is_smooth(&self) -> bool {
        false
    }

    fn is_descending(&self) -> bool {
        true
    }

    fn hazard(&self, level: &LevelContext) -> f64 {
        let remaining = 1.0 - level.above;
        if remaining <= 0.0 || level.is_last && level.entering <= 0.0 {
            return f64::INFINITY;
        }
        if level.is_last {
            return level.entering / remaining;
        }
        if (level.mass_at)(0.0).0 <= remaining {
            return 0.0;
        }
        // Finds the hazard that leaves exactly `remaining` on this level; the mass is a falling convex function of it,
        // so Newton converges from below.
        let mut hazard = 0.0;
        for _ in 0..200 {
            let (mass, slope) = (level.mass_at)(hazard);
            let next = hazard - (mass - remaining) / slope;
            if next - hazard <= 1e-15 * next {
                break;
            }
            hazard = next;
        }
        hazard
    }
}
