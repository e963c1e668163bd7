//! How many groups, and how large: the Markov chain of a page through its groups (MCAM), and the search for the best sizes.

use super::hot::HotShape;
use super::intervals::Distribution;

/// Hot blocks at most.
const MOST_HOT: u32 = 30;
/// Sizes tried for a group in one round, at most.
const MOST_SIZES: u32 = 512;
/// Rounds in which all sizes are tried again.
const ROUNDS: u32 = 4;
/// A larger hot group must win so much write amplification.
const WORTH_A_HOT_BLOCK: f64 = 0.05;

/// The drive that groups are made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    /// Blocks of all groups together.
    pub(super) blocks: u32,
    pub(super) block_pages: f64,
    /// Pages that hold data.
    pub(super) valid_pages: f64,
    /// Groups at most, without the hot one.
    pub(super) most_groups: usize,
}

/// Sizes of the groups, and what comes of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    /// Blocks of the hot group.
    pub(super) hot: u32,
    /// Blocks of the groups of the chain but the last, which has the rest.
    pub(super) sizes: Vec<u32>,
    /// Share of valid pages in reclaimed blocks of each of them.
    pub(super) valid: Vec<f64>,
    pub(super) write_amplification: f64,
}

/// What enters the hot group.
#[derive(Clone, Copy, Debug)]
struct Hot {
    blocks: u32,
    /// Share of the host's pages.
    traffic: f64,
    /// Share of them that leaves it valid.
    valid: f64,
    /// Intervals below this age die in it.
    age: f64,
}

/// The model of a drive under one distribution of intervals.
pub(super) struct Model<'a> {
    pub(super) intervals: &'a Distribution,
    pub(super) drive: Drive,
    /// The hot group as it was seen, if its filter is too inaccurate to size it.
    pub(super) seen_hot: Option<HotShape>,
}

