//! What every page must hold.

use crate::layer::Content;
use crate::seed::{Random, below};
use crate::units::Lpn;
use std::collections::{BTreeMap, VecDeque};

/// Pages written last that every sample has.
const LATEST_PAGES: usize = 1 << 12;

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Its content, 0 if it has none.
    holds: u64,
    /// Content on its way when power was lost.
    in_flight: Option<u64>,
    /// The last stamp that it was ever given; 0 where contents are the host's.
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
    /// Whether contents are the host's, and not stamps.
    is_given: bool,
    /// What pages held before, as long as power loss may bring it back: of contents of the host, where not everything that was
    /// acknowledged is on flash.
    undone: BTreeMap<Lpn, Vec<u64>>,
}

impl Shadow {
    /// Of a drive whose pages hold what the host gives them, or stamps.
    pub fn new(pages: u32, is_given: bool) -> Self {
        Shadow {
            pages: vec![Page::default(); pages as usize],
            versions: 0,
            latest: VecDeque::new(),
            trimmed: Vec::new(),
            is_given,
            undone: BTreeMap::new(),
        }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// The page is about to be written, with a stamp: its number and that of the write.
    pub fn begin_stamped(&mut self, page: Lpn) -> Content {
        self.versions = self.versions.checked_add(1).expect("fewer than 2^32 page writes");
        let stamp = Content(u64::from(page.0 + 1) << 32 | u64::from(self.versions));
        self.pages[page.index()].last = stamp.0;
        self.begin_write(page, stamp);
        stamp
    }

    /// The page is about to be written.
    pub fn begin_write(&mut self, page: Lpn, content: Content) {
        let before = self.pages[page.index()].in_flight.replace(content.0);
        // Written twice in one request.
        before.into_iter().for_each(|content| self.may_be_back(page, content));
        if self.latest.len() == LATEST_PAGES {
            self.latest.pop_front();
        }
        self.latest.push_back(page);
    }

    /// The write was acknowledged.
    pub fn written(&mut self, page: Lpn) {
        let state = &mut self.pages[page.index()];
        let Some(content) = state.in_flight.take() else { return };
        let before = std::mem::replace(&mut state.holds, content);
        state.trimmed = false;
        self.may_be_back(page, before);
    }

    /// A trim was begun.
    pub fn trimmed(&mut self, page: Lpn) {
        let state = &mut self.pages[page.index()];
        let before = std::mem::take(&mut state.holds);
        if self.is_given {
            self.may_be_back(page, before);
        } else {
            state.trimmed = true;
            self.trimmed.push(page);
        }
    }

    /// Power loss may bring that back, until all is on flash.
    fn may_be_back(&mut self, page: Lpn, content: u64) {
        if self.is_given {
            self.undone.entry(page).or_default().push(content);
        }
    }

    /// Everything that was acknowledged is on flash.
    pub fn all_durable(&mut self) {
        self.undone.clear();
    }

    /// Trims that were acknowledged are durable.
    pub fn flushed(&mut self) {
        for page in self.trimmed.drain(..) {
            self.pages[page.index()].trimmed = false;
        }
    }

    /// Pages to be read back: some drawn at random, those written last, and those of which it is not known what they hold.
    pub fn sample(&self, count: u32, random: &mut Random) -> Vec<Lpn> {
        let drawn = (0..count).map(|_| Lpn(below(random, self.pages.len() as u64) as u32));
        drawn.chain(self.latest.iter().copied()).chain(self.undone.keys().copied()).collect()
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
        let is_back = self.undone.get(&page).is_some_and(|contents| contents.contains(&found.0));
        if !is_back && !self.allows(state, found.0) {
            return Err(wrong(page, state, found));
        }
        self.undone.remove(&page);
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
        let mut shadow = Shadow::new(8, false);
        let page = Lpn(3);
        let first = shadow.begin_stamped(page);
        shadow.written(page);
        let second = shadow.begin_stamped(page);
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
        let mut shadow = Shadow::new(1000, false);
        shadow.begin_stamped(Lpn(777));
        assert!(shadow.sample(3, &mut Seed(1).random()).contains(&Lpn(777)));
    }

    #[test]
    fn what_is_not_on_flash_yet_may_be_undone_and_nothing_else() {
        let page = Lpn(3);
        let write = |shadow: &mut Shadow, content: u64| {
            shadow.begin_write(page, Content(content));
            shadow.written(page);
        };
        let mut shadow = Shadow::new(8, true);
        write(&mut shadow, 5);
        shadow.all_durable();
        write(&mut shadow, 6);
        shadow.trimmed(page);
        assert!(shadow.check(page, Content(6)).is_err(), "power was never lost");
        assert!(shadow.settle(page, Content(7)).is_err());
        shadow.settle(page, Content(5)).unwrap();
        // It was there after one cut, so it is there after the next.
        assert!(shadow.settle(page, Content(6)).is_err());
        shadow.trimmed(page);
        shadow.all_durable();
        assert!(shadow.settle(page, Content(5)).is_err());
        shadow.settle(page, Content(0)).unwrap();
        // A write that was not acknowledged may be there.
        shadow.begin_write(page, Content(9));
        shadow.settle(page, Content(9)).unwrap();
    }
}
