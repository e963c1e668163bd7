//! Runs of consecutive host writes, which replace the requests that a placement does not see.

use crate::units::Lpn;

/// Consecutive pages written in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first page.
    pub(super) first: u32,
    /// Number of pages.
    pub(super) pages: u32,
}

/// Joins host writes to runs. A placement sees pages and not requests; a request is a run or a part of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Runs {
    current: Option<Run>,
}

impl Runs {
    /// Adds a page; returns the run that this page ended, or `None` if the page continues its run or begins the first
    /// run.
    #[inline]
    pub(super) fn add(&mut self, page: Lpn) -> Option<Run> {
        if let Some(run) = &mut self.current
            && run.first + run.pages == page.0
        {
            run.pages += 1;
            return None;
        }
        self.current.replace(Run { first: page.0, pages: 1 })
    }

    /// True if the last page continued a run.
    #[inline]
    pub(super) fn continues_run(&self) -> bool {
        self.current.is_some_and(|run| run.pages > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ends_with_the_first_non_consecutive_page() {
        let mut runs = Runs::default();
        let ended: Vec<_> = [4, 5, 6, 6, 9].map(|page| (runs.add(Lpn(page)), runs.continues_run())).into();
        let (three, one) = (Run { first: 4, pages: 3 }, Run { first: 6, pages: 1 });
        let expected = [(None, false), (None, true), (None, true), (Some(three), false), (Some(one), false)];
        assert_eq!(ended, expected);
    }
}
