//! Flushing and recycling by a thread: the file system is in use while an extent is written.

use super::Nvmfs;
use super::snapshots::BLOCKS_AT_ONCE;
use crate::api::{Error, Result};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Batch, Fetch, Scrub, Trims};
use std::time::Duration;

/// How long a request waits for others to end what they flush, where there is nothing that it could flush itself.
const PAUSE: Duration = Duration::from_micros(200);

/// A piece of work beside requests.
pub enum Work<S> {
    /// An extent that is to be written while others use the file system.
    Write(Batch<S>),
    /// An extent that is to be recycled, and what is to be read of it.
    Recycle(u32, Fetch<S>),
    /// Blocks that a request waits for.
    Fetch(Fetch<S>),
    /// Extents that hold nothing any more.
    Trim(Trims<S>),
    /// Nothing: there will be no room. The request takes what there is, or says why there is none.
    Alone,
    /// Nothing: others make room.
    Pause,
    /// Nothing: a step was done, and there are more.
    Step,
    /// Blocks that are to be read and compared with their checksums.
    Check(Scrub<S>),
}

impl<S: Ssd> Work<S> {
    /// The slow part.
    ///
    /// # Errors
    /// That of the SSD.
    pub fn run(&self) -> std::io::Result<()> {
        match self {
            Work::Write(batch) => batch.write(),
            Work::Fetch(fetch) | Work::Recycle(_, fetch) => fetch.read(),
            Work::Trim(trims) => {
                trims.trim();
                Ok(())
            }
            Work::Alone | Work::Step => Ok(()),
            Work::Pause => {
                std::thread::sleep(PAUSE);
                Ok(())
            }
            Work::Check(scrub) => scrub.read(),
        }
    }
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// The next piece of work. Its slow part is run while others use the file system; then call
    /// [`Nvmfs::end_background`], and this again. Flushing begins when many pages are dirty and goes on until few are; where
    /// there is nothing to flush, one extent is recycled. `None` if there is nothing to do now, or no room to do it.
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

    /// What deleted snapshots have is freed by and by whatever else is to be done.
    fn next_work(&mut self) -> Result<Option<Work<S>>> {
        let deleted = self.go_on_deleting(BLOCKS_AT_ONCE);
        match self.next_for_ssd()? {
            Some(work) => Ok(Some(work)),
            None => Ok(deleted?.then_some(Work::Step)),
        }
    }

    fn next_for_ssd(&mut self) -> Result<Option<Work<S>>> {
        self.is_flushing |= self.store.wants_flush();
        if self.is_flushing && self.store.flush_goes_on() {
            let batch = self.store.begin_flush()?;
            self.is_flushing = batch.is_some();
            return Ok(batch.map(Work::Write));
        }
        self.is_flushing = false;
        if let Some(trims) = self.store.begin_trims() {
            return Ok(Some(Work::Trim(trims)));
        }
        // Each extent is recycled once at most before there is a pause.
        if self.recycled < self.store.usable_extents()
            && self.store.wants_recycling()
            && let Some((extent, fetch)) = self.store.begin_recycling()?
        {
            self.recycled += 1;
            return Ok(Some(Work::Recycle(extent, fetch)));
        }
        self.recycled = 0;
        Ok(None)
    }

    /// The next piece of looking at everything that has a checksum, to be run and ended as other work. `None` when all was looked
    /// at once more.
    pub fn begin_check(&mut self) -> Option<Work<S>> {
        self.store.begin_scrub().map(Work::Check)
    }

    /// From now on a thread does what is not to be done by requests, as long as there is some: [`Nvmfs::begin_background`].
    pub fn leave_to_thread(&mut self) {
        self.auto_settle = false;
        self.store.leave_trims();
    }

    /// Whether the requests that come may be refused with [`Error::Wait`]; then call [`Nvmfs::begin_wait`].
    pub fn allow_waiting(&mut self, may_wait: bool) {
        self.store.allow_waiting(may_wait);
    }

    /// What the request that was just refused with [`Error::Wait`] waits for: to be run while others use the file system, and, when
    /// waiting is allowed again, ended just before it is asked again.
    pub fn begin_wait(&mut self) -> Work<S> {
        if !self.store.is_room_wanted() {
            return Work::Fetch(self.store.begin_fetch());
        }
        match self.store.begin_flush() {
            Ok(Some(batch)) => Work::Write(batch),
            Ok(None) if self.store.others_make_room() => Work::Pause,
            Ok(None) | Err(_) => Work::Alone,
        }
    }

    /// What [`Nvmfs::begin_background`] gave was run; if a batch was not written, its pages stay dirty.
    ///
    /// # Errors
    /// That of running it.
    pub fn end_background(&mut self, work: Work<S>, outcome: std::io::Result<()>) -> Result<()> {
        match work {
            Work::Write(batch) => self.store.end_flush(batch, outcome),
            Work::Recycle(extent, fetch) => match self.store.end_recycling(extent, fetch, outcome) {
                Err(Error::NoSpace(_)) => {
                    // Enough of it for now.
                    self.recycled = self.store.usable_extents();
                    Ok(())
                }
                result => result,
            },
            Work::Trim(trims) => {
                self.store.end_trims(trims);
                Ok(())
            }
            Work::Alone => {
                self.store.wait_for_no_room();
                Ok(())
            }
            Work::Pause | Work::Step => Ok(outcome?),
            Work::Fetch(fetch) => self.store.end_fetch(fetch, outcome),
            Work::Check(scrub) => self.store.end_scrub(scrub, outcome),
        }
    }
}
