//! Which drives come back from their flash alone, where it is kept outside of the simulation.

use crate::layers::Features;
use crate::scenario::Scenario;
use crate::scenario::resolve::ResolvedScenario;

/// Why a drive with this feature does not come back from kept flash, besides what speaks against power cuts.
const REASONS: [(&str, &str); 6] = [
    ("under_layer", "a log above keeps its tables in RAM, and how it would find them again is not simulated"),
    ("wear_levelling", "wear levelling goes by when blocks were erased, which is not kept in flash"),
    ("program_failures", "which program fails next is no property of flash that could be kept"),
    ("read_disturb", "how often blocks were read is not kept in flash"),
    ("zones", "a zoned drive has no map to come back with, and its write pointers are not kept in flash"),
    ("block_directory", "a directory of blocks does not know whose pages are where"),
];

/// What has to be known of a drive to keep its flash outside of the simulation.
#[derive(Clone, Debug)]
pub struct KeptPlan {
    /// Its scenario, with every default filled in.
    pub scenario: Scenario,
    /// Erase blocks.
    pub blocks: u32,
    /// Pages of each.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Whether equal contents are stored once.
    pub shares_contents: bool,
    /// Why it would not come back from its flash, if it would not.
    pub refusal: Option<&'static str>,
}

impl KeptPlan {
    /// Of a live drive.
    pub(crate) fn of(resolved: &ResolvedScenario) -> Self {
        let geometry = &resolved.device.geometry;
        KeptPlan {
            scenario: resolved.scenario.clone(),
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            shares_contents: resolved.scenario.holds_content(),
            refusal: refusal(&resolved.ftl.features),
        }
    }
}

fn refusal(features: &Features) -> Option<&'static str> {
    let own = REASONS.iter().find(|(feature, _)| features.has(feature)).map(|(_, reason)| *reason);
    own.or_else(|| features.against_cuts())
}
