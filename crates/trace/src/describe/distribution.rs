//! Distributions of values, of all pages or estimated from a sample.

use hdrhistogram::Histogram;

use super::report::{Distribution, PercentileBounds};
use super::sample::SampleRate;
use super::sampling_error::{GroupCounts, GroupHistogram};

/// Percentiles that are reported.
const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// Width, in standard errors, of the 95 % interval of a normal distribution on either side of an estimate.
pub const NORMAL_95: f64 = 1.96;

/// Values whose distribution is computed.
pub struct ValueHistogram {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
    /// Values of each group, in a sample.
    groups: Option<GroupHistogram>,
}

/// Properties of a sample of pages from which distributions are estimated.
pub struct SampleProperties {
    pub rate: SampleRate,
    /// Number of values that the sample would have if its pages were written as often as the average page.
    pub expected_values: f64,
    /// Sampled pages that were written.
    pub sampled_pages: GroupCounts,
}

impl ValueHistogram {
    /// Returns an empty distribution.
    pub fn new(is_sampled: bool) -> Self {
        let histogram = Histogram::new(3).expect("three digits are allowed");
        ValueHistogram {
            histogram,
            sum: 0,
            min: u64::MAX,
            max: 0,
            groups: is_sampled.then(GroupHistogram::default),
        }
    }

    /// Counts `value`, `times` times, for a page of `group`.
    #[inline]
    pub fn record(&mut self, value: u64, times: u64, group: usize) {
        self.histogram.record_n(value, times).expect("the histogram grows as needed");
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if let Some(groups) = &mut self.groups {
            groups.record(group, value, times);
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the distribution in numbers; `None` without a value.
    pub fn report(&self) -> Option<Distribution> {
        let count = self.len();
        (count > 0).then(|| Distribution {
            count,
            min: self.min,
            max: self.max,
            mean: self.sum as f64 / count as f64,
            percentiles: PERCENTILES
                .into_iter()
                .map(|percent| (percent, self.value_at(percent / 100.0)))
                .collect(),
        })
    }

    /// Returns the value that the fraction `quantile` of all values does not exceed.
    fn value_at(&self, quantile: f64) -> u64 {
        // The histogram returns the top of a bucket, which may exceed the greatest value.
        self.histogram.value_at_quantile(quantile).min(self.max)
    }

    /// Returns the distribution over all pages and the bounds of its percentiles, each value times `unit`; `None`
    /// without a value.
    ///
    /// Applies the adjustment called SHARDS-adj in the SHARDS paper: a surplus or lack of values in the sample comes
    /// from a few pages that are written very often, and therefore with small values. The lower end of the distribution
    /// is corrected by the difference.
    pub fn estimate(
        &self,
        sample: &SampleProperties,
        unit: f64,
    ) -> Option<(Distribution, Vec<PercentileBounds>)> {
        if self.len() == 0 || sample.expected_values < 1.0 {
            return None;
        }
        let scale = |value: f64| (value * unit).round() as u64;
        let at = |percent| (percent, self.adjusted_quantile(percent / 100.0, sample.expected_values));
        let percentiles = PERCENTILES.map(at);
        let bounds = percentiles.map(|(percent, value)| {
            let (low, high) = self.bounds(percent / 100.0, value, sample);
            // In the interval between two writes, the other pages are sampled at random too.
            let uncertainty = |distance: u64| match unit {
                1.0 => 0.0,
                _ => NORMAL_95 * ((1.0 - sample.rate.get()) * (distance + 1) as f64).sqrt(),
            };
            let low_end = (low as f64 - uncertainty(low)).max(0.0);
            PercentileBounds { percent, low: scale(low_end), high: scale(high as f64 + uncertainty(high)) }
        });
        let distribution = Distribution {
            count: sample.rate.scale_up(sample.expected_values),
            min: scale(self.min as f64),
            max: scale(self.max as f64),
            mean: self.adjusted_sum(sample.expected_values) / sample.expected_values * unit,
            percentiles: percentiles.map(|(percent, value)| (percent, scale(value as f64))).into(),
        };
        Some((distribution, bounds.into()))
    }

    /// Returns the value that the fraction `quantile` of `expected` values does not exceed.
    fn adjusted_quantile(&self, quantile: f64, expected: f64) -> u64 {
        let count = self.len() as f64;
        if expected == count {
            return self.value_at(quantile.clamp(0.0, 1.0));
        }
        match 1.0 - (1.0 - quantile.min(1.0)) * expected / count {
            adjusted if adjusted > 0.0 => self.value_at(adjusted),
            _ => self.min,
        }
    }

    /// Returns bounds that contain the true `quantile` in 95 of 100 cases, from the quantiles on either side of it
    /// (Woodruff, Confidence intervals for medians and other position measures, JASA 47, 1952).
    fn bounds(&self, quantile: f64, value: u64, sample: &SampleProperties) -> (u64, u64) {
        let Some(groups) = &self.groups else { return (value, value) };
        let above = groups.counts_from(value);
        let fraction = above.sum() / sample.expected_values;
        // The number of rewrites is the number of writes, which is known, minus the number of pages, which is
        // estimated.
        let error = above.add_scaled(fraction, &sample.sampled_pages).standard_error(sample.rate.get())
            / sample.expected_values;
        let margin = NORMAL_95 * error;
        let low = self.adjusted_quantile(quantile - margin, sample.expected_values);
        let high = self.adjusted_quantile(quantile + margin, sample.expected_values);
        // The missing values need not be as small as the minimum; they may have any size up to that of the other
        // values.
        let missing = 1.0 - self.len() as f64 / sample.expected_values;
        let is_uncertain = missing > 0.0 && quantile <= missing + margin;
        (low, if is_uncertain { high.max(self.value_at((quantile + margin).min(1.0))) } else { high })
    }

    /// Returns the sum of `expected` values.
    fn adjusted_sum(&self, expected: f64) -> f64 {
        let missing = expected - self.len() as f64;
        if missing >= 0.0 {
            return self.sum as f64 + missing * self.min as f64;
        }
        let (mut sum, mut surplus) = (self.sum as f64, -missing);
        for bucket in self.histogram.iter_recorded() {
            let removed = surplus.min(bucket.count_at_value() as f64);
            sum -= removed * bucket.value_iterated_to() as f64;
            surplus -= removed;
        }
        sum.max(0.0)
    }
}
