//! Implementation of [`Mountable`] for NVMFS: a thread flushes (section III-B).

use super::{Mountable, SnapshotInfo};
use std::io;
use wearwell_nvmfs::api::{Error, FileSystem, Result};
use wearwell_nvmfs::fs::{Nvmfs, Work};
use wearwell_nvmfs::layout::SnapshotRecord;
use wearwell_nvmfs::nvram::Nvram;
use wearwell_nvmfs::ssd::Ssd;

impl<N: Nvram, S: Ssd> Mountable for Nvmfs<N, S> {
    type Job = Work<S>;

    fn begin_work(&mut self) -> Result<Option<Work<S>>> {
        self.use_background_thread();
        self.begin_background()
    }

    fn begin_check(&mut self) -> Result<Option<Work<S>>> {
        Ok(Nvmfs::begin_check(self))
    }

    fn run(work: &Work<S>) -> io::Result<()> {
        work.run()
    }

    fn end_work(&mut self, work: Work<S>, outcome: io::Result<()>) -> Result<()> {
        self.end_background(work, outcome)
    }

    fn allow_waiting(&mut self, may_wait: bool) {
        Nvmfs::allow_waiting(self, may_wait);
    }

    fn begin_wait(&mut self) -> Option<Work<S>> {
        Some(Nvmfs::begin_wait(self))
    }

    fn note_refusal(&mut self, error: &Error) {
        self.note_refusal(error);
    }

    fn close(self) -> Result<()> {
        self.into_store().close();
        Ok(())
    }

    fn execute_order(&mut self, order: &[u8], now_ns: i64) -> Result<()> {
        let order = str::from_utf8(order).ok().and_then(|order| order.split_once(' '));
        match order {
            Some(("create", name)) => self.create_snapshot(name, now_ns),
            // The background thread frees the snapshot's blocks.
            Some(("delete", name)) => self.begin_deleting_snapshot(name),
            _ => Err(Error::Invalid("an order is `create NAME` or `delete NAME`")),
        }
    }

    fn snapshots(&mut self) -> Vec<SnapshotInfo> {
        let info = |(number, record): (u32, &SnapshotRecord)| SnapshotInfo {
            number,
            name: record.name.clone(),
            created_ns: record.created_ns,
        };
        self.store().views().map(info).collect()
    }

    fn snapshot_view(&mut self, view: u32) -> Option<Box<dyn FileSystem + '_>> {
        Some(Box::new(Nvmfs::snapshot_view(self, view)))
    }

    fn report(&mut self) -> Option<String> {
        serde_json::to_string(&self.stats()).ok()
    }
}
