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
    runs: bool,
}

impl LiveClock {
    /// Returns a stopped clock; `journal` is the journal that the flash writes to.
    pub fn new(timing: ResolvedTiming, journal: Journal) -> Result<Self, ConfigError> {
        journal.set_recording(false);
        let within = |error: ConfigError| error.within("timing");
        // The caller determines when requests arrive.
        let host = HostTiming { arrivals: Arrivals::Open, ..timing.host };
        let flash = Flash::new(timing.flash).map_err(within)?;
        let mut clock = Clock::new(host, flash, journal.clone()).map_err(within)?;
        clock.follow();
        Ok(LiveClock { clock, journal, now_ns: 0, runs: false })
    }

    /// Starts the clock: flash operations take time from now on.
    pub fn start(&mut self) {
        self.journal.set_recording(true);
        self.runs = true;
    }

    /// Sets the time, which never goes back.
    pub fn set_now(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Dispatches a request to the drive; the layers execute it next.
    pub fn take(&mut self, op: Op, pages: u32) {
        if self.runs {
            self.clock.next_dispatch(op, pages, self.now_ns);
        }
    }

    /// Completes the dispatched request, which the layers have executed.
    pub fn serve(&mut self, op: Op, pages: u32) {
        if self.runs {
            self.clock.serve(op, pages);
        }
    }

    /// Returns the number of the next request.
    pub fn next_number(&self) -> u64 {
        self.clock.next_number()
    }

    /// Returns the ends of requests that are known by now: see [`Clock::go_to`].
    pub fn settle(&mut self, ended: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.clock.go_to(self.now_ns, ended)
    }

    /// Returns the timing report.
    pub fn finish(mut self) -> Result<TimingReport, RunError> {
        self.clock.drain();
        self.clock.check().map_err(RunError::Inconsistent)?;
        Ok(self.clock.report())
    }
}
