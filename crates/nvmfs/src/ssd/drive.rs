//! Statistics of a simulated drive and its flash.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Statistics of a simulated drive since the file system was opened; a page is a mapping unit of the drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// Layers of the stack, the FTL last.
    pub layers: Vec<DriveLayer>,
    /// Pages programmed on flash, divided by pages that the file system wrote; `None` if it wrote none.
    pub write_amplification: Option<f64>,
    /// Number of pages programmed.
    pub programs: u64,
    /// Number of pages read.
    pub reads: u64,
    /// Number of blocks erased.
    pub erases: u64,
    /// Smallest erase count of a block since the drive was new.
    #[serde(alias = "least_erases")]
    pub min_erases: u32,
    /// Mean erase count of the blocks.
    pub mean_erases: f64,
    /// Largest erase count of a block.
    #[serde(alias = "most_erases")]
    pub max_erases: u32,
    /// Number of blocks that are bad from the factory or worn out.
    pub bad_blocks: u32,
    /// Number of blocks of the flash.
    pub blocks: u32,
}

/// Statistics of a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveLayer {
    /// Name of the layer in the scenario.
    pub name: String,
    /// Number of pages written to the layer.
    pub written_pages: u64,
    /// Number of pages that the layer wrote to the layer below, by cause.
    pub writes_below: BTreeMap<String, u64>,
}
