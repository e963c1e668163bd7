//! Every placement in a whole store, on hot and cold data.

use serde_json::{Value, json};
use wearwell_base::config::StoreSize;
use wearwell_base::foresight::{Foresight, FutureOperations, HostOp};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::temperature::Temperature;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::Counters;
use wearwell_engine::layer::{Layer, LayerReport, Reports, no_data};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PLACEMENTS, Placement, PlacementConfig, PlacementContext};
use wearwell_engine::victim::{VictimConfig, VictimPolicy};

const SIZE: StoreSize = StoreSize {
    blocks: 1500,
    pages_per_block: 32,
    logical_pages: 1500 * 32 / 100 * 85, // a load of 0.85
    seed: Seed(1),
};

/// Temperature in which every fifth page is hot (`f = 0.2`).
struct EveryFifth;

impl Temperature for EveryFifth {
    fn classes(&self) -> u8 {
        2
    }
    fn class_of(&self, page: Lpn) -> u8 {
        u8::from(!page.0.is_multiple_of(5))
    }
}

/// Draws a page: 80 % of the writes go to the hot pages (`r = 0.8`).
fn draw(random: &mut Random) -> Lpn {
    let fifth = random_below(random, u64::from(SIZE.logical_pages / 5)) as u32;
    let hot = random_below(random, 10) < 8;
    Lpn(5 * fifth + if hot { 0 } else { 1 + random_below(random, 4) as u32 })
}

type Store<P> = LogStore<Nand<()>, PageTable, Box<dyn VictimPolicy>, P>;

fn store<P: Placement>(victim: &str, placement: P) -> Store<P> {
    let victim: VictimConfig = serde_json::from_value(json!(victim)).unwrap();
    let geometry = Geometry::flat(SIZE.blocks, SIZE.pages_per_block, 4096);
    let config = StoreConfig::new(SIZE.logical_pages, Reclaim::FreePool { low: 2, high: 4 }, SIZE.seed);
    let directory = PageTable::new(SIZE.logical_pages, SIZE.blocks, SIZE.pages_per_block);
    let victim = victim.build_boxed(&SIZE).unwrap();
    LogStore::new(config, Nand::new(geometry, Wear::default(), SIZE.seed), directory, victim, placement)
        .unwrap()
}

/// The writes of [`run`], known in advance.
struct FutureWrites {
    random: Random,
    written: u32,
}

impl FutureOperations for FutureWrites {
    fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool {
        let fills = self.written < SIZE.logical_pages;
        sink(HostOp::Write(if fills { Lpn(self.written) } else { draw(&mut self.random) }));
        self.written += 1;
        true
    }
}

/// Builds the placement, which may know the writes of [`run`] in advance.
fn placement(value: &Value) -> Box<dyn Placement> {
    let config: PlacementConfig = serde_json::from_value(value.clone()).unwrap();
    let future = FutureWrites { random: Seed(2).random(), written: 0 };
    let to_foresight = |pages| Foresight::new(Box::new(future), SIZE.logical_pages, pages);
    placement_with(&config, config.look_ahead_pages(&SIZE).map(to_foresight))
}

fn placement_with(config: &PlacementConfig, foresight: Option<Foresight>) -> Box<dyn Placement> {
    let temperature: Option<Box<dyn Temperature>> = Some(Box::new(EveryFifth));
    config.build_boxed(PlacementContext { size: &SIZE, temperature, foresight }).unwrap()
}

fn report(store: &impl Layer<()>) -> LayerReport {
    let mut reports = Reports::default();
    store.describe(&mut reports);
    reports.layers.remove(0)
}

/// Writes pages, with their class as hint.
fn write(store: &mut impl Layer<()>, pages: impl Iterator<Item = Lpn>) {
    for page in pages {
        store.write(&[page], no_data(1), u16::from(EveryFifth.class_of(page))).unwrap();
    }
}

/// Returns the traffic of four drive writes after a warm-up of six, the report at the end, and a last draw.
fn run<P: Placement>(mut store: Store<P>) -> (Counters, LayerReport, u64) {
    let mut random = Seed(2).random();
    let mut drive_writes = |store: &mut Store<P>, count: u32| {
        write(store, (0..count * SIZE.logical_pages).map(|_| draw(&mut random)));
    };
    write(&mut store, (0..SIZE.logical_pages).map(Lpn));
    drive_writes(&mut store, 5);
    let before = report(&store).counters;
    drive_writes(&mut store, 4);
    let after = report(&store);
    store.check().unwrap();
    (after.counters.since(&before), after, store.final_draw())
}

