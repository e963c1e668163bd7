//! What nilfs2's cleaner moves, read from the summaries of the logs that nilfs2 writes to its disk.
//!
//! Each log begins with a summary, which names its files and blocks (`nilfs2_ondisk.h`). A log of the cleaner is marked. It
//! may hold what users wrote too: blocks of that carry the log's own checkpoint, and moved ones that of their first writing.

use crate::nvmfs::recorder::Media;
use std::sync::{Mutex, PoisonError};

const BLOCK_BYTES: usize = 4096;
/// `NILFS_SEGSUM_MAGIC`.
const MAGIC: u32 = 0x1eaf_fa11;
/// `NILFS_SS_GC`: written by the cleaner.
const BY_CLEANER: u16 = 0x10;
/// `NILFS_DAT_INO`: the table from virtual to real block numbers, whose own blocks have real ones.
const DAT: u64 = 3;
/// Bytes of `nilfs_segment_summary`, `nilfs_finfo`.
const SUMMARY_BYTES: usize = 64;
const FILE_BYTES: usize = 24;

/// Looks at all that is written to the disk.
#[derive(Debug, Default)]
pub struct NilfsLogs {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Blocks of files that the cleaner moved, as they were written before.
    moved_blocks: u64,
    /// The log that began last: where, and how long its summary is. Its summary may not be whole before another begins.
    begun: Option<(u64, usize)>,
}

impl NilfsLogs {
    /// `data` was written to the disk at an offset.
    pub fn written(&self, disk: &dyn Media, offset_bytes: u64, data: &[u8]) {
        for (index, block) in data.chunks_exact(BLOCK_BYTES).enumerate() {
            if let Some(summary_bytes) = summary_bytes(block) {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.count_moved(disk);
                state.begun = Some((offset_bytes + (index * BLOCK_BYTES) as u64, summary_bytes));
            }
        }
    }

    /// Blocks of files that the cleaner moved so far, in the logs up to the last one.
    pub fn moved_blocks(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).moved_blocks
    }
}

impl State {
    fn count_moved(&mut self, disk: &dyn Media) {
        let Some((offset_bytes, summary_bytes)) = self.begun.take() else { return };
        let mut summary = vec![0; summary_bytes.next_multiple_of(BLOCK_BYTES)];
        if disk.read(offset_bytes, &mut summary).is_ok() {
            self.moved_blocks += moved_blocks(&summary);
        }
    }
}

/// The length of the summary that a block begins, if it is the beginning of one.
fn summary_bytes(block: &[u8]) -> Option<usize> {
    let is_one = u32_at(block, 8) == MAGIC && usize::from(u16_at(block, 12)) == SUMMARY_BYTES;
    let bytes = u32_at(block, 48) as usize;
    (is_one && (SUMMARY_BYTES..=1 << 20).contains(&bytes)).then_some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Where an entry lies that would begin at `at`: none lies across the end of a block.
fn entry_at(at: usize, bytes: usize) -> usize {
    if at % BLOCK_BYTES + bytes > BLOCK_BYTES { at.next_multiple_of(BLOCK_BYTES) } else { at }
}

/// Blocks of files in a log that its writer moved, by its summary: none if that is not the cleaner.
fn moved_blocks(summary: &[u8]) -> u64 {
    let mut moved = 0;
    if u16_at(summary, 14) & BY_CLEANER == 0 {
        return moved;
    }
    let checkpoint = u64_at(summary, 56);
    let mut at = SUMMARY_BYTES;
    for _ in 0..u32_at(summary, 44) {
        at = entry_at(at, FILE_BYTES);
        if at + FILE_BYTES > summary.len() {
            break;
        }
        let (inode, written_at) = (u64_at(summary, at), u64_at(summary, at + 8));
        let (blocks, data_blocks) = (u32_at(summary, at + 16), u32_at(summary, at + 20));
        at += FILE_BYTES;
        // Files of the file system itself have checkpoint 0.
        if written_at > 0 && written_at < checkpoint {
            moved += u64::from(blocks);
        }
        for block in 0..blocks {
            let bytes = if (inode == DAT) == (block < data_blocks) { 8 } else { 16 };
            at = entry_at(at, bytes) + bytes;
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A summary of files: inode, checkpoint, blocks, data blocks among them.
    fn summary(flags: u16, checkpoint: u64, files: &[(u64, u64, u32, u32)]) -> Vec<u8> {
        let mut summary = vec![0; SUMMARY_BYTES];
        for (inode, written_at, blocks, data_blocks) in files {
            let mut put = |bytes: &[u8]| {
                summary.resize(entry_at(summary.len(), bytes.len()), 0);
                summary.extend_from_slice(bytes);
            };
            let words = [inode.to_le_bytes(), written_at.to_le_bytes()].concat();
            put(&[words, blocks.to_le_bytes().to_vec(), data_blocks.to_le_bytes().to_vec()].concat());
            let [data, node] = if *inode == DAT { [8, 16] } else { [16, 8] };
            (0..*blocks).for_each(|block| put(&vec![0xff; if block < *data_blocks { data } else { node }]));
        }
        let bytes = summary.len() as u32;
        let total = files.iter().map(|file| file.2).sum::<u32>() + bytes.div_ceil(BLOCK_BYTES as u32);
        summary[8..12].copy_from_slice(&MAGIC.to_le_bytes());
        summary[12..14].copy_from_slice(&(SUMMARY_BYTES as u16).to_le_bytes());
        summary[14..16].copy_from_slice(&flags.to_le_bytes());
        summary[40..44].copy_from_slice(&total.to_le_bytes());
        summary[44..48].copy_from_slice(&(files.len() as u32).to_le_bytes());
        summary[48..52].copy_from_slice(&bytes.to_le_bytes());
        summary[56..64].copy_from_slice(&checkpoint.to_le_bytes());
        summary.resize(summary.len().next_multiple_of(BLOCK_BYTES), 0);
        summary
    }

    #[test]
    fn moved_blocks_are_told_from_new_ones_and_from_metadata() {
        // The first file's entries reach into a third block, and those of the table have the other lengths.
        let files = [(20, 5, 600, 590), (DAT, 0, 40, 30), (21, 9, 7, 7), (22, 8, 3, 3), (5, 0, 2, 2)];
        let (by_cleaner, by_user) = (summary(BY_CLEANER, 9, &files), summary(3, 9, &files));
        assert_eq!(by_cleaner.len(), 3 * BLOCK_BYTES);
        let image = tempfile::tempfile().unwrap();
        let logs = NilfsLogs::default();
        let mut offset = 4096;
        // The last is not counted before another begins.
        for (log, moved_before) in [(&by_user, 0), (&by_cleaner, 0), (&by_user, 603)] {
            // As a guest writes it: block by block.
            for block in log.chunks(BLOCK_BYTES) {
                image.write(offset, block).unwrap();
                logs.written(&image, offset, block);
                assert_eq!(logs.moved_blocks(), moved_before);
                offset += BLOCK_BYTES as u64;
            }
        }
    }

    #[test]
    fn data_is_no_summary() {
        let image = tempfile::tempfile().unwrap();
        let logs = NilfsLogs::default();
        let mut block = summary(BY_CLEANER, 9, &[(20, 5, 3, 3)]);
        block[8] ^= 1;
        image.write(0, &block).unwrap();
        (0..3).for_each(|_| logs.written(&image, 0, &block));
        assert_eq!(logs.moved_blocks(), 0);
    }
}
