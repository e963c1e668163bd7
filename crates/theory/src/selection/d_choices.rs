//! d-choices: the victim is the block with the fewest valid pages of `d` blocks drawn with replacement.

use super::{LevelContext, Selection};
use crate::TheoryError;

/// Selection law of d-choices: `p_j = S_j^d - S_{j+1}^d` with `S_j = m_j + ... + m_b`. Van Houdt (2013), eq. (3).
///
/// `d` need not be an integer: 1.5 lies between one draw and two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DChoices {
    choices: f64,
}

/// Maximum number of choices: at this number the result equals the limit of greedy to all displayed digits.
const MAX_CHOICES: f64 = 1e6;

/// Logarithm of `((S + m) / S)^d` beyond which the smaller power is lost in rounding; the quotient itself may overflow.
const LARGE_GROWTH: f64 = 40.0;

impl DChoices {
    /// Returns the policy that draws a victim from `choices` blocks (d, from 1 to 1,000,000).
    pub fn new(choices: f64) -> Result<Self, TheoryError> {
        if (1.0..=MAX_CHOICES).contains(&choices) {
            return Ok(DChoices { choices });
        }
        let problem =
            format!("{choices:?} is not a number from 1 to {MAX_CHOICES}; more come to the limit of greedy");
        Err(TheoryError::parameter("choices", problem))
    }

    /// Returns the hazard `((S + m)^d - S^d) / m` for `S` blocks above, and its derivative in `m`.
    ///
    /// Uses `expm1` and `log1p`, because the difference of the powers cancels for small `m`.
    fn hazard_of(&self, above: f64, mass: f64) -> (f64, f64) {
        let d = self.choices;
        if mass == 0.0 {
            return (d * above.powf(d - 1.0), 0.5 * d * (d - 1.0) * above.powf(d - 2.0));
        }
        if above <= 0.0 {
            return (mass.powf(d - 1.0), (d - 1.0) * mass.powf(d - 2.0));
        }
        let growth = d * (mass / above).ln_1p();
        if growth > LARGE_GROWTH {
            let power = (above + mass).powf(d - 1.0);
            return (power * (above + mass) / mass, power * (d - (above + mass) / mass) / mass);
        }
        let power = above.powf(d);
        let hazard = power * growth.exp_m1() / mass;
        let slope = d * power * growth.exp() / (above + mass);
        // Where the powers are nearly equal, the quotient of the difference is noise, and the series is accurate
        // enough.
        let small = d * mass / above;
        if small.abs() < 1e-5 {
            return (hazard, 0.5 * d * (d - 1.0) * above.powf(d - 2.0));
        }
        (hazard, (slope - hazard) / mass)
    }
}

impl Selection for DChoices {
    fn describe(&self) -> String {
        format!("d-choices with d = {}", self.choices)
    }

    fn probabilities(&self, masses: &[f64], _: f64, victims: &mut [f64]) {
        let mut above = 0.0;
        // Rounding can leave a level slightly below zero; the selection law continues smoothly there and returns the
        // level to zero.
        for (victims, &mass) in victims.iter_mut().zip(masses).rev() {
            *victims = if mass == 0.0 { 0.0 } else { self.hazard_of(above, mass).0 * mass };
            above += mass;
        }
    }

    fn is_descending(&self) -> bool {
        true
    }

    fn hazard(&self, level: &LevelContext) -> f64 {
        let d = self.choices;
        if d == 1.0 {
            return 1.0;
        }
        if level.is_last {
            let mass = (level.above.powf(d) + level.entering).powf(1.0 / d) - level.above;
            return level.entering / mass;
        }
        let mass = level.solve(&|mass| self.hazard_of(level.above, mass));
        self.hazard_of(level.above, mass).0
    }
}
