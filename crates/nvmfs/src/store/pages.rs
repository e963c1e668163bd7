//! The pages of the NVRAM: which are free, clean, dirty, or hold metadata, and in which order they were used
//! (section III-B).
//!
//! Clean pages have two lists, as in a segmented LRU (Karedla, Love and Wherry, IEEE Computer 1994): those on probation, which were
//! read once, as by a scan, or only flushed; and those protected, which were read again. Where the lists are fixed, all are the latter.
//!
//! What is kept of each page lies in NVRAM, but need not survive: after a power cut it is worked out anew. Of a page in use
//! it says whose block it holds, and, if the same block is on the SSD too, where (`page_info` in the paper).

use super::region::Region;
use crate::api::Ino;
use crate::layout::PageId;
use crate::nvram::Nvram;

/// No page.
const NONE: u32 = u32::MAX;

const INO: usize = 0;
const BLOCK: usize = 4;
const COPY: usize = 8;
const TOWARDS_HEAD: usize = 16;
const TOWARDS_TAIL: usize = 20;
const STATE: usize = 24;
const WRITES: usize = 25;
const FLUSHING: usize = 26;
const SEGMENT: usize = 27;

/// What a page is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing.
    Free = 0,
    /// A block that is on the SSD too.
    Clean = 1,
    /// A block that is nowhere else.
    Dirty = 2,
    /// Pointers, a directory, attributes, or the target of a link: stays on NVRAM.
    Metadata = 3,
    /// A block of a file that stays on NVRAM.
    Kept = 4,
    /// Inodes, each of which has its own checksum.
    Inodes = 5,
}

impl State {
    /// All states.
    pub const ALL: [State; 6] =
        [State::Free, State::Clean, State::Dirty, State::Metadata, State::Kept, State::Inodes];

    /// Whether pages in this state have an order of use.
    fn is_listed(self) -> bool {
        (self as usize) < LISTS
    }
}

/// What is known of the use of a clean page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Segment {
    /// It was used before, or nothing is said of it.
    Protected = 0,
    /// It was flushed and not read since: the first to make room (section III-B: "inserted to the LRU position").
    Unread = 1,
    /// It was read once.
    Probation = 2,
}

/// States with an order of use.
const LISTS: usize = 3;
/// The list of clean pages that are not protected, behind those of the states.
const PROBATION: usize = LISTS;
/// The clean list is one in so many on probation before others make room; a quarter, as in 2Q (Johnson and Shasha, VLDB 1994).
const PROBATION_ONE_OF: u32 = 4;

/// The list in which a page is.
fn list_of(state: State, segment: Segment) -> usize {
    if state == State::Clean && segment != Segment::Protected { PROBATION } else { state as usize }
}

/// A doubly linked list through the page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List {
    head: u32,
    tail: u32,
    length: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE, length: 0 };
}

/// The lists of pages.
pub struct Pages {
    /// By state: free, clean, dirty; and the clean pages on probation.
    lists: [List; LISTS + 1],
    /// By state: metadata, kept, inodes.
    unlisted: [u32; State::ALL.len() - LISTS],
    /// Pages with a copy on the SSD.
    copies: u32,
}

impl Pages {
    /// Over a page table that is all zeros; every page is still to be told of by [`Pages::put`].
    pub fn empty() -> Self {
        Pages { lists: [List::EMPTY; LISTS + 1], unlisted: [0; State::ALL.len() - LISTS], copies: 0 }
    }

    /// How many pages are in a state.
    pub fn count(&self, state: State) -> u32 {
        match state.is_listed() {
            true if state == State::Clean => self.lists[state as usize].length + self.on_probation(),
            true => self.lists[state as usize].length,
            false => self.unlisted[state as usize - LISTS],
        }
    }

    /// Clean pages that are not protected.
    pub fn on_probation(&self) -> u32 {
        self.lists[PROBATION].length
    }

    /// Pages of both lists and free ones: what data can use.
    pub fn for_data(&self) -> u32 {
        self.lists.iter().map(|list| list.length).sum()
    }

