//! Background work (flushing, recycling, trimming, scrub) in a separate thread, while the file system is in
//! use.

use super::Nvmfs;
use super::snapshots::BLOCKS_PER_STEP;
use crate::api::{Error, Result};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Batch, Fetch, Scrub, Trims};
use std::time::Duration;

/// Time that a request waits for flushes in progress if it cannot flush anything itself.
const FLUSH_WAIT: Duration = Duration::from_micros(200);

/// Unit of work that runs concurrently with requests.
pub enum Work<S> {
    /// Extent to be written.
    Write(Batch<S>),
    /// Extent to be recycled, and the reads that it needs.
    Recycle(u32, Fetch<S>),
    /// Blocks that a request waits for.
    Fetch(Fetch<S>),
    /// Empty extents to be trimmed.
    Trim(Trims<S>),
    /// No work, and no space will become free: the request uses the space that exists, or fails.
    Exhausted,
    /// No work: operations in progress will free space.
    Pause,
    /// No work: one step is done, and more are left.
    Step,
    /// Blocks to be read and verified.
    Check(Scrub<S>),
}

impl<S: Ssd> Work<S> {
    /// Performs the slow part.
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
    /// Returns the next unit of work. Run its slow part while the file system is in use; then call
    /// [`Nvmfs::end_background`], and this again. Flushing begins when many pages are dirty and continues
    /// until few are. If there is nothing to flush, one extent is recycled. Returns `None` if there is
    /// nothing to do, or no space to do it.
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

    /// Returns the next piece of the scrub, to be run and ended like other work; `None` at the end of a
    /// pass.
    pub fn begin_check(&mut self) -> Option<Work<S>> {
        self.store.begin_scrub().map(Work::Check)
    }

    /// Leaves flushing and trimming to a thread that calls [`Nvmfs::begin_background`] as long as there is
    /// work.
    pub fn use_background_thread(&mut self) {
        self.auto_flush = false;
        self.store.enable_concurrent_trims();
    }

    /// Sets if later requests may return [`Error::Wait`]; after that, call [`Nvmfs::begin_wait`].
    pub fn allow_waiting(&mut self, may_wait: bool) {
        self.store.allow_waiting(may_wait);
    }

    /// Returns the work for which the request that returned [`Error::Wait`] waits. Run it while the file
    /// system is in use. End it after waiting is allowed again, immediately before the request is repeated.
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
    /// Errors of the work.
    pub fn end_background(&mut self, work: Work<S>, outcome: std::io::Result<()>) -> Result<()> {
        match work {
            Work::Write(batch) => self.store.end_flush(batch, outcome),
            Work::Recycle(extent, fetch) => match self.store.end_recycling(extent, fetch, outcome) {
                Err(Error::NoSpace(_)) => {
                    // Recycling pauses.
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
