//! Creation, listing and deletion of snapshots.

use super::Nvmfs;
use crate::api::Result;
use crate::layout::SnapshotRecord;
use crate::names::check::{NameProblem, check};
use crate::nvram::Nvram;
use crate::options::Options;
use crate::ssd::Ssd;
use crate::stats::SnapshotStats;
use crate::store::{OpenError, OpenReport, Store};
use std::sync::Arc;

/// Number of blocks freed, or moved to an older snapshot, in one step before requests can proceed.
pub(super) const BLOCKS_PER_STEP: u64 = 2048;
/// Number of inode pages examined in one step after the last snapshot was deleted.
const INODE_PAGES_PER_STEP: usize = 64;

/// Rolls the file system back to each of its snapshots in turn, and checks the names in each. Returns the problems,
/// each with the name of its snapshot. The store must be a private copy with valid blocks; it is unusable afterwards.
///
/// # Errors
/// [`Damaged`](crate::api::Error::Damaged) if rolling back to a snapshot fails.
pub fn check_snapshots<N: Nvram, S: Ssd>(store: Store<N, S>) -> Result<Vec<(String, NameProblem)>> {
    let mut problems = Vec::new();
    store.for_each_snapshot(|name, region| {
        problems.extend(check(region)?.into_iter().map(|problem| (name.to_owned(), problem)));
        Ok(())
    })?;
    Ok(problems)
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Opens a snapshot for reading. `nvram` must be a private copy, because this function modifies it; the SSD is
    /// only read.
    ///
    /// # Errors
    /// Devices that do not hold a file system or not this snapshot; damage that needs fsck.
    pub fn mount_snapshot(
        nvram: N,
        ssd: Arc<S>,
        options: Options,
        name: &str,
    ) -> std::result::Result<(Self, OpenReport), OpenError> {
        let (store, found) = Store::open_snapshot(nvram, ssd, options, name)?;
        Ok((Self::from_store_with_orphans(store, &found.scan.orphans)?, found))
    }

    /// Creates a snapshot atomically: it contains all operations that returned before, and no operation that starts
    /// later.
    ///
    /// # Errors
    /// Errors of [`Store::create_snapshot`].
    pub fn create_snapshot(&mut self, name: &str, now_ns: i64) -> Result<()> {
        self.store.create_snapshot(name, now_ns)
    }

    /// Deletes a snapshot, and frees the blocks that no other snapshot and no file uses. If power is cut meanwhile,
    /// the next mount completes the deletion.
    ///
    /// # Errors
    /// [`NotFound`](crate::api::Error::NotFound), [`Damaged`](crate::api::Error::Damaged).
    pub fn delete_snapshot(&mut self, name: &str) -> Result<()> {
        self.begin_deleting_snapshot(name)?;
        while self.continue_deleting(BLOCKS_PER_STEP)? {}
        Ok(())
    }

    /// Marks a snapshot as deleted; its blocks are freed gradually by [`Nvmfs::continue_deleting`].
    ///
    /// # Errors
    /// [`NotFound`](crate::api::Error::NotFound).
    pub fn begin_deleting_snapshot(&mut self, name: &str) -> Result<()> {
        self.store.begin_deleting(name)
    }

    /// Frees about `blocks` blocks of deleted snapshots. After the last snapshot is gone, frees unneeded inode pages.
    /// Returns true if work remains.
    ///
    /// # Errors
    /// [`Damaged`](crate::api::Error::Damaged).
    pub fn continue_deleting(&mut self, blocks: u64) -> Result<bool> {
        if self.store.snapshots_being_deleted() > 0 {
            self.store.continue_deleting(blocks)?;
            // Inode pages are kept as long as a snapshot may need them.
            self.inode_pages_to_drop =
                if self.store.has_snapshots() { Vec::new() } else { self.store.region.inode_page_numbers() };
            return Ok(self.store.snapshots_being_deleted() > 0 || !self.inode_pages_to_drop.is_empty());
        }
        let after = self.inode_pages_to_drop.len().saturating_sub(INODE_PAGES_PER_STEP);
        for number in self.inode_pages_to_drop.split_off(after).into_iter().rev() {
            self.drop_inode_page(number)?;
        }
        Ok(!self.inode_pages_to_drop.is_empty())
    }

    /// Returns the snapshots, oldest first, each with the number of blocks that it uses alone or shares with older
    /// snapshots only.
    ///
    /// # Errors
    /// [`Damaged`](crate::api::Error::Damaged).
    pub fn snapshots(&self) -> Result<Vec<SnapshotStats>> {
        let stats_of = |record: &SnapshotRecord| {
            let blocks = self.store.blocks_of_snapshot(&record.name)?;
            Ok(SnapshotStats { name: record.name.clone(), created_ns: record.created_ns, blocks })
        };
        self.store.snapshots().map(stats_of).collect()
    }
}
