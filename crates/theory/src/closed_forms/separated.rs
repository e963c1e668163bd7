//! Separated classes: each class has its own blocks, and the spare space is divided optimally.

use super::super::{Classes, Drive, TheoryError};
use super::{fifo, greedy, random};

/// Maximum number of sweeps over all pairs of classes; two classes need one, ten about twenty.
const MAX_SWEEPS: usize = 2000;

/// Smallest relative gain of a sweep that justifies another sweep.
const MIN_SWEEP_GAIN: f64 = 1e-13;

/// Limit of `t`: two classes divide their spare space as `exp(t)` to 1, to within `SPLIT_ERROR`.
///
/// The error applies to a division at a kink. A smooth minimum cannot be located better from its values than to the
/// square root of their rounding, about 1e-8; further steps neither help nor harm.
const MAX_SPLIT_EXPONENT: f64 = 30.0;
/// Width of the interval of `t` at which the search ends.
const SPLIT_ERROR: f64 = 1e-13;

/// Cleaning of the blocks of one class.
#[derive(Clone, Copy)]
pub enum ClassCleaning {
    /// FIFO cleaning, [`super::fifo`].
    Fifo,
    /// Greedy cleaning, [`super::greedy`].
    Greedy,
    /// Random cleaning, [`super::random`].
    Random,
}

/// Result for a drive that separates classes.
#[derive(Clone, Debug, PartialEq)]
pub struct SeparatedResult {
    /// Mean write amplification over all classes, weighted by their fractions of the writes.
    pub write_amplification: f64,
    /// Results of the classes, in the given order.
    pub shares: Vec<ClassShare>,
}

/// Spare space and write amplification of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassShare {
    /// Spare factor of the class's own blocks.
    pub spare_factor: f64,
    /// Write amplification of the class.
    pub write_amplification: f64,
    /// Physical pages of the class over all physical pages; the shares sum to 1.
    pub physical_share: f64,
}

/// Computes the least write amplification of a drive that keeps each class in its own blocks.
///
/// A class with a fraction `f` of the logical pages and `p` of the physical ones is a separate drive under uniform
/// writes, with `S = 1 - rho f / p`. The `p` minimise `sum r A(S)`, where `A` is the write amplification by `law`;
/// Desnoyers (ACM TOS 10(2), 2014) shifts spare space between two pools. At the minimum, no pair of classes gains from
/// a new division of its spare space; for convex costs the converse holds too. The spare space of pairs is therefore
/// divided by golden-section search, until a sweep over all pairs gains nothing. The search needs no derivative (greedy
/// has none where levels change).
///
/// # Scope of the bound
///
/// The result is a lower bound for every division of the spare space, if classes never share a block and each is
/// cleaned by `law`. The costs are convex, so divisions that vary in time are no better. With [`ClassCleaning::Greedy`]
/// it bounds any cleaning policy, as far as greedy is optimal under uniform writes, as Hu et al. (SYSTOR 2009) argue.
/// It does not bound drives that mix classes in a block, nor drives that know more than the classes.
///
/// A drive that separates classes but always cleans the block with the fewest valid pages does not reach this division.
/// It brings all classes to about the same load, and costs about as much as uniform writes.
///
/// # Accuracy and cost
///
/// The spare factors are accurate to about 8 digits and the write amplification, which is flat at the minimum, to 12.
/// Two classes take about 150 evaluations of `law`; each sweep over `k` classes takes `75 k (k - 1)`.
///
/// Fails as `law` does, and if the sweeps do not converge.
pub fn separated(
    drive: &Drive,
    classes: &Classes,
    law: ClassCleaning,
) -> Result<SeparatedResult, TheoryError> {
    let pools = ClassPools::new(drive, classes, law);
    let mut spare = pools.initial_division();
    pools.optimize(&mut spare)?;
    let mut shares = Vec::with_capacity(spare.len());
    let mut write_amplification = 0.0;
    for (class, &spare) in spare.iter().enumerate() {
        let of_class = pools.write_amplification(class, spare)?;
        write_amplification += pools.writes[class] * of_class;
        let physical_share = pools.logical[class] + spare;
        let spare_factor = pools.spare_factor(class, spare);
        shares.push(ClassShare { spare_factor, write_amplification: of_class, physical_share });
    }
    Ok(SeparatedResult { write_amplification, shares })
}

