//! What was given away at a moment that is not over.

/// Channel time that was given at a certain time to operations at once, which others would get at that time, but after it was
/// looked at.
#[derive(Debug, Default)]
pub(super) struct Given {
    at_ns: u64,
    /// Channel and time.
    to: Vec<(u32, u64)>,
}

impl Given {
    /// `channel` is given for so long.
    #[inline]
    pub fn add(&mut self, now_ns: u64, channel: u32, channel_ns: u64) {
        if self.at_ns != now_ns {
            self.at_ns = now_ns;
            self.to.clear();
        }
        self.to.push((channel, channel_ns));
    }

    /// What was given at this very time.
    pub fn at(&self, now_ns: u64) -> &[(u32, u64)] {
        if self.at_ns == now_ns { &self.to } else { &[] }
    }
}
