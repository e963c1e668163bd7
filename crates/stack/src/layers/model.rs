//! What the theory knows of an FTL.

use crate::device::FlashTimes;
use wearwell_engine::nand::Geometry;
use wearwell_theory::ftl::{Counters, Design, FtlDrive, FtlSizes};

/// An FTL of which there is a model.
#[derive(Clone, Copy, Debug)]
pub struct FtlModel {
    /// What it is made of.
    pub design: Design,
    /// Its mapping cache; `None` where the model needs none.
    pub cache: Option<CacheModel>,
}

/// The mapping cache and the validity store of an FTL.
#[derive(Clone, Copy, Debug)]
pub struct CacheModel {
    /// Entries.
    pub entries: u32,
    /// Share of them that may be dirty.
    pub dirty_share: f64,
    /// Ratio of the sizes of levels in Logarithmic Gecko.
    pub size_ratio: u32,
    /// Parts that a bitmap is cut into there; as many as are balanced unless given.
    pub partitions: Option<u32>,
    /// Of which blocks the number of valid pages is in RAM.
    pub counters: Counters,
}

impl FtlModel {
    /// An FTL whose map is in RAM.
    pub fn of(design: Design) -> Self {
        FtlModel { design, cache: None }
    }

    /// The drive as the model sees it; `None` if it is none of its drives.
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
