//! Report of the location of every block; computing it walks all lists and blocks.

use super::{State, Store, extents, pages};
use crate::api::Ino;
use crate::layout::{EXTENT_BLOCKS, PageId};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Block of a file: the inode number and the number of the block within the file.
pub type FileBlock = (Ino, u32);

/// Locations of all blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMap {
    /// Blocks that are only on the NVRAM, most recently used first.
    pub dirty: Vec<FileBlock>,
    /// Blocks on the NVRAM that are also on the SSD, most recently used first.
    pub clean: Vec<FileBlock>,
    /// Number of free pages of the NVRAM.
    pub free_pages: u32,
    /// For each block of the SSD, the file block that it holds, if it is valid.
    pub ssd: Vec<Option<FileBlock>>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the current locations of all blocks.
    pub fn block_map(&self) -> BlockMap {
        let owned = |block: u64| {
            let owner = extents::owner_of(&self.region, block);
            (extents::is_used(&self.region, block) && owner.0.0 != 0).then_some(owner)
        };
        BlockMap {
            dirty: self.listed(State::Dirty),
            clean: self.listed(State::Clean),
            free_pages: self.pages.count(State::Free),
            ssd: (0..u64::from(self.region.areas.extents()) * EXTENT_BLOCKS).map(owned).collect(),
        }
    }

    /// Returns the blocks of a list, most recently used first.
    fn listed(&self, state: State) -> Vec<FileBlock> {
        let mut at = self.pages.last(state);
        let mut blocks: Vec<FileBlock> = std::iter::from_fn(|| {
            let page: PageId = at?;
            at = self.pages.more_recent(&self.region, page);
            Some(pages::owner_of(&self.region, page))
        })
        .collect();
        blocks.reverse();
        blocks
    }
}
