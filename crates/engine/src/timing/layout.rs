//! Location of a block's pages: dies, planes and channels.

use crate::config::ConfigError;
use crate::nand::superblocks_fit;
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Planes over which the pages of a block are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Striping {
    /// The block's own planes: one, or all of a superblock.
    #[default]
    Block,
    /// All planes of the drive, page by page: first the planes of a die, then the next channel, way and die. The
    /// planes of a die are programmed together, when the last page of their row arrives.
    Drive,
}

/// Distribution of the engine's blocks over the dies.
///
/// Consecutive blocks go to different channels first, then to different ways, dies and planes. In a block made of
/// several physical blocks (a superblock), consecutive flash pages go round its planes: first those of one die, which
/// can then be programmed together, then the next channel, way and die.
///
/// With [`Striping::Drive`], pages go round all planes of the drive in that order, from one block to the next. Large
/// drives do so: their superblocks span all dies. Such a block is the fraction of a superblock that fits a small
/// drive: the location of its pages is that of a large drive. Its erase takes one erase for each of its physical
/// blocks, each on the die that the block would have without striping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Channels.
    pub channels: u32,
    /// Chips (ways) on each channel.
    pub ways: u32,
    /// Dies in each chip.
    pub dies: u32,
    /// Planes in each die.
    pub planes: u32,
    /// Number of physical blocks, one per plane, that form one block of the engine: a divisor of [`Layout::planes`] or
    /// a multiple of it that divides all planes evenly.
    pub superblock_blocks: u32,
    /// Mapping units, which are the engine's pages, in a flash page.
    pub units_per_page: u32,
    /// Units in a block of the engine.
    pub pages_per_block: u32,
    /// Planes over which the pages of a block are spread.
    pub striping: Striping,
}

/// Location of a flash page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashLocation {
    /// The die, numbered channel by channel: `channel * dies_per_channel + way + ways * die of the chip`.
    pub die: u32,
    /// The plane within the die.
    pub plane: u32,
    /// The flash page's number in its physical block; with [`Striping::Drive`] in its plane.
    pub row: u32,
}

impl Layout {
    /// Rejects layouts that cannot be built.
    pub fn check(&self) -> Result<(), ConfigError> {
        let positive = [
            ("channels", self.channels),
            ("ways", self.ways),
            ("dies", self.dies),
            ("planes", self.planes),
            ("superblock_blocks", self.superblock_blocks),
            ("units_per_page", self.units_per_page),
            ("pages_per_block", self.pages_per_block),
        ];
        if let Some((key, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::new(*key, "must be at least 1"));
        }
        if self.units_per_page > 1 << 16 {
            return Err(ConfigError::new("units_per_page", "must be at most 65536"));
        }
        let counts = [self.ways, self.dies, self.planes];
        let all = counts.iter().try_fold(self.channels, |all, &count| all.checked_mul(count));
        let all = match all {
            Some(all) if all <= 1 << 20 => all,
            _ => return Err(ConfigError::new("channels", "more than 1048576 planes in all")),
        };
        let blocks = self.superblock_blocks;
        if !superblocks_fit(blocks, self.planes, all) {
            let problem = format!(
                "{blocks} is neither a divisor of the {} planes of a die nor a multiple of them that divides all {all} planes",
                self.planes
            );
            return Err(ConfigError::new("superblock_blocks", problem));
        }
        let stripe = u64::from(blocks) * u64::from(self.units_per_page);
        if !u64::from(self.pages_per_block).is_multiple_of(stripe) {
            let problem = format!(
                "{} is no multiple of the {stripe} units of one row of its flash pages",
                self.pages_per_block
            );
            return Err(ConfigError::new("pages_per_block", problem));
        }
        let row = self.planes * self.units_per_page;
        if self.striping == Striping::Drive && !self.pages_per_block.is_multiple_of(row) {
            let problem = format!(
                "is \"drive\", for which a block must hold whole rows of a die's planes; {} is no multiple of the {row} units of one",
                self.pages_per_block
            );
            return Err(ConfigError::new("striping", problem));
        }
        Ok(())
    }

    /// Returns the number of flash pages of a die that are programmed together when the last one arrives.
    pub(super) fn jointly_programmed_pages(&self, multi_plane: bool) -> u32 {
        if multi_plane && self.striping == Striping::Drive { self.planes } else { 1 }
    }

    /// Returns the die that erases the `nth` physical block of `block`.
    pub(super) fn erasing_die(&self, block: BlockId, nth: u32) -> u32 {
        Layout { striping: Striping::Block, ..*self }.locate(block, nth).die
    }

    /// Returns the number of dies on each channel.
    pub fn dies_per_channel(&self) -> u32 {
        self.ways * self.dies
    }

    /// Returns the number of dies in total.
    pub fn all_dies(&self) -> u32 {
        self.channels * self.dies_per_channel()
    }

