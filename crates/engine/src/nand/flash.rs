//! What an FTL that recovers from power cuts needs of flash, beyond what every medium does.

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
    /// What the spare area of a page says, as the device's own notes: costs nothing, and is for checks.
    fn spare(&self, block: BlockId, page: u32) -> PageState;

    /// The spare areas of all pages of the block will be read soon: a hint.
    fn prefetch_spares(&self, block: BlockId);

    /// Reads the spare area of a page.
    fn read_spare(&mut self, block: BlockId, page: u32, cause: Cause) -> PageState;

    /// The note of the run that was last programmed into `block`, which comes with the spare areas of its pages.
    fn note(&self, block: BlockId) -> u64;

    /// Whether the flash is kept outside of the simulation, so that it wants the bytes of pages that an FTL writes for itself.
    fn keeps_bytes(&self) -> bool;

    /// The page that was programmed last, which the FTL wrote for itself, holds what `fill` puts there. Only asked of flash that
    /// [keeps bytes](Flash::keeps_bytes), before anything else is done with it.
    fn hold(&mut self, block: BlockId, page: u32, fill: &mut FillPage<'_>) -> Result<(), MediumError>;

    /// Power is lost while the next page of `block` is programmed: it can be neither read nor programmed again.
    fn tear_program(&mut self, block: BlockId, page: u32);

    /// Power is lost while `block` is erased: no page of it can be read or programmed until it is erased again.
    fn tear_erase(&mut self, block: BlockId);

    /// A step of recovery has ended, and the next needs what it found: of interest to flash that is timed.
    fn recovery_step_ended(&mut self);

    /// The page that `block` takes next, as a check may ask; `None` for a bad block.
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

    fn keeps_bytes(&self) -> bool {
        self.backing.is_some()
    }

    fn hold(&mut self, block: BlockId, page: u32, fill: &mut FillPage<'_>) -> Result<(), MediumError> {
        self.backing.as_mut().map_or(Ok(()), |backing| backing.hold(block, page, fill))
    }

    fn tear_program(&mut self, block: BlockId, page: u32) {
        self.spoil(block, page);
    }

    fn tear_erase(&mut self, block: BlockId) {
        let pages = self.geometry.pages_per_block;
        if let Some(backing) = &mut self.backing {
            backing.spoil(block, 0, pages);
        }
        self.erase_spare(block);
        self.spare.as_mut().expect("flash with spare areas").spoil(block, pages);
        self.blocks[block.index()].next_page = pages;
    }

    fn recovery_step_ended(&mut self) {}

    fn next_page(&self, block: BlockId) -> Option<u32> {
        Nand::next_page(self, block)
    }
}
