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
        let (mut i, mut j, mut n) = (0, 0, 0);
        while i < newer.len() && j < older.len() {
            let (new, old) = (newer[i], older[j]);
            let (new_key, old_key) = (layout.key(new), layout.key(old));
            if old_key < self.cut {
                j += stride;
                continue;
            }
            let takes_new = new_key <= old_key;
            let takes_old = old_key <= new_key;
            let erases = takes_new && new & layout.flag != 0;
            // No branches where the order of keys is random.
            let new_mask = u64::from(takes_new).wrapping_neg();
            let old_mask = u64::from(takes_old && !erases).wrapping_neg();
            for word in 0..stride {
                room[n + word] = (newer[i + word] & new_mask) | (older[j + word] & old_mask);
            }
            if erases {
                self.cut = new_key + u64::from(layout.parts);
                n += self.settle(&mut room[n..n + stride]);
            } else {
                n += stride;
            }
            i += usize::from(takes_new) * stride;
            j += usize::from(takes_old) * stride;
        }
        // One list is at its end: what is left of the other follows.
        while i < newer.len() {
            room[n..n + stride].copy_from_slice(&newer[i..i + stride]);
            if newer[i] & layout.flag != 0 {
                self.cut = layout.key(newer[i]) + u64::from(layout.parts);
            }
            n += self.settle(&mut room[n..n + stride]);
            i += stride;
        }
        j += layout.find(&older[j..], self.cut) * stride;
        room[n..n + older.len() - j].copy_from_slice(&older[j..]);
        n += older.len() - j;
        self.at += newer.len();
        out.truncate(start + n);
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
