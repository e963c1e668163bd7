//! How long pages stay unwritten, in writes and in distinct pages.

use hdrhistogram::Histogram;

use super::report::{Distribution, ReuseDescription};

/// Slots that share one bitmap word and one count in the tree.
const SLOTS_PER_WORD: usize = 64;

/// Slots before the first renumbering.
const FIRST_SLOTS: usize = 1 << 16;

/// Percentiles that are reported.
const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// The last writes of all pages in the order in which they happened.
///
/// Each write takes the next slot and frees the page's former one, so the slots in use are the pages written,
/// from the longest unwritten to the last. The number of slots in use above a page's own is its stack distance;
/// a Fenwick tree over words of a bitmap counts them. When the slots run out they are numbered anew
/// without the free ones, which keeps memory at the footprint's size.
pub struct LastWrites {
    used: Vec<u64>,
    /// Fenwick tree of used slots per word, from index 1; empty where stack distances are not wanted.
    tree: Vec<u32>,
    /// The clock when each slot was taken.
    clocks: Vec<u64>,
    next_slot: usize,
    in_use: usize,
    /// Page writes so far.
    clock: u64,
    intervals: Values,
    distances: Option<Values>,
}

/// A slot of [`LastWrites`].
pub type Slot = u32;

impl LastWrites {
    /// Nothing written yet.
    pub fn new(stack_distance: bool) -> Self {
        let distances = stack_distance.then(Values::new);
        let mut writes = LastWrites {
            used: Vec::new(),
            tree: Vec::new(),
            clocks: Vec::new(),
            next_slot: 0,
            in_use: 0,
            clock: 0,
            intervals: Values::new(),
            distances,
        };
        writes.resize(FIRST_SLOTS);
        writes
    }

    /// Whether slots have to be numbered anew, with [`Self::renumber`], before the next write.
    pub fn is_full(&self) -> bool {
        self.next_slot == self.clocks.len()
    }

    /// Takes note of a page write; `former` is the page's slot if it was written before. The new slot.
    pub fn write(&mut self, former: Option<Slot>) -> Slot {
        self.clock += 1;
        if let Some(former) = former {
            let former = former as usize;
            self.intervals.record(self.clock - self.clocks[former]);
            let above = self.in_use - self.used_up_to(former);
            if let Some(distances) = &mut self.distances {
                distances.record(above as u64);
            }
            self.set(former, false);
        }
        let slot = self.next_slot;
        self.clocks[slot] = self.clock;
        self.set(slot, true);
        self.next_slot += 1;
        slot as Slot
    }

    /// Numbers the used slots anew from 0 in their order; gives each page's new slot for its old one.
    pub fn renumber(&mut self) -> impl Fn(Slot) -> Slot + use<> {
        let old_used = std::mem::take(&mut self.used);
        let mut ranks = Vec::with_capacity(old_used.len());
        let mut rank = 0;
        for word in &old_used {
            ranks.push(rank);
            rank += word.count_ones();
        }
        let new_slot = move |slot: Slot| {
            let (word, bit) = (slot as usize / SLOTS_PER_WORD, slot as usize % SLOTS_PER_WORD);
            ranks[word] + (old_used[word] & ((1 << bit) - 1)).count_ones()
        };
        self.keep_used_clocks(&new_slot);
        new_slot
    }

    fn keep_used_clocks(&mut self, new_slot: impl Fn(Slot) -> Slot) {
        // Slots only move down, so nothing is overwritten before it was moved. A free slot goes where the next
        // used one will go, which then takes its place.
        for slot in 0..self.next_slot {
            self.clocks[new_slot(slot as Slot) as usize] = self.clocks[slot];
        }
        self.next_slot = self.in_use;
        self.resize((2 * self.in_use).max(FIRST_SLOTS));
        for slot in 0..self.in_use {
            self.used[slot / SLOTS_PER_WORD] |= 1 << (slot % SLOTS_PER_WORD);
        }
        self.build_tree();
    }

    fn resize(&mut self, slots: usize) {
        let slots = slots.next_multiple_of(SLOTS_PER_WORD);
        assert!(slots <= Slot::MAX as usize, "more than 2^31 distinct pages written");
        self.clocks.resize(slots, 0);
        self.used.clear();
        self.used.resize(slots / SLOTS_PER_WORD, 0);
        if self.distances.is_some() {
            self.tree.clear();
            self.tree.resize(slots / SLOTS_PER_WORD + 1, 0);
        }
    }

