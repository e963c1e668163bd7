//! Progress of a run, by pages written or, if the run writes nothing, by pages requested.

use super::error::RunError;

/// A workload writes nothing if it has requested this many times the drive's pages without a write, and at least `DRY_PAGES`.
const DRY_DRIVES: u64 = 8;
const DRY_PAGES: u64 = 1 << 20;

/// A pass through a trace has next to no writes if it writes fewer than one in this many of the requested pages.
const HARDLY: u64 = 100;

/// Page counts that measure the length of a run.
///
/// The length of a run is normally its written pages, because writes wear the drive and determine amplification. A run that
/// only reads would never end. In timed mode its length is the requested pages, because it still has response times; otherwise
/// it is an error.
#[derive(Debug, Default)]
pub(super) struct Reckoning {
    /// Pages written before the workload began.
    begun_at: u64,
    /// Pages that the workload requested to write, read or trim.
    asked_pages: u64,
    window_asked_pages: u64,
    pass_asked_pages: u64,
    pass_written_pages: u64,
    /// Pages requested since the last page was written.
    dry_pages: u64,
    /// Limit of `dry_pages`.
    dry_limit: u64,
    is_timed: bool,
    has_written: bool,
    by_asked: bool,
}

impl Reckoning {
    /// Starts the workload on a drive of `logical_pages`, when `host_pages` were written so far.
    pub fn begin(host_pages: u64, logical_pages: u64, is_timed: bool) -> Self {
        let dry_limit = (DRY_DRIVES * logical_pages).max(DRY_PAGES);
        Reckoning { begun_at: host_pages, dry_limit, is_timed, ..Reckoning::default() }
    }

    /// Adds the pages that the workload requested, and those of them that it wrote. For a trace, only whole passes show whether
    /// it writes.
    pub fn add(&mut self, asked_pages: u64, written_pages: u64, is_trace: bool) -> Result<(), RunError> {
        self.asked_pages += asked_pages;
        self.window_asked_pages += asked_pages;
        self.pass_asked_pages += if is_trace { asked_pages } else { 0 };
        self.pass_written_pages += if is_trace { written_pages } else { 0 };
        if written_pages > 0 {
            (self.has_written, self.dry_pages) = (true, 0);
            return Ok(());
        }
        self.dry_pages += asked_pages;
        if self.dry_pages < self.dry_limit || is_trace || self.by_asked {
            Ok(())
        } else {
            self.give_up_writing()
        }
    }

    /// Ends a pass through the trace.
    pub fn end_pass(&mut self) -> Result<(), RunError> {
        let asked_pages = std::mem::take(&mut self.pass_asked_pages);
        let written_pages = std::mem::take(&mut self.pass_written_pages);
        // In timed mode response times are worth measuring even with so few writes; waiting for the writes would take thousands
        // of passes.
        self.by_asked |= self.is_timed && HARDLY * written_pages < asked_pages;
        if self.has_written || self.by_asked { Ok(()) } else { self.give_up_writing() }
    }

    fn give_up_writing(&mut self) -> Result<(), RunError> {
        if !self.is_timed || self.has_written || self.asked_pages == 0 {
            return Err(RunError::NothingWritten { asked_pages: self.dry_pages, is_timed: self.is_timed });
        }
        self.by_asked = true;
        Ok(())
    }

    /// Ends a window of the time series.
    pub fn end_window(&mut self) {
        self.window_asked_pages = 0;
    }

    /// True if requested pages determine the length of the run.
    pub fn is_by_asked(&self) -> bool {
        self.by_asked
    }

    /// Returns the requested pages of such a run.
    pub fn unwritten_pages(&self) -> Option<u64> {
        self.by_asked.then_some(self.asked_pages)
    }

    /// True if a pass through a trace was begun and has not ended.
    pub fn is_in_pass(&self) -> bool {
        self.pass_asked_pages > 0
    }

    /// Returns the length of the current window, in which `written_pages` were written.
    pub fn of_window(&self, written_pages: u64) -> u64 {
        if self.by_asked { self.window_asked_pages } else { written_pages }
    }

    /// Returns the length of the run since the drive was new, in which `host_pages` were written.
    pub fn done_pages(&self, host_pages: u64) -> u64 {
        if self.by_asked { self.begun_at + self.asked_pages } else { host_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_a_writing_run_is_its_written_pages() {
        let mut run = Reckoning::begin(1000, 100, true);
        run.add(50, 10, false).unwrap();
        assert!(!run.is_in_pass(), "there is no trace");
        run.add(50, 10, true).unwrap();
        assert_eq!((run.done_pages(1020), run.of_window(20), run.is_in_pass()), (1020, 20, true));
        run.end_pass().unwrap();
        assert_eq!((run.is_by_asked(), run.is_in_pass(), run.unwritten_pages()), (false, false, None));
        // The workload wrote once and never again.
        let pages = DRY_PAGES - 1;
        run.add(pages, 0, false).unwrap();
        assert!(run.add(1, 0, true).is_ok(), "the trace may write in its next lines");
        assert!(matches!(run.add(1, 0, false), Err(RunError::NothingWritten { .. })));
    }

    #[test]
    fn length_of_a_read_only_run_is_its_requested_pages_in_timed_mode_only() {
        let mut timed = Reckoning::begin(1000, 1 << 20, true);
        timed.add(8 * (1 << 20) - 1, 0, false).unwrap();
        assert_eq!(timed.done_pages(1000), 1000);
        timed.add(1, 0, false).unwrap();
        assert_eq!((timed.done_pages(1000), timed.of_window(0)), (1000 + (8 << 20), 8 << 20));
        timed.end_window();
        assert_eq!((timed.of_window(0), timed.unwritten_pages()), (0, Some(8 << 20)));
        let mut counted = Reckoning::begin(1000, 100, false);
        assert!(counted.add(DRY_PAGES, 0, false).is_err());
    }

    #[test]
    fn trace_is_judged_by_whole_passes() {
        let [mut timed, mut counted] = [true, false].map(|timed| Reckoning::begin(0, 100, timed));
        timed.add(2 * DRY_PAGES, 0, true).unwrap();
        timed.end_pass().unwrap();
        assert_eq!(timed.done_pages(0), 2 * DRY_PAGES);
        let mut hardly = Reckoning::begin(0, 100, true);
        hardly.add(401, 4, true).unwrap();
        hardly.end_pass().unwrap();
        assert_eq!((hardly.is_by_asked(), hardly.done_pages(4)), (true, 401));
        let mut often = Reckoning::begin(0, 100, true);
        often.add(400, 4, true).unwrap();
        often.end_pass().unwrap();
        assert!(!often.is_by_asked());
        let mut flushes = Reckoning::begin(0, 100, true);
        assert!(flushes.end_pass().is_err(), "a trace without pages has no length at all");
        counted.add(7, 0, true).unwrap();
        assert!(matches!(counted.end_pass(), Err(RunError::NothingWritten { asked_pages: 7, .. })));
    }
}
