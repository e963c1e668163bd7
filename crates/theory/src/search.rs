//! Inverse problems: the parameter with the best write amplification, or with a given one.

use super::error::between;
use super::{Drive, TheoryError};

/// Number of choices with its write amplification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChoiceCount {
    /// Number of choices, `d`.
    pub choices: u32,
    /// Write amplification with `choices`.
    pub write_amplification: f64,
}

/// Maximum number of choices in a scan.
const MAX_CHOICES: u32 = 100_000;

/// Write amplification for every whole `d` from 1 to `max_choices`, and the best of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimalChoices {
    /// Choice with the least write amplification; the smallest `d` if several are equal.
    pub best: ChoiceCount,
    /// All choices, in order of `d`.
    pub scan: Vec<ChoiceCount>,
}

impl OptimalChoices {
    /// True if the best number of choices is the largest one evaluated: a larger number may be better.
    pub fn is_at_scan_limit(&self) -> bool {
        self.scan.last().is_some_and(|last| last.choices == self.best.choices)
    }
}

/// Evaluates every `d` up to `max_choices` (1 to 100,000), because the shape of the curve is not known.
///
/// With one write frontier more choices are always better; with two there is an optimum, typically near ten
/// (Van Houdt 2013, sec. 4.3).
pub fn scan_choices(
    max_choices: u32,
    mut write_amplification: impl FnMut(u32) -> Result<f64, TheoryError>,
) -> Result<OptimalChoices, TheoryError> {
    if max_choices > MAX_CHOICES {
        let problem = format!("{max_choices} is more than {MAX_CHOICES}, which come to the limit of greedy");
        return Err(TheoryError::parameter("max_choices", problem));
    }
    let mut scan = Vec::with_capacity(max_choices as usize);
    for choices in 1..=max_choices {
        scan.push(ChoiceCount { choices, write_amplification: write_amplification(choices)? });
    }
    let best = scan
        .iter()
        .copied()
        .reduce(|best, next| if next.write_amplification < best.write_amplification { next } else { best });
    let best = best.ok_or_else(|| TheoryError::parameter("max_choices", "0 leaves nothing to try"))?;
    Ok(OptimalChoices { best, scan })
}

/// Range of spare factors that [`solve_spare`] searches.
const SPARE_FACTOR_RANGE: (f64, f64) = (1e-4, 1.0 - 1e-4);

/// Relative width of the interval at which the search ends.
const MIN_INTERVAL_WIDTH: f64 = 1e-12;

/// Finds the spare factor with write amplification `target` (above 1), for a model in which write amplification falls
/// as spare space grows.
///
/// Uses regula falsi on logarithms, where the curve of the model is nearly a straight line. The bracket starts at half
/// the spare space that random cleaning needs for the target. The extremes, where models are hardest to solve, are
/// evaluated only if the answer lies there. Refuses targets outside the range of spare factors from 0.0001 to 0.9999.
pub fn solve_spare(
    target: f64,
    pages_per_block: u32,
    mut write_amplification: impl FnMut(Drive) -> Result<f64, TheoryError>,
) -> Result<Drive, TheoryError> {
    between("target_wa", target, 1.0, f64::INFINITY)?;
    let mut at = |spare_factor: f64| write_amplification(Drive::new(pages_per_block, spare_factor)?);
    let [(mut low, most), (mut high, least)] = bracket(target, &mut at)?;
    // Regula falsi (Illinois) on log WA over log S_f; the bracket always contains the root.
    let log = |value: f64| (value / target).ln();
    let (mut excess_low, mut excess_high) = (log(most), log(least));
    if excess_low == 0.0 {
        return Drive::new(pages_per_block, low);
    }
    while high / low - 1.0 > MIN_INTERVAL_WIDTH {
        let share = excess_low / (excess_low - excess_high);
        let middle = (low.ln() + share * (high / low).ln()).exp().clamp(low, high);
        let excess = log(at(middle)?);
        if excess == 0.0 || middle == low || middle == high {
            return Drive::new(pages_per_block, middle);
        }
        if excess > 0.0 {
            (low, excess_low) = (middle, excess);
            excess_high *= 0.5;
        } else {
            (high, excess_high) = (middle, excess);
            excess_low *= 0.5;
        }
    }
    Drive::new(pages_per_block, 0.5 * (low + high))
}

/// Returns spare factors on both sides of `target`, with their write amplifications; the lower spare factor first.
fn bracket(
    target: f64,
    at: &mut impl FnMut(f64) -> Result<f64, TheoryError>,
) -> Result<[(f64, f64); 2], TheoryError> {
    let (smallest, largest) = SPARE_FACTOR_RANGE;
    let outside = |spare_factor: f64, value: f64| {
        let problem = format!(
            "{target} is outside what spare space can give: {value:.4} at a spare factor of {spare_factor}"
        );
        Err(TheoryError::parameter("target_wa", problem))
    };
    let start = (0.5 / target).clamp(smallest, largest);
    let mut low = (start, at(start)?);
    let mut high = low;
    while low.1 < target {
        if low.0 == smallest {
            return outside(low.0, low.1);
        }
        high = low;
        let next = (0.5 * low.0).max(smallest);
        low = (next, at(next)?);
    }
    while high.1 > target {
        if high.0 == largest {
            return outside(high.0, high.1);
        }
        low = high;
        let next = (2.0 * high.0).min(0.5 * (1.0 + high.0)).min(largest);
        high = (next, at(next)?);
    }
    Ok([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Classes;
    use crate::closed_forms::{fifo, greedy, random};

    #[test]
    fn spare_factor_of_target_is_found_or_refused() {
        for target in [1.0002, 1.5, 5.0, 9000.0] {
            let found = solve_spare(target, 32, |drive| random(&drive)).unwrap();
            assert!((found.spare_factor() * target - 1.0).abs() < 1e-9, "{target}: {found:?}");
        }
        for target in [f64::NAN, 0.5, 1.0, 1.00001, 20_000.0, f64::INFINITY] {
            let error = solve_spare(target, 32, |drive| random(&drive)).unwrap_err();
            assert!(error.to_string().starts_with("target_wa: "), "{target}: {error}");
        }
        for target in [1.01, 2.5, 30.0] {
            let found = solve_spare(target, 32, |drive| fifo(&drive, &Classes::uniform())).unwrap();
            assert!((fifo(&found, &Classes::uniform()).unwrap() / target - 1.0).abs() < 1e-9);
            let found = solve_spare(target, 32, |drive| greedy(&drive)).unwrap();
            assert!((greedy(&found).unwrap() / target - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn search_evaluates_only_near_the_answer() {
        let mut least = 1.0f64;
        let mut model = |drive: Drive| {
            least = least.min(drive.spare_factor());
            random(&drive)
        };
        solve_spare(2.5, 32, &mut model).unwrap();
        assert!(least > 0.1, "{least}");
    }

    #[test]
    fn best_choice_is_the_smallest_of_equals() {
        let amplifications: [fn(u32) -> f64; 2] =
            [|d| f64::from(d.abs_diff(7).max(1)), |d| 1.0 / f64::from(d)];
        let [inside, falling] = amplifications.map(|law| scan_choices(20, |d| Ok(law(d))).unwrap());
        assert_eq!((inside.best.choices, inside.is_at_scan_limit()), (6, false));
        assert_eq!((falling.best.choices, falling.is_at_scan_limit()), (20, true));
        assert!(scan_choices(0, |_| Ok(1.0)).is_err());
    }
}
