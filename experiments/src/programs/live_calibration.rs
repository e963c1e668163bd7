//! Writes of live file systems and of a live merge tree, compared with those of their models under the same load.

use crate::Failure;
use crate::f2fs::model::model as f2fs;
use crate::layer_model::{LayerModel, PAGE_BYTES, shuffled_pages};
use crate::live::cases::{Case, Measurement, Outcome};
use crate::live::loads::{LEVEL_0_RUNS, RECORD_BYTES};
use crate::live::measure_each;
use crate::live::requirements::reason_to_skip;
use crate::nvmfs::guest::{SEGMENT_BLOCKS, SEGMENT_WRITE_BLOCKS};
use crate::nvmfs::nilfs_logs::LogBlocks;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Seed, random_below};

/// Settings of the program.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Size of the disk in MiB.
    disk_mib: u64,
    /// Approximate share of the disk that a load's files take.
    share: f64,
    /// Number of bytes that a load writes after its files are made, as a multiple of the size of its files.
    written: f64,
    /// Seed of the loads.
    seed: u64,
    /// Time limit of a case in seconds.
    limit_seconds: u32,
}

/// A modelled layer and the software that it models.
struct ModelPair {
    /// Name of the layer in the tables.
    name: &'static str,
    file_system: &'static str,
    load: &'static str,
    /// Returns the number of pages that the software writes per page of the application, from a measurement.
    measured_by: fn(&Measurement) -> f64,
    /// Returns the number of pages that the model writes per page of the application.
    predicted_by: fn(&Case) -> Result<f64, Failure>,
}

/// Number of writes of fio between fsyncs.
const WRITES_PER_SYNC: u64 = 64;
/// Number of pages in a sequential write.
const SEQUENTIAL_PAGES: u64 = 32;

const PAIRS: [ModelPair; 8] = [
    ModelPair {
        name: "F2FS, 2 logs",
        file_system: "f2fs_2",
        load: "random",
        measured_by: Measurement::upper_amplification,
        predicted_by: |case| random(case, f2fs_2),
    },
    ModelPair {
        name: "F2FS, 6 logs",
        file_system: "f2fs_6",
        load: "random",
        measured_by: Measurement::upper_amplification,
        predicted_by: |case| random(case, f2fs_6),
    },
    ModelPair {
        name: "NILFS2",
        file_system: "nilfs2",
        load: "random",
        measured_by: Measurement::upper_amplification,
        predicted_by: |case| random(case, nilfs2),
    },
    ModelPair {
        name: "F2FS, 2 logs",
        file_system: "f2fs_2",
        load: "sequential",
        measured_by: Measurement::upper_amplification,
        predicted_by: |case| sequential(case, f2fs_2),
    },
    ModelPair {
        name: "F2FS, 6 logs",
        file_system: "f2fs_6",
        load: "sequential",
        measured_by: Measurement::upper_amplification,
        predicted_by: |case| sequential(case, f2fs_6),
    },
    ModelPair {
        name: "NILFS2",
        file_system: "nilfs2",
        load: "sequential",
        measured_by: Measurement::upper_amplification,
        predicted_by: |case| sequential(case, nilfs2),
    },
    ModelPair {
        name: "RocksDB",
        file_system: "ext4",
        load: "rocksdb_held",
        measured_by: Measurement::passed_on_ratio,
        predicted_by: rocksdb,
    },
    ModelPair {
        name: "RocksDB",
        file_system: "ext4",
        load: "rocksdb",
        measured_by: Measurement::passed_on_ratio,
        predicted_by: rocksdb,
    },
];

fn f2fs_2(case: &Case) -> Result<LayerModel, Failure> {
    f2fs(2, case.disk_bytes(), 64 << 20, LOW_WATERMARK_SEGMENTS)
}

fn f2fs_6(case: &Case) -> Result<LayerModel, Failure> {
    f2fs(6, case.disk_bytes(), 64 << 20, LOW_WATERMARK_SEGMENTS)
}

/// Number of erased segments at which the model of F2FS cleans.
const LOW_WATERMARK_SEGMENTS: u32 = 20;

