//! Offline policies compared with the exact optimum, on drives small enough for it.

use super::bound;
use super::optimum::{Op, fewest_rewrites};
use proptest::prelude::*;
use serde_json::{Value, json};
use wearwell_base::config::StoreSize;
use wearwell_base::foresight::{Foresight, FutureOperations, HostOp};
use wearwell_base::seed::Seed;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Layer, Reports, no_data};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PlacementConfig, PlacementContext};
use wearwell_engine::victim::VictimConfig;
use wearwell_study::limit::InitialFlash;

struct OpList(std::vec::IntoIter<Op>);

impl FutureOperations for OpList {
    fn next(&mut self, see: &mut dyn FnMut(HostOp)) -> bool {
        let next = self.0.next().map(|op| match op {
            Op::Write(page) => HostOp::Write(Lpn(page.into())),
            Op::Trim(page) => HostOp::Trim(Lpn(page.into())),
        });
        next.map(see).is_some()
    }
}

/// Drive with an offline policy.
struct Drive {
    blocks: u32,
    pages_per_block: u8,
    pages: u8,
    reclaim: Reclaim,
    placement: Value,
    victim: Value,
}

impl Drive {
    /// Returns the rewrites of `ops` on erased flash.
    fn rewrites(&self, ops: &[Op]) -> u64 {
        let size = StoreSize {
            blocks: self.blocks,
            pages_per_block: self.pages_per_block.into(),
            logical_pages: self.pages.into(),
            seed: Seed(3),
        };
        let victim: VictimConfig = serde_json::from_value(self.victim.clone()).unwrap();
        let placement: PlacementConfig = serde_json::from_value(self.placement.clone()).unwrap();
        let look_ahead = victim
            .look_ahead_pages(&size)
            .max(placement.look_ahead_pages(&size))
            .expect("something knows the future");
        let foresight =
            Foresight::new(Box::new(OpList(Vec::from(ops).into_iter())), size.logical_pages, look_ahead);
        let victim = victim.build_with_foresight(&size, &foresight).unwrap();
        let context = PlacementContext { size: &size, temperature: None, foresight: Some(foresight) };
        let placement = placement.build_boxed(context).unwrap();
        let nand: Nand<()> =
            Nand::new(Geometry::flat(size.blocks, size.pages_per_block, 4096), Wear::default(), size.seed);
        let table = PageTable::new(size.logical_pages, size.blocks, size.pages_per_block);
        let config = StoreConfig::new(size.logical_pages, self.reclaim, size.seed);
        let mut store = LogStore::new(config, nand, table, victim, placement).unwrap();
        for &op in ops {
            match op {
                Op::Write(page) => store.write(&[Lpn(page.into())], no_data(1), 0).unwrap(),
                Op::Trim(page) => store.trim(&[Lpn(page.into())]).unwrap(),
            }
        }
        store.check().unwrap();
        let mut reports = Reports::default();
        store.describe(&mut reports);
        reports.layers[0].counters.outgoing(Cause::Cleaning, Operation::Write)
    }
}

fn drives() -> [Drive; 3] {
    let foresight = json!({"policy": "foresight", "look_ahead": 20.0});
    let pool = Reclaim::FreePool { low: 1, high: 1 };
    let in_place = |blocks, pages_per_block, pages| Drive {
        blocks,
        pages_per_block,
        pages,
        reclaim: Reclaim::InPlace,
        placement: json!("single"),
        victim: foresight.clone(),
    };
    let windows = json!({"kind": "death_windows", "streams": 2, "window_pages": 3});
    [
        in_place(4, 2, 5),
        in_place(3, 3, 5),
        Drive {
            blocks: 6,
            pages_per_block: 2,
            pages: 4,
            reclaim: pool,
            placement: windows,
            victim: foresight.clone(),
        },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn offline_policy_is_between_optimum_and_all_writes(
        drive in 0..3usize, draws in prop::collection::vec((0u8..12, any::<u8>()), 1..30),
    ) {
        let drive = &drives()[drive];
        let op = |&(kind, draw): &(u8, u8)| {
            if kind == 0 { Op::Trim(draw % drive.pages) } else { Op::Write(draw % drive.pages) }
        };
        let ops: Vec<Op> = draws.iter().map(op).collect();
        let blocks = drive.blocks as usize;
        let optimum = fewest_rewrites(&ops, blocks, drive.pages_per_block).expect("all pages fit");
        let found = drive.rewrites(&ops);
        prop_assert!(bound(&ops, blocks, drive.pages_per_block, InitialFlash::Erased) <= optimum);
        prop_assert!(optimum <= found, "optimum {optimum}, found {found}");
    }
}

/// A sequence for which both the optimum and the offline policy need rewrites.
#[test]
fn drive_with_scarce_space_needs_rewrites_offline() {
    let drive = &drives()[1];
    let ops: Vec<Op> = (0..60u32).map(|at| Op::Write((at * at / 3 % 5) as u8)).collect();
    let optimum = fewest_rewrites(&ops, 3, 3).unwrap();
    let found = drive.rewrites(&ops);
    println!("optimum {optimum}, with the future known {found}, of {} writes", ops.len());
    assert!(optimum <= found && found <= 60);
}
