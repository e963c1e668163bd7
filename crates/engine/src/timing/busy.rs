//! Busy time of dies and channels, by cause.

use super::flash::Flash;
use super::node::Class;
use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// Time that dies or channels were busy, nanoseconds, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyTime {
    /// Work for the host.
    pub host_ns: u64,
    /// Work for cleaning.
    pub cleaning_ns: u64,
    /// Work for all other causes: mapping tables, metadata, wear levelling, deduplication.
    pub other_ns: u64,
    /// Suspension of operations in favour of reads.
    pub suspend_ns: u64,
}

impl BusyTime {
    /// Returns the sum of all causes.
    pub fn total_ns(&self) -> u64 {
        self.host_ns + self.cleaning_ns + self.other_ns + self.suspend_ns
    }
}

impl From<[u64; 4]> for BusyTime {
    fn from([host_ns, cleaning_ns, other_ns, suspend_ns]: [u64; 4]) -> BusyTime {
        BusyTime { host_ns, cleaning_ns, other_ns, suspend_ns }
    }
}

impl Sub for BusyTime {
    type Output = BusyTime;

    /// Returns the difference between two observations.
    fn sub(self, earlier: BusyTime) -> BusyTime {
        BusyTime {
            host_ns: self.host_ns - earlier.host_ns,
            cleaning_ns: self.cleaning_ns - earlier.cleaning_ns,
            other_ns: self.other_ns - earlier.other_ns,
            suspend_ns: self.suspend_ns - earlier.suspend_ns,
        }
    }
}

const CLASSES: [Class; 4] = [Class::Host, Class::Cleaning, Class::Other, Class::Suspend];

impl Flash {
    /// Returns the busy time of each die until `now_ns`, to which the device must have been advanced. With contention
    /// for dies only, the times include later work, as far as it is already known.
    pub fn die_busy(&self, now_ns: u64) -> Vec<BusyTime> {
        let busy = |die: &super::die::Die| match self.has_known_ends {
            true => die.busy_ns().into(),
            false => CLASSES.map(|class| die.busy_until(class, now_ns)).into(),
        };
        self.dies.iter().map(busy).collect()
    }

    /// Returns the busy time of each channel, including transfers that are already known to come later.
    pub fn channel_busy(&self) -> Vec<BusyTime> {
        self.channels.iter().map(|channel| channel.busy_ns.into()).collect()
    }

    /// Returns the busy time of each channel without the transfers that were granted at `now_ns` itself. The device
    /// must have been advanced to `now_ns`.
    pub(super) fn channel_busy_before(&self, now_ns: u64) -> Vec<BusyTime> {
        let mut busy = self.channel_busy();
        for &(channel, channel_ns) in self.early_grants.at(now_ns) {
            busy[channel as usize].host_ns -= channel_ns;
        }
        busy
    }

    /// Compares the summed times of operations with the busy times of dies and channels; an error is a bug. While
    /// operations are under way, only channels can be compared.
    pub fn check(&self) -> Result<(), String> {
        let end_ns = self.last_end_ns();
        let dies: Vec<u64> = self.die_busy(u64::MAX >> 1).iter().map(BusyTime::total_ns).collect();
        let channels: Vec<u64> = self.channel_busy().iter().map(BusyTime::total_ns).collect();
        let transfers_ns: u64 = channels.iter().sum();
        if transfers_ns != self.operation_times.transfers_ns {
            return Err(format!(
                "timing: channels busy for {transfers_ns} ns, not {}",
                self.operation_times.transfers_ns
            ));
        }
        if !self.is_settled() {
            return Ok(());
        }
        let all_ns: u64 = dies.iter().sum();
        let spent_ns = self.operation_times.operations_ns
            + self.operation_times.suspending_ns
            + self.operation_times.resuming_ns;
        if all_ns != spent_ns {
            return Err(format!("timing: dies busy for {all_ns} ns, their operations took {spent_ns}"));
        }
        match dies.iter().chain(&channels).max() {
            Some(busiest) if *busiest > end_ns => {
                Err(format!("timing: busy for {busiest} ns until {end_ns} ns"))
            }
            _ => Ok(()),
        }
    }
}