    /// The least recently used page in a state, of clean ones among those protected.
    pub fn last(&self, state: State) -> Option<PageId> {
        let tail = self.lists[state as usize].tail;
        (tail != NONE).then_some(PageId(tail))
    }

    /// The most recently used page in a state, of clean ones among those protected.
    pub fn first(&self, state: State) -> Option<PageId> {
        let head = self.lists[state as usize].head;
        (head != NONE).then_some(PageId(head))
    }

    /// The page used next after `page` in its list.
    pub fn more_recent<N: Nvram>(&self, region: &Region<N>, page: PageId) -> Option<PageId> {
        let next = towards_head(region, page);
        (next != NONE).then_some(PageId(next))
    }

    /// A page that was in no state becomes free, clean, dirty or metadata: as most recently used, or `last`.
    pub fn put<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, state: State, last: bool) {
        region.note(region.areas.page_info(page) + STATE, &[state as u8]);
        set_bit(region, page, state != State::Free);
        if !state.is_listed() {
            self.unlisted[state as usize - LISTS] += 1;
            return;
        }
        self.link_in(region, page, state as usize, last);
    }

    /// The same of a clean page, of whose use something is known.
    pub fn put_clean<N: Nvram>(
        &mut self,
        region: &mut Region<N>,
        page: PageId,
        segment: Segment,
        last: bool,
    ) {
        let at = region.areas.page_info(page);
        region.note(at + STATE, &[State::Clean as u8]);
        set_segment(region, page, segment);
        set_bit(region, page, true);
        self.link_in(region, page, list_of(State::Clean, segment), last);
    }

    fn link_in<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, list: usize, last: bool) {
        let list = &mut self.lists[list];
        let (ahead, behind) = if last { (list.tail, NONE) } else { (NONE, list.head) };
        let at = region.areas.page_info(page);
        region.note_half(at + TOWARDS_HEAD, ahead);
        region.note_half(at + TOWARDS_TAIL, behind);
        link(region, ahead, TOWARDS_TAIL, page.0, &mut list.head);
        link(region, behind, TOWARDS_HEAD, page.0, &mut list.tail);
        list.length += 1;
    }

    /// Takes a page from its list.
    pub fn take<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId) {
        let at = region.areas.page_info(page);
        let state = state_of(region, page);
        if !state.is_listed() {
            self.unlisted[state as usize - LISTS] -= 1;
            return;
        }
        let (ahead, behind) = (region.half(at + TOWARDS_HEAD), region.half(at + TOWARDS_TAIL));
        let list = &mut self.lists[list_of(state, segment_of(region, page))];
        link(region, ahead, TOWARDS_TAIL, behind, &mut list.head);
        link(region, behind, TOWARDS_HEAD, ahead, &mut list.tail);
        list.length -= 1;
        set_segment(region, page, Segment::Protected);
    }

    /// Moves a page to another state.
    pub fn change<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, state: State, last: bool) {
        self.take(region, page);
        self.put(region, page, state, last);
    }

    /// A page was read, from its first byte on or not. That of a block that is read in pieces is read once with it, so that a scan
    /// is seen to use each block once.
    pub fn read<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, from_start: bool) {
        match segment_of(region, page) {
            Segment::Protected => self.touch(region, page),
            Segment::Probation if !from_start => {}
            segment => {
                self.take(region, page);
                let unread = segment == Segment::Unread;
                let segment = if unread { Segment::Probation } else { Segment::Protected };
                self.put_clean(region, page, segment, false);
            }
        }
    }

    /// A page that is not on probation was used: it is now the most recently used in its state.
    pub fn touch<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId) {
        let state = state_of(region, page);
        if state.is_listed() && self.lists[state as usize].head != page.0 {
            self.change(region, page, state, false);
        }
    }

    /// A free page, which is then in no state.
    pub fn take_free<N: Nvram>(&mut self, region: &mut Region<N>) -> Option<PageId> {
        let page = self.first(State::Free)?;
        self.take(region, page);
        Some(page)
    }

    /// Pages with a copy on the SSD.
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// Notes where on the SSD the same block is; 0 for nowhere.
    pub fn set_copy<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, block: u64) {
        self.copies -= u32::from(copy_of(region, page) != 0);
        self.copies += u32::from(block != 0);
        region.note(region.areas.page_info(page) + COPY, &block.to_le_bytes());
    }

    /// The clean pages in the order in which they make room.
    pub fn coldest(&self) -> Coldest {
        let lists = [PROBATION, State::Clean as usize].map(|list| self.lists[list]);
        Coldest { next: lists.map(|list| list.tail), left: lists.map(|list| list.length) }
    }

    /// Walks through all lists and counts again.
    ///
    /// # Errors
    /// A defect.
    pub fn check<N: Nvram>(&self, region: &Region<N>) -> Result<(), String> {
        for (number, list) in self.lists.iter().enumerate() {
            let (mut next, mut last, mut length) = (list.tail, NONE, 0);
            while next != NONE && length <= list.length {
                let page = PageId(next);
                let state = state_of(region, page);
                let behind = region.half(region.areas.page_info(page) + TOWARDS_TAIL);
                if list_of(state, segment_of(region, page)) != number || behind != last {
                    return Err(format!("page {next} is in list {number} and is {state:?} behind {behind}"));
                }
                (last, next, length) = (next, towards_head(region, page), length + 1);
            }
            if (last, length) != (list.head, list.length) {
                return Err(format!(
                    "{length} pages from {} to {last} are in list {number}: {list:?}",
                    list.tail
                ));
            }
        }
        Ok(())
    }

    /// First and last of the clean and of the dirty list. The former is one from now on, those on probation behind the others, as
    /// it is kept while the file system is closed.
    pub fn ends<N: Nvram>(&mut self, region: &mut Region<N>) -> [(u32, u32); 2] {
        let mut probation = std::mem::replace(&mut self.lists[PROBATION], List::EMPTY);
        if probation.length > 0 {
            let clean = &mut self.lists[State::Clean as usize];
            link(region, probation.head, TOWARDS_HEAD, clean.tail, &mut probation.tail);
            link(region, clean.tail, TOWARDS_TAIL, probation.head, &mut clean.head);
            (clean.tail, clean.length) = (probation.tail, clean.length + probation.length);
        }
        [State::Clean, State::Dirty].map(|state| {
            let list = self.lists[state as usize];
            (list.head, list.tail)
        })
    }
}

