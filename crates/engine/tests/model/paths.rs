//! Equal operations give equal results, regardless of the grouping into calls, the monomorphised instance and the
//! directory used.

use crate::naive::Observation;
use crate::naive::cases::{Op, ops, setup};
use crate::naive::observe::observe;
use crate::naive::rig::{Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::layer::{Bytes, Layer, Medium};
use wearwell_engine::log::{BlockTable, Directory, LogStore, Reclaim};
use wearwell_engine::nand::Nand;
use wearwell_engine::placement::{Frontiers, Placement};
use wearwell_engine::victim::{VictimPolicy, VictimVisitor};

/// Grouping of a batch of pages into calls.
#[derive(Clone, Copy)]
enum Batching {
    Whole,
    Single,
    Anywhere,
}

impl Batching {
    fn next(self, remaining: usize, random: &mut Random) -> usize {
        match self {
            Batching::Whole => remaining,
            Batching::Single => 1,
            Batching::Anywhere => 1 + random_below(random, remaining as u64) as usize,
        }
    }
}

/// Result of a run: the store's state, the content of its pages, and the last draw.
#[derive(Debug, PartialEq)]
struct Outcome<P> {
    state: Observation,
    contents: Vec<P>,
    final_draw: u64,
}

fn run<P, M, D, V, L>(mut store: LogStore<M, D, V, L>, ops: &[Op], batching: Batching) -> Outcome<P>
where
    P: Stamp,
    M: Medium<Payload = P>,
    D: Directory,
    V: VictimPolicy,
    L: Placement,
{
    let mut random = Seed(9).random();
    let mut contents = Vec::new();
    let mut version = 0;
    for op in ops {
        let pages = op.pages(store.logical_pages());
        let mut rest = &pages[..];
        while !rest.is_empty() {
            let (batch, remaining) = rest.split_at(batching.next(rest.len(), &mut random));
            let data: Vec<P> = (version + 1..).take(batch.len()).map(P::stamp).collect();
            match op {
                Op::Trim(_) | Op::TrimAll => store.trim(batch).unwrap(),
                Op::Read(_) => store.read(batch, &mut contents).unwrap(),
                Op::Flush => {}
                _ => {
                    store.write(batch, &data, op.hint()).unwrap();
                    version += batch.len() as u64;
                }
            }
            rest = remaining;
        }
    }
    store.check().unwrap();
    let state = observe(&store);
    let all: Vec<Lpn> = (0..store.logical_pages()).map(Lpn).collect();
    store.read(&all, &mut contents).unwrap();
    Outcome { state, contents, final_draw: store.final_draw() }
}

fn run_boxed<P: Stamp>(setup: &Setup, nand: Nand<P>, ops: &[Op], batching: Batching) -> Outcome<P> {
    let streams = setup.streams.build();
    run(
        LogStore::new(setup.config(), nand, setup.page_table(), setup.boxed_victim(), streams).unwrap(),
        ops,
        batching,
    )
}

/// Runs the engine monomorphised for the policy's own type.
struct Specialised<'a> {
    setup: &'a Setup,
    ops: &'a [Op],
}

impl VictimVisitor for Specialised<'_> {
    type Output = Outcome<()>;
    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Outcome<()> {
        let setup = self.setup;
        let store =
            LogStore::new(setup.config(), setup.nand(), setup.page_table(), victim, setup.streams.build());
        run(store.unwrap(), self.ops, Batching::Whole)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_code_path_gives_the_same_result(setup in setup(), ops in ops(12)) {
        let without_prefetch = Setup { prefetch: false, ..setup.clone() };
        let reference = run_boxed::<()>(&without_prefetch, without_prefetch.nand(), &ops, Batching::Single);
        for batching in [Batching::Whole, Batching::Anywhere] {
            prop_assert_eq!(&run_boxed(&without_prefetch, without_prefetch.nand(), &ops, batching), &reference, "cut into other batches");
        }
        let with_prefetch = Setup { prefetch: true, ..setup };
        prop_assert_eq!(&run_boxed(&with_prefetch, with_prefetch.nand(), &ops, Batching::Whole), &reference, "with prefetching");
        let specialised = with_prefetch.victim().visit(&with_prefetch.size(), Specialised { setup: &with_prefetch, ops: &ops });
        prop_assert_eq!(&specialised.unwrap(), &reference, "compiled for the policy");
        let with_spare_area = run_boxed(&without_prefetch, without_prefetch.nand().with_spare_area(), &ops, Batching::Whole);
        prop_assert_eq!(&with_spare_area, &reference, "keeping spare areas");
        let with_contents = run_boxed::<Bytes<8>>(&without_prefetch, without_prefetch.nand(), &ops, Batching::Anywhere);
        prop_assert_eq!(&with_contents.state, &reference.state, "keeping page contents");
        prop_assert_eq!(with_contents.final_draw, reference.final_draw);
        let prefetched_contents = run_boxed::<Bytes<8>>(&with_prefetch, with_prefetch.nand().with_spare_area(), &ops, Batching::Whole);
        prop_assert_eq!(prefetched_contents, with_contents, "the contents themselves");
    }

    /// A block directory lacks only the positions of pages within their blocks.
    #[test]
    fn block_directory_suffices_for_a_single_frontier_in_place(setup in setup(), ops in ops(12)) {
        let logical_pages = setup.logical_pages.min((setup.blocks - 1) * setup.pages_per_block);
        let setup = Setup { streams: Streams::Single, reclaim: Reclaim::InPlace, logical_pages, ..setup };
        let exact = run_boxed::<()>(&setup, setup.nand(), &ops, Batching::Whole);
        let directory = BlockTable::new(logical_pages);
        let store = LogStore::new(
            setup.config(), setup.nand::<()>(), directory, setup.boxed_victim(), Frontiers::single(),
        );
        let with_block_table = run(store.unwrap(), &ops, Batching::Anywhere);
        prop_assert_eq!(&with_block_table.state, &exact.state.clone().without_positions());
        prop_assert_eq!(with_block_table.final_draw, exact.final_draw);
    }
}
