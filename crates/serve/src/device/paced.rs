//! The device as slow as its drive.

use super::Device;
use crate::pacing::{Owed, Pacing, Speed, Wait};

impl Device {
    /// At a speed, from now on.
    pub(super) fn at(mut self, speed: Speed) -> Self {
        self.pacing = (speed == Speed::Timed).then(|| Pacing::begin(&mut self.live));
        self
    }

    /// How fast it answers.
    pub fn speed(&self) -> Speed {
        if self.pacing.is_some() { Speed::Timed } else { Speed::Full }
    }

    /// What whoever has asked has to wait for.
    pub(crate) fn owed(&mut self) -> Option<Owed> {
        self.pacing.as_mut().and_then(|pacing| pacing.owed(&self.live))
    }

    /// How long that is; when it is over it is counted.
    pub(crate) fn wait(&mut self, owed: &Owed) -> Wait {
        let Some(pacing) = &mut self.pacing else { return Wait::Over };
        let wait = pacing.wait(&mut self.live, owed);
        if matches!(wait, Wait::Over) {
            pacing.let_go(owed);
            for served in &owed.served {
                self.requests.add(served.operation, served.bytes, served.asked.elapsed());
            }
        }
        wait
    }
}
