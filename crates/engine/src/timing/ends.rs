//! A queue of future times.

use std::collections::VecDeque;

/// Events at known times, none before the last time up to which events were taken.
///
/// A small set is a sorted queue, because a new entry mostly goes to the end. A large set is a radix heap: an entry's
/// bucket is the highest bit in which its time differs from the last time. Advancing to a later time empties the
/// lower buckets and redistributes only one bucket.
#[derive(Debug)]
pub(super) struct Ends<T> {
    are_few: bool,
    /// All entries of a small set, in order.
    few: VecDeque<(u64, T)>,
    last_ns: u64,
    /// Bucket 0 holds the entries at `last_ns` or before; bucket n the entries that differ first in bit n - 1,
    /// counted from 0.
    buckets: [Vec<(u64, T)>; 65],
    /// Bit n is set if bucket n + 1 is not empty.
    occupied: u64,
    /// Scratch space, kept to reuse its memory.
    moving: Vec<(u64, T)>,
}

/// Largest set that is kept sorted.
const FEW: u32 = 64;

impl<T: Copy + Ord> Ends<T> {
    /// Creates an empty queue for rarely more than `most` entries at a time.
    pub fn new(most: u32) -> Self {
        let buckets = std::array::from_fn(|_| Vec::new());
        let (are_few, few) = (most <= FEW, VecDeque::new());
        Ends { are_few, few, last_ns: 0, buckets, occupied: 0, moving: Vec::new() }
    }

    /// Returns the bucket for a time.
    #[inline]
    fn bucket(&self, time_ns: u64) -> usize {
        (u64::BITS - (time_ns.max(self.last_ns) ^ self.last_ns).leading_zeros()) as usize
    }

    #[inline]
    pub fn push(&mut self, time_ns: u64, what: T) {
        if self.are_few {
            return self.insert(time_ns, what);
        }
        let bucket = self.bucket(time_ns);
        self.buckets[bucket].push((time_ns, what));
        self.occupied |= (1 << bucket) >> 1;
    }

    #[inline]
    fn insert(&mut self, time_ns: u64, what: T) {
        if self.few.back().is_none_or(|&last| last <= (time_ns, what)) {
            return self.few.push_back((time_ns, what));
        }
        let later = self.few.iter().rev().take_while(|&&one| one > (time_ns, what)).count();
        self.few.insert(self.few.len() - later, (time_ns, what));
    }

    /// Returns the first entry; among equal times the smallest.
    #[inline]
    pub fn first(&self) -> Option<(u64, T)> {
        if self.are_few {
            return self.few.front().copied();
        }
        let bucket = if self.buckets[0].is_empty() { self.occupied.trailing_zeros() as usize + 1 } else { 0 };
        self.buckets.get(bucket).and_then(|entries| entries.iter().min().copied())
    }

    /// Takes all entries up to `now_ns`, in any order.
    #[inline]
    pub fn take_until(&mut self, now_ns: u64, mut taken: impl FnMut(T)) {
        if !self.are_few {
            return self.take_many_until(now_ns, taken);
        }
        while let Some(&(time_ns, what)) = self.few.front()
            && time_ns <= now_ns
        {
            self.few.pop_front();
            taken(what);
        }
    }

    fn take_many_until(&mut self, now_ns: u64, mut taken: impl FnMut(T)) {
        if now_ns < self.last_ns {
            return;
        }
        self.buckets[0].drain(..).for_each(|(_, what)| taken(what));
        let last = self.bucket(now_ns);
        self.last_ns = now_ns;
        let below = self.occupied & u64::MAX.checked_shr(u64::BITS - last as u32).unwrap_or(0);
        self.occupied ^= below;
        let mut rest = below;
        while rest != 0 {
            let bucket = rest.trailing_zeros() as usize + 1;
            rest &= rest - 1;
            if bucket < last {
                self.buckets[bucket].drain(..).for_each(|(_, what)| taken(what));
                continue;
            }
            let mut moving = std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.moving));
            for (time_ns, what) in moving.drain(..) {
                if time_ns <= now_ns { taken(what) } else { self.push(time_ns, what) }
            }
            self.moving = moving;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, below};
    use std::collections::BTreeSet;

    #[test]
    fn ends_are_taken_like_from_a_sorted_set() {
        taken_like_from_a_sorted_set(FEW + 1);
    }

    #[test]
    fn few_ends_are_taken_like_from_a_sorted_set() {
        taken_like_from_a_sorted_set(FEW);
    }

    fn taken_like_from_a_sorted_set(most: u32) {
        let (mut random, mut ends, mut sorted) = (Seed(7).random(), Ends::new(most), BTreeSet::new());
        let mut now_ns = 0;
        for number in 0..20_000u32 {
            let ahead_ns = below(&mut random, 1 << (number % 40));
            ends.push(now_ns + ahead_ns, number);
            sorted.insert((now_ns + ahead_ns, number));
            now_ns += match number % 3 {
                0 => below(&mut random, 1 << (number % 36)),
                1 => ends.first().map_or(0, |(end_ns, _)| end_ns - now_ns),
                _ => 0,
            };
            let mut taken = Vec::new();
            ends.take_until(now_ns, |what| taken.push(what));
            let later = sorted.split_off(&(now_ns + 1, 0));
            let mut expected: Vec<u32> = sorted.iter().map(|&(_, number)| number).collect();
            sorted = later;
            taken.sort_unstable();
            expected.sort_unstable();
            assert_eq!(taken, expected);
            assert_eq!(ends.first(), sorted.first().copied());
        }
        ends.take_until(u64::MAX, |_| {});
        assert_eq!(ends.first(), None);
    }
}
