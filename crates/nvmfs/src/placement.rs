//! Where data is kept: the choice between file systems that share everything else.

use serde::{Deserialize, Serialize};

/// Where the blocks of files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlacementKind {
    /// By use: what is written stays on NVRAM while it is hot; what cools moves to the SSD, never over what is there
    /// (sections III-B and III-C).
    #[default]
    Nvmfs,
    /// By size, as in Wang et al., "The Conquest file system" (ACM TOS 2006): small files stay on NVRAM for good, blocks of
    /// large files have a place on the SSD and are written there, over what was there before.
    Conquest,
}

impl PlacementKind {
    /// All of them.
    pub const ALL: [PlacementKind; 2] = [PlacementKind::Nvmfs, PlacementKind::Conquest];

    /// Whether a block that is on the SSD is written there again, over what was there.
    pub fn updates_in_place(self) -> bool {
        self == PlacementKind::Conquest
    }

    /// Whether small files stay on NVRAM, used or not.
    pub fn keeps_small_files(self) -> bool {
        self == PlacementKind::Conquest
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            PlacementKind::Nvmfs => 1,
            PlacementKind::Conquest => 2,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<PlacementKind> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}
