//! Flushing and recycling by a thread: the file system is in use while an extent is written.

use super::Nvmfs;
use crate::api::{Error, Result};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Batch;

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// What is to be written to the SSD next, while others use the file system; then call [`Nvmfs::end_background`], and this
    /// again. Flushing begins when many pages are dirty and goes on until few are; where there is nothing to flush, extents
    /// are recycled. `None` if there is nothing to do now, or no room to do it.
    ///
    /// # Errors
    /// [`Error::Ssd`], [`Error::Damaged`].
    pub fn begin_background(&mut self) -> Result<Option<Batch<S>>> {
        match self.next_batch() {
            Err(Error::NoSpace(_)) => {
                self.is_flushing = false;
                Ok(None)
            }
            result => result,
        }
    }

    fn next_batch(&mut self) -> Result<Option<Batch<S>>> {
        // Each extent is recycled once at most before others have their turn.
        for _ in 0..self.store.usable_extents() {
            self.is_flushing |= self.store.wants_flush();
            if self.is_flushing && self.store.flush_goes_on() {
                let batch = self.store.begin_flush()?;
                self.is_flushing = batch.is_some();
                return Ok(batch);
            }
            self.is_flushing = false;
            if !self.store.wants_recycling() || !self.store.recycle_step()? {
                break;
            }
        }
        Ok(None)
    }

    /// What [`Nvmfs::begin_background`] gave was written, or was not: then its pages stay dirty.
    ///
    /// # Errors
    /// That of writing.
    pub fn end_background(&mut self, batch: Batch<S>, written: std::io::Result<()>) -> Result<()> {
        self.store.end_flush(batch, written)
    }
}
