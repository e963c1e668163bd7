//! All closed forms of the library compared with the simulator.
//!
//! Seeds are fixed, so results are reproducible. Tolerances are a confidence interval plus a fixed allowance for the
//! finite number of blocks.

use crate::common::run_text;
use rand::Rng;
use wearwell_base::seed::Seed;
use wearwell_theory::closed_forms::{
    ClassCleaning, fifo, fifo_copied_shares, greedy, greedy_large_blocks, greedy_smooth, random, separated,
    windowed,
};
use wearwell_theory::{Classes, Drive};

/// Rosenblum's `(r, f)`; `None` for uniform writes.
type Hot = Option<(f64, f64)>;

/// Simulated drive; cleaned in place with one frontier, unless `oracle` separates the classes.
#[derive(Clone, Copy)]
struct Case<'a> {
    blocks: u32,
    pages_per_block: u32,
    spare_factor: f64,
    victim: &'a str,
    hot: Hot,
    oracle: bool,
}

/// Number of runs per case.
const RUNS: u64 = 3;
/// Student's t for the 95 % interval over these runs.
const STUDENT: f64 = 4.303;

impl Case<'_> {
    fn write_amplification(&self, seed: u64) -> f64 {
        let Case { blocks, pages_per_block, spare_factor, victim, hot, oracle } = self;
        let load = 1.0 - spare_factor;
        let store = if *oracle {
            "placement = \"oracle\""
        } else {
            "placement = \"single\"\nreclaim = \"in_place\"\ncopy_order = \"random\""
        };
        let workload = match hot {
            None => "kind = \"uniform\"".to_owned(),
            Some((r, f)) => format!("kind = \"hot_cold\"\nhot_writes = {r:?}\nhot_space = {f:?}"),
        };
        let result = run_text(&format!(
            r#"
            seed = {seed}
            [device]
            blocks_per_plane = {blocks}
            pages_per_block = {pages_per_block}
            load = {load:?}
            [ftl]
            victim = {victim}
            {store}
            [precondition]
            random_overwrites = 2
            [workload]
            {workload}
            [measure]
            warm_up = 8.0
            drive_writes = 8.0
            window = 1.0
            "#
        ));
        result.write_amplification.expect("cleaning ran")
    }

    /// Returns the mean over the seeds, and the half-width of its 95 % interval.
    fn estimate(&self) -> (f64, f64) {
        let values: Vec<f64> = (1..=RUNS).map(|seed| self.write_amplification(seed)).collect();
        let count = RUNS as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, STUDENT * (variance / count).sqrt())
    }

    fn drive(&self) -> Drive {
        Drive::new(self.pages_per_block, self.spare_factor).unwrap()
    }

    fn classes(&self) -> Classes {
        self.hot.map_or(Classes::uniform(), |(r, f)| Classes::hot_cold(r, f).unwrap())
    }

    /// Checks that the simulator agrees with `expected` within its interval and the fraction `allowance`.
    fn assert_near(&self, expected: f64, allowance: f64) {
        self.assert_within(self.estimate(), expected, allowance);
    }

    fn assert_within(&self, (mean, interval): (f64, f64), expected: f64, allowance: f64) {
        let Case { pages_per_block, spare_factor, victim, hot, .. } = self;
        println!(
            "{victim} b={pages_per_block} S_f={spare_factor} {hot:?}: {mean:.5} ± {interval:.5}, \
             expected {expected:.5}, {:.3} % apart of {:.3} %",
            100.0 * (mean / expected - 1.0),
            100.0 * (allowance + interval / expected)
        );
        assert!((mean - expected).abs() <= interval + allowance * expected, "{mean}, not {expected}");
        assert!(interval < 0.01 * expected, "an interval of {interval} proves nothing");
    }

    /// Returns the fraction by which a run on a finite number of blocks may differ from the limit of many blocks.
    ///
    /// Write amplification falls at most as the inverse of the spare space, of which the frontier holds back half a
    /// block on average; another half covers other effects of the order `1 / N`.
    fn allowance(&self) -> f64 {
        1.0 / (f64::from(self.blocks) * self.spare_factor)
    }
}

fn case(pages_per_block: u32, spare_factor: f64, victim: &str, hot: Hot) -> Case<'_> {
    Case { blocks: 3000, pages_per_block, spare_factor, victim, hot, oracle: false }
}

#[test]
fn random_cleaning_agrees_with_its_closed_form() {
    for (spare_factor, hot) in [(0.15, None), (0.3, Some((0.9, 0.1)))] {
        let case = case(16, spare_factor, "\"random\"", hot);
        case.assert_near(random(&case.drive()).unwrap(), case.allowance());
    }
}

#[test]
fn fifo_cleaning_agrees_with_its_closed_form() {
    for (spare_factor, hot) in [
        (0.07, None),
        (0.25, None),
        (0.1, Some((0.9, 0.1))),
        (0.25, Some((0.8, 0.2))),
        (0.2, Some((0.6, 0.02))),
    ] {
        let case = case(32, spare_factor, "\"fifo\"", hot);
        case.assert_near(fifo(&case.drive(), &case.classes()).unwrap(), case.allowance());
    }
}

