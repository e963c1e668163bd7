//! Code that the experiments on GeckoFTL share: drives of the paper's model, and sums over their parts.

use crate::Failure;
use wearwell_theory::ftl::{Ftl, FtlDrive, FtlSizes, RamPart, RecoveryStepCost, ram, recovery};

/// Base-2 logarithm of the block size in bytes: 128 pages of 4 KiB are 512 KiB.
const LOG2_BLOCK_BYTES: u32 = 19;

/// Returns the paper's drive (section 5) with a capacity of 2^`log2_bytes` bytes, and with Gecko entries in
/// `partitions` parts.
pub fn drive(log2_bytes: u32, partitions: u32) -> Result<FtlDrive, Failure> {
    let blocks = 1 << (log2_bytes - LOG2_BLOCK_BYTES);
    Ok(FtlDrive::new(FtlSizes { blocks, partitions, ..FtlSizes::default() })?)
}

/// Returns the RAM by structure, for the FTL as published.
pub fn ram_of(ftl: Ftl, drive: &FtlDrive) -> Vec<RamPart> {
    ram(&ftl.design(None), drive)
}

/// Returns the cost of each recovery step, for the FTL as published.
pub fn recovery_of(ftl: Ftl, drive: &FtlDrive) -> Vec<RecoveryStepCost> {
    recovery(&ftl.design(None), drive)
}

/// Returns the total RAM in MiB.
pub fn ram_mib(ftl: Ftl, drive: &FtlDrive) -> f64 {
    mib(ram_of(ftl, drive).iter().map(|part| part.bytes).sum())
}

/// Returns the total recovery time in seconds.
pub fn recovery_s(ftl: Ftl, drive: &FtlDrive) -> f64 {
    recovery_of(ftl, drive).iter().map(|step| step.seconds(drive)).sum()
}

/// Converts bytes to MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drive_has_requested_capacity() {
        for log2_bytes in [30, 41, 44] {
            let drive = drive(log2_bytes, 4).unwrap();
            assert_eq!(drive.physical_pages() * 4096, 1 << log2_bytes);
        }
        // The paper's drive has 64 MiB of bitmap, 4 MiB of cache and 1.4 MiB of directory.
        assert!((ram_mib(Ftl::LazyFtl, &drive(41, 4).unwrap()) - 69.4).abs() < 1e-3);
    }
}
