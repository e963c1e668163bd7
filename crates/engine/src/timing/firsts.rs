//! The first of the dies' next events, of each channel and of all.

use super::channel::NEVER;

/// The key of no event in the tree, whose keys have no highest bit: times of events are below 2^63.
const NOTHING: u128 = NEVER >> 1;

/// The next event of a die.
#[derive(Clone, Copy, Debug)]
struct Next {
    key: u128,
    die: u32,
}

impl Next {
    /// The earlier of two, without a branch: nobody knows beforehand which it is, and the compiler makes branches of choices, also of
    /// those called unpredictable.
    #[inline(always)]
    fn earlier(self, other: Next) -> Next {
        let (ours, theirs) = (self.key, other.key);
        // The difference is negative if the other is earlier; of its sign all bits.
        let loses = (theirs.wrapping_sub(ours) as i128 >> (u128::BITS - 1)) as u128;
        Next {
            key: ours ^ ((ours ^ theirs) & loses),
            die: self.die ^ ((self.die ^ other.die) & loses as u32),
        }
    }

    /// The key, as those know it who have no tree.
    #[inline(always)]
    fn told(self) -> u128 {
        // One more than no key but that of nothing has the highest bit.
        self.key | (self.key.wrapping_add(1) & (NOTHING + 1))
    }
}

/// The next event of each die, and a tree of matches over them, each won by the earlier one: when a die's event changes, this
/// costs a match for each level, and who is first of all or on a channel is known.
#[derive(Debug)]
pub(super) struct Firsts {
    /// Who came to each place by winning all matches behind it: to `n`, of which 1 is the last, whoever won the match between places
    /// `2 * n` and `2 * n + 1`, which stand together. In the last half are the dies, those of each channel together, with room for a
    /// power of two of them.
    pairs: Vec<[Next; 2]>,
    /// Before this many come the winners of matches between several channels.
    channels: usize,
    /// Places of a channel that no die has.
    unused: u32,
}

impl Firsts {
    /// Nothing ever happens on so many channels with so many dies each.
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

    /// Who came to this place.
    #[inline(always)]
    fn at(&self, place: usize) -> Next {
        self.pairs[place / 2][place % 2]
    }

    /// The next event of `die`, which is on `channel`, has this key.
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

    /// The next event of `die`, which is on `channel`.
    pub fn of_die(&self, channel: u32, die: u32) -> u128 {
        self.at(self.place(channel, die)).told()
    }

    /// The first event on `channel`.
    #[inline]
    pub fn of_channel(&self, channel: usize) -> u128 {
        self.at(self.channels + channel).told()
    }

    /// The die that has the first event on `channel`.
    #[inline]
    pub fn die_of_channel(&self, channel: usize) -> u32 {
        self.at(self.channels + channel).die
    }

    /// The first event of all.
    #[inline]
    pub fn of_all(&self) -> u128 {
        self.at(1).told()
    }

    /// The die that has the first event of all.
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
    fn the_first_are_those_that_looking_at_all_finds() {
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
