//! SSD that counts requests and holds no content.

use super::{Ssd, check_range, whole_blocks};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// SSD without content: all reads return zeros.
#[derive(Default)]
pub struct CountingSsd {
    blocks: u64,
    reads: RequestCounts,
    writes: RequestCounts,
    trims: RequestCounts,
    flushes: AtomicU64,
}

/// Counts of requests to an SSD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Read requests.
    pub reads: u64,
    /// Blocks read.
    pub read_blocks: u64,
    /// Write requests.
    pub writes: u64,
    /// Blocks written.
    pub written_blocks: u64,
    /// Trim requests.
    pub trims: u64,
    /// Blocks trimmed.
    pub trimmed_blocks: u64,
    /// Flush requests.
    pub flushes: u64,
}

/// Counts of one type of request.
#[derive(Default)]
struct RequestCounts {
    requests: AtomicU64,
    blocks: AtomicU64,
}

impl RequestCounts {
    fn add(&self, blocks: u64) {
        self.requests.fetch_add(1, Relaxed);
        self.blocks.fetch_add(blocks, Relaxed);
    }

    fn get(&self) -> (u64, u64) {
        (self.requests.load(Relaxed), self.blocks.load(Relaxed))
    }
}

impl CountingSsd {
    /// Creates an SSD of `blocks` blocks.
    pub fn new(blocks: u64) -> Self {
        CountingSsd { blocks, ..CountingSsd::default() }
    }

    /// Returns the counts so far, which do not include refused requests.
    pub fn counts(&self) -> Counts {
        let (reads, read_blocks) = self.reads.get();
        let (writes, written_blocks) = self.writes.get();
        let (trims, trimmed_blocks) = self.trims.get();
        let flushes = self.flushes.load(Relaxed);
        Counts { reads, read_blocks, writes, written_blocks, trims, trimmed_blocks, flushes }
    }
}

impl Ssd for CountingSsd {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.reads.add(whole_blocks(self.blocks, first, out.len())?);
        out.fill(0);
        Ok(())
    }

    fn write(&self, first: u64, data: &[u8], _stream: u16) -> io::Result<()> {
        self.writes.add(whole_blocks(self.blocks, first, data.len())?);
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        check_range(self.blocks, first, blocks)?;
        self.trims.add(blocks);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.flushes.fetch_add(1, Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::BLOCK_BYTES;

    #[test]
    fn completed_requests_are_counted_refused_ones_are_not() {
        let ssd = CountingSsd::new(8);
        let mut out = vec![1; 2 * BLOCK_BYTES];
        ssd.write(0, &out, 3).expect("within");
        ssd.read(6, &mut out).expect("within");
        ssd.trim(1, 3).expect("within");
        ssd.flush().expect("it cannot fail");
        assert!(out.iter().all(|&byte| byte == 0));
        assert!(ssd.read(7, &mut out).is_err() && ssd.trim(u64::MAX, 2).is_err());
        assert!(ssd.write(7, &out, 0).is_err() && ssd.write(0, &out[1..], 0).is_err());
        let expected = Counts {
            reads: 1,
            read_blocks: 2,
            writes: 1,
            written_blocks: 2,
            trims: 1,
            trimmed_blocks: 3,
            flushes: 1,
        };
        assert_eq!(ssd.counts(), expected);
    }
}
