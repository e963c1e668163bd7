//! The files that a workload has at a time.

use super::FileId;
use rand::Rng;
use wearwell_base::seed::Random;

/// Live files with their sizes, from which one may be drawn with equal chances.
#[derive(Clone, Debug, Default)]
pub(super) struct Population {
    live: Vec<FileId>,
    /// By file: its size in bytes; 0 for numbers not in use.
    sizes: Vec<u64>,
    /// Numbers that were in use and may be given again.
    free: Vec<FileId>,
}

impl Population {
    /// How many files there are.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// A new file of this size.
    pub fn add(&mut self, bytes: u64) -> FileId {
        let file = self.free.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            FileId(self.sizes.len() as u32 - 1)
        });
        self.sizes[file.0 as usize] = bytes;
        self.live.push(file);
        file
    }

    /// One file, all equally likely. Panics if there is none.
    pub fn draw(&self, random: &mut Random) -> FileId {
        self.live[random.random_range(0..self.live.len())]
    }

    /// Takes one file out, all equally likely. Panics if there is none.
    pub fn remove(&mut self, random: &mut Random) -> FileId {
        let at = random.random_range(0..self.live.len());
        let file = self.live.swap_remove(at);
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
