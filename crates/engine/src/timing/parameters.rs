//! Durations of flash operations, and their priorities.

use super::layout::Layout;
use crate::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest single time that is accepted: an hour. Sums of such times stay far from the end of a `u64`.
pub(super) const MAX_TIME_NS: u64 = 3_600_000_000_000;

/// Resources that operations contend for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contention {
    /// Dies, and the channels between dies and controller.
    Channel,
    /// Dies only: transfers take time but never wait. This is much faster to simulate.
    Die,
}

/// Order in which a die runs waiting operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// First come, first served.
    Fcfs,
    /// Host reads before all other operations; order of arrival within each group.
    ReadFirst,
}

/// Operations of a die that a host read may suspend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspend {
    /// True if erases can be suspended.
    pub erase: bool,
    /// True if programs can be suspended.
    pub program: bool,
    /// Nanoseconds from the read's arrival until it can begin.
    pub suspend_ns: u64,
    /// Nanoseconds added to the remaining time of the operation at each resume.
    pub resume_ns: u64,
}

/// Number of spare areas that are together as long as a page and take as long to read (GeckoFTL, section 2).
pub const SPARES_PER_PAGE: u64 = 32;

/// The engines that hash pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashEngine {
    /// Number of engines that work in parallel; at least 1.
    pub engines: u32,
    /// Nanoseconds per page.
    pub hash_ns: u64,
}

/// Parameters of the flash device: its layout and the durations of all operations in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashTiming {
    /// Location of pages.
    pub layout: Layout,
    /// Array to page register (`tR`), for any number of planes.
    pub read_ns: u64,
    /// Reading the spare area of a page, without the page.
    pub spare_read_ns: u64,
    /// Page register to array (`tPROG`).
    pub program_ns: u64,
    /// Erase of a block (`tBERS`).
    pub erase_ns: u64,
    /// Command and address on the channel, for each operation of a die.
    pub command_ns: u64,
    /// Transfer of one mapping unit and its part of the spare area over the channel.
    pub unit_transfer_ns: u64,
    /// Resources that operations contend for.
    pub contention: Contention,
    /// Order in which a die runs waiting operations.
    pub priority: Priority,
    /// Operations that host reads may suspend.
    pub suspend: Suspend,
    /// True if the planes of a die work together, where the pages allow it.
    pub multi_plane: bool,
    /// True if a page that cleaning moves within its plane stays on the die.
    pub copyback: bool,
    /// True if no program waits for the erase of its block: drives erase whole superblocks over all dies in advance,
    /// and such a block is a part of a superblock.
    pub erase_ahead: bool,
    /// Hash engines.
    pub hash: HashEngine,
}

impl FlashTiming {
    /// Rejects invalid parameters.
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
        if let Some((key, time)) = times.iter().find(|(_, time)| *time > MAX_TIME_NS) {
            return Err(ConfigError::new(*key, format!("{time} is more than an hour")));
        }
        if self.hash.engines == 0 {
            return Err(ConfigError::new("hash.engines", "must be at least 1"));
        }
        Ok(())
    }

    /// Returns the channel time of a spare area, which is taken to be 1 / [`SPARES_PER_PAGE`] of a unit.
    pub(super) fn spare_channel_ns(&self) -> u64 {
        self.command_ns + self.unit_transfer_ns.div_ceil(SPARES_PER_PAGE)
    }

    /// True if the end of each operation is known on arrival.
    pub(super) fn has_known_ends(&self) -> bool {
        self.contention == Contention::Die && self.is_fifo()
    }

    /// True if a die's next operation is known before the current one has ended.
    pub(super) fn is_fifo(&self) -> bool {
        self.priority == Priority::Fcfs && !self.suspend.erase && !self.suspend.program
    }
}
