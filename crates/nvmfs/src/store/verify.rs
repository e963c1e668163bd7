//! Verification of data on the SSD against its checksums: when it is read, when it is moved, or all data in one pass.

use super::Store;
use super::extents;
use super::scan::{ChecksummedPart, Problem, ProblemKind};
use super::sums::data_sum;
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Block of the SSD with its owner and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {block} of inode {}, block {location} of the SSD, has a wrong checksum", .ino.0)]
pub(super) struct ChecksummedBlock {
    pub location: u64,
    pub ino: Ino,
    pub block: u32,
    pub sum: u32,
}

impl ChecksummedBlock {
    /// True if the content matches the checksum.
    pub fn matches(&self, content: &[u8]) -> bool {
        data_sum(self.ino, self.block, content) == self.sum
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Verifies the checksum of a file block that was read from the SSD; `sum_of` computes the checksum that the
    /// block has for a given owner.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the checksum does not match.
    pub(super) fn check_data(
        &mut self,
        ino: Ino,
        block: u32,
        location: u64,
        sum_of: impl FnOnce(Ino, u32) -> u32,
    ) -> Result<()> {
        if !self.region.areas.has_sums() {
            return Ok(());
        }
        let ino = self.region.file_of(ino);
        let sum = self.region.half(self.region.areas.ssd_sum(location));
        if sum_of(ino, block) == sum {
            return Ok(());
        }
        let summed = ChecksummedBlock { location, ino, block, sum };
        self.checksum_errors.note(summed.to_string());
        Err(Error::Damaged(summed.to_string()))
    }

    /// Returns the valid blocks of an extent with their checksums; empty if blocks have no checksums.
    pub(super) fn summed_blocks(&self, extent: u32) -> Vec<ChecksummedBlock> {
        if !self.region.areas.has_sums() {
            return Vec::new();
        }
        let first = extents::first_block(extent);
        let valid =
            (first..first + EXTENT_BLOCKS).filter(|location| extents::is_used(&self.region, *location));
        let summed = |location| {
            let (ino, block) = extents::owner_of(&self.region, location);
            let ino = self.region.file_of(ino);
            ChecksummedBlock {
                location,
                ino,
                block,
                sum: self.region.half(self.region.areas.ssd_sum(location)),
            }
        };
        valid.map(summed).collect()
    }

    /// Reads all data on the SSD that has checksums; returns the mismatches.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn check_all_data(&self) -> std::io::Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for extent in 1..self.region.areas.extents() {
            let mismatched = mismatched_blocks(&*self.ssd, &self.summed_blocks(extent))?;
            problems.extend(mismatched.into_iter().map(|one| Problem {
                ino: one.ino,
                kind: ProblemKind::Checksum(ChecksummedPart::SsdData(one.block.into())),
                word: None,
            }));
        }
        Ok(problems)
    }
}

/// Reads blocks, and returns the blocks with a wrong checksum.
pub(super) fn mismatched_blocks<S: Ssd>(
    ssd: &S,
    blocks: &[ChecksummedBlock],
) -> std::io::Result<Vec<ChecksummedBlock>> {
    let mut mismatched = Vec::new();
    let mut content = Vec::new();
    for run in blocks.chunk_by(|one, next| one.location + 1 == next.location) {
        content.resize(run.len() * BLOCK_BYTES, 0);
        ssd.read(run[0].location, &mut content)?;
        let of_run = run.iter().zip(content.chunks(BLOCK_BYTES));
        mismatched.extend(of_run.filter(|(one, content)| !one.matches(content)).map(|(one, _)| *one));
    }
    Ok(mismatched)
}
