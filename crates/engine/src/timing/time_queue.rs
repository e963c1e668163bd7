//! A queue of future times.

use std::collections::VecDeque;

/// Events at known times; no event is before the last time up to which events were taken.
///
/// A small set is a sorted queue, because a new entry mostly goes to the end. A large set is a radix heap: an entry's
/// bucket is the highest bit in which its time differs from the last time. Advancing to a later time empties the
/// lower buckets and redistributes only one bucket.
#[derive(Debug)]
pub(super) struct TimeQueue<T> {
    is_small: bool,
    /// All entries of a small set, in order.
    small: VecDeque<(u64, T)>,
    last_ns: u64,
    /// Bucket 0 holds the entries at `last_ns` or before. Bucket n holds the entries whose times differ from `last_ns`
    /// in bit n - 1, but in no higher bit; bits are counted from 0.
    buckets: [Vec<(u64, T)>; 65],
    /// Bit n is set if bucket n + 1 is not empty.
    occupied: u64,
    /// Scratch space, kept to reuse its memory.
    scratch: Vec<(u64, T)>,
}

/// Maximum number of entries of a set that is kept sorted.
const MAX_SMALL: u32 = 64;

impl<T: Copy + Ord> TimeQueue<T> {
    /// Creates an empty queue; `expected_max` is a number of entries that is rarely exceeded.
    pub fn new(expected_max: u32) -> Self {
        let buckets = std::array::from_fn(|_| Vec::new());
        let (are_few, small) = (expected_max <= MAX_SMALL, VecDeque::new());
        TimeQueue { is_small: are_few, small, last_ns: 0, buckets, occupied: 0, scratch: Vec::new() }
    }

    /// Returns the bucket for a time.
    #[inline]
    fn bucket(&self, time_ns: u64) -> usize {
        (u64::BITS - (time_ns.max(self.last_ns) ^ self.last_ns).leading_zeros()) as usize
    }

    #[inline]
    pub fn push(&mut self, time_ns: u64, item: T) {
        if self.is_small {
            return self.insert(time_ns, item);
        }
        let bucket = self.bucket(time_ns);
        self.buckets[bucket].push((time_ns, item));
        self.occupied |= (1 << bucket) >> 1;
    }

    #[inline]
    fn insert(&mut self, time_ns: u64, item: T) {
        if self.small.back().is_none_or(|&last| last <= (time_ns, item)) {
            return self.small.push_back((time_ns, item));
        }
        let later = self.small.iter().rev().take_while(|&&one| one > (time_ns, item)).count();
        self.small.insert(self.small.len() - later, (time_ns, item));
    }

    /// Returns the first entry; of entries with equal times, the smallest entry.
    #[inline]
    pub fn first(&self) -> Option<(u64, T)> {
        if self.is_small {
            return self.small.front().copied();
        }
        let bucket = if self.buckets[0].is_empty() { self.occupied.trailing_zeros() as usize + 1 } else { 0 };
        self.buckets.get(bucket).and_then(|entries| entries.iter().min().copied())
    }

    /// Takes all entries up to `now_ns`, in any order.
    #[inline]
    pub fn take_until(&mut self, now_ns: u64, mut on_item: impl FnMut(T)) {
        if !self.is_small {
            return self.take_many_until(now_ns, on_item);
        }
        while let Some(&(time_ns, item)) = self.small.front()
            && time_ns <= now_ns
        {
            self.small.pop_front();
            on_item(item);
        }
    }

    fn take_many_until(&mut self, now_ns: u64, mut on_item: impl FnMut(T)) {
        if now_ns < self.last_ns {
            return;
        }
        self.buckets[0].drain(..).for_each(|(_, what)| on_item(what));
        let last = self.bucket(now_ns);
        self.last_ns = now_ns;
        let below = self.occupied & u64::MAX.checked_shr(u64::BITS - last as u32).unwrap_or(0);
        self.occupied ^= below;
        let mut remaining = below;
        while remaining != 0 {
            let bucket = remaining.trailing_zeros() as usize + 1;
            remaining &= remaining - 1;
            if bucket < last {
                self.buckets[bucket].drain(..).for_each(|(_, what)| on_item(what));
                continue;
            }
            let mut moving = std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.scratch));
            for (time_ns, item) in moving.drain(..) {
                if time_ns <= now_ns { on_item(item) } else { self.push(time_ns, item) }
            }
            self.scratch = moving;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, random_below};
    use std::collections::BTreeSet;

    #[test]
    fn large_queue_matches_a_sorted_set() {
        compare_with_sorted_set(MAX_SMALL + 1);
    }

    #[test]
    fn small_queue_matches_a_sorted_set() {
        compare_with_sorted_set(MAX_SMALL);
    }

    fn compare_with_sorted_set(expected_max: u32) {
        let (mut random, mut queue, mut sorted) =
            (Seed(7).random(), TimeQueue::new(expected_max), BTreeSet::new());
        let mut now_ns = 0;
        for number in 0..20_000u32 {
            let ahead_ns = random_below(&mut random, 1 << (number % 40));
            queue.push(now_ns + ahead_ns, number);
            sorted.insert((now_ns + ahead_ns, number));
            now_ns += match number % 3 {
                0 => random_below(&mut random, 1 << (number % 36)),
                1 => queue.first().map_or(0, |(end_ns, _)| end_ns - now_ns),
                _ => 0,
            };
            let mut taken = Vec::new();
            queue.take_until(now_ns, |what| taken.push(what));
            let later = sorted.split_off(&(now_ns + 1, 0));
            let mut expected: Vec<u32> = sorted.iter().map(|&(_, number)| number).collect();
            sorted = later;
            taken.sort_unstable();
            expected.sort_unstable();
            assert_eq!(taken, expected);
            assert_eq!(queue.first(), sorted.first().copied());
        }
        queue.take_until(u64::MAX, |_| {});
        assert_eq!(queue.first(), None);
    }
}