/// Clean pages in the order in which they make room: those that were flushed and never read; others on probation, as long as they
/// are more than a share of all; then the least recently used of those protected.
pub struct Coldest {
    /// Of those on probation, of those protected.
    next: [u32; 2],
    left: [u32; 2],
}

impl Coldest {
    /// The next one.
    pub fn next<N: Nvram>(&mut self, region: &Region<N>) -> Option<PageId> {
        let [probation, protected] = self.left;
        let is_first = probation > 0
            && (protected == 0
                || segment_of(region, PageId(self.next[0])) == Segment::Unread
                || probation > (probation + protected) / PROBATION_ONE_OF);
        let from = usize::from(!is_first);
        let page = PageId(self.next[from]);
        self.left[from] = self.left[from].checked_sub(1)?;
        self.next[from] = towards_head(region, page);
        Some(page)
    }
}

/// Sets one direction of a neighbour, or the end of the list where there is none.
fn link<N: Nvram>(region: &mut Region<N>, neighbour: u32, direction: usize, to: u32, end: &mut u32) {
    if neighbour == NONE {
        *end = to;
    } else {
        region.note_half(region.areas.page_info(PageId(neighbour)) + direction, to);
    }
}

/// What a page is used for.
pub fn state_of<N: Nvram>(region: &Region<N>, page: PageId) -> State {
    state_in(&region.bytes()[region.areas.page_info(page)..])
}