fn write_amplification(victim: &str, value: &Value) -> f64 {
    let (counters, report, _) = run(store(victim, placement(value)));
    let amplification = counters.write_amplification().unwrap();
    let spilled = report.spilled_pages;
    println!("{victim:<14} WA {amplification:.3}  spilled {spilled:>6}  {value}");
    amplification
}

#[test]
fn informed_placements_beat_the_single_frontier() {
    for victim in ["greedy", "d_choices", "cost_benefit"] {
        let each = PLACEMENTS.iter().map(|entry| write_amplification(victim, &json!(entry.name)));
        let amplifications: Vec<f64> = each.collect();
        let amplification_of = |name: &str| {
            let at = PLACEMENTS.iter().position(|entry| entry.name == name).expect("in the table");
            amplifications[at]
        };
        assert!(amplifications.iter().all(|&amplification| amplification > 1.0));
        for informed in [
            "oracle",
            "host_hint",
            "write_count",
            "bloom",
            "age_classes",
            "learnt_lifetimes",
            "future_knowledge",
            "death_windows",
            "predicted_windows",
        ] {
            assert!(
                amplification_of(informed) < amplification_of("single"),
                "{informed} with {victim} does not beat the single frontier"
            );
        }
        // Perfect hints are equivalent to the oracle, except for the two streams that they leave unused.
        assert!((amplification_of("host_hint") / amplification_of("oracle") - 1.0).abs() < 0.01);
    }
}

/// Returns the write amplification of greedy cleaning under uniform writes, for many blocks of `b` pages at
/// utilisation `rho`.
///
/// Let `x` be the mean number of valid pages in a victim, `j = ceil(x)` and `H_n` the harmonic numbers. Then `x`
/// solves `b - x = b rho (H_b - H_j + (j - x) / j)`, which is linear in `x` for each `j`.
fn uniform_greedy(b: u32, rho: f64) -> f64 {
    let harmonic = |n: u32| (1..=n).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let whole = f64::from(b);
    let solutions = (1..b).map(|j| {
        let rest = whole * rho * (harmonic(b) - harmonic(j) + 1.0);
        (j, (whole - rest) / (1.0 - whole * rho / f64::from(j)))
    });
    let mut fitting = solutions.filter(|&(j, x)| x.ceil() == f64::from(j));
    whole / (whole - fitting.next_back().expect("some j fits its own solution").1)
}

/// Greedy reduces the victims of all classes to the same number of valid pages. If every block contains only one
/// class, each class has the same utilisation, and hot and cold data cost as much as uniform writes.
#[test]
fn greedy_with_the_oracle_costs_as_much_as_uniform_writes() {
    // Erased and half-written blocks hold no invalid pages: about three blocks in the pool, and half a block for each
    // of two streams.
    let in_use = f64::from(SIZE.blocks - 4) * f64::from(SIZE.pages_per_block);
    let expected = uniform_greedy(SIZE.pages_per_block, f64::from(SIZE.logical_pages) / in_use);
    let simulated = write_amplification("greedy", &json!("oracle"));
    assert!((simulated / expected - 1.0).abs() < 0.01, "{simulated} simulated, {expected} expected");
}

#[test]
fn placements_run_with_separate_cleaning() {
    for value in [
        json!({"kind": "oracle", "separate_cleaning": true}),
        json!({"kind": "write_count", "separate_cleaning": true, "thresholds": [2, 4, 8]}),
        json!({"kind": "bloom", "separate_cleaning": true}),
        json!({"kind": "host_hint", "streams": 2, "cleaned": "apart"}),
    ] {
        assert!(write_amplification("greedy", &value) > 1.0);
    }
}

#[test]
fn boxed_frontiers_behave_like_unboxed_frontiers() {
    for name in ["single", "double"] {
        let config: PlacementConfig = serde_json::from_value(json!(name)).unwrap();
        let (unboxed, _, draw) = run(store("d_choices", config.frontiers().unwrap()));
        let (boxed, _, boxed_draw) = run(store("d_choices", placement(&json!(name))));
        assert_eq!((unboxed, draw), (boxed, boxed_draw), "{name}");
    }
}

#[test]
fn every_placement_handles_trims() {
    for entry in PLACEMENTS {
        let config: PlacementConfig = serde_json::from_value(json!(entry.name)).unwrap();
        let mut store = store("cost_age_time", placement_with(&config, Some(Foresight::none())));
        let mut random = Seed(3).random();
        write(&mut store, (0..SIZE.logical_pages).map(Lpn));
        for _ in 0..SIZE.logical_pages {
            let page = draw(&mut random);
            match random_below(&mut random, 8) {
                0 => store.trim(&[page]).unwrap(),
                _ => write(&mut store, std::iter::once(page)),
            }
        }
        store.check().unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}
