//! Recovery of the runs after power loss (Appendix C.1).
//!
//! The paper keeps the newest run of each level. That is not sufficient: if many entries coincide, the result of a
//! merge is in a lower level than the merged runs, which would become valid again. Therefore each run records the
//! flushes that it contains. A run is superseded if and only if a later complete run contains all of its flushes. For
//! the same reason, a merge without any remaining entry writes a run of one empty page.

use super::page::Postamble;
use super::run::{Run, gecko_page};
use super::{Gecko, GeckoConfig};
use crate::layer::LayerError;
use crate::units::Slot;
use crate::validity::{FoundPage, ValidityFlash};

impl Gecko {
    /// Finds the runs that were in use. Reads the last page of each run, and all pages of runs of which cleaning
    /// moved a page. Updates since [`durable_until`](crate::validity::PageValidity::durable_until) must be reported
    /// again.
    ///
    /// # Panics
    ///
    /// If [`Gecko::new`] rejects `config`.
    pub fn recover(
        config: GeckoConfig,
        pages: &[FoundPage],
        flash: &mut dyn ValidityFlash,
    ) -> Result<Self, LayerError> {
        let mut store = Self::new(config).expect("settings that made the runs");
        let mut found = pages.to_vec();
        found.sort_unstable_by_key(|page| (std::cmp::Reverse(page.label), page.sequence));
        store.next_run = found.first().map_or(0, |page| page.label + 1);
        for pages in found.chunk_by(|one, next| one.label == next.label) {
            let run = complete_run(pages, flash)?
                .filter(|run| !store.runs.iter().any(|newer| contains_flushes(newer, run)));
            let used_slots = run.as_ref().map_or(&[][..], |run| &run.slots);
            let mut sorted = used_slots.to_vec();
            sorted.sort_unstable();
            for page in pages.iter().filter(|page| sorted.binary_search(&page.at).is_err()) {
                flash.discard(page.at);
            }
            store.runs.extend(run);
        }
        if let Some(newest) = store.runs.first() {
            store.durable_until = newest.preamble.created;
            store.next_flush = newest.preamble.flushes.1 + 1;
        }
        Ok(store)
    }
}

/// True if the newer run contains all flushes of the older one.
fn contains_flushes(newer: &Run, older: &Run) -> bool {
    let (outer, inner) = (newer.preamble.flushes, older.preamble.flushes);
    outer.0 <= inner.0 && inner.1 <= outer.1
}

/// Returns the run that consists of these pages, given in the order in which they were written; `None` if some are
/// missing.
fn complete_run(pages: &[FoundPage], flash: &mut dyn ValidityFlash) -> Result<Option<Run>, LayerError> {
    let last = pages.last().expect("a run has pages");
    if let Some(postamble) = &gecko_page(flash.read(last.at)?).postamble {
        let listed = postamble.slots.iter().chain([&last.at]);
        if pages.iter().map(|page| &page.at).eq(listed) {
            return Ok(Some(recovered_run(
                last.label,
                postamble,
                pages.iter().map(|page| page.at).collect(),
            )));
        }
    }
    // Some page was moved, or never written, so the headers must be read. Of two copies of a page, the newer copy is
    // used.
    let mut newest: Vec<Slot> = Vec::new();
    let mut postamble = None;
    for page in pages {
        let header = gecko_page(flash.read(page.at)?);
        let index = header.index as usize;
        newest.resize(newest.len().max(index + 1), Slot::NONE);
        newest[index] = page.at;
        postamble = header.postamble.clone().or(postamble);
    }
    let is_whole = !newest.contains(&Slot::NONE);
    let whole = postamble.filter(|postamble| is_whole && postamble.first_keys.len() == newest.len());
    Ok(whole.map(|postamble| recovered_run(last.label, &postamble, newest)))
}

fn recovered_run(number: u32, postamble: &Postamble, slots: Vec<Slot>) -> Run {
    Run { number, preamble: postamble.preamble, first_keys: postamble.first_keys.to_vec(), slots }
}