/// Whose block a page holds, by what is kept of it.
pub fn block_in(info: &[u8]) -> (Ino, u32) {
    let half = |at: usize| u32::from_le_bytes(info[at..at + 4].try_into().expect("4 bytes"));
    (Ino(half(INO)), half(BLOCK))
}

/// What a page is used for, by what is kept of it.
pub fn state_in(info: &[u8]) -> State {
    match info[STATE] {
        1 => State::Clean,
        2 => State::Dirty,
        3 => State::Metadata,
        4 => State::Kept,
        5 => State::Inodes,
        _ => State::Free,
    }
}

/// What is known of the use of a clean page; of others nothing is.
pub fn segment_of<N: Nvram>(region: &Region<N>, page: PageId) -> Segment {
    match region.bytes()[region.areas.page_info(page) + SEGMENT] {
        1 => Segment::Unread,
        2 => Segment::Probation,
        _ => Segment::Protected,
    }
}

fn set_segment<N: Nvram>(region: &mut Region<N>, page: PageId, segment: Segment) {
    if segment_of(region, page) != segment {
        region.note(region.areas.page_info(page) + SEGMENT, &[segment as u8]);
    }
}

fn set_bit<N: Nvram>(region: &mut Region<N>, page: PageId, used: bool) {
    let at = region.areas.bitmap + page.0 as usize / 8;
    let mask = 1 << (page.0 % 8);
    let byte = region.bytes()[at];
    let new = if used { byte | mask } else { byte & !mask };
    if new != byte {
        region.note(at, &[new]);
    }
}

/// Whose block a page holds.
pub fn owner_of<N: Nvram>(region: &Region<N>, page: PageId) -> (Ino, u32) {
    let at = region.areas.page_info(page);
    (Ino(region.half(at + INO)), region.half(at + BLOCK))
}

/// A page now holds `block` of a file, is nowhere else, and was written once.
pub fn own<N: Nvram>(region: &mut Region<N>, page: PageId, ino: Ino, block: u32) {
    let mut info = [0; COPY + 8];
    info[..4].copy_from_slice(&ino.0.to_le_bytes());
    info[4..8].copy_from_slice(&block.to_le_bytes());
    let at = region.areas.page_info(page);
    region.note(at, &info);
    region.note(at + WRITES, &[1, 0]);
}

/// A page is of another inode from now on.
pub fn give<N: Nvram>(region: &mut Region<N>, page: PageId, ino: Ino) {
    region.note_half(region.areas.page_info(page) + INO, ino.0);
}

/// Number of the page used next in the same list; none of a page if there is none.
pub fn towards_head<N: Nvram>(region: &Region<N>, page: PageId) -> u32 {
    region.half(region.areas.page_info(page) + TOWARDS_HEAD)
}

/// Where on the SSD the same block is; 0 for nowhere.
pub fn copy_of<N: Nvram>(region: &Region<N>, page: PageId) -> u64 {
    region.word(region.areas.page_info(page) + COPY)
}

/// How often the page was written since it came to NVRAM, up to 255.
pub fn writes_of<N: Nvram>(region: &Region<N>, page: PageId) -> u8 {
    region.bytes()[region.areas.page_info(page) + WRITES]
}

/// Sets how often the page was written.
pub fn set_writes<N: Nvram>(region: &mut Region<N>, page: PageId, writes: u8) {
    region.note(region.areas.page_info(page) + WRITES, &[writes]);
}

/// Number of the batch with which the page's present content is on its way to the SSD; 0 if it is not.
pub fn flushing<N: Nvram>(region: &Region<N>, page: PageId) -> u8 {
    region.bytes()[region.areas.page_info(page) + FLUSHING]
}

/// Notes with which batch its present content is on its way to the SSD, or, with 0, that it no longer is what was sent.
pub fn set_flushing<N: Nvram>(region: &mut Region<N>, page: PageId, batch: u8) {
    region.note(region.areas.page_info(page) + FLUSHING, &[batch]);
}
