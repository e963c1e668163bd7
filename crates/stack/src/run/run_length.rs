//! Progress of a run, by pages written or, if the run writes nothing, by pages requested.

use super::error::RunError;

/// A workload writes nothing if it has requested this many times the drive's pages without a write, and also at least
/// `NO_WRITE_LIMIT_PAGES` pages.
const NO_WRITE_LIMIT_DRIVES: u64 = 8;
/// Minimum number of pages requested without a write.
const NO_WRITE_LIMIT_PAGES: u64 = 1 << 20;

/// A pass through a trace has next to no writes if it writes fewer than one in this many of the requested pages.
const MAX_REQUESTED_PER_WRITE: u64 = 100;

/// Page counts that measure the length of a run.
///
/// The length of a run is normally its written pages, because writes wear the drive and determine amplification. A run
/// that only reads would never end. In timed mode its length is the requested pages, because it still has response
/// times; otherwise it is an error.
#[derive(Debug, Default)]
pub(super) struct RunLength {
    /// Pages written before the workload began.
    start_pages: u64,
    /// Pages that the workload requested to write, read or trim.
    requested_pages: u64,
    window_requested_pages: u64,
    pass_requested_pages: u64,
    pass_written_pages: u64,
    /// Pages requested since the last page was written.
    pages_since_write: u64,
    /// Limit of `pages_since_write`.
    pages_since_write_limit: u64,
    is_timed: bool,
    has_written: bool,
    by_requested_pages: bool,
}

impl RunLength {
    /// Starts the workload on a drive of `logical_pages`, to which `host_pages` were written so far.
    pub fn begin(host_pages: u64, logical_pages: u64, is_timed: bool) -> Self {
        let pages_since_write_limit = (NO_WRITE_LIMIT_DRIVES * logical_pages).max(NO_WRITE_LIMIT_PAGES);
        RunLength { start_pages: host_pages, pages_since_write_limit, is_timed, ..RunLength::default() }
    }

    /// Adds the pages that the workload requested, and those of them that it wrote. For a trace, only whole passes show
    /// whether it writes.
    pub fn add(&mut self, requested_pages: u64, written_pages: u64, is_trace: bool) -> Result<(), RunError> {
        self.requested_pages += requested_pages;
        self.window_requested_pages += requested_pages;
        self.pass_requested_pages += if is_trace { requested_pages } else { 0 };
        self.pass_written_pages += if is_trace { written_pages } else { 0 };
        if written_pages > 0 {
            (self.has_written, self.pages_since_write) = (true, 0);
            return Ok(());
        }
        self.pages_since_write += requested_pages;
        if self.pages_since_write < self.pages_since_write_limit || is_trace || self.by_requested_pages {
            Ok(())
        } else {
            self.handle_missing_writes()
        }
    }

    /// Ends a pass through the trace.
    pub fn end_pass(&mut self) -> Result<(), RunError> {
        let requested_pages = std::mem::take(&mut self.pass_requested_pages);
        let written_pages = std::mem::take(&mut self.pass_written_pages);
        // In timed mode response times are worth measuring even with few writes; waiting for the writes would take
        // thousands of passes.
        self.by_requested_pages |= self.is_timed && MAX_REQUESTED_PER_WRITE * written_pages < requested_pages;
        if self.has_written || self.by_requested_pages { Ok(()) } else { self.handle_missing_writes() }
    }

    fn handle_missing_writes(&mut self) -> Result<(), RunError> {
        if !self.is_timed || self.has_written || self.requested_pages == 0 {
            return Err(RunError::NoWrites {
                requested_pages: self.pages_since_write,
                is_timed: self.is_timed,
            });
        }
        self.by_requested_pages = true;
        Ok(())
    }

    /// Ends a window of the time series.
    pub fn end_window(&mut self) {
        self.window_requested_pages = 0;
    }

    /// True if requested pages determine the length of the run.
    pub fn is_by_requested_pages(&self) -> bool {
        self.by_requested_pages
    }

    /// Returns the pages that the workload requested, if these determine the length of the run.
    pub fn unwritten_pages(&self) -> Option<u64> {
        self.by_requested_pages.then_some(self.requested_pages)
    }

    /// True if a pass through a trace was begun and has not ended.
    pub fn is_in_pass(&self) -> bool {
        self.pass_requested_pages > 0
    }

    /// Returns the length of the current window, in which `written_pages` were written.
    pub fn window_length(&self, written_pages: u64) -> u64 {
        if self.by_requested_pages { self.window_requested_pages } else { written_pages }
    }

    /// Returns the length of the run since the drive was new, in which `host_pages` were written.
    pub fn length(&self, host_pages: u64) -> u64 {
        if self.by_requested_pages { self.start_pages + self.requested_pages } else { host_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_a_writing_run_is_its_written_pages() {
        let mut run = RunLength::begin(1000, 100, true);
        run.add(50, 10, false).unwrap();
        assert!(!run.is_in_pass(), "there is no trace");
        run.add(50, 10, true).unwrap();
        assert_eq!((run.length(1020), run.window_length(20), run.is_in_pass()), (1020, 20, true));
        run.end_pass().unwrap();
        assert_eq!(
            (run.is_by_requested_pages(), run.is_in_pass(), run.unwritten_pages()),
            (false, false, None)
        );
        // The workload wrote once and never again.
        let pages = NO_WRITE_LIMIT_PAGES - 1;
        run.add(pages, 0, false).unwrap();
        assert!(run.add(1, 0, true).is_ok(), "the trace may write in its next lines");
        assert!(matches!(run.add(1, 0, false), Err(RunError::NoWrites { .. })));
    }

    #[test]
    fn length_of_a_read_only_run_is_its_requested_pages_in_timed_mode_only() {
        let mut timed = RunLength::begin(1000, 1 << 20, true);
        timed.add(8 * (1 << 20) - 1, 0, false).unwrap();
        assert_eq!(timed.length(1000), 1000);
        timed.add(1, 0, false).unwrap();
        assert_eq!((timed.length(1000), timed.window_length(0)), (1000 + (8 << 20), 8 << 20));
        timed.end_window();
        assert_eq!((timed.window_length(0), timed.unwritten_pages()), (0, Some(8 << 20)));
        let mut counted = RunLength::begin(1000, 100, false);
        assert!(counted.add(NO_WRITE_LIMIT_PAGES, 0, false).is_err());
    }

    #[test]
    fn missing_writes_of_trace_are_judged_by_whole_passes() {
        let [mut timed, mut counted] = [true, false].map(|timed| RunLength::begin(0, 100, timed));
        timed.add(2 * NO_WRITE_LIMIT_PAGES, 0, true).unwrap();
        timed.end_pass().unwrap();
        assert_eq!(timed.length(0), 2 * NO_WRITE_LIMIT_PAGES);
        let mut few_writes = RunLength::begin(0, 100, true);
        few_writes.add(401, 4, true).unwrap();
        few_writes.end_pass().unwrap();
        assert_eq!((few_writes.is_by_requested_pages(), few_writes.length(4)), (true, 401));
        let mut enough_writes = RunLength::begin(0, 100, true);
        enough_writes.add(400, 4, true).unwrap();
        enough_writes.end_pass().unwrap();
        assert!(!enough_writes.is_by_requested_pages());
        let mut flushes = RunLength::begin(0, 100, true);
        assert!(flushes.end_pass().is_err(), "a trace without pages has no length at all");
        counted.add(7, 0, true).unwrap();
        assert!(matches!(counted.end_pass(), Err(RunError::NoWrites { requested_pages: 7, .. })));
    }
}
