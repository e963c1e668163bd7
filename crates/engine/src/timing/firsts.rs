//! The first of the dies' next events, of each channel and of all.

use super::channel::NEVER;
use std::hint::select_unpredictable;

/// The next event of each die, and a tree of matches over them, each won by the earlier one: that a die's event changes costs a
/// match for each level, who is first of all or on a channel is known, and no branch depends on who wins.
#[derive(Debug)]
pub(super) struct Firsts {
    /// The keys of the matches' winners: those of match `n`, of which 1 decides about all, come from `2 * n` and `2 * n + 1`.
    /// The last half are the dies', those of each channel together, with room for a power of two of them.
    keys: Vec<u128>,
    /// Whose they are.
    dies: Vec<u32>,
    /// Before this many of all come the matches of several channels.
    channels: usize,
    /// Places of a channel that no die has.
    unused: u32,
}

impl Firsts {
    /// Nothing ever happens on so many channels with so many dies each.
    pub fn new(channels: u32, dies_per_channel: u32) -> Self {
        let places = dies_per_channel.next_power_of_two();
        let channels = channels.next_power_of_two() as usize;
        let matches = 2 * channels * places as usize;
        Firsts {
            keys: vec![NEVER; matches],
            dies: vec![0; matches],
            channels,
            unused: places - dies_per_channel,
        }
    }

    fn place(&self, channel: u32, die: u32) -> usize {
        self.keys.len() / 2 + (die + channel * self.unused) as usize
    }

    /// The next event of `die`, which is on `channel`, has this key.
    #[inline]
    pub fn set(&mut self, channel: u32, die: u32, key: u128) {
        let mut at = self.place(channel, die);
        let (mut key, mut die) = (key, die);
        (self.keys[at], self.dies[at]) = (key, die);
        while at > 1 {
            let other = self.keys[at ^ 1];
            let loses = other < key;
            key = select_unpredictable(loses, other, key);
            die = select_unpredictable(loses, self.dies[at ^ 1], die);
            at /= 2;
            (self.keys[at], self.dies[at]) = (key, die);
        }
    }

    /// The next event of `die`, which is on `channel`.
    pub fn of_die(&self, channel: u32, die: u32) -> u128 {
        self.keys[self.place(channel, die)]
    }

    /// The first event on `channel`.
    #[inline]
    pub fn of_channel(&self, channel: usize) -> u128 {
        self.keys[self.channels + channel]
    }

    /// The die that has the first event on `channel`.
    #[inline]
    pub fn die_of_channel(&self, channel: usize) -> u32 {
        self.dies[self.channels + channel]
    }

    /// The first event of all.
    #[inline]
    pub fn of_all(&self) -> u128 {
        self.keys[1]
    }

    /// The die that has the first event of all.
    #[inline]
    pub fn die_of_all(&self) -> u32 {
        self.dies[1]
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
