//! NVMFS as it is mounted: a thread flushes (section III-B).

use super::Mountable;
use crate::api::Result;
use crate::fs::Nvmfs;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Batch;
use std::io;

impl<N: Nvram, S: Ssd> Mountable for Nvmfs<N, S> {
    type Job = Batch<S>;

    fn begin_work(&mut self) -> Result<Option<Batch<S>>> {
        self.auto_settle = false;
        self.begin_background()
    }

    fn run(batch: &Batch<S>) -> io::Result<()> {
        batch.write()
    }

    fn end_work(&mut self, batch: Batch<S>, outcome: io::Result<()>) -> Result<()> {
        self.end_background(batch, outcome)
    }

    fn close(self) -> Result<()> {
        self.into_store().close();
        Ok(())
    }

    fn report(&mut self) -> Option<String> {
        serde_json::to_string(&self.stats()).ok()
    }
}
