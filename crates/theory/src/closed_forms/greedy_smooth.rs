//! Greedy cleaning, smoothed over the discrete levels of valid pages.

use super::super::{Drive, TheoryError};
use super::fifo;
use super::lambert::one_plus_w0;

/// Computes the write amplification of greedy cleaning under uniform writes by the smooth formula of the literature.
///
/// `b / (b + 1 - X)` with `X = 1/2 - b rho W0(-(c / rho) exp(-c / rho))` and `c = 1 + 1 / (2 b)`: Desnoyers, ACM TOS
/// 10(2), 2014. It follows from [`super::greedy`] by replacing the sum of `1/k` over the levels that a block passes
/// with an integral that extends half a level further at both ends. The result equals FIFO at load `rho / c`, divided
/// by `c`.
///
/// The error depends on the invalid pages of an average block, `b S_f`. At the worst (`b S_f` about 1/4) the formula is
/// 11 % low. The error is within 5 % from `b S_f` = 0.8, within 1 % from 3 and within 0.4 % from 6, if blocks have at
/// least 16 pages. Errors are larger for smaller blocks; with ample spare space the formula falls below 1, towards
/// `1 / c`.
///
/// Accepts every drive.
pub fn greedy_smooth(drive: &Drive) -> Result<f64, TheoryError> {
    let half = 0.5 / f64::from(drive.pages_per_block());
    // c / rho - 1, the distance from the branch point, without cancellation.
    let branch_distance = (drive.spare_factor() + half) / drive.load();
    // (b + 1 - X) / b = c + rho W0, where c = rho + S_f + half.
    Ok(1.0 / (drive.spare_factor() + half + drive.load() * one_plus_w0(branch_distance)))
}

/// Computes the write amplification of greedy cleaning under uniform writes for infinitely large blocks, equal to FIFO.
///
/// The valid pages of a block of a given age scatter by `sqrt(b)` about a mean of the order of `b`. In large blocks age
/// alone therefore decides, and the oldest block has the fewest valid pages. In the balance of [`super::greedy`] the
/// sum over levels becomes `-ln(1 - E / b)`, and `E / b = -rho ln(1 - E / b)` is the equation of FIFO.
///
/// Accepts every drive.
pub fn greedy_large_blocks(drive: &Drive) -> Result<f64, TheoryError> {
    Ok(fifo::uniform(drive))
}

#[cfg(test)]
mod tests {
    use super::super::{greedy, greedy_large_blocks, greedy_smooth};
    use super::*;

    fn drive(pages: u32, spare_factor: f64) -> Drive {
        Drive::new(pages, spare_factor).unwrap()
    }

    /// Returns the relative error of the smooth formula against exact greedy.
    fn error(pages: u32, invalid: f64) -> f64 {
        let drive = drive(pages, invalid / f64::from(pages));
        greedy_smooth(&drive).unwrap() / greedy(&drive).unwrap() - 1.0
    }

    #[test]
    fn formula_solves_its_equation() {
        for (pages, spare_factor) in [(1, 0.3), (16, 0.1), (64, 1e-6), (128, 0.07), (8192, 0.4)] {
            let (b, drive) = (f64::from(pages), drive(pages, spare_factor));
            let host = b / greedy_smooth(&drive).unwrap();
            // The sum of 1/k as an integral, from half a level above x + 1 = b + 1 - E to b + 1/2.
            let levels = libm::log((b + 0.5) / (b + 0.5 - host));
            assert!((host / (b * drive.load() * levels) - 1.0).abs() < 1e-11, "{drive:?}");
        }
    }

    #[test]
    fn error_stays_within_the_documented_bounds() {
        for pages in [16, 32, 64, 128, 1024] {
            for (from, max_error) in [(0.0, 0.112), (0.8, 0.05), (3.0, 0.01), (6.0, 0.004)] {
                // Spare factors up to 1/2; beyond, the formula is not valid for small blocks.
                let steps =
                    (1..=1000).map(|i| from + (0.5 * f64::from(pages) - from) * f64::from(i) / 1000.0);
                let worst = steps.map(|invalid| error(pages, invalid).abs()).fold(0.0, f64::max);
                assert!(worst < max_error, "b = {pages}, from {from}: {worst}");
            }
            assert!((error(pages, 0.26) + 0.111).abs() < 0.003);
        }
        assert!(greedy_smooth(&drive(16, 0.999)).unwrap() < 1.0);
    }

    #[test]
    fn exact_and_smooth_approach_the_limit_of_large_blocks() {
        for spare_factor in [0.03, 0.1, 0.3, 0.7] {
            let limit = greedy_large_blocks(&drive(1, spare_factor)).unwrap();
            let differences = [512, 1024, 2048, 4096, 8192].map(|pages| {
                let drive = drive(pages, spare_factor);
                let exact = greedy(&drive).unwrap();
                assert!((greedy_smooth(&drive).unwrap() / exact - 1.0).abs() < 1e-3);
                1.0 - exact / limit
            });
            // The difference is of the order 1 / b.
            assert!(differences.is_sorted_by(|a, b| (0.45..0.55).contains(&(b / a))), "{differences:?}");
        }
    }
}
