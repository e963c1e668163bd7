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
    /// Content on its way.
    in_flight: Option<u64>,
    /// The last stamp that it was ever given; 0 where contents are the host's.
    last: u64,
    /// It was trimmed, and the trim may be lost.
    trimmed: bool,
}

/// What a page may hold since a power cut, until it is read or something else is done to it.
#[derive(Clone, Debug, Default)]
struct Possible {
    contents: Vec<u64>,
    /// A trim may be lost: nothing, or any stamp that the page ever had.
    any_stamp: bool,
}

/// A copy of a drive that forgets nothing.
pub(super) struct Shadow {
    pages: Vec<Page>,
    versions: u32,
    latest: VecDeque<Lpn>,
    /// Pages of the request that is being served, in its order.
    in_flight: VecDeque<Lpn>,
    /// Pages whose trims may be lost.
    trimmed: Vec<Lpn>,
    /// Whether contents are the host's, and not stamps.
    is_given: bool,
    /// What pages held before, as long as power loss may bring it back: of contents of the host, where not everything that was
    /// acknowledged is on flash.
    undone: BTreeMap<Lpn, Vec<u64>>,
    /// Pages of which it is not known what a power cut has left there.
    unsettled: BTreeMap<Lpn, Possible>,
}

impl Shadow {
    /// Of a drive whose pages hold what the host gives them, or stamps.
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
        self.in_flight.push_back(page);
        if self.latest.len() == LATEST_PAGES {
            self.latest.pop_front();
        }
        self.latest.push_back(page);
    }

    /// The write was acknowledged.
    pub fn written(&mut self, page: Lpn) {
        self.in_flight.pop_front();
        let state = &mut self.pages[page.index()];
        let Some(content) = state.in_flight.take() else { return };
        state.trimmed = false;
        self.replace(page, content);
    }

    /// A trim was begun.
    pub fn trimmed(&mut self, page: Lpn) {
        self.replace(page, 0);
        if !self.is_given {
            self.pages[page.index()].trimmed = true;
            self.trimmed.push(page);
        }
    }

    /// The page holds `content` from now on; what it held before may be back after a power loss.
    fn replace(&mut self, page: Lpn, content: u64) {
        let before = std::mem::replace(&mut self.pages[page.index()].holds, content);
        match self.unsettled.remove(&page) {
            Some(possible) => {
                possible.contents.into_iter().for_each(|content| self.may_be_back(page, content))
            }
            None => self.may_be_back(page, before),
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

    /// Power was lost: of some pages it is not known any more what they hold, and nothing that is done from now on decides it
    /// but to read, to write or to trim them.
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

    /// Pages to be read back: some drawn at random, those written last, and those of which it is not known what they hold.
    pub fn sample(&self, count: u32, random: &mut Random) -> Vec<Lpn> {
        let drawn = (0..count).map(|_| Lpn(below(random, self.pages.len() as u64) as u32));
        drawn.chain(self.latest.iter().copied()).chain(self.unsettled.keys().copied()).collect()
    }

    /// The page was read; it holds from now on what was found.
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
    fn what_was_acknowledged_must_be_there() {
        let mut shadow = Shadow::new(8, false);
        let page = Lpn(3);
        let first = shadow.begin_stamped(page);
        shadow.written(page);
        let second = shadow.begin_stamped(page);
        shadow.lost_power();
        shadow.read(page, first).unwrap();
        // It was there after one cut, so it is there after the next.
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

    /// A flush after the power is back saves no trim that is lost already; what is written anew is there, whatever was before.
    #[test]
    fn cuts_in_a_row_leave_open_what_nobody_has_read() {
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
        assert!(shadow.read(page, Content(6)).is_err(), "power was never lost");
        shadow.lost_power();
        // What is on flash from now on says nothing of what was lost before.
        shadow.all_durable();
        shadow.read(page, Content(5)).unwrap();
        // It was there after one cut, so it is there after the next.
        assert!(shadow.read(page, Content(6)).is_err());
        shadow.trimmed(page);
        shadow.all_durable();
        shadow.lost_power();
        assert!(shadow.read(page, Content(5)).is_err());
        shadow.read(page, Content(0)).unwrap();
        // A write that was not acknowledged may be there, and so may what it was written over twice.
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
