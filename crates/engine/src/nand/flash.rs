//! Operations that a recovering FTL needs from flash, beyond those of every medium.

use super::{FillPage, Nand, PageState};
use crate::counters::Cause;
use crate::layer::{Medium, MediumError, Payload};
use crate::units::BlockId;

/// Flash with spare areas that can be read back.
///
/// # Panics
///
/// All methods panic on flash without spare areas ([`Nand::with_spare_area`]) and outside the geometry.
pub trait Flash: Medium {
    /// Returns the content of a page's spare area without cost, for checks.
    fn spare(&self, block: BlockId, page: u32) -> PageState;

    /// Prefetches the spare areas of all pages of the block, which will be read soon.
    fn prefetch_spares(&self, block: BlockId);

    /// Reads the spare area of a page.
    fn read_spare(&mut self, block: BlockId, page: u32, cause: Cause) -> PageState;

    /// Returns the note of the run last programmed into `block`, which is read with the spare areas of its pages.
    fn note(&self, block: BlockId) -> u64;

    /// True if the flash is stored outside the simulation and therefore needs the bytes of an FTL's metadata pages.
    fn needs_page_bytes(&self) -> bool;

    /// Stores the bytes that `fill` writes as content of the last programmed page, a metadata page of the FTL. Called
    /// only if [`Flash::needs_page_bytes`], before any other operation.
    fn store_page_bytes(
        &mut self,
        block: BlockId,
        page: u32,
        fill: &mut FillPage<'_>,
    ) -> Result<(), MediumError>;

    /// Simulates a power cut while the next page of `block` is programmed: the page can be neither read nor
    /// programmed.
    fn tear_program(&mut self, block: BlockId, page: u32);

    /// Simulates a power cut while `block` is erased: its pages can be neither read nor programmed before the next
    /// erase.
    fn tear_erase(&mut self, block: BlockId);

    /// Ends a step of recovery whose result the next step needs; used by timed flash.
    fn recovery_step_ended(&mut self);

    /// Returns the index of the page of `block` to be programmed next, for checks; `None` for a bad block.
    fn next_page(&self, block: BlockId) -> Option<u32>;
}

impl<P: Payload> Nand<P> {
    fn spares(&self) -> &super::SpareArea {
        self.spare.as_ref().expect("flash with spare areas")
    }
}

impl<P: Payload> Flash for Nand<P> {
    #[inline(always)]
    fn spare(&self, block: BlockId, page: u32) -> PageState {
        self.spares().page(block, page)
    }

    fn prefetch_spares(&self, block: BlockId) {
        self.spares().prefetch(block);
    }

    #[inline(always)]
    fn read_spare(&mut self, block: BlockId, page: u32, _cause: Cause) -> PageState {
        self.spare_reads += 1;
        self.spare(block, page)
    }

    fn note(&self, block: BlockId) -> u64 {
        self.spares().note(block)
    }

    fn needs_page_bytes(&self) -> bool {
        self.storage.is_some()
    }

    fn store_page_bytes(
        &mut self,
        block: BlockId,
        page: u32,
        fill: &mut FillPage<'_>,
    ) -> Result<(), MediumError> {
        self.storage.as_mut().map_or(Ok(()), |backing| backing.store_page_bytes(block, page, fill))
    }

    fn tear_program(&mut self, block: BlockId, page: u32) {
        self.mark_unreadable(block, page);
    }

    fn tear_erase(&mut self, block: BlockId) {
        let pages = self.geometry.pages_per_block;
        if let Some(backing) = &mut self.storage {
            backing.mark_unreadable(block, 0, pages);
        }
        self.erase_spare(block);
        self.spare.as_mut().expect("flash with spare areas").mark_unreadable(block, pages);
        self.blocks[block.index()].next_page = pages;
    }

    fn recovery_step_ended(&mut self) {}

    fn next_page(&self, block: BlockId) -> Option<u32> {
        Nand::next_page(self, block)
    }
}
