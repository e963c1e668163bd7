//! Scrub: verifies all checksums in short steps, while the file system is in use.

use super::change_notes::Unit;
use super::pages::{self, State};
use super::verify::{ChecksummedBlock, mismatched_blocks};
use super::{Store, extents};
use crate::api::{Ino, Result};
use crate::layout::PageId;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::stats::ChecksumStats;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Number of inodes verified in one step.
const INODES_PER_STEP: u32 = 2048;
/// Number of NVRAM pages verified in one step.
const PAGES_PER_STEP: u32 = 1024;

/// Progress of the current pass, and results of all passes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScrubPass {
    /// Next inode to verify.
    inode: u32,
    /// Next NVRAM page to verify.
    page: u32,
    /// Next extent to verify.
    extent: u32,
    /// Number of completed passes.
    passes: u64,
    metadata: u64,
    blocks: u64,
}

/// Blocks of the SSD to read and verify. The file system may be used meanwhile.
pub struct Scrub<S> {
    blocks: Vec<ChecksummedBlock>,
    mismatches: OnceLock<Vec<ChecksummedBlock>>,
    ssd: Arc<S>,
}

impl<S: Ssd> Scrub<S> {
    /// Reads and verifies the blocks.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn read(&self) -> std::io::Result<()> {
        let mismatched = mismatched_blocks(&*self.ssd, &self.blocks)?;
        self.mismatches.get_or_init(|| mismatched);
        Ok(())
    }
}

/// Returns the range of the next `count` numbers from `from`, limited by `end`, and advances `from`.
fn next_range(from: &mut u32, count: u32, end: u32) -> Range<u32> {
    let range = *from..from.saturating_add(count).min(end);
    *from = range.end;
    range
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Verifies metadata in one step, and returns blocks of an extent for the caller to read and verify. Returns
    /// `None` at the end of a pass; the next call begins a new pass.
    pub fn begin_scrub(&mut self) -> Option<Scrub<S>> {
        let (inodes, pages, extents) =
            (self.region.inode_limit(), self.region.areas.pages, self.region.areas.extents());
        if self.scrub_pass.inode >= inodes
            && (self.scrub_pass.page, self.scrub_pass.extent) == (pages, extents)
        {
            (self.scrub_pass.inode, self.scrub_pass.page, self.scrub_pass.extent) = (0, 0, 0);
            self.scrub_pass.passes += 1;
            return None;
        }
        for ino in next_range(&mut self.scrub_pass.inode, INODES_PER_STEP, inodes) {
            self.check_unit(Unit::Inode(Ino(ino)));
        }
        for page in next_range(&mut self.scrub_pass.page, PAGES_PER_STEP, pages).map(PageId) {
            if pages::state_of(&self.region, page) == State::Metadata {
                self.check_unit(Unit::Page(page));
            }
        }
        let extent = next_range(&mut self.scrub_pass.extent, 1, extents).next();
        let blocks = extent.map_or(Vec::new(), |extent| self.summed_blocks(extent));
        Some(Scrub { blocks, mismatches: OnceLock::new(), ssd: Arc::clone(&self.ssd) })
    }

    fn check_unit(&mut self, unit: Unit) {
        if !self.region.exists(unit) {
            return;
        }
        self.scrub_pass.metadata += 1;
        if !self.region.has_valid_checksum(unit) && self.region.set_damaged(unit) {
            self.checksum_errors.note(format!("{unit} has a wrong checksum"));
        }
    }

    /// Evaluates the blocks that were read. Blocks that were rewritten meanwhile are ignored.
    ///
    /// # Errors
    /// Errors of the read.
    pub fn end_scrub(&mut self, scrub: Scrub<S>, outcome: std::io::Result<()>) -> Result<()> {
        outcome?;
        self.scrub_pass.blocks += scrub.blocks.len() as u64;
        for mismatched in scrub.mismatches.get().into_iter().flatten() {
            if self.summed_blocks(extents::extent_of(mismatched.location)).contains(mismatched) {
                self.checksum_errors.note(mismatched.to_string());
            }
        }
        Ok(())
    }

    /// Returns the results of checksum verification since the store was opened, if there are checksums.
    pub fn checksum_stats(&self) -> Option<ChecksumStats> {
        self.region.is_checked().then(|| ChecksumStats {
            covers_data: self.region.areas.has_sums(),
            mismatches: self.checksum_errors.count,
            last_mismatch: self.checksum_errors.last.clone(),
            passes: self.scrub_pass.passes,
            checked_metadata: self.scrub_pass.metadata,
            checked_blocks: self.scrub_pass.blocks,
        })
    }
}
