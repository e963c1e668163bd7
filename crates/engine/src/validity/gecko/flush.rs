//! Writing of the buffer, and the merges that this causes.

use super::Gecko;
use super::merge::Merge;
use super::prefetching::prefetch_merge;
use super::run::{Run, gecko_page, level_of};
use crate::layer::LayerError;
use crate::table::with_capacity;
use crate::validity::ValidityFlash;

/// Maximum size, in words, of each of the two buffers for entries that are kept for later merges. A merge needs memory
/// of twice the size of its result in any case, so keeping a buffer does not increase the peak. Allocation of the
/// memory for each merge, with zeroed pages from the operating system, took a fifteenth of the time of GeckoFTL's
/// writes.
const MAX_RECYCLED_WORDS: usize = 1 << 25;

impl Gecko {
    /// Writes the buffer; `call_time` is the time at which the current call began. After an error, the store is
    /// unchanged.
    pub(super) fn flush(&mut self, call_time: u64, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let mut written = Vec::new();
        let merged = match self.merge_runs(call_time, &mut written, flash) {
            Ok(merged) => merged,
            Err(error) => {
                discard(&written, flash);
                return Err(error);
            }
        };
        let result = written.pop().expect("the run that the flush ends with");
        discard(&written, flash);
        discard(&self.runs[..merged], flash);
        self.runs.splice(..merged, [result]);
        self.buffer.clear();
        self.next_flush += 1;
        self.durable_until = call_time;
        self.report.flushes += 1;
        self.report.merges += u64::from(merged > 0);
        Ok(())
    }

    /// Merges the buffer and the newest runs as long as two of them are in the same level. Returns the number of
    /// merged runs; the last element of `written` is the result.
    ///
    /// With two-way merges, each result is written, and read again to be merged with the next run, because there is
    /// only one buffer per run. With multi-way merges, one merge includes all runs that would have to be merged in
    /// sequence. The paper's rule, which adds a run if a run of the level below takes part, assumes T = 2, where two
    /// runs always fill the next level. Here, a run is added if the pages so far reach its level.
    fn merge_runs(
        &mut self,
        created: u64,
        written: &mut Vec<Run>,
        flash: &mut dyn ValidityFlash,
    ) -> Result<usize, LayerError> {
        let mut entries = self.buffer.sorted();
        let mut covers = (self.next_flush, self.next_flush);
        let mut pages = 1;
        let mut merged = 0;
        if self.runs.is_empty() {
            // There is no older run, so erase flags are not needed.
            let mut stripped = Vec::with_capacity(entries.len());
            Merge::new(self.layout, &entries, true).finish(&mut stripped);
            entries = stripped;
        }
        while self.must_merge(merged, pages) {
            if !self.config.multiway && merged > 0 {
                self.write_run(&entries, (created, covers), false, written, flash)?;
                for &at in &written.last().expect("the run just written").slots {
                    flash.read(at)?;
                }
            }
            let spare = self.spare_buffers.pop().unwrap_or_default();
            let out = self.merged_with(merged, &entries, spare, flash)?;
            self.recycle(std::mem::replace(&mut entries, out));
            let run = &self.runs[merged];
            covers.0 = run.preamble.flushes.0;
            // The number of runs in a merge is determined from the number of input pages; alignment can make the
            // result a little longer.
            let expected_pages = if self.config.multiway { pages + run.slots.len() as u64 } else { 0 };
            pages = expected_pages.max(self.pages_of(&entries));
            merged += 1;
        }
        self.write_run(&entries, (created, covers), true, written, flash)?;
        self.recycle(entries);
        Ok(merged)
    }

    /// Keeps the memory of merged entries for reuse, unless it is too large.
    fn recycle(&mut self, entries: Vec<u64>) {
        if self.spare_buffers.len() < 2 && entries.capacity() <= MAX_RECYCLED_WORDS {
            self.spare_buffers.push(entries);
        }
    }

    /// True if a run of `pages` pages belongs in the level of the run at `next`, or above.
    fn must_merge(&self, next: usize, pages: u64) -> bool {
        let ratio = self.config.size_ratio;
        self.runs
            .get(next)
            .is_some_and(|run| level_of(run.slots.len() as u64, ratio) <= level_of(pages, ratio))
    }

    /// Reads the run at `index` and returns its entries merged with `newer`, in the memory of `out` if that is large
    /// enough.
    fn merged_with(
        &self,
        index: usize,
        newer: &[u64],
        mut out: Vec<u64>,
        flash: &mut dyn ValidityFlash,
    ) -> Result<Vec<u64>, LayerError> {
        let is_oldest = index + 1 == self.runs.len();
        let slots = &self.runs[index].slots;
        let max_words = newer.len() + slots.len() * self.config.page_entries() as usize * self.layout.stride;
        out.clear();
        if out.capacity() < max_words {
            out = with_capacity(max_words);
        }
        let mut merge = Merge::new(self.layout, newer, is_oldest);
        for (next, &at) in (1..).zip(slots) {
            prefetch_merge(&slots[next..], flash);
            merge.merge_page(&gecko_page(flash.read(at)?).entries, &mut out);
        }
        merge.finish(&mut out);
        Ok(out)
    }

    /// Returns all entries, merged, without writing a page.
    pub(super) fn merge_all(&self, flash: &mut dyn ValidityFlash) -> Result<Vec<u64>, LayerError> {
        let mut entries = self.buffer.sorted();
        for index in 0..self.runs.len() {
            entries = self.merged_with(index, &entries, Vec::new(), flash)?;
        }
        Ok(entries)
    }
}

fn discard(runs: &[Run], flash: &mut dyn ValidityFlash) {
    runs.iter().flat_map(|run| &run.slots).for_each(|at| flash.discard(*at));
}
