//! What every page must hold.

use crate::layer::Content;
use crate::seed::{Random, below};
use crate::units::Lpn;
use std::collections::VecDeque;

/// Pages written last that every sample has.
const LATEST_PAGES: usize = 1 << 12;

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Its stamp, 0 if it has none.
    holds: u64,
    /// A stamp on its way when power was lost.
    in_flight: Option<u64>,
    /// The last stamp that it was ever given.
    last: u64,
    /// It was trimmed, and the trim may be lost.
    trimmed: bool,
}

/// A copy of a drive that forgets nothing.
pub(super) struct Shadow {
    pages: Vec<Page>,
    versions: u32,
    latest: VecDeque<Lpn>,
    /// Pages whose trims may be lost.
    trimmed: Vec<Lpn>,
}

impl Shadow {
    pub fn new(pages: u32) -> Self {
        Shadow {
            pages: vec![Page::default(); pages as usize],
            versions: 0,
            latest: VecDeque::new(),
            trimmed: Vec::new(),
        }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// A stamp for the page: its number and that of the write.
    pub fn begin_write(&mut self, page: Lpn) -> Content {
        self.versions = self.versions.checked_add(1).expect("fewer than 2^32 page writes");
        let stamp = u64::from(page.0 + 1) << 32 | u64::from(self.versions);
        let state = &mut self.pages[page.index()];
        (state.in_flight, state.last) = (Some(stamp), stamp);
        if self.latest.len() == LATEST_PAGES {
            self.latest.pop_front();
        }
        self.latest.push_back(page);
        Content(stamp)
    }

    /// The write was acknowledged.
    pub fn written(&mut self, page: Lpn) {
        let state = &mut self.pages[page.index()];
        state.holds = state.in_flight.take().expect("a write was begun");
        state.trimmed = false;
    }

    /// A trim was begun.
    pub fn trimmed(&mut self, page: Lpn) {
        let state = &mut self.pages[page.index()];
        (state.holds, state.trimmed) = (0, true);
        self.trimmed.push(page);
    }

    /// Trims that were acknowledged are durable.
    pub fn flushed(&mut self) {
        for page in self.trimmed.drain(..) {
            self.pages[page.index()].trimmed = false;
        }
    }

    /// Pages to be read back: some drawn at random, and those written last.
    pub fn sample(&self, count: u32, random: &mut Random) -> Vec<Lpn> {
        let drawn = (0..count).map(|_| Lpn(below(random, self.pages.len() as u64) as u32));
        drawn.chain(self.latest.iter().copied()).collect()
    }

    /// The page was read while power was on.
    pub fn check(&self, page: Lpn, found: Content) -> Result<(), String> {
        let state = &self.pages[page.index()];
        // What was in flight at a cut may be there or not until the page is read back.
        let holds = found.0 == state.holds || self.allows(state, found.0);
        if holds { Ok(()) } else { Err(wrong(page, state, found)) }
    }

    /// Whether a power cut may leave `found` there: what the page held; what was being written; or, if it was trimmed, nothing
    /// or anything that it once held.
    fn allows(&self, state: &Page, found: u64) -> bool {
        let earlier = found >> 32 == state.last >> 32 && found <= state.last;
        found == state.holds || Some(found) == state.in_flight || state.trimmed && (found == 0 || earlier)
    }

    /// The page was read after a cut, and holds from now on what was found.
    pub fn settle(&mut self, page: Lpn, found: Content) -> Result<(), String> {
        let state = &self.pages[page.index()];
        if !self.allows(state, found.0) {
            return Err(wrong(page, state, found));
        }
        self.pages[page.index()] = Page { holds: found.0, in_flight: None, trimmed: false, last: state.last };
        Ok(())
    }
}

fn wrong(page: Lpn, state: &Page, found: Content) -> String {
    let Page { holds, in_flight, trimmed, .. } = state;
    format!(
        "{page:?} reads {:#x}, but holds {holds:#x} (in flight: {in_flight:x?}, trimmed: {trimmed})",
        found.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn what_was_acknowledged_must_be_there() {
        let mut shadow = Shadow::new(8);
        let page = Lpn(3);
        let first = shadow.begin_write(page);
        shadow.written(page);
        let second = shadow.begin_write(page);
        assert!(shadow.settle(page, Content(0)).is_err());
        shadow.settle(page, first).unwrap();
        // It was there after one cut, so it is there after the next.
        assert!(shadow.settle(page, second).is_err());
        shadow.trimmed(page);
        shadow.settle(page, first).unwrap();
        shadow.trimmed(page);
        shadow.flushed();
        assert!(shadow.settle(page, first).is_err());
        shadow.settle(page, Content(0)).unwrap();
    }

    #[test]
    fn samples_have_what_was_written_last() {
        let mut shadow = Shadow::new(1000);
        shadow.begin_write(Lpn(777));
        assert!(shadow.sample(3, &mut Seed(1).random()).contains(&Lpn(777)));
    }
}
