//! FIFO cleaning: blocks are cleaned in the order in which they were written.

use super::super::{Classes, Drive, TheoryError};
use super::excess::exp_remainder;
use super::lambert::one_plus_w0;

/// Maximum number of Newton steps; fewer than 10 are needed.
const MAX_NEWTON_STEPS: usize = 60;

/// Computes the write amplification of FIFO (cyclic, LRW) cleaning, for blocks of any size.
///
/// All blocks are cleaned in turn. In a round of `N` victims the host writes `v` times as many pages as there are
/// logical pages. A page of a class with a fraction `r` of the writes and `f` of the pages survives the round with
/// probability `exp(-v r / f)`. The host rewrites it with probability `1 - exp(-v r / f)`, which gives
/// `A = sum r / (1 - exp(-r / (A rho f)))` with `A rho v = 1`. Sources: Robinson (Operating Systems Review 30(4), 1996)
/// and Menon (HPDC 1995) for uniform writes, Desnoyers (ACM TOS 10(2), 2014) for classes. Uniform writes have the
/// closed form `A = 1 / (1 + rho W0(-exp(-1 / rho) / rho))`, computed here to full precision for every spare factor.
///
/// The result also holds for a single write frontier, however pages are mixed in blocks: FIFO cleaning only looks at
/// age.
///
/// Fails only if the root is not found; no drive is known for which that happens.
pub fn fifo(drive: &Drive, classes: &Classes) -> Result<f64, TheoryError> {
    if classes.count() == 1 {
        Ok(uniform(drive))
    } else {
        Ok(1.0 / (drive.load() * writes_per_round(drive, classes)?))
    }
}

/// Computes the write amplification as [`fifo`] does, and the fraction of each class among the pages that cleaning
/// copies.
///
/// The fractions are in the order of `classes` and sum to 1. For each host write to a class, cleaning copies
/// `1 / (exp(v r / f) - 1)` of its pages. The fractions remain correct where almost nothing is copied (`S_f` near 1):
/// in the limit all copied pages belong to the coldest class.
///
/// Fails as [`fifo`] does.
pub fn fifo_copied_shares(drive: &Drive, classes: &Classes) -> Result<(f64, Vec<f64>), TheoryError> {
    if classes.count() == 1 {
        return Ok((uniform(drive), vec![1.0]));
    }
    let written = writes_per_round(drive, classes)?;
    let coldest = classes.as_slice().iter().map(|class| class.relative_rate()).fold(f64::INFINITY, f64::min);
    // All weights are scaled by exp(v r / f) of the coldest class, so that none overflows or vanishes.
    let copied = |class: &super::super::Class| {
        let survives = libm::exp(-written * (class.relative_rate() - coldest));
        class.write_share * survives / -libm::expm1(-written * class.relative_rate())
    };
    let weights: Vec<f64> = classes.as_slice().iter().map(copied).collect();
    let sum: f64 = weights.iter().sum();
    Ok((1.0 / (drive.load() * written), weights.iter().map(|weight| weight / sum).collect()))
}

/// Computes the write amplification under uniform writes.
pub(super) fn uniform(drive: &Drive) -> f64 {
    let (spare, load) = (drive.spare_factor(), drive.load());
    // 1 + rho W0 = S_f + rho (1 + W0), which avoids cancellation.
    1.0 / (spare + load * one_plus_w0(spare / load))
}

/// Returns the average number of host writes per logical page while every block is cleaned once: `v = 1 / (A rho)`.
///
/// With `phi(u) = u / (1 - exp(-u))` the equation for A reads `sum f phi(v r / f) = 1 / rho`. `phi` lies between
/// `1 + u / 2` and `1 + u`, so the root lies between `S_f / rho` and twice that. `phi` is convex, so Newton's method
/// falls from the upper end to the root and never below it.
fn writes_per_round(drive: &Drive, classes: &Classes) -> Result<f64, TheoryError> {
    let spare = drive.spare_factor() / drive.load();
    // The search starts slightly above the upper end, because the fractions may not sum to exactly 1.
    let mut written = 2.000_001 * spare;
    for _ in 0..MAX_NEWTON_STEPS {
        let (mut excess, mut slope) = (-spare, 0.0);
        for class in classes.as_slice() {
            let (value, derivative) = phi_minus_one(written * class.relative_rate());
            excess += class.space_share * value;
            slope += class.write_share * derivative;
        }
        let next = written - excess / slope;
        // Newton's method decreases towards the root until only rounding error remains.
        if next >= written {
            return Ok(written);
        }
        written = next;
    }
    Err(TheoryError::NotConverged {
        evaluations: MAX_NEWTON_STEPS,
        residual: written,
        parameters: format!("FIFO of {drive:?} and {classes:?}"),
    })
}

