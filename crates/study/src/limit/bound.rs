//! Lower bound on rewrites for a given history, for any algorithm with any knowledge; proven in `docs/theory.md`.

use super::crowding::{Crowding, VersionLife};
use super::flash::FlashGeometry;
use super::history::{NEVER, WriteHistory};

/// Content of the flash when a history begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialFlash {
    /// All blocks are erased.
    Erased,
    /// Arbitrary content; the bound assumes the most favourable one.
    Arbitrary,
}

/// Multiples of the mean slack above which versions count as long-lived; the largest of the bounds is used.
const LONG_LIFE_FACTORS: [f64; 3] = [0.0, 1.0, 4.0];

/// Ratio of successive waits that are evaluated.
const WAIT_RATIO: f64 = 1.4;

/// Longest wait that is evaluated, in mean slacks.
const MAX_WAIT_FACTOR: f64 = 3.0;

/// Computes the least number of pages that any algorithm must rewrite during `history`, even with full knowledge of the
/// future.
///
/// The bound allows rewrites at any time, through memory, and programming of blocks in any order with any number open
/// at once; no space is reserved. Every page that the host writes is programmed: write buffers, compression and
/// deduplication are not covered.
///
/// # Panics
///
/// Panics if there are more valid than physical pages.
pub fn least_rewrites(history: &WriteHistory, flash: FlashGeometry, start: InitialFlash) -> u64 {
    let slack = history.slack(flash);
    if history.invalidated_at.is_empty() {
        return 0;
    }
    let mean_slack = slack as f64 / history.writes() as f64;
    let order_bound = order_bound(history, flash, start, slack);
    let mut thresholds = LONG_LIFE_FACTORS.map(|factor| ((factor * mean_slack) as u32).max(2)).to_vec();
    thresholds.dedup();
    let inequalities = thresholds
        .into_iter()
        .filter_map(|threshold| BoundInequality::of(history, flash, start, slack, threshold));
    inequalities.map(|inequality| inequality.least_rewrites()).fold(order_bound, u64::max)
}

/// Number of steps for the assumed host pages per block, from 1 to all pages; the largest of the bounds is used.
const ORDER_STEPS: i32 = 24;

/// Computes the bound that uses only the order of events: pages are written one at a time and overwritten one at a
/// time. It is `b / (s + 1)` in the long run, with `s` spare pages, and is useful for drives with less than a spare
/// block.
fn order_bound(history: &WriteHistory, flash: FlashGeometry, start: InitialFlash, slack: u128) -> u64 {
    let (writes, overwrites) = (history.writes() as f64, history.overwrites as f64);
    let (pages, block) = (flash.pages() as f64, f64::from(flash.pages_per_block));
    let bound = |step: i32| {
        // From 1 to all pages of a block.
        let host_pages = libm::pow(block, f64::from(step) / f64::from(ORDER_STEPS));
        let waste_price = block / (host_pages * host_pages);
        let value = 2.0 * block / host_pages - 1.0 - waste_price;
        let first = match start {
            InitialFlash::Erased => 0.0,
            InitialFlash::Arbitrary => pages * value.max(0.5 * (value + 1.0)),
        };
        0.5 * (value * (writes + overwrites) - (writes - overwrites)) - waste_price * slack as f64 - first
    };
    let best = (0..=ORDER_STEPS).map(bound).fold(0.0, f64::max);
    // Rounds down by more than the rounding error.
    (best * (1.0 - 1e-9) - 1e-6).max(0.0).ceil() as u64
}

/// Maximum number of rows of the grid in which lives are counted: more rows improve the bound but cost their square in
/// time.
const MAX_GRID_ROWS: u32 = 1024;

/// Inequality of the theorem for one threshold of long lives.
struct BoundInequality {
    /// Number of long-lived versions.
    long_lived: f64,
    /// Number of versions that can fill long-lived blocks with little waste.
    fillers: f64,
    /// Least waste of a slot of a long-lived block that holds neither a long-lived version nor a filler.
    unfilled_waste: f64,
    /// Number of erases available without filling blocks.
    erases: f64,
    pages_per_block: f64,
    /// Total waste allowed.
    slack: f64,
    /// Waits, each with the number of waits it represents and the crowding of versions that wait no longer.
    waits: Vec<(f64, Crowding)>,
}

