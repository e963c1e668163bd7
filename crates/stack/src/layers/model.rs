//! Theoretical model of an FTL.

use crate::device::FlashTimes;
use wearwell_engine::nand::Geometry;
use wearwell_theory::ftl::{CounterCoverage, FtlDesign, FtlDrive, FtlSizes};

/// An FTL for which there is a model.
#[derive(Clone, Copy, Debug)]
pub struct FtlModel {
    /// Data structures of the FTL.
    pub design: FtlDesign,
    /// Mapping cache of the FTL; `None` if the model does not need it.
    pub cache: Option<CacheModel>,
}

/// The mapping cache and the validity store of an FTL.
#[derive(Clone, Copy, Debug)]
pub struct CacheModel {
    /// Number of cache entries.
    pub entries: u32,
    /// Fraction of the entries that may be dirty.
    pub dirty_share: f64,
    /// Ratio of the sizes of levels in Logarithmic Gecko.
    pub size_ratio: u32,
    /// Parts that a bitmap is divided into in Logarithmic Gecko; default: the balanced number.
    pub partitions: Option<u32>,
    /// Blocks whose number of valid pages is in RAM.
    pub counters: CounterCoverage,
}

impl FtlModel {
    /// Returns an FTL whose map is in RAM.
    pub fn of(design: FtlDesign) -> Self {
        FtlModel { design, cache: None }
    }

    /// Returns the drive in terms of the model; `None` if the model does not cover it.
    pub fn drive(&self, logical_pages: u32, geometry: &Geometry, times: &FlashTimes) -> Option<FtlDrive> {
        let partitions = FtlSizes::balanced_partitions(geometry.pages_per_block);
        let mut sizes = FtlSizes {
            blocks: u64::from(geometry.blocks()),
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            load: f64::from(logical_pages) / geometry.pages() as f64,
            partitions,
            read_us: times.read_us,
            program_us: times.program_us,
            spare_read_us: times.spare_read_us,
            ..FtlSizes::default()
        };
        if let Some(cache) = self.cache {
            sizes = FtlSizes {
                cache_entries: u64::from(cache.entries),
                size_ratio: cache.size_ratio,
                partitions: cache.partitions.unwrap_or(partitions),
                dirty_share: cache.dirty_share,
                counters: cache.counters,
                ..sizes
            };
        }
        FtlDrive::new(sizes).ok()
    }
}
