//! Content of a regular file: blocks and holes.

use std::collections::BTreeMap;
use wearwell_nvmfs::api::BLOCK_BYTES;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Content of a file. Missing blocks are holes; bytes beyond the end are zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    size_bytes: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK_BYTES]>>,
}

/// Part of a block that a byte range covers.
struct Piece {
    block: u64,
    /// Offset of the first byte within the block.
    from: usize,
    /// Number of bytes.
    length: usize,
}

/// Splits a byte range at block boundaries.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    // An empty range has no pieces, even in the middle of a block.
    let blocks = if length == 0 { 0..0 } else { offset / BLOCK..end.div_ceil(BLOCK) };
    blocks.map(move |block| {
        let from = offset.max(block * BLOCK);
        let to = end.min((block + 1) * BLOCK);
        Piece { block, from: (from % BLOCK) as usize, length: (to - from) as usize }
    })
}

impl Content {
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the number of existing blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Returns the number of bytes of a write that fit if the write may add at most `free_blocks` blocks.
    pub fn fitting_bytes(&self, offset: u64, length: u64, free_blocks: u64) -> u64 {
        let mut free_blocks = free_blocks;
        let mut fitting = 0;
        for piece in pieces(offset, length) {
            if !self.blocks.contains_key(&piece.block) {
                if free_blocks == 0 {
                    break;
                }
                free_blocks -= 1;
            }
            fitting += piece.length as u64;
        }
        fitting
    }

    /// Reads up to the end of the file; returns the number of bytes.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let length = self.size_bytes.saturating_sub(offset).min(out.len() as u64);
        let mut done = 0;
        for piece in pieces(offset, length) {
            let out = &mut out[done..done + piece.length];
            match self.blocks.get(&piece.block) {
                Some(block) => out.copy_from_slice(&block[piece.from..piece.from + piece.length]),
                None => out.fill(0),
            }
            done += piece.length;
        }
        done
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let mut done = 0;
        for piece in pieces(offset, data.len() as u64) {
            let bytes = &mut self.block(piece.block)[piece.from..piece.from + piece.length];
            bytes.copy_from_slice(&data[done..done + piece.length]);
            done += piece.length;
        }
        self.size_bytes = self.size_bytes.max(offset + data.len() as u64);
    }

    /// Allocates blocks for the holes of a range; extends the file to the end of the range unless
    /// `keep_size` is set.
    pub fn reserve(&mut self, offset: u64, length: u64, keep_size: bool) {
        for piece in pieces(offset, length) {
            self.block(piece.block);
        }
        if !keep_size {
            self.size_bytes = self.size_bytes.max(offset + length);
        }
    }

    /// Makes a range read as zeros: whole blocks become holes, and partly covered blocks stay and are zeroed there.
    pub fn punch(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        let (first_whole, end_whole) = (offset.div_ceil(BLOCK), end / BLOCK);
        self.blocks.retain(|block, _| *block < first_whole || *block >= end_whole);
        // At most two of the remaining blocks are partly covered.
        for edge in [offset / BLOCK, end / BLOCK] {
            if let Some(bytes) = self.blocks.get_mut(&edge) {
                let (from, to) = (offset.max(edge * BLOCK), end.min((edge + 1) * BLOCK));
                if from < to {
                    bytes[(from - edge * BLOCK) as usize..(to - edge * BLOCK) as usize].fill(0);
                }
            }
        }
    }

    /// Truncates or extends the file.
    pub fn resize(&mut self, size_bytes: u64) {
        if size_bytes < self.size_bytes {
            let end = self.size_bytes.next_multiple_of(BLOCK);
            self.punch(size_bytes, end - size_bytes);
        }
        if size_bytes <= self.size_bytes {
            // Removes blocks that were reserved beyond the end.
            self.blocks.split_off(&size_bytes.div_ceil(BLOCK));
        }
        self.size_bytes = size_bytes;
    }

    /// Returns the first offset at or after `offset` whose block exists (if `data` is true) or does not exist; `None`
    /// if there is none before the end of the file.
    pub fn seek(&self, offset: u64, data: bool) -> Option<u64> {
        let mut at = offset;
        while at < self.size_bytes && self.blocks.contains_key(&(at / BLOCK)) != data {
            // From a hole, skips to the next block, because holes can be long.
            let next = at / BLOCK + 1;
            let next =
                if data { self.blocks.range(next..).next().map_or(u64::MAX, |(n, _)| *n) } else { next };
            at = next.saturating_mul(BLOCK);
        }
        if at < self.size_bytes {
            Some(at)
        } else if data {
            None
        } else {
            Some(self.size_bytes)
        }
    }

    fn block(&mut self, block: u64) -> &mut [u8; BLOCK_BYTES] {
        self.blocks.entry(block).or_insert_with(|| Box::new([0; BLOCK_BYTES]))
    }
}
