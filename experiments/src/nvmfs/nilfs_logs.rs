//! Writes of nilfs2 and moves of its cleaner, parsed from the summaries of the logs that nilfs2 writes to its disk.
//!
//! Each log begins with a summary of its files and blocks (`nilfs2_ondisk.h`). Blocks that users write have the
//! checkpoint of the log; blocks that the cleaner moves have the checkpoint of their first write. A log of the
//! cleaner is marked, except in its first part, and may also contain writes of users.

use crate::nvmfs::recorder::Media;
use serde::{Deserialize, Serialize};
use std::ops::Sub;
use std::sync::{Mutex, PoisonError};

const BLOCK_BYTES: usize = 4096;
/// `NILFS_SEGSUM_MAGIC`.
const MAGIC: u32 = 0x1eaf_fa11;
/// `NILFS_SS_GC`: log written by the cleaner.
const CLEANER_FLAG: u16 = 0x10;
/// `NILFS_DAT_INO`: the table from virtual to real block numbers (DAT); pointers to its blocks have real numbers.
const DAT_INODE: u64 = 3;
/// `NILFS_ROOT_INO`, and `NILFS_USER_INO`, the first inode for files of users; other inodes are internal files of the
/// file system.
const ROOT_INODE: u64 = 2;
const FIRST_USER_INODE: u64 = 11;
/// Bytes of `nilfs_segment_summary`, `nilfs_finfo`.
const SUMMARY_BYTES: usize = 64;
const FILE_BYTES: usize = 24;

/// Numbers of blocks in logs, by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBlocks {
    /// File content written by users.
    pub contents: u64,
    /// Blocks of the trees that point to this content.
    pub trees: u64,
    /// File blocks, both content and trees, that the cleaner moved.
    pub moved: u64,
    /// Blocks of the DAT in logs of users.
    pub map: u64,
    /// Blocks of the DAT in logs of the cleaner.
    pub map_by_cleaner: u64,
    /// Summaries, super roots and internal files, in logs of users.
    #[serde(rename = "rest")]
    pub other: u64,
    /// Summaries, super roots and internal files, in logs of the cleaner.
    #[serde(rename = "rest_by_cleaner")]
    pub other_by_cleaner: u64,
}

impl Sub for LogBlocks {
    type Output = LogBlocks;

    fn sub(self, earlier: LogBlocks) -> LogBlocks {
        LogBlocks {
            contents: self.contents - earlier.contents,
            trees: self.trees - earlier.trees,
            moved: self.moved - earlier.moved,
            map: self.map - earlier.map,
            map_by_cleaner: self.map_by_cleaner - earlier.map_by_cleaner,
            other: self.other - earlier.other,
            other_by_cleaner: self.other_by_cleaner - earlier.other_by_cleaner,
        }
    }
}

/// Observer of all writes to the disk.
#[derive(Debug, Default)]
pub struct NilfsLogs {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    blocks: LogBlocks,
    /// Offset and summary length of the most recent log. Its summary may be incomplete until the next log begins.
    current_log: Option<(u64, usize)>,
}

impl NilfsLogs {
    /// Records that `data` was written to the disk at an offset.
    pub fn record_write(&self, disk: &dyn Media, offset_bytes: u64, data: &[u8]) {
        for (index, block) in data.chunks_exact(BLOCK_BYTES).enumerate() {
            if let Some(summary_bytes) = summary_bytes(block) {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.count(disk);
                state.current_log = Some((offset_bytes + (index * BLOCK_BYTES) as u64, summary_bytes));
            }
        }
    }

    /// Returns the blocks of all logs so far, except the most recent one.
    pub fn blocks(&self) -> LogBlocks {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).blocks
    }
}

impl State {
    fn count(&mut self, disk: &dyn Media) {
        let Some((offset_bytes, summary_bytes)) = self.current_log.take() else { return };
        let mut summary = vec![0; summary_bytes.next_multiple_of(BLOCK_BYTES)];
        if disk.read(offset_bytes, &mut summary).is_ok() {
            self.blocks.count(&summary);
        }
    }
}