/// Returns a model with the segments, dirty-block limit and cleaner limits of the measurements. The oldest segment is
/// cleaned first; cleaning starts when a tenth of the segments is clean and ends when a fifth is.
fn nilfs2(case: &Case) -> Result<LayerModel, Failure> {
    let segments = case.disk_bytes() / (SEGMENT_BLOCKS * PAGE_BYTES);
    LayerModel::new(&format!(
        "[device]\ncapacity = {}\nspare_factor = 0.1\npages_per_block = 256\n\
         [[log]]\nsegment_size = {}\nspare_factor = 0.25\nvictim = \"fifo\"\n\
         free_blocks_low = {}\nfree_blocks_high = {}\n\
         metadata = {{ preset = \"nilfs2\", checkpoint_every = {} }}\n\
         [workload]\nkind = \"uniform\"\n",
        case.disk_bytes(),
        SEGMENT_BLOCKS * PAGE_BYTES,
        segments / 10,
        segments / 5,
        u64::from(SEGMENT_WRITE_BLOCKS) * PAGE_BYTES,
    ))
}

/// Writes the file in order, then at random with syncs. Each page is written once before any page is written again,
/// as fio does.
fn random(case: &Case, model: fn(&Case) -> Result<LayerModel, Failure>) -> Result<f64, Failure> {
    let pages = (case.file_bytes() / PAGE_BYTES) as u32;
    let passes = (0..).flat_map(|pass| shuffled_pages(pages, case.seed + pass));
    overwrite_amplification(model(case)?, pages, case, passes, WRITES_PER_SYNC)
}

/// Writes the file in order twice, the second time with syncs.
fn sequential(case: &Case, model: fn(&Case) -> Result<LayerModel, Failure>) -> Result<f64, Failure> {
    let pages = (case.file_bytes() / PAGE_BYTES) as u32;
    overwrite_amplification(model(case)?, pages, case, (0..pages).cycle(), WRITES_PER_SYNC * SEQUENTIAL_PAGES)
}

fn overwrite_amplification(
    mut model: LayerModel,
    pages: u32,
    case: &Case,
    order: impl Iterator<Item = u32>,
    flush_every: u64,
) -> Result<f64, Failure> {
    model.write(0..pages, None)?;
    let before = model.write_counts();
    let page_count = (case.written_bytes() / PAGE_BYTES) as usize;
    model.write(order.take(page_count), Some(flush_every))?;
    Ok(model.write_counts().since(&before).pages as f64 / page_count as f64)
}

/// Models tables, levels and memtable with the same number of records as in the measurement of db_bench; each record
/// is a page. Half of the space is filled in order, and then overwritten at random. The sizes of all levels are set
/// from the beginning, as in RocksDB 7 by default.
fn rocksdb(case: &Case) -> Result<f64, Failure> {
    let of_records = |bytes: u64| bytes / RECORD_BYTES * PAGE_BYTES;
    let records = case.file_bytes() / 2 / RECORD_BYTES;
    let index = 26 * PAGE_BYTES / RECORD_BYTES;
    let mut model = LayerModel::new(&format!(
        "[device]\ncapacity = {}\nspare_factor = 0.1\npages_per_block = 256\n\
         [[log]]\nstructure = {{ kind = \"lsm\", memtable_size = {memtable}, table_size = {memtable}, \
         index_bytes_per_page = {index}, write_ahead_log = {}, \
         compaction = {{ shape = \"leveled\", level0_runs = {LEVEL_0_RUNS}, ratio = 10, sizes = \"from_top\" }} }}\n\
         [workload]\nkind = \"uniform\"\n",
        4 * records * PAGE_BYTES,
        2 * of_records(4 << 20),
        memtable = of_records(4 << 20),
    ))?;
    model.write(0..records as u32, None)?;
    let before = model.write_counts();
    let writes = case.written_bytes() / RECORD_BYTES;
    let mut draw = Seed(case.seed).random();
    model.write((0..writes).map(|_| random_below(&mut draw, records) as u32), None)?;
    Ok(model.write_counts().since(&before).pages as f64 / writes as f64)
}

