//! Figures from rounded counters, with bounds.

use serde::Serialize;

/// Figure with the bounds that rounding implies; an unbounded `high` is infinite, and `null` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Value that the counters show.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// Returns an exactly known figure.
    pub fn exact(value: f64) -> Self {
        Interval { value, low: value, high: value }
    }

    /// Returns a count that may be off by `unit` in either direction, but is not below 0.
    pub fn counted(value: f64, unit: f64) -> Self {
        Interval { value, low: (value - unit).max(0.0), high: value + unit }
    }

    /// Returns the count times a known factor that is not negative.
    pub fn scaled(self, factor: f64) -> Self {
        Interval { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// Returns the ratio of two counts, neither below 0.
    pub fn divided_by(self, other: Interval) -> Self {
        let divided = |above: f64, below: f64| if below > 0.0 { above / below } else { f64::INFINITY };
        Interval {
            value: divided(self.value, other.value),
            low: self.low / other.high,
            high: divided(self.high, other.low),
        }
    }

    /// True if the figure is finite: a ratio with a zero denominator is unknown.
    pub fn is_known(&self) -> bool {
        self.value.is_finite() && self.low.is_finite()
    }

    /// True if `value` is within the bounds.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_cover_worst_case_rounding() {
        let ratio = Interval::counted(30.0, 1.0).divided_by(Interval::counted(10.0, 1.0));
        assert_eq!(ratio, Interval { value: 3.0, low: 29.0 / 11.0, high: 31.0 / 9.0 });
        assert!(ratio.contains(3.0) && !ratio.contains(2.6));
        let open = Interval::exact(5.0).divided_by(Interval::counted(1.0, 1.0));
        assert_eq!((open.low, open.high), (2.5, f64::INFINITY));
        assert!(open.is_known() && !Interval::exact(1.0).divided_by(Interval::exact(0.0)).is_known());
        assert_eq!(Interval::counted(0.4, 1.0).scaled(2.0), Interval { value: 0.8, low: 0.0, high: 2.8 });
        assert_eq!(serde_json::to_value(open).unwrap()["high"], serde_json::Value::Null);
    }
}
