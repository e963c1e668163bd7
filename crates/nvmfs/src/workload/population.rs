//! The files that a workload has at a time.

use super::FileId;
use super::order::Order;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Zipf};
use wearwell_base::seed::Random;

/// Live files with their sizes, from which one may be drawn.
///
/// *Uniform*: all equally likely. *Permuted*: each once in a pass, which those that come meanwhile join with the next; the oldest is
/// the next that is removed. *Zipf*: by age, the youngest first: of rank `k` in proportion to `k^-skew`, and removed likewise.
#[derive(Clone, Debug)]
pub(super) struct Population {
    order: Order,
    skew: f64,
    /// From the oldest on, but for the uniform order.
    live: Vec<FileId>,
    /// By file: its size in bytes; 0 for numbers not in use.
    sizes: Vec<u64>,
    /// Numbers that were in use and may be given again.
    free: Vec<FileId>,
    /// Of a pass, still to come; some of them may be gone.
    left: Vec<FileId>,
}

impl Population {
    /// None yet.
    pub fn new((order, skew): (Order, f64)) -> Self {
        Population { order, skew, live: Vec::new(), sizes: Vec::new(), free: Vec::new(), left: Vec::new() }
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// A new file of this size, at least 1.
    pub fn add(&mut self, bytes: u64) -> FileId {
        let file = self.free.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            FileId(self.sizes.len() as u32 - 1)
        });
        self.sizes[file.0 as usize] = bytes;
        self.live.push(file);
        file
    }

    /// One file. Panics if there is none.
    pub fn draw(&mut self, random: &mut Random) -> FileId {
        match self.order {
            Order::Uniform => self.live[random.random_range(0..self.live.len())],
            Order::Zipf => self.live[self.by_age(random)],
            Order::Permuted => loop {
                match self.left.pop() {
                    Some(file) if self.sizes[file.0 as usize] > 0 => return file,
                    Some(_) => {}
                    None => {
                        self.left.clone_from(&self.live);
                        self.left.shuffle(random);
                    }
                }
            },
        }
    }

    /// Where a live file is that was drawn by its age.
    fn by_age(&self, random: &mut Random) -> usize {
        let zipf =
            Zipf::new(self.live.len() as f64, self.skew).expect("there are files, and the skew is one");
        self.live.len() - zipf.sample(random) as usize
    }

    /// Takes one file out. Panics if there is none.
    pub fn remove(&mut self, random: &mut Random) -> FileId {
        let file = match self.order {
            Order::Uniform => {
                let at = random.random_range(0..self.live.len());
                self.live.swap_remove(at)
            }
            Order::Zipf => {
                let at = self.by_age(random);
                self.live.remove(at)
            }
            Order::Permuted => self.live.remove(0),
        };
        self.sizes[file.0 as usize] = 0;
        self.free.push(file);
        file
    }

    /// Bytes of a file.
    pub fn size_bytes(&self, file: FileId) -> u64 {
        self.sizes[file.0 as usize]
    }

    /// The file has so many bytes more.
    pub fn grow(&mut self, file: FileId, bytes: u64) {
        self.sizes[file.0 as usize] += bytes;
    }
}