impl BoundInequality {
    /// Builds the inequality for versions that live at least `min_life`; `None` if the inequality shows early that no
    /// rewrites are needed.
    fn of(
        history: &WriteHistory,
        flash: FlashGeometry,
        start: InitialFlash,
        slack: u128,
        min_life: u32,
    ) -> Option<Self> {
        let writes = history.invalidated_at.len() as u32;
        let lives: Vec<VersionLife> = (0..)
            .zip(&history.invalidated_at)
            .map(|(written_at, &invalidated_at)| VersionLife { written_at, invalidated_at })
            .collect();
        let short = min_life / 2;
        let fillers = lives
            .iter()
            .filter(|life| life.invalidated_at == NEVER || life.invalidated_at - life.written_at >= short)
            .count();
        let is_long = |life: &VersionLife| {
            life.invalidated_at != NEVER && life.invalidated_at - life.written_at >= min_life
        };
        let long_lives: Vec<VersionLife> = lives.into_iter().filter(is_long).collect();
        let longest =
            ((MAX_WAIT_FACTOR * slack as f64 / f64::from(writes)) as u32).saturating_add(8).min(writes);
        let mut inequality = BoundInequality {
            long_lived: long_lives.len() as f64,
            fillers: fillers as f64,
            unfilled_waste: f64::from(min_life - short),
            erases: if start == InitialFlash::Erased { 0.0 } else { flash.blocks as f64 },
            pages_per_block: f64::from(flash.pages_per_block),
            slack: slack as f64,
            waits: Vec::new(),
        };
        // Longest waits first: these are the cheapest and most often decide.
        let mut uncounted_waste = inequality.long_lived * (f64::from(longest) + 1.0);
        for (wait, before) in decreasing_waits(longest) {
            if inequality.waste(0.0, 0.0) + uncounted_waste <= inequality.slack {
                return None;
            }
            let count = f64::from(wait) - before.map_or(-1.0, f64::from);
            inequality.waits.push((count, Crowding::of(&long_lives, writes, wait, MAX_GRID_ROWS)));
            uncounted_waste -= count * inequality.long_lived;
        }
        Some(inequality)
    }

    /// Computes the least waste with `rewrites` rewrites if `unfilled` slots of long-lived blocks hold nothing or
    /// short-lived versions.
    fn waste(&self, rewrites: f64, unfilled: f64) -> f64 {
        let erases = self.erases + (self.fillers + rewrites + unfilled) / self.pages_per_block;
        let waiting = |crowding: &Crowding| {
            (self.long_lived - rewrites - crowding.max_prompt_versions(erases)).max(0.0)
        };
        self.waits.iter().map(|(count, crowding)| count * waiting(crowding)).sum::<f64>()
            + self.unfilled_waste * unfilled
    }

    /// True if `rewrites` rewrites may suffice. The waste is convex in the unfilled slots.
    fn is_possible(&self, rewrites: u64) -> bool {
        let rewrites = rewrites as f64;
        // Allows more than the rounding error.
        let allowed = self.slack * (1.0 + 1e-9) + 1e-6;
        let (mut low, mut high) = (0.0, self.slack / self.unfilled_waste);
        for _ in 0..200 {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            let (at_left, at_right) = (self.waste(rewrites, left), self.waste(rewrites, right));
            if at_left <= allowed || at_right <= allowed {
                return true;
            }
            if at_left < at_right {
                high = right;
            } else {
                low = left;
            }
            if high - low < 1e-6 {
                break;
            }
        }
        self.waste(rewrites, low) <= allowed || self.waste(rewrites, 0.0) <= allowed
    }

