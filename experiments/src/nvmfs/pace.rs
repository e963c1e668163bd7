//! A disk with the speed of a drive: each request is answered when the drive would complete it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wearwell_trace::Op;

/// Tolerance for the delay of a request that waited for the drive: threads sleep slightly longer than requested.
const LATENESS_TOLERANCE: Duration = Duration::from_micros(200);

/// Speed of a drive. The duration of a request is that of its bytes. It is at least a minimum time, unless the
/// request continues where the last one of its kind ended. Trims and flushes take no time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Sequential write rate, in megabytes (10^6 bytes) per second.
    pub write_mb_per_s: f64,
    /// Minimum time of a non-sequential write, µs.
    pub write_us: f64,
    /// Sequential read rate, in megabytes per second.
    pub read_mb_per_s: f64,
    /// Minimum time of a non-sequential read, µs.
    pub read_us: f64,
}

impl Rates {
    /// Rates of Intel's X25-E: 170 and 250 MB/s sequential, by a review. The 3,300 writes and 35,000 reads of 4 KiB
    /// per second are assumed (sources: the preset `x25_e`).
    pub const X25_E: Rates =
        Rates { write_mb_per_s: 170.0, write_us: 303.0, read_mb_per_s: 250.0, read_us: 28.6 };

    /// Returns the duration of a request.
    fn duration(&self, op: Op, bytes: u64, is_sequential: bool) -> Duration {
        let (mb_per_s, min_us) = match op {
            Op::Write => (self.write_mb_per_s, self.write_us),
            Op::Read => (self.read_mb_per_s, self.read_us),
            _ => return Duration::ZERO,
        };
        let min_us = if is_sequential { 0.0 } else { min_us };
        Duration::from_secs_f64((bytes as f64 / mb_per_s).max(min_us) / 1e6)
    }
}

/// Timing of a drive that processes one request after the other.
#[derive(Debug)]
pub struct Pacer {
    rates: Rates,
    /// Factor by which the drive is slower than its rates.
    slowed_by: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free_at: Instant,
    busy: Duration,
    /// Ends of the last write and of the last read.
    last_ends: [u64; 2],
}

impl Pacer {
    /// Returns an idle drive, `slowed_by` times slower than `rates`.
    pub fn new(rates: Rates, slowed_by: u32) -> Pacer {
        let state = State { free_at: Instant::now(), busy: Duration::ZERO, last_ends: [u64::MAX; 2] };
        Pacer { rates, slowed_by, state: Mutex::new(state) }
    }

    /// Returns the completion time of a request that arrives at `now`.
    fn completes_at(&self, op: Op, offset_bytes: u64, length_bytes: u64, now: Instant) -> Instant {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = usize::from(op == Op::Read);
        let is_sequential = state.last_ends[kind] == offset_bytes;
        let time = self.rates.duration(op, length_bytes, is_sequential) * self.slowed_by;
        if matches!(op, Op::Write | Op::Read) {
            state.last_ends[kind] = offset_bytes + length_bytes;
        }
        let started = now.checked_sub(LATENESS_TOLERANCE).unwrap_or(now).max(state.free_at);
        state.free_at = started + time;
        state.busy += time;
        state.free_at
    }

    /// Waits until the drive has completed a request.
    pub fn wait(&self, op: Op, offset_bytes: u64, length_bytes: u64) {
        let now = Instant::now();
        let completes_at = self.completes_at(op, offset_bytes, length_bytes, now);
        std::thread::sleep(completes_at.saturating_duration_since(now));
    }

    /// Returns the time that the drive was busy so far.
    pub fn busy_time(&self) -> Duration {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paced_drive_reaches_its_rates() {
        let pace = Pacer::new(Rates::X25_E, 1);
        let start = Instant::now() + Duration::from_secs(1);
        let mut done = start;
        let mut play = |op, requests: &mut dyn Iterator<Item = u64>, bytes: u64| {
            let before = done;
            for offset in requests {
                done = pace.completes_at(op, offset, bytes, before);
            }
            (done - before).as_secs_f64()
        };
        // The requests are scattered small writes, sequential small writes, and scattered large writes.
        let scattered = play(Op::Write, &mut (0..3300).map(|at| at * 8192), 4096);
        let in_order = play(Op::Write, &mut (0..3300).map(|at| (1 << 30) + at * 4096), 4096);
        let large = play(Op::Write, &mut (0..100).map(|at| at << 20), 512 << 10);
        let reads = play(Op::Read, &mut (0..3500).map(|at| at * 8192), 4096);
        let near = |seconds: f64, expected: f64| {
            assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} {expected}")
        };
        near(scattered, 1.0);
        near(in_order, 3300.0 * 4096.0 / 170e6);
        near(large, 100.0 * 524_288.0 / 170e6);
        near(reads, 0.1);
        let before = pace.busy_time();
        assert!(play(Op::Trim, &mut (0..10), 4096) < 0.001);
        assert_eq!(pace.busy_time(), before);
    }

    #[test]
    fn slowed_drive_takes_proportionally_longer_and_idle_time_is_lost() {
        let [one, eight] = [1, 8].map(|slowed_by| Pacer::new(Rates::X25_E, slowed_by));
        let start = Instant::now() + Duration::from_secs(1);
        let times = [&one, &eight]
            .map(|pace| pace.completes_at(Op::Write, 0, 4096, start) - start + LATENESS_TOLERANCE);
        assert_eq!(times[0] * 8, times[1]);
        let later = start + Duration::from_secs(5);
        assert_eq!(one.completes_at(Op::Write, 81_920, 4096, later) + LATENESS_TOLERANCE, later + times[0]);
        assert_eq!(one.busy_time(), times[0] * 2);
    }

    #[test]
    fn wait_lasts_until_drive_completes() {
        let pace = Pacer::new(Rates::X25_E, 10);
        let start = Instant::now();
        (0..5).for_each(|at| pace.wait(Op::Write, at * 8192, 4096));
        assert!(start.elapsed() >= pace.busy_time() - LATENESS_TOLERANCE);
    }
}
