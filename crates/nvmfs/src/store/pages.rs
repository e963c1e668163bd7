//! Pages of the NVRAM: their states, such as free, clean, dirty and metadata, and the order of their last use
//! (section III-B).
//!
//! Clean pages are in two lists, as in a segmented LRU (Karedla, Love and Wherry, IEEE Computer 1994). Pages on
//! probation were read once, for example by a scan, or were only flushed; protected pages were read again. With fixed
//! lists, all clean pages are protected.
//!
//! The page table is in NVRAM but need not survive a power cut, because it is recomputed. For a page in use, it
//! records the owner (`page_info` in the paper) and the location of the copy on the SSD, if there is one.

use super::region::Region;
use crate::api::Ino;
use crate::layout::PageId;
use crate::nvram::Nvram;

/// Null link.
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

/// State of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Unused.
    Free = 0,
    /// Holds a block that is also on the SSD.
    Clean = 1,
    /// Holds the only copy of a block.
    Dirty = 2,
    /// Holds pointers, directory entries, attributes or the target of a link; stays on NVRAM until it is freed.
    Metadata = 3,
    /// Holds a block of a file whose data stays on NVRAM.
    Kept = 4,
    /// Holds inodes, each with its own checksum.
    Inodes = 5,
}

impl State {
    /// All states.
    pub const ALL: [State; 6] =
        [State::Free, State::Clean, State::Dirty, State::Metadata, State::Kept, State::Inodes];

    /// True if pages in this state are in an LRU list.
    fn is_listed(self) -> bool {
        (self as usize) < LISTS
    }
}

/// Segment of a clean page, which reflects its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Segment {
    /// The page was used repeatedly, or its use is unknown.
    Protected = 0,
    /// The page was flushed and not read since then. It is evicted first (section III-B: "inserted to the LRU
    /// position").
    Unread = 1,
    /// The page was read once.
    Probation = 2,
}

/// Number of states whose pages are in a list.
const LISTS: usize = 3;
/// Index of the list of clean pages on probation, after the lists of the states.
const PROBATION: usize = LISTS;
/// Pages on probation are evicted first while they are more than this fraction (1 / n) of the clean pages. The value is
/// a quarter, as in 2Q (Johnson and Shasha, VLDB 1994).
const PROBATION_DIVISOR: u32 = 4;

/// Returns the number of the list for pages in this state and segment.
fn list_of(state: State, segment: Segment) -> usize {
    if state == State::Clean && segment != Segment::Protected { PROBATION } else { state as usize }
}

/// Doubly linked list, whose links are in the page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List {
    head: u32,
    tail: u32,
    length: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE, length: 0 };
}

/// Lists and counts of the pages.
pub struct Pages {
    /// Lists of free, clean (protected) and dirty pages, and of clean pages on probation.
    lists: [List; LISTS + 1],
    /// Number of metadata, kept and inode pages.
    unlisted: [u32; State::ALL.len() - LISTS],
    /// Number of pages with a copy on the SSD.
    copies: u32,
}

impl Pages {
    /// Creates empty lists over a zeroed page table; the caller then adds pages by [`Pages::put`].
    pub fn empty() -> Self {
        Pages { lists: [List::EMPTY; LISTS + 1], unlisted: [0; State::ALL.len() - LISTS], copies: 0 }
    }

    /// Returns the number of pages in a state.
    pub fn count(&self, state: State) -> u32 {
        match state.is_listed() {
            true if state == State::Clean => self.lists[state as usize].length + self.probation_pages(),
            true => self.lists[state as usize].length,
            false => self.unlisted[state as usize - LISTS],
        }
    }

    /// Returns the number of clean pages on probation.
    pub fn probation_pages(&self) -> u32 {
        self.lists[PROBATION].length
    }

    /// Returns the number of pages that are available to data: clean, dirty and free pages.
    pub fn data_pages(&self) -> u32 {
        self.lists.iter().map(|list| list.length).sum()
    }

    /// Returns the least recently used page in a state; for [`State::Clean`], among the protected pages.
    pub fn last(&self, state: State) -> Option<PageId> {
        let tail = self.lists[state as usize].tail;
        (tail != NONE).then_some(PageId(tail))
    }

    /// Returns the most recently used page in a state; for [`State::Clean`], among the protected pages.
    pub fn first(&self, state: State) -> Option<PageId> {
        let head = self.lists[state as usize].head;
        (head != NONE).then_some(PageId(head))
    }

