//! Cost of page validity in isolation: validity stores attached to a page-mapped log with greedy cleaning and
//! uniformly random writes (GeckoFTL, section 5.1).

use crate::Failure;
use crate::session::Session;
use crate::table::{Fields, Table};
use crate::validity_probe::{FlashIo, Probe, StoreIo, TrackedStore};
use serde::{Deserialize, Serialize};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::layer::{Layer, LayerExt, no_data};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::Frontiers;
use wearwell_engine::validity::{FlashBitmap, Gecko, GeckoConfig, PageValidity};
use wearwell_engine::victim::{VictimConfig, VictimPolicy};
use wearwell_theory::ftl::{FtlDrive, FtlSizes, flash_bitmap_write_amplification, gecko_write_amplification};

/// Bytes per page (section 5, "Default Configuration").
const PAGE_BYTES: u32 = 4096;

/// Ratio of the duration of a page write to that of a page read (section 5).
pub const DELTA: f64 = 10.0;

/// Number of application writes to which results refer.
const INTERVAL: f64 = 1e4;

/// Number of pages per write.
const BATCH: usize = 64;

/// Sizes of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// Base-2 logarithm of the number of blocks (K).
    pub log2_blocks: u32,
    /// Pages per block (B).
    pub pages_per_block: u32,
    /// Ratio of logical to physical pages (R).
    pub load: f64,
}

impl Drive {
    /// Returns the paper's drive (section 5) with this number of blocks.
    pub fn of_blocks(log2_blocks: u32) -> Self {
        Drive { log2_blocks, pages_per_block: 128, load: 0.7 }
    }

    fn logical_pages(&self) -> u32 {
        (f64::from(self.pages_per_block << self.log2_blocks) * self.load) as u32
    }
}

/// Amount of random writes after the sequential fill, in drive writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteVolume {
    /// Total drive writes.
    pub drive_writes: f64,
    /// Drive writes of the measured part, which is at the end.
    pub measured: f64,
}

impl WriteVolume {
    /// Reads the values of the register for a drive; for drives of 2^21 or more blocks, the number of writes is halved.
    fn from_session(session: &Session, drive: &Drive) -> Result<WriteVolume, Failure> {
        let scale = if drive.log2_blocks > 20 { 0.5 } else { 1.0 };
        Ok(WriteVolume {
            drive_writes: scale * session.assumed_value("geckoftl/stores-drive-writes")?,
            measured: session.assumed_value("geckoftl/stores-measured")?,
        })
    }
}

/// Validity store to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Store {
    /// A bitmap in flash.
    Bitmap,
    /// Logarithmic Gecko.
    Gecko {
        /// Size ratio T.
        size_ratio: u32,
        /// Number of partitions S.
        partitions: u32,
        /// True if a merge includes all runs to which it would cascade (appendix A).
        multiway: bool,
    },
}

impl Store {
    /// Returns Logarithmic Gecko with T = 2 and this number of partitions S, as the paper recommends.
    pub fn gecko(partitions: u32) -> Self {
        Store::Gecko { size_ratio: 2, partitions, multiway: true }
    }

    /// Returns T, S and the kind of merges as a name; for the bitmap, its name.
    pub fn name(&self) -> String {
        match self {
            Store::Bitmap => "bitmap".to_owned(),
            Store::Gecko { size_ratio, partitions, multiway } => {
                let merges = if *multiway { "" } else { " two-way" };
                format!("Gecko T = {size_ratio} S = {partitions}{merges}")
            }
        }
    }

    fn build(&self, drive: &Drive) -> Result<Box<dyn PageValidity>, Failure> {
        let (blocks, pages) = (1 << drive.log2_blocks, drive.pages_per_block);
        Ok(match *self {
            Store::Bitmap => Box::new(FlashBitmap::new(blocks, pages, PAGE_BYTES)),
            Store::Gecko { size_ratio, partitions, multiway } => {
                let sizes = GeckoConfig::new(blocks, pages, PAGE_BYTES);
                Box::new(Gecko::new(GeckoConfig { size_ratio, partitions, multiway, ..sizes })?)
            }
        })
    }

