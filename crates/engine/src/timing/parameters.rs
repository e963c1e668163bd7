//! What the flash's operations take, and who goes first.

use super::layout::Layout;
use crate::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest single time that is accepted: an hour. Sums of such times stay far from the end of a `u64`.
pub(super) const LONGEST_NS: u64 = 3_600_000_000_000;

/// Where operations wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contention {
    /// For dies and for the channels between them and the controller.
    Channel,
    /// For dies only: transfers take their time but never wait. Much cheaper to simulate.
    Die,
}

/// Which waiting operation a die does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// The one that came first.
    Fcfs,
    /// The host's reads before everything else, each group in order of arrival.
    ReadFirst,
}

/// Which operations of a die step back for a host's read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspend {
    /// Erases do.
    pub erase: bool,
    /// Programs do.
    pub program: bool,
    /// From the read's arrival until it can begin, nanoseconds.
    pub suspend_ns: u64,
    /// Added to what is left of the operation each time it goes on, nanoseconds.
    pub resume_ns: u64,
}

/// Spare areas that are as long as a page, and take as long to read (GeckoFTL, section 2).
pub const SPARES_PER_PAGE: u64 = 32;

/// The engines that hash pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashEngine {
    /// How many work beside each other; at least 1.
    pub engines: u32,
    /// Nanoseconds a page.
    pub hash_ns: u64,
}

/// The flash device in time: its shape and what everything takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashTiming {
    /// Where pages lie.
    pub layout: Layout,
    /// From array to page register (`tR`), whatever the number of planes.
    pub read_ns: u64,
    /// The spare area of a page, without the page.
    pub spare_read_ns: u64,
    /// From page register to array (`tPROG`).
    pub program_ns: u64,
    /// Erase of a block (`tBERS`).
    pub erase_ns: u64,
    /// Command and address on the channel, for each operation of a die.
    pub command_ns: u64,
    /// One mapping unit and its share of the spare area over the channel.
    pub unit_transfer_ns: u64,
    /// What operations wait for.
    pub contention: Contention,
    /// Who goes first.
    pub priority: Priority,
    /// What host reads may interrupt.
    pub suspend: Suspend,
    /// Whether the planes of a die work together, where the pages allow it.
    pub multi_plane: bool,
    /// Whether a page that cleaning moves within its plane stays on the die.
    pub copyback: bool,
    /// Whether so much is kept erased that no program waits for the erase of its own block, as in drives that keep whole superblocks
    /// over all dies erased, of which such a block is a share.
    pub erase_ahead: bool,
    /// Who hashes.
    pub hash: HashEngine,
}

impl FlashTiming {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.layout.check()?;
        let times = [
            ("read_ns", self.read_ns),
            ("spare_read_ns", self.spare_read_ns),
            ("program_ns", self.program_ns),
            ("erase_ns", self.erase_ns),
            ("command_ns", self.command_ns),
            ("unit_transfer_ns", self.unit_transfer_ns),
            ("suspend_ns", self.suspend.suspend_ns),
            ("resume_ns", self.suspend.resume_ns),
            ("hash_ns", self.hash.hash_ns),
        ];
        if let Some((key, time)) = times.iter().find(|(_, time)| *time > LONGEST_NS) {
            return Err(ConfigError::new(*key, format!("{time} is more than an hour")));
        }
        if self.hash.engines == 0 {
            return Err(ConfigError::new("hash.engines", "must be at least 1"));
        }
        Ok(())
    }

    /// Time of a spare area on the channel: it is taken to be so much smaller than its page.
    pub(super) fn spare_channel_ns(&self) -> u64 {
        self.command_ns + self.unit_transfer_ns.div_ceil(SPARES_PER_PAGE)
    }

    /// Whether the end of each operation is known as soon as it arrives.
    pub(super) fn is_folded(&self) -> bool {
        self.contention == Contention::Die && self.is_eager()
    }

    /// Whether a die's next operation is known before the one in front of it has ended.
    pub(super) fn is_eager(&self) -> bool {
        self.priority == Priority::Fcfs && !self.suspend.erase && !self.suspend.program
    }
}
