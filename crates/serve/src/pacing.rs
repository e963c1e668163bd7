//! Pacing: a reply is delayed until the request is complete according to the timing model.

use crate::requests::Operation;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wearwell_base::config::ConfigError;
use wearwell_stack::{LiveStack, Scenario};

/// Maximum interval between two checks of a request whose end is not known yet.
const RECHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Speed at which a device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// As fast as possible.
    Full,
    /// The speed of the scenario's timing model, for callers of a [`SharedDevice`](crate::SharedDevice).
    Timed,
}

impl Speed {
    /// Creates the stack for this speed.
    pub(crate) fn build_stack(self, scenario: &Scenario) -> Result<LiveStack, ConfigError> {
        match self {
            Speed::Full => LiveStack::new(scenario),
            Speed::Timed => LiveStack::timed(scenario),
        }
    }
}

/// Pacing state of a device.
pub struct Pacing {
    started: Instant,
    /// Stack requests for which callers wait, each with its end if it is known.
    awaited: HashMap<u64, Option<u64>>,
    /// Number of the first stack request that belongs to the current device request.
    first: u64,
    /// Requests executed since then, which are counted when their simulated time is over.
    completed: Vec<CompletedRequest>,
    ended: Vec<(u64, u64)>,
}

/// A request that the device has executed, with the time at which its caller began to wait.
pub struct CompletedRequest {
    pub operation: Operation,
    pub bytes: u64,
    pub started: Instant,
}

/// Completion for which a caller must wait: the end of the last stack request that the caller's request caused.
pub struct Completion {
    /// Number of the stack request; `None` if nothing reached the stack.
    number: Option<u64>,
    pub requests: Vec<CompletedRequest>,
}

/// Remaining time to wait for a completion.
pub enum Wait {
    /// The wait is over.
    Over,
    /// The wait ends at this time.
    Until(Instant),
    /// The end is not known yet; it should be checked again at this time.
    Recheck(Instant),
}

impl Pacing {
    /// Starts the clock at the current time.
    pub fn begin(stack: &mut LiveStack) -> Self {
        stack.start_clock();
        Pacing {
            started: Instant::now(),
            awaited: HashMap::new(),
            first: 0,
            completed: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Begins a request of a caller that now has the lock of the device.
    pub fn begin_request(&mut self, stack: &mut LiveStack) {
        self.advance_clock(stack);
        self.first = stack.next_number().unwrap_or(0);
    }

    /// Advances the clock of the stack to the current time.
    fn advance_clock(&self, stack: &mut LiveStack) {
        stack.set_now(nanoseconds(self.started.elapsed()));
    }

    /// Adds an executed request whose simulated completion the caller must wait for.
    pub fn add(&mut self, completed: CompletedRequest) {
        self.completed.push(completed);
    }

    /// Returns the completion of the requests executed since the last call; `None` if there are none.
    pub fn take_completion(&mut self, stack: &LiveStack) -> Option<Completion> {
        if self.completed.is_empty() {
            return None;
        }
        let number = stack.next_number().filter(|&next| next > self.first).map(|next| next - 1);
        self.awaited.extend(number.map(|number| (number, None)));
        Some(Completion { number, requests: std::mem::take(&mut self.completed) })
    }

    /// Returns the remaining time to wait for a completion, as far as it is known.
    pub fn wait(&mut self, stack: &mut LiveStack, completion: &Completion) -> Wait {
        self.advance_clock(stack);
        let next_ns = stack.collect_completed(&mut self.ended);
        for (number, end_ns) in self.ended.drain(..) {
            if let Some(end) = self.awaited.get_mut(&number) {
                *end = Some(end_ns);
            }
        }
        let at = |ns: u64| self.started + Duration::from_nanos(ns);
        match completion.number.and_then(|number| self.awaited.get(&number)) {
            Some(Some(end_ns)) if at(*end_ns) > Instant::now() => Wait::Until(at(*end_ns)),
            Some(None) => {
                let latest = Instant::now() + RECHECK_INTERVAL;
                Wait::Recheck(next_ns.map_or(latest, |next_ns| at(next_ns).min(latest)))
            }
            _ => Wait::Over,
        }
    }

    /// Forgets a completion for which no caller waits.
    pub fn forget(&mut self, completion: &Completion) {
        if let Some(number) = completion.number {
            self.awaited.remove(&number);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
