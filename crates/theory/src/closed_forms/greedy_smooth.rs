//! Greedy cleaning without the steps that finite blocks make.

use super::super::{Drive, TheoryError};
use super::fifo;
use super::lambert::one_plus_w0;

/// Write amplification of greedy cleaning under uniform writes, by the smooth formula of the literature.
///
/// `b / (b + 1 - X)` with `X = 1/2 - b rho W0(-(c / rho) exp(-c / rho))` and `c = 1 + 1 / (2 b)`: Desnoyers, ACM TOS
/// 10(2), 2014. It follows from [`super::greedy`] by taking the sum of `1/k` over the levels that a block passes for
/// the integral half a level further at both ends, and amounts to FIFO at load `rho / c`, divided by `c`.
///
/// The smoothing errs by what the steps amount to, which the invalid pages of an average block, `b S_f`, decide: at the
/// worst (`b S_f` about 1/4) it is 11 % low, from 0.8 on within 5 %, from 3 on within 1 % and from 6 on within 0.4 %,
/// if blocks have at least 16 pages. Smaller blocks fare worse; where the spare space is ample the formula falls below
/// 1, towards `1 / c`.
///
/// No drive is refused.
pub fn greedy_smooth(drive: &Drive) -> Result<f64, TheoryError> {
    let half = 0.5 / f64::from(drive.pages_per_block());
    // c / rho - 1, the branch point's distance, without cancellation.
    let beyond = (drive.spare_factor() + half) / drive.load();
    // (b + 1 - X) / b = c + rho W0, in which c = rho + S_f + half.
    Ok(1.0 / (drive.spare_factor() + half + drive.load() * one_plus_w0(beyond)))
}

/// Write amplification of greedy cleaning under uniform writes as blocks grow without bound: that of FIFO.
///
/// The valid pages of a block of a given age scatter by `sqrt(b)` about a mean of the order of `b`. In large blocks
/// age alone decides, and the oldest block is the one with the fewest valid pages. In the balance of
/// [`super::greedy`] the sum over levels becomes `-ln(1 - E / b)`, and `E / b = -rho ln(1 - E / b)` is the equation of
/// FIFO.
///
/// No drive is refused.
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

    /// Smooth over exact greedy, less 1.
    fn error(pages: u32, invalid: f64) -> f64 {
        let drive = drive(pages, invalid / f64::from(pages));
        greedy_smooth(&drive).unwrap() / greedy(&drive).unwrap() - 1.0
    }

    #[test]
    fn the_formula_solves_its_equation() {
        for (pages, spare_factor) in [(1, 0.3), (16, 0.1), (64, 1e-6), (128, 0.07), (8192, 0.4)] {
            let (b, drive) = (f64::from(pages), drive(pages, spare_factor));
            let host = b / greedy_smooth(&drive).unwrap();
            // The sum of 1/k from half a level above x + 1 = b + 1 - E down to b + 1/2, as an integral.
            let levels = libm::log((b + 0.5) / (b + 0.5 - host));
            assert!((host / (b * drive.load() * levels) - 1.0).abs() < 1e-11, "{drive:?}");
        }
    }

    #[test]
    fn the_error_is_what_the_docstring_says() {
        for pages in [16, 32, 64, 128, 1024] {
            for (from, most) in [(0.0, 0.112), (0.8, 0.05), (3.0, 0.01), (6.0, 0.004)] {
                // Up to a half spare; beyond, small blocks come near the end of their formula.
                let steps =
                    (1..=1000).map(|i| from + (0.5 * f64::from(pages) - from) * f64::from(i) / 1000.0);
                let worst = steps.map(|invalid| error(pages, invalid).abs()).fold(0.0, f64::max);
                assert!(worst < most, "b = {pages}, from {from}: {worst}");
            }
            assert!((error(pages, 0.26) + 0.111).abs() < 0.003);
        }
        assert!(greedy_smooth(&drive(16, 0.999)).unwrap() < 1.0);
    }

    #[test]
    fn large_blocks_make_all_of_them_one() {
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
