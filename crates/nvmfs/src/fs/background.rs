//! Background work (flushing, recycling, trimming, scrub) in a separate thread, while the file system is in
//! use.

use super::Nvmfs;
use super::snapshots::BLOCKS_PER_STEP;
use crate::api::{Error, Result};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Batch, Fetch, Scrub, Trims};
use std::time::Duration;

/// Time that a request waits for flushes in progress if there is nothing that it can flush itself.
const FLUSH_WAIT: Duration = Duration::from_micros(200);

/// Unit of work that runs concurrently with requests.
pub enum Work<S> {
    /// Extent to write to the SSD.
    Write(Batch<S>),
    /// Extent to recycle, and the reads from the SSD that recycling needs.
    Recycle(u32, Fetch<S>),
    /// Blocks to read from the SSD, for which a request waits.
    Fetch(Fetch<S>),
    /// Empty extents to trim.
    Trim(Trims<S>),
    /// No work, and no space will become free: the request uses the free space that exists, or fails.
    Exhausted,
    /// No work for this request: operations in progress will free space.
    Pause,
    /// No slow part: one step is complete, and more steps remain.
    Step,
    /// Blocks to read and verify.
    Check(Scrub<S>),
}

impl<S: Ssd> Work<S> {
    /// Performs the slow part of the work.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn run(&self) -> std::io::Result<()> {
        match self {
            Work::Write(batch) => batch.write(),
            Work::Fetch(fetch) | Work::Recycle(_, fetch) => fetch.read(),
            Work::Trim(trims) => {
                trims.trim();
                Ok(())
            }
            Work::Exhausted | Work::Step => Ok(()),
            Work::Pause => {
                std::thread::sleep(FLUSH_WAIT);
                Ok(())
            }
            Work::Check(scrub) => scrub.read(),
        }
    }
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Returns the next unit of work. The caller runs its slow part while the file system is in use, calls
    /// [`Nvmfs::end_background`], and then calls this function again. Flushing begins when many pages are dirty, and
    /// continues until few pages are dirty. If there is nothing to flush, one extent is recycled. Returns `None` if
    /// there is nothing to do, or no free space to do it.
    ///
    /// # Errors
    /// [`Error::Ssd`], [`Error::Damaged`].
    pub fn begin_background(&mut self) -> Result<Option<Work<S>>> {
        match self.next_work() {
            Err(Error::NoSpace(_)) => {
                self.is_flushing = false;
                self.recycled = 0;
                Ok(None)
            }
            result => result,
        }
    }

    /// Blocks of deleted snapshots are freed gradually, interleaved with other work.
    fn next_work(&mut self) -> Result<Option<Work<S>>> {
        let deleted = self.continue_deleting(BLOCKS_PER_STEP);
        match self.next_for_ssd()? {
            Some(work) => Ok(Some(work)),
            None => Ok(deleted?.then_some(Work::Step)),
        }
    }

    fn next_for_ssd(&mut self) -> Result<Option<Work<S>>> {
        self.is_flushing |= self.store.should_flush();
        if self.is_flushing && self.store.should_continue_flush() {
            let batch = self.store.begin_flush()?;
            self.is_flushing = batch.is_some();
            return Ok(batch.map(Work::Write));
        }
        self.is_flushing = false;
        if let Some(trims) = self.store.begin_trims() {
            return Ok(Some(Work::Trim(trims)));
        }
        // Each extent is recycled at most once before a pause.
        if self.recycled < self.store.usable_extents()
            && self.store.should_recycle()
            && let Some((extent, fetch)) = self.store.begin_recycling()?
        {
            self.recycled += 1;
            return Ok(Some(Work::Recycle(extent, fetch)));
        }
        self.recycled = 0;
        Ok(None)
    }

    /// Returns the next unit of the scrub, which is run and ended like other work; `None` at the end of a pass over
    /// the SSD.
    pub fn begin_check(&mut self) -> Option<Work<S>> {
        self.store.begin_scrub().map(Work::Check)
    }

    /// Leaves flushing and trimming to a thread that calls [`Nvmfs::begin_background`] as long as it returns work.
    pub fn use_background_thread(&mut self) {
        self.auto_flush = false;
        self.store.enable_concurrent_trims();
    }

    /// Sets if later requests may return [`Error::Wait`]. After that error, the caller calls [`Nvmfs::begin_wait`].
    pub fn allow_waiting(&mut self, may_wait: bool) {
        self.store.allow_waiting(may_wait);
    }

    /// Returns the work that the request which returned [`Error::Wait`] waits for. The caller runs the work while the
    /// file system is in use, allows waiting again, ends the work, and then repeats the request immediately.
    pub fn begin_wait(&mut self) -> Work<S> {
        if !self.store.is_waiting_for_flush() {
            return Work::Fetch(self.store.begin_fetch());
        }
        match self.store.begin_flush() {
            Ok(Some(batch)) => Work::Write(batch),
            Ok(None) if self.store.will_space_be_freed() => Work::Pause,
            Ok(None) | Err(_) => Work::Exhausted,
        }
    }

    /// Completes work returned by [`Nvmfs::begin_background`]; if a batch was not written, its pages stay
    /// dirty.
    ///
    /// # Errors
    /// Errors from running the work.
    pub fn end_background(&mut self, work: Work<S>, outcome: std::io::Result<()>) -> Result<()> {
        match work {
            Work::Write(batch) => self.store.end_flush(batch, outcome),
            Work::Recycle(extent, fetch) => match self.store.end_recycling(extent, fetch, outcome) {
                Err(Error::NoSpace(_)) => {
                    // Recycling pauses until there is new work.
                    self.recycled = self.store.usable_extents();
                    Ok(())
                }
                result => result,
            },
            Work::Trim(trims) => {
                self.store.end_trims(trims);
                Ok(())
            }
            Work::Exhausted => {
                self.store.forbid_waiting_for_room();
                Ok(())
            }
            Work::Pause | Work::Step => Ok(outcome?),
            Work::Fetch(fetch) => self.store.end_fetch(fetch, outcome),
            Work::Check(scrub) => self.store.end_scrub(scrub, outcome),
        }
    }
}
