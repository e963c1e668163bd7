//! Set of numbers of free inodes: a bitmap, and the set of its non-zero words.

use std::collections::BTreeSet;

/// Set of numbers.
#[derive(Debug, Default)]
pub(super) struct NumberSet {
    words: Vec<u64>,
    /// Indexes of the words that are not zero.
    used: BTreeSet<u32>,
    count: u32,
}

impl NumberSet {
    fn bit_of(number: u32) -> (usize, u64) {
        ((number / 64) as usize, 1 << (number % 64))
    }

    /// Returns the number of elements.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True if the set contains a number.
    pub fn has(&self, number: u32) -> bool {
        let (word, bit) = NumberSet::bit_of(number);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Inserts a number; no effect if the set already contains it.
    pub fn insert(&mut self, number: u32) {
        let (word, bit) = NumberSet::bit_of(number);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += u32::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
        self.used.insert(word as u32);
    }

    /// Removes a number; no effect if the set does not contain it.
    pub fn remove(&mut self, number: u32) {
        let (word, bit) = NumberSet::bit_of(number);
        if self.has(number) {
            self.count -= 1;
            self.words[word] &= !bit;
            if self.words[word] == 0 {
                self.used.remove(&(word as u32));
            }
        }
    }

    /// Returns the lowest number that is `from` or larger.
    pub fn next(&self, from: u32) -> Option<u32> {
        let (word, bit) = NumberSet::bit_of(from);
        // Bits in the word of `from`, from the bit of `from` on.
        let rest = self.words.get(word).map_or(0, |word| word & !(bit - 1));
        if rest != 0 {
            return Some(word as u32 * 64 + rest.trailing_zeros());
        }
        let word = *self.used.range(word as u32 + 1..).next()?;
        Some(word * 64 + self.words[word as usize].trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_set(changes: Vec<(u16, bool)>, from in prop::collection::vec(0..1200u32, 20)) {
            let (mut free, mut plain) = (NumberSet::default(), BTreeSet::new());
            for (number, is_put) in changes {
                let number = u32::from(number) % 1100;
                if is_put {
                    free.insert(number);
                    plain.insert(number);
                } else {
                    free.remove(number);
                    plain.remove(&number);
                }
                prop_assert_eq!(free.count() as usize, plain.len());
            }
            for from in from {
                prop_assert_eq!(free.next(from), plain.range(from..).next().copied());
                prop_assert_eq!(free.has(from), plain.contains(&from));
            }
        }
    }
}