    /// Returns the location of flash page `flash_page` of `block` (the unit's index divided by
    /// [`Layout::units_per_page`]).
    #[inline]
    pub fn locate(&self, block: BlockId, flash_page: u32) -> FlashLocation {
        let all_dies = self.all_dies();
        // In this order the channel changes fastest.
        let (nth_die, plane, row) = if self.striping == Striping::Drive {
            let all_planes = all_dies * self.planes;
            let page = block.0 * (self.pages_per_block / self.units_per_page) + flash_page;
            let position = page % all_planes;
            (position / self.planes, position % self.planes, page / all_planes)
        } else if self.superblock_blocks <= self.planes {
            let group = block.0 / all_dies % (self.planes / self.superblock_blocks);
            let plane = group * self.superblock_blocks + flash_page % self.superblock_blocks;
            (block.0 % all_dies, plane, flash_page / self.superblock_blocks)
        } else {
            let dies = self.superblock_blocks / self.planes;
            let position = flash_page % self.superblock_blocks;
            let group = block.0 % (all_dies / dies);
            (
                group * dies + position / self.planes,
                position % self.planes,
                flash_page / self.superblock_blocks,
            )
        };
        let (channel, die_on_channel) = (nth_die % self.channels, nth_die / self.channels);
        FlashLocation { die: channel * self.dies_per_channel() + die_on_channel, plane, row }
    }

    /// Returns the channel of a die.
    #[inline]
    pub fn channel_of(&self, die: u32) -> u32 {
        die / self.dies_per_channel()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        channels: 2,
        ways: 2,
        dies: 1,
        planes: 2,
        superblock_blocks: 1,
        units_per_page: 1,
        pages_per_block: 64,
        striping: Striping::Block,
    };

    fn locations(layout: &Layout, cells: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
        cells
            .map(|(block, page)| layout.locate(BlockId(block), page))
            .map(|place| (place.die, place.plane))
            .collect()
    }

    #[test]
    fn consecutive_blocks_go_to_other_channels_then_ways_then_planes() {
        LAYOUT.check().unwrap();
        let blocks = locations(&LAYOUT, (0..9).map(|block| (block, 5)));
        assert_eq!(blocks, [(0, 0), (2, 0), (1, 0), (3, 0), (0, 1), (2, 1), (1, 1), (3, 1), (0, 0)]);
        assert_eq!(LAYOUT.locate(BlockId(3), 5).row, 5);
    }

    #[test]
    fn pages_of_a_superblock_rotate_over_its_planes() {
        let die = Layout { superblock_blocks: 2, ..LAYOUT };
        assert_eq!(locations(&die, (0..3).map(|page| (1, page))), [(2, 0), (2, 1), (2, 0)]);
        let half = Layout { superblock_blocks: 4, ..LAYOUT };
        assert_eq!(locations(&half, (0..5).map(|page| (0, page))), [(0, 0), (0, 1), (2, 0), (2, 1), (0, 0)]);
        assert_eq!(locations(&half, (0..4).map(|page| (1, page))), [(1, 0), (1, 1), (3, 0), (3, 1)]);
        assert_eq!(half.locate(BlockId(0), 4).row, 1);
    }

    #[test]
    fn striped_pages_rotate_over_the_drive_across_blocks() {
        let striped = Layout { striping: Striping::Drive, pages_per_block: 6, ..LAYOUT };
        striped.check().unwrap();
        let pages = (0..2).flat_map(|block| (0..6).map(move |page| (block, page)));
        let first = [(0, 0), (0, 1), (2, 0), (2, 1), (1, 0), (1, 1), (3, 0), (3, 1)];
        assert_eq!(locations(&striped, pages), [&first[..], &first[..4]].concat());
        assert_eq!(
            [(0, 5), (1, 1), (1, 2)].map(|(block, page)| striped.locate(BlockId(block), page).row),
            [0, 0, 1]
        );
        // Erases go to the dies that they have without striping.
        let dies = (0..5).map(|block| striped.erasing_die(BlockId(block), 0)).collect::<Vec<_>>();
        assert_eq!(dies, [0, 2, 1, 3, 0]);
        assert_eq!([true, false].map(|multi_plane| striped.jointly_programmed_pages(multi_plane)), [2, 1]);
        assert_eq!(LAYOUT.jointly_programmed_pages(true), 1);
        assert_eq!(Layout { pages_per_block: 7, ..striped }.check().unwrap_err().key, "striping");
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let key = |layout: Layout| layout.check().unwrap_err().key;
        assert_eq!(key(Layout { ways: 0, ..LAYOUT }), "ways");
        assert_eq!(key(Layout { channels: u32::MAX, ..LAYOUT }), "channels");
        assert_eq!(key(Layout { superblock_blocks: 3, ..LAYOUT }), "superblock_blocks");
        assert_eq!(key(Layout { superblock_blocks: 16, ..LAYOUT }), "superblock_blocks");
        assert_eq!(key(Layout { units_per_page: 3, ..LAYOUT }), "pages_per_block");
    }
}
