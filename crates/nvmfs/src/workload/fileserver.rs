//! File server workload of Filebench.

use super::kind::Kind;
use super::order::{Order, order_and_skew};
use super::population::Population;
use super::size::{number_of_files, request_bytes, require, require_request};
use super::stream::{Queue, StepGenerator, Stream};
use super::{DirectoryId, FileId, FileOp, FileWorkload};
use rand::Rng;
use rand_distr::{Distribution, Gamma};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// The personality `fileserver.f` of Filebench 1.4.
///
/// A round creates a file and writes all of it, appends to a file, reads an entire file, deletes a file and
/// reads the attributes of a file. Each file is drawn uniformly by default. Sizes of new files are gamma
/// distributed. Rounds are sequential; Filebench runs 50 threads concurrently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fileserver {
    /// Number of files (80 % of `nfiles`, the files that Filebench creates in advance). Default: derived
    /// from `utilisation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Fraction of the capacity that files use in the steady state, when appends and deletions balance;
    /// files are smaller initially. Default 0.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Order in which files are drawn. `shuffled_pages`: each once per pass, and the oldest is deleted;
    /// `uniform`; or `zipf`: by age, the youngest most often. Default `uniform`, or `zipf` if `skew` is
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Exponent of Zipf's law over the files by age, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// Mean size of new files (`filesize`); default 128 KiB.
    pub mean_bytes: u64,
    /// Shape parameter of the gamma distribution of sizes, above 0; default 1.5.
    pub shape: f64,
    /// Mean length of an append (`meanappendsize`), uniform from 1 byte; default 16 KiB. Filebench itself
    /// draws lengths with half the mean that it is given.
    pub mean_append_bytes: u64,
    /// Files or subdirectories per directory (`meandirwidth`), at least 2; default 20. Files are only in
    /// the leaves of the directory tree.
    pub directory_width: u32,
    /// Bytes of a request (`iosize`; 1 MiB in the original); default 4096.
    pub request_bytes: u32,
    /// Number of rounds; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
}

impl Default for Fileserver {
    fn default() -> Self {
        Fileserver {
            files: None,
            utilisation: None,
            order: None,
            skew: None,
            mean_bytes: 128 << 10,
            shape: 1.5,
            mean_append_bytes: 16 << 10,
            directory_width: 20,
            request_bytes: request_bytes(),
            operations: None,
        }
    }
}

impl Kind for Fileserver {
    fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError> {
        require_request(self.request_bytes)?;
        require(self.mean_bytes > 0, "mean_bytes", self.mean_bytes, "must be at least 1")?;
        let append = self.mean_append_bytes;
        require((1..=1 << 40).contains(&append), "mean_append_bytes", append, "must lie from 1 to 2^40")?;
        let is_shape = self.shape > 0.0 && self.shape.is_finite();
        require(is_shape, "shape", self.shape, "must be a finite number above 0")?;
        require(self.directory_width >= 2, "directory_width", self.directory_width, "must be at least 2")?;
        // In the steady state, each file has had one append on average, because each round has one append and one
        // deletion.
        let mean_bytes = self.mean_bytes as f64 + append as f64;
        let files = number_of_files(self.files, self.utilisation, capacity_bytes, mean_bytes)?;
        let sizes = Gamma::new(self.shape, self.mean_bytes as f64 / self.shape).expect("checked above");
        let generator = FileserverGenerator {
            files,
            sizes,
            max_append_bytes: 2 * append - 1,
            width: self.directory_width,
            parents: tree(files.div_ceil(self.directory_width), self.directory_width),
            directories: 0,
            leaves: files.div_ceil(self.directory_width),
            population: Population::new(order_and_skew(self.order, self.skew)?),
        };
        Ok(Stream::boxed(generator, self.operations, self.request_bytes, seed))
    }
}

/// Returns the parent of each directory; the `leaves` directories of the lowest level are last. No directory
/// has more than `width` children.
fn tree(leaves: u32, width: u32) -> Vec<Option<DirectoryId>> {
    let mut levels = vec![leaves];
    while levels[levels.len() - 1] > width {
        levels.push(levels[levels.len() - 1].div_ceil(width));
    }
    let mut parents = Vec::new();
    let mut above: Option<u32> = None;
    for &size in levels.iter().rev() {
        let first = parents.len() as u32;
        parents.extend((0..size).map(|at| above.map(|above| DirectoryId(above + at / width))));
        above = Some(first);
    }
    parents
}

struct FileserverGenerator {
    /// Number of files at the start and after each round.
    files: u32,
    sizes: Gamma<f64>,
    max_append_bytes: u64,
    width: u32,
    /// Parent of each directory.
    parents: Vec<Option<DirectoryId>>,
    /// Number of directories created so far.
    directories: usize,
    /// Number of directories with files, which are the last directories.
    leaves: u32,
    population: Population,
}

impl FileserverGenerator {
    /// Creates a file and writes all of it. The directory of the file is calculated from the file number, so that
    /// directories keep their width.
    fn create(&mut self, random: &mut Random, queue: &mut Queue) {
        let bytes = (self.sizes.sample(random) as u64).max(1);
        let file = self.population.add(bytes);
        let first_leaf = self.parents.len() as u32 - self.leaves;
        let leaf = (file.0 / self.width).min(self.leaves - 1);
        queue.push_back(FileOp::Create { file, directory: Some(DirectoryId(first_leaf + leaf)) });
        queue.push_back(FileOp::Append { file, bytes });
    }

    fn draw(&mut self, random: &mut Random) -> FileId {
        self.population.draw(random)
    }
}

impl StepGenerator for FileserverGenerator {
    fn set_up(&mut self, random: &mut Random, queue: &mut Queue) {
        if let Some(&parent) = self.parents.get(self.directories) {
            queue
                .push_back(FileOp::MakeDirectory { directory: DirectoryId(self.directories as u32), parent });
            self.directories += 1;
        } else if self.population.len() < self.files as usize {
            self.create(random, queue);
        }
    }

    fn step(&mut self, random: &mut Random, queue: &mut Queue) {
        self.create(random, queue);
        let file = self.draw(random);
        queue.push_back(FileOp::Append { file, bytes: random.random_range(1..=self.max_append_bytes) });
        queue.push_back(FileOp::ReadWhole { file: self.draw(random) });
        queue.push_back(FileOp::Delete { file: self.population.remove(random) });
        queue.push_back(FileOp::Stat { file: self.draw(random) });
    }
}
