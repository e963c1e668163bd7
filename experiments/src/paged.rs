//! Runs of FTLs that have tables in flash, like those in section 5 of the GeckoFTL paper: uniform writes until the
//! drive is steady, then the measurement, then a power cut.

use crate::Failure;
use crate::session::Session;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::ftl::Restart;
use wearwell_engine::ftl::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use wearwell_engine::layer::{Layer, RecoveryStep, Reports, no_data};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::validity::ValidityConfig;

/// Number of pages per block of the paper's drive, which is scaled down in size.
pub const PAGES_PER_BLOCK: u32 = 128;
const PAGE_BYTES: u32 = 4096;
/// Ratio of program time to read time.
pub const DELTA: f64 = 10.0;
const BATCH: usize = 4096;

/// The five FTLs of Figure 13.
pub const FTLS: [&str; 5] = ["dftl", "lazyftl", "mu_ftl", "ib_ftl", "gecko"];

/// Returns an FTL of Figure 13 on `blocks` blocks, with the proportions of the paper.
pub fn settings(kind: &'static str, blocks: u32) -> Result<PagedSettings, Failure> {
    let logical_pages = (f64::from(blocks) * f64::from(PAGES_PER_BLOCK) * 0.7) as u32;
    // The paper has 2^19 entries for 2^22 blocks.
    let cache_entries = blocks / 8;
    let tree = DirectoryConfig::Tree { cached_nodes: None };
    let validity = |name: &str| serde_json::from_value::<ValidityConfig>(json!(name));
    let base = PagedConfig {
        kind,
        logical_pages,
        page_bytes: PAGE_BYTES,
        cache_entries,
        dirty_entries: None,
        eager: false,
        directory: DirectoryConfig::Global,
        validity: validity("ram_bitmap")?,
        counters: Default::default(),
        cleans_metadata: true,
        checkpoints: false,
        durability: Durability::Battery,
        free_blocks: Default::default(),
        wear: Default::default(),
        seed: Seed(1),
    };
    let limited = PagedConfig {
        dirty_entries: Some(cache_entries / 10),
        durability: Durability::Synchronised,
        ..base.clone()
    };
    let config = match kind {
        "dftl" => PagedConfig { eager: true, ..base },
        "lazyftl" => limited,
        "mu_ftl" => PagedConfig { eager: true, directory: tree, validity: validity("flash_bitmap")?, ..base },
        "ib_ftl" => PagedConfig { directory: tree, validity: validity("log")?, ..limited },
        "gecko" => PagedConfig {
            validity: validity("gecko")?,
            cleans_metadata: false,
            checkpoints: true,
            durability: Durability::Deferred { skips_older_pages: true },
            ..base
        },
        other => return Err(format!("no FTL is called {other}; one of {}", FTLS.join(", ")).into()),
    };
    let (victim, placement) =
        (serde_json::from_value(json!("greedy"))?, serde_json::from_value(json!("single"))?);
    Ok(PagedSettings { config, victim, placement })
}

/// Amount of writes to a drive, as multiples of its logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WriteVolume {
    /// Random writes before the measurement.
    pub warm_up: f64,
    /// Random writes during the measurement.
    pub measured: f64,
}

impl WriteVolume {
    /// Returns the amounts of writes for figures 13 and 14.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn of_figures(session: &Session) -> Result<WriteVolume, Failure> {
        let assumed = |name| session.assumed_value(name);
        Ok(WriteVolume { warm_up: assumed("geckoftl/warm-up")?, measured: assumed("geckoftl/measured")? })
    }
}

/// Results of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Number of pages written and read per host page, in the order of [`CAUSES`].
    pub traffic: [(f64, f64); 3],
    /// Number of spare areas read per host page.
    pub spare_reads: f64,
    /// RAM of the device in bytes, by part.
    pub ram: Vec<(String, u64)>,
    /// Duration of the recovery in seconds, by step: 3 us per spare area, 100 us per page read, 1 ms per page written
    /// (section 5.3).
    pub recovery: Vec<(String, f64)>,
    /// Number of writes per second of processor time during the measurement.
    pub rate: f64,
    /// Memory of the simulation in bytes.
    pub memory_bytes: u64,
}

/// Purposes of internal traffic: user pages and their cleaning, the translation table, and page validity.
pub const CAUSES: [&str; 3] = ["user", "translation", "validity"];

impl Measurement {
    /// Returns the write amplification by cause as the paper defines it, `writes + reads / delta` (section 5,
    /// "Metrics").
    pub fn amplification(&self) -> [f64; 3] {
        self.traffic.map(|(writes, reads)| writes + reads / DELTA)
    }

