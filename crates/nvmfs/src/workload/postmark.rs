//! PostMark: the small, short-lived files of mail and news servers.

use super::kind::Kind;
use super::order::{Order, order_and_skew};
use super::population::Population;
use super::size::{number_of_files, request_bytes, require, require_ratio, require_request};
use super::stream::{Queue, StepGenerator, Stream};
use super::{DirectoryId, FileOp, FileWorkload};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// Katcher's PostMark (NetApp TR3022, 1997; `postmark.c` 1.5).
///
/// A transaction reads an entire file or appends to one, and creates or deletes a file. Files are drawn
/// uniformly by default. The length of an append is uniform between 1 byte and the file's distance from
/// `max_bytes`, so no file exceeds this size; an append to a full file does nothing.
///
/// Unlike the original, the number of files stays within `drift` of its initial value: at the limits, a
/// creation becomes a deletion and vice versa.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Postmark {
    /// Initial number of files (`number`). Default: derived from `utilisation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Fraction of the capacity that files use in the steady state, when appends and deletions balance;
    /// files are smaller initially. Default 0.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Minimum size of a new file, bytes (`size`); default 500.
    pub min_bytes: u64,
    /// Maximum size of any file, bytes; default 9.77 KB.
    pub max_bytes: u64,
    /// Order in which files are drawn. `shuffled_pages`: each once per pass, and the oldest is deleted;
    /// `uniform`; or `zipf`: by age, the youngest most often. Default `uniform`, or `zipf` if `skew` is
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Exponent of Zipf's law over the files by age, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// Number of sibling directories (`subdirectories`) over which files are distributed; default 0, as in
    /// PostMark: all files in one directory.
    pub directories: u32,
    /// Fraction of transactions that read rather than append (`bias read`); default 0.5.
    pub read_share: f64,
    /// Fraction of transactions that create rather than delete (`bias create`); default 0.5.
    pub create_share: f64,
    /// Maximum deviation of the number of files from its initial value, as a fraction; default 0.05.
    pub drift: f64,
    /// Bytes of a request (`read`, `write`; 512 in the original); default 4096.
    pub request_bytes: u32,
    /// Number of transactions; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
}

impl Default for Postmark {
    fn default() -> Self {
        Postmark {
            files: None,
            utilisation: None,
            order: None,
            skew: None,
            min_bytes: 500,
            max_bytes: 9770,
            directories: 0,
            read_share: 0.5,
            create_share: 0.5,
            drift: 0.05,
            request_bytes: request_bytes(),
            operations: None,
        }
    }
}

impl Postmark {
    /// Returns the mean size of files in the steady state, bytes.
    ///
    /// For each deletion of a file of mean size `s`, there is one creation of a file of mean size `c`, and
    /// `a` appends. An append adds half of the file's distance from the maximum: `s = c + a (max - s) / 2`.
    fn mean_bytes(&self) -> f64 {
        let max = self.max_bytes as f64;
        let created = (self.min_bytes as f64 + max) / 2.0;
        let appends = (1.0 - self.read_share) / 0.5;
        (created + appends * max / 2.0) / (1.0 + appends / 2.0)
    }
}

impl Kind for Postmark {
    fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError> {
        require_request(self.request_bytes)?;
        require_ratio("read_share", self.read_share)?;
        require_ratio("create_share", self.create_share)?;
        require_ratio("drift", self.drift)?;
        let allowed = "must lie from 1 to max_bytes";
        require((1..=self.max_bytes).contains(&self.min_bytes), "min_bytes", self.min_bytes, allowed)?;
        let files = number_of_files(self.files, self.utilisation, capacity_bytes, self.mean_bytes())?;
        let max_drift = (f64::from(files) * self.drift) as usize;
        let generator = PostmarkGenerator {
            config: self.clone(),
            initial_files: files as usize,
            // At least one file must remain, for the next transaction to read.
            allowed: (files as usize - max_drift).max(1)..=(files as usize + max_drift).max(2),
            directories: 0,
            population: Population::new(order_and_skew(self.order, self.skew)?),
        };
        Ok(Stream::boxed(generator, self.operations, self.request_bytes, seed))
    }
}

struct PostmarkGenerator {
    config: Postmark,
    initial_files: usize,
    /// Allowed range of the number of files.
    allowed: std::ops::RangeInclusive<usize>,
    /// Number of directories created.
    directories: u32,
    population: Population,
}

impl PostmarkGenerator {
    fn create(&mut self, random: &mut Random, queue: &mut Queue) {
        let bytes = random.random_range(self.config.min_bytes..=self.config.max_bytes);
        let file = self.population.add(bytes);
        let directories = self.config.directories;
        let directory = (directories > 0).then(|| DirectoryId(random.random_range(0..directories)));
        queue.push_back(FileOp::Create { file, directory });
        queue.push_back(FileOp::Append { file, bytes });
    }

    fn append(&mut self, random: &mut Random, queue: &mut Queue) {
        let file = self.population.draw(random);
        let free_bytes = self.config.max_bytes - self.population.size_bytes(file);
        if free_bytes > 0 {
            let bytes = random.random_range(1..=free_bytes);
            self.population.grow(file, bytes);
            queue.push_back(FileOp::Append { file, bytes });
        }
    }

    /// True if the next transaction creates a file. The choice is random, unless the number of files is at a limit.
    fn is_next_creation(&self, random: &mut Random) -> bool {
        let creates = random.random_bool(self.config.create_share);
        let files = self.population.len();
        if creates { files < *self.allowed.end() } else { files <= *self.allowed.start() }
    }
}

impl StepGenerator for PostmarkGenerator {
    fn set_up(&mut self, random: &mut Random, queue: &mut Queue) {
        if self.directories < self.config.directories {
            queue.push_back(FileOp::MakeDirectory { directory: DirectoryId(self.directories), parent: None });
            self.directories += 1;
        } else if self.population.len() < self.initial_files {
            self.create(random, queue);
        }
    }

    fn step(&mut self, random: &mut Random, queue: &mut Queue) {
        if random.random_bool(self.config.read_share) {
            queue.push_back(FileOp::ReadWhole { file: self.population.draw(random) });
        } else {
            self.append(random, queue);
        }
        if self.is_next_creation(random) {
            self.create(random, queue);
        } else {
            queue.push_back(FileOp::Delete { file: self.population.remove(random) });
        }
    }
}
