//! Random setups within the documented limits, and random operations.

use super::rig::{Setup, Streams};
use proptest::prelude::*;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::log::{CopyOrder, Reclaim};
use wearwell_engine::nand::Wear;

/// An operation on a store of any size: page numbers are taken modulo the logical pages.
#[derive(Clone, Debug)]
pub enum Op {
    Write(Vec<u32>, u16),
    /// Random writes, drawn from a seed; their number is given in thousandths of the logical pages. If the flag is set,
    /// three of four writes go to the first quarter of the pages.
    Burst(u64, u32, bool),
    /// Sequential writes that begin at this page; their number is given in thousandths of the logical pages.
    Sequence(u32, u32),
    Trim(Vec<u32>),
    TrimAll,
    Read(Vec<u32>),
    Flush,
}

impl Op {
    pub fn hint(&self) -> u16 {
        if let Op::Write(_, hint) = self { *hint } else { 0 }
    }

    /// Returns the affected pages, in order.
    pub fn pages(&self, logical_pages: u32) -> Vec<Lpn> {
        let count = |thousandths: &u32| (u64::from(logical_pages) * u64::from(*thousandths)).div_ceil(1000);
        let page = |raw: u32| Lpn(raw % logical_pages);
        match self {
            Op::Write(raw, _) | Op::Trim(raw) | Op::Read(raw) => raw.iter().map(|&raw| page(raw)).collect(),
            Op::Burst(seed, length, skewed) => {
                let mut random = Seed(*seed).random();
                let mut draw = |bound: u32| random_below(&mut random, bound.into()) as u32;
                let hot = logical_pages.div_ceil(4);
                let draw_page = |_| Lpn(if *skewed && draw(4) > 0 { draw(hot) } else { draw(logical_pages) });
                (0..count(length)).map(draw_page).collect()
            }
            Op::Sequence(start, length) => {
                (0..count(length)).map(|at| page((start % logical_pages).wrapping_add(at as u32))).collect()
            }
            Op::TrimAll => (0..logical_pages).map(Lpn).collect(),
            Op::Flush => Vec::new(),
        }
    }
}

pub fn op() -> impl Strategy<Value = Op> {
    let some_pages = || prop::collection::vec(any::<u32>(), 0..30);
    prop_oneof![
        4 => (some_pages(), 0..4u16).prop_map(|(pages, hint)| Op::Write(pages, hint)),
        4 => (any::<u64>(), 1..1500u32, any::<bool>())
            .prop_map(|(seed, length, skewed)| Op::Burst(seed, length, skewed)),
        2 => (any::<u32>(), 1..1500u32).prop_map(|(start, length)| Op::Sequence(start, length)),
        3 => some_pages().prop_map(Op::Trim),
        1 => Just(Op::TrimAll),
        1 => some_pages().prop_map(Op::Read),
        1 => Just(Op::Flush),
    ]
}

/// Draws some operations, often after the device is filled: most tests would otherwise never fill it.
pub fn ops(longest: usize) -> impl Strategy<Value = Vec<Op>> {
    (any::<bool>(), prop::collection::vec(op(), 1..longest)).prop_map(|(filled, mut ops)| {
        if filled {
            ops.insert(0, Op::Sequence(0, 1000));
        }
        ops
    })
}

fn streams() -> impl Strategy<Value = Streams> {
    prop_oneof![
        3 => Just(Streams::Single),
        3 => Just(Streams::Double),
        2 => (1..=5u8, any::<bool>(), any::<bool>())
            .prop_map(|(streams, host, cleaning)| Streams::Mixing(streams, host, cleaning)),
    ]
}

fn reclaim() -> impl Strategy<Value = Reclaim> {
    prop_oneof![
        Just(Reclaim::InPlace),
        (1..=3u32, 0..=3u32).prop_map(|(low, more)| Reclaim::FreePool { low, high: low + more }),
    ]
}

/// Draws a utilisation: a third of the stores are completely full, the utilisation of the other stores is drawn.
fn load() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(1.0), 2 => 0.0..1.0f64]
}

prop_compose! {
    /// Draws a store of 2 to 40 blocks of 1 to 20 pages, or of as many blocks as its streams and watermarks need.
    pub fn setup()(
        (blocks, pages_per_block) in (2..=40u32, 1..=20u32),
        load in load(),
        streams in streams(),
        reclaim in reclaim(),
        random_copies in any::<bool>(),
        victim in prop::sample::select(&["greedy", "d_choices", "fifo", "random"][..]),
        choices in 1..=12u32,
        prefetch in any::<bool>(),
        seed in any::<u64>(),
    ) -> Setup {
        // In-place reclaim is defined only for single and double frontiers.
        let reclaim = match streams {
            Streams::Mixing(..) if reclaim == Reclaim::InPlace => Reclaim::FreePool { low: 1, high: 2 },
            _ => reclaim,
        };
        let reserve = match reclaim {
            Reclaim::InPlace => streams.count(),
            Reclaim::FreePool { low, high } => streams.count() + high.max(low + 1),
        };
        let blocks = blocks.max(reserve + 1);
        let max_pages = (blocks - reserve) * pages_per_block;
        let logical_pages = ((f64::from(max_pages) * load) as u32).max(1);
        let copy_order = if random_copies { CopyOrder::Random } else { CopyOrder::Oldest };
        let wear = Wear::default();
        Setup {
            blocks, pages_per_block, logical_pages, streams, reclaim, copy_order, victim, choices, prefetch, wear, seed,
            deferred_low: None,
            idle_high: None,
            evict: false,
        }
    }
}

prop_compose! {
    /// Draws a setup on flash that wears out soon and has factory bad blocks.
    pub fn wearing_setup()(
        setup in setup(),
        cycles in 0..12u32,
        factory_bad_blocks in 0..4u32,
        room in 0..8u32,
    ) -> Setup {
        let wear = Wear { endurance_cycles: Some(cycles), endurance_spread: 0.0, factory_bad_blocks };
        Setup { blocks: setup.blocks + factory_bad_blocks + room, wear, ..setup }
    }
}