    /// Returns the next more recently used page in the same list as `page`.
    pub fn more_recent<N: Nvram>(&self, region: &Region<N>, page: PageId) -> Option<PageId> {
        let next = towards_head(region, page);
        (next != NONE).then_some(PageId(next))
    }

    /// Puts a page into a state: at the MRU end of the list, or at the LRU end if `last` is set.
    pub fn put<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, state: State, last: bool) {
        region.store_volatile(region.areas.page_info(page) + STATE, &[state as u8]);
        set_bit(region, page, state != State::Free);
        if !state.is_listed() {
            self.unlisted[state as usize - LISTS] += 1;
            return;
        }
        self.link_in(region, page, state as usize, last);
    }

    /// Does what [`Pages::put`] does, for a clean page with a known segment.
    pub fn put_clean<N: Nvram>(
        &mut self,
        region: &mut Region<N>,
        page: PageId,
        segment: Segment,
        last: bool,
    ) {
        let at = region.areas.page_info(page);
        region.store_volatile(at + STATE, &[State::Clean as u8]);
        set_segment(region, page, segment);
        set_bit(region, page, true);
        self.link_in(region, page, list_of(State::Clean, segment), last);
    }

    fn link_in<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, list: usize, last: bool) {
        let list = &mut self.lists[list];
        let (ahead, behind) = if last { (list.tail, NONE) } else { (NONE, list.head) };
        let at = region.areas.page_info(page);
        region.store_half_volatile(at + TOWARDS_HEAD, ahead);
        region.store_half_volatile(at + TOWARDS_TAIL, behind);
        link(region, ahead, TOWARDS_TAIL, page.0, &mut list.head);
        link(region, behind, TOWARDS_HEAD, page.0, &mut list.tail);
        list.length += 1;
    }

    /// Removes a page from its list.
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

    /// Records a read of a page. For a page on probation, only reads from its first byte count, so that a scan which
    /// reads a block in pieces counts as one use of the block.
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

    /// Makes a page the most recently used page in its state; not for pages on probation.
    pub fn touch<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId) {
        let state = state_of(region, page);
        if state.is_listed() && self.lists[state as usize].head != page.0 {
            self.change(region, page, state, false);
        }
    }

    /// Removes a free page from its list and returns the page, which then has no state.
    pub fn take_free<N: Nvram>(&mut self, region: &mut Region<N>) -> Option<PageId> {
        let page = self.first(State::Free)?;
        self.take(region, page);
        Some(page)
    }

    /// Returns the number of pages with a copy on the SSD.
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// Sets the location of the page's copy on the SSD; 0 means that there is no copy.
    pub fn set_copy<N: Nvram>(&mut self, region: &mut Region<N>, page: PageId, block: u64) {
        self.copies -= u32::from(copy_of(region, page) != 0);
        self.copies += u32::from(block != 0);
        region.store_volatile(region.areas.page_info(page) + COPY, &block.to_le_bytes());
    }

    /// Returns the clean pages in order of eviction.
    pub fn eviction_order(&self) -> EvictionOrder {
        let lists = [PROBATION, State::Clean as usize].map(|list| self.lists[list]);
        EvictionOrder { next: lists.map(|list| list.tail), remaining: lists.map(|list| list.length) }
    }

    /// Verifies all lists and counts.
    ///
    /// # Errors
    /// A description of the first inconsistency, which is a bug.
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

    /// Returns the first and the last page of the clean list and of the dirty list. The pages on probation are first
    /// appended to the clean list, because a closed file system stores one clean list.
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

/// Iterator over clean pages in order of eviction. Pages that were flushed and never read come first, then other
/// pages on probation while they exceed their fraction, then the least recently used protected pages.
pub struct EvictionOrder {
    /// Next page on probation, and next protected page.
    next: [u32; 2],
    remaining: [u32; 2],
}

impl EvictionOrder {
    /// Returns the next page.
    pub fn next<N: Nvram>(&mut self, region: &Region<N>) -> Option<PageId> {
        let [probation, protected] = self.remaining;
        let is_first = probation > 0
            && (protected == 0
                || segment_of(region, PageId(self.next[0])) == Segment::Unread
                || probation > (probation + protected) / PROBATION_DIVISOR);
        let from = usize::from(!is_first);
        let page = PageId(self.next[from]);
        self.remaining[from] = self.remaining[from].checked_sub(1)?;
        self.next[from] = towards_head(region, page);
        Some(page)
    }
}

