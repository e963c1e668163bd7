//! What is done to the pages of media, written down for whoever wants to look at it page by page.
//!
//! Nothing is written down unless a medium was given a [`Watcher`], and what is written down changes nothing.

use super::{Death, LayerBelow, LayerError, MediumError, Run};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::Abilities;
use crate::units::{BlockId, Lpn, StreamId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was done to pages of a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Pages are programmed into `block` from `page` on. On segments this is noted before the layer below is written to.
    Programmed {
        /// Their block.
        block: BlockId,
        /// The first one's index there.
        page: u32,
        /// How many.
        pages: u32,
        /// Who owns each; empty from a store that does not know. What an FTL writes for itself, for [`Cause::Translation`] or
        /// [`Cause::Validity`], has numbers of its own; [`crate::ftl::hybrid::PADDING`] is nobody.
        owners: Vec<Lpn>,
        /// Why.
        cause: Cause,
        /// The append stream.
        stream: StreamId,
    },
    /// Pages were read.
    Read {
        /// Their block.
        block: BlockId,
        /// How many.
        pages: u32,
        /// Why.
        cause: Cause,
    },
    /// A block is erased, or a segment freed.
    Erased {
        /// The block.
        block: BlockId,
        /// Why.
        cause: Cause,
    },
    /// A page is about to be replaced, or is no longer wanted. What cleaning moves is not said to die; neither is, by FTLs that are no
    /// logs, what is written anew.
    Died(Death),
}

/// What is seen on all media of a stack, each under a number, in order.
///
/// All users run on one thread at a time.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Vec<(usize, Seen)>>>);

impl Watch {
    /// Watches the medium of this number.
    pub fn medium(&self, number: usize) -> Watcher {
        Watcher { watch: self.clone(), number }
    }

    /// Takes what was seen since this was asked last.
    pub fn take(&self) -> Vec<(usize, Seen)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Seen)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches one medium. As a [`LayerBelow`] it is flash that hears of deaths and has nothing else to say.
#[derive(Clone, Debug)]
pub struct Watcher {
    watch: Watch,
    number: usize,
}

impl Watcher {
    /// Notes what was done.
    pub fn see(&self, seen: Seen) {
        self.watch.lock().push((self.number, seen));
    }

    /// Notes a run.
    pub fn see_run<P>(&self, block: BlockId, page: u32, run: &Run<'_, P>) {
        let owners = run.owners.map(<[Lpn]>::to_vec).unwrap_or_default();
        let (pages, cause, stream) = (run.data.len() as u32, run.cause, run.stream);
        self.see(Seen::Programmed { block, page, pages, owners, cause, stream });
    }

    /// Notes deaths.
    pub fn see_deaths(&self, deaths: &[Death]) {
        self.watch.lock().extend(deaths.iter().map(|death| (self.number, Seen::Died(*death))));
    }
}

impl LayerBelow for Watcher {
    fn serve(&mut self, _streams: u8) -> Result<(), ConfigError> {
        Ok(())
    }

    fn hears_of_deaths(&self) -> bool {
        true
    }

    fn died(&mut self, deaths: &[Death]) {
        self.see_deaths(deaths);
    }

    fn has_own_stream(&self) -> bool {
        false
    }

    fn metadata_pages(&self) -> u32 {
        0
    }

    fn until_checkpoint(&self) -> u64 {
        u64::MAX
    }

    fn cleaning_calls_for_checkpoint(&self) -> bool {
        false
    }

    fn begin_checkpoint(&mut self, _pages: &mut Vec<Lpn>) {}

    fn begin_flush(&mut self, _pages: &mut Vec<Lpn>) -> bool {
        false
    }

    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities::NONE
    }

    fn cleaning(&mut self, _begins: bool) {}

    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Ok(false)
    }

    fn left_valid(&self, _block: BlockId) -> f64 {
        0.0
    }
}
