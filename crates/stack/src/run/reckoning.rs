//! How far a run is: by what it wrote or, where it writes nothing, by what it asked for.

use super::error::RunError;

/// A workload that asked for so many times the drive, and for so many pages at least, without writing one, writes nothing.
const DRY_DRIVES: u64 = 8;
const DRY_PAGES: u64 = 1 << 20;

/// A pass through a trace that writes less than one in so many of the pages that it asks for writes next to nothing.
const HARDLY: u64 = 100;

/// Pages by which the length of a run is told.
///
/// A run is as long as what it writes, which wears the drive and which amplification is measured by. One that only reads would
/// never end. On the clock it has response times to tell, and its length is that of what it asks for; otherwise it is an error.
#[derive(Debug, Default)]
pub(super) struct Reckoning {
    /// Pages written before the workload began.
    begun_at: u64,
    /// Pages that the workload asked for: to be written, read or trimmed.
    asked_pages: u64,
    window_asked_pages: u64,
    pass_asked_pages: u64,
    pass_written_pages: u64,
    /// Pages asked for since the last one was written.
    dry_pages: u64,
    /// How many of these are too many.
    dry_limit: u64,
    is_timed: bool,
    has_written: bool,
    by_asked: bool,
}

impl Reckoning {
    /// The workload begins on a drive of so many logical pages, of which `host_pages` pages were written so far.
    pub fn begin(host_pages: u64, logical_pages: u64, is_timed: bool) -> Self {
        let dry_limit = (DRY_DRIVES * logical_pages).max(DRY_PAGES);
        Reckoning { begun_at: host_pages, dry_limit, is_timed, ..Reckoning::default() }
    }

    /// The workload asked for so many pages, of which it wrote some. Of a trace only whole passes tell whether it writes.
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

    /// A pass through the trace ended.
    pub fn end_pass(&mut self) -> Result<(), RunError> {
        let asked_pages = std::mem::take(&mut self.pass_asked_pages);
        let written_pages = std::mem::take(&mut self.pass_written_pages);
        // On the clock there is more to measure than what so few writes do, and it would take thousands of passes.
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

    /// A window of the time series ended.
    pub fn end_window(&mut self) {
        self.window_asked_pages = 0;
    }

    /// Whether the run is as long as what it asks for.
    pub fn is_by_asked(&self) -> bool {
        self.by_asked
    }

    /// Pages that such a run asked for.
    pub fn unwritten_pages(&self) -> Option<u64> {
        self.by_asked.then_some(self.asked_pages)
    }

    /// Whether a pass through a trace was begun and has not ended.
    pub fn is_in_pass(&self) -> bool {
        self.pass_asked_pages > 0
    }

    /// Pages of the window in hand, of which `written_pages` were written.
    pub fn of_window(&self, written_pages: u64) -> u64 {
        if self.by_asked { self.window_asked_pages } else { written_pages }
    }

    /// Pages since the drive was new, of which `host_pages` were written.
    pub fn done_pages(&self, host_pages: u64) -> u64 {
        if self.by_asked { self.begun_at + self.asked_pages } else { host_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_is_as_long_as_what_it_writes() {
        let mut run = Reckoning::begin(1000, 100, true);
        run.add(50, 10, false).unwrap();
        assert!(!run.is_in_pass(), "there is no trace");
        run.add(50, 10, true).unwrap();
        assert_eq!((run.done_pages(1020), run.of_window(20), run.is_in_pass()), (1020, 20, true));
        run.end_pass().unwrap();
        assert_eq!((run.is_by_asked(), run.is_in_pass(), run.unwritten_pages()), (false, false, None));
        // It wrote once and never again.
        let pages = DRY_PAGES - 1;
        run.add(pages, 0, false).unwrap();
        assert!(run.add(1, 0, true).is_ok(), "the trace may write in its next lines");
        assert!(matches!(run.add(1, 0, false), Err(RunError::NothingWritten { .. })));
    }

    #[test]
    fn what_only_reads_is_as_long_as_what_it_asks_for_on_the_clock_alone() {
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
    fn a_pass_through_a_trace_tells_whether_it_writes() {
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
