//! Simulation compared with theory and published results: closed forms, mean-field values and parts of two published
//! tables.
//!
//! `experiments/` has the full tables at the sizes of the papers. Seeds are fixed, so results are reproducible; each
//! tolerance is a confidence interval plus a fixed allowance for the finite number of blocks.

use crate::common::run_text;
use wearwell_theory::closed_forms::fifo;
use wearwell_theory::{Classes, Drive};

/// Drive, policy and load of a run with in-place reclaim.
#[derive(Clone, Copy)]
struct Case {
    blocks: u32,
    pages_per_block: u32,
    load: f64,
    victim: &'static str,
    frontier: Frontier,
    /// `(r, f)`; `None` for uniform writes.
    hot: Option<(f64, f64)>,
    /// Drive writes of warm-up and, equally many, of measurement.
    drive_writes: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Frontier {
    Single,
    DoubleRandom,
    DoubleOldest,
}

impl Case {
    fn write_amplification(&self, seed: u64) -> f64 {
        let Case { blocks, pages_per_block, load, victim, frontier, hot, drive_writes } = self;
        let (placement, copy_order) = match frontier {
            Frontier::Single => ("single", "random"),
            Frontier::DoubleRandom => ("double", "random"),
            Frontier::DoubleOldest => ("double", "oldest"),
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
            placement = "{placement}"
            reclaim = "in_place"
            copy_order = "{copy_order}"
            [precondition]
            random_overwrites = 2
            [workload]
            {workload}
            [measure]
            warm_up = {drive_writes:?}
            drive_writes = {drive_writes:?}
            window = 1.0
            "#
        ));
        result.write_amplification.expect("cleaning ran")
    }

    /// Returns the mean over `runs` seeds, and the half-width of its 95 % interval.
    fn estimate(&self, runs: u64) -> (f64, f64) {
        let values: Vec<f64> = (1..=runs).map(|seed| self.write_amplification(seed)).collect();
        let count = runs as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // Student's t for 1 to 4 degrees of freedom.
        let t = [12.706, 4.303, 3.182, 2.776][runs as usize - 2];
        (mean, t * (variance / count).sqrt())
    }

    /// Returns the fraction by which a run on a finite number of blocks may exceed the limit of many blocks.
    ///
    /// Write amplification falls about as the inverse of the spare space. Frontiers hold back half a block of
    /// `blocks * (1 - load)` on average; another half covers other effects of the order 1 / N.
    fn allowance(&self) -> f64 {
        1.0 / (f64::from(self.blocks) * (1.0 - self.load))
    }

    fn assert_near(&self, expected: f64, half_width: f64, runs: u64) {
        let (mean, interval) = self.estimate(runs);
        let allowed = half_width.hypot(interval) + expected * self.allowance();
        println!("{mean:.5} ± {interval:.5}, expected {expected:.5} ± {half_width:.5}, allowed {allowed:.5}");
        assert!(
            (mean - expected).abs() <= allowed,
            "{mean} instead of {expected}, more than {allowed} apart"
        );
        assert!(interval < 0.005 * expected, "an interval of {interval} proves nothing");
    }
}

fn uniform(blocks: u32, pages_per_block: u32, load: f64, victim: &'static str) -> Case {
    Case { blocks, pages_per_block, load, victim, frontier: Frontier::Single, hot: None, drive_writes: 12.0 }
}

#[test]
fn fifo_agrees_with_its_closed_form() {
    for load in [0.7, 0.85, 0.93] {
        let expected = fifo(&Drive::new(32, 1.0 - load).unwrap(), &Classes::uniform()).unwrap();
        uniform(2000, 32, load, "\"fifo\"").assert_near(expected, 0.0, 3);
    }
}

/// A random victim holds as many valid pages as the average block: `WA = 1 / (1 - load)` for any workload.
#[test]
fn random_cleaning_gives_the_inverse_of_the_spare_factor() {
    for (load, hot) in [(0.7, None), (0.85, None), (0.8, Some((0.9, 0.1)))] {
        let case = Case { hot, drive_writes: 25.0, ..uniform(4000, 32, load, "\"random\"") };
        case.assert_near(1.0 / (1.0 - load), 0.0, 5);
    }
}

/// Mean field of Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state
/// drives", SIGMETRICS 2013, solved to 5 digits, for `d = 10` and uniform writes.
#[test]
fn d_choices_agrees_with_the_mean_field_of_uniform_writes() {
    for (pages_per_block, load, expected) in [(32, 0.9, 4.7365), (128, 0.7, 1.8969), (128, 0.9, 5.1479)] {
        let victim = "{ policy = \"d_choices\", choices = 10 }";
        uniform(3000, pages_per_block, load, victim).assert_near(expected, 5e-5, 3);
    }
}

/// Van Houdt (2013), Table 1, rows 1, 4 and 6: single frontier, the simulated column, at the paper's N.
#[test]
fn single_frontier_agrees_with_the_hot_cold_paper() {
    let rows = [
        (16, 0.10, "{ policy = \"d_choices\", choices = 16 }", (0.92, 0.23), 4.5925, 0.0006),
        (32, 0.13, "{ policy = \"d_choices\", choices = 14 }", (0.87, 0.12), 4.4554, 0.0005),
        (64, 0.09, "{ policy = \"d_choices\", choices = 6 }", (0.79, 0.08), 6.5885, 0.0007),
    ];
    for (pages_per_block, spare_factor, victim, hot, simulated, half_width) in rows {
        let base = uniform(10_000, pages_per_block, 1.0 - spare_factor, victim);
        Case { hot: Some(hot), drive_writes: 20.0, ..base }.assert_near(simulated, half_width, 2);
    }
}

/// Van Houdt (2013), Table 2, rows 1 and 3: double frontier, both simulated columns, with at most a tenth of the
/// paper's N.
#[test]
fn double_frontier_agrees_with_the_hot_cold_paper() {
    let rows = [
        (16, 0.05, "{ policy = \"d_choices\", choices = 12 }", (0.83, 0.24), [6.7754, 6.7205], 0.0005, 5_000),
        (32, 0.08, "{ policy = \"d_choices\", choices = 11 }", (0.81, 0.22), [5.5628, 5.5247], 0.0004, 3_000),
    ];
    for (pages_per_block, spare_factor, victim, hot, simulated, half_width, blocks) in rows {
        let base = uniform(blocks, pages_per_block, 1.0 - spare_factor, victim);
        for (frontier, simulated) in
            [Frontier::DoubleRandom, Frontier::DoubleOldest].into_iter().zip(simulated)
        {
            let case = Case { frontier, hot: Some(hot), drive_writes: 20.0, ..base };
            case.assert_near(simulated, half_width, 3);
        }
    }
}
