//! Timed requests, which take as long as in the timing model.

use super::Device;
use crate::pacing::{Completion, Pacing, Speed, Wait};

impl Device {
    /// Sets the speed for all later requests.
    pub(super) fn with_speed(mut self, speed: Speed) -> Self {
        self.pacing = (speed == Speed::Timed).then(|| Pacing::begin(&mut self.stack));
        self
    }

    /// Returns the speed at which the device answers.
    pub fn speed(&self) -> Speed {
        if self.pacing.is_some() { Speed::Timed } else { Speed::Full }
    }

    /// Returns the completion for which the caller of the current request must wait, if there is one.
    pub(crate) fn take_completion(&mut self) -> Option<Completion> {
        self.pacing.as_mut().and_then(|pacing| pacing.take_completion(&self.stack))
    }

    /// Returns the remaining time to wait for a completion. When the wait is over, counts the completed requests.
    pub(crate) fn wait(&mut self, completion: &Completion) -> Wait {
        let Some(pacing) = &mut self.pacing else { return Wait::Over };
        let wait = pacing.wait(&mut self.stack, completion);
        if matches!(wait, Wait::Over) {
            pacing.forget(completion);
            for served in &completion.requests {
                self.requests.add(served.operation, served.bytes, served.started.elapsed());
            }
        }
        wait
    }
}