/// Simulates FIFO on a ring of single pages: at each position, either a valid page is copied or the host writes a page.
#[test]
fn fifo_copies_closed_form_shares() {
    let (spare_factor, r, f) = (0.1, 0.9, 0.2);
    let physical = 100_000usize;
    let logical = (physical as f64 * (1.0 - spare_factor)).round() as usize;
    let hot = (logical as f64 * f).round() as usize;
    let mut random = Seed(5).random();
    let mut owner: Vec<usize> = (0..physical).collect();
    let mut slots: Vec<usize> = (0..logical).collect();
    let (mut position, mut copied, mut written) = (0, [0u32; 2], 0u32);
    let steps = 40 * physical;
    for step in 0..steps {
        let counts = u32::from(step >= steps / 2);
        let page = owner[position];
        if page < logical && slots[page] == position {
            copied[usize::from(page >= hot)] += counts;
        } else {
            let is_hot = random.random_bool(r);
            let page = if is_hot { random.random_range(0..hot) } else { random.random_range(hot..logical) };
            (owner[position], slots[page]) = (page, position);
            written += counts;
        }
        position = (position + 1) % physical;
    }
    let all = f64::from(copied[0] + copied[1]);
    let drive = Drive::new(1, spare_factor).unwrap();
    let (a, shares) = fifo_copied_shares(&drive, &Classes::hot_cold(r, f).unwrap()).unwrap();
    let simulated = (1.0 + all / f64::from(written), f64::from(copied[0]) / all);
    println!("simulated {simulated:?}, expected {:?}", (a, shares[0]));
    // The results of two million copies and a few hundred thousand writes scatter by 0.2 %.
    assert!((simulated.0 / a - 1.0).abs() < 0.005);
    assert!((simulated.1 / shares[0] - 1.0).abs() < 0.01);
}

#[test]
fn greedy_cleaning_agrees_with_its_closed_form() {
    for (pages_per_block, spare_factor) in
        [(2, 0.1), (4, 0.05), (16, 0.05), (16, 0.3), (64, 0.07), (128, 0.15)]
    {
        let case = case(pages_per_block, spare_factor, "\"greedy\"", None);
        case.assert_near(greedy(&case.drive()).unwrap(), case.allowance());
    }
}

/// Blocks of 512 pages: the smooth formula is accurate to 0.1 %, the limit of large blocks to `1 / (b S_f)`.
#[test]
fn greedy_cleaning_of_large_blocks_agrees_with_its_limits() {
    let case = Case { blocks: 400, ..case(512, 0.1, "\"greedy\"", None) };
    let found = case.estimate();
    case.assert_within(found, greedy_smooth(&case.drive()).unwrap(), case.allowance() + 1e-3);
    case.assert_within(found, greedy_large_blocks(&case.drive()).unwrap(), case.allowance() + 1.0 / 51.2);
}

#[test]
fn windowed_greedy_cleaning_agrees_with_its_closed_form() {
    for (pages_per_block, spare_factor) in [(16, 0.1), (64, 0.07)] {
        for window_share in [0.01, 0.1, 0.3, 0.6] {
            // The simulator's time per victim is proportional to the window.
            let mut case = Case { blocks: 2000, ..case(pages_per_block, spare_factor, "", None) };
            let window = (f64::from(case.blocks) * window_share).round();
            let victim = format!("{{ policy = \"windowed_greedy\", window = {window} }}");
            case.victim = &victim;
            case.assert_near(windowed(&case.drive(), window_share).unwrap(), case.allowance());
        }
    }
}

/// Greedy brings the victims of all classes to the same number of valid pages. With the oracle it therefore costs as
/// much as uniform writes, more than the best division of the spare space. Cost-benefit comes close to that division,
/// from above.
#[test]
fn separated_bounds_the_oracle_from_below() {
    for (r, f) in [(0.8, 0.2), (0.9, 0.1)] {
        let greedily = Case { oracle: true, ..case(32, 0.15, "\"greedy\"", Some((r, f))) };
        let found = greedily.estimate();
        // Two frontiers and the pool of erased blocks hold back at most four blocks, instead of half a block.
        let allowance = 4.0 * greedily.allowance();
        greedily.assert_within(found, greedy(&greedily.drive()).unwrap(), allowance);

        let cleaning = ClassCleaning::Greedy;
        let bound = separated(&greedily.drive(), &greedily.classes(), cleaning).unwrap().write_amplification;
        let (mean, interval) = Case { victim: "\"cost_benefit\"", ..greedily }.estimate();
        println!("oracle, r = {r}: cost-benefit {mean:.4} ± {interval:.4}, bound {bound:.4}");
        assert!(found.0 - found.1 > bound, "greedy, {found:?}, is below {bound}");
        assert!(mean - interval > bound, "cost-benefit, {mean}, is below {bound}");
        assert!(mean < 1.05 * bound, "cost-benefit, {mean}, is far above {bound}");
    }
}
