//! Number and sizes of the groups: a Markov chain of a page's path through its groups (MCAM), and a search for the
//! best sizes.

use super::hot::HotStatistics;
use super::intervals::Distribution;

/// Maximum number of hot blocks.
const MAX_HOT_BLOCKS: u32 = 30;
/// Maximum number of sizes tried for a group in one round.
const MAX_SIZES_TRIED: u32 = 512;
/// Number of rounds in which all sizes are tried again.
const ROUNDS: u32 = 4;
/// Reduction of write amplification that justifies a larger hot group.
const MIN_GAIN_PER_HOT_BLOCK: f64 = 0.05;

/// The drive for which groups are sized.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    /// Blocks of all groups together.
    pub(super) blocks: u32,
    pub(super) block_pages: f64,
    /// Pages that hold data.
    pub(super) valid_pages: f64,
    /// Maximum number of groups without the hot group.
    pub(super) max_groups: usize,
}

/// Sizes of the groups, and the resulting write amplification.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    /// Blocks of the hot group.
    pub(super) hot: u32,
    /// Number of blocks of each group of the chain except the last, which has all other blocks.
    pub(super) sizes: Vec<u32>,
    /// Fraction of valid pages in reclaimed blocks of each group.
    pub(super) valid: Vec<f64>,
    pub(super) write_amplification: f64,
}

/// Pages that enter the hot group.
#[derive(Clone, Copy, Debug)]
struct HotGroup {
    blocks: u32,
    /// Fraction of the host's pages.
    traffic: f64,
    /// Fraction of these pages that are still valid when they leave the hot group.
    valid: f64,
    /// Pages with intervals below this age are invalidated in the hot group.
    age: f64,
}

/// The model of a drive under one distribution of intervals.
pub(super) struct Model<'a> {
    pub(super) intervals: &'a Distribution,
    pub(super) drive: Drive,
    /// Observed hot group, if its filter is too inaccurate to size the group.
    pub(super) observed_hot: Option<HotStatistics>,
}

