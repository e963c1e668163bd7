//! A workload on the clock: page operations as timed requests in bytes, for writing traces.

use super::Workload;
use super::cursor::RequestCursor;
use super::error::{ConfigError, require};
use crate::seed::{Random, Seed};
use crate::trace::{Request, RequestBatch};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalConfig {
    /// Mean rate, requests per second, above 0.
    pub requests_per_second: f64,
    /// How the times between requests are spread.
    #[serde(default)]
    pub spacing: Spacing,
}

/// How the times between requests are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// All equal; the first request arrives at time 0.
    #[default]
    Constant,
    /// Exponential: arrivals are a Poisson process.
    Exponential,
}

/// A workload's requests with arrival times, see [`as_requests`].
pub struct TimedRequests {
    source: RequestCursor,
    page_bytes: u64,
    spacing: Spacing,
    mean_gap_ns: f64,
    random: Random,
    /// Requests so far, and the sum of the gaps in units of the mean gap.
    requests: u64,
    elapsed: f64,
}

/// The requests of `workload` in bytes, for pages of `page_bytes`, arriving as `arrivals` says.
///
/// Errors: a rate or a page size that is not positive.
pub fn as_requests(
    workload: Box<dyn Workload>,
    page_bytes: u32,
    arrivals: &ArrivalConfig,
    seed: Seed,
) -> Result<TimedRequests, ConfigError> {
    let rate = arrivals.requests_per_second;
    let allowed = "must be a finite number above 0";
    require(rate > 0.0 && rate.is_finite(), "requests_per_second", rate, allowed)?;
    require(page_bytes > 0, "page_bytes", page_bytes, "must be at least 1")?;
    Ok(TimedRequests {
        source: RequestCursor::new(workload),
        page_bytes: u64::from(page_bytes),
        spacing: arrivals.spacing,
        mean_gap_ns: 1e9 / rate,
        random: seed.of("arrivals").random(),
        requests: 0,
        elapsed: 0.0,
    })
}

impl TimedRequests {
    /// Appends up to `requests` requests to `batch`; fewer only at the end of a finite workload.
    pub fn fill(&mut self, batch: &mut RequestBatch, requests: usize) {
        for _ in 0..requests {
            let Some(request) = self.source.next() else { return };
            batch.push(&Request {
                time_ns: self.next_arrival_ns(),
                op: request.op,
                volume: 0,
                offset_bytes: u64::from(request.first.0) * self.page_bytes,
                length_bytes: u64::from(request.pages) * self.page_bytes,
                hint: request.hint,
            });
        }
    }

    fn next_arrival_ns(&mut self) -> u64 {
        let gaps = match self.spacing {
            // Counted and multiplied, not added up: rounding must not drift.
            Spacing::Constant => self.requests as f64,
            Spacing::Exponential => {
                // 53 bits, from above 0 to 1: the logarithm is finite.
                let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / 2f64.powi(53);
                self.elapsed -= libm::log(uniform);
                self.elapsed
            }
        };
        self.requests += 1;
        (gaps * self.mean_gap_ns) as u64
    }
}
