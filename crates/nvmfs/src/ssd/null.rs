//! SSD that holds no content.

use super::{Ssd, check_range, whole_blocks};
use std::io;

/// SSD without content: all reads return zeros.
pub struct NullSsd {
    blocks: u64,
}

impl NullSsd {
    /// Creates an SSD of `blocks` blocks.
    pub fn new(blocks: u64) -> Self {
        NullSsd { blocks }
    }
}

impl Ssd for NullSsd {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        whole_blocks(self.blocks, first, out.len())?;
        out.fill(0);
        Ok(())
    }

    fn write(&self, first: u64, data: &[u8], _stream: u16) -> io::Result<()> {
        whole_blocks(self.blocks, first, data.len())?;
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        check_range(self.blocks, first, blocks)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::BLOCK_BYTES;

    #[test]
    fn reads_return_zeros_and_requests_outside_are_refused() {
        let ssd = NullSsd::new(8);
        let mut out = vec![1; 2 * BLOCK_BYTES];
        ssd.write(0, &out, 3).expect("within");
        ssd.read(6, &mut out).expect("within");
        ssd.trim(1, 3).expect("within");
        ssd.flush().expect("it cannot fail");
        assert!(out.iter().all(|&byte| byte == 0));
        assert!(ssd.read(7, &mut out).is_err() && ssd.trim(u64::MAX, 2).is_err());
        assert!(ssd.write(7, &out, 0).is_err() && ssd.write(0, &out[1..], 0).is_err());
    }
}
