//! Lower bound on write amplification for a drive with complete knowledge of future writes.

use super::super::{Classes, Drive, TheoryError};

/// Steps of each bisection; enough for full double precision.
const BISECTION_STEPS: usize = 200;

/// Lower bound of an offline (clairvoyant) policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfflineBound {
    /// Lower bound on write amplification for any algorithm.
    pub write_amplification: f64,
    /// Smallest number of spare pages with which a drive that knows all future writes needs no cleaning copies.
    pub needed_pages: f64,
}

/// Computes the lower bound on write amplification for any algorithm, in the limit of large blocks on large drives.
///
/// A page of class `t`, with a fraction `r` of the writes and `f` of the `L` logical pages, lives for more than `l`
/// writes with probability `G(l) = sum r exp(-l r / (f L))`. If a fraction `x` of the host writes is rewritten, the
/// stored versions that await erasure number `integral max(0, G(w^2 (1 + x) / (2 b)) - x) dw` pages on average. Setting
/// this equal to the spare pages gives `x`, and the write amplification is `1 + x`. Above
/// `sqrt(pi b / 2) sum sqrt(r f L)` spare pages no rewrites are needed: see `docs/theory.md`, *With foresight*. A
/// second bound, `b / (s + 1)`, is exact for any drive with less than a block of spare pages `s`.
///
/// Fails if `logical_pages` is not a finite number above 0.
pub fn offline_bound(
    drive: &Drive,
    classes: &Classes,
    logical_pages: f64,
) -> Result<OfflineBound, TheoryError> {
    if !(logical_pages.is_finite() && logical_pages > 0.0) {
        let problem = format!("{logical_pages} is not a finite number above 0");
        return Err(TheoryError::parameter("logical_pages", problem));
    }
    let block = f64::from(drive.pages_per_block());
    let spare_pages = logical_pages * drive.spare_factor() / drive.load();
    // For each class: its fraction of the writes, and the rate at which one of its pages is overwritten.
    let classes: Vec<(f64, f64)> = classes
        .as_slice()
        .iter()
        .map(|class| (class.write_share, class.relative_rate() / logical_pages))
        .collect();
    let waste = |rewrites: f64| {
        let longest = longest_wait(&classes, block, rewrites);
        let scale = |rate: f64| (rate * (1.0 + rewrites) / (2.0 * block)).sqrt();
        let half_root_pi = 0.5 * std::f64::consts::PI.sqrt();
        let waits = |&(share, rate): &(f64, f64)| {
            share * half_root_pi / scale(rate) * libm::erf(scale(rate) * longest)
        };
        let cut = if rewrites > 0.0 { rewrites * longest } else { 0.0 };
        classes.iter().map(waits).sum::<f64>() - cut
    };
    let needed_pages = waste(0.0);
    // The wasted pages decrease from `needed_pages` to 0 as the rewritten fraction rises to 1.
    let rewrites = if spare_pages >= needed_pages {
        0.0
    } else {
        bisect(0.0, 1.0, |rewrites| waste(rewrites) > spare_pages)
    };
    let by_order = block / (spare_pages + 1.0);
    Ok(OfflineBound { write_amplification: (1.0 + rewrites).max(by_order), needed_pages })
}

/// Returns the longest wait of a version: fewer than `rewrites` of the versions live longer.
fn longest_wait(classes: &[(f64, f64)], block: f64, rewrites: f64) -> f64 {
    if rewrites <= 0.0 {
        return f64::INFINITY;
    }
    let survive =
        |life: f64| classes.iter().map(|&(share, rate)| share * libm::exp(-life * rate)).sum::<f64>();
    let slowest = classes.iter().map(|&(_, rate)| rate).fold(f64::INFINITY, f64::min);
    let life = bisect(0.0, -libm::log(rewrites.min(1.0)) / slowest, |life| survive(life) > rewrites);
    (2.0 * block * life / (1.0 + rewrites)).sqrt()
}

/// Finds the point where `is_below`, true at `low`, becomes false.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTION_STEPS {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(pages_per_block: u32, logical_pages: f64, spare_pages: f64) -> Drive {
        Drive::new(pages_per_block, spare_pages / (logical_pages + spare_pages)).unwrap()
    }

    #[test]
    fn needed_pages_of_uniform_writes_grow_with_the_root_of_the_drive() {
        let needed = |pages: f64| {
            offline_bound(&drive(64, pages, 1.0), &Classes::uniform(), pages).unwrap().needed_pages
        };
        assert!((needed(16384.0) - (std::f64::consts::PI * 64.0 * 16384.0 / 2.0).sqrt()).abs() < 1e-6);
        assert!((needed(4.0 * 16384.0) / needed(16384.0) - 2.0).abs() < 1e-9);
        let amplification = |spare| {
            offline_bound(&drive(64, 16384.0, spare), &Classes::uniform(), 16384.0)
                .unwrap()
                .write_amplification
        };
        assert!((amplification(1300.0) - 1.0).abs() < 1e-12);
        assert!(amplification(1200.0) > 1.0 && amplification(1200.0) < 1.05);
        assert!((amplification(7.0) - 8.0).abs() < 1e-9);
        for (spare, less) in [(1000.0, 500.0), (500.0, 200.0), (200.0, 64.0)] {
            assert!(amplification(spare) < amplification(less));
        }
    }

    /// Checks the result against a numerical sum of the integral.
    #[test]
    fn rewrites_use_exactly_the_spare_space() {
        let (pages, spare, block) = (16384.0, 300.0, 64.0);
        let classes = Classes::hot_cold(0.8, 0.2).unwrap();
        let found = offline_bound(&drive(64, pages, spare), &classes, pages).unwrap().write_amplification;
        let rewrites = found - 1.0;
        assert!(rewrites > 0.05);
        let survive = |life: f64| {
            let of =
                |class: &crate::Class| class.write_share * libm::exp(-life * class.relative_rate() / pages);
            classes.as_slice().iter().map(of).sum::<f64>()
        };
        let step = 0.05;
        let waiting = |at: u32| {
            let wait = (f64::from(at) + 0.5) * step;
            (survive(wait * wait * found / (2.0 * block)) - rewrites).max(0.0) * step
        };
        let sum: f64 = (0..400_000).map(waiting).sum();
        assert!((sum - spare).abs() < 0.01, "{sum}");
    }

    #[test]
    fn needed_pages_of_skewed_writes_are_below_uniform() {
        let needed =
            |classes: &Classes| offline_bound(&drive(64, 1e6, 1e4), classes, 1e6).unwrap().needed_pages;
        let hot_cold = needed(&Classes::hot_cold(0.9, 0.1).unwrap());
        // The sum of sqrt(r f) over both classes: 2 * 0.3.
        assert!((hot_cold / needed(&Classes::uniform()) - 0.6).abs() < 1e-12);
        assert!(offline_bound(&drive(64, 1e6, 1e4), &Classes::uniform(), f64::NAN).is_err());
    }
}
