//! Long runs agree with theory: uniform writes to 10,000 blocks compared with closed forms.

use crate::closed_forms;
use crate::naive::observe::reports;
use crate::naive::rig::Setup;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::Counters;
use wearwell_engine::layer::{Layer, no_data};
use wearwell_engine::log::{BlockTable, LogStore};
use wearwell_engine::placement::Frontiers;
use wearwell_engine::victim::{VictimPolicy, VictimVisitor};

const BATCH: usize = 4096;
/// Overwrites of the whole device before the measurement, and during it.
const WARM_UP: u32 = 8;
const MEASURED_OVERWRITES: u32 = 8;

struct MeasureVisitor<'a>(&'a Setup);

impl VictimVisitor for MeasureVisitor<'_> {
    type Output = f64;

    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> f64 {
        let setup = self.0;
        let directory = BlockTable::new(setup.logical_pages);
        let mut store =
            LogStore::new(setup.config(), setup.nand::<()>(), directory, victim, Frontiers::single())
                .unwrap();
        let pages: Vec<Lpn> = (0..setup.logical_pages).map(Lpn).collect();
        store.write(&pages, no_data(pages.len()), 0).unwrap();
        let mut random = Seed(setup.seed).derive("workload").random();
        overwrite(&mut store, &mut random, WARM_UP);
        let before = counters(&store);
        overwrite(&mut store, &mut random, MEASURED_OVERWRITES);
        counters(&store).since(&before).write_amplification().expect("writes were measured")
    }
}

fn counters(store: &impl Layer<()>) -> Counters {
    reports(store).layers[0].counters
}

fn overwrite(store: &mut impl Layer<()>, random: &mut Random, times: u32) {
    let pages = store.logical_pages();
    let mut batch = vec![Lpn(0); BATCH];
    for _ in 0..(pages as usize * times as usize) / BATCH {
        batch.fill_with(|| Lpn(random_below(random, pages.into()) as u32));
        store.write(&batch, no_data(BATCH), 0).unwrap();
    }
}

fn assert_agrees(victim: &'static str, choices: u32, load: f64, pages_per_block: u32, theory: f64) {
    let blocks = 10_000;
    let logical_pages = (f64::from(blocks * pages_per_block) * load).round() as u32;
    let setup = Setup { blocks, pages_per_block, logical_pages, victim, choices, ..Setup::default() };
    let simulated = setup.victim().visit(&setup.size(), MeasureVisitor(&setup)).unwrap();
    let error = simulated / theory - 1.0;
    assert!(error.abs() < 0.003, "{victim}: {simulated:.4} simulated, {theory:.4} expected, {error:+.5}");
}

#[test]
fn ten_choices_match_the_closed_form() {
    assert_agrees("d_choices", 10, 0.9, 32, closed_forms::d_choices(0.9, 32, 10.0));
}

#[test]
fn ten_choices_of_large_blocks_match_the_closed_form() {
    assert_agrees("d_choices", 10, 0.7, 128, closed_forms::d_choices(0.7, 128, 10.0));
}

#[test]
fn one_choice_matches_the_closed_form() {
    assert_agrees("d_choices", 1, 0.9, 32, closed_forms::random(0.9));
}

#[test]
fn random_victims_match_the_closed_form() {
    assert_agrees("random", 1, 0.8, 16, closed_forms::random(0.8));
}

#[test]
fn cyclic_cleaning_matches_the_closed_form() {
    assert_agrees("fifo", 1, 0.9, 32, closed_forms::fifo(0.9));
}

#[test]
fn greedy_matches_the_closed_form() {
    assert_agrees("greedy", 1, 0.9, 32, closed_forms::greedy(0.9, 32));
}
