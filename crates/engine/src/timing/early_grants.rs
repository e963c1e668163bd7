//! Channel time that was granted at the current moment.

/// Channel time granted at the current time to operations that are completed at once. In event order, these grants
/// would be made only after the statistics are read.
#[derive(Debug, Default)]
pub(super) struct EarlyGrants {
    at_ns: u64,
    /// Numbers of channels, each with the time that was granted.
    grants: Vec<(u32, u64)>,
}

impl EarlyGrants {
    /// Records that `channel` is granted for `channel_ns` at `now_ns`.
    #[inline]
    pub fn add(&mut self, now_ns: u64, channel: u32, channel_ns: u64) {
        if self.at_ns != now_ns {
            self.at_ns = now_ns;
            self.grants.clear();
        }
        self.grants.push((channel, channel_ns));
    }

    /// Returns the grants of time `now_ns`.
    pub fn at(&self, now_ns: u64) -> &[(u32, u64)] {
        if self.at_ns == now_ns { &self.grants } else { &[] }
    }
}