    /// Returns the least number of rewrites; the waste falls with every rewrite, and is 0 without long-lived versions.
    fn least_rewrites(&self) -> u64 {
        let (mut impossible, mut possible) = (None, self.long_lived as u64);
        if self.is_possible(0) {
            return 0;
        }
        while impossible.unwrap_or(0) + 1 < possible {
            let middle = u64::midpoint(impossible.unwrap_or(0), possible);
            if self.is_possible(middle) {
                possible = middle;
            } else {
                impossible = Some(middle);
            }
        }
        possible
    }
}

/// Returns waits from `longest` down to 0, each with the next smaller one.
fn decreasing_waits(longest: u32) -> impl Iterator<Item = (u32, Option<u32>)> {
    let next_wait =
        |wait: u32| wait.checked_sub(1).map(|less| less.min((f64::from(wait) / WAIT_RATIO) as u32));
    let waits = std::iter::successors(Some(longest), move |&wait| next_wait(wait));
    waits.map(move |wait| (wait, next_wait(wait)))
}

#[cfg(test)]
mod tests {
    use super::super::history::HistoryRecorder;
    use super::*;
    use wearwell_base::seed::{Seed, random_below};
    use wearwell_base::units::Lpn;
    use wearwell_theory::closed_forms::offline_bound;
    use wearwell_theory::{Classes, Drive};

    const PAGES_PER_BLOCK: u32 = 64;
    const FULL_BLOCKS: u32 = 64;

    /// Returns rewrites per write for uniformly random writes on a full drive.
    fn uniform(spare_blocks: u32) -> f64 {
        let logical_pages = FULL_BLOCKS * PAGES_PER_BLOCK;
        let mut random = Seed(1).random();
        let mut recorder = HistoryRecorder::new(logical_pages);
        (0..logical_pages).for_each(|page| recorder.write(Lpn(page)));
        recorder.take();
        for _ in 0..8 * logical_pages {
            recorder.write(Lpn(random_below(&mut random, u64::from(logical_pages)) as u32));
        }
        let history = recorder.take();
        let flash =
            FlashGeometry { blocks: u64::from(FULL_BLOCKS + spare_blocks), pages_per_block: PAGES_PER_BLOCK };
        least_rewrites(&history, flash, InitialFlash::Arbitrary) as f64 / history.writes() as f64
    }

    #[test]
    fn random_writes_need_rewrites_with_scarce_spare_space() {
        let bounds = [1, 2, 16].map(uniform);
        assert!(bounds[0] > 0.15 && bounds[0] > bounds[1] && bounds[1] > 0.0, "{bounds:?}");
        assert!(bounds[2] == 0.0);
        for (spare_blocks, bound) in [1, 2, 16].into_iter().zip(bounds) {
            let spare_factor = f64::from(spare_blocks) / f64::from(FULL_BLOCKS + spare_blocks);
            let drive = Drive::new(PAGES_PER_BLOCK, spare_factor).unwrap();
            let pages = f64::from(FULL_BLOCKS * PAGES_PER_BLOCK);
            let limit = offline_bound(&drive, &Classes::uniform(), pages).unwrap().write_amplification;
            assert!(bound <= limit - 1.0, "{spare_blocks}: {bound}, in the limit {limit}");
        }
    }

    /// Returns the bound from the order of events for a drive of two blocks of four pages.
    fn small_order_bound(writes: usize, overwrites: u64, slack: u128, start: InitialFlash) -> u64 {
        let history = WriteHistory { invalidated_at: vec![NEVER; writes], valid_page_writes: 0, overwrites };
        order_bound(&history, FlashGeometry { blocks: 2, pages_per_block: 4 }, start, slack)
    }

    #[test]
    fn order_bound_has_hand_computed_values() {
        let [erased, arbitrary] = [InitialFlash::Erased, InitialFlash::Arbitrary];
        // Without spare pages, q = 1, y = 4 and 2 b / q - 1 - y = 3: three rewrites per overwrite.
        assert_eq!(small_order_bound(100, 100, 0, erased), 300);
        // 40 writes do not overwrite: (3 * 160 - 40) / 2.
        assert_eq!(small_order_bound(100, 60, 0, erased), 220);
        // The initial content of the eight pages may save three rewrites each.
        assert_eq!(small_order_bound(100, 100, 0, arbitrary), 300 - 24);
        // With one spare page, q = 2, y = 1 and 4 - 1 - y = 2: (2 * 200) / 2 - 100, which is b / (s + 1) - 1 per write.
        assert_eq!(small_order_bound(100, 100, 100, erased), 100);
        // The drive is so empty that no rewrites are needed.
        assert_eq!(small_order_bound(100, 100, 400, erased), 0);
        assert_eq!(small_order_bound(0, 0, 0, erased), 0);
    }

