//! What the response time of a request is made of.

use serde::{Deserialize, Serialize};

/// The response time of a request in parts, nanoseconds, along the way of the page that ended last.
///
/// Waits and services add up to the response time exactly ([`Parts::total_ns`]). Fields called `of_which` are included in
/// the one before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Before the device took the request: for a place in its queue.
    pub queue_ns: u64,
    /// Of which cleaning filled the queue: the wait, in the proportion of the response of the request that gave its place
    /// up that cleaning caused, its own wait for a place included; proportions and times are rounded down, proportions to
    /// 1/65536.
    pub queue_of_which_cleaning_ns: u64,
    /// Before the device took the request: for room in the write buffer.
    pub buffer_ns: u64,
    /// Of which cleaning kept the buffer full: the wait, in the proportion of the time of the program that made room, from
    /// the start of its request, that cleaning caused, rounded likewise.
    pub buffer_of_which_cleaning_ns: u64,
    /// In the controller, and for it to be done with the requests before; 0 in results of before.
    #[serde(default)]
    pub controller_ns: u64,
    /// On the link between host and device, waits for it included.
    pub link_ns: u64,
    /// While power was off and the drive came back.
    #[serde(default)]
    pub outage_ns: u64,
    /// Of a flush: for earlier writes to reach the flash.
    pub flush_ns: u64,
    /// For a hash engine.
    pub hash_wait_ns: u64,
    /// In a hash engine.
    pub hash_ns: u64,
    /// For cleaning to end before the request may go on: cleaning in the foreground, or the erase of the block that it
    /// is to be written to.
    pub cleaning_ns: u64,
    /// For dies that do other things.
    pub die_wait_ns: u64,
    /// Of which they did cleaning.
    pub die_wait_of_which_cleaning_ns: u64,
    /// For channels that carry other things.
    pub channel_wait_ns: u64,
    /// Of which they carried pages and commands of cleaning.
    pub channel_wait_of_which_cleaning_ns: u64,
    /// Commands and pages on the channel.
    pub transfer_ns: u64,
    /// Reading, programming and erasing.
    pub flash_ns: u64,
    /// While another operation was made to step back for this one, or this one for others.
    pub suspend_ns: u64,
}

/// A share of a time, in 1/65536.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share(u32);

impl Share {
    /// So much of `time_ns`, rounded down.
    pub fn of(self, time_ns: u64) -> u64 {
        ((u128::from(time_ns) * u128::from(self.0)) >> 16) as u64
    }
}

/// Number of fields of [`Parts`].
pub const PARTS: usize = 18;

impl Parts {
    /// The response time.
    #[inline]
    pub fn total_ns(&self) -> u64 {
        self.queue_ns
            + self.buffer_ns
            + self.controller_ns
            + self.link_ns
            + self.outage_ns
            + self.flush_ns
            + self.hash_wait_ns
            + self.hash_ns
            + self.cleaning_ns
            + self.die_wait_ns
            + self.channel_wait_ns
            + self.transfer_ns
            + self.flash_ns
            + self.suspend_ns
    }

    /// What cleaning caused of it.
    #[inline]
    pub fn cleaning_total_ns(&self) -> u64 {
        self.queue_of_which_cleaning_ns
            + self.buffer_of_which_cleaning_ns
            + self.cleaning_ns
            + self.die_wait_of_which_cleaning_ns
            + self.channel_wait_of_which_cleaning_ns
    }

    /// The share of it that cleaning caused.
    #[inline]
    pub(super) fn cleaning_share(&self) -> Share {
        match self.cleaning_total_ns() {
            0 => Share(0),
            cleaning_ns => Share(((u128::from(cleaning_ns) << 16) / u128::from(self.total_ns())) as u32),
        }
    }

    /// All fields, in order.
    #[inline]
    pub fn values(&self) -> [u64; PARTS] {
        [
            self.queue_ns,
            self.queue_of_which_cleaning_ns,
            self.buffer_ns,
            self.buffer_of_which_cleaning_ns,
            self.controller_ns,
            self.link_ns,
            self.outage_ns,
            self.flush_ns,
            self.hash_wait_ns,
            self.hash_ns,
            self.cleaning_ns,
            self.die_wait_ns,
            self.die_wait_of_which_cleaning_ns,
            self.channel_wait_ns,
            self.channel_wait_of_which_cleaning_ns,
            self.transfer_ns,
            self.flash_ns,
            self.suspend_ns,
        ]
    }

    /// The fields' names, in the order of [`Parts::values`].
    pub const NAMES: [&'static str; PARTS] = [
        "queue_ns",
        "queue_of_which_cleaning_ns",
        "buffer_ns",
        "buffer_of_which_cleaning_ns",
        "controller_ns",
        "link_ns",
        "outage_ns",
        "flush_ns",
        "hash_wait_ns",
        "hash_ns",
        "cleaning_ns",
        "die_wait_ns",
        "die_wait_of_which_cleaning_ns",
        "channel_wait_ns",
        "channel_wait_of_which_cleaning_ns",
        "transfer_ns",
        "flash_ns",
        "suspend_ns",
    ];
}

impl std::ops::Add for Parts {
    type Output = Parts;

    /// Field by field.
    fn add(self, other: Parts) -> Parts {
        Parts {
            queue_ns: self.queue_ns + other.queue_ns,
            queue_of_which_cleaning_ns: self.queue_of_which_cleaning_ns + other.queue_of_which_cleaning_ns,
            buffer_ns: self.buffer_ns + other.buffer_ns,
            buffer_of_which_cleaning_ns: self.buffer_of_which_cleaning_ns + other.buffer_of_which_cleaning_ns,
            controller_ns: self.controller_ns + other.controller_ns,
            link_ns: self.link_ns + other.link_ns,
            outage_ns: self.outage_ns + other.outage_ns,
            flush_ns: self.flush_ns + other.flush_ns,
            hash_wait_ns: self.hash_wait_ns + other.hash_wait_ns,
            hash_ns: self.hash_ns + other.hash_ns,
            cleaning_ns: self.cleaning_ns + other.cleaning_ns,
            die_wait_ns: self.die_wait_ns + other.die_wait_ns,
            die_wait_of_which_cleaning_ns: self.die_wait_of_which_cleaning_ns
                + other.die_wait_of_which_cleaning_ns,
            channel_wait_ns: self.channel_wait_ns + other.channel_wait_ns,
            channel_wait_of_which_cleaning_ns: self.channel_wait_of_which_cleaning_ns
                + other.channel_wait_of_which_cleaning_ns,
            transfer_ns: self.transfer_ns + other.transfer_ns,
            flash_ns: self.flash_ns + other.flash_ns,
            suspend_ns: self.suspend_ns + other.suspend_ns,
        }
    }
}