    /// Returns the write amplification according to the formulas in table 1, with a factor of 1.
    fn calculated(&self, drive: &Drive) -> Result<f64, Failure> {
        let sizes = FtlSizes {
            blocks: 1 << drive.log2_blocks,
            pages_per_block: drive.pages_per_block,
            load: drive.load,
            ..FtlSizes::default()
        };
        Ok(match *self {
            Store::Bitmap => {
                flash_bitmap_write_amplification(&FtlDrive::new(FtlSizes { partitions: 1, ..sizes })?)?
            }
            Store::Gecko { size_ratio, partitions, .. } => {
                gecko_write_amplification(&FtlDrive::new(FtlSizes { size_ratio, partitions, ..sizes })?)?
            }
        })
    }
}

/// Cost of a store: page operations per 10000 application writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Drive on which the store was measured.
    pub drive: Drive,
    /// Amount of writes.
    pub length: WriteVolume,
    /// Store that was measured.
    pub store: Store,
    /// Reads and writes caused by pages that the application invalidates.
    pub updates: [f64; 2],
    /// Reads and writes caused by queries about victims.
    pub queries: [f64; 2],
    /// Reads and writes caused by erased blocks.
    pub erases: [f64; 2],
    /// Number of cleaning operations.
    pub cleanings: f64,
    /// Number of pages of the store in flash at the end.
    pub flash_pages: u64,
    /// Calculated write amplification.
    pub calculated: f64,
}

impl Cost {
    /// Returns the number of writes, plus the number of reads divided by delta, per application write. (Section 5
    /// prints (w + r) / delta; its value for the bitmap, 1 + 1/delta, shows that only reads are divided.)
    pub fn write_amplification(&self) -> f64 {
        let [reads, writes] = [0, 1].map(|at| self.updates[at] + self.queries[at] + self.erases[at]);
        (writes + reads / DELTA) / INTERVAL
    }

    fn row(&self, bitmap: Option<f64>) -> Fields {
        let amplification = self.write_amplification();
        Fields::default()
            .text("store", self.store.name())
            .text("log2_blocks", self.drive.log2_blocks)
            .text("pages_per_block", self.drive.pages_per_block)
            .text("load", self.drive.load)
            .text("random_drive_writes", self.length.drive_writes)
            .number("update_reads", self.updates[0], 1)
            .number("update_writes", self.updates[1], 1)
            .number("query_reads", self.queries[0], 1)
            .number("query_writes", self.queries[1], 1)
            .number("erase_reads", self.erases[0], 1)
            .number("erase_writes", self.erases[1], 1)
            .number("cleanings", self.cleanings, 1)
            .text("flash_pages", self.flash_pages)
            .number("write_amplification", amplification, 5)
            .number("calculated", self.calculated, 5)
            .number("of_bitmap_percent", bitmap.map(|bitmap| 100.0 * amplification / bitmap), 2)
    }

    /// Returns a table of all costs. Each cost is compared with the cost of the bitmap on an equal drive, if that cost
    /// was measured.
    pub fn table(costs: &[Cost]) -> Table {
        let mut table = Table::default();
        for cost in costs {
            let bitmap = costs.iter().find(|other| other.store == Store::Bitmap && other.drive == cost.drive);
            table.add(cost.row(bitmap.map(Cost::write_amplification)));
        }
        table
    }

    /// Returns the cost of a store on a drive, which must have been measured.
    pub fn find(costs: &[Cost], drive: Drive, store: Store) -> &Cost {
        let found = costs.iter().find(|cost| cost.drive == drive && cost.store == store);
        found.unwrap_or_else(|| panic!("{} was not measured on {drive:?}", store.name()))
    }
}

