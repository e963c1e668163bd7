//! The expected content of every page.

use crate::layer::ContentId;
use crate::seed::{Random, random_below};
use crate::units::Lpn;
use std::collections::{BTreeMap, VecDeque};

/// Number of recently written pages that are included in every sample.
const LATEST_PAGES: usize = 1 << 12;

/// Expected state of a page.
#[derive(Clone, Copy, Debug, Default)]
struct ExpectedPage {
    /// Content of the page; 0 without content.
    content: u64,
    /// Content of a write that is not acknowledged yet.
    in_flight: Option<u64>,
    /// Last stamp written to the page; 0 if the host chooses contents.
    last_stamp: u64,
    /// True if the page was trimmed and the trim may be lost.
    is_trim_volatile: bool,
}

/// Possible contents of a page after a power cut, until it is read, written or trimmed.
#[derive(Clone, Debug, Default)]
struct PossibleContents {
    contents: Vec<u64>,
    /// True if a trim may be lost: the page may be empty or contain any stamp that was ever written to it.
    allows_any_stamp: bool,
}

/// A model of a drive's contents.
pub(super) struct ExpectedContents {
    pages: Vec<ExpectedPage>,
    last_stamp_number: u32,
    latest: VecDeque<Lpn>,
    /// Pages of the current request, in order.
    in_flight: VecDeque<Lpn>,
    /// Pages whose trims may be lost.
    volatile_trims: Vec<Lpn>,
    /// True if the host chooses contents; false if they are stamps.
    has_host_contents: bool,
    /// Earlier contents of pages that may reappear after a power cut. Used if the host chooses contents, because
    /// acknowledged writes may then not yet be on flash.
    volatile_contents: BTreeMap<Lpn, Vec<u64>>,
    /// Pages whose content after a power cut is unknown.
    uncertain: BTreeMap<Lpn, PossibleContents>,
}

impl ExpectedContents {
    /// Creates the model of a drive whose contents are chosen by the host (`has_host_contents`) or are stamps.
    pub fn new(pages: u32, has_host_contents: bool) -> Self {
        ExpectedContents {
            pages: vec![ExpectedPage::default(); pages as usize],
            last_stamp_number: 0,
            latest: VecDeque::new(),
            in_flight: VecDeque::new(),
            volatile_trims: Vec::new(),
            has_host_contents,
            volatile_contents: BTreeMap::new(),
            uncertain: BTreeMap::new(),
        }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Begins a write with a stamp, which consists of the page's number and the write's number.
    pub fn begin_stamped(&mut self, page: Lpn) -> ContentId {
        self.last_stamp_number = self.last_stamp_number.checked_add(1).expect("fewer than 2^32 page writes");
        let stamp = ContentId(u64::from(page.0 + 1) << 32 | u64::from(self.last_stamp_number));
        self.pages[page.index()].last_stamp = stamp.0;
        self.begin_write(page, stamp);
        stamp
    }

    /// Begins a write of the page.
    pub fn begin_write(&mut self, page: Lpn, content: ContentId) {
        let before = self.pages[page.index()].in_flight.replace(content.0);
        // The page already has a write in flight if one request writes the page twice.
        before.into_iter().for_each(|content| self.record_volatile(page, content));
        self.in_flight.push_back(page);
        if self.latest.len() == LATEST_PAGES {
            self.latest.pop_front();
        }
        self.latest.push_back(page);
    }

    /// Records that the write was acknowledged.
    pub fn record_write(&mut self, page: Lpn) {
        self.in_flight.pop_front();
        let state = &mut self.pages[page.index()];
        let Some(content) = state.in_flight.take() else { return };
        state.is_trim_volatile = false;
        self.replace(page, content);
    }

    /// Records that a trim has begun.
    pub fn record_trim(&mut self, page: Lpn) {
        self.replace(page, 0);
        if !self.has_host_contents {
            self.pages[page.index()].is_trim_volatile = true;
            self.volatile_trims.push(page);
        }
    }

    /// Sets the content of the page; the earlier content may reappear after a power cut.
    fn replace(&mut self, page: Lpn, content: u64) {
        let before = std::mem::replace(&mut self.pages[page.index()].content, content);
        match self.uncertain.remove(&page) {
            Some(possible) => {
                possible.contents.into_iter().for_each(|content| self.record_volatile(page, content))
            }
            None => self.record_volatile(page, before),
        }
    }

    /// Records a content that may reappear after a power cut, until all writes are on flash.
    fn record_volatile(&mut self, page: Lpn, content: u64) {
        if self.has_host_contents {
            self.volatile_contents.entry(page).or_default().push(content);
        }
    }

    /// Records that all acknowledged writes are on flash.
    pub fn mark_writes_durable(&mut self) {
        self.volatile_contents.clear();
    }

    /// Records that acknowledged trims are durable.
    pub fn mark_trims_durable(&mut self) {
        for page in self.volatile_trims.drain(..) {
            self.pages[page.index()].is_trim_volatile = false;
        }
    }

    /// Records a power cut: the content of some pages is now unknown, until they are read, written or trimmed.
    pub fn record_power_cut(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight);
        let trimmed = std::mem::take(&mut self.volatile_trims);
        let undone = std::mem::take(&mut self.volatile_contents);
        for page in in_flight.into_iter().chain(trimmed).chain(undone.keys().copied()) {
            let state = &mut self.pages[page.index()];
            let possible = self.uncertain.entry(page).or_default();
            possible.contents.push(state.content);
            possible.contents.extend(state.in_flight.take());
            possible.allows_any_stamp |= std::mem::take(&mut state.is_trim_volatile);
        }
        for (page, contents) in undone {
            self.uncertain.entry(page).or_default().contents.extend(contents);
        }
    }