impl Model<'_> {
    /// A hot group of at least so many blocks: intervals up to some age go to it, where a page stays for that age.
    fn hot_of(&self, blocks: u32) -> Option<Hot> {
        if let Some(HotShape { traffic, valid, blocks }) = self.seen_hot {
            let age = self.intervals.age_of(traffic * (1.0 - valid));
            return Some(Hot { blocks: blocks.round().max(1.0) as u32, traffic, valid, age });
        }
        if blocks == 0 {
            return Some(Hot { blocks: 0, traffic: 0.0, valid: 0.0, age: 0.0 });
        }
        let size = |age: f64| age * self.intervals.shorter(age) / self.drive.block_pages;
        let mut entries = 1..=(self.intervals.longest() / self.intervals.unit) as u32;
        let age = entries.find_map(|entry| {
            let age = f64::from(entry) * self.intervals.unit;
            ((size(age) + 0.5).floor() >= f64::from(blocks)).then_some(age)
        })?;
        let blocks = (size(age) + 0.5).floor() as u32;
        Some(Hot { blocks, traffic: self.intervals.shorter(age), valid: 0.0, age })
    }

    /// What comes of a hot group and these sizes; `None` if the last group has no room or the distribution does not
    /// reach so far.
    fn judge(&self, hot: Hot, sizes: &[u32]) -> Option<Chain> {
        let Drive { blocks, block_pages, valid_pages, .. } = self.drive;
        let died_hot = self.intervals.shorter(hot.age);
        let traffic = 1.0 - hot.traffic * (1.0 - hot.valid);
        // What survives, of the host's pages, to an age outside the hot group; up to the hot age all of it does.
        let alive = |age: f64| traffic - (self.intervals.shorter(age) - died_hot).max(0.0);
        let valid_below = |age: f64| {
            let early = age.min(hot.age);
            let late = (age - hot.age).max(0.0);
            let beyond = self.intervals.valid(age) - self.intervals.valid(hot.age);
            // `valid` counts what is left of all intervals, of which the hot ones are over by then.
            early * traffic + if late > 0.0 { beyond + late * (traffic - (1.0 - died_hot)) } else { 0.0 }
        };
        let mut valid = Vec::with_capacity(sizes.len() + 1);
        let (mut age, mut moved, mut rest) = (0.0, hot.traffic * hot.valid, blocks.checked_sub(hot.blocks)?);
        for &size in sizes {
            let enters = alive(age);
            let stays = (f64::from(size) - 0.5) * block_pages / enters;
            age += stays;
            rest = rest.checked_sub(size)?;
            if age >= self.intervals.longest() || alive(age) <= 0.0 {
                return None;
            }
            valid.push(alive(age) / enters);
            moved += alive(age);
        }
        let hot_valid = (self.intervals.valid(hot.age) - hot.age * traffic).max(0.0);
        let last_valid = (valid_pages - valid_below(age) - hot_valid).max(block_pages);
        let spread = f64::from(rest) * block_pages / last_valid;
        let last = self.last_group(age.max(hot.age), spread)?;
        valid.push(1.0 - 1.0 / last);
        let write_amplification = 1.0 + moved + alive(age) * (last - 1.0);
        Some(Chain { hot: hot.blocks, sizes: sizes.to_vec(), valid, write_amplification })
    }

    /// Write amplification of the last group by itself, a queue with hot and cold pages: those whose intervals are
    /// below 0.7 of the mean, and the others (Desnoyers, ACM TOS 10(2), 2014). `spread` is its pages over its valid
    /// ones.
    fn last_group(&self, age: f64, spread: f64) -> Option<f64> {
        if spread <= 1.0 {
            return None;
        }
        let longest = self.intervals.longest();
        let count = self.intervals.shorter(longest) - self.intervals.shorter(age);
        let length = self.intervals.lengths(longest) - self.intervals.lengths(age);
        if count <= 0.0 || length <= 0.0 {
            return cyclic(1.0, 1.0, spread);
        }
        let limit = (0.7 * length / count).max(age);
        let hot_writes = (self.intervals.shorter(limit) - self.intervals.shorter(age)) / count;
        let hot_space = (self.intervals.lengths(limit) - self.intervals.lengths(age)) / length;
        cyclic(hot_writes, hot_space, spread)
    }

    /// The best of the chains tried: groups are added one by one as long as there may be more, each with the best
    /// size for what is there; the best of these is then improved, size by size, some rounds.
    pub(super) fn best(&self) -> Option<Chain> {
        let mut best = self.best_hot()?;
        let mut grown = best.clone();
        while grown.sizes.len() + 1 < self.drive.most_groups {
            let Some(next) = self.with_best_size(&grown, grown.sizes.len()) else { break };
            grown = next;
            if grown.write_amplification < best.write_amplification {
                best.clone_from(&grown);
            }
        }
        for _ in 0..ROUNDS {
            let before = best.write_amplification;
            let hot_sizes = if self.seen_hot.is_some() { 0..=0 } else { 0..=MOST_HOT };
            for blocks in hot_sizes {
                let other = self.hot_of(blocks).and_then(|hot| self.judge(hot, &best.sizes));
                best = better(best, other);
            }
            for at in 0..(best.sizes.len() + 1).min(self.drive.most_groups - 1) {
                let other = self.with_best_size(&best, at);
                best = better(best, other);
            }
            if best.write_amplification >= before {
                break;
            }
        }
        Some(best)
    }

    /// One group, and a hot one as large as is worth it.
    fn best_hot(&self) -> Option<Chain> {
        let one = |blocks: u32| self.hot_of(blocks).and_then(|hot| self.judge(hot, &[]));
        let mut best = one(0)?;
        if self.seen_hot.is_some() {
            return Some(best);
        }
        for blocks in 1..MOST_HOT {
            match one(blocks) {
                Some(chain) if chain.write_amplification < best.write_amplification - WORTH_A_HOT_BLOCK => {
                    best = chain;
                }
                _ => break,
            }
        }
        Some(best)
    }

    /// The chain with the best of all sizes of group `at`, which may be a new one at its end.
    fn with_best_size(&self, chain: &Chain, at: usize) -> Option<Chain> {
        let hot = self.hot_of(chain.hot)?;
        let mut sizes = chain.sizes.clone();
        sizes.resize(sizes.len().max(at + 1), 0);
        let most = self.drive.blocks;
        let step = (most / MOST_SIZES).max(1);
        let tried = (1..most).step_by(step as usize).map_while(|size| {
            sizes[at] = size;
            self.judge(hot, &sizes)
        });
        tried.min_by(|a, b| a.write_amplification.total_cmp(&b.write_amplification))
    }
}

/// The chain that amplifies less; among equals the first.
fn better(chain: Chain, other: Option<Chain>) -> Chain {
    match other {
        Some(other) if other.write_amplification < chain.write_amplification => other,
        _ => chain,
    }
}