/// Returns the length of the summary that begins with `block`; `None` if no summary begins with it.
fn summary_bytes(block: &[u8]) -> Option<usize> {
    let is_summary = u32_at(block, 8) == MAGIC && usize::from(u16_at(block, 12)) == SUMMARY_BYTES;
    let bytes = u32_at(block, 48) as usize;
    (is_summary && (SUMMARY_BYTES..=1 << 20).contains(&bytes)).then_some(bytes)
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

/// Returns the offset of an entry that would begin at `at`, but must not cross a block boundary.
fn entry_at(at: usize, bytes: usize) -> usize {
    if at % BLOCK_BYTES + bytes > BLOCK_BYTES { at.next_multiple_of(BLOCK_BYTES) } else { at }
}

impl LogBlocks {
    /// Adds the blocks of a log, according to its summary.
    fn count(&mut self, summary: &[u8]) {
        let is_by_cleaner = u16_at(summary, 14) & CLEANER_FLAG != 0;
        let checkpoint = u64_at(summary, 56);
        let (mut at, mut map, mut user_blocks) = (SUMMARY_BYTES, 0, 0);
        for _ in 0..u32_at(summary, 44) {
            at = entry_at(at, FILE_BYTES);
            if at + FILE_BYTES > summary.len() {
                break;
            }
            let (inode, written_at) = (u64_at(summary, at), u64_at(summary, at + 8));
            let (blocks, contents) = (u32_at(summary, at + 16), u32_at(summary, at + 20));
            at += FILE_BYTES;
            for block in 0..blocks {
                let bytes = if (inode == DAT_INODE) == (block < contents) { 8 } else { 16 };
                at = entry_at(at, bytes) + bytes;
            }
            let (blocks, contents) = (u64::from(blocks), u64::from(contents).min(blocks.into()));
            if inode == DAT_INODE {
                map += blocks;
            } else if inode == ROOT_INODE || inode >= FIRST_USER_INODE {
                user_blocks += blocks;
                if written_at < checkpoint {
                    self.moved += blocks;
                } else {
                    self.contents += contents;
                    self.trees += blocks - contents;
                }
            }
        }
        let other = u64::from(u32_at(summary, 40)).saturating_sub(map + user_blocks);
        let (maps, rests) = match is_by_cleaner {
            true => (&mut self.map_by_cleaner, &mut self.other_by_cleaner),
            false => (&mut self.map, &mut self.other),
        };
        *maps += map;
        *rests += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a summary of files, each with inode, checkpoint, number of blocks, and number of data blocks.
    fn summary(flags: u16, checkpoint: u64, files: &[(u64, u64, u32, u32)]) -> Vec<u8> {
        let mut summary = vec![0; SUMMARY_BYTES];
        for (inode, written_at, blocks, data_blocks) in files {
            let mut put = |bytes: &[u8]| {
                summary.resize(entry_at(summary.len(), bytes.len()), 0);
                summary.extend_from_slice(bytes);
            };
            let words = [inode.to_le_bytes(), written_at.to_le_bytes()].concat();
            put(&[words, blocks.to_le_bytes().to_vec(), data_blocks.to_le_bytes().to_vec()].concat());
            let [data, node] = if *inode == DAT_INODE { [8, 16] } else { [16, 8] };
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
    fn moved_blocks_new_blocks_and_metadata_are_counted_separately() {
        // The entries of the first file extend into a third block, and those of the DAT have different lengths.
        let files =
            |cno| [(20, cno, 600, 590), (DAT_INODE, 0, 40, 30), (21, 9, 7, 7), (22, cno, 3, 3), (5, 0, 2, 2)];
        let (new, old) = (files(9), files(5));
        let (by_user, by_cleaner, unmarked) =
            (summary(3, 9, &new), summary(CLEANER_FLAG, 9, &old), summary(1, 9, &old));
        assert_eq!(by_cleaner.len(), 3 * BLOCK_BYTES);
        let image = tempfile::tempfile().unwrap();
        let logs = NilfsLogs::default();
        let mut offset = 4096;
        let none = LogBlocks::default();
        let written = LogBlocks { contents: 600, trees: 10, map: 40, other: 5, ..none };
        let moved =
            LogBlocks { contents: 607, moved: 603, map_by_cleaner: 40, other_by_cleaner: 5, ..written };
        let more = LogBlocks { contents: 614, moved: 1206, map: 80, other: 10, ..moved };
        // The most recent log is not counted until another one begins.
        for (log, before) in [(&by_user, none), (&by_cleaner, written), (&unmarked, moved), (&by_user, more)]
        {
            // The log is written block by block, as a guest does.
            for block in log.chunks(BLOCK_BYTES) {
                image.write(offset, block).unwrap();
                logs.record_write(&image, offset, block);
                assert_eq!(logs.blocks(), before);
                offset += BLOCK_BYTES as u64;
            }
        }
    }

    #[test]
    fn data_is_not_parsed_as_summary() {
        let image = tempfile::tempfile().unwrap();
        let logs = NilfsLogs::default();
        let mut block = summary(CLEANER_FLAG, 9, &[(20, 5, 3, 3)]);
        block[8] ^= 1;
        image.write(0, &block).unwrap();
        (0..3).for_each(|_| logs.record_write(&image, 0, &block));
        assert_eq!(logs.blocks(), LogBlocks::default());
    }
}
