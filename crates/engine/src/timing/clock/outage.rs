//! Power cuts: operations under way end, and then only recovery uses the flash, step by step.

use super::Clock;
use crate::counters::Cause;
use crate::timing::journal::{Event, Step};
use crate::timing::node::NONE;

/// An outage that has not ended.
#[derive(Clone, Copy)]
struct Outage {
    lost_ns: u64,
    /// The part of the outage without power.
    off_ns: u64,
}

impl Clock {
    /// Runs on the flash the steps in the journal up to its last event, for a request that was taken at `now_ns` and
    /// begins at `start_ns`. Returns the time at which the drive serves again. Steps done for the host after that
    /// event stay in the journal.
    pub(super) fn run_outages(&mut self, now_ns: u64, start_ns: u64) -> u64 {
        let mut steps = Vec::new();
        self.journal.take(&mut steps);
        let (mut now_ns, mut start_ns, mut done) = (now_ns, start_ns, 0);
        let mut outage: Option<Outage> = None;
        for (at, event) in self.journal.take_events() {
            match outage {
                Some(_) => self.recover(&mut steps[done..at], start_ns),
                None => self.submit_steps(NONE, now_ns, start_ns, &steps[done..at]),
            }
            self.complete_all();
            start_ns = start_ns.max(self.flash.last_end_ns()).max(self.link_out_ns);
            now_ns = start_ns;
            done = at;
            match event {
                Event::PowerLost => {
                    let current = outage.get_or_insert(Outage { lost_ns: start_ns, off_ns: 0 });
                    current.off_ns += self.host.power_off_ns;
                    start_ns += self.host.power_off_ns;
                }
                Event::RecoveryStepEnded => {}
                Event::Recovered => {
                    if let Some(Outage { lost_ns, off_ns }) = outage.take() {
                        self.statistics.outages.add(start_ns - lost_ns, off_ns);
                    }
                }
            }
        }
        self.journal.extend(steps.drain(done..));
        (self.taken_ns, self.now_ns) = (start_ns, start_ns);
        start_ns
    }

    /// Runs steps of recovery. These steps wait for each other like the steps of a request that belongs neither to the
    /// host nor to cleaning.
    fn recover(&mut self, steps: &mut [Step], start_ns: u64) {
        for step in steps.iter_mut() {
            match step {
                Step::Read { cause, .. }
                | Step::ReadSpare { cause, .. }
                | Step::Program { cause, .. }
                | Step::Erase { cause, .. }
                | Step::Hash { cause, .. } => *cause = Cause::Translation,
            }
        }
        self.submit_steps(NONE, start_ns, start_ns, steps);
    }

    /// Completes all operations under way.
    fn complete_all(&mut self) {
        while self.flash.step() {}
        self.collect();
        self.answer_reads_until(self.flash.last_end_ns());
    }
}
