//! Reports of flash translation layers, beyond those of every layer.

use crate::counters::Cause;

/// RAM that one structure occupies in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamPart {
    /// Name of the structure.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: u64,
}

/// Flash operations of one step of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStep {
    /// Name of the step.
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

/// Work of an FTL to recover from a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Steps of the recovery, in order.
    pub steps: Vec<RecoveryStep>,
}

/// A recovery in progress: computes the cost of each step from running totals of flash operations.
#[derive(Default)]
pub(crate) struct RecoverySteps {
    /// The completed steps.
    pub report: RecoveryReport,
    previous_totals: [u64; 4],
}

impl RecoverySteps {
    /// Continues `report`; `totals` are the current totals of spare areas read, pages read, pages programmed and blocks
    /// erased.
    pub fn resume(report: RecoveryReport, totals: [u64; 4]) -> Self {
        RecoverySteps { report, previous_totals: totals }
    }

    /// Ends the step `name`; `totals` are the totals at its end.
    pub fn end_step(&mut self, name: &'static str, totals: [u64; 4]) {
        let [spare_reads, page_reads, page_writes, erases] =
            std::array::from_fn(|at| totals[at] - self.previous_totals[at]);
        self.previous_totals = totals;
        self.report.steps.push(RecoveryStep { name, spare_reads, page_reads, page_writes, erases });
    }
}

/// Report of an FTL whose tables are in flash or whose map is coarse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FtlReport {
    /// Name of the FTL.
    pub kind: &'static str,
    /// RAM that the modelled drive needs.
    pub ram: Vec<RamPart>,
    /// Events by name, such as the merges of each kind.
    pub counts: Vec<(&'static str, u64)>,
    /// Spare areas read without their pages, by cause.
    pub spare_reads: [u64; Cause::ALL.len()],
    /// Recovery from the last power cut, if there was one.
    pub recovery: Option<RecoveryReport>,
}
