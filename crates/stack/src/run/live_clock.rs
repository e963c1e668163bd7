//! Simulated response times of requests that arrive one by one.

use super::error::RunError;
use crate::scenario::resolve::ResolvedTiming;
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_engine::timing::{Arrivals, Clock, Flash, HostTiming, Journal, TimingReport};

/// A clock whose time is set by the caller.
pub(crate) struct LiveClock {
    clock: Clock,
    journal: Journal,
    now_ns: u64,
    is_running: bool,
}

impl LiveClock {
    /// Returns a stopped clock; `journal` is the journal that the flash writes to.
    pub fn new(timing: ResolvedTiming, journal: Journal) -> Result<Self, ConfigError> {
        journal.set_recording(false);
        let within_timing = |error: ConfigError| error.within("timing");
        // The caller determines when requests arrive.
        let host = HostTiming { arrivals: Arrivals::Open, ..timing.host };
        let flash = Flash::new(timing.flash).map_err(within_timing)?;
        let mut clock = Clock::new(host, flash, journal.clone()).map_err(within_timing)?;
        clock.record_ends();
        Ok(LiveClock { clock, journal, now_ns: 0, is_running: false })
    }

    /// Starts the clock: flash operations take time from now on.
    pub fn start(&mut self) {
        self.journal.set_recording(true);
        self.is_running = true;
    }

    /// Sets the time, which never goes back.
    pub fn set_now(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Dispatches a request to the drive; the layers execute it next.
    pub fn dispatch(&mut self, op: Op, pages: u32) {
        if self.is_running {
            self.clock.next_dispatch(op, pages, self.now_ns);
        }
    }

    /// Completes the dispatched request, which the layers have executed.
    pub fn complete(&mut self, op: Op, pages: u32) {
        if self.is_running {
            self.clock.serve(op, pages);
        }
    }

    /// Returns the number of the next request.
    pub fn next_number(&self) -> u64 {
        self.clock.next_request_number()
    }

    /// Appends the requests whose end is known by now, see [`Clock::advance_to`].
    pub fn collect_completed(&mut self, completed: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.clock.advance_to(self.now_ns, completed)
    }

    /// Returns the timing report.
    pub fn finish(mut self) -> Result<TimingReport, RunError> {
        self.clock.drain();
        self.clock.check().map_err(RunError::Inconsistent)?;
        Ok(self.clock.report())
    }
}
