//! A bitmap that counts the set bits below any position in a few cache lines.

use wearwell_base::table;

/// Number of bits of a word.
const WORD_BITS: usize = 64;

/// Number of words of a line: seven, so that the line's counts fill the rest of its 64 bytes.
const LINE_WORDS: usize = 7;

/// Number of bits of a line.
const LINE_BITS: usize = LINE_WORDS * WORD_BITS;

/// Number of bits of a count within a line; a count is at most 448.
const COUNT_BITS: usize = 9;

/// Number of sums in a group.
const FAN_OUT: usize = 32;

/// Bits of a line, with the number of set bits before each of its words.
#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct Line {
    words: [u64; LINE_WORDS],
    /// Set bits of the line before word `n`, in the nine bits from `9 * n` on.
    before: u64,
}

/// For each word, a 1 in the bit field of the count of every later word.
const LATER_COUNTS: [u64; LINE_WORDS] = {
    let mut counts = [0; LINE_WORDS];
    let mut word = LINE_WORDS - 1;
    while word > 0 {
        word -= 1;
        counts[word] = counts[word + 1] | 1 << (COUNT_BITS * (word + 1));
    }
    counts
};

/// For each member of a group, the number of set bits in the earlier members.
#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct PrefixSums([u32; FAN_OUT]);

/// A bitmap of fixed length whose bits are set once each.
///
/// Counts the set bits below a position as in Vigna's rank9 (Broadword implementation of rank/select queries, WEA
/// 2008). A tree of prefix sums of fan-out 32 above the lines makes setting a bit as cheap as counting.
#[derive(Default)]
pub struct RankedBits {
    lines: Vec<Line>,
    /// Prefix sums of lines, then of groups of lines and so on; empty if bits are not counted.
    levels: Vec<Vec<PrefixSums>>,
    set: usize,
}

/// Returns the position of a bit: its line, its word in the line, and a mask of the lower bits of that word.
#[inline]
fn position(bit: usize) -> (usize, usize, u64) {
    let word = bit / WORD_BITS;
    let line = word / LINE_WORDS;
    (line, word - line * LINE_WORDS, (1 << (bit % WORD_BITS)) - 1)
}

impl Line {
    /// Returns the number of set bits of the line below a position.
    #[inline]
    fn count_below(&self, word: usize, below: u64) -> usize {
        let before = (self.before >> (COUNT_BITS * word)) as usize & ((1 << COUNT_BITS) - 1);
        before + (self.words[word] & below).count_ones() as usize
    }
}

impl RankedBits {
    /// Returns at least `bits` clear bits; `is_counted` must be true if [`Self::count_below`] will be called.
    pub fn new(bits: usize, is_counted: bool) -> Self {
        let lines = bits.div_ceil(LINE_BITS);
        let mut levels = Vec::new();
        let mut members = lines;
        while is_counted && members > 1 {
            members = members.div_ceil(FAN_OUT);
            levels.push(vec![PrefixSums::default(); members]);
        }
        RankedBits { lines: table::filled(lines, Line::default()), levels, set: 0 }
    }

    /// Returns the number of bits.
    pub fn len(&self) -> usize {
        self.lines.len() * LINE_BITS
    }

    /// Returns the number of set bits.
    pub fn set_bits(&self) -> usize {
        self.set
    }

    /// Returns the number of set bits below `bit`.
    #[inline]
    pub fn count_below(&self, bit: usize) -> usize {
        let (mut member, word, below) = position(bit);
        let mut set = self.lines[member].count_below(word, below);
        for level in &self.levels {
            set += level[member / FAN_OUT].0[member % FAN_OUT] as usize;
            member /= FAN_OUT;
        }
        set
    }

    /// Sets `count` clear bits from `first` on.
    #[inline]
    pub fn set(&mut self, mut first: usize, mut count: usize) {
        self.set += count;
        while count > 0 {
            let in_word = count.min(WORD_BITS - first % WORD_BITS);
            self.set_bits_in_word(first, in_word);
            first += in_word;
            count -= in_word;
        }
    }

    #[inline]
    fn set_bits_in_word(&mut self, first: usize, count: usize) {
        let (mut member, word, _) = position(first);
        let line = &mut self.lines[member];
        let mask = (u64::MAX >> (WORD_BITS - count)) << (first % WORD_BITS);
        debug_assert_eq!(line.words[word] & mask, 0, "a bit is set twice");
        line.words[word] |= mask;
        line.before += LATER_COUNTS[word] * count as u64;
        for level in &mut self.levels {
            let at = (member % FAN_OUT) as u32;
            for (index, sum) in (0..).zip(&mut level[member / FAN_OUT].0) {
                *sum += if index > at { count as u32 } else { 0 };
            }
            member /= FAN_OUT;
        }
    }

    /// Prefetches the line of `bit`.
    #[inline]
    pub fn prefetch(&self, bit: usize) {
        table::prefetch(self.lines.as_ptr().wrapping_add(position(bit).0));
    }

    /// Returns the clear bits below `end`, in order.
    pub fn clear_bits(&self, end: usize) -> impl Iterator<Item = usize> {
        let words = self.lines.iter().flat_map(|line| line.words);
        words.take(end.div_ceil(WORD_BITS)).enumerate().flat_map(move |(index, word)| {
            let first = index * WORD_BITS;
            let within = (end - first).min(WORD_BITS);
            let mut clear = !word & u64::MAX >> (WORD_BITS - within);
            std::iter::from_fn(move || {
                let bit = (clear > 0).then(|| first + clear.trailing_zeros() as usize);
                clear &= clear.wrapping_sub(1);
                bit
            })
        })
    }

    /// Returns a function that counts the clear bits below a bit, with one cache line in addition to the bit's own.
    pub fn into_clear_counter(self) -> impl Fn(usize) -> usize {
        let mut set = 0;
        let mut before = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            before.push(set);
            set += line.count_below(LINE_WORDS - 1, u64::MAX) as u32;
        }
        move |bit| {
            let (line, word, below) = position(bit);
            bit - before[line] as usize - self.lines[line].count_below(word, below)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranked_bits_match_list_of_bools(
            bits in 1usize..40_000,
            runs in proptest::collection::vec((0usize..40_000, 1usize..200), 0..60),
        ) {
            let mut ranked = RankedBits::new(bits, true);
            let mut list = vec![false; ranked.len()];
            for (first, count) in runs {
                let run = first.min(bits - 1)..(first + count).min(bits);
                if run.is_empty() || list[run.clone()].contains(&true) {
                    continue;
                }
                list[run.clone()].fill(true);
                ranked.set(run.start, run.len());
            }
            let mut set = 0;
            for (bit, &is_set) in list.iter().enumerate() {
                prop_assert_eq!(ranked.count_below(bit), set);
                set += usize::from(is_set);
            }
            prop_assert_eq!(ranked.set_bits(), set);
            let clear: Vec<_> = (0..bits).filter(|&bit| !list[bit]).collect();
            prop_assert_eq!(ranked.clear_bits(bits).collect::<Vec<_>>(), clear.clone());
            let clear_below = ranked.into_clear_counter();
            for (below, bit) in clear.into_iter().enumerate() {
                prop_assert_eq!(clear_below(bit), below);
            }
        }
    }
}