impl Model<'_> {
    /// Returns a hot group of at least `blocks` blocks: it receives the pages with intervals up to some age, and
    /// keeps a page for that age.
    fn hot_group(&self, blocks: u32) -> Option<HotGroup> {
        if let Some(HotStatistics { traffic, valid, blocks }) = self.observed_hot {
            let age = self.intervals.age_of(traffic * (1.0 - valid));
            return Some(HotGroup { blocks: blocks.round().max(1.0) as u32, traffic, valid, age });
        }
        if blocks == 0 {
            return Some(HotGroup { blocks: 0, traffic: 0.0, valid: 0.0, age: 0.0 });
        }
        let size = |age: f64| age * self.intervals.shorter(age) / self.drive.block_pages;
        let mut entries = 1..=(self.intervals.longest() / self.intervals.unit) as u32;
        let age = entries.find_map(|entry| {
            let age = f64::from(entry) * self.intervals.unit;
            ((size(age) + 0.5).floor() >= f64::from(blocks)).then_some(age)
        })?;
        let blocks = (size(age) + 0.5).floor() as u32;
        Some(HotGroup { blocks, traffic: self.intervals.shorter(age), valid: 0.0, age })
    }

    /// Returns the chain of this hot group and groups of these sizes; `None` if the last group has no space or the
    /// distribution is too short.
    fn evaluate(&self, hot: HotGroup, sizes: &[u32]) -> Option<Chain> {
        let Drive { blocks, block_pages, valid_pages, .. } = self.drive;
        let invalidated_hot = self.intervals.shorter(hot.age);
        let traffic = 1.0 - hot.traffic * (1.0 - hot.valid);
        // Fraction of the host's pages that survives to an age outside the hot group; up to the hot age all survive.
        let surviving = |age: f64| traffic - (self.intervals.shorter(age) - invalidated_hot).max(0.0);
        let valid_below = |age: f64| {
            let early = age.min(hot.age);
            let late = (age - hot.age).max(0.0);
            let valid_beyond = self.intervals.valid(age) - self.intervals.valid(hot.age);
            // `valid` includes the pages with hot intervals, which are invalid by then.
            early * traffic
                + if late > 0.0 { valid_beyond + late * (traffic - (1.0 - invalidated_hot)) } else { 0.0 }
        };
        let mut valid = Vec::with_capacity(sizes.len() + 1);
        let (mut age, mut moved, mut remaining_blocks) =
            (0.0, hot.traffic * hot.valid, blocks.checked_sub(hot.blocks)?);
        for &size in sizes {
            let entering = surviving(age);
            let residence = (f64::from(size) - 0.5) * block_pages / entering;
            age += residence;
            remaining_blocks = remaining_blocks.checked_sub(size)?;
            if age >= self.intervals.longest() || surviving(age) <= 0.0 {
                return None;
            }
            valid.push(surviving(age) / entering);
            moved += surviving(age);
        }
        let hot_valid = (self.intervals.valid(hot.age) - hot.age * traffic).max(0.0);
        let last_valid = (valid_pages - valid_below(age) - hot_valid).max(block_pages);
        let spread = f64::from(remaining_blocks) * block_pages / last_valid;
        let last = self.last_group(age.max(hot.age), spread)?;
        valid.push(1.0 - 1.0 / last);
        let write_amplification = 1.0 + moved + surviving(age) * (last - 1.0);
        Some(Chain { hot: hot.blocks, sizes: sizes.to_vec(), valid, write_amplification })
    }

    /// Returns the write amplification of the last group alone, a queue of hot and cold pages (Desnoyers, ACM TOS
    /// 10(2), 2014). Hot pages have intervals below 0.7 of the mean. `spread` is the ratio of its pages to its valid
    /// pages.
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

    /// Returns the best chain found. Groups are added one by one up to the maximum, each with the best size at that
    /// point. The best of these chains is then improved, size by size, for some rounds.
    pub(super) fn best(&self) -> Option<Chain> {
        let mut best = self.best_hot()?;
        let mut grown = best.clone();
        while grown.sizes.len() + 1 < self.drive.max_groups {
            let Some(next) = self.with_best_size(&grown, grown.sizes.len()) else { break };
            grown = next;
            if grown.write_amplification < best.write_amplification {
                best.clone_from(&grown);
            }
        }
        for _ in 0..ROUNDS {
            let before = best.write_amplification;
            let hot_sizes = if self.observed_hot.is_some() { 0..=0 } else { 0..=MAX_HOT_BLOCKS };
            for blocks in hot_sizes {
                let other = self.hot_group(blocks).and_then(|hot| self.evaluate(hot, &best.sizes));
                best = better(best, other);
            }
            for at in 0..(best.sizes.len() + 1).min(self.drive.max_groups - 1) {
                let other = self.with_best_size(&best, at);
                best = better(best, other);
            }
            if best.write_amplification >= before {
                break;
            }
        }
        Some(best)
    }

    /// Returns a chain of one group, and a hot group as large as pays off.
    fn best_hot(&self) -> Option<Chain> {
        let single_group = |blocks: u32| self.hot_group(blocks).and_then(|hot| self.evaluate(hot, &[]));
        let mut best = single_group(0)?;
        if self.observed_hot.is_some() {
            return Some(best);
        }
        for blocks in 1..MAX_HOT_BLOCKS {
            match single_group(blocks) {
                Some(chain)
                    if chain.write_amplification < best.write_amplification - MIN_GAIN_PER_HOT_BLOCK =>
                {
                    best = chain;
                }
                _ => break,
            }
        }
        Some(best)
    }

    /// Returns the chain with the best size of group `at`, which may be a new one at its end.
    fn with_best_size(&self, chain: &Chain, at: usize) -> Option<Chain> {
        let hot = self.hot_group(chain.hot)?;
        let mut sizes = chain.sizes.clone();
        sizes.resize(sizes.len().max(at + 1), 0);
        let total_blocks = self.drive.blocks;
        let step = (total_blocks / MAX_SIZES_TRIED).max(1);
        let candidates = (1..total_blocks).step_by(step as usize).map_while(|size| {
            sizes[at] = size;
            self.evaluate(hot, &sizes)
        });
        candidates.min_by(|a, b| a.write_amplification.total_cmp(&b.write_amplification))
    }
}

/// Returns the chain with less write amplification; among equals the first.
fn better(chain: Chain, other: Option<Chain>) -> Chain {
    match other {
        Some(other) if other.write_amplification < chain.write_amplification => other,
        _ => chain,
    }
}

