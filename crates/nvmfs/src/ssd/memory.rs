//! SSD in memory.

use super::{Block, Ssd, check_range, whole_blocks};
use crate::api::BLOCK_BYTES;
use hashbrown::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// SSD that holds those blocks in memory that were written and not trimmed since. All other blocks read as zeros.
#[derive(Default)]
pub struct MemorySsd {
    blocks: u64,
    content: Mutex<Content>,
}

/// Content by block number; never iterated over. The hasher has fixed keys: simulated content needs no protection
/// against hash flooding. Clones share blocks until one of the clones writes.
type Content = HashMap<u64, Arc<Block>, foldhash::fast::FixedState>;

impl MemorySsd {
    /// Creates an SSD of `blocks` blocks.
    pub fn new(blocks: u64) -> Self {
        MemorySsd { blocks, content: Mutex::default() }
    }

    /// Returns the number of blocks held in memory.
    pub fn stored_blocks(&self) -> u64 {
        self.content().len() as u64
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        // The map is consistent after each statement, so a poisoned lock is harmless.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for MemorySsd {
    fn clone(&self) -> Self {
        MemorySsd { blocks: self.blocks, content: Mutex::new(self.content().clone()) }
    }
}

impl Ssd for MemorySsd {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        whole_blocks(self.blocks, first, out.len())?;
        let content = self.content();
        for (block, out) in (first..).zip(out.chunks_exact_mut(BLOCK_BYTES)) {
            match content.get(&block) {
                Some(there) => out.copy_from_slice(&there[..]),
                None => out.fill(0),
            }
        }
        Ok(())
    }

    fn write(&self, first: u64, data: &[u8], _stream: u16) -> io::Result<()> {
        whole_blocks(self.blocks, first, data.len())?;
        let mut content = self.content();
        let (data, _) = data.as_chunks::<BLOCK_BYTES>();
        for (block, data) in (first..).zip(data) {
            match content.get_mut(&block).and_then(Arc::get_mut) {
                Some(there) => there.copy_from_slice(data),
                None => drop(content.insert(block, Arc::new(*data))),
            }
        }
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        check_range(self.blocks, first, blocks)?;
        let mut content = self.content();
        for block in first..first + blocks {
            content.remove(&block);
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_only_for_written_blocks() {
        let ssd = MemorySsd::new(1 << 40);
        ssd.write(1 << 39, &[1; 3 * BLOCK_BYTES], 0).expect("within");
        assert_eq!(ssd.stored_blocks(), 3);
        ssd.trim((1 << 39) + 1, 10).expect("within");
        assert_eq!(ssd.stored_blocks(), 1);
    }

    #[test]
    fn clone_does_not_see_later_writes() {
        let (ssd, mut content) = (MemorySsd::new(2), [0; BLOCK_BYTES]);
        ssd.write(0, &[1; 2 * BLOCK_BYTES], 0).expect("within");
        let copy = ssd.clone();
        ssd.write(0, &[2; BLOCK_BYTES], 0).expect("within");
        copy.write(1, &[3; BLOCK_BYTES], 0).expect("within");
        for (one, block, byte) in [(&ssd, 0, 2), (&ssd, 1, 1), (&copy, 0, 1), (&copy, 1, 3)] {
            one.read(block, &mut content).expect("within");
            assert_eq!(content, [byte; BLOCK_BYTES], "block {block}");
        }
    }
}
