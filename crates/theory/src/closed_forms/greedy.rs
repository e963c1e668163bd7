//! Greedy cleaning: the victim is the block with the fewest valid pages.

use super::super::{Drive, TheoryError};

/// Computes the write amplification of greedy cleaning under uniform writes, exact for blocks of finite size.
///
/// A block with `k` valid pages loses one after `b rho / (k E)` rounds of `N` victims. Blocks pass through the levels
/// `b, b - 1, ..` of valid pages. At the lowest level `j` that blocks reach, some blocks are cleaned immediately and
/// the rest wait. All blocks are on some level, which determines the mean valid pages of a victim, `x` with
/// `j = ceil(x)`: `b - x = b rho (1/b + .. + 1/(j + 1) + (j - x)/j)`, linear in `x` for each `j`. Desnoyers (ACM TOS
/// 10(2), 2014) smooths this balance over the levels, see [`super::greedy_smooth`]. It is also the limit, for `d` to
/// infinity, of the model of `d` choices (Van Houdt, SIGMETRICS 2013).
///
/// With finite blocks the write amplification is bounded: as the spare space vanishes, victims still have one invalid
/// page, and the write amplification approaches `b`. Where `rho (1 + 1/2 + .. + 1/b) <= 1`, victims without valid pages
/// never run out and it is 1; blocks of one page always satisfy this.
///
/// Accepts every drive.
pub fn greedy(drive: &Drive) -> Result<f64, TheoryError> {
    let b = f64::from(drive.pages_per_block());
    let invalid = b * drive.spare_factor();
    // With d = b - k pages lost on level k, the sum of (b S_f - d) / (b - d) over the levels passed is 0, counting the
    // last level in part. The terms decrease from S_f, so the sum first rises and then falls.
    let mut balance = 0.0;
    for invalidated in (0..drive.pages_per_block()).map(f64::from) {
        let term = (invalid - invalidated) / (b - invalidated);
        if balance + term < 0.0 {
            return Ok(b / (invalidated - balance / term));
        }
        balance += term;
    }
    Ok(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amplification_at(pages: u32, spare_factor: f64) -> f64 {
        greedy(&Drive::new(pages, spare_factor).unwrap()).unwrap()
    }

    /// Checks the balance equation in the docstring of [`greedy`].
    #[test]
    fn greedy_satisfies_the_balance_equation() {
        for pages in [2, 3, 16, 33, 256, 4096] {
            for spare_factor in [1e-6, 1e-3, 0.02, 0.07, 0.1, 0.25, 0.4] {
                let (b, a) = (f64::from(pages), amplification_at(pages, spare_factor));
                let x = b - b / a;
                if x <= 1e-9 {
                    continue;
                }
                let j = x.ceil();
                let above: f64 = (j as u32 + 1..=pages).map(|k| 1.0 / f64::from(k)).sum();
                let right = b * (1.0 - spare_factor) * (above + (j - x) / j);
                assert!(((b - x) / right - 1.0).abs() < 1e-8, "b = {pages}, S_f = {spare_factor}");
            }
        }
    }

    /// Two pages per block: `x = 2 - 2 / A` lies between 0 and 1, and `2 - x = 2 rho (1/2 + 1 - x)`.
    #[test]
    fn two_page_blocks_match_their_formula() {
        for spare_factor in [1e-9, 0.01, 0.1, 0.3] {
            let load: f64 = 1.0 - spare_factor;
            let x = (3.0 * load - 2.0) / (2.0 * load - 1.0);
            assert!((amplification_at(2, spare_factor) - 2.0 / (2.0 - x)).abs() < 1e-12);
        }
        // rho (1 + 1/2) = 1 at S_f = 1/3.
        assert!((amplification_at(2, 1.0 / 3.0) - 1.0).abs() < 1e-12);
        assert_eq!(amplification_at(2, 0.34), 1.0);
    }

    #[test]
    fn extreme_spare_factors_approach_their_limits() {
        for spare_factor in [1e-6, 0.1, 0.5, 1.0 - 1e-6] {
            assert_eq!(amplification_at(1, spare_factor), 1.0);
        }
        for pages in [2, 16, 8192] {
            assert!((amplification_at(pages, 1e-12) / f64::from(pages) - 1.0).abs() < 1e-7);
            assert_eq!(amplification_at(pages, 1.0 - 1e-6), 1.0);
        }
    }

    #[test]
    fn greedy_falls_with_spare_space_without_jumps() {
        for pages in [1, 2, 7, 64] {
            let values: Vec<f64> =
                (1..1000).map(|i| amplification_at(pages, f64::from(i) / 1000.0)).collect();
            // The first piece, b (1 - b S_f) / rho, ends before S_f = 1/3 and is the steepest.
            let steepest = 2.25 * f64::from(pages * (pages - 1)) / 1000.0;
            let fine = |a: &f64, b: &f64| a - b >= -1e-12 && a - b <= steepest + 1e-12;
            assert!(values.is_sorted_by(fine), "b = {pages}");
        }
    }
}
