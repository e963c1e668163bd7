//! Equal operations give equal results, regardless of the grouping into calls, the monomorphised instance and the
//! directory used.

use crate::naive::Observation;
use crate::naive::cases::{Op, ops, setup};
use crate::naive::observe::observe;
use crate::naive::rig::{Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::seed::{Random, Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::layer::{Bytes, Layer, Medium};
use wearwell_engine::log::{BlockTable, Directory, LogStore, Reclaim};
use wearwell_engine::nand::Nand;
use wearwell_engine::placement::{Frontiers, Placement};
use wearwell_engine::victim::{VictimPolicy, VictimVisitor};

/// Grouping of a batch of pages into calls.
#[derive(Clone, Copy)]
enum Cut {
    Whole,
    Single,
    Anywhere,
}

impl Cut {
    fn next(self, left: usize, random: &mut Random) -> usize {
        match self {
            Cut::Whole => left,
            Cut::Single => 1,
            Cut::Anywhere => 1 + below(random, left as u64) as usize,
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

fn play<P, M, D, V, L>(mut store: LogStore<M, D, V, L>, ops: &[Op], cut: Cut) -> Outcome<P>
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
            let (now, later) = rest.split_at(cut.next(rest.len(), &mut random));
            let data: Vec<P> = (version + 1..).take(now.len()).map(P::stamp).collect();
            match op {
                Op::Trim(_) | Op::TrimAll => store.trim(now).unwrap(),
                Op::Read(_) => store.read(now, &mut contents).unwrap(),
                Op::Flush => {}
                _ => {
                    store.write(now, &data, op.hint()).unwrap();
                    version += now.len() as u64;
                }
            }
            rest = later;
        }
    }
    store.check().unwrap();
    let state = observe(&store);
    let all: Vec<Lpn> = (0..store.logical_pages()).map(Lpn).collect();
    store.read(&all, &mut contents).unwrap();
    Outcome { state, contents, final_draw: store.final_draw() }
}

fn boxed<P: Stamp>(setup: &Setup, nand: Nand<P>, ops: &[Op], cut: Cut) -> Outcome<P> {
    let streams = setup.streams.build();
    play(
        LogStore::new(setup.config(), nand, setup.page_table(), setup.boxed_victim(), streams).unwrap(),
        ops,
        cut,
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
        play(store.unwrap(), self.ops, Cut::Whole)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_code_path_gives_the_same_result(setup in setup(), ops in ops(12)) {
        let plain = Setup { prefetch: false, ..setup.clone() };
        let reference = boxed::<()>(&plain, plain.nand(), &ops, Cut::Single);
        for cut in [Cut::Whole, Cut::Anywhere] {
            prop_assert_eq!(&boxed(&plain, plain.nand(), &ops, cut), &reference, "cut into other batches");
        }
        let ahead = Setup { prefetch: true, ..setup };
        prop_assert_eq!(&boxed(&ahead, ahead.nand(), &ops, Cut::Whole), &reference, "with prefetching");
        let specialised = ahead.victim().visit(&ahead.size(), Specialised { setup: &ahead, ops: &ops });
        prop_assert_eq!(&specialised.unwrap(), &reference, "compiled for the policy");
        let spare = boxed(&plain, plain.nand().with_spare_area(), &ops, Cut::Whole);
        prop_assert_eq!(&spare, &reference, "keeping spare areas");
        let full = boxed::<Bytes<8>>(&plain, plain.nand(), &ops, Cut::Anywhere);
        prop_assert_eq!(&full.state, &reference.state, "keeping page contents");
        prop_assert_eq!(full.final_draw, reference.final_draw);
        let whole = boxed::<Bytes<8>>(&ahead, ahead.nand().with_spare_area(), &ops, Cut::Whole);
        prop_assert_eq!(whole, full, "the contents themselves");
    }

    /// A block directory lacks only the positions of pages within their blocks.
    #[test]
    fn block_directory_suffices_for_a_single_frontier_in_place(setup in setup(), ops in ops(12)) {
        let logical_pages = setup.logical_pages.min((setup.blocks - 1) * setup.pages_per_block);
        let setup = Setup { streams: Streams::Single, reclaim: Reclaim::InPlace, logical_pages, ..setup };
        let exact = boxed::<()>(&setup, setup.nand(), &ops, Cut::Whole);
        let directory = BlockTable::new(logical_pages);
        let store = LogStore::new(
            setup.config(), setup.nand::<()>(), directory, setup.boxed_victim(), Frontiers::single(),
        );
        let counted = play(store.unwrap(), &ops, Cut::Anywhere);
        prop_assert_eq!(&counted.state, &exact.state.clone().without_places());
        prop_assert_eq!(counted.final_draw, exact.final_draw);
    }
}
