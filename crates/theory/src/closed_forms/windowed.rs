//! Windowed greedy cleaning: the victim is the block with the fewest valid pages among the oldest blocks.

use super::super::{Drive, TheoryError};
use super::excess::exp_remainder;

/// Computes the write amplification of windowed greedy cleaning under uniform writes, exact for blocks of finite size.
///
/// The window is the fraction `window_share` (w, 0 to 1) of all blocks that were written longest ago. The victim is the
/// block with the fewest valid pages in the window (Hu et al., SYSTOR 2009). A share of 0 means a window of a fixed
/// number of blocks on a very large drive, which is FIFO; 1 is [`super::greedy`].
///
/// The method is the mean field of the policy, derived here; the paper uses another model. Time is counted in rounds of
/// `N` victims, in which a page is invalidated at the rate `l = E / (b rho)`. Blocks enter the window in the order of
/// writing, one per victim, at the age `1 - w`, with `Binomial(b, exp(-l (1 - w)))` valid pages. In the window a block
/// with `k` valid pages loses one at the rate `l k`. As in [`super::greedy`] there is a threshold `j`: blocks above it
/// are never cleaned, blocks below it are cleaned at once, and blocks on it fill the remainder of the window. If `T_k`
/// of the blocks enter at level `k` or above, `T_k / (l k)` blocks are on level `k > j`. `l` is determined by the
/// condition that an average block has `b S_f` invalid pages.
///
/// The simulator's `windowed_greedy` has a window of `w N` closed blocks; excluding the open block makes a difference
/// of the order `1 / N`.
///
/// Only uniform writes are supported. With classes, the contents of a block on entry depend on the pages copied into
/// it. That is a fixed point over the whole composition of victims and no longer a scalar equation.
///
/// Refuses a `window_share` that is not between 0 and 1.
pub fn windowed(drive: &Drive, window_share: f64) -> Result<f64, TheoryError> {
    if !(0.0..=1.0).contains(&window_share) {
        return Err(TheoryError::parameter("window_share", format!("{window_share} is not between 0 and 1")));
    }
    let target = f64::from(drive.pages_per_block()) * drive.spare_factor();
    // At the upper end the host writes every page of a block: victims are empty.
    let (mut low, mut high) = (0.0, 1.0 / drive.load());
    loop {
        let rate = f64::midpoint(low, high);
        if rate <= low || rate >= high {
            return Ok((1.0 / (high * drive.load())).max(1.0));
        }
        if invalid_pages(drive.pages_per_block(), window_share, rate) < target {
            low = rate
        } else {
            high = rate
        }
    }
}

/// Returns the invalid pages of an average block if valid pages are invalidated at `rate` per round; rises with `rate`.
fn invalid_pages(pages: u32, window_share: f64, rate: f64) -> f64 {
    let b = f64::from(pages);
    let age = rate * (1.0 - window_share);
    // Before the window: the integral of b (1 - exp(-rate t)) over t from 0 to 1 - w.
    let mut invalid = b * exp_remainder(age) / rate;
    let entering = binomial(pages, libm::exp(-age), -libm::expm1(-age));
    let (mut remaining, mut inflow) = (window_share, 0.0);
    for (valid, entering) in (1..=pages).rev().map(f64::from).zip(entering.iter().rev()) {
        inflow += entering;
        let share = f64::min(inflow / (rate * valid), remaining);
        invalid += (b - valid) * share;
        remaining -= share;
        if remaining <= 0.0 {
            return invalid;
        }
    }
    // The remaining blocks have no valid pages left and wait to be cleaned.
    invalid + b * remaining
}

