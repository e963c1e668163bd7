//! Which blocks are cleaned, as probabilities: the policies of class C (Van Houdt 2013, sec. 2.2).
//!
//! To add one: write `selection/<name>.rs` with a type that implements [`Selection`] and name it here. A policy whose
//! `p_j` depends on blocks with fewer valid pages, too, leaves [`Selection::hazard`] alone and says so by
//! [`Selection::is_descending`]; the solver then finds the hazards together with everything else.

mod d_choices;
mod greedy_limit;
mod law;
mod random;
mod random_not_full;
mod random_plus_plus;

pub use d_choices::DChoices;
pub use greedy_limit::GreedyLimit;
pub use law::Law;
pub use random::Random;
pub use random_not_full::RandomNotFull;
pub use random_plus_plus::RandomPlusPlus;

use super::TheoryError;

/// A policy that knows of a block only how many valid pages it holds, and of the others how many hold how many.
pub trait Selection: Sync {
    /// For messages: the policy and its parameters.
    fn describe(&self) -> String;

    /// `p_j(m)`: shares of the victims by valid pages, from the shares of the blocks, both for `j = 0..=b`.
    ///
    /// `mean_valid_pages` is `b * rho`. The result sums to one wherever `masses` does.
    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]);

    /// False if the law jumps: condition C2 of class C, without which only steady states can be asked for.
    fn is_smooth(&self) -> bool {
        true
    }

    /// Refuses a law that jumps.
    fn check_smooth(&self) -> Result<(), TheoryError> {
        if self.is_smooth() {
            return Ok(());
        }
        let problem = format!("{} is no smooth law; take many choices instead", self.describe());
        Err(TheoryError::parameter("policy", problem))
    }

    /// True if `p_j` depends only on blocks with `j` valid pages and on how many have more.
    fn is_descending(&self) -> bool {
        false
    }

    /// The hazard `p_j / m_j` of a level, when [`Selection::is_descending`]; infinite where no block gets beyond the level.
    fn hazard(&self, level: &Level) -> f64 {
        let _ = level;
        unreachable!("asked of {}, which is not descending", self.describe())
    }
}

/// A level of valid pages on the way down from full blocks.
pub struct Level<'a> {
    /// Share of the blocks with more valid pages.
    pub above: f64,
    /// Blocks that come to this level for each victim.
    pub entering: f64,
    /// True for blocks without valid pages, which wait for selection alone.
    pub is_last: bool,
    /// Share of the blocks at this level, as found last time; 0 if never.
    pub guess: f64,
    /// Share of the blocks at this level if their hazard were the argument, and its derivative.
    pub mass_at: &'a dyn Fn(f64) -> (f64, f64),
}

/// Newton steps for the mass of a level, beyond which the last is taken.
const NEWTON_STEPS: usize = 60;

impl Level<'_> {
    /// The mass at which `mass_at(hazard_of(mass)) = mass`, by Newton's method held between brackets.
    ///
    /// `hazard_of` gives a hazard that does not fall with the mass, and its derivative.
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
            // Newton doubles the digits: after a small step the next would be lost in rounding.
            let is_settled = (next - mass).abs() <= 1e-9 * mass && next == newton;
            mass = next;
            if is_settled {
                break;
            }
        }
        mass
    }
}