type Log = LogStore<Probe, PageTable, Box<dyn VictimPolicy>, Frontiers>;

/// A drive that receives writes, with attached stores.
struct ProbedDrive {
    log: Log,
    random: Random,
    logical_pages: u32,
}

impl ProbedDrive {
    fn new(drive: &Drive, stores: &[Store]) -> Result<Self, Failure> {
        let seed = Seed(1);
        let (blocks, pages_per_block) = (1 << drive.log2_blocks, drive.pages_per_block);
        let logical_pages = drive.logical_pages();
        let nand = Nand::new(Geometry::flat(blocks, pages_per_block, PAGE_BYTES), Wear::default(), seed);
        let tracked = stores.iter().map(|store| Ok(TrackedStore::new(store.build(drive)?)));
        let probe = Probe::new(nand, tracked.collect::<Result<_, Failure>>()?);
        let size = StoreSize { blocks, pages_per_block, logical_pages, seed };
        let log = LogStore::new(
            StoreConfig::new(logical_pages, Reclaim::InPlace, seed),
            probe,
            PageTable::new(logical_pages, blocks, pages_per_block),
            VictimConfig::default().build_boxed(&size)?,
            Frontiers::single(),
        )?;
        Ok(ProbedDrive { log, random: seed.derive("application").random(), logical_pages })
    }

    /// Writes each page once, in order.
    fn fill(&mut self) -> Result<(), Failure> {
        let mut batch = Vec::with_capacity(BATCH);
        for first in (0..self.logical_pages).step_by(BATCH) {
            let end = first.saturating_add(BATCH as u32).min(self.logical_pages);
            batch.clear();
            batch.extend((first..end).map(Lpn));
            self.log.write(&batch, no_data(batch.len()), 0)?;
        }
        Ok(())
    }

    fn draw_batch(&mut self) -> [Lpn; BATCH] {
        let pages = u64::from(self.logical_pages);
        let batch = std::array::from_fn(|_| Lpn(random_below(&mut self.random, pages) as u32));
        batch.iter().for_each(|page| self.log.prefetch(*page, false));
        batch
    }

    /// Writes uniformly random pages, at least this number of drive writes; returns the number of pages.
    fn write(&mut self, drive_writes: f64) -> Result<u64, Failure> {
        let batches = (drive_writes * f64::from(self.logical_pages) / BATCH as f64).ceil() as u64;
        let mut next = self.draw_batch();
        for _ in 0..batches {
            let batch = std::mem::replace(&mut next, self.draw_batch());
            batch.iter().for_each(|page| self.log.prefetch(*page, true));
            let mut sorted = batch;
            sorted.sort_unstable();
            // A page that occurs twice in a batch is invalidated twice; the probe notices both invalidations only in
            // separate batches.
            let is_distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
            for part in batch.chunks(if is_distinct { BATCH } else { 1 }) {
                self.log.write(part, no_data(part.len()), 0)?;
            }
        }
        Ok(batches * BATCH as u64)
    }

    fn spent(&self) -> Vec<StoreIo> {
        self.log.medium().stores().iter().map(TrackedStore::io).collect()
    }
}

/// Returns the costs of the stores on each of `drives`, one drive after the other.
///
/// # Errors
///
/// The errors of a single drive, and [`crate::session::Interrupted`].
pub fn measure_all(session: &Session, drives: &[(Drive, Vec<Store>)]) -> Result<Vec<Cost>, Failure> {
    let of_drive = |(drive, stores): &(Drive, Vec<Store>)| -> Result<_, Failure> {
        Ok((*drive, stores.clone(), WriteVolume::from_session(session, drive)?))
    };
    let points = drives.iter().map(of_drive).collect::<Result<Vec<_>, _>>()?;
    let found = session.compute_each("cost of validity", &points, |(drive, stores, length)| {
        measure(*drive, stores, *length)
    })?;
    Ok(found.concat())
}