/// Returns the probabilities of 0 to `count` successes of probability `p` each, with `q = 1 - p`.
///
/// Computes ratios of neighbours, outwards from the likeliest number: no factorial overflows, nothing is divided by 0,
/// and values that underflow are negligible.
fn binomial(count: u32, p: f64, q: f64) -> Vec<f64> {
    let n = f64::from(count);
    let mode = ((n + 1.0) * p).min(n) as usize;
    let mut weights = vec![0.0; count as usize + 1];
    weights[mode] = 1.0;
    for k in (0..mode).rev() {
        let above = (k + 1) as f64;
        weights[k] = weights[k + 1] * (above * q) / ((n - above + 1.0) * p);
    }
    for k in mode + 1..weights.len() {
        let successes = k as f64;
        weights[k] = weights[k - 1] * ((n - successes + 1.0) * p) / (successes * q);
    }
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

#[cfg(test)]
mod tests {
    use super::super::super::Classes;
    use super::super::{fifo, greedy};
    use super::*;

    fn drive(pages: u32, spare_factor: f64) -> Drive {
        Drive::new(pages, spare_factor).unwrap()
    }

    const DRIVES: [(u32, f64); 9] = [
        (1, 0.2),
        (2, 0.1),
        (16, 1e-6),
        (16, 0.1),
        (16, 0.6),
        (64, 0.07),
        (64, 0.999),
        (64, 1.0 - 1e-6),
        (8192, 0.1),
    ];

    #[test]
    fn windows_of_0_and_1_are_fifo_and_greedy() {
        for (pages, spare_factor) in DRIVES {
            let drive = drive(pages, spare_factor);
            let ends = [(0.0, fifo(&drive, &Classes::uniform())), (1.0, greedy(&drive))];
            for (window_share, expected) in ends {
                let (found, expected) = (windowed(&drive, window_share).unwrap(), expected.unwrap());
                assert!(
                    (found / expected - 1.0).abs() < 1e-9,
                    "{drive:?}, {window_share}: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn larger_window_is_never_worse() {
        for (pages, spare_factor) in DRIVES {
            let drive = drive(pages, spare_factor);
            let values: Vec<f64> = (0..=20).map(|w| windowed(&drive, f64::from(w) / 20.0).unwrap()).collect();
            assert!(values.is_sorted_by(|a, b| *b <= a * (1.0 + 1e-9)), "{drive:?}: {values:?}");
        }
    }

    /// One page per block: while the window is full of valid pages, pages that enter it invalid or are invalidated in
    /// it are cleaned at once; `E = 1 - exp(-l (1 - w)) + l w` with `l = E / rho`.
    #[test]
    fn one_page_blocks_satisfy_their_equation() {
        for (spare_factor, window_share) in [(0.5, 0.05), (0.1, 0.01), (0.1, 0.3)] {
            let drive = drive(1, spare_factor);
            let host = 1.0 / windowed(&drive, window_share).unwrap();
            let rate = host / drive.load();
            let taken = -libm::expm1(-rate * (1.0 - window_share)) + rate * window_share;
            assert!((host - taken).abs() < 1e-14 && host < 0.99, "{host}, {taken}");
        }
        // A = 1 needs l = 1 / rho and a window larger than the number of pages entering valid, exp(-l (1 - w)) / l < w.
        assert!((windowed(&drive(1, 0.5), 0.5).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn invalid_pages_rise_with_the_rate() {
        for window_share in [0.0, 0.03, 0.4, 0.9, 1.0] {
            let values: Vec<f64> =
                (1..400).map(|i| invalid_pages(16, window_share, f64::from(i) * 0.01)).collect();
            // At w = 1, victims can be full, so a piece of the curve has no invalid pages.
            assert!(values.is_sorted_by(|a, b| a < b || *b == 0.0), "{window_share}");
        }
    }

    #[test]
    fn binomials_agree_with_the_definition() {
        for p in [0.0, 1e-3, 0.3, 0.5, 0.999, 1.0f64] {
            let choose = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0];
            for (k, (found, choose)) in binomial(5, p, 1.0 - p).iter().zip(choose).enumerate() {
                let expected = choose * p.powi(k as i32) * (1.0 - p).powi(5 - k as i32);
                assert!((found - expected).abs() < 1e-14);
            }
        }
        let large = binomial(8192, 0.7, 0.3);
        let mean: f64 = large.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
        assert!((mean / (0.7 * 8192.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn windows_outside_0_to_1_are_refused() {
        for window_share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let refused = windowed(&drive(16, 0.1), window_share).unwrap_err().to_string();
            assert!(refused.starts_with("window_share: "), "{refused}");
        }
    }
}
