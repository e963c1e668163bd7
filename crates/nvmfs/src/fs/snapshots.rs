//! Snapshots are made, listed and deleted.

use super::Nvmfs;
use crate::api::Result;
use crate::layout::SnapshotRecord;
use crate::names::check::{NameProblem, check};
use crate::nvram::Nvram;
use crate::options::Options;
use crate::ssd::Ssd;
use crate::stats::SnapshotStats;
use crate::store::{Found, OpenError, Store};
use std::sync::Arc;

/// Blocks that are freed or handed down before requests have their turn.
pub(super) const BLOCKS_AT_ONCE: u64 = 2048;
/// Pages of inodes that are looked at in a step once the last snapshot is gone.
const INODE_PAGES_AT_ONCE: usize = 64;

/// Turns the file system back to one snapshot after the other, and checks the names in each; what is wrong, with the name of the
/// snapshot. The store is to be one over a copy of the NVRAM, with blocks that are right: it is of no use afterwards.
///
/// # Errors
/// [`Damaged`](crate::api::Error::Damaged) if a snapshot cannot be turned back.
pub fn check_snapshots<N: Nvram, S: Ssd>(store: Store<N, S>) -> Result<Vec<(String, NameProblem)>> {
    let mut problems = Vec::new();
    store.look_back(|name, region| {
        problems.extend(check(region)?.into_iter().map(|problem| (name.to_owned(), problem)));
        Ok(())
    })?;
    Ok(problems)
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// The file system as it was when a snapshot was made, to be read. What is stored to the NVRAM, which is to be a copy, is nothing
    /// that may stay; the SSD is only read.
    ///
    /// # Errors
    /// Devices that do not hold it or that snapshot, damage that needs fsck.
    pub fn mount_snapshot(
        nvram: N,
        ssd: Arc<S>,
        options: Options,
        name: &str,
    ) -> std::result::Result<(Self, Found), OpenError> {
        let (store, found) = Store::open_snapshot(nvram, ssd, options, name)?;
        Ok((Self::over_found(store, &found.scan.orphans)?, found))
    }

    /// Makes a snapshot of all that is there, at once: what returned before is in it, what comes later is not.
    ///
    /// # Errors
    /// Those of [`Store::create_snapshot`].
    pub fn create_snapshot(&mut self, name: &str, now_ns: i64) -> Result<()> {
        self.store.create_snapshot(name, now_ns)
    }

    /// Deletes a snapshot, and frees what it alone has. If that is interrupted, mounting does the rest.
    ///
    /// # Errors
    /// [`NotFound`](crate::api::Error::NotFound), [`Damaged`](crate::api::Error::Damaged).
    pub fn delete_snapshot(&mut self, name: &str) -> Result<()> {
        self.begin_deleting_snapshot(name)?;
        while self.go_on_deleting(BLOCKS_AT_ONCE)? {}
        Ok(())
    }

    /// From now on a snapshot is there no more; what it has is freed by and by: [`Nvmfs::go_on_deleting`].
    ///
    /// # Errors
    /// [`NotFound`](crate::api::Error::NotFound).
    pub fn begin_deleting_snapshot(&mut self, name: &str) -> Result<()> {
        self.store.begin_deleting(name)
    }

    /// Frees about so many blocks of what deleted snapshots have, or looks whether inodes are not needed any more that the last of
    /// them needed; whether there is more.
    ///
    /// # Errors
    /// [`Damaged`](crate::api::Error::Damaged).
    pub fn go_on_deleting(&mut self, blocks: u64) -> Result<bool> {
        if self.store.going_snapshots() > 0 {
            self.store.go_on_deleting(blocks)?;
            // Pages of inodes stay as long as any snapshot may need them.
            self.inode_pages_to_drop =
                if self.store.has_snapshots() { Vec::new() } else { self.store.region.inode_page_numbers() };
            return Ok(self.store.going_snapshots() > 0 || !self.inode_pages_to_drop.is_empty());
        }
        let after = self.inode_pages_to_drop.len().saturating_sub(INODE_PAGES_AT_ONCE);
        for number in self.inode_pages_to_drop.split_off(after).into_iter().rev() {
            self.drop_inode_page(number)?;
        }
        Ok(!self.inode_pages_to_drop.is_empty())
    }

    /// The snapshots, the oldest first, each with the blocks that it alone has or shares with older ones.
    ///
    /// # Errors
    /// [`Damaged`](crate::api::Error::Damaged).
    pub fn snapshots(&self) -> Result<Vec<SnapshotStats>> {
        let told = |record: &SnapshotRecord| {
            let blocks = self.store.blocks_of_snapshot(&record.name)?;
            Ok(SnapshotStats { name: record.name.clone(), created_ns: record.created_ns, blocks })
        };
        self.store.snapshots().map(told).collect()
    }
}
