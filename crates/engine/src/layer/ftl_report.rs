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

/// A recovery under way: what its steps cost, from running totals of what was done in flash.
#[derive(Default)]
pub(crate) struct RecoverySteps {
    /// The steps that have ended.
    pub report: RecoveryReport,
    before: [u64; 4],
}

impl RecoverySteps {
    /// After the steps of `report`, when the totals were `done`: spare areas read, pages read and programmed, blocks erased.
    pub fn after(report: RecoveryReport, done: [u64; 4]) -> Self {
        RecoverySteps { report, before: done }
    }

    /// The step `name` has ended, with the totals that are now `done`.
    pub fn end(&mut self, name: &'static str, done: [u64; 4]) {
        let [spare_reads, page_reads, page_writes, erases] =
            std::array::from_fn(|at| done[at] - self.before[at]);
        self.before = done;
        self.report.steps.push(RecoveryStep { name, spare_reads, page_reads, page_writes, erases });
    }
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
