//! The first of the dies' next events, per channel and overall.

use super::channel::NEVER;

/// Key of "no event" in the tree, whose keys lack the highest bit: times of events are below 2^63.
const NOTHING: u128 = NEVER >> 1;

/// The next event of a die.
#[derive(Clone, Copy, Debug)]
struct Next {
    key: u128,
    die: u32,
}

impl Next {
    /// Returns the earlier of two, without a branch: the outcome is unpredictable, and the compiler turns choices
    /// into branches, even those marked as unpredictable.
    #[inline(always)]
    fn earlier(self, other: Next) -> Next {
        let (ours, theirs) = (self.key, other.key);
        // The difference is negative if the other is earlier; the shift copies the sign into all bits.
        let loses = (theirs.wrapping_sub(ours) as i128 >> (u128::BITS - 1)) as u128;
        Next {
            key: ours ^ ((ours ^ theirs) & loses),
            die: self.die ^ ((self.die ^ other.die) & loses as u32),
        }
    }

    /// Returns the key in the form used outside the tree.
    #[inline(always)]
    fn told(self) -> u128 {
        // Adding one sets the highest bit of no key except that of "no event".
        self.key | (self.key.wrapping_add(1) & (NOTHING + 1))
    }
}

/// Next event of each die, in a tournament tree. A change of a die's event costs one match per level; the first event
/// overall and of each channel is then known.
#[derive(Debug)]
pub(super) struct Firsts {
    /// Tournament tree: entry n holds the winner of the match between entries 2n and 2n + 1, which are stored
    /// together; the overall winner is entry 1. The last half holds the dies, grouped by channel; each group is
    /// padded to a power of two.
    pairs: Vec<[Next; 2]>,
    /// Number of the first entries, which hold winners of matches between channels.
    channels: usize,
    /// Padding entries of a channel, without a die.
    unused: u32,
}

impl Firsts {
    /// Creates a tree of this many channels and dies per channel, without any event.
    pub fn new(channels: u32, dies_per_channel: u32) -> Self {
        let places = dies_per_channel.next_power_of_two();
        let channels = channels.next_power_of_two() as usize;
        let nothing = Next { key: NOTHING, die: 0 };
        Firsts {
            pairs: vec![[nothing; 2]; channels * places as usize],
            channels,
            unused: places - dies_per_channel,
        }
    }

    fn place(&self, channel: u32, die: u32) -> usize {
        self.pairs.len() + (die + channel * self.unused) as usize
    }

    /// Returns the entry `place`.
    #[inline(always)]
    fn at(&self, place: usize) -> Next {
        self.pairs[place / 2][place % 2]
    }

    /// Sets the key of the next event of `die`, which is on `channel`.
    #[inline]
    pub fn set(&mut self, channel: u32, die: u32, key: u128) {
        let mut place = self.place(channel, die);
        debug_assert!(key == NEVER || key < NOTHING);
        let mut winner = Next { key: key & NOTHING, die };
        while place > 1 {
            let pair = &mut self.pairs[place / 2];
            pair[place % 2] = winner;
            winner = winner.earlier(pair[(place % 2) ^ 1]);
            place /= 2;
        }
        self.pairs[0][1] = winner;
    }

    /// Returns the key of the next event of `die`, which is on `channel`.
    pub fn of_die(&self, channel: u32, die: u32) -> u128 {
        self.at(self.place(channel, die)).told()
    }

    /// Returns the key of the first event on `channel`.
    #[inline]
    pub fn of_channel(&self, channel: usize) -> u128 {
        self.at(self.channels + channel).told()
    }

    /// Returns the die that has the first event on `channel`.
    #[inline]
    pub fn die_of_channel(&self, channel: usize) -> u32 {
        self.at(self.channels + channel).die
    }

    /// Returns the key of the first event of all.
    #[inline]
    pub fn of_all(&self) -> u128 {
        self.at(1).told()
    }

    /// Returns the die that has the first event of all.
    #[inline]
    pub fn die_of_all(&self) -> u32 {
        self.at(1).die
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, below};

    #[test]
    fn first_events_match_those_of_a_linear_scan() {
        let mut random = Seed(5).random();
        for (channels, per_channel) in [(1, 1), (1, 3), (3, 1), (8, 8), (5, 6), (2, 4)] {
            let mut firsts = Firsts::new(channels, per_channel);
            let mut keys = vec![NEVER; (channels * per_channel) as usize];
            for number in 0..2_000u128 {
                let die = below(&mut random, keys.len() as u64) as u32;
                let later = u128::from(below(&mut random, 50)) << 64 | number;
                let key = if below(&mut random, 4) == 0 { NEVER } else { later };
                keys[die as usize] = key;
                firsts.set(die / per_channel, die, key);
                assert_eq!(firsts.of_die(die / per_channel, die), key);
                let first = *keys.iter().min().unwrap();
                assert_eq!(firsts.of_all(), first);
                if first != NEVER {
                    assert_eq!(keys[firsts.die_of_all() as usize], first);
                }
                for (channel, dies) in keys.chunks(per_channel as usize).enumerate() {
                    let first = *dies.iter().min().unwrap();
                    assert_eq!(firsts.of_channel(channel), first);
                    if first != NEVER {
                        assert_eq!(keys[firsts.die_of_channel(channel) as usize], first);
                        assert_eq!(firsts.die_of_channel(channel) / per_channel, channel as u32);
                    }
                }
            }
        }
    }
}