    fn build_tree(&mut self) {
        for index in 1..self.tree.len() {
            self.tree[index] += self.used[index - 1].count_ones();
            let parent = index + (index & index.wrapping_neg());
            if parent < self.tree.len() {
                self.tree[parent] += self.tree[index];
            }
        }
    }

    fn set(&mut self, slot: usize, used: bool) {
        self.used[slot / SLOTS_PER_WORD] ^= 1 << (slot % SLOTS_PER_WORD);
        self.in_use = if used { self.in_use + 1 } else { self.in_use - 1 };
        let change = if used { 1 } else { u32::MAX };
        let mut index = slot / SLOTS_PER_WORD + 1;
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].wrapping_add(change);
            index += index & index.wrapping_neg();
        }
    }

    /// Used slots up to and with `slot`.
    fn used_up_to(&self, slot: usize) -> usize {
        let (word, bit) = (slot / SLOTS_PER_WORD, slot % SLOTS_PER_WORD);
        let mut used = (self.used[word] & (u64::MAX >> (SLOTS_PER_WORD - 1 - bit))).count_ones() as usize;
        let mut index = if self.tree.is_empty() { 0 } else { word };
        while index > 0 {
            used += self.tree[index] as usize;
            index &= index - 1;
        }
        used
    }

    /// The distributions.
    pub fn report(&self) -> ReuseDescription {
        ReuseDescription {
            rewrites: self.intervals.histogram.len(),
            interval_pages: self.intervals.report(),
            stack_distance_pages: self.distances.as_ref().and_then(Values::report),
        }
    }
}

/// Values whose distribution is wanted.
struct Values {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Values {
    fn new() -> Self {
        let histogram = Histogram::new(3).expect("three digits are allowed");
        Values { histogram, sum: 0, min: u64::MAX, max: 0 }
    }

    fn record(&mut self, value: u64) {
        self.histogram.record(value).expect("the histogram grows as needed");
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn report(&self) -> Option<Distribution> {
        let count = self.histogram.len();
        // The histogram names the top of a bucket, which may lie above the greatest value there was.
        let at = |percent| (percent, self.histogram.value_at_percentile(percent).min(self.max));
        (count > 0).then(|| Distribution {
            count,
            min: self.min,
            max: self.max,
            mean: self.sum as f64 / count as f64,
            percentiles: PERCENTILES.into_iter().map(at).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages in the order of their last writes, the last one first: stack distances by looking.
    fn naive(pages: &[u8]) -> (Vec<u64>, Vec<u64>) {
        let (mut intervals, mut distances, mut stack) = (Vec::new(), Vec::new(), Vec::new());
        for (now, page) in pages.iter().enumerate() {
            if let Some(depth) = stack.iter().position(|other| other == page) {
                let before = pages[..now].iter().rposition(|other| other == page).unwrap();
                intervals.push((now - before) as u64);
                distances.push(depth as u64);
                stack.remove(depth);
            }
            stack.insert(0, *page);
        }
        (intervals, distances)
    }

    fn summary(values: &[u64]) -> Option<(u64, u64, u64, f64)> {
        let count = values.len() as u64;
        let mean = values.iter().sum::<u64>() as f64 / count as f64;
        Some((count, *values.iter().min()?, *values.iter().max()?, mean))
    }

    proptest! {
        #[test]
        fn agrees_with_a_stack(
            pages in proptest::collection::vec(0u8..40, 0..400),
            renumber_every in 1usize..60,
        ) {
            let mut writes = LastWrites::new(true);
            let mut slots = [None; 40];
            for (now, &page) in pages.iter().enumerate() {
                if now % renumber_every == 0 {
                    let new_slot = writes.renumber();
                    slots.iter_mut().flatten().for_each(|slot| *slot = new_slot(*slot));
                }
                let slot = &mut slots[usize::from(page)];
                *slot = Some(writes.write(*slot));
            }
            let shown = |distribution: Option<Distribution>| {
                distribution.map(|all| (all.count, all.min, all.max, all.mean))
            };
            let (intervals, distances) = naive(&pages);
            let report = writes.report();
            prop_assert_eq!(shown(report.interval_pages), summary(&intervals));
            prop_assert_eq!(shown(report.stack_distance_pages), summary(&distances));
        }
    }
}
