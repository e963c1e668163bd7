//! Distributions of values.

use hdrhistogram::Histogram;

use super::report::Distribution;

/// Percentiles that are reported.
pub const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// Values whose distribution is wanted.
pub struct Values {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Values {
    /// Returns a distribution without a value.
    pub fn new() -> Self {
        let histogram = Histogram::new(3).expect("three digits are allowed");
        Values { histogram, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts `value` as often as `times` says.
    #[inline]
    pub fn record(&mut self, value: u64, times: u64) {
        self.histogram.record_n(value, times).expect("the histogram grows as needed");
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Returns the number of values.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the distribution in numbers; `None` without a value.
    pub fn report(&self) -> Option<Distribution> {
        let count = self.len();
        // The histogram names the top of a bucket, which may lie above the greatest value there was.
        let at = |percent| (percent, self.histogram.value_at_percentile(percent).min(self.max));
        (count > 0).then(|| Distribution {
            count,
            min: self.min,
            max: self.max,
            mean: self.sum as f64 / count as f64,
            percentiles: PERCENTILES.into_iter().map(at).collect(),
        })
    }
}