    /// Returns the recovery time in seconds.
    pub fn recovery_s(&self) -> f64 {
        self.recovery.iter().map(|(_, seconds)| seconds).sum()
    }

    /// Returns the RAM of the device in bytes.
    pub fn ram_bytes(&self) -> u64 {
        self.ram.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Returns the duration of a recovery step in seconds.
fn seconds(step: &RecoveryStep) -> f64 {
    (3.0 * step.spare_reads as f64 + 100.0 * step.page_reads as f64 + 1000.0 * step.page_writes as f64) / 1e6
}

fn read_counters(ftl: &PagedFtl<Nand<()>>) -> (Counters, u64, u64) {
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    let (layer, nand) = (&reports.layers[0], reports.nand.as_ref().expect("flash"));
    (layer.counters, nand.spare_reads, layer.memory_bytes + nand.memory_bytes)
}

/// Fills a drive with these numbers of blocks and of pages per block in order, writes to it at random, and measures.
///
/// # Errors
///
/// Returns an error for settings that do not fit the drive.
pub fn run_on(
    settings: &PagedSettings,
    (blocks, pages_per_block): (u32, u32),
    length: WriteVolume,
) -> Result<Measurement, Failure> {
    let logical_pages = settings.config.logical_pages;
    let nand = Nand::new(Geometry::flat(blocks, pages_per_block, PAGE_BYTES), Wear::default(), Seed(1));
    let mut ftl = settings.build(nand.with_spare_area())?;
    let mut batch = Vec::with_capacity(BATCH);
    for first in (0..logical_pages).step_by(BATCH) {
        batch.clear();
        batch.extend((first..logical_pages.min(first.saturating_add(BATCH as u32))).map(Lpn));
        ftl.write(&batch, no_data(batch.len()), 0)?;
    }
    let mut random = Seed(2).random();
    let mut overwrite = |ftl: &mut PagedFtl<Nand<()>>, share: f64| -> Result<u64, Failure> {
        let batches = (f64::from(logical_pages) * share / BATCH as f64).ceil() as u64;
        for _ in 0..batches {
            batch.clear();
            batch.extend((0..BATCH).map(|_| Lpn(random_below(&mut random, u64::from(logical_pages)) as u32)));
            ftl.write(&batch, no_data(BATCH), 0)?;
        }
        Ok(batches * BATCH as u64)
    };
    overwrite(&mut ftl, length.warm_up)?;
    let (before, spare_reads_before, _) = read_counters(&ftl);
    let started = cpu_time::ThreadTime::now();
    let writes = overwrite(&mut ftl, length.measured)?;
    let rate = writes as f64 / started.elapsed().as_secs_f64();
    let (after, spare_reads_after, memory_bytes) = read_counters(&ftl);
    let counters = after.since(&before);
    let per_write = |causes: &[Cause]| {
        let sum = |operation| causes.iter().map(|&cause| counters.outgoing(cause, operation)).sum::<u64>();
        (sum(Operation::Write) as f64 / writes as f64, sum(Operation::Read) as f64 / writes as f64)
    };
    let traffic = [
        per_write(&[Cause::Host, Cause::Cleaning, Cause::WearLevelling]),
        per_write(&[Cause::Translation]),
        per_write(&[Cause::Validity]),
    ];
    let ram = ftl.ram().into_iter().map(|part| (part.name.to_owned(), part.bytes)).collect();
    ftl.save()?;
    let (_, recovery) = PagedFtl::restart(settings, ftl.into_flash()).map_err(|(error, _)| error)?;
    let recovery = recovery.steps.iter().map(|step| (step.name.to_owned(), seconds(step))).collect();
    let spare_reads = (spare_reads_after - spare_reads_before) as f64 / writes as f64;
    Ok(Measurement { traffic, spare_reads, ram, recovery, rate, memory_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gecko_writes_less_for_validity_than_a_bitmap_in_flash() {
        let length = WriteVolume { warm_up: 1.0, measured: 0.5 };
        let run = |kind| run_on(&settings(kind, 1 << 9).unwrap(), (1 << 9, PAGES_PER_BLOCK), length).unwrap();
        let (gecko, bitmap) = (run("gecko"), run("mu_ftl"));
        assert!(gecko.amplification()[2] < 0.2 * bitmap.amplification()[2]);
        assert!(bitmap.amplification()[2] > 1.0, "each write is reported at once");
        assert!(settings("ftl", 1 << 9).is_err());
    }
}
