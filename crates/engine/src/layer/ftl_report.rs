//! What flash translation layers report of themselves, beyond what every layer does.

use crate::counters::Cause;

/// RAM that a structure takes in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamPart {
    /// The structure.
    pub name: &'static str,
    /// Its size, bytes.
    pub bytes: u64,
}

/// Flash operations of one step of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStep {
    /// What was done.
    pub name: &'static str,
    /// Spare areas read without their pages.
    pub spare_reads: u64,
    /// Pages read.
    pub page_reads: u64,
    /// Pages programmed.
    pub page_writes: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// What an FTL did to come back after a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Its steps, in order.
    pub steps: Vec<RecoveryStep>,
}

/// What only an FTL whose tables live in flash, or whose map is coarse, has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FtlReport {
    /// Which FTL.
    pub kind: &'static str,
    /// RAM that the modelled drive needs.
    pub ram: Vec<RamPart>,
    /// Events by name, such as the merges of each kind.
    pub counts: Vec<(&'static str, u64)>,
    /// Spare areas read without their pages, by the number of the cause.
    pub spare_reads: [u64; Cause::ALL.len()],
    /// How it came back after the last power cut, if there was one.
    pub recovery: Option<RecoveryReport>,
}
