//! Dies of pages, without dividing.

use super::layout::Layout;
use crate::units::{BlockId, Divider};

/// [`Layout::place`] for those who want the die alone, and often.
#[derive(Debug)]
pub(super) struct Placer {
    layout: Layout,
    units: Divider,
    all_dies: Divider,
    /// Dies in the order in which consecutive blocks go to them.
    dies: Vec<u32>,
}

impl Placer {
    pub fn new(layout: &Layout) -> Self {
        let first_plane = Layout { superblock_blocks: 1, ..*layout };
        Placer {
            layout: *layout,
            units: Divider::new(layout.units_per_page),
            all_dies: Divider::new(layout.all_dies()),
            dies: (0..layout.all_dies()).map(|block| first_plane.place(BlockId(block), 0).die).collect(),
        }
    }

    /// The flash page of unit `page`; whether the `units` units from there on lie in it, and whether they fill it up.
    #[inline]
    pub fn flash_page(&self, page: u32, units: u32) -> (u32, bool, bool) {
        let flash_page = self.units.quotient(page);
        let (end, page_end) = (page + units, (flash_page + 1) * self.units.divisor());
        (flash_page, units > 0 && end <= page_end, end == page_end)
    }

    /// The die of a flash page.
    #[inline]
    pub fn die(&self, block: BlockId, flash_page: u32) -> u32 {
        if self.layout.superblock_blocks > self.layout.planes {
            return self.layout.place(block, flash_page).die;
        }
        let round = self.all_dies.quotient(block.0) * self.all_dies.divisor();
        self.dies[(block.0 - round) as usize]
    }
}