/// Fills the drive in order, writes random pages, and measures the cost of each store at the end.
///
/// # Errors
///
/// Returns an error for sizes that the drive or a store does not support.
fn measure(drive: Drive, stores: &[Store], length: WriteVolume) -> Result<Vec<Cost>, Failure> {
    let mut drive_under_test = ProbedDrive::new(&drive, stores)?;
    drive_under_test.fill()?;
    drive_under_test.write(length.drive_writes - length.measured)?;
    let (before, erases) = (drive_under_test.spent(), drive_under_test.log.medium().erases());
    let writes = drive_under_test.write(length.measured)?;
    let per_interval = INTERVAL / writes as f64;
    let cleanings = (drive_under_test.log.medium().erases() - erases) as f64 * per_interval;
    let between = |before: FlashIo, after: FlashIo| {
        [after.reads - before.reads, after.writes - before.writes].map(|pages| pages as f64 * per_interval)
    };
    let pairs = before.iter().zip(drive_under_test.log.medium().stores());
    let costs = stores.iter().zip(pairs).map(|(store, (before, tracked))| {
        let after = tracked.io();
        Ok(Cost {
            drive,
            length,
            store: *store,
            updates: between(before.updates, after.updates),
            queries: between(before.queries, after.queries),
            erases: between(before.erases, after.erases),
            cleanings,
            flash_pages: tracked.flash_pages(),
            calculated: store.calculated(&drive)?,
        })
    });
    costs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::units::BlockId;
    use wearwell_engine::log::Directory;
    use wearwell_engine::validity::PageSet;

    const SMALL: Drive = Drive { log2_blocks: 8, pages_per_block: 64, load: 0.8 };

    /// The page table of the engine is compared, block by block, with the invalid pages of the stores.
    #[test]
    fn stores_agree_with_the_engine_about_valid_pages() {
        let two_way = Store::Gecko { size_ratio: 3, partitions: 1, multiway: false };
        let stores = [Store::Bitmap, Store::gecko(2), Store::gecko(64), two_way];
        let mut bench = ProbedDrive::new(&SMALL, &stores).unwrap();
        bench.fill().unwrap();
        for _ in 0..20 {
            bench.write(0.3).unwrap();
            let mut valid = vec![vec![false; 64]; 256];
            let directory = bench.log.directory();
            for page in (0..bench.logical_pages).map(Lpn) {
                let block = directory.block_of(page).unwrap();
                valid[block.index()][directory.page_in_block(page).unwrap() as usize] = true;
            }
            for tracked in bench.log.medium().stores() {
                for block in (0..256).map(BlockId) {
                    let mut invalid = PageSet::new(64);
                    tracked.peek(block, &mut invalid);
                    for page in 0..bench.log.written(block) {
                        assert_eq!(invalid.contains(page), !valid[block.index()][page as usize]);
                    }
                }
            }
        }
        assert!(bench.log.medium().erases() > 1000);
        bench.log.check().unwrap();
    }

    #[test]
    fn flash_bitmap_costs_one_read_and_one_write_per_update() {
        let length = WriteVolume { drive_writes: 2.0, measured: 0.5 };
        let [bitmap, gecko]: [Cost; 2] =
            measure(SMALL, &[Store::Bitmap, Store::gecko(2)], length).unwrap().try_into().unwrap();
        assert_eq!(bitmap.updates, [INTERVAL; 2]);
        assert_eq!(bitmap.queries, [bitmap.cleanings, 0.0]);
        assert_eq!(bitmap.erases, [bitmap.cleanings; 2]);
        let expected = 1.1 * (1.0 + bitmap.cleanings / INTERVAL) + bitmap.cleanings / INTERVAL / DELTA;
        assert!((bitmap.write_amplification() - expected).abs() < 1e-9);
        assert!(gecko.queries[1] == 0.0 && gecko.write_amplification() < 0.1 * expected);
    }
}
