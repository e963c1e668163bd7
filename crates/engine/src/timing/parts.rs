//! Components of the response time of a request.

use serde::{Deserialize, Serialize};

/// Response time of a request in parts, nanoseconds, along the path of the page that ended last.
///
/// Waits and services add up to the response time exactly ([`Parts::total_ns`]). Fields called `of_which` are included
/// in the preceding field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Wait for a place in the queue, before the device took the request.
    pub queue_ns: u64,
    /// Part of the previous field that cleaning caused: the wait, multiplied by a fraction. It is the part that
    /// cleaning caused of the response time of the request that freed the place, including that request's own wait for
    /// a place. Fractions are rounded down to 1/65536, and times to nanoseconds.
    pub queue_of_which_cleaning_ns: u64,
    /// Wait for free space in the write buffer, before the device took the request.
    pub buffer_ns: u64,
    /// Part of the previous field that cleaning caused: the wait, multiplied by a fraction. For the program that freed
    /// the space, it is the part that cleaning caused of the time from the start of its request to the end of the
    /// program. The rounding is the same.
    pub buffer_of_which_cleaning_ns: u64,
    /// Processing by the controller, including the wait for earlier requests; 0 in results of older versions.
    #[serde(default)]
    pub controller_ns: u64,
    /// Transfer on the link between host and device, including waits for the link.
    pub link_ns: u64,
    /// Power cut and recovery of the drive.
    #[serde(default)]
    pub outage_ns: u64,
    /// For a flush: wait for earlier writes to reach the flash.
    pub flush_ns: u64,
    /// Wait for a hash engine.
    pub hash_wait_ns: u64,
    /// Hashing.
    pub hash_ns: u64,
    /// Wait for cleaning that must end first: cleaning in the foreground, or the erase of the block that is written.
    pub cleaning_ns: u64,
    /// Wait for busy dies.
    pub die_wait_ns: u64,
    /// Part of the previous field in which the dies did cleaning.
    pub die_wait_of_which_cleaning_ns: u64,
    /// Wait for busy channels.
    pub channel_wait_ns: u64,
    /// Part of the previous field in which the channels carried pages and commands of cleaning.
    pub channel_wait_of_which_cleaning_ns: u64,
    /// Transfer of commands and pages on the channel.
    pub transfer_ns: u64,
    /// Reading, programming and erasing.
    pub flash_ns: u64,
    /// Suspending another operation for this one, or this one for other operations.
    pub suspend_ns: u64,
}

/// Fraction of a time, in 1/65536.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fraction(u32);

impl Fraction {
    /// Returns this fraction of `time_ns`, rounded down.
    pub fn of(self, time_ns: u64) -> u64 {
        ((u128::from(time_ns) * u128::from(self.0)) >> 16) as u64
    }
}

/// Number of fields of [`Parts`].
pub const PARTS: usize = 18;

impl Parts {
    /// Returns the response time.
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

    /// Returns the part of the response time that cleaning caused.
    #[inline]
    pub fn cleaning_total_ns(&self) -> u64 {
        self.queue_of_which_cleaning_ns
            + self.buffer_of_which_cleaning_ns
            + self.cleaning_ns
            + self.die_wait_of_which_cleaning_ns
            + self.channel_wait_of_which_cleaning_ns
    }

    /// Returns the fraction of the response time that cleaning caused.
    #[inline]
    pub(super) fn cleaning_fraction(&self) -> Fraction {
        match self.cleaning_total_ns() {
            0 => Fraction(0),
            cleaning_ns => Fraction(((u128::from(cleaning_ns) << 16) / u128::from(self.total_ns())) as u32),
        }
    }

    /// Returns all fields, in order.
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

    /// Names of the fields, in the order of [`Parts::values`].
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

    /// Adds field by field.
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