/// Writes and logical pages of each class; pages are fractions of all physical pages.
struct ClassPools<'a> {
    drive: &'a Drive,
    law: ClassCleaning,
    writes: Vec<f64>,
    logical: Vec<f64>,
}

impl<'a> ClassPools<'a> {
    fn new(drive: &'a Drive, classes: &Classes, law: ClassCleaning) -> Self {
        let classes = classes.as_slice();
        let writes = classes.iter().map(|class| class.write_share).collect();
        let logical = classes.iter().map(|class| drive.load() * class.space_share).collect();
        ClassPools { drive, law, writes, logical }
    }

    /// Returns spare pages per class that are optimal if `A - 1` equals logical over spare pages, as for random
    /// cleaning.
    fn initial_division(&self) -> Vec<f64> {
        let weights: Vec<f64> = self.writes.iter().zip(&self.logical).map(|(r, c)| (r * c).sqrt()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| self.drive.spare_factor() * (weight / sum)).collect()
    }

    /// Returns the spare factor of a class with `spare` pages; never exactly 0 or 1, which no drive allows.
    fn spare_factor(&self, class: usize, spare: f64) -> f64 {
        (spare / (self.logical[class] + spare)).clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON)
    }

    fn write_amplification(&self, class: usize, spare: f64) -> Result<f64, TheoryError> {
        let class_drive = Drive::new(self.drive.pages_per_block(), self.spare_factor(class, spare))?;
        match self.law {
            ClassCleaning::Fifo => fifo(&class_drive, &Classes::uniform()),
            ClassCleaning::Greedy => greedy(&class_drive),
            ClassCleaning::Random => random(&class_drive),
        }
    }

    /// Returns the contribution of a class to the write amplification of the drive.
    fn cost(&self, class: usize, spare: f64) -> Result<f64, TheoryError> {
        Ok(self.writes[class] * self.write_amplification(class, spare)?)
    }

    /// Divides the spare space until no pair of classes gains from a new division.
    fn optimize(&self, spare: &mut [f64]) -> Result<(), TheoryError> {
        let mut costs =
            spare.iter().enumerate().map(|(class, &e)| self.cost(class, e)).collect::<Result<Vec<_>, _>>()?;
        for _ in 0..MAX_SWEEPS {
            let before: f64 = costs.iter().sum();
            for one in 0..spare.len() {
                for other in one + 1..spare.len() {
                    self.divide_pair(one, other, spare, &mut costs)?;
                }
            }
            let gain = before - costs.iter().sum::<f64>();
            // A single pair converges with its first division.
            if spare.len() <= 2 || gain <= MIN_SWEEP_GAIN * before {
                return Ok(());
            }
        }
        Err(TheoryError::NotConverged {
            evaluations: MAX_SWEEPS,
            residual: MIN_SWEEP_GAIN,
            parameters: format!(
                "separation of {:?}, writes {:?}, pages {:?}",
                self.drive, self.writes, self.logical
            ),
        })
    }

    /// Divides the spare space of two classes again, if that lowers the cost.
    fn divide_pair(
        &self,
        one: usize,
        other: usize,
        spare: &mut [f64],
        costs: &mut [f64],
    ) -> Result<(), TheoryError> {
        let both = spare[one] + spare[other];
        let parts = |t: f64| (both / (1.0 + libm::exp(-t)), both / (1.0 + libm::exp(t)));
        let cost = |t: f64| {
            let (first, second) = parts(t);
            Ok(self.cost(one, first)? + self.cost(other, second)?)
        };
        let (first, second) = parts(golden_section_minimum(-MAX_SPLIT_EXPONENT, MAX_SPLIT_EXPONENT, cost)?);
        let (first_cost, second_cost) = (self.cost(one, first)?, self.cost(other, second)?);
        if first_cost + second_cost < costs[one] + costs[other] {
            (spare[one], spare[other]) = (first, second);
            (costs[one], costs[other]) = (first_cost, second_cost);
        }
        Ok(())
    }
}

/// Returns the minimum between `low` and `high` of `cost`, which first falls and then rises, by golden-section search.
fn golden_section_minimum(
    mut low: f64,
    mut high: f64,
    cost: impl Fn(f64) -> Result<f64, TheoryError>,
) -> Result<f64, TheoryError> {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (cost(left)?, cost(right)?);
    while high - low > SPLIT_ERROR {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = cost(left)?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = cost(right)?;
        }
    }
    Ok(f64::midpoint(low, high))
}

#[cfg(test)]
mod tests;
