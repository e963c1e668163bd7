//! Existing files of a workload.

use super::FileId;
use super::order::Order;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Zipf};
use wearwell_base::seed::Random;

/// Existing files with their sizes, from which files are drawn.
///
/// *Uniform*: all files are equally likely. *Permuted*: each file is drawn once per pass, and new files join the next
/// pass; the oldest file is removed first. *Zipf*: files are ranked by age, the youngest first, and the file of rank
/// `k` is drawn or removed in proportion to `k^-skew`.
#[derive(Clone, Debug)]
pub(super) struct Population {
    order: Order,
    skew: f64,
    /// Existing files, oldest first (in any order for `uniform`).
    files: Vec<FileId>,
    /// Size of each file in bytes; 0 for unused numbers.
    sizes: Vec<u64>,
    /// Numbers of deleted files that are not used again yet.
    free: Vec<FileId>,
    /// Files that remain in the current pass; some may have been deleted.
    remaining: Vec<FileId>,
}

impl Population {
    /// Creates an empty population.
    pub fn new((order, skew): (Order, f64)) -> Self {
        Population {
            order,
            skew,
            files: Vec::new(),
            sizes: Vec::new(),
            free: Vec::new(),
            remaining: Vec::new(),
        }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Adds a file of this size, at least 1 byte.
    pub fn add(&mut self, bytes: u64) -> FileId {
        let file = self.free.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            FileId(self.sizes.len() as u32 - 1)
        });
        self.sizes[file.0 as usize] = bytes;
        self.files.push(file);
        file
    }

    /// Draws a file. Panics if there are no files.
    pub fn draw(&mut self, random: &mut Random) -> FileId {
        match self.order {
            Order::Uniform => self.files[random.random_range(0..self.files.len())],
            Order::Zipf => self.files[self.draw_by_age(random)],
            Order::Permuted => loop {
                match self.remaining.pop() {
                    Some(file) if self.sizes[file.0 as usize] > 0 => return file,
                    Some(_) => {}
                    None => {
                        self.remaining.clone_from(&self.files);
                        self.remaining.shuffle(random);
                    }
                }
            },
        }
    }

    /// Draws an index into `files`, ranked by age.
    fn draw_by_age(&self, random: &mut Random) -> usize {
        let zipf =
            Zipf::new(self.files.len() as f64, self.skew).expect("there are files, and the skew is one");
        self.files.len() - zipf.sample(random) as usize
    }

    /// Draws a file and removes it. Panics if there are no files.
    pub fn remove(&mut self, random: &mut Random) -> FileId {
        let file = match self.order {
            Order::Uniform => {
                let at = random.random_range(0..self.files.len());
                self.files.swap_remove(at)
            }
            Order::Zipf => {
                let at = self.draw_by_age(random);
                self.files.remove(at)
            }
            Order::Permuted => self.files.remove(0),
        };
        self.sizes[file.0 as usize] = 0;
        self.free.push(file);
        file
    }

    /// Returns the size of a file, bytes.
    pub fn size_bytes(&self, file: FileId) -> u64 {
        self.sizes[file.0 as usize]
    }

    /// Adds `bytes` to the size of a file.
    pub fn grow(&mut self, file: FileId, bytes: u64) {
        self.sizes[file.0 as usize] += bytes;
    }
}
