//! Tournament tree of the dies' next events: the first event per channel and overall.

use super::channel::NEVER;

/// Key of "no event" in the tree, whose keys lack the highest bit: times of events are below 2^63.
const NO_EVENT: u128 = NEVER >> 1;

/// The next event of a die.
#[derive(Clone, Copy, Debug)]
struct NextEvent {
    key: u128,
    die: u32,
}

impl NextEvent {
    /// Returns the earlier of two, without a branch: the outcome is unpredictable, and the compiler turns choices
    /// into branches, even those marked as unpredictable.
    #[inline(always)]
    fn earlier(self, other: NextEvent) -> NextEvent {
        let (ours, theirs) = (self.key, other.key);
        // The difference is negative if the other is earlier; the shift copies the sign into all bits.
        let loser_mask = (theirs.wrapping_sub(ours) as i128 >> (u128::BITS - 1)) as u128;
        NextEvent {
            key: ours ^ ((ours ^ theirs) & loser_mask),
            die: self.die ^ ((self.die ^ other.die) & loser_mask as u32),
        }
    }

    /// Returns the key in the form used outside the tree.
    #[inline(always)]
    fn external_key(self) -> u128 {
        // Adding one sets the highest bit of no key except that of "no event".
        self.key | (self.key.wrapping_add(1) & (NO_EVENT + 1))
    }
}

/// Next event of each die, in a tournament tree. A change of a die's event costs one match per level; the first event
/// overall and of each channel is then known.
#[derive(Debug)]
pub(super) struct TournamentTree {
    /// Tournament tree: entry n holds the winner of the match between entries 2n and 2n + 1, which are stored
    /// together; the overall winner is entry 1. The last half holds the dies, grouped by channel; each group is
    /// padded to a power of two.
    pairs: Vec<[NextEvent; 2]>,
    /// Number of entries at the start of the tree that hold winners of matches between channels.
    channels: usize,
    /// Number of padding entries of a channel, which have no die.
    padding: u32,
}

impl TournamentTree {
    /// Creates a tree for `channels` channels with `dies_per_channel` dies each, without any event.
    pub fn new(channels: u32, dies_per_channel: u32) -> Self {
        let leaves = dies_per_channel.next_power_of_two();
        let channels = channels.next_power_of_two() as usize;
        let no_event = NextEvent { key: NO_EVENT, die: 0 };
        TournamentTree {
            pairs: vec![[no_event; 2]; channels * leaves as usize],
            channels,
            padding: leaves - dies_per_channel,
        }
    }

    fn leaf(&self, channel: u32, die: u32) -> usize {
        self.pairs.len() + (die + channel * self.padding) as usize
    }

    /// Returns entry number `entry`.
    #[inline(always)]
    fn entry(&self, entry: usize) -> NextEvent {
        self.pairs[entry / 2][entry % 2]
    }

    /// Sets the key of the next event of `die`, which is on `channel`.
    #[inline]
    pub fn set(&mut self, channel: u32, die: u32, key: u128) {
        let mut entry = self.leaf(channel, die);
        debug_assert!(key == NEVER || key < NO_EVENT);
        let mut winner = NextEvent { key: key & NO_EVENT, die };
        while entry > 1 {
            let pair = &mut self.pairs[entry / 2];
            pair[entry % 2] = winner;
            winner = winner.earlier(pair[(entry % 2) ^ 1]);
            entry /= 2;
        }
        self.pairs[0][1] = winner;
    }

    /// Returns the key of the next event of `die`, which is on `channel`.
    pub fn die_key(&self, channel: u32, die: u32) -> u128 {
        self.entry(self.leaf(channel, die)).external_key()
    }

    /// Returns the key of the first event on `channel`.
    #[inline]
    pub fn channel_key(&self, channel: usize) -> u128 {
        self.entry(self.channels + channel).external_key()
    }

    /// Returns the die that has the first event on `channel`.
    #[inline]
    pub fn first_die_of_channel(&self, channel: usize) -> u32 {
        self.entry(self.channels + channel).die
    }

    /// Returns the key of the first event of all.
    #[inline]
    pub fn first_key(&self) -> u128 {
        self.entry(1).external_key()
    }

    /// Returns the die that has the first event of all.
    #[inline]
    pub fn first_die(&self) -> u32 {
        self.entry(1).die
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, random_below};

    #[test]
    fn first_events_match_those_of_a_linear_scan() {
        let mut random = Seed(5).random();
        for (channels, per_channel) in [(1, 1), (1, 3), (3, 1), (8, 8), (5, 6), (2, 4)] {
            let mut tree = TournamentTree::new(channels, per_channel);
            let mut keys = vec![NEVER; (channels * per_channel) as usize];
            for number in 0..2_000u128 {
                let die = random_below(&mut random, keys.len() as u64) as u32;
                let later = u128::from(random_below(&mut random, 50)) << 64 | number;
                let key = if random_below(&mut random, 4) == 0 { NEVER } else { later };
                keys[die as usize] = key;
                tree.set(die / per_channel, die, key);
                assert_eq!(tree.die_key(die / per_channel, die), key);
                let first = *keys.iter().min().unwrap();
                assert_eq!(tree.first_key(), first);
                if first != NEVER {
                    assert_eq!(keys[tree.first_die() as usize], first);
                }
                for (channel, dies) in keys.chunks(per_channel as usize).enumerate() {
                    let first = *dies.iter().min().unwrap();
                    assert_eq!(tree.channel_key(channel), first);
                    if first != NEVER {
                        assert_eq!(keys[tree.first_die_of_channel(channel) as usize], first);
                        assert_eq!(tree.first_die_of_channel(channel) / per_channel, channel as u32);
                    }
                }
            }
        }
    }
}
