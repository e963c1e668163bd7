//! Drives that can recover from their flash alone, if the flash is stored outside of the simulation.

use crate::layers::{Feature, Features, ZONES};
use crate::scenario::Scenario;
use crate::scenario::resolve::ResolvedScenario;

/// Features with which a drive cannot recover from stored flash, each with the reason. Features that rule out power
/// cuts also rule out this recovery.
const NO_RECOVERY_REASONS: [(Feature, &str); 6] = [
    (Feature::UnderLayer, "a log above keeps its tables in RAM, and their recovery is not simulated"),
    (Feature::WearLevelling, "wear levelling uses the times of erases, which are not stored in flash"),
    (
        Feature::ProgramFailures,
        "the next program failure is drawn by the simulation and is not stored in flash",
    ),
    (Feature::ReadDisturb, "the read counts of blocks are not stored in flash"),
    (ZONES, "a zoned drive has no map to recover, and its write pointers are not kept in flash"),
    (Feature::BlockDirectory, "a directory of blocks does not know whose pages are where"),
];

/// Properties of a drive that are needed to store its flash outside of the simulation.
#[derive(Clone, Debug)]
pub struct StoredFlashPlan {
    /// Scenario of the drive, with every default filled in.
    pub scenario: Scenario,
    /// Number of erase blocks.
    pub blocks: u32,
    /// Number of pages per block.
    pub pages_per_block: u32,
    /// Size of a page in bytes.
    pub page_bytes: u32,
    /// True if equal contents are stored once (deduplication).
    pub shares_contents: bool,
    /// Reason why the drive cannot recover from its flash; `None` if recovery is possible.
    pub no_recovery_reason: Option<&'static str>,
}

impl StoredFlashPlan {
    /// Returns the plan for a live drive.
    pub(crate) fn of(resolved: &ResolvedScenario) -> Self {
        let geometry = &resolved.device.geometry;
        StoredFlashPlan {
            scenario: resolved.scenario.clone(),
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            shares_contents: resolved.scenario.holds_content(),
            no_recovery_reason: no_recovery_reason(&resolved.ftl.features),
        }
    }
}

fn no_recovery_reason(features: &Features) -> Option<&'static str> {
    let feature_reason =
        NO_RECOVERY_REASONS.iter().find(|&&(feature, _)| features.has(feature)).map(|(_, reason)| *reason);
    feature_reason.or_else(|| features.power_cut_conflict())
}
