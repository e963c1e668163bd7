//! State that the clock stores for requests in the device.

use crate::request::Op;
use crate::timing::parts::Parts;

/// A request in the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRequest {
    pub op: Op,
    pub pages: u32,
    pub arrival_ns: u64,
    pub before: TimesBeforeFlash,
    pub done_ns: u64,
    /// Number of the write, if the request is a write.
    pub write_number: u64,
    /// Number among all requests.
    pub request_number: u64,
    /// For a flush: the end of the last write before it, if known.
    pub writes_ended_ns: Option<u64>,
    /// For a flush: true if the flash has completed the steps of the flush itself.
    pub is_done: bool,
    /// True if the host has the answer already.
    pub is_answered: bool,
    /// True if the request came after the measurement began.
    pub is_measured: bool,
}

/// The request about to be served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    pub arrival_ns: u64,
    pub now_ns: u64,
    pub before: TimesBeforeFlash,
}

/// The parts of the response time until the flash began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimesBeforeFlash {
    pub queue_ns: u64,
    pub queue_of_which_cleaning_ns: u64,
    pub buffer_ns: u64,
    pub buffer_of_which_cleaning_ns: u64,
    pub controller_ns: u64,
    pub link_ns: u64,
    pub outage_ns: u64,
}

impl TimesBeforeFlash {
    /// Combines the parts before the flash began with those of the flash.
    pub fn combine(self, flash: &Parts) -> Parts {
        Parts {
            queue_ns: self.queue_ns,
            queue_of_which_cleaning_ns: self.queue_of_which_cleaning_ns,
            buffer_ns: self.buffer_ns,
            buffer_of_which_cleaning_ns: self.buffer_of_which_cleaning_ns,
            controller_ns: self.controller_ns,
            link_ns: self.link_ns,
            outage_ns: self.outage_ns,
            ..*flash
        }
    }
}
