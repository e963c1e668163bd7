//! The drive's controller: processing time of each request before its other work begins.

use crate::request::Op;

/// One processor, which works on requests one after the other, in the order in which the device takes them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Controller {
    read_ns: u64,
    write_ns: u64,
    /// End of the work accepted so far.
    free_ns: u64,
}

impl Controller {
    /// Creates an idle controller. A read takes `read_ns`, and a write takes `write_ns`; other requests take no time,
    /// but wait for earlier requests.
    pub fn new(read_ns: u64, write_ns: u64) -> Self {
        Controller { read_ns, write_ns, free_ns: 0 }
    }

    /// Returns the time at which the controller has finished a request that the device takes at `taken_ns`. Times
    /// never decrease.
    #[inline]
    pub fn serve(&mut self, op: Op, taken_ns: u64) -> u64 {
        let time_ns = match op {
            Op::Read => self.read_ns,
            Op::Write => self.write_ns,
            _ => 0,
        };
        self.free_ns = self.free_ns.max(taken_ns) + time_ns;
        self.free_ns
    }
}
