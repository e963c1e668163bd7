//! Wear: number of erases of each block, their spread and their position.

use serde::{Deserialize, Serialize};
use wearwell_engine::layer::NandReport;

/// Maximum number of classes of the histogram, minus one.
const MAX_ERASE_CLASSES: u32 = 100;
/// Maximum number of groups of neighbouring blocks in the wear map.
const MAX_WEAR_GROUPS: usize = 1024;

/// Wear since the drive was new.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WearResult {
    /// Bad blocks, those from the factory included.
    pub bad_blocks: u32,
    /// Blocks that wore out.
    pub worn_out_blocks: u32,
    /// Mean erases of a block.
    pub erases_mean: f64,
    /// Standard deviation of the blocks' erases.
    pub erases_deviation: f64,
    /// Smallest number of erases of a block.
    pub erases_min: u32,
    /// Median erases of a block.
    pub erases_median: u32,
    /// 99th percentile of the blocks' erases.
    pub erases_p99: u32,
    /// Largest number of erases of a block.
    pub erases_max: u32,
    /// Histogram of the blocks' erases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<EraseHistogram>,
    /// Mean erases of groups of neighbouring blocks, in block order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<WearMap>,
}

/// Histogram of the blocks' erases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EraseHistogram {
    /// Lower end of the first class, in erases.
    pub first: u32,
    /// Width of a class, in erases.
    pub width: u32,
    /// Number of blocks in each class.
    pub blocks: Vec<u32>,
}

/// Erases by position on the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WearMap {
    /// Neighbouring blocks in a group; the last group may have fewer.
    pub blocks_in_group: u32,
    /// Mean erases of the blocks of each group.
    pub erases: Vec<f64>,
}

impl WearResult {
    /// Returns the wear of the flash.
    pub(crate) fn of(nand: &NandReport) -> WearResult {
        let mut counts = nand.erase_counts.clone();
        counts.sort_unstable();
        let blocks = counts.len() as f64;
        let mean = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / blocks;
        let squares: f64 = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum();
        let quantile = |share: f64| counts[((counts.len() - 1) as f64 * share).round() as usize];
        WearResult {
            bad_blocks: nand.bad_blocks,
            worn_out_blocks: nand.worn_out_blocks,
            erases_mean: mean,
            erases_deviation: (squares / blocks).sqrt(),
            erases_min: quantile(0.0),
            erases_median: quantile(0.5),
            erases_p99: quantile(0.99),
            erases_max: quantile(1.0),
            histogram: Some(EraseHistogram::of(&counts)),
            map: Some(WearMap::of(&nand.erase_counts)),
        }
    }
}

impl EraseHistogram {
    /// Builds the histogram from the erases of all blocks, in ascending order.
    fn of(sorted: &[u32]) -> Self {
        let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
        let width = (last - first) / MAX_ERASE_CLASSES + 1;
        let mut blocks = vec![0; ((last - first) / width) as usize + 1];
        sorted.iter().for_each(|erases| blocks[((erases - first) / width) as usize] += 1);
        EraseHistogram { first, width, blocks }
    }
}

impl WearMap {
    /// Builds the map from the erases of all blocks, in block order.
    fn of(erase_counts: &[u32]) -> Self {
        let in_group = erase_counts.len().div_ceil(MAX_WEAR_GROUPS).max(1);
        let mean =
            |group: &[u32]| group.iter().map(|&erases| f64::from(erases)).sum::<f64>() / group.len() as f64;
        WearMap {
            blocks_in_group: in_group as u32,
            erases: erase_counts.chunks(in_group).map(mean).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_counts_every_block_once() {
        let histogram = EraseHistogram::of(&[3, 3, 4, 7]);
        assert_eq!(histogram, EraseHistogram { first: 3, width: 1, blocks: vec![2, 1, 0, 0, 1] });
        let wide: Vec<u32> = (0..1000).collect();
        let histogram = EraseHistogram::of(&wide);
        assert_eq!((histogram.width, histogram.blocks.len()), (10, 100));
        assert_eq!(histogram.blocks.iter().sum::<u32>(), 1000);
    }

    #[test]
    fn neighbouring_blocks_of_large_drives_are_grouped() {
        assert_eq!(WearMap::of(&[5, 1, 2]), WearMap { blocks_in_group: 1, erases: vec![5.0, 1.0, 2.0] });
        let map = WearMap::of(&[[2, 4]; 1024].concat());
        assert_eq!((map.blocks_in_group, map.erases), (2, vec![3.0; 1024]));
        assert_eq!(WearMap::of(&[1; 1025]).erases.len(), 513);
    }
}
