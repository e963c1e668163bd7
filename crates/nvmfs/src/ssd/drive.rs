//! What the flash of a simulated drive had to do.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a simulated drive did since the file system was opened; pages are its mapping units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// Its layers, the FTL last.
    pub layers: Vec<DriveLayer>,
    /// Programs of the flash over pages that the file system wrote; `None` where it wrote nothing.
    pub write_amplification: Option<f64>,
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Erases of the blocks since the drive was new: the fewest.
    pub least_erases: u32,
    /// Their mean.
    pub mean_erases: f64,
    /// The most.
    pub most_erases: u32,
    /// Blocks bad from the factory or worn out.
    pub bad_blocks: u32,
    /// Blocks of the flash.
    pub blocks: u32,
}

/// What a layer of it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveLayer {
    /// Its name in the scenario.
    pub name: String,
    /// Pages that were written to it.
    pub written_pages: u64,
    /// Pages that it wrote below for it, by cause.
    pub writes_below: BTreeMap<String, u64>,
}
