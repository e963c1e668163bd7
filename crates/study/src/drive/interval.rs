//! Figures that come from rounded counters, with what they may be.

use serde::Serialize;

/// A figure and the bounds that rounding leaves it; no bound above is infinite, and `null` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The figure as the counters stand.
    pub value: f64,
    /// The least that it may be.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Interval {
    /// A figure that is known.
    pub fn exact(value: f64) -> Self {
        Interval { value, low: value, high: value }
    }

    /// A count that may be off by `unit` in either direction, but is not below 0.
    pub fn counted(value: f64, unit: f64) -> Self {
        Interval { value, low: (value - unit).max(0.0), high: value + unit }
    }

    /// This count times a factor that is known and not negative.
    pub fn times(self, factor: f64) -> Self {
        Interval { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// One count over another, neither below 0.
    pub fn over(self, other: Interval) -> Self {
        let divided = |above: f64, below: f64| if below > 0.0 { above / below } else { f64::INFINITY };
        Interval {
            value: divided(self.value, other.value),
            low: self.low / other.high,
            high: divided(self.high, other.low),
        }
    }

    /// Whether the figure is one: a ratio of nothing is none.
    pub fn is_known(&self) -> bool {
        self.value.is_finite() && self.low.is_finite()
    }

    /// Whether `value` is within the bounds.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_worst_roundings() {
        let ratio = Interval::counted(30.0, 1.0).over(Interval::counted(10.0, 1.0));
        assert_eq!(ratio, Interval { value: 3.0, low: 29.0 / 11.0, high: 31.0 / 9.0 });
        assert!(ratio.holds(3.0) && !ratio.holds(2.6));
        let open = Interval::exact(5.0).over(Interval::counted(1.0, 1.0));
        assert_eq!((open.low, open.high), (2.5, f64::INFINITY));
        assert!(open.is_known() && !Interval::exact(1.0).over(Interval::exact(0.0)).is_known());
        assert_eq!(Interval::counted(0.4, 1.0).times(2.0), Interval { value: 0.8, low: 0.0, high: 2.8 });
        assert_eq!(serde_json::to_value(open).unwrap()["high"], serde_json::Value::Null);
    }
}
