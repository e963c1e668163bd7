//! NVRAM that counts accesses, to detect endless loops.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wearwell_nvmfs::layout::{ChangeNoteWords, Epoch, ListEnds, SUPERBLOCK_BYTES, SnapshotPages};
use wearwell_nvmfs::nvram::Nvram;

/// NVRAM that panics after a maximum number of accesses.
pub struct AccessLimitedNvram {
    bytes: Vec<u8>,
    accesses: AtomicU64,
    max_accesses: u64,
}

impl AccessLimitedNvram {
    /// Creates a region that allows `max_accesses` accesses.
    pub fn new(bytes: Vec<u8>, max_accesses: u64) -> Self {
        AccessLimitedNvram { bytes, accesses: AtomicU64::new(0), max_accesses }
    }

    fn access(&self) {
        let accesses = self.accesses.fetch_add(1, Relaxed);
        assert!(accesses < self.max_accesses, "no end after {accesses} accesses");
    }
}

impl Nvram for AccessLimitedNvram {
    fn bytes(&self) -> &[u8] {
        self.access();
        &self.bytes
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        self.access();
        assert!(at >= SUPERBLOCK_BYTES, "the superblock never changes");
        let is_known =
            [ListEnds::AT, ListEnds::SUM_AT, Epoch::AT, Epoch::NEXT_AT, ChangeNoteWords::AT].contains(&at);
        assert!(at >= 4096 || is_known, "nothing else is in its page");
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn store_word(&mut self, at: usize, word: u64) {
        self.access();
        let of_snapshots = SnapshotPages::AT..SnapshotPages::AT + 8 * SnapshotPages::COUNT;
        let is_known = at == ListEnds::CLEAN_AT || of_snapshots.contains(&at) || at >= ChangeNoteWords::AT;
        // The upgrade of the format may change the superblock.
        let is_first = at == 0 && self.bytes[7] == b'1' && word == u64::from_le_bytes(*b"WWNVMFS8");
        assert!(at >= 4096 || is_known || is_first, "nothing else is in the superblock's page");
        assert!(at.is_multiple_of(8), "a word lies at a multiple of 8");
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    fn write_back(&mut self, _at: usize, _length: usize) {}

    fn fence(&mut self) {
        self.access();
    }
}
