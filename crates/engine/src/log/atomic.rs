//! Groups of pages that a power cut leaves whole or not at all.
//!
//! Each page of a group but the last says in its spare area that the group goes on (Ouyang, Nellans, Wipfel, Flynn and
//! Panda, HPCA 2011, sec. 4). Whoever rebuilds the tables leaves out a group whose last page is missing, and finds what
//! its pages replace: no block is erased between the first page of a group and the last, because room for all of them
//! is made before.

use super::config::Reclaim;
use super::directory::Directory;
use super::store::LogStore;
use crate::counters::Cause;
use crate::layer::{LayerError, Medium};
use crate::placement::{PageContext, Placement};
use crate::units::{Lpn, StreamId};
use crate::victim::VictimPolicy;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Pages of the longest group: those of a block, since cleaning can always win one more than it must keep.
    pub(super) fn longest_group(&self) -> u32 {
        match self.config.reclaim {
            Reclaim::FreePool { .. } if D::PAGE_EXACT && M::KEEPS_GROUPS => self.pool.pages_per_block(),
            _ => 0,
        }
    }

    /// Appends a group to the stream of its first page.
    pub(super) fn append_group(
        &mut self,
        pages: &[Lpn],
        data: &[M::Payload],
        hint: u16,
    ) -> Result<(), LayerError> {
        let longest = self.longest_group();
        if pages.len() > longest as usize {
            return Err(LayerError::NotAtomic { pages: pages.len() as u32, longest });
        }
        let Some(stream) = self.stream_of_group(pages, hint) else { return Ok(()) };
        self.make_room(stream, pages.len() as u32)?;
        self.pool.begin_group(pages.len());
        let done = self.append_run(stream, pages, data, Cause::Host);
        self.pool.end_group();
        done
    }

    /// The stream of the first page. The placement is told of all of them.
    fn stream_of_group(&mut self, pages: &[Lpn], hint: u16) -> Option<StreamId> {
        if let Some(stream) = self.placement.host_stream() {
            return Some(stream).filter(|_| !pages.is_empty());
        }
        let now = self.pool.blocks.now();
        let context =
            |&page: &Lpn| PageContext { page, cause: Cause::Host, now, from: None, hint, references: 1 };
        pages.iter().map(context).fold(None, |first, context| {
            let stream = self.placement.place(&context);
            first.or(Some(stream))
        })
    }

    /// Cleans, if so many pages could not be appended to `stream` without cleaning in between.
    fn make_room(&mut self, stream: StreamId, pages: u32) -> Result<(), LayerError> {
        self.resume_if_cut_short()?;
        let room = self.pool.frontiers[stream.index()].map_or(0, |frontier| self.pool.room(frontier));
        let Some((low, high)) =
            self.pool.marks_now().filter(|(low, _)| room < pages && self.pool.erased.len() <= *low as usize)
        else {
            return Ok(());
        };
        // Even if cleaning fills the open block, an erased one that the pool can spare holds the whole group.
        self.while_cleaning(|store| store.refill_pool(stream, low, high.max(low + 1)))
    }
}
