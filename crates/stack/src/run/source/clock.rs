//! Arrival times of a trace: relative to its beginning, never decreasing, pass after pass.

use crate::scenario::Backwards;
use wearwell_trace::RequestBatch;

/// Window of requests within which `sort` orders times.
pub const SORT_WINDOW: usize = 4096;

/// A request with an earlier time than the request before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecreasingTime {
    /// Time of the request, ns.
    pub time_ns: u64,
    /// Time of the request before it, ns.
    pub before_ns: u64,
}

/// Converts the times of a trace that is replayed in a loop to arrival times.
pub struct TraceClock {
    rule: Backwards,
    speed_up: f64,
    /// Start of the pass, ns before the speed-up.
    pass_start_ns: u64,
    /// Times of the first and the last request of the pass.
    pass: Option<(u64, u64)>,
    /// Requests of the pass.
    requests: u64,
    arrival_ns: Option<u64>,
}

impl TraceClock {
    pub fn new(rule: Backwards, speed_up: f64) -> Self {
        TraceClock { rule, speed_up, pass_start_ns: 0, pass: None, requests: 0, arrival_ns: None }
    }

    /// Moves to the next request, whose time in the trace is `time_ns`.
    pub fn advance(&mut self, time_ns: u64) -> Result<(), DecreasingTime> {
        let (first, last) = self.pass.unwrap_or((time_ns, time_ns));
        if time_ns < last && self.rule != Backwards::Clamp {
            return Err(DecreasingTime { time_ns, before_ns: last });
        }
        let last = time_ns.max(last);
        self.pass = Some((first, last));
        self.requests += 1;
        let since_start_ns = self.pass_start_ns.saturating_add(last - first);
        self.arrival_ns = Some(match self.speed_up {
            1.0 => since_start_ns,
            speed_up => (since_start_ns as f64 / speed_up) as u64,
        });
        Ok(())
    }

    /// Ends the pass; the next pass begins one mean gap after the last request.
    pub fn end_pass(&mut self) {
        if let Some((first, last)) = self.pass.take() {
            let gap = (last - first) / (self.requests - 1).max(1);
            self.pass_start_ns = self.pass_start_ns.saturating_add(last - first).saturating_add(gap);
        }
        self.requests = 0;
    }

    pub fn arrival_ns(&self) -> Option<u64> {
        self.arrival_ns
    }
}

/// Sorts requests by time within a window of [`SORT_WINDOW`] requests.
#[derive(Default)]
pub struct Sorter {
    /// Requests that were read but not returned yet, in order.
    buffered: RequestBatch,
    /// Numbers of the buffered requests within the trace.
    buffered_numbers: Vec<u64>,
}

impl Sorter {
    /// Takes the next requests of the trace from `batch`, the first of them number `first`. Replaces `batch` by the
    /// requests that are next in time order, and `numbers` by their numbers. At the end of the trace, called with an
    /// empty batch, `batch` receives all remaining requests.
    pub fn sort(&mut self, batch: &mut RequestBatch, first: u64, numbers: &mut Vec<u64>) {
        let is_end = batch.is_empty();
        for at in 0..batch.len() {
            self.buffered.push_from(batch, at);
            self.buffered_numbers.push(first + at as u64);
        }
        let mut order: Vec<usize> = (0..self.buffered.len()).collect();
        // The sort is stable: requests with equal times keep their order.
        order.sort_by_key(|&at| self.buffered.time_ns[at]);
        let ready_count = if is_end { order.len() } else { order.len().saturating_sub(SORT_WINDOW) };
        batch.clear();
        numbers.clear();
        let (mut rest, mut rest_numbers) = (RequestBatch::default(), Vec::new());
        for (rank, &at) in order.iter().enumerate() {
            let (into, into_numbers) = if rank < ready_count {
                (&mut *batch, &mut *numbers)
            } else {
                (&mut rest, &mut rest_numbers)
            };
            into.push_from(&self.buffered, at);
            into_numbers.push(self.buffered_numbers[at]);
        }
        (self.buffered, self.buffered_numbers) = (rest, rest_numbers);
    }
}