/// Returns `phi(u) - 1` and its derivative, for `phi(u) = u / (1 - exp(-u))`.
fn phi_minus_one(u: f64) -> (f64, f64) {
    if u < 1e-9 {
        return (0.5 * u, 0.5);
    }
    if u > 40.0 {
        return (u - 1.0, 1.0);
    }
    let value = exp_remainder(u) / -libm::expm1(-u);
    // phi' = phi (1 + u - phi) / u, because phi exp(-u) = phi - u.
    (value, (1.0 + value) * (u - value) / u)
}

#[cfg(test)]
mod tests {
    use super::super::super::Class;
    use super::*;

    const SPARE_FACTORS: [f64; 9] = [1e-6, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-6];

    fn drive(spare_factor: f64) -> Drive {
        Drive::new(32, spare_factor).unwrap()
    }

    fn class(write_share: f64, space_share: f64) -> Class {
        Class { write_share, space_share }
    }

    #[test]
    fn uniform_writes_give_published_numbers() {
        let assert_near =
            |value: f64, printed: f64, digits: f64| assert!((value - printed).abs() < digits, "{value}");
        assert_near(fifo(&drive(0.1), &Classes::uniform()).unwrap(), 5.1787, 5e-5);
        // Xiang and Kurkoski (ICNC 2012), abstract: 2.36 where spare space is 0.3 of the logical space.
        assert_near(fifo(&drive(0.3 / 1.3), &Classes::uniform()).unwrap(), 2.36, 5e-3);
    }

    #[test]
    fn equal_classes_match_one_class() {
        let three = Classes::new(&[class(0.2, 0.2), class(0.5, 0.5), class(0.3, 0.3)]).unwrap();
        for spare_factor in SPARE_FACTORS {
            let drive = drive(spare_factor);
            let lambert = fifo(&drive, &Classes::uniform()).unwrap();
            for classes in [&three, &Classes::hot_cold(0.3, 0.3).unwrap()] {
                let (root, shares) = fifo_copied_shares(&drive, classes).unwrap();
                assert!((root / lambert - 1.0).abs() < 1e-13, "{spare_factor}: {root}, not {lambert}");
                for (share, class) in shares.iter().zip(classes.as_slice()) {
                    assert!((share - class.space_share).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn extreme_spare_factors_approach_their_limits() {
        // From 1 - x = exp(-x / rho): x = 2 S_f - (2/3) S_f^2 ..
        let minimal_spare = fifo(&drive(1e-6), &Classes::uniform()).unwrap();
        assert!((minimal_spare * 2e-6 * (1.0 - 1e-6 / 3.0) - 1.0).abs() < 1e-11, "{minimal_spare}");
        let all_spare = fifo(&drive(1.0 - 1e-6), &Classes::uniform()).unwrap();
        assert_eq!(all_spare, 1.0);
    }

    #[test]
    fn fifo_satisfies_the_equation_for_any_classes() {
        let many = [class(0.5, 0.01), class(0.3, 0.09), class(0.19, 0.4), class(0.01, 0.5)];
        let all = [
            Classes::new(&many).unwrap(),
            Classes::hot_cold(0.9, 0.1).unwrap(),
            Classes::hot_cold(0.999_999, 1e-6).unwrap(),
            Classes::hot_cold(1e-9, 0.5).unwrap(),
        ];
        for classes in &all {
            for spare_factor in SPARE_FACTORS {
                let drive = drive(spare_factor);
                let (a, shares) = fifo_copied_shares(&drive, classes).unwrap();
                assert_eq!(fifo(&drive, classes), Ok(a));
                let writes = |class: &Class| {
                    class.write_share / -libm::expm1(-class.relative_rate() / (a * drive.load()))
                };
                let written: f64 = classes.as_slice().iter().map(writes).sum();
                assert!((written / a - 1.0).abs() < 1e-9, "{spare_factor}, {classes:?}: {written}, not {a}");
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for (share, class) in shares.iter().zip(classes.as_slice()) {
                    let copied = writes(class) - class.write_share;
                    assert!((share * (a - 1.0) - copied).abs() < 1e-9 * a, "{spare_factor}, {classes:?}");
                }
            }
        }
    }

    #[test]
    fn copied_shares_follow_the_order_of_the_classes() {
        let drive = drive(0.1);
        let (a, shares) = fifo_copied_shares(&drive, &Classes::hot_cold(0.9, 0.1).unwrap()).unwrap();
        let (b, swapped) = fifo_copied_shares(&drive, &Classes::hot_cold(0.1, 0.9).unwrap()).unwrap();
        assert!((a / b - 1.0).abs() < 1e-14);
        assert!((shares[0] - swapped[1]).abs() < 1e-12);
        assert!(shares[0] < 0.5, "the cold pages are those that are copied");
    }

    #[test]
    fn write_amplification_rises_with_skew() {
        let drive = drive(0.1);
        let mut last = fifo(&drive, &Classes::uniform()).unwrap();
        for hot_writes in [0.3, 0.6, 0.8, 0.9, 0.95] {
            let next = fifo(&drive, &Classes::hot_cold(hot_writes, 0.1).unwrap()).unwrap();
            assert!(next > last);
            last = next;
        }
    }
}
