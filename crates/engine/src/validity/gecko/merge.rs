//! Two sorted lists of entries made one (Algorithm 3).
//!
//! A multi-way merge goes from the newest run to the oldest, adding one at a time to what is merged so far: as each run is
//! about as large as all newer ones together, that costs twice the words of a merge by a heap and none of its
//! comparisons.

use super::entry::Layout;

/// Merges an older list, page by page, into a newer one.
pub(super) struct Merge<'a> {
    layout: Layout,
    newer: &'a [u64],
    /// Index of the first word of `newer` that is not merged yet.
    at: usize,
    /// Older entries with keys below this one are of a block erased since.
    cut: u64,
    /// Whether there is nothing older than the result: erase flags have done their work.
    is_oldest: bool,
}

impl<'a> Merge<'a> {
    pub fn new(layout: Layout, newer: &'a [u64], is_oldest: bool) -> Self {
        Merge { layout, newer, at: 0, cut: 0, is_oldest }
    }

    /// Adds to `out` all entries of both lists up to the last key of this page of the older one.
    pub fn page(&mut self, older: &[u64], out: &mut Vec<u64>) {
        // A constant number of words lets the compiler drop the loops over them.
        match self.layout.stride {
            1 => self.page_of(1, older, out),
            stride => self.page_of(stride, older, out),
        }
    }

    #[inline(always)]
    fn page_of(&mut self, stride: usize, older: &[u64], out: &mut Vec<u64>) {
        let Some(last) = older.len().checked_sub(stride) else { return };
        let layout = self.layout;
        let end = layout.key(older[last]) + 1;
        let rest = &self.newer[self.at..];
        // Mostly as many newer entries as older ones; a search among all of them would miss the cache.
        let mut reach = older.len();
        while rest.get(reach).is_some_and(|head| layout.key(*head) < end) {
            reach *= 2;
        }
        let reach = &rest[..reach.min(rest.len())];
        let newer = &reach[..layout.find(reach, end) * stride];
        let start = out.len();
        out.resize(start + newer.len() + older.len(), 0);
        let room = &mut out[start..];
        // Where a block begins about in the middle. What is before it and what is from there on do not touch each other, and
        // are merged at the same time: each step of a merge has to wait for the one before.
        let middle = layout.first_key(layout.block(layout.key(older[older.len() / stride / 2 * stride])));
        let (newer_ends, older_ends) =
            (layout.find(newer, middle) * stride, layout.find(older, middle) * stride);
        let (room_low, room_high) = room.split_at_mut(newer_ends + older_ends);
        let mut low = Lane::new(&newer[..newer_ends], &older[..older_ends], self.cut);
        let mut high = Lane::new(&newer[newer_ends..], &older[older_ends..], self.cut);
        while low.is_open() && high.is_open() {
            low.step(self, stride, room_low);
            high.step(self, stride, room_high);
        }
        low.finish(self, stride, room_low);
        high.finish(self, stride, room_high);
        self.cut = low.cut.max(high.cut);
        self.at += newer.len();
        room.copy_within(newer_ends + older_ends..newer_ends + older_ends + high.len, low.len);
        out.truncate(start + low.len + high.len);
    }

    /// Drops the flag of an entry that has nothing below it; words that are left of the entry.
    #[inline(always)]
    fn settle(&self, entry: &mut [u64]) -> usize {
        if self.is_oldest {
            entry[0] &= !self.layout.flag;
            if self.layout.is_blank(entry) {
                return 0;
            }
        }
        entry.len()
    }

    /// Adds what is left of the newer list.
    pub fn finish(self, out: &mut Vec<u64>) {
        let start = out.len();
        out.extend_from_slice(&self.newer[self.at..]);
        let (mut from, mut to) = (start, start);
        let stride = self.layout.stride;
        while self.is_oldest && from < out.len() {
            out.copy_within(from..from + stride, to);
            to += self.settle(&mut out[to..to + stride]);
            from += stride;
        }
        if self.is_oldest {
            out.truncate(to);
        }
    }
}

/// A merge of two lists under way.
struct Lane<'a> {
    newer: &'a [u64],
    older: &'a [u64],
    /// Words merged so far of each, and of the result.
    newer_at: usize,
    older_at: usize,
    len: usize,
    /// As [`Merge::cut`].
    cut: u64,
}

impl<'a> Lane<'a> {
    fn new(newer: &'a [u64], older: &'a [u64], cut: u64) -> Self {
        Lane { newer, older, newer_at: 0, older_at: 0, len: 0, cut }
    }

    /// Whether neither list is at its end.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.newer_at < self.newer.len() && self.older_at < self.older.len()
    }

    /// Adds the entries of the lower of both keys to `room`, if they count.
    #[inline(always)]
    fn step(&mut self, merge: &Merge<'_>, stride: usize, room: &mut [u64]) {
        let layout = merge.layout;
        let (new, old) = (self.newer[self.newer_at], self.older[self.older_at]);
        let (new_key, old_key) = (layout.key(new), layout.key(old));
        if old_key < self.cut {
            self.older_at += stride;
            return;
        }
        let takes_new = new_key <= old_key;
        let takes_old = old_key <= new_key;
        let erases = takes_new && new & layout.flag != 0;
        // No branches where the order of keys is random.
        let new_mask = u64::from(takes_new).wrapping_neg();
        let old_mask = u64::from(takes_old && !erases).wrapping_neg();
        let result = &mut room[self.len..self.len + stride];
        for (word, result) in result.iter_mut().enumerate() {
            *result =
                (self.newer[self.newer_at + word] & new_mask) | (self.older[self.older_at + word] & old_mask);
        }
        if erases {
            self.cut = new_key + u64::from(layout.parts);
            self.len += merge.settle(result);
        } else {
            self.len += stride;
        }
        self.newer_at += usize::from(takes_new) * stride;
        self.older_at += usize::from(takes_old) * stride;
    }

    /// Merges the rest.
    #[inline(always)]
    fn finish(&mut self, merge: &Merge<'_>, stride: usize, room: &mut [u64]) {
        while self.is_open() {
            self.step(merge, stride, room);
        }
        // One list is at its end: what is left of the other follows.
        for entry in self.newer[self.newer_at..].chunks_exact(stride) {
            let result = &mut room[self.len..self.len + stride];
            result.copy_from_slice(entry);
            if entry[0] & merge.layout.flag != 0 {
                self.cut = merge.layout.key(entry[0]) + u64::from(merge.layout.parts);
            }
            self.len += merge.settle(result);
        }
        let rest = &self.older[self.older_at..];
        let rest = &rest[merge.layout.find(rest, self.cut) * stride..];
        room[self.len..self.len + rest.len()].copy_from_slice(rest);
        self.len += rest.len();
    }
}
