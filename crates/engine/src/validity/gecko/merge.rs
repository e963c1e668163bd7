//! Merging of two sorted lists of entries (Algorithm 3).
//!
//! A multi-way merge processes runs from newest to oldest and merges one at a time with the result so far. As each run
//! is about as large as all newer runs together, this method moves twice as many words as a merge with a heap, but
//! needs none of the heap's comparisons.

use super::entry::Layout;

/// Merge of an older list, page by page, into a newer one.
pub(super) struct Merge<'a> {
    layout: Layout,
    newer: &'a [u64],
    /// Index of the first word of `newer` that is not merged yet.
    at: usize,
    /// Older entries with keys below this key belong to a block that was erased after they were written.
    erased_below: u64,
    /// True if no run is older than the result, so that erase flags are no longer needed.
    is_oldest: bool,
}

impl<'a> Merge<'a> {
    pub fn new(layout: Layout, newer: &'a [u64], is_oldest: bool) -> Self {
        Merge { layout, newer, at: 0, erased_below: 0, is_oldest }
    }

    /// Appends to `out` all entries of both lists up to the last key in this page of the older list.
    pub fn merge_page(&mut self, older: &[u64], out: &mut Vec<u64>) {
        // With a constant number of words, the compiler removes the loops over words.
        match self.layout.stride {
            1 => self.merge_page_with_stride(1, older, out),
            stride => self.merge_page_with_stride(stride, older, out),
        }
    }

    #[inline(always)]
    fn merge_page_with_stride(&mut self, stride: usize, older: &[u64], out: &mut Vec<u64>) {
        let Some(last) = older.len().checked_sub(stride) else { return };
        let layout = self.layout;
        let end = layout.key(older[last]) + 1;
        let rest = &self.newer[self.at..];
        // There are usually as many newer entries as older ones; a binary search of all of them would cause cache
        // misses.
        let mut window_len = older.len();
        while rest.get(window_len).is_some_and(|head| layout.key(*head) < end) {
            window_len *= 2;
        }
        let window = &rest[..window_len.min(rest.len())];
        let newer = &window[..layout.find(window, end) * stride];
        let start = out.len();
        out.resize(start + newer.len() + older.len(), 0);
        let output = &mut out[start..];
        let (mut i, mut j, mut n) = (0, 0, 0);
        while i < newer.len() && j < older.len() {
            let (new, old) = (newer[i], older[j]);
            let (new_key, old_key) = (layout.key(new), layout.key(old));
            if old_key < self.erased_below {
                j += stride;
                continue;
            }
            let takes_new = new_key <= old_key;
            let takes_old = old_key <= new_key;
            let erases = takes_new && new & layout.flag != 0;
            // No branches, because the order of keys is random.
            let new_mask = u64::from(takes_new).wrapping_neg();
            let old_mask = u64::from(takes_old && !erases).wrapping_neg();
            for word in 0..stride {
                output[n + word] = (newer[i + word] & new_mask) | (older[j + word] & old_mask);
            }
            if erases {
                self.erased_below = new_key + u64::from(layout.parts);
                n += self.strip_flag(&mut output[n..n + stride]);
            } else {
                n += stride;
            }
            i += usize::from(takes_new) * stride;
            j += usize::from(takes_old) * stride;
        }
        // One list has ended; append the rest of the other list.
        while i < newer.len() {
            output[n..n + stride].copy_from_slice(&newer[i..i + stride]);
            if newer[i] & layout.flag != 0 {
                self.erased_below = layout.key(newer[i]) + u64::from(layout.parts);
            }
            n += self.strip_flag(&mut output[n..n + stride]);
            i += stride;
        }
        j += layout.find(&older[j..], self.erased_below) * stride;
        output[n..n + older.len() - j].copy_from_slice(&older[j..]);
        n += older.len() - j;
        self.at += newer.len();
        out.truncate(start + n);
    }

    /// Removes the flag of an entry if no older run exists. Returns the number of words that remain of the entry.
    #[inline(always)]
    fn strip_flag(&self, entry: &mut [u64]) -> usize {
        if self.is_oldest {
            entry[0] &= !self.layout.flag;
            if self.layout.is_blank(entry) {
                return 0;
            }
        }
        entry.len()
    }

    /// Appends the rest of the newer list.
    pub fn finish(self, out: &mut Vec<u64>) {
        let start = out.len();
        out.extend_from_slice(&self.newer[self.at..]);
        let (mut from, mut to) = (start, start);
        let stride = self.layout.stride;
        while self.is_oldest && from < out.len() {
            out.copy_within(from..from + stride, to);
            to += self.strip_flag(&mut out[to..to + stride]);
            from += stride;
        }
        if self.is_oldest {
            out.truncate(to);
        }
    }
}