    /// With 2.5 spare pages, the best of the steps is q = 4^(22 / 24) = 3.5636, with y = 0.31498 and a value of 0.92994.
    #[test]
    fn initial_content_saves_at_least_half_of_its_pages_and_their_value() {
        let history =
            WriteHistory { invalidated_at: vec![NEVER; 10_000], valid_page_writes: 0, overwrites: 10_000 };
        let flash = FlashGeometry { blocks: 16, pages_per_block: 4 };
        // 9299.4 - 0.31498 * 25,000 = 1424.9; and the 64 pages save (0.92994 + 1) / 2 each, more than the value.
        assert_eq!(order_bound(&history, flash, InitialFlash::Erased, 25_000), 1425);
        assert_eq!(order_bound(&history, flash, InitialFlash::Arbitrary, 25_000), 1364);
    }

    /// Returns ten versions in blocks of four pages: up to two share a block if they wait for one write, which counts
    /// for two waits, and none otherwise.
    fn ten_versions(unfilled_waste: f64, slack: f64) -> BoundInequality {
        let life = |written_at| VersionLife { written_at, invalidated_at: written_at + 20 };
        let lives: Vec<VersionLife> = (0..10).map(life).collect();
        let crowding = |wait| Crowding::of(&lives, 30, wait, MAX_GRID_ROWS);
        BoundInequality {
            long_lived: 10.0,
            fillers: 8.0,
            unfilled_waste,
            erases: 1.0,
            pages_per_block: 4.0,
            slack,
            waits: vec![(2.0, crowding(1)), (1.0, crowding(0))],
        }
    }

    #[test]
    fn waste_has_hand_computed_values() {
        let inequality = ten_versions(3.0, 0.0);
        // Three erases: six versions wait for at most one write, and three for none. 2 * (10 - 6) + (10 - 3).
        assert_eq!(inequality.waste(0.0, 0.0), 15.0);
        // Four rewrites allow another erase and leave six versions: 2 * 0 + (6 - 4).
        assert_eq!(inequality.waste(4.0, 0.0), 2.0);
        // Four unfilled slots allow another erase, and each wastes 3: 2 * (10 - 8) + (10 - 4) + 4 * 3.
        assert_eq!(inequality.waste(0.0, 4.0), 22.0);
        // With 4.5 erases, all four remaining versions wait for no write.
        assert_eq!(inequality.waste(6.0, 0.0), 0.0);
    }

    #[test]
    fn least_rewrites_is_the_first_number_whose_waste_is_allowed() {
        // Waste by number of rewrites: 15, 10.75, 6.5, 3.25, 2, 0.75, 0.
        for (slack, expected) in [
            (15.0, 0),
            (14.9, 1),
            (10.75, 1),
            (10.7, 2),
            (6.5, 2),
            (6.4, 3),
            (3.25, 3),
            (3.2, 4),
            (2.0, 4),
            (0.75, 5),
            (0.7, 6),
            (0.0, 6),
        ] {
            assert_eq!(ten_versions(3.0, slack).least_rewrites(), expected, "slack {slack}");
        }
        // Unfilled slots that waste only 1 each reduce the waste to 13, with eight of them: 2 * 0 + (10 - 5) + 8.
        assert!(ten_versions(1.0, 13.0).is_possible(0) && !ten_versions(1.0, 12.99).is_possible(0));
    }

