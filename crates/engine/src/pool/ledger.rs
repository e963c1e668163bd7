//! What is counted page by page: whose pages were moved, and which were moved again and again. Nothing unless it is asked for.

use super::Attribution;
use crate::counters::Cause;
use crate::units::Lpn;

/// Counts pages by what became of them.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Who is charged with moved pages, in a store that several users share.
    attribution: Option<Box<Attribution>>,
    /// How often each page was moved since it was written; empty where that is not counted.
    moves: Vec<u8>,
    /// Pages moved that had been moved before.
    moved_again_pages: u64,
}

impl Ledger {
    /// Counts how often each of `pages` pages is moved; 0: not.
    pub fn new(pages: u32) -> Self {
        Ledger { moves: vec![0; pages as usize], ..Ledger::default() }
    }

    /// Whether anything is to be counted at all.
    #[inline(always)]
    pub fn counts(&self) -> bool {
        self.attribution.is_some() || !self.moves.is_empty()
    }

    /// From now on tells apart whose pages are moved: partition `k` ends before page `ends[k]`.
    pub fn divide(&mut self, ends: &[u32]) {
        self.attribution = Some(Box::new(Attribution::new(ends)));
    }

    /// Charges what a write causes to whom its first page belongs.
    #[inline]
    pub fn begin_write(&mut self, pages: &[Lpn]) {
        if let (Some(attribution), Some(&first)) = (&mut self.attribution, pages.first()) {
            attribution.begin(first);
        }
    }

    /// `owners` have been written because of `cause`. Translation and validity pages have numbers of their own kind.
    pub fn wrote(&mut self, owners: &[Lpn], cause: Cause) {
        if matches!(cause, Cause::Translation | Cause::Validity) {
            return;
        }
        if let Some(attribution) = self.attribution.as_mut().filter(|_| cause == Cause::Cleaning) {
            attribution.moved(owners);
        }
        if self.moves.is_empty() {
            return;
        }
        for owner in owners {
            let moves = &mut self.moves[owner.index()];
            if matches!(cause, Cause::Cleaning | Cause::WearLevelling) {
                self.moved_again_pages += u64::from(*moves > 0);
                *moves = moves.saturating_add(1);
            } else {
                *moves = 0;
            }
        }
    }

    /// How many of `pages` were moved since they were written; 0 where that is not counted.
    pub fn moved_pages(&self, pages: &[Lpn]) -> u64 {
        let moved = |page: &&Lpn| self.moves.get(page.index()).is_some_and(|moves| *moves > 0);
        pages.iter().filter(moved).count() as u64
    }

    /// Pages moved that had been moved before.
    pub fn moved_again_pages(&self) -> u64 {
        self.moved_again_pages
    }

    /// Pages moved, `[who caused it][whose they are]`; empty where nobody asked.
    pub fn moved_by_partition(&self) -> Vec<Vec<u64>> {
        self.attribution.as_ref().map_or_else(Vec::new, |attribution| attribution.matrix())
    }
}