/// Sets one link of a neighbour, or the end of the list if there is no neighbour.
fn link<N: Nvram>(region: &mut Region<N>, neighbour: u32, direction: usize, to: u32, end: &mut u32) {
    if neighbour == NONE {
        *end = to;
    } else {
        region.store_half_volatile(region.areas.page_info(PageId(neighbour)) + direction, to);
    }
}

/// Returns the state of a page.
pub fn state_of<N: Nvram>(region: &Region<N>, page: PageId) -> State {
    state_in(&region.bytes()[region.areas.page_info(page)..])
}

/// Returns the owner that a page table entry records.
pub fn block_in(info: &[u8]) -> (Ino, u32) {
    let half = |at: usize| u32::from_le_bytes(info[at..at + 4].try_into().expect("4 bytes"));
    (Ino(half(INO)), half(BLOCK))
}

/// Returns the state that a page table entry records.
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

/// Returns the segment of a clean page; undefined for other pages.
pub fn segment_of<N: Nvram>(region: &Region<N>, page: PageId) -> Segment {
    match region.bytes()[region.areas.page_info(page) + SEGMENT] {
        1 => Segment::Unread,
        2 => Segment::Probation,
        _ => Segment::Protected,
    }
}

fn set_segment<N: Nvram>(region: &mut Region<N>, page: PageId, segment: Segment) {
    if segment_of(region, page) != segment {
        region.store_volatile(region.areas.page_info(page) + SEGMENT, &[segment as u8]);
    }
}

fn set_bit<N: Nvram>(region: &mut Region<N>, page: PageId, used: bool) {
    let at = region.areas.bitmap + page.0 as usize / 8;
    let mask = 1 << (page.0 % 8);
    let byte = region.bytes()[at];
    let new = if used { byte | mask } else { byte & !mask };
    if new != byte {
        region.store_volatile(at, &[new]);
    }
}

/// Returns the owner of a page: the file, and the number of the block within the file.
pub fn owner_of<N: Nvram>(region: &Region<N>, page: PageId) -> (Ino, u32) {
    let at = region.areas.page_info(page);
    (Ino(region.half(at + INO)), region.half(at + BLOCK))
}

/// Sets the owner of a page, with no copy on the SSD and a write count of 1.
pub fn set_owner<N: Nvram>(region: &mut Region<N>, page: PageId, ino: Ino, block: u32) {
    let mut info = [0; COPY + 8];
    info[..4].copy_from_slice(&ino.0.to_le_bytes());
    info[4..8].copy_from_slice(&block.to_le_bytes());
    let at = region.areas.page_info(page);
    region.store_volatile(at, &info);
    region.store_volatile(at + WRITES, &[1, 0]);
}

/// Changes the inode of the owner of a page.
pub fn change_owner<N: Nvram>(region: &mut Region<N>, page: PageId, ino: Ino) {
    region.store_half_volatile(region.areas.page_info(page) + INO, ino.0);
}

/// Returns the link to the next more recently used page in the same list, or `NONE`.
pub fn towards_head<N: Nvram>(region: &Region<N>, page: PageId) -> u32 {
    region.half(region.areas.page_info(page) + TOWARDS_HEAD)
}

/// Returns the location of the page's copy on the SSD; 0 for none.
pub fn copy_of<N: Nvram>(region: &Region<N>, page: PageId) -> u64 {
    region.word(region.areas.page_info(page) + COPY)
}

/// Returns the number of writes to a page since it was filled on NVRAM, at most 255.
pub fn writes_of<N: Nvram>(region: &Region<N>, page: PageId) -> u8 {
    region.bytes()[region.areas.page_info(page) + WRITES]
}

/// Sets the number of writes to a page.
pub fn set_writes<N: Nvram>(region: &mut Region<N>, page: PageId, writes: u8) {
    region.store_volatile(region.areas.page_info(page) + WRITES, &[writes]);
}

/// Returns the number of the batch in which the current content of a page is in flight; 0 for none.
pub fn flushing_batch<N: Nvram>(region: &Region<N>, page: PageId) -> u8 {
    region.bytes()[region.areas.page_info(page) + FLUSHING]
}

/// Sets the batch in which the current content of a page is in flight; 0 if the content has changed or is not in
/// flight.
pub fn set_flushing_batch<N: Nvram>(region: &mut Region<N>, page: PageId, batch: u8) {
    region.store_volatile(region.areas.page_info(page) + FLUSHING, &[batch]);
}
