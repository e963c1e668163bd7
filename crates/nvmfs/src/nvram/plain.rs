//! Ordinary memory used as NVRAM.

use super::{Nvram, check_region};
use wearwell_base::table;

/// NVRAM of a simulation without power cuts: every store is durable.
pub struct PlainNvram(Vec<u8>);

impl PlainNvram {
    /// Creates NVRAM with `bytes` zeros (a multiple of 4096), on huge pages if the system provides them.
    pub fn new(bytes: usize) -> Self {
        check_region(bytes);
        PlainNvram(table::filled(bytes, 0))
    }

    /// Returns the content, from which a later mount can continue.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl From<Vec<u8>> for PlainNvram {
    fn from(bytes: Vec<u8>) -> Self {
        check_region(bytes.len());
        PlainNvram(bytes)
    }
}

impl Nvram for PlainNvram {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn store_word(&mut self, at: usize, word: u64) {
        debug_assert!(at.is_multiple_of(8));
        self.store(at, &word.to_le_bytes());
    }

    fn write_back(&mut self, _at: usize, _length: usize) {}

    fn fence(&mut self) {}
}
