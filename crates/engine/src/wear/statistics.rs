//! Wear statistics of a scan of all blocks.

use super::BlockWear;

/// Summary of a value over all blocks; takes 12 bytes in the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Minimum of the value.
    pub min: u32,
    /// Maximum of the value.
    pub max: u32,
    /// Mean of the value, rounded down.
    pub average: u32,
}

/// Global statistics (paper, App. D: 24 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Erase counts.
    pub erases: Summary,
    /// Ages: number of erases in the whole device since the block was last erased.
    pub ages: Summary,
}

/// Summary to which values are still added.
#[derive(Clone, Copy, Debug)]
struct RunningSummary {
    min: u32,
    max: u32,
    total: u64,
}

impl RunningSummary {
    const EMPTY: RunningSummary = RunningSummary { min: u32::MAX, max: 0, total: 0 };

    fn add(&mut self, value: u32) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.total += u64::from(value);
    }

    fn summary(&self, blocks: u32) -> Summary {
        Summary { min: self.min, max: self.max, average: (self.total / u64::from(blocks)) as u32 }
    }
}

/// Statistics to which blocks are still added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accumulator {
    blocks: u32,
    erases: RunningSummary,
    ages: RunningSummary,
}

impl Accumulator {
    /// Size in the device, in bytes: the number of blocks, and two bounds and a sum for each of two values.
    pub const BYTES: u64 = 4 + 2 * (4 + 4 + 8);

    pub const EMPTY: Accumulator =
        Accumulator { blocks: 0, erases: RunningSummary::EMPTY, ages: RunningSummary::EMPTY };

    /// Adds a block; the device has performed `erases` erases so far.
    pub fn add(&mut self, wear: BlockWear, erases: u32) {
        self.blocks += 1;
        self.erases.add(wear.erases);
        self.ages.add(erases - wear.erased_at);
    }

    /// Returns the statistics, if there were any blocks.
    pub fn statistics(&self) -> Option<Statistics> {
        let Accumulator { blocks, erases, ages } = self;
        (*blocks > 0).then(|| Statistics { erases: erases.summary(*blocks), ages: ages.summary(*blocks) })
    }
}
