//! What is where, for whoever wants to look at it: it costs a walk over everything.

use super::{State, Store, extents, pages};
use crate::api::Ino;
use crate::layout::{EXTENT_BLOCKS, PageId};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// A block of a file.
pub type FileBlock = (Ino, u32);

/// What is where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Blocks of files on the NVRAM that are nowhere else, those used last first.
    pub dirty: Vec<FileBlock>,
    /// Those that are on the SSD too, in the same order.
    pub clean: Vec<FileBlock>,
    /// Pages of the NVRAM that are free.
    pub free_pages: u32,
    /// Of each block of the SSD, whose it is, if it is valid.
    pub ssd: Vec<Option<FileBlock>>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// What is where now.
    pub fn look(&self) -> Look {
        let owned = |block: u64| {
            let owner = extents::owner_of(&self.region, block);
            (extents::bit(&self.region, block) && owner.0.0 != 0).then_some(owner)
        };
        Look {
            dirty: self.listed(State::Dirty),
            clean: self.listed(State::Clean),
            free_pages: self.pages.count(State::Free),
            ssd: (0..u64::from(self.region.areas.extents()) * EXTENT_BLOCKS).map(owned).collect(),
        }
    }

    /// The blocks of a list, from the most recently used on.
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