    /// Returns pages to read back: random ones, the most recently written ones, and those with unknown content.
    pub fn sample(&self, count: u32, random: &mut Random) -> Vec<Lpn> {
        let drawn = (0..count).map(|_| Lpn(random_below(random, self.pages.len() as u64) as u32));
        drawn.chain(self.latest.iter().copied()).chain(self.uncertain.keys().copied()).collect()
    }

    /// Checks the content read from a page, and expects the same content from now on.
    pub fn check_read(&mut self, page: Lpn, found: ContentId) -> Result<(), String> {
        let state = &mut self.pages[page.index()];
        let possible = self.uncertain.remove(&page);
        let is_allowed = match &possible {
            None => found.0 == state.content,
            Some(PossibleContents { contents, allows_any_stamp: any_stamp }) => {
                let is_earlier_stamp =
                    found.0 == 0 || found.0 >> 32 == state.last_stamp >> 32 && found.0 <= state.last_stamp;
                contents.contains(&found.0) || *any_stamp && is_earlier_stamp
            }
        };
        if !is_allowed {
            return Err(mismatch(page, state.content, possible.as_ref(), found));
        }
        state.content = found.0;
        Ok(())
    }
}

fn mismatch(page: Lpn, expected: u64, possible: Option<&PossibleContents>, found: ContentId) -> String {
    let since_the_cut = match possible {
        None => String::new(),
        Some(PossibleContents { contents, allows_any_stamp: any_stamp }) => {
            format!(" (or since a cut: {contents:x?}, whose trim may be lost: {any_stamp})")
        }
    };
    format!("{page:?} reads {:#x}, but holds {expected:#x}{since_the_cut}", found.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn lost_acknowledged_write_is_detected() {
        let mut expected = ExpectedContents::new(8, false);
        let page = Lpn(3);
        let first = expected.begin_stamped(page);
        expected.record_write(page);
        let second = expected.begin_stamped(page);
        expected.record_power_cut();
        expected.check_read(page, first).unwrap();
        // The content was found after one cut, so it must also be found after the next cut.
        assert!(expected.check_read(page, second).is_err());
        expected.record_trim(page);
        assert!(expected.check_read(page, first).is_err(), "power was never lost");
        expected.record_trim(page);
        expected.record_power_cut();
        expected.check_read(page, first).unwrap();
        expected.record_trim(page);
        expected.mark_trims_durable();
        expected.record_power_cut();
        assert!(expected.check_read(page, first).is_err());
        expected.check_read(page, ContentId(0)).unwrap();
        let third = expected.begin_stamped(page);
        expected.record_power_cut();
        assert!(expected.check_read(page, first).is_err(), "neither held nor in flight");
        assert!(expected.check_read(page, third).is_err(), "a page that was wrong once is as it should be");
    }

    /// A flush after recovery cannot restore a trim that was already lost. A rewritten page has its new content, even
    /// if its old content was unknown.
    #[test]
    fn unread_pages_stay_uncertain_over_several_cuts() {
        let mut expected = ExpectedContents::new(8, false);
        let (trimmed, torn, written) = (Lpn(1), Lpn(2), Lpn(3));
        let old = [trimmed, torn, written].map(|page| expected.begin_stamped(page));
        [trimmed, torn, written].into_iter().for_each(|page| expected.record_write(page));
        expected.record_trim(trimmed);
        expected.record_trim(written);
        expected.begin_stamped(torn);
        expected.record_power_cut();
        expected.mark_trims_durable();
        let second_stamp = expected.begin_stamped(torn);
        expected.record_power_cut();
        let new = expected.begin_stamped(written);
        expected.record_write(written);
        expected.record_power_cut();
        expected.check_read(trimmed, old[0]).unwrap();
        expected.check_read(torn, old[1]).unwrap();
        assert!(expected.check_read(torn, second_stamp).is_err());
        assert!(expected.check_read(written, old[2]).is_err());
        expected.check_read(written, new).unwrap();
    }

    #[test]
    fn samples_contain_latest_pages() {
        let mut expected = ExpectedContents::new(1000, false);
        expected.begin_stamped(Lpn(777));
        assert!(expected.sample(3, &mut Seed(1).random()).contains(&Lpn(777)));
    }

    #[test]
    fn only_volatile_writes_may_be_undone() {
        let page = Lpn(3);
        let write = |expected: &mut ExpectedContents, content: u64| {
            expected.begin_write(page, ContentId(content));
            expected.record_write(page);
        };
        let mut expected = ExpectedContents::new(8, true);
        write(&mut expected, 5);
        expected.mark_writes_durable();
        write(&mut expected, 6);
        expected.record_trim(page);
        assert!(expected.check_read(page, ContentId(6)).is_err(), "power was never lost");
        expected.record_power_cut();
        // Making all writes durable now does not determine which writes an earlier cut has lost.
        expected.mark_writes_durable();
        expected.check_read(page, ContentId(5)).unwrap();
        // The content was found after one cut, so it must also be found after the next cut.
        assert!(expected.check_read(page, ContentId(6)).is_err());
        expected.record_trim(page);
        expected.mark_writes_durable();
        expected.record_power_cut();
        assert!(expected.check_read(page, ContentId(5)).is_err());
        expected.check_read(page, ContentId(0)).unwrap();
        // After two cuts, the page may have the content of an unacknowledged write, or the content that this write and
        // a later write replaced.
        write(&mut expected, 8);
        expected.begin_write(page, ContentId(9));
        expected.record_power_cut();
        write(&mut expected, 10);
        expected.record_power_cut();
        expected.check_read(page, ContentId(9)).unwrap();
        expected.begin_write(page, ContentId(11));
        expected.record_power_cut();
        assert!(expected.check_read(page, ContentId(7)).is_err());
    }
}
