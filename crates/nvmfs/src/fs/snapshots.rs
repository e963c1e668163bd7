//! Snapshots are made, listed and deleted.

use super::Nvmfs;
use crate::api::Result;
use crate::layout::SnapshotRecord;
use crate::nvram::Nvram;
use crate::options::Options;
use crate::ssd::Ssd;
use crate::stats::SnapshotStats;
use crate::store::{Found, OpenError, Store};
use std::sync::Arc;

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
        self.store.begin_deleting(name)?;
        while self.store.go_on_deleting()? {}
        self.drop_unused_inodes()
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
