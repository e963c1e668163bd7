//! fio with many files: random updates in randomly chosen files.

use super::kind::Kind;
use super::order::{NumberSource, Order, order_and_skew};
use super::size::{number_of_files, request_bytes, require, require_ratio, require_request};
use super::stream::{Queue, StepGenerator, Stream};
use super::{FileId, FileOp, FileWorkload};
use rand::Rng;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// Updates of one block each, in files drawn at random: fio's `rw=randrw` with `nrfiles`, `filesize=min-max`
/// and `file_service_type=random:1`, or `zipf:skew` with `skew`. Blocks of a file are equally likely. In
/// permuted order, each block of all files is drawn once per pass, like blocks in fio without `norandommap`.
///
/// The paper: "it performs random updates on randomly opened files chosen from thousands of files" (section
/// IV-A).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fio {
    /// Number of files. Default: derived from `utilisation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Fraction of the capacity that files use; default 0.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Minimum size of a file, bytes; default 256 KiB. Sizes are uniform between the limits and rounded
    /// down to whole requests.
    pub min_bytes: u64,
    /// Maximum size of a file, bytes; default 256 KiB.
    pub max_bytes: u64,
    /// Order of the updates: by block (`shuffled_pages`), or by file (`uniform` or `zipf`). Default `uniform`, or
    /// `zipf` if `skew` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Exponent of Zipf's law over the files, above 0: the file of rank `k` is drawn in proportion to
    /// `k^-skew`. By default all files are equally likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// Fraction of the operations that are reads; default 0.
    pub read_share: f64,
    /// Bytes of every request; default 4096.
    pub request_bytes: u32,
    /// Number of updates and reads; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
}

impl Default for Fio {
    fn default() -> Self {
        Fio {
            files: None,
            utilisation: None,
            min_bytes: 256 << 10,
            max_bytes: 256 << 10,
            order: None,
            skew: None,
            read_share: 0.0,
            request_bytes: request_bytes(),
            operations: None,
        }
    }
}

impl Kind for Fio {
    fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError> {
        require_request(self.request_bytes)?;
        require_ratio("read_share", self.read_share)?;
        let min_bytes = u64::from(self.request_bytes);
        let allowed = "must lie from request_bytes to max_bytes";
        require(
            (min_bytes..=self.max_bytes).contains(&self.min_bytes),
            "min_bytes",
            self.min_bytes,
            allowed,
        )?;
        let max_bytes = min_bytes << 31;
        require(self.max_bytes <= max_bytes, "max_bytes", self.max_bytes, "must be at most 2^31 requests")?;
        let order = order_and_skew(self.order, self.skew)?;
        let mean_bytes = (self.min_bytes as f64 + self.max_bytes as f64) / 2.0;
        let files = number_of_files(self.files, self.utilisation, capacity_bytes, mean_bytes)?;
        let generator = FioGenerator {
            blocks: Vec::with_capacity(files as usize),
            sizes: (self.min_bytes / min_bytes) as u32..=(self.max_bytes / min_bytes) as u32,
            files,
            draws: NumberSource::new(
                files,
                if order.0 == Order::Permuted { (Order::Uniform, 0.0) } else { order },
                seed,
            ),
            pass: (order.0 == Order::Permuted).then(Vec::new),
            read_share: self.read_share,
            bytes: min_bytes,
        };
        Ok(Stream::boxed(generator, self.operations, self.request_bytes, seed))
    }
}

struct FioGenerator {
    /// Number of requests in each of the created files.
    blocks: Vec<u32>,
    /// Range from which the number of requests in a file is drawn.
    sizes: std::ops::RangeInclusive<u32>,
    files: u32,
    /// Source of file numbers.
    draws: NumberSource,
    /// Used in permuted order: files and blocks that remain in the current pass.
    pass: Option<Vec<(u32, u32)>>,
    read_share: f64,
    /// Bytes of a request.
    bytes: u64,
}

impl FioGenerator {
    /// Draws a file and one of its blocks.
    fn block(&mut self, random: &mut Random) -> (u32, u32) {
        let Some(pass) = &mut self.pass else {
            let file = self.draws.next(random);
            return (file, random.random_range(0..self.blocks[file as usize]));
        };
        if pass.is_empty() {
            let blocks = (0..).zip(&self.blocks);
            pass.extend(blocks.flat_map(|(file, blocks)| (0..*blocks).map(move |block| (file, block))));
            pass.shuffle(random);
        }
        pass.pop().expect("a pass has at least one block")
    }
}

impl StepGenerator for FioGenerator {
    fn set_up(&mut self, random: &mut Random, queue: &mut Queue) {
        let number = self.blocks.len() as u32;
        if number < self.files {
            let blocks = random.random_range(self.sizes.clone());
            self.blocks.push(blocks);
            queue.push_back(FileOp::Create { file: FileId(number), directory: None });
            queue.push_back(FileOp::Append { file: FileId(number), bytes: u64::from(blocks) * self.bytes });
        }
    }

    fn step(&mut self, random: &mut Random, queue: &mut Queue) {
        let (number, block) = self.block(random);
        let (file, bytes) = (FileId(number), self.bytes);
        let offset_bytes = u64::from(block) * bytes;
        queue.push_back(if random.random_bool(self.read_share) {
            FileOp::Read { file, offset_bytes, bytes }
        } else {
            FileOp::Write { file, offset_bytes, bytes }
        });
    }
}
