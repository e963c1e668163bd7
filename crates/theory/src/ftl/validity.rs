//! Flash operations that track valid pages: table 1 of the paper, and figures 9 and 11 by calculation.
//!
//! Table 1 gives orders, O(...). Here the constant factor is 1, so the values compare designs but are not bounds. With
//! S parts an entry of the paper's section 3.2 becomes S entries: V grows (section 3.3), and K becomes K S.

use super::super::mean_field::{MeanField, Structure};
use super::super::selection::DChoices;
use super::super::{Classes, Drive, TheoryError, closed_forms};
use super::{CounterCoverage, FtlDrive};

/// Number of page operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Pages read.
    pub reads: f64,
    /// Pages written.
    pub writes: f64,
}

impl Cost {
    /// Returns writes plus reads over delta (section 5, "Metrics"). The formula printed in that section also divides
    /// the writes, which contradicts all figures.
    pub fn write_amplification(&self, delta: f64) -> f64 {
        self.writes + self.reads / delta
    }
}

/// Returns the logarithm of K S / V to the base T, not rounded; 0 if all entries fit into the buffer.
fn depth(size_ratio: u32, entries: u64, blocks: u64, partitions: u32) -> f64 {
    let ratio = blocks as f64 * f64::from(partitions) / entries as f64;
    (libm::log2(ratio) / libm::log2(f64::from(size_ratio))).max(0.0)
}

/// Returns the amortised cost of reporting an invalid page: T / V log_T(K S / V) reads and writes (section 3.2).
pub fn update_cost(size_ratio: u32, entries: u64, blocks: u64, partitions: u32) -> Cost {
    let merges = f64::from(size_ratio) * depth(size_ratio, entries, blocks, partitions);
    Cost { reads: merges / entries as f64, writes: merges / entries as f64 }
}

/// Returns the cost of a cleaning operation: a read for each level, log_T(K S / V), and the insertion of an entry with
/// the erase flag (section 3.2). Table 1 omits the reads of the insertion.
///
/// A query of all S parts needs no more reads: the parts of a block are adjacent in each run, except where a page
/// boundary divides them.
pub fn query_cost(size_ratio: u32, entries: u64, blocks: u64, partitions: u32) -> Cost {
    let insertion = update_cost(size_ratio, entries, blocks, partitions);
    let reads = depth(size_ratio, entries, blocks, partitions) + insertion.reads;
    Cost { reads, writes: insertion.writes }
}

/// Computes the write amplification of uniform writes for the user's pages alone. The policy is greedy or, without
/// counters, the emptiest of the blocks drawn (the mean field of d choices). A sample of counters is assumed to be as
/// good as all counters.
///
/// Fails for block sizes that the cleaning model refuses.
pub fn cleaning_write_amplification(drive: &FtlDrive) -> Result<f64, TheoryError> {
    let sizes = drive.sizes();
    let model = Drive::new(sizes.pages_per_block, 1.0 - sizes.load)?;
    let CounterCoverage::None { choices } = sizes.counters else { return closed_forms::greedy(&model) };
    let selection = DChoices::new(f64::from(choices))?;
    let field = MeanField::new(model, Classes::uniform(), Structure::Single, &selection)?;
    Ok(field.steady_state()?.write_amplification)
}

/// Returns cleaning operations per logical write: A / B, because each block of written pages requires an erase.
fn cleanings_per_write(drive: &FtlDrive) -> Result<f64, TheoryError> {
    Ok(cleaning_write_amplification(drive)? / f64::from(drive.sizes().pages_per_block))
}

/// Returns queries of the validity store per logical write, not counting the erases of victims.
fn queries_per_write(drive: &FtlDrive) -> Result<f64, TheoryError> {
    Ok(cleanings_per_write(drive)? * f64::from(drive.sizes().counters.queries()))
}

/// Computes the write amplification of a validity bitmap in flash. It is 1 + 1 / delta for the page that each logical
/// write invalidates (section 5.1), and a read for each cleaning operation, which the paper neglects.
///
/// Fails for block sizes that the model of greedy cleaning refuses.
pub fn flash_bitmap_write_amplification(drive: &FtlDrive) -> Result<f64, TheoryError> {
    let delta = drive.delta();
    Ok(1.0 + 1.0 / delta + queries_per_write(drive)? / delta)
}

/// Computes the write amplification of Logarithmic Gecko: an update for each logical write and each cleaning operation,
/// and the queries of the cleaning operations.
///
/// Fails as [`flash_bitmap_write_amplification`] does.
pub fn gecko_write_amplification(drive: &FtlDrive) -> Result<f64, TheoryError> {
    let sizes = drive.sizes();
    let of = (sizes.size_ratio, drive.gecko_entries_per_page(), sizes.blocks, sizes.partitions);
    let update = update_cost(of.0, of.1, of.2, of.3).write_amplification(drive.delta());
    let query = depth(of.0, of.1, of.2, of.3) / drive.delta();
    Ok(update + cleanings_per_write(drive)? * update + queries_per_write(drive)? * query)
}

/// Computes the number of blocks, as its base-2 logarithm, above which Logarithmic Gecko costs more than a bitmap in
/// flash (figure 11), with all other parameters fixed.
///
/// Both costs are linear in the depth x = log_T(K S / V), so there is one crossing, with g cleaning operations and q
/// queries per write:
///
/// `x ((1 + 1/delta) (1 + g) T / V + q / delta) = 1 + 1/delta + q / delta`.
///
/// Keys stay at 32 bits, as in the paper, although 32 bits cannot number that many blocks.
///
/// Fails as [`flash_bitmap_write_amplification`] does.
pub fn crossing_log2_blocks(drive: &FtlDrive) -> Result<f64, TheoryError> {
    let sizes = drive.sizes();
    let (delta, cleanings, queries) = (drive.delta(), cleanings_per_write(drive)?, queries_per_write(drive)?);
    let (entries, size_ratio) = (drive.gecko_entries_per_page() as f64, f64::from(sizes.size_ratio));
    let of_level = (1.0 + 1.0 / delta) * (1.0 + cleanings) * size_ratio / entries + queries / delta;
    let depth = flash_bitmap_write_amplification(drive)? / of_level;
    Ok(depth * libm::log2(size_ratio) + libm::log2(entries / f64::from(sizes.partitions)))
}

#[cfg(test)]
mod tests {
    use super::super::FtlSizes;
    use super::*;

    /// At the crossing, the two cost functions give equal costs for both structures.
    #[test]
    fn both_structures_cost_the_same_at_the_crossing() {
        for (partitions, page_bytes) in [(1, 512), (1, 1024), (2, 512), (4, 512)] {
            let sizes = FtlSizes { partitions, page_bytes, program_us: 300.0, ..FtlSizes::default() };
            let log2 = crossing_log2_blocks(&FtlDrive::new(sizes).unwrap()).unwrap();
            assert!((10.0..40.0).contains(&log2), "out of reach: 2^{log2} blocks");
            let at = FtlDrive::new(FtlSizes { blocks: libm::exp2(log2) as u64, ..sizes }).unwrap();
            let gecko = gecko_write_amplification(&at).unwrap();
            let bitmap = flash_bitmap_write_amplification(&at).unwrap();
            assert!((gecko / bitmap - 1.0).abs() < 1e-3, "{gecko} {bitmap} at 2^{log2} blocks");
        }
    }
}
