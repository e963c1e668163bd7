//! A device that answers as slowly as its timing model says: who waits for what, and until when.

use crate::requests::Operation;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wearwell_base::config::ConfigError;
use wearwell_stack::{Live, Scenario};

/// Longest time until it is looked again whether a request has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How fast a device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// As fast as it can.
    Full,
    /// As the timing of its scenario says, to who asks by a [`SharedDevice`](crate::SharedDevice).
    Timed,
}

impl Speed {
    /// The stack for it.
    pub(crate) fn live(self, scenario: &Scenario) -> Result<Live, ConfigError> {
        match self {
            Speed::Full => Live::new(scenario),
            Speed::Timed => Live::timed(scenario),
        }
    }
}

/// The pace of a device, in its hands.
pub struct Pacing {
    began: Instant,
    /// Requests that somebody waits for, and when they end, if that is known.
    waited_for: HashMap<u64, Option<u64>>,
    /// The number of the first request of what the device is asked for now.
    first: u64,
    /// What was done since, which is counted when its time is over.
    in_hand: Vec<Served>,
    ended: Vec<(u64, u64)>,
}

/// A request that was done, and when it was asked for.
pub struct Served {
    pub operation: Operation,
    pub bytes: u64,
    pub asked: Instant,
}

/// What somebody has to wait for who was answered: the last of the requests that became of what was asked.
pub struct Owed {
    /// `None` of what was none to the stack, as it has no page.
    number: Option<u64>,
    pub served: Vec<Served>,
}

/// How long to wait.
pub enum Wait {
    /// It is over.
    Over,
    /// Until then, and it is over.
    Until(Instant),
    /// Until then, and look again.
    AskAgain(Instant),
}

impl Pacing {
    /// From now on.
    pub fn begin(live: &mut Live) -> Self {
        live.start_clock();
        Pacing {
            began: Instant::now(),
            waited_for: HashMap::new(),
            first: 0,
            in_hand: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// The device is asked for something, by somebody who has it now.
    pub fn ask(&mut self, live: &mut Live) {
        self.tell(live);
        self.first = live.next_number().unwrap_or(0);
    }

    /// Tells the stack the time.
    fn tell(&self, live: &mut Live) {
        live.set_now(nanoseconds(self.began.elapsed()));
    }

    /// Something was done that is to be waited for.
    pub fn add(&mut self, served: Served) {
        self.in_hand.push(served);
    }

    /// What was done since this was asked the last time, for who has to wait for it; `None` if that is nothing.
    pub fn owed(&mut self, live: &Live) -> Option<Owed> {
        if self.in_hand.is_empty() {
            return None;
        }
        let number = live.next_number().filter(|&next| next > self.first).map(|next| next - 1);
        self.waited_for.extend(number.map(|number| (number, None)));
        Some(Owed { number, served: std::mem::take(&mut self.in_hand) })
    }

    /// How long who is owed has to wait, as far as is known.
    pub fn wait(&mut self, live: &mut Live, owed: &Owed) -> Wait {
        self.tell(live);
        let next_ns = live.settle(&mut self.ended);
        for (number, end_ns) in self.ended.drain(..) {
            if let Some(end) = self.waited_for.get_mut(&number) {
                *end = Some(end_ns);
            }
        }
        let at = |ns: u64| self.began + Duration::from_nanos(ns);
        match owed.number.and_then(|number| self.waited_for.get(&number)) {
            Some(Some(end_ns)) if at(*end_ns) > Instant::now() => Wait::Until(at(*end_ns)),
            Some(None) => {
                let latest = Instant::now() + LOOK_AGAIN;
                Wait::AskAgain(next_ns.map_or(latest, |next_ns| at(next_ns).min(latest)))
            }
            _ => Wait::Over,
        }
    }

    /// Nobody waits for it any more.
    pub fn let_go(&mut self, owed: &Owed) {
        if let Some(number) = owed.number {
            self.waited_for.remove(&number);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
