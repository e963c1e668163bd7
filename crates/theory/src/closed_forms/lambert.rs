//! Principal branch of Lambert's W near its branch point, where cleaning formulas need it.

use super::excess::{exp_remainder, log_remainder};

/// Maximum number of Newton steps; 3 to 7 are needed.
const MAX_NEWTON_STEPS: usize = 60;

/// Computes `1 + W0(-a exp(-a))` for `a = 1 + excess`, `excess >= 0`: from 0 (`a = 1`) to 1 (`a` to infinity).
///
/// At its branch point, `a = 1`, `W0` is -1, and rounding of the argument destroys half the digits of `W0` and more of
/// `1 + W0`. Taking `a - 1` and returning `1 + W0` keeps every digit.
///
/// With `1 + W0 = 1 - exp(-t)` the definition `W exp(W) = -a exp(-a)` becomes `t - (1 - exp(-t)) = a - 1 - ln a`. The
/// left side is convex and rises. Its root lies below `L + sqrt(2 L)` for the right side `L`, because
/// `ln(1 - y) <= -y - y^2 / 2`. From there Newton's steps fall towards the root and never below it.
pub(super) fn one_plus_w0(excess: f64) -> f64 {
    let level = log_remainder(excess);
    if level == 0.0 {
        return 0.0;
    }
    let mut t = level + (2.0 * level).sqrt();
    for _ in 0..MAX_NEWTON_STEPS {
        let next = t - (exp_remainder(t) - level) / -libm::expm1(-t);
        // The decrease stops at rounding error.
        if next >= t {
            break;
        }
        t = next;
    }
    -libm::expm1(-t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `W exp(W) = -a exp(-a)`, checked where it is well conditioned.
    #[test]
    fn one_plus_w0_satisfies_the_definition() {
        for excess in [0.1, 0.5, 1.0, 3.0, 10.0, 30.0] {
            let w = one_plus_w0(excess) - 1.0;
            let z = -(1.0 + excess) * libm::exp(-1.0 - excess);
            assert!((w * libm::exp(w) - z).abs() < 2e-16, "{excess}: {w}");
        }
    }

    /// `W0(-ln 2 / 2) = -ln 2`, because `W-1` of the same argument is `-2 ln 2`.
    #[test]
    fn one_plus_w0_agrees_with_a_known_value() {
        let two = std::f64::consts::LN_2;
        assert!((one_plus_w0(2.0 * two - 1.0) - (1.0 - two)).abs() < 1e-15);
    }

    /// Corless et al., Adv. Comput. Math. 5 (1996), section 4: both branches expand in `p = sqrt(2 (e z + 1))` with
    /// opposite signs, so 1 + W0 = d - 2/3 d^2 + 4/9 d^3 - 44/135 d^4 + .. for `a = 1 + d`.
    #[test]
    fn branch_point_keeps_full_precision() {
        for d in [1e-3, 1e-4, 1e-6, 1e-9, 1e-15, 1e-100] {
            let series = d * (1.0 - d * (2.0 / 3.0 - d * (4.0 / 9.0 - d * (44.0 / 135.0))));
            assert!((one_plus_w0(d) / series - 1.0).abs() < d * d * d * d + 4e-16, "{d}");
        }
        assert_eq!(one_plus_w0(0.0), 0.0);
        assert_eq!(one_plus_w0(1e6), 1.0);
    }
}