impl ModelPair {
    fn case(&self, settings: &Settings) -> Case {
        Case {
            file_system: self.file_system.to_owned(),
            load: self.load.to_owned(),
            discard: true,
            drives: vec!["page".to_owned()],
            disk_mib: settings.disk_mib,
            share: settings.share,
            written: settings.written,
            seed: settings.seed,
            limit_seconds: settings.limit_seconds,
        }
    }
}

/// Column of the table with NILFS2's writes: the name of the column, and a function that returns its number of blocks.
type LogColumn = (&'static str, fn(&LogBlocks) -> u64);

const LOG_COLUMNS: [LogColumn; 7] = [
    ("live_contents_wa", |logs| logs.contents),
    ("live_trees_wa", |logs| logs.trees),
    ("live_map_wa", |logs| logs.map),
    ("live_rest_wa", |logs| logs.other),
    ("live_moved_wa", |logs| logs.moved),
    ("live_cleaner_map_wa", |logs| logs.map_by_cleaner),
    ("live_cleaner_rest_wa", |logs| logs.other_by_cleaner),
];

/// Returns the values of all columns of [`LOG_COLUMNS`]; empty values without a measurement.
fn log_fields(measured: Option<&Measurement>) -> impl Iterator<Item = String> {
    let logs =
        measured.and_then(|measured| Some((measured.disk_requests.logs?, measured.application_bytes as f64)));
    let part = move |(_, blocks): LogColumn| {
        logs.map_or(String::new(), |(logs, bytes)| {
            format!("{:.4}", (blocks(&logs) * PAGE_BYTES) as f64 / bytes)
        })
    };
    LOG_COLUMNS.into_iter().map(part)
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let mut pairs = Vec::new();
    for pair in &PAIRS {
        match reason_to_skip(pair.file_system, pair.load)? {
            Some(reason) => eprintln!("skipped: {} under {}: {reason}", pair.name, pair.load),
            None => pairs.push(pair),
        }
    }
    if pairs.is_empty() {
        return Err("skipped, as this machine has none of what is to be mounted".into());
    }
    let cases: Vec<Case> = pairs.iter().map(|pair| pair.case(&settings)).collect();
    let keys: Vec<(&str, &Case)> = pairs.iter().map(|pair| pair.name).zip(&cases).collect();
    let result_of = |name: &str, case: &Case| {
        let found = pairs.iter().find(|pair| pair.name == name && pair.load == case.load);
        *found.expect("keys are of pairs")
    };
    let modelled = session
        .compute_each("calibrated model", &keys, |(name, case)| (result_of(name, case).predicted_by)(case))?;
    let live = measure_each(session, "live stack", &cases, Case::measure)?;
    let heads = ["modelled", "load", "live_wa", "model_wa", "difference_percent"];
    let mut table = Table::new(&[&heads[..], &LOG_COLUMNS.map(|(name, _)| name)].concat());
    let mut accurate = Vec::new();
    for ((pair, outcome), model) in pairs.iter().zip(&live).zip(modelled) {
        let head = [pair.name, pair.load].map(str::to_owned);
        let Outcome::Measured(measured) = outcome else {
            let numbers = ["".to_owned(), format!("{model:.4}"), "".to_owned()];
            table.push(head.into_iter().chain(numbers).chain(log_fields(None)).collect());
            continue;
        };
        let live = (pair.measured_by)(measured);
        let difference = (model / live - 1.0) * 100.0;
        let numbers = [format!("{live:.4}"), format!("{model:.4}"), format!("{difference:.1}")];
        table.push(head.into_iter().chain(numbers).chain(log_fields(Some(measured))).collect());
        accurate.push((format!("{} under {}", pair.name, pair.load), difference.abs() <= 10.0));
    }
    table.publish(session, "data")?;
    let mut statements = Statements::default();
    statements.check("the model writes what the software writes to 10 %", accurate);
    statements.publish(session)
}
