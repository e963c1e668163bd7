//! The spare areas of pages: what a store must find there to rebuild its tables after a power cut.

use crate::counters::Cause;
use crate::layer::{Group, MediumError, Run};
use crate::units::{BlockId, Lpn, StreamId};

/// What a page's spare area says about the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The logical page stored here.
    pub owner: Lpn,
    /// Its number among all pages the store ever appended: of two copies the higher is the newer.
    pub sequence: u64,
    /// The stream it was appended to.
    pub stream: StreamId,
    /// Why it was written.
    pub cause: Cause,
    /// Whether it belongs to a group that its host's next page goes on with: if that is missing, it does not count.
    pub group_goes_on: bool,
}

/// The spare areas of all blocks, allocated block by block as they are programmed.
pub struct SpareArea {
    pages_per_block: usize,
    blocks: Vec<Vec<Spare>>,
}

impl SpareArea {
    pub(super) fn new(blocks: u32, pages_per_block: u32) -> Self {
        SpareArea { pages_per_block: pages_per_block as usize, blocks: vec![Vec::new(); blocks as usize] }
    }

    pub(super) fn write<P>(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, P>,
    ) -> Result<(), MediumError> {
        let every = |owners: &&[Lpn]| owners.len() == run.data.len();
        let owners = run.owners.filter(every).ok_or(MediumError::OwnersMissing { block: block.0 })?;
        let spares = &mut self.blocks[block.index()];
        debug_assert_eq!(spares.len(), page as usize);
        spares.reserve_exact(self.pages_per_block - spares.len());
        let last = run.sequence + (run.data.len() as u64).saturating_sub(1);
        spares.extend(owners.iter().zip(run.sequence..).map(|(&owner, sequence)| Spare {
            owner,
            sequence,
            stream: run.stream,
            cause: run.cause,
            group_goes_on: match run.group {
                Group::None => false,
                Group::GoesOn => true,
                Group::Ends => sequence != last,
            },
        }));
        Ok(())
    }

    pub(super) fn erase(&mut self, block: BlockId) {
        self.blocks[block.index()] = Vec::new();
    }

    /// The spare areas of the pages programmed in `block`, in page order.
    pub fn block(&self, block: BlockId) -> &[Spare] {
        &self.blocks[block.index()]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|spares| spares.capacity() * size_of::<Spare>()).sum()
    }
}
