//! Dies of pages, without dividing.

use super::layout::{Layout, Striping};
use crate::units::{BlockId, Divider};

/// [`Layout::place`] for those who want the die alone, and often.
#[derive(Debug)]
pub(super) struct Placer {
    layout: Layout,
    units: Divider,
    /// Units that are programmed together.
    gathered_units: Divider,
    /// Flash pages of a block, where pages go round the drive; else 1, the blocks do.
    pages: u32,
    /// How many entries `dies` has.
    round: Divider,
    /// Dies in the order in which consecutive blocks go to them, or, with [`Striping::Drive`], consecutive pages.
    dies: Vec<u32>,
}

impl Placer {
    pub fn new(layout: &Layout, multi_plane: bool) -> Self {
        let is_striped = layout.striping == Striping::Drive;
        let first_plane = Layout { superblock_blocks: 1, ..*layout };
        let round = layout.all_dies() * if is_striped { layout.planes } else { 1 };
        let pages = if is_striped { layout.pages_per_block / layout.units_per_page } else { 1 };
        let place = |nth: u32| first_plane.place(BlockId(nth / pages), nth % pages).die;
        Placer {
            layout: *layout,
            units: Divider::new(layout.units_per_page),
            gathered_units: Divider::new(layout.units_per_page * layout.gathered_pages(multi_plane)),
            pages,
            round: Divider::new(round),
            dies: (0..round).map(place).collect(),
        }
    }

    /// The flash page of unit `page`; whether the `units` units from there on lie in it, and whether they make the flash program
    /// it.
    #[inline]
    pub fn flash_page(&self, page: u32, units: u32) -> (u32, bool, bool) {
        let flash_page = self.units.quotient(page);
        let (end, page_end) = (page + units, (flash_page + 1) * self.units.divisor());
        let programs = self.gathered_units.quotient(end) * self.gathered_units.divisor() == end;
        (flash_page, units > 0 && end <= page_end, end == page_end && programs)
    }

    /// The die of a flash page.
    #[inline]
    pub fn die(&self, block: BlockId, flash_page: u32) -> u32 {
        let is_striped = self.layout.striping == Striping::Drive;
        if !is_striped && self.layout.superblock_blocks > self.layout.planes {
            return self.layout.place(block, flash_page).die;
        }
        let nth = if is_striped { block.0 * self.pages + flash_page } else { block.0 };
        let before = self.round.quotient(nth) * self.round.divisor();
        self.dies[(nth - before) as usize]
    }
}
