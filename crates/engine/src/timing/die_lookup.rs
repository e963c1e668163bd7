//! Fast lookup of the die of a page, without divisions.

use super::layout::{Layout, Striping};
use crate::units::{BlockId, Divider};

/// Fast version of [`Layout::place`] that returns only the die.
#[derive(Debug)]
pub(super) struct DieLookup {
    layout: Layout,
    units: Divider,
    /// Number of units that are programmed together.
    jointly_programmed_units: Divider,
    /// Flash pages of a block with [`Striping::Drive`]; otherwise 1, because consecutive blocks go to different dies.
    pages: u32,
    /// Number of entries of `dies`.
    period: Divider,
    /// Dies in the order in which consecutive blocks or, with [`Striping::Drive`], consecutive pages are assigned to
    /// them.
    dies: Vec<u32>,
}

impl DieLookup {
    pub fn new(layout: &Layout, multi_plane: bool) -> Self {
        let is_striped = layout.striping == Striping::Drive;
        let first_plane = Layout { superblock_blocks: 1, ..*layout };
        let period = layout.all_dies() * if is_striped { layout.planes } else { 1 };
        let pages = if is_striped { layout.pages_per_block / layout.units_per_page } else { 1 };
        let die_of = |nth: u32| first_plane.locate(BlockId(nth / pages), nth % pages).die;
        DieLookup {
            layout: *layout,
            units: Divider::new(layout.units_per_page),
            jointly_programmed_units: Divider::new(
                layout.units_per_page * layout.jointly_programmed_pages(multi_plane),
            ),
            pages,
            period: Divider::new(period),
            dies: (0..period).map(die_of).collect(),
        }
    }

    /// Returns the flash page of unit `page`. The first flag is true if the `units` units from `page` on lie in this
    /// flash page; the second is true if they complete the flash page, so that it is programmed.
    #[inline]
    pub fn flash_page(&self, page: u32, units: u32) -> (u32, bool, bool) {
        let flash_page = self.units.quotient(page);
        let (end, page_end) = (page + units, (flash_page + 1) * self.units.divisor());
        let programs =
            self.jointly_programmed_units.quotient(end) * self.jointly_programmed_units.divisor() == end;
        (flash_page, units > 0 && end <= page_end, end == page_end && programs)
    }

    /// Returns the die of a flash page.
    #[inline]
    pub fn die(&self, block: BlockId, flash_page: u32) -> u32 {
        let is_striped = self.layout.striping == Striping::Drive;
        if !is_striped && self.layout.superblock_blocks > self.layout.planes {
            return self.layout.locate(block, flash_page).die;
        }
        let nth = if is_striped { block.0 * self.pages + flash_page } else { block.0 };
        let before = self.period.quotient(nth) * self.period.divisor();
        self.dies[(nth - before) as usize]
    }
}
