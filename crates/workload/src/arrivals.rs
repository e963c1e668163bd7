//! Workloads with arrival times: page operations as timed requests in bytes, for writing traces.

use super::Workload;
use super::cursor::RequestCursor;
use super::error::require;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::request::{Request, RequestBatch};
use wearwell_base::seed::{Random, Seed};

/// Arrival times of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalConfig {
    /// Mean rate, requests per second, above 0.
    pub requests_per_second: f64,
    /// Distribution of the times between requests.
    #[serde(default)]
    pub spacing: Spacing,
}

/// Distribution of the times between requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// All equal; the first request arrives at time 0.
    #[default]
    Constant,
    /// Exponential: arrivals are a Poisson process.
    Exponential,
}

/// Lowest rate, in requests per second: the clock can represent ten million requests at this rate.
const LOWEST_RATE: f64 = 1e-3;

/// Generator of arrival times, see [`ArrivalConfig`].
pub struct Arrivals {
    spacing: Spacing,
    mean_gap_ns: f64,
    random: Random,
    /// Number of requests so far.
    requests: u64,
    /// Sum of the gaps between requests, in units of the mean gap.
    elapsed: f64,
}

impl Arrivals {
    /// Returns a generator that starts at time 0. Errors: a rate that is not a finite number, or
    /// below one request in a thousand seconds.
    pub fn new(config: &ArrivalConfig, seed: Seed) -> Result<Self, ConfigError> {
        let rate = config.requests_per_second;
        let allowed = "must be a finite number above 0, and at least one in a thousand seconds";
        require(rate >= LOWEST_RATE && rate.is_finite(), "requests_per_second", rate, allowed)?;
        Ok(Arrivals {
            spacing: config.spacing,
            mean_gap_ns: 1e9 / rate,
            random: seed.derive("arrivals").random(),
            requests: 0,
            elapsed: 0.0,
        })
    }

    /// Returns the arrival time of the next request, ns.
    pub fn next_ns(&mut self) -> u64 {
        let gaps = match self.spacing {
            // The gap is multiplied and not accumulated, so that rounding errors do not accumulate.
            Spacing::Constant => self.requests as f64,
            Spacing::Exponential => {
                // The number has 53 bits, and is above 0 and at most 1, so that its logarithm is finite.
                let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / 2f64.powi(53);
                self.elapsed -= libm::log(uniform);
                self.elapsed
            }
        };
        self.requests += 1;
        (gaps * self.mean_gap_ns) as u64
    }
}

/// Requests of a workload with arrival times, see [`as_requests`].
pub struct TimedRequests {
    source: RequestCursor,
    page_bytes: u64,
    arrivals: Arrivals,
}

/// Returns the requests of `workload` in bytes, for pages of `page_bytes`, with arrival times by `arrivals`.
///
/// Errors: a rate or a page size that is not positive.
pub fn as_requests(
    workload: Box<dyn Workload>,
    page_bytes: u32,
    arrivals: &ArrivalConfig,
    seed: Seed,
) -> Result<TimedRequests, ConfigError> {
    let arrivals = Arrivals::new(arrivals, seed)?;
    require(page_bytes > 0, "page_bytes", page_bytes, "must be at least 1")?;
    Ok(TimedRequests { source: RequestCursor::new(workload), page_bytes: u64::from(page_bytes), arrivals })
}

impl TimedRequests {
    /// Appends up to `requests` requests to `batch`; fewer only at the end of a finite workload.
    pub fn fill(&mut self, batch: &mut RequestBatch, requests: usize) {
        for _ in 0..requests {
            let Some(request) = self.source.next() else { return };
            batch.push(&Request {
                time_ns: self.arrivals.next_ns(),
                op: request.op,
                volume: 0,
                offset_bytes: u64::from(request.first.0) * self.page_bytes,
                length_bytes: u64::from(request.pages) * self.page_bytes,
                hint: request.hint,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistical_tests::assert_mean;
    use super::super::{PageRequest, WorkloadConfig};
    use super::*;
    use wearwell_base::request::Op;

    fn timed(spacing: Spacing, fills: &[usize]) -> RequestBatch {
        let text = "kind = 'uniform'\nrequest_pages = 2\nread_ratio = 0.5";
        let workload = toml::from_str::<WorkloadConfig>(text).unwrap().build(1000, Seed(1)).unwrap();
        let arrivals = ArrivalConfig { requests_per_second: 1000.0, spacing };
        let mut requests = as_requests(workload, 4096, &arrivals, Seed(1)).unwrap();
        let mut batch = RequestBatch::default();
        fills.iter().for_each(|&count| requests.fill(&mut batch, count));
        batch
    }

    #[test]
    fn constant_spacing_begins_at_0_with_configured_rate() {
        assert_eq!(timed(Spacing::Constant, &[4]).time_ns, [0, 1_000_000, 2_000_000, 3_000_000]);
    }

    #[test]
    fn exponential_gaps_have_expected_mean_and_deviation() {
        let times = timed(Spacing::Exponential, &[100_000]).time_ns;
        let gaps = || times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6);
        assert_mean(gaps(), 1.0, 1.0);
        // The square of a unit exponential has mean 2 and variance 20.
        assert_mean(gaps().map(|gap| gap * gap), 2.0, f64::sqrt(20.0));
    }

    #[test]
    fn timed_requests_equal_workload_requests_in_bytes() {
        let batch = timed(Spacing::Exponential, &[1, 0, 700, 299]);
        assert_eq!((batch.len(), &batch.time_ns), (1000, &timed(Spacing::Exponential, &[1000]).time_ns));
        let text = "kind = 'uniform'\nrequest_pages = 2\nread_ratio = 0.5";
        let workload = toml::from_str::<WorkloadConfig>(text).unwrap().build(1000, Seed(1)).unwrap();
        for (index, PageRequest { op, hint, first, pages }) in
            RequestCursor::new(workload).take(1000).enumerate()
        {
            let request = batch.get(index);
            assert_eq!((request.op, request.hint), (op, hint));
            assert_eq!(request.offset_bytes, u64::from(first.0) * 4096);
            assert_eq!(request.length_bytes, u64::from(pages) * 4096);
        }
        assert!(batch.op.contains(&Op::Read) && batch.op.contains(&Op::Write));
    }

    #[test]
    fn zero_rate_is_refused() {
        let workload =
            || toml::from_str::<WorkloadConfig>("kind = 'uniform'").unwrap().build(9, Seed(1)).unwrap();
        for requests_per_second in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let arrivals = ArrivalConfig { requests_per_second, spacing: Spacing::Constant };
            let error = as_requests(workload(), 4096, &arrivals, Seed(1)).err().unwrap();
            assert_eq!(error.key, "requests_per_second");
        }
    }
}
