//! What NVMFS does beside requests: flushing between its two bounds, and recycling (sections III-B and III-C).

use super::Work;
use crate::api::Result;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Batch, Store};

/// Whether flushing has begun and not ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flusher {
    is_flushing: bool,
}

impl Flusher {
    /// The next piece of work: extents are flushed from the upper bound down to the lower, then recycled one by one.
    ///
    /// # Errors
    /// [`Error::NoSpace`](crate::api::Error::NoSpace) if every extent is full, those of the SSD.
    pub fn next<N: Nvram, S: Ssd>(&mut self, store: &mut Store<N, S>) -> Result<Work<Batch<S>>> {
        self.is_flushing = (self.is_flushing || store.wants_flush()) && store.flush_goes_on();
        if self.is_flushing {
            if let Some(batch) = store.begin_flush()? {
                return Ok(Work::Job(batch));
            }
            self.is_flushing = false;
        }
        let recycled = store.wants_recycling() && store.recycle_step()?;
        Ok(if recycled { Work::Done } else { Work::Nothing })
    }
}
