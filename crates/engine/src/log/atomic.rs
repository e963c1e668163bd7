//! Groups of pages that survive a power cut either completely or not at all.
//!
//! Every page of a group except the last has a flag in its spare area: the group continues (Ouyang, Nellans, Wipfel,
//! Flynn and Panda, HPCA 2011, sec. 4). A recovery that checks the flags ignores a group whose last page is missing and
//! keeps the older versions of its pages. The older versions are still on flash: cleaning makes space for the whole
//! group before its first page is written, so no block is erased while the group is written. The simulated recovery
//! does not check the flags.

use super::config::Reclaim;
use super::directory::Directory;
use super::store::LogStore;
use crate::counters::Cause;
use crate::layer::{LayerError, Medium};
use crate::placement::{PageContext, Placement};
use crate::units::{Lpn, StreamId};
use crate::victim::VictimPolicy;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Returns the maximum size of a group: the pages of one block, because cleaning can always free one block in
    /// addition to the reserve.
    pub(super) fn max_group_pages(&self) -> u32 {
        match self.config.reclaim {
            Reclaim::FreePool { .. } if D::PAGE_EXACT && M::STORES_GROUPS => self.pool.pages_per_block(),
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
        let max_pages = self.max_group_pages();
        if pages.len() > max_pages as usize {
            return Err(LayerError::NotAtomic { pages: pages.len() as u32, longest: max_pages });
        }
        let Some(stream) = self.stream_of_group(pages, hint) else { return Ok(()) };
        self.make_room(stream, pages.len() as u32)?;
        self.pool.begin_group(pages.len());
        let result = self.append_run(stream, pages, data, Cause::Host);
        self.pool.end_group();
        result
    }

    /// Reports all pages to the placement. Returns the stream of the first page.
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

    /// Cleans if `pages` pages cannot be appended to `stream` without cleaning in between.
    fn make_room(&mut self, stream: StreamId, pages: u32) -> Result<(), LayerError> {
        self.resume_if_interrupted()?;
        let room = self.pool.frontiers[stream.index()].map_or(0, |frontier| self.pool.room(frontier));
        let Some((low, high)) = self
            .pool
            .current_watermarks()
            .filter(|(low, _)| room < pages && self.pool.erased.len() <= *low as usize)
        else {
            return Ok(());
        };
        // Even if cleaning fills the open block, the additional erased block holds the whole group.
        self.while_cleaning(|store| store.refill_pool(stream, low, high.max(low + 1)))
    }
}
