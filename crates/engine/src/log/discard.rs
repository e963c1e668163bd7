//! TRIM: removes pages from the map; consecutive pages are removed together.

use super::directory::Directory;
use super::store::LogStore;
use crate::counters::Operation;
use crate::layer::{Medium, MediumExt};
use crate::placement::Placement;
use crate::pool::Pool;
use crate::units::{Lpn, run_length};
use crate::victim::VictimPolicy;

/// Prefetch distances, in pages, when pages are trimmed one by one: for the map entry, and for the data that the
/// entry points to.
const TRIM_ENTRY_DISTANCE: usize = 96;
const TRIM_LOCATION_DISTANCE: usize = 32;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Trims consecutive pages on request of the user.
    pub(super) fn trim_host_run(&mut self, first: Lpn, pages: u32) {
        self.pool.counters.add_incoming(Operation::Trim, pages.into());
        if self.pool.medium.wants_invalidations() {
            let pages: Vec<Lpn> = (first.0..).map(Lpn).take(pages as usize).collect();
            self.notify_invalidations(&pages);
        }
        self.pool.moves.run_written(first, pages as usize);
        self.trim_run(first, pages);
    }

    /// Trims each run of consecutive pages.
    pub(super) fn trim_runs(&mut self, mut pages: &[Lpn]) {
        self.affected_blocks.clear();
        if self.prefetch
            && let [page, next, ..] = pages
            && next.0 != page.0.wrapping_add(1)
        {
            let first = &pages[..pages.len().min(TRIM_ENTRY_DISTANCE)];
            first.iter().for_each(|&page| self.directory.prefetch(page, false, &self.pool.blocks));
        }
        while let [page, rest @ ..] = pages {
            if rest.first().is_some_and(|next| next.0 == page.0.wrapping_add(1)) {
                let length = run_length(pages);
                self.trim_run(*page, length as u32);
                pages = &pages[length..];
                continue;
            }
            if self.prefetch {
                if let Some(&entry_page) = rest.get(TRIM_ENTRY_DISTANCE) {
                    self.directory.prefetch(entry_page, false, &self.pool.blocks);
                }
                if let Some(&location_page) = rest.get(TRIM_LOCATION_DISTANCE) {
                    self.directory.prefetch(location_page, true, &self.pool.blocks);
                }
            }
            self.trim_page(*page);
            pages = rest;
        }
    }

    /// Trims a page that has no neighbour in the request.
    #[inline(always)]
    fn trim_page(&mut self, page: Lpn) {
        if let Some(block) = self.directory.remove(page) {
            let Pool { blocks, victim, .. } = &mut self.pool;
            let score = blocks.invalidate(block);
            victim.invalidated(block, score, blocks);
            self.placement.trimmed(page);
            self.stats.scatter.ranges += 1;
            self.stats.scatter.blocks += 1;
        }
    }

    /// Trims consecutive pages and counts the blocks over which they were scattered.
    pub(super) fn trim_run(&mut self, first: Lpn, pages: u32) {
        let LogStore { directory, affected_blocks: touched, pool, placement, .. } = self;
        let Pool { blocks, victim, .. } = pool;
        directory.remove_run(first, pages, |block, pages| {
            if touched.last() != Some(&block) {
                touched.push(block);
            }
            let before = blocks.score(block);
            let remaining_score = blocks.invalidate_many(block, pages.count());
            (remaining_score..before).rev().for_each(|score| victim.invalidated(block, score, blocks));
            pages.iter().for_each(|page| placement.trimmed(page));
        });
        if self.affected_blocks.is_empty() {
            return;
        }
        self.affected_blocks.sort_unstable();
        self.affected_blocks.dedup();
        self.stats.scatter.ranges += 1;
        self.stats.scatter.blocks += self.affected_blocks.len() as u64;
        self.affected_blocks.clear();
    }
}
