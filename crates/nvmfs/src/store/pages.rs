//! The pages of the NVRAM: which are free, clean, dirty, or hold metadata, and in which order they were used
//! (section III-B).
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

/// States with an order of use.
const LISTS: usize = 3;

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
    /// By state: free, clean, dirty.
    lists: [List; LISTS],
    /// By state: metadata, kept, inodes.
    unlisted: [u32; State::ALL.len() - LISTS],
    /// Pages with a copy on the SSD.
    copies: u32,
}

impl Pages {
    /// Over a page table that is all zeros; every page is still to be told of by [`Pages::put`].
    pub fn empty() -> Self {
        Pages { lists: [List::EMPTY; LISTS], unlisted: [0; State::ALL.len() - LISTS], copies: 0 }
    }

    /// How many pages are in a state.
    pub fn count(&self, state: State) -> u32 {
        match state.is_listed() {
            true => self.lists[state as usize].length,
            false => self.unlisted[state as usize - LISTS],
        }
    }

    /// Pages of both lists and free ones: what data can use.
    pub fn for_data(&self) -> u32 {
        self.lists.iter().map(|list| list.length).sum()
    }

    /// The least recently used page in a state.
    pub fn last(&self, state: State) -> Option<PageId> {
        let tail = self.lists[state as usize].tail;
        (tail != NONE).then_some(PageId(tail))
    }

    /// The most recently used page in a state.
    pub fn first(&self, state: State) -> Option<PageId> {
        let head = self.lists[state as usize].head;
        (head != NONE).then_some(PageId(head))
    }

    /// The page used next after `page` among those in its state.
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
        let list = &mut self.lists[state as usize];
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
        let list = &mut self.lists[state as usize];
        link(region, ahead, TOWARDS_TAIL, behind, &mut list.head);
        link(region, behind, TOWARDS_HEAD, ahead, &mut list.tail);
        list.length -= 1;
    }

    /// Moves a page to another state.
    pub fn change<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, state: State, last: bool) {
        self.take(region, page);
        self.put(region, page, state, last);
    }

    /// A page was used: it is now the most recently used in its state.
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

    /// First and last of the clean and of the dirty list.
    pub fn ends(&self) -> [(u32, u32); 2] {
        [State::Clean, State::Dirty].map(|state| {
            let list = self.lists[state as usize];
            (list.head, list.tail)
        })
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