/// Write amplification `A` of cyclic cleaning with a share `r` of the writes to a share `f` of the valid pages, of
/// which there are one in `spread`: `A = 1 + r / (exp(r spread / (f A)) - 1) + (1 - r) / (exp((1 - r) spread / ((1 -
/// f) A)) - 1)`.
fn cyclic(r: f64, f: f64, spread: f64) -> Option<f64> {
    let term = |writes: f64, space: f64, a: f64| {
        if writes <= 0.0 || space <= 0.0 { 0.0 } else { writes / (writes * spread / (space * a)).exp_m1() }
    };
    let excess = |a: f64| 1.0 + term(r, f, a) + term(1.0 - r, 1.0 - f, a) - a;
    let (mut low, mut high) = (1.0, 2.0);
    while excess(high) > 0.0 {
        (low, high) = (high, 2.0 * high);
        if high > 1e6 {
            return None;
        }
    }
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::super::intervals::Intervals;
    use super::*;

    fn near(a: f64, b: f64, within: f64) {
        assert!((a / b - 1.0).abs() < within, "{a} is not {b}");
    }

    #[test]
    fn cyclic_cleaning_of_equal_pages_has_the_known_closed_form() {
        // A = 1 / (1 - exp(-spread / A)): for A = 2 spread is 2 ln 2.
        near(cyclic(1.0, 1.0, 2.0 * 2.0_f64.ln()).unwrap(), 2.0, 1e-6);
        // Hot and cold pages that are written alike are equal pages.
        near(cyclic(0.3, 0.3, 2.0 * 2.0_f64.ln()).unwrap(), 2.0, 1e-6);
        assert!(cyclic(0.9, 0.1, 1.3).unwrap() > cyclic(1.0, 1.0, 1.3).unwrap(), "a queue suffers from skew");
    }

    /// Every fifth interval is `short` pages, the others are around `long`.
    fn two_kinds(short: u64, long: u64, epoch: u64) -> Distribution {
        let mut intervals = Intervals::new(10, epoch);
        for at in 0..1000 {
            intervals.add(if at % 2 == 0 { short } else { long / 2 + at * long / 1000 });
        }
        intervals.take(0).unwrap()
    }

    #[test]
    fn a_group_keeps_what_outlives_it() {
        let intervals = two_kinds(95, 2000, 6000);
        let drive = Drive { blocks: 150, block_pages: 10.0, valid_pages: 1050.0, most_groups: 4 };
        let model = Model { intervals: &intervals, drive, seen_hot: None };
        let none = model.hot_of(0).unwrap();
        // 10.5 blocks of 10 pages hold each page for 100 host pages: half of the pages, which live 95, are dead by then.
        let chain = model.judge(none, &[11]).unwrap();
        near(chain.valid[0], 0.5, 0.02);
        // Half of what the host writes is moved once, and then as often as the last group does it, with what is left
        // of the blocks.
        let moved = chain.write_amplification - 1.0;
        let last = 1.0 / (1.0 - chain.valid[1]);
        near(moved, 0.5 + 0.5 * (last - 1.0), 1e-9);
        assert!(model.judge(none, &[149]).is_none(), "the last group has no room");
        assert!(model.judge(none, &[150, 1]).is_none(), "nor are there so many blocks");
    }

    #[test]
    fn a_hot_group_holds_what_dies_in_it() {
        let intervals = two_kinds(95, 2000, 6000);
        let drive = Drive { blocks: 150, block_pages: 10.0, valid_pages: 1050.0, most_groups: 4 };
        let model = Model { intervals: &intervals, drive, seen_hot: None };
        // Half of the writes die within 100 pages: they stay for 100 each, 5 blocks of 10.
        let hot = model.hot_of(5).unwrap();
        assert_eq!((hot.blocks, hot.age), (5, 100.0));
        near(hot.traffic, 0.5, 1e-9);
        let chain = model.judge(hot, &[]).unwrap();
        let without = model.judge(model.hot_of(0).unwrap(), &[]).unwrap();
        assert!(chain.write_amplification < without.write_amplification, "{chain:?} {without:?}");
    }

    #[test]
    fn the_search_finds_groups_that_are_better_than_one() {
        let intervals = two_kinds(95, 2000, 6000);
        let drive = Drive { blocks: 150, block_pages: 10.0, valid_pages: 1050.0, most_groups: 4 };
        let seen = HotShape { traffic: 0.001, valid: 0.9, blocks: 1.0 };
        let model = Model { intervals: &intervals, drive, seen_hot: Some(seen) };
        let one = model.judge(model.hot_of(0).unwrap(), &[]).unwrap();
        let best = model.best().unwrap();
        assert!(best.write_amplification < 0.8 * one.write_amplification, "{best:?} {one:?}");
        // The first group is about as long as the short intervals.
        assert!((9..=14).contains(&best.sizes[0]), "{best:?}");
        assert_eq!(best.valid.len(), best.sizes.len() + 1);
    }
}
