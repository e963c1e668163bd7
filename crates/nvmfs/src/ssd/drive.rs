//! Statistics of the flash of a simulated drive.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Statistics of a simulated drive since the file system was opened; pages are its mapping units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// Layers of the stack, the FTL last.
    pub layers: Vec<DriveLayer>,
    /// Flash programs divided by pages that the file system wrote; `None` if it wrote nothing.
    pub write_amplification: Option<f64>,
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Smallest erase count of a block since the drive was new.
    #[serde(rename = "least_erases")]
    pub min_erases: u32,
    /// Mean erase count of the blocks.
    pub mean_erases: f64,
    /// Largest erase count of a block.
    #[serde(rename = "most_erases")]
    pub max_erases: u32,
    /// Blocks bad from the factory or worn out.
    pub bad_blocks: u32,
    /// Blocks of the flash.
    pub blocks: u32,
}

/// Statistics of a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveLayer {
    /// Name of the layer in the scenario.
    pub name: String,
    /// Pages written to the layer.
    pub written_pages: u64,
    /// Pages that the layer wrote to the layer below, by cause.
    pub writes_below: BTreeMap<String, u64>,
}
