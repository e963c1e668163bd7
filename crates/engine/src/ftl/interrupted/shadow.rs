//! The expected content of every page.

use crate::layer::Content;
use crate::seed::{Random, below};
use crate::units::Lpn;
use std::collections::{BTreeMap, VecDeque};

/// Number of recently written pages that are included in every sample.
const LATEST_PAGES: usize = 1 << 12;

/// Expected state of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Its content; 0 without content.
    holds: u64,
    /// Content of a write that is not acknowledged yet.
    in_flight: Option<u64>,
    /// The last stamp given to the page; 0 if the host chooses contents.
    last: u64,
    /// True if the page was trimmed and the trim may be lost.
    trimmed: bool,
}

/// Possible contents of a page after a power cut, until it is read, written or trimmed.
#[derive(Clone, Debug, Default)]
struct Possible {
    contents: Vec<u64>,
    /// True if a trim may be lost: the page may be empty or contain any stamp that it ever had.
    any_stamp: bool,
}

/// A model of a drive's contents.
pub(super) struct Shadow {
    pages: Vec<Page>,
    versions: u32,
    latest: VecDeque<Lpn>,
    /// Pages of the current request, in order.
    in_flight: VecDeque<Lpn>,
    /// Pages whose trims may be lost.
    trimmed: Vec<Lpn>,
    /// True if the host chooses contents; false if they are stamps.
    is_given: bool,
    /// Earlier contents of pages that may reappear after a power cut. Used if the host chooses contents, because then
    /// not all acknowledged writes may be on flash.
    undone: BTreeMap<Lpn, Vec<u64>>,
    /// Pages whose content after a power cut is unknown.
    unsettled: BTreeMap<Lpn, Possible>,
}

impl Shadow {
    /// Creates the model of a drive whose contents are chosen by the host (`is_given`) or are stamps.
    pub fn new(pages: u32, is_given: bool) -> Self {
        Shadow {
            pages: vec![Page::default(); pages as usize],
            versions: 0,
            latest: VecDeque::new(),
            in_flight: VecDeque::new(),
            trimmed: Vec::new(),
            is_given,
            undone: BTreeMap::new(),
            unsettled: BTreeMap::new(),
        }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Begins a write with a stamp, which consists of the page's number and the write's number.
    pub fn begin_stamped(&mut self, page: Lpn) -> Content {
        self.versions = self.versions.checked_add(1).expect("fewer than 2^32 page writes");
        let stamp = Content(u64::from(page.0 + 1) << 32 | u64::from(self.versions));
        self.pages[page.index()].last = stamp.0;
        self.begin_write(page, stamp);
        stamp
    }

    /// Begins a write of the page.
    pub fn begin_write(&mut self, page: Lpn, content: Content) {
        let before = self.pages[page.index()].in_flight.replace(content.0);
        // The page is written twice in one request.
        before.into_iter().for_each(|content| self.may_be_back(page, content));
        self.in_flight.push_back(page);
        if self.latest.len() == LATEST_PAGES {
            self.latest.pop_front();
        }
        self.latest.push_back(page);
    }

    /// Records that the write was acknowledged.
    pub fn written(&mut self, page: Lpn) {
        self.in_flight.pop_front();
        let state = &mut self.pages[page.index()];
        let Some(content) = state.in_flight.take() else { return };
        state.trimmed = false;
        self.replace(page, content);
    }

    /// Records that a trim has begun.
    pub fn trimmed(&mut self, page: Lpn) {
        self.replace(page, 0);
        if !self.is_given {
            self.pages[page.index()].trimmed = true;
            self.trimmed.push(page);
        }
    }

    /// Sets the content of the page; the earlier content may reappear after a power cut.
    fn replace(&mut self, page: Lpn, content: u64) {
        let before = std::mem::replace(&mut self.pages[page.index()].holds, content);
        match self.unsettled.remove(&page) {
            Some(possible) => {
                possible.contents.into_iter().for_each(|content| self.may_be_back(page, content))
            }
            None => self.may_be_back(page, before),
        }
    }

    /// Records a content that may reappear after a power cut, until everything is on flash.
    fn may_be_back(&mut self, page: Lpn, content: u64) {
        if self.is_given {
            self.undone.entry(page).or_default().push(content);
        }
    }

    /// Records that all acknowledged writes are on flash.
    pub fn all_durable(&mut self) {
        self.undone.clear();
    }

    /// Records that acknowledged trims are durable.
    pub fn flushed(&mut self) {
        for page in self.trimmed.drain(..) {
            self.pages[page.index()].trimmed = false;
        }
    }

    /// Records a power cut: the content of some pages is now unknown, until they are read, written or trimmed.
    pub fn lost_power(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight);
        let trimmed = std::mem::take(&mut self.trimmed);
        let undone = std::mem::take(&mut self.undone);
        for page in in_flight.into_iter().chain(trimmed).chain(undone.keys().copied()) {
            let state = &mut self.pages[page.index()];
            let possible = self.unsettled.entry(page).or_default();
            possible.contents.push(state.holds);
            possible.contents.extend(state.in_flight.take());
            possible.any_stamp |= std::mem::take(&mut state.trimmed);
        }
        for (page, contents) in undone {
            self.unsettled.entry(page).or_default().contents.extend(contents);
        }
    }