/// Returns the write amplification `A` of cyclic cleaning if a fraction `r` of the writes goes to a fraction `f` of
/// the valid pages, and there are `spread` pages for each valid one: `A = 1 + r / (exp(r spread / (f A)) - 1) + (1 -
/// r) / (exp((1 - r) spread / ((1 - f) A)) - 1)`.
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

    fn assert_near(a: f64, b: f64, within: f64) {
        assert!((a / b - 1.0).abs() < within, "{a} is not {b}");
    }

    #[test]
    fn cyclic_cleaning_of_equal_pages_has_the_known_closed_form() {
        // A = 1 / (1 - exp(-spread / A)): for A = 2 spread is 2 ln 2.
        assert_near(cyclic(1.0, 1.0, 2.0 * 2.0_f64.ln()).unwrap(), 2.0, 1e-6);
        // Hot and cold pages with the same write rate are equal pages.
        assert_near(cyclic(0.3, 0.3, 2.0 * 2.0_f64.ln()).unwrap(), 2.0, 1e-6);
        assert!(cyclic(0.9, 0.1, 1.3).unwrap() > cyclic(1.0, 1.0, 1.3).unwrap(), "a queue suffers from skew");
    }

    /// Returns a distribution in which half of the intervals are `short` pages and the other half around `long`.
    fn bimodal(short: u64, long: u64, epoch: u64) -> Distribution {
        let mut intervals = Intervals::new(10, epoch);
        for at in 0..1000 {
            intervals.add(if at % 2 == 0 { short } else { long / 2 + at * long / 1000 });
        }
        intervals.take(0).unwrap()
    }

    #[test]
    fn pages_that_outlive_a_group_are_moved_on() {
        let intervals = bimodal(95, 2000, 6000);
        let drive = Drive { blocks: 150, block_pages: 10.0, valid_pages: 1050.0, max_groups: 4 };
        let model = Model { intervals: &intervals, drive, observed_hot: None };
        let no_hot_group = model.hot_group(0).unwrap();
        // 10.5 blocks of 10 pages hold each page for 100 host pages: half of the pages, with a life of 95, are
        // invalid by then.
        let chain = model.evaluate(no_hot_group, &[11]).unwrap();
        assert_near(chain.valid[0], 0.5, 0.02);
        // Half of the host's pages are moved once by the first group and then again by the last group, which has the
        // remaining blocks.
        let moved = chain.write_amplification - 1.0;
        let last = 1.0 / (1.0 - chain.valid[1]);
        assert_near(moved, 0.5 + 0.5 * (last - 1.0), 1e-9);
        assert!(model.evaluate(no_hot_group, &[149]).is_none(), "the last group has no room");
        assert!(model.evaluate(no_hot_group, &[150, 1]).is_none(), "nor are there so many blocks");
    }

    #[test]
    fn hot_group_holds_pages_invalidated_in_it() {
        let intervals = bimodal(95, 2000, 6000);
        let drive = Drive { blocks: 150, block_pages: 10.0, valid_pages: 1050.0, max_groups: 4 };
        let model = Model { intervals: &intervals, drive, observed_hot: None };
        // Half of the writes are invalidated within 100 pages and stay for 100 pages each: 5 blocks of 10 pages.
        let hot = model.hot_group(5).unwrap();
        assert_eq!((hot.blocks, hot.age), (5, 100.0));
        assert_near(hot.traffic, 0.5, 1e-9);
        let chain = model.evaluate(hot, &[]).unwrap();
        let without = model.evaluate(model.hot_group(0).unwrap(), &[]).unwrap();
        assert!(chain.write_amplification < without.write_amplification, "{chain:?} {without:?}");
    }

    #[test]
    fn search_finds_groups_that_are_better_than_one() {
        let intervals = bimodal(95, 2000, 6000);
        let drive = Drive { blocks: 150, block_pages: 10.0, valid_pages: 1050.0, max_groups: 4 };
        let observed = HotStatistics { traffic: 0.001, valid: 0.9, blocks: 1.0 };
        let model = Model { intervals: &intervals, drive, observed_hot: Some(observed) };
        let single_group = model.evaluate(model.hot_group(0).unwrap(), &[]).unwrap();
        let best = model.best().unwrap();
        assert!(
            best.write_amplification < 0.8 * single_group.write_amplification,
            "{best:?} {single_group:?}"
        );
        // The first group is about as long as the short intervals.
        assert!((9..=14).contains(&best.sizes[0]), "{best:?}");
        assert_eq!(best.valid.len(), best.sizes.len() + 1);
    }
}
