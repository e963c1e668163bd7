//! Filebench's file server.

use super::kind::Kind;
use super::order::{Order, law};
use super::population::Population;
use super::size::{number_of_files, request_bytes, require, require_request};
use super::stream::{Law, Queue, Stream};
use super::{DirectoryId, FileId, FileOp, FileWorkload};
use rand::Rng;
use rand_distr::{Distribution, Gamma};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// The personality `fileserver.f` of Filebench 1.4.
///
/// A round makes a file and writes it whole, appends to a file, reads a file whole, deletes a file and asks for the
/// attributes of one, each drawn with equal chances. Sizes of new files are gamma distributed. Rounds are those of one
/// thread; Filebench has 50 that take turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fileserver {
    /// Files (80 % of `nfiles`, which are made beforehand); else `utilisation` of the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Share of the capacity that files take once appends and deletions balance each other, when they are larger than at
    /// first; 0.6 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Order in which files are taken: `permuted`, each once in a pass and the oldest deleted; `uniform`; or `zipf`, by age, the
    /// youngest most often. Uniform unless given; with `skew`, Zipf's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Exponent of Zipf's law over the files by age, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// Mean size of new files (`filesize`); 128 KiB.
    pub mean_bytes: u64,
    /// Shape of the gamma distribution of sizes, above 0; 1.5.
    pub shape: f64,
    /// Mean length of an append (`meanappendsize`), uniform from 1 on; 16 KiB. Filebench's own draws have half the mean
    /// that they are given.
    pub mean_append_bytes: u64,
    /// Files or directories in a directory (`meandirwidth`), at least 2; 20. Files lie in the lowest ones of a tree.
    pub directory_width: u32,
    /// Bytes of a request (`iosize`; 1 MiB in the original); 4096.
    pub request_bytes: u32,
    /// Rounds; without end unless given.
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
        // For each file deleted, one is created and one append is made.
        let mean_bytes = self.mean_bytes as f64 + append as f64;
        let files = number_of_files(self.files, self.utilisation, capacity_bytes, mean_bytes)?;
        let sizes = Gamma::new(self.shape, self.mean_bytes as f64 / self.shape).expect("checked above");
        let law = FileserverLaw {
            files,
            sizes,
            longest_append: 2 * append - 1,
            width: self.directory_width,
            parents: tree(files.div_ceil(self.directory_width), self.directory_width),
            directories: 0,
            leaves: files.div_ceil(self.directory_width),
            population: Population::new(law(self.order, self.skew)?),
        };
        Ok(Stream::boxed(law, self.operations, self.request_bytes, seed))
    }
}

/// The parent of each directory, the lowest level of `leaves` directories last; no directory has more than `width` children.
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

struct FileserverLaw {
    /// At first, and after each round.
    files: u32,
    sizes: Gamma<f64>,
    longest_append: u64,
    width: u32,
    /// By directory.
    parents: Vec<Option<DirectoryId>>,
    /// Made so far.
    directories: usize,
    /// Directories that have files, the last ones.
    leaves: u32,
    population: Population,
}

impl FileserverLaw {
    /// Makes a file and writes it whole. Its place in the tree goes with its number, so that directories keep their width.
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

impl Law for FileserverLaw {
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
        queue.push_back(FileOp::Append { file, bytes: random.random_range(1..=self.longest_append) });
        queue.push_back(FileOp::ReadWhole { file: self.draw(random) });
        queue.push_back(FileOp::Delete { file: self.population.remove(random) });
        queue.push_back(FileOp::Stat { file: self.draw(random) });
    }
}
