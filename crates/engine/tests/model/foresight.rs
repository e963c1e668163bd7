//! Policies with knowledge of the future on whole drives, compared with policies without.

use serde_json::{Value, json};
use wearwell_base::config::StoreSize;
use wearwell_base::foresight::{Foresight, FutureOperations, HostOp};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::layer::{Layer, Reports, no_data};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PlacementConfig, PlacementContext};
use wearwell_engine::victim::VictimConfig;

const PAGES_PER_BLOCK: u32 = 16;

/// A host that writes all pages in order, and then writes uniformly random pages.
struct Uniform {
    random: Random,
    pages: u32,
    written: u32,
}

impl Uniform {
    fn new(pages: u32) -> Self {
        Uniform { random: Seed(4).random(), pages, written: 0 }
    }

    fn draw(&mut self) -> Lpn {
        let fills = self.written < self.pages;
        let page =
            if fills { self.written } else { random_below(&mut self.random, u64::from(self.pages)) as u32 };
        self.written += 1;
        Lpn(page)
    }
}

impl FutureOperations for Uniform {
    fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool {
        sink(HostOp::Write(self.draw()));
        true
    }
}

/// Returns the write amplification over three drive writes after a warm-up of three, on a drive of `blocks` blocks
/// with 10 % spare space.
fn write_amplification(blocks: u32, placement: &Value, victim: &Value) -> f64 {
    let logical_pages = blocks * PAGES_PER_BLOCK / 10 * 9;
    let size = StoreSize { blocks, pages_per_block: PAGES_PER_BLOCK, logical_pages, seed: Seed(1) };
    let placement: PlacementConfig = serde_json::from_value(placement.clone()).unwrap();
    let victim: VictimConfig = serde_json::from_value(victim.clone()).unwrap();
    let look_ahead_pages = placement.look_ahead_pages(&size).max(victim.look_ahead_pages(&size));
    let foresight =
        Foresight::new(Box::new(Uniform::new(logical_pages)), logical_pages, look_ahead_pages.unwrap_or(1));
    let policy = victim.build_with_foresight(&size, &foresight).unwrap();
    let context = PlacementContext { size: &size, temperature: None, foresight: Some(foresight) };
    let streams = placement.build_boxed(context).unwrap();
    let nand: Nand<()> = Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), Wear::default(), size.seed);
    let table = PageTable::new(logical_pages, blocks, PAGES_PER_BLOCK);
    let config = StoreConfig::new(logical_pages, Reclaim::FreePool { low: 2, high: 2 }, size.seed);
    let mut store = LogStore::new(config, nand, table, policy, streams).unwrap();
    let mut host = Uniform::new(logical_pages);
    let counters = |store: &dyn Layer<()>| {
        let mut reports = Reports::default();
        store.describe(&mut reports);
        reports.layers.remove(0).counters
    };
    let mut drive_writes = |store: &mut dyn Layer<()>, count: u32| {
        (0..count * logical_pages).for_each(|_| store.write(&[host.draw()], no_data(1), 0).unwrap());
    };
    drive_writes(&mut store, 4);
    let before = counters(&store);
    drive_writes(&mut store, 3);
    store.check().unwrap();
    let amplification = counters(&store).since(&before).write_amplification().unwrap();
    println!("{blocks:>5} blocks, {placement:?} with {victim:?}: {amplification:.4}");
    amplification
}

#[test]
fn rewrites_become_negligible_as_drives_grow() {
    let rewritten_fractions = [64, 128, 256, 512, 1024, 2048]
        .map(|blocks| write_amplification(blocks, &json!("death_windows"), &json!("foresight")) - 1.0);
    assert!(rewritten_fractions.windows(2).all(|pair| pair[1] < pair[0]), "{rewritten_fractions:?}");
    assert!(
        rewritten_fractions[5] < 0.01 && rewritten_fractions[0] > 10.0 * rewritten_fractions[5],
        "{rewritten_fractions:?}"
    );
}

/// Greedy is the best deterministic algorithm without foreknowledge, and uniform writes cannot be predicted.
#[test]
fn foreknowledge_beats_greedy_and_predictions_lie_between() {
    let greedy = json!("greedy");
    let amplification_of = |placement: Value, victim: &Value| write_amplification(512, &placement, victim);
    let double_frontier = amplification_of(json!("double"), &greedy);
    let paper = amplification_of(json!("future_knowledge"), &greedy);
    let exact = amplification_of(json!("death_windows"), &greedy);
    let predicted =
        |error: f64| amplification_of(json!({"kind": "predicted_windows", "error": error}), &greedy);
    let by_error = [0.0, 0.1, 0.5, 2.0, 1000.0].map(predicted);
    // If all invalidations are within the look-ahead when pages are written, exact predictions equal foreknowledge,
    // except for a page that is moved while it is being overwritten.
    let with_long_look_ahead = |kind: &str, error: Option<f64>| {
        let mut settings = json!({"kind": kind, "look_ahead": 30.0});
        error.into_iter().for_each(|error| settings["error"] = json!(error));
        amplification_of(settings, &greedy)
    };
    let (long_predicted, long_exact) =
        (with_long_look_ahead("predicted_windows", Some(0.0)), with_long_look_ahead("death_windows", None));
    assert!((long_predicted / long_exact - 1.0).abs() < 0.01, "{long_predicted} beside {long_exact}");
    assert!(exact < paper && paper < 1.05 * double_frontier, "{exact}, {paper}, {double_frontier}");
    assert!(by_error.windows(2).all(|pair| pair[0] < 1.02 * pair[1]), "{by_error:?}");
    assert!(by_error[2] < 0.95 * double_frontier, "{by_error:?} beside {double_frontier}");
    // Useless predictions cost no more than one or two streams that stay half empty.
    assert!(by_error[4] < 1.03 * double_frontier, "{by_error:?} beside {double_frontier}");
    assert!(amplification_of(json!("death_windows"), &json!("foresight")) < exact);
}
