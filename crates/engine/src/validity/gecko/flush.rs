//! Writing of the buffer, and the merges that this causes.

use super::Gecko;
use super::foresee::foresee_merge;
use super::merge::Merge;
use super::run::{Run, gecko_page, level_of};
use crate::layer::LayerError;
use crate::table::room;
use crate::validity::ValidityFlash;

/// Maximum size, in words, of entry memory that is kept for later merges (twice). A merge needs twice the memory of
/// its result anyway, so keeping it does not increase the peak. Allocating it each time, with zeroed pages from the
/// system, took a fifteenth of the time of GeckoFTL's writes.
const KEPT_WORDS: usize = 1 << 25;

impl Gecko {
    /// Writes the buffer; `told` is the time at which the current call began. After an error, the store is unchanged.
    pub(super) fn flush(&mut self, told: u64, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let mut written = Vec::new();
        let merged = match self.cascade(told, &mut written, flash) {
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
        self.durable_until = told;
        self.report.flushes += 1;
        self.report.merges += u64::from(merged > 0);
        Ok(())
    }

    /// Merges the buffer and the newest runs as long as two of them are in the same level. Returns the number of
    /// merged runs; the last element of `written` is the result.
    ///
    /// With two-way merges, each result is written, and read again to be merged with the next run, because there is
    /// only one buffer per run. With multi-way merges, one merge includes all runs that would have to be merged in
    /// sequence. The paper's rule, which adds a run if one of the level below takes part, assumes T = 2, where two
    /// runs always fill the next level. Here, a run is added if the pages so far reach its level.
    fn cascade(
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
            let mut settled = Vec::with_capacity(entries.len());
            Merge::new(self.layout, &entries, true).finish(&mut settled);
            entries = settled;
        }
        while self.reaches(merged, pages) {
            if !self.config.multiway && merged > 0 {
                self.write_run(&entries, (created, covers), false, written, flash)?;
                for &at in &written.last().expect("the run just written").slots {
                    flash.read(at)?;
                }
            }
            let room = self.unused.pop().unwrap_or_default();
            let out = self.merged_with(merged, &entries, room, flash)?;
            self.keep(std::mem::replace(&mut entries, out));
            let run = &self.runs[merged];
            covers.0 = run.preamble.covers.0;
            // The number of runs in a merge is determined from the number of input pages; alignment can make the
            // result a little longer.
            let foreseen = if self.config.multiway { pages + run.slots.len() as u64 } else { 0 };
            pages = foreseen.max(self.pages_of(&entries));
            merged += 1;
        }
        self.write_run(&entries, (created, covers), true, written, flash)?;
        self.keep(entries);
        Ok(merged)
    }

    /// Keeps the memory of merged entries for reuse, unless it is too large.
    fn keep(&mut self, entries: Vec<u64>) {
        if self.unused.len() < 2 && entries.capacity() <= KEPT_WORDS {
            self.unused.push(entries);
        }
    }

    /// True if a run of `pages` pages belongs in the level of the run at `next`, or above.
    fn reaches(&self, next: usize, pages: u64) -> bool {
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
        let most = newer.len() + slots.len() * self.config.page_entries() as usize * self.layout.stride;
        out.clear();
        if out.capacity() < most {
            out = room(most);
        }
        let mut merge = Merge::new(self.layout, newer, is_oldest);
        for (next, &at) in (1..).zip(slots) {
            foresee_merge(&slots[next..], flash);
            merge.page(&gecko_page(flash.read(at)?).entries, &mut out);
        }
        merge.finish(&mut out);
        Ok(out)
    }

    /// Returns all entries, merged, without writing anything.
    pub(super) fn all_merged(&self, flash: &mut dyn ValidityFlash) -> Result<Vec<u64>, LayerError> {
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