    /// One block of 100 pages: the first 50 versions live for 50 writes, and the rest survive.
    #[test]
    fn inequality_of_history_has_hand_computed_terms() {
        let invalidated_at = (0..100).map(|at| if at < 50 { at + 50 } else { NEVER }).collect();
        let history = WriteHistory { invalidated_at, valid_page_writes: 9800, overwrites: 50 };
        let flash = FlashGeometry { blocks: 1, pages_per_block: 100 };
        assert_eq!(history.slack(flash), 200);
        let of = |start, slack, min_life| BoundInequality::of(&history, flash, start, slack, min_life);
        let found = of(InitialFlash::Arbitrary, 200, 21).unwrap();
        assert_eq!((found.long_lived, found.fillers), (50.0, 100.0));
        assert_eq!((found.unfilled_waste, found.erases, found.slack), (11.0, 1.0, 200.0));
        // The mean slack is 2. Waits of 3 * 2 + 8 = 14, 10, 7, 5, 3, 2, 1 and 0 represent all waits from 0 to 14.
        let counts: Vec<f64> = found.waits.iter().map(|(count, _)| *count).collect();
        assert_eq!(counts, [4.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
        // With C erases, C (w + 1) versions wait for at most w writes. The counts times w + 1 sum to 131: for two
        // erases, the waste is 15 * 50 - 2 * 131.
        assert_eq!(found.waste(0.0, 0.0), 488.0);
        assert!((found.waste(10.0, 0.0) - (15.0 * 40.0 - 2.1 * 131.0)).abs() < 1e-9);
        // With 17 rewrites, 15 * 33 - 2.17 * 131 = 210.7 is wasted. With 18, no version waits for more than 10 writes,
        // which leaves 11 * 32 - 2.18 * 71 = 197.2.
        assert_eq!(found.least_rewrites(), 18);
        assert_eq!(BoundInequality { slack: 488.0, ..found }.least_rewrites(), 0);
        assert_eq!(of(InitialFlash::Erased, 200, 21).unwrap().waste(0.0, 0.0), 15.0 * 50.0 - 131.0);
        // Survivors and versions that live for at least half of the least life are fillers.
        let fillers = |min_life| of(InitialFlash::Erased, 200, min_life).map(|found| found.fillers);
        assert_eq!((fillers(50), of(InitialFlash::Erased, 200, 51).map(|_| ())), (Some(100.0), None));
        assert!(of(InitialFlash::Arbitrary, 100_000, 21).is_none(), "more slack than all waits");
        // The longest wait is then 20 writes, and 536 is wasted.
        assert!(of(InitialFlash::Arbitrary, 410, 21).is_some());
        assert_eq!(least_rewrites(&history, flash, InitialFlash::Arbitrary), 18);
    }

    /// The first of 41 versions lives for 40 writes, the next 20 for 20 writes each, and the rest survive.
    #[test]
    fn lives_at_the_limits_count_as_long_and_as_fillers() {
        let invalidated_at = |at| match at {
            0 => 40,
            1..=20 => at + 20,
            _ => NEVER,
        };
        let history = WriteHistory {
            invalidated_at: (0..41).map(invalidated_at).collect(),
            valid_page_writes: 0,
            overwrites: 0,
        };
        let flash = FlashGeometry { blocks: 1, pages_per_block: 100 };
        for (min_life, long_lived, fillers, unfilled_waste) in
            [(40, 1.0, 41.0, 20.0), (39, 1.0, 41.0, 20.0), (20, 21.0, 41.0, 10.0), (21, 1.0, 41.0, 11.0)]
        {
            let found = BoundInequality::of(&history, flash, InitialFlash::Erased, 0, min_life).unwrap();
            assert_eq!((found.long_lived, found.fillers), (long_lived, fillers), "{min_life}");
            assert_eq!(found.unfilled_waste, unfilled_waste, "{min_life}");
        }
        assert!(BoundInequality::of(&history, flash, InitialFlash::Erased, 0, 41).is_none());
    }

    #[test]
    fn decreasing_waits_end_at_zero() {
        let waits: Vec<_> = decreasing_waits(5).collect();
        assert_eq!(waits, [(5, Some(3)), (3, Some(2)), (2, Some(1)), (1, Some(0)), (0, None)]);
    }
}
