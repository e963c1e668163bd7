//! Placement policy for data. It is the only difference between NVMFS and Conquest as implemented in this crate.

use serde::{Deserialize, Serialize};

/// Placement of the blocks of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlacementKind {
    /// By use: hot data stays on NVRAM; cold data moves to the SSD and is never overwritten in place there
    /// (sections III-B and III-C).
    #[default]
    Nvmfs,
    /// By size, as in Wang et al., "The Conquest file system" (ACM TOS 2006). Small files stay on NVRAM
    /// permanently. Blocks of large files have a fixed place on the SSD and are overwritten there in place.
    Conquest,
}

impl PlacementKind {
    /// All placement policies.
    pub const ALL: [PlacementKind; 2] = [PlacementKind::Nvmfs, PlacementKind::Conquest];

    /// True if a block on the SSD is overwritten in place.
    pub fn updates_in_place(self) -> bool {
        self == PlacementKind::Conquest
    }

    /// True if small files always stay on NVRAM, even if they are cold.
    pub fn keeps_small_files(self) -> bool {
        self == PlacementKind::Conquest
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            PlacementKind::Nvmfs => 1,
            PlacementKind::Conquest => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<PlacementKind> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}
