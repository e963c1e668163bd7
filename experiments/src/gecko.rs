//! What the experiments on GeckoFTL share: its model's drives and their sums.

use crate::Failure;
use wearwell_theory::ftl::{Ftl, FtlDrive, FtlSizes, RamPart, Step, ram, recovery};

/// Blocks of 128 pages of 4 KiB: 512 KiB.
const LOG2_BLOCK_BYTES: u32 = 19;

/// The paper's drive (section 5) with a capacity of 2^`log2_bytes`, Gecko entries in `partitions` parts.
pub fn drive(log2_bytes: u32, partitions: u32) -> Result<FtlDrive, Failure> {
    let blocks = 1 << (log2_bytes - LOG2_BLOCK_BYTES);
    Ok(FtlDrive::new(FtlSizes { blocks, partitions, ..FtlSizes::default() })?)
}

/// RAM by structure, of the FTL as it was published.
pub fn ram_of(ftl: Ftl, drive: &FtlDrive) -> Vec<RamPart> {
    ram(&ftl.design(None), drive)
}

/// Recovery by step, of the FTL as it was published.
pub fn recovery_of(ftl: Ftl, drive: &FtlDrive) -> Vec<Step> {
    recovery(&ftl.design(None), drive)
}

/// All of its RAM, MiB.
pub fn ram_mib(ftl: Ftl, drive: &FtlDrive) -> f64 {
    mib(ram_of(ftl, drive).iter().map(|part| part.bytes).sum())
}

/// All of its recovery, seconds.
pub fn recovery_s(ftl: Ftl, drive: &FtlDrive) -> f64 {
    recovery_of(ftl, drive).iter().map(|step| step.seconds(drive)).sum()
}

/// Bytes in MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_has_the_capacity_asked_for() {
        for log2_bytes in [30, 41, 44] {
            let drive = drive(log2_bytes, 4).unwrap();
            assert_eq!(drive.physical_pages() * 4096, 1 << log2_bytes);
        }
        // The paper's drive: 64 MiB of bitmap, 4 MiB of cache, 1.4 MiB of directory.
        assert!((ram_mib(Ftl::LazyFtl, &drive(41, 4).unwrap()) - 69.4).abs() < 1e-3);
    }
}
