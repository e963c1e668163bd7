//! Victim policies as probabilities: the policies of class C (Van Houdt 2013, sec. 2.2).
//!
//! To add a policy, write `selection/<name>.rs` with a type that implements [`Selection`] and add it here. If its `p_j`
//! also depends on blocks with fewer valid pages, implement neither [`Selection::hazard`] nor
//! [`Selection::is_descending`]; the solver then finds the hazards together with the other unknowns.

mod custom;
mod d_choices;
mod greedy_limit;
mod random;
mod random_not_full;
mod random_plus_plus;

pub use custom::CustomSelection;
pub use d_choices::DChoices;
pub use greedy_limit::GreedyLimit;
pub use random::Random;
pub use random_not_full::RandomNotFull;
pub use random_plus_plus::RandomPlusPlus;

use super::TheoryError;

/// Policy that depends only on the numbers of valid pages of blocks.
pub trait Selection: Sync {
    /// Returns the policy and its parameters, for messages.
    fn describe(&self) -> String;

    /// Computes `p_j(m)`, the fractions of the victims by valid pages, from the fractions of the blocks, both for
    /// `j = 0..=b`.
    ///
    /// `mean_valid_pages` is `b * rho`. The result sums to 1 if `masses` does.
    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]);

    /// False if the law is discontinuous (violates condition C2 of class C); then only steady states can be computed.
    fn is_smooth(&self) -> bool {
        true
    }

    /// Refuses a discontinuous law.
    fn check_smooth(&self) -> Result<(), TheoryError> {
        if self.is_smooth() {
            return Ok(());
        }
        let problem = format!("{} is no smooth law; take many choices instead", self.describe());
        Err(TheoryError::parameter("policy", problem))
    }

    /// True if `p_j` depends only on blocks with `j` valid pages and on the number of blocks with more.
    fn is_descending(&self) -> bool {
        false
    }

    /// Returns the hazard `p_j / m_j` of a level, if [`Selection::is_descending`]; infinite where all blocks at the
    /// level are selected at once.
    fn hazard(&self, level: &LevelContext) -> f64 {
        let _ = level;
        unreachable!("asked of {}, which is not descending", self.describe())
    }
}

/// Level of valid pages, on the way down from full blocks.
pub struct LevelContext<'a> {
    /// Fraction of the blocks with more valid pages.
    pub above: f64,
    /// Blocks that reach this level, per victim.
    pub entering: f64,
    /// True for blocks without valid pages, which leave the level only by selection.
    pub is_last: bool,
    /// Fraction of the blocks at this level in the previous pass; 0 before the first pass.
    pub guess: f64,
    /// Returns the fraction of the blocks at this level for a given hazard, and its derivative.
    pub mass_at: &'a dyn Fn(f64) -> (f64, f64),
}

/// Maximum number of Newton steps for the mass of a level; the last value is then used.
const NEWTON_STEPS: usize = 60;

impl LevelContext<'_> {
    /// Finds the mass at which `mass_at(hazard_of(mass)) = mass`, by Newton's method within brackets.
    ///
    /// `hazard_of` returns a hazard that does not fall with the mass, and its derivative.
    pub fn solve(&self, hazard_of: &dyn Fn(f64) -> (f64, f64)) -> f64 {
        let mut low = 0.0;
        let mut high = f64::INFINITY;
        let mut mass = if self.guess > 0.0 { self.guess } else { (self.mass_at)(hazard_of(0.01).0).0 };
        for _ in 0..NEWTON_STEPS {
            let (hazard, hazard_slope) = hazard_of(mass);
            let (found, slope) = (self.mass_at)(hazard);
            let excess = found - mass;
            if excess.abs() <= 4.0 * f64::EPSILON * mass {
                break;
            }
            if excess > 0.0 {
                low = mass
            } else {
                high = mass
            }
            let step = excess / (1.0 - slope * hazard_slope);
            let newton = mass + step;
            let next = if newton > low && newton < high {
                newton
            } else if high.is_finite() {
                0.5 * (low + high)
            } else {
                2.0 * mass
            };
            // Newton's method doubles the digits: after a small step, the next step would be below rounding error.
            let is_settled = (next - mass).abs() <= 1e-9 * mass && next == newton;
            mass = next;
            if is_settled {
                break;
            }
        }
        mass
    }
}
