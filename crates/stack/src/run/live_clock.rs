//! How long a drive would take for what is asked of it, request by request as it comes.

use super::error::RunError;
use crate::scenario::resolve::ResolvedTiming;
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_engine::timing::{Arrivals, Clock, Flash, HostTiming, Journal, TimingReport};

/// A clock that is told the time.
pub(crate) struct LiveClock {
    clock: Clock,
    journal: Journal,
    now_ns: u64,
    runs: bool,
}

impl LiveClock {
    /// One that stands still; the journal is the one that the flash writes into.
    pub fn new(timing: ResolvedTiming, journal: Journal) -> Result<Self, ConfigError> {
        journal.set_recording(false);
        let within = |error: ConfigError| error.within("timing");
        // They come when they come.
        let host = HostTiming { arrivals: Arrivals::Open, ..timing.host };
        let flash = Flash::new(timing.flash).map_err(within)?;
        let mut clock = Clock::new(host, flash, journal.clone()).map_err(within)?;
        clock.follow();
        Ok(LiveClock { clock, journal, now_ns: 0, runs: false })
    }

    /// From now on what the flash does takes time.
    pub fn start(&mut self) {
        self.journal.set_recording(true);
        self.runs = true;
    }

    /// The time, which never goes back.
    pub fn set_now(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// The drive takes a request, which the layers do next.
    pub fn take(&mut self, op: Op, pages: u32) {
        if self.runs {
            self.clock.next_dispatch(op, pages, self.now_ns);
        }
    }

    /// The layers did it.
    pub fn serve(&mut self, op: Op, pages: u32) {
        if self.runs {
            self.clock.serve(op, pages);
        }
    }

    /// The number of the request that is taken next.
    pub fn next_number(&self) -> u64 {
        self.clock.next_number()
    }

    /// What is known of ends by now: see [`Clock::go_to`].
    pub fn settle(&mut self, ended: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.clock.go_to(self.now_ns, ended)
    }

    /// What was measured.
    pub fn finish(mut self) -> Result<TimingReport, RunError> {
        self.clock.drain();
        self.clock.check().map_err(RunError::Inconsistent)?;
        Ok(self.clock.report())
    }
}