    /// Returns pages to read back: random ones, the most recently written ones, and those with unknown content.
    pub fn sample(&self, count: u32, random: &mut Random) -> Vec<Lpn> {
        let drawn = (0..count).map(|_| Lpn(below(random, self.pages.len() as u64) as u32));
        drawn.chain(self.latest.iter().copied()).chain(self.unsettled.keys().copied()).collect()
    }

    /// Checks the content read from a page, and expects the same content from now on.
    pub fn read(&mut self, page: Lpn, found: Content) -> Result<(), String> {
        let state = &mut self.pages[page.index()];
        let possible = self.unsettled.remove(&page);
        let may_hold = match &possible {
            None => found.0 == state.holds,
            Some(Possible { contents, any_stamp }) => {
                let earlier = found.0 == 0 || found.0 >> 32 == state.last >> 32 && found.0 <= state.last;
                contents.contains(&found.0) || *any_stamp && earlier
            }
        };
        if !may_hold {
            return Err(wrong(page, state.holds, possible.as_ref(), found));
        }
        state.holds = found.0;
        Ok(())
    }
}

fn wrong(page: Lpn, holds: u64, possible: Option<&Possible>, found: Content) -> String {
    let since_the_cut = match possible {
        None => String::new(),
        Some(Possible { contents, any_stamp }) => {
            format!(" (or since a cut: {contents:x?}, whose trim may be lost: {any_stamp})")
        }
    };
    format!("{page:?} reads {:#x}, but holds {holds:#x}{since_the_cut}", found.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn acknowledged_writes_must_survive() {
        let mut shadow = Shadow::new(8, false);
        let page = Lpn(3);
        let first = shadow.begin_stamped(page);
        shadow.written(page);
        let second = shadow.begin_stamped(page);
        shadow.lost_power();
        shadow.read(page, first).unwrap();
        // The content was there after one cut, so it must be there after the next.
        assert!(shadow.read(page, second).is_err());
        shadow.trimmed(page);
        assert!(shadow.read(page, first).is_err(), "power was never lost");
        shadow.trimmed(page);
        shadow.lost_power();
        shadow.read(page, first).unwrap();
        shadow.trimmed(page);
        shadow.flushed();
        shadow.lost_power();
        assert!(shadow.read(page, first).is_err());
        shadow.read(page, Content(0)).unwrap();
        let third = shadow.begin_stamped(page);
        shadow.lost_power();
        assert!(shadow.read(page, first).is_err(), "neither held nor in flight");
        assert!(shadow.read(page, third).is_err(), "a page that was wrong once is as it should be");
    }

    /// A flush after recovery cannot save a trim that was already lost. A rewritten page has its new content,
    /// also if its old content was unknown.
    #[test]
    fn unread_pages_stay_unknown_over_several_cuts() {
        let mut shadow = Shadow::new(8, false);
        let (trimmed, torn, written) = (Lpn(1), Lpn(2), Lpn(3));
        let old = [trimmed, torn, written].map(|page| shadow.begin_stamped(page));
        [trimmed, torn, written].into_iter().for_each(|page| shadow.written(page));
        shadow.trimmed(trimmed);
        shadow.trimmed(written);
        shadow.begin_stamped(torn);
        shadow.lost_power();
        shadow.flushed();
        let again = shadow.begin_stamped(torn);
        shadow.lost_power();
        let new = shadow.begin_stamped(written);
        shadow.written(written);
        shadow.lost_power();
        shadow.read(trimmed, old[0]).unwrap();
        shadow.read(torn, old[1]).unwrap();
        assert!(shadow.read(torn, again).is_err());
        assert!(shadow.read(written, old[2]).is_err());
        shadow.read(written, new).unwrap();
    }

    #[test]
    fn samples_contain_latest_pages() {
        let mut shadow = Shadow::new(1000, false);
        shadow.begin_stamped(Lpn(777));
        assert!(shadow.sample(3, &mut Seed(1).random()).contains(&Lpn(777)));
    }

    #[test]
    fn only_writes_not_yet_on_flash_may_be_undone() {
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
        assert!(shadow.read(page, Content(6)).is_err(), "power was never lost");
        shadow.lost_power();
        // Making everything durable now does not decide what an earlier cut has lost.
        shadow.all_durable();
        shadow.read(page, Content(5)).unwrap();
        // The content was there after one cut, so it must be there after the next.
        assert!(shadow.read(page, Content(6)).is_err());
        shadow.trimmed(page);
        shadow.all_durable();
        shadow.lost_power();
        assert!(shadow.read(page, Content(5)).is_err());
        shadow.read(page, Content(0)).unwrap();
        // After two cuts, an unacknowledged write may be there, and so may the content that it and a later write
        // replaced.
        write(&mut shadow, 8);
        shadow.begin_write(page, Content(9));
        shadow.lost_power();
        write(&mut shadow, 10);
        shadow.lost_power();
        shadow.read(page, Content(9)).unwrap();
        shadow.begin_write(page, Content(11));
        shadow.lost_power();
        assert!(shadow.read(page, Content(7)).is_err());
    }
}
