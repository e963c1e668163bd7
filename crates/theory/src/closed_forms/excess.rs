//! Remainders of the exponential and the logarithm after their first terms, computed without cancellation.

/// Computes `t - (1 - exp(-t))` for `t >= 0` to full relative precision; about `t^2 / 2` for small `t`.
pub(super) fn exp_remainder(t: f64) -> f64 {
    if t >= 1.0 {
        return t + libm::expm1(-t);
    }
    // t^2/2 - t^3/3! + ..; starts at the last term that matters at t = 1.
    let series = (3..=20).rev().fold(1.0, |sum, n| 1.0 - sum * t / f64::from(n));
    0.5 * t * t * series
}

/// Computes `y - ln(1 + y)` for `y >= 0` to full relative precision; about `y^2 / 2` for small `y`.
pub(super) fn log_remainder(y: f64) -> f64 {
    if y >= 1.0 {
        return y - libm::log1p(y);
    }
    // ln(1 + y) = 2 artanh(s), and y = 2 s / (1 - s), so the first term of the series cancels.
    let s = y / (2.0 + y);
    let series = (1..=17).rev().fold(0.0, |sum, n| (sum * s * s) + 1.0 / f64::from(2 * n + 1));
    2.0 * s * s * (1.0 / (1.0 - s) - s * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_and_functions_agree_at_their_boundary() {
        for (series, direct) in [(0.999_999, 1.0), (0.999_999_999, 1.0)] {
            let step = direct - series;
            // Slopes at 1: 1 - 1/e and 1/2.
            let slope = 1.0 - libm::exp(-1.0);
            assert!((exp_remainder(direct) - exp_remainder(series) - slope * step).abs() < 1e-12);
            assert!((log_remainder(direct) - log_remainder(series) - 0.5 * step).abs() < 1e-12);
        }
    }

    #[test]
    fn small_arguments_keep_full_precision() {
        for t in [1e-3, 1e-6, 1e-12] {
            let exponential = t * t * (1.0 / 2.0 - t / 6.0 + t * t / 24.0 - t * t * t / 120.0);
            let logarithm = t * t * (1.0 / 2.0 - t / 3.0 + t * t / 4.0 - t * t * t / 5.0);
            assert!((exp_remainder(t) / exponential - 1.0).abs() < 1e-14);
            // The next term is t^4 / 6, relatively 3e-13 at t = 1e-3.
            assert!((log_remainder(t) / logarithm - 1.0).abs() < 4e-13);
        }
        assert_eq!((exp_remainder(0.0), log_remainder(0.0)), (0.0, 0.0));
    }

    #[test]
    fn middle_arguments_agree_with_the_plain_formulas() {
        for t in [0.3, 0.5, 0.9, 1.5, 40.0] {
            assert!((exp_remainder(t) / (t - 1.0 + libm::exp(-t)) - 1.0).abs() < 1e-14);
            assert!((log_remainder(t) / (t - libm::log(1.0 + t)) - 1.0).abs() < 1e-14);
        }
    }
}
