//! The life cycle of a block, on pools small enough to count by hand: 6 blocks of 4 pages unless stated otherwise.

use super::*;
use crate::config::StoreSize;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RamPart, no_data};
use crate::nand::{Faults, Flash, Geometry, Nand, PageState, Wear};
use crate::seed::Seed;
use crate::units::Lpn;
use crate::victim::{VictimConfig, VictimPolicy};
use crate::wear::{BlockWear, WearConfig, WearLevelling};

type Tested = Pool<Nand<()>, Box<dyn VictimPolicy>>;

const HOST: StreamId = StreamId(0);

fn nand(wear: Wear) -> Nand<()> {
    let geometry = Geometry::flat(6, 4, 4096);
    Nand::new(geometry, wear, Seed(1)).with_spare_area()
}

fn config(marks: Option<Marks>) -> PoolConfig {
    PoolConfig { pages: 12, streams: 2, first_sequence: 0, marks, survives_failed_programs: true }
}

fn pool_on(nand: Nand<()>, policy: &str, marks: Option<Marks>) -> Tested {
    let size = StoreSize { blocks: 6, pages_per_block: 4, logical_pages: 12, seed: Seed(1) };
    let victim: VictimConfig = serde_json::from_value(policy.into()).unwrap();
    Pool::new(nand, victim.build_boxed(&size).unwrap(), config(marks))
}

fn pool(policy: &str) -> Tested {
    pool_on(nand(Wear::default()), policy, None)
}

/// Opens a block for the stream and fills it with pages `first` to `first + 3`.
fn fill(pool: &mut Tested, stream: StreamId, first: u32) -> BlockId {
    let block = pool.take_erased(Cause::Host).expect("an erased block");
    let frontier = pool.open(stream, block);
    let owners: Vec<Lpn> = (first..first + 4).map(Lpn).collect();
    assert_eq!(pool.program(stream, frontier, Some(&owners), no_data(4), Cause::Host), Ok(()));
    assert!(pool.move_frontier(stream, frontier, 4), "four pages fill a block");
    pool.close(block);
    block
}

fn invalidate(pool: &mut Tested, block: BlockId, pages: u32) {
    for _ in 0..pages {
        let score = pool.blocks.invalidate(block);
        pool.victim.invalidated(block, score, &pool.blocks);
    }
}

#[test]
fn block_cycles_from_erased_to_erased() {
    let mut pool = pool("greedy");
    assert_eq!(pool.erased, (0..6).map(BlockId).collect::<Vec<_>>());
    let block = fill(&mut pool, HOST, 0);
    assert_eq!(block, BlockId(0), "the one erased longest ago");
    assert!(pool.blocks.is_candidate(block) && !pool.is_open(block));
    assert_eq!(pool.written(block), 4);
    invalidate(&mut pool, block, 3);
    let mut fruitless = 0;
    assert_eq!(pool.take_victim(&mut fruitless), Some(block));
    pool.note_victim(block);
    assert_eq!(pool.victim_valid_pages, [0, 1, 0, 0, 0], "one victim with one valid page");
    assert_eq!(pool.give_back(block, Cause::Cleaning), Ok(true));
    assert_eq!(pool.erased.back(), Some(&block), "behind those erased before");
    assert_eq!(pool.counters.outgoing(Cause::Host, Operation::Write), 4);
    assert_eq!(pool.counters.outgoing(Cause::Cleaning, Operation::Erase), 1);
    assert_eq!(pool.sequence, 4);
    assert_eq!(pool.check(0), Ok(()));
}

#[test]
fn each_stream_has_an_open_block_and_room_in_it() {
    let mut pool = pool("greedy");
    let block = pool.take_erased(Cause::Host).unwrap();
    let frontier = pool.open(HOST, block);
    assert_eq!(pool.program(HOST, frontier, Some(&[Lpn(7)]), no_data(1), Cause::Host), Ok(()));
    assert!(!pool.move_frontier(HOST, frontier, 1));
    let moved = pool.take_erased(Cause::Cleaning).unwrap();
    pool.open(StreamId(1), moved);
    assert_eq!(pool.frontier_in(block), Some(Frontier { block, page: 1 }));
    assert_eq!((pool.written(block), pool.written(moved), pool.written(BlockId(5))), (1, 0, 0));
    assert_eq!(pool.open_room(), 3 + 4);
    assert_eq!(pool.check(0), Ok(()));
    assert!(pool.check(1).is_err(), "a block that is nowhere is missed");
}

#[test]
fn victims_full_of_valid_pages_are_counted_in_a_row() {
    let mut pool = pool("fifo");
    let blocks: Vec<BlockId> = (0..3).map(|block| fill(&mut pool, HOST, 4 * block)).collect();
    invalidate(&mut pool, blocks[1], 1);
    let mut fruitless = 0;
    assert_eq!(pool.take_victim(&mut fruitless), Some(blocks[0]));
    assert_eq!(fruitless, 1);
    assert_eq!(pool.take_victim(&mut fruitless), Some(blocks[1]));
    assert_eq!(fruitless, 0);
    fruitless = 64 * 6 + 1;
    assert_eq!(pool.take_victim(&mut fruitless), None, "given up, though a candidate is left");
    fruitless = 64 * 6;
    assert_eq!(pool.take_victim(&mut fruitless), Some(blocks[2]));
    assert_eq!(pool.take_victim(&mut 0), None, "no candidate is left");
}

#[test]
fn policy_is_notified_of_blocks_taken_by_the_engine() {
    let mut pool = pool("fifo");
    let blocks: Vec<BlockId> = (0..2).map(|block| fill(&mut pool, HOST, 4 * block)).collect();
    pool.take_candidate(blocks[0]);
    pool.take_candidate(blocks[0]);
    assert_eq!(pool.take_victim(&mut 0), Some(blocks[1]), "the first in the queue is gone");
}

#[test]
fn low_mark_starts_cleaning_and_waits_for_a_log_above() {
    let marks = Marks { low: 4, high: 5, deferred_low: Some(2), idle_high: Some(5) };
    let mut pool = pool_on(nand(Wear::default()), "greedy", Some(marks));
    assert_eq!(pool.marks_now(), Some((4, 5)));
    assert!(!pool.must_clean() && !pool.wants_idle_cleaning());
    fill(&mut pool, HOST, 0);
    fill(&mut pool, HOST, 4);
    assert!(pool.must_clean() && pool.wants_idle_cleaning());
    assert_eq!(
        [4, 5].map(|free| (pool.is_low(free), pool.wants_more_in_idle_time(free))),
        [(true, true), (false, false)]
    );
    pool.note_cleaning_above(true);
    pool.note_cleaning_above(true);
    pool.note_cleaning_above(false);
    assert_eq!(pool.marks_now(), Some((2, 2)), "one log above cleans still");
    assert!(!pool.must_clean());
    pool.count_deferral();
    assert_eq!(pool.deferrals, 1);
    pool.note_cleaning_above(false);
    assert!(pool.must_clean());
    pool.count_deferral();
    assert_eq!(pool.deferrals, 1, "nothing is put off");
}

#[test]
fn marks_must_be_ordered_and_above_the_reserve() {
    let marks = |low, deferred, idle| FreeBlocks { low, deferred, idle }.marks(3);
    let plain = Marks { low: 3, high: 3, deferred_low: None, idle_high: None };
    assert_eq!((marks(None, None, None), marks(Some(3), None, None)), (Ok(plain), Ok(plain)));
    for (deferred, idle) in [(3, 9), (7, 20)] {
        let all = Marks { low: 8, high: 8, deferred_low: Some(deferred), idle_high: Some(idle) };
        assert_eq!(marks(Some(8), Some(deferred), Some(idle)), Ok(all));
    }
    for (low, deferred, idle, key) in [
        (2, None, None, "free_blocks_low"),
        (8, Some(2), None, "free_blocks_deferred"),
        (8, Some(8), None, "free_blocks_deferred"),
        (8, None, Some(8), "free_blocks_idle"),
    ] {
        assert_eq!(marks(Some(low), deferred, idle).unwrap_err().key, key);
    }
}

#[test]
fn pool_without_marks_cleans_when_no_block_is_erased() {
    let pool = pool("greedy");
    assert_eq!([0, 1].map(|free| pool.is_low(free)), [true, false]);
    assert!(!pool.wants_more_in_idle_time(0) && !pool.wants_idle_cleaning());
}

/// Only a new drive has all its blocks erased.
#[test]
fn list_of_erased_blocks_shrinks() {
    let nand = Nand::<()>::new(Geometry::flat(1000, 4, 4096), Wear::default(), Seed(1));
    let mut pool = Pool::new(nand, NoVictims, config(None));
    let mut taken: Vec<BlockId> = (0..800).filter_map(|_| pool.take_erased(Cause::Host)).collect();
    assert!(pool.erased.capacity() >= 1000, "more than an eighth is left");
    taken.extend((800..995).filter_map(|_| pool.take_erased(Cause::Host)));
    assert!(taken.iter().copied().eq((0..995).map(BlockId)), "those erased first");
    assert_eq!(pool.erased, (995..1000).map(BlockId).collect::<Vec<_>>());
    assert!(pool.erased.capacity() <= 128, "{}", pool.erased.capacity());
}

#[test]
fn failed_program_sets_the_block_aside_until_it_is_retired() {
    let faults = Faults { program_failure_rate: 0.999_999, read_disturb_limit: None };
    let mut pool = pool_on(nand(Wear::default()).with_faults(faults, Seed(1)), "greedy", None);
    pool.needed_blocks = 6;
    let block = pool.take_erased(Cause::Host).unwrap();
    let frontier = pool.open(HOST, block);
    let owners = [Lpn(0), Lpn(1)];
    let error = pool.program(HOST, frontier, Some(&owners), no_data(2), Cause::Host).unwrap_err();
    assert_eq!(pool.taken_before(frontier, (Some(&owners), 2), Cause::Host, error), Ok(0));
    assert_eq!(pool.counters.outgoing(Cause::Host, Operation::Write), 0, "nothing was taken");
    pool.set_aside_failed(HOST, frontier, 0);
    assert_eq!(pool.frontiers[HOST.index()], None);
    assert!(pool.has_failed(block));
    assert_eq!(pool.check(0), Ok(()));
    assert_eq!(pool.give_back(block, Cause::Cleaning), Ok(false), "retired, not erased");
    assert!(pool.medium.is_bad(block) && !pool.has_failed(block));
    assert_eq!(pool.usable_blocks, 5);
    assert_eq!(pool.check_life(), Err(LayerError::EndOfLife { usable_blocks: 5, needed_blocks: 6 }));
    assert_eq!(pool.no_space(), pool.end_of_life(), "it is missing because it failed");
}

#[test]
fn block_set_aside_half_full_has_not_failed() {
    let mut pool = pool("greedy");
    let [half, failed] = [(); 2].map(|()| pool.take_erased(Cause::Host).unwrap());
    pool.set_aside.push(SetAside { block: half, written: 2, failed: false });
    pool.note_failed(Frontier { block: failed, page: 1 }, 2);
    assert_eq!(pool.set_aside[1], SetAside { block: failed, written: 3, failed: true });
    assert_eq!([half, failed, BlockId(5)].map(|block| pool.has_failed(block)), [false, true, false]);
    assert_eq!(pool.check(0), Ok(()));
    assert!(!pool.take_failed(half) && pool.take_failed(failed));
    assert_eq!(pool.set_aside.iter().map(|aside| aside.block).collect::<Vec<_>>(), [half]);
}

#[test]
fn failures_are_errors_if_they_cannot_be_survived() {
    let faults = Faults { program_failure_rate: 0.999_999, read_disturb_limit: None };
    let nand = nand(Wear::default()).with_faults(faults, Seed(1));
    let config = PoolConfig { survives_failed_programs: false, ..config(None) };
    let mut pool = Pool::new(nand, NoVictims, config);
    let frontier = pool.open(HOST, BlockId(0));
    let error = pool.program(HOST, frontier, None, no_data(1), Cause::Host).unwrap_err();
    assert_eq!(pool.taken_before(frontier, (None, 1), Cause::Host, error.clone()), Err(error));
}

#[test]
fn worn_out_block_leaves_the_pool() {
    let worn = Wear { endurance_cycles: Some(1), ..Wear::default() };
    let mut pool = pool_on(nand(worn), "greedy", None);
    pool.needed_blocks = 5;
    assert_eq!(pool.no_space(), LayerError::NoSpace, "no block was lost");
    for (round, erased) in [(1, true), (2, false)] {
        pool.erased.make_contiguous().sort_unstable();
        let block = fill(&mut pool, HOST, 0);
        pool.take_candidate(block);
        assert_eq!(pool.give_back(block, Cause::Cleaning), Ok(erased), "erase {round} of {block:?}");
    }
    assert_eq!((pool.usable_blocks, pool.erased.len()), (5, 5));
    assert_eq!(pool.check_life(), Ok(()));
    assert_eq!(pool.end_of_life(), LayerError::EndOfLife { usable_blocks: 5, needed_blocks: 6 });
    assert_eq!(pool.counters.outgoing(Cause::Cleaning, Operation::Erase), 1, "the failed erase is none");
}

#[test]
fn pages_of_a_group_are_marked_as_continued_until_the_last() {
    let mut pool = pool("greedy");
    let frontier = pool.open(HOST, BlockId(0));
    pool.begin_group(3);
    pool.program(HOST, frontier, Some(&[Lpn(0), Lpn(1)]), no_data(2), Cause::Host).unwrap();
    pool.program(HOST, Frontier { page: 2, ..frontier }, Some(&[Lpn(2)]), no_data(1), Cause::Host).unwrap();
    pool.end_group();
    pool.program(HOST, Frontier { page: 3, ..frontier }, Some(&[Lpn(3)]), no_data(1), Cause::Host).unwrap();
    let goes_on = |page| match pool.medium.spare(BlockId(0), page) {
        PageState::Written(spare) => spare.group_goes_on,
        other => panic!("page {page} is {other:?}"),
    };
    assert_eq!([0, 1, 2, 3].map(goes_on), [true, true, false, false]);
}

/// Policy that opens the block erased last, requests the given move, and records the reported programs.
struct Told {
    next: Option<BlockId>,
    programs: u64,
}

impl WearLevelling for Told {
    fn next_move(
        &mut self,
        programs: u64,
        look: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId> {
        self.programs += programs;
        let next = self.next.take()?;
        assert_eq!(look(next), Some(BlockWear { erases: 0, erased_at: 0 }));
        Some(next)
    }

    fn choose(&mut self, erased: &VecDeque<BlockId>, hot: bool) -> usize {
        if hot { 0 } else { erased.len() - 1 }
    }

    fn counts_erases(&self) -> bool {
        true
    }

    fn erased(&mut self, _block: BlockId, erases: u32) -> u32 {
        40 + erases
    }

    fn ram(&self) -> Vec<RamPart> {
        vec![RamPart { name: "told", bytes: 8 }]
    }
}

#[test]
fn wear_levelling_selects_blocks_to_move_and_to_open() {
    let mut pool = pool("fifo");
    let policy = Box::new(Told { next: Some(BlockId(0)), programs: 0 });
    pool.levelling = Some(Box::new(Levelling::new(policy, Vec::new(), 6, 0)));
    let full = fill(&mut pool, HOST, 0);
    assert_eq!(full, BlockId(0), "hot pages: the first");
    assert_eq!(pool.take_erased(Cause::Cleaning), Some(BlockId(5)), "cold pages: the last");
    pool.erased.push_back(BlockId(5));
    assert_eq!(pool.next_wear_move(Blocks::is_candidate), Some(full));
    assert_eq!(pool.next_wear_move(Blocks::is_candidate), None, "it names nothing more");
    pool.take_candidate(full);
    pool.give_back(full, Cause::WearLevelling).unwrap();
    let mut reads = [0; Cause::ALL.len()];
    reads[Cause::WearLevelling as usize] = 2;
    assert_eq!(pool.wear_spare_reads(), reads, "one to look, one before the erase");
    let mut levelling = pool.levelling.take().unwrap();
    levelling.forget_spare_reads();
    assert_eq!(levelling.spare_reads(), 0, "recovery tells of its own");
    assert_eq!(levelling.ram(), [RamPart { name: "told", bytes: 8 }]);
    assert_eq!(levelling.counts()[0], ("blocks moved for wear", 1));
    assert_eq!(levelling.into_erased_at(), [41, 0, 0, 0, 0, 0], "what the policy answered");
    assert_eq!(pool.counters.outgoing(Cause::WearLevelling, Operation::Erase), 1);
}

/// Erase timestamps are in spare areas, survive a power cut, and are used after a restart.
#[test]
fn wear_levelling_continues_with_surviving_timestamps() {
    let mut pool = pool("fifo");
    pool.level_with(None, vec![3]);
    assert!(pool.levelling.is_none(), "nothing is levelled");
    pool.level_with(Some(Box::new(Told { next: None, programs: 0 })), vec![3, 9]);
    let block = fill(&mut pool, HOST, 0);
    pool.take_candidate(block);
    pool.give_back(block, Cause::Cleaning).unwrap();
    assert_eq!(pool.into_remains().erased_at, [41, 9, 0, 0, 0, 0]);
    assert!(self::pool("fifo").into_remains().erased_at.is_empty());
}

#[test]
fn wear_levelling_skips_blocks_that_cannot_be_moved() {
    for open in [true, false] {
        let mut pool = pool("fifo");
        let policy = Box::new(Told { next: Some(BlockId(0)), programs: 0 });
        pool.levelling = Some(Box::new(Levelling::new(policy, Vec::new(), 6, 0)));
        if open {
            let block = pool.take_erased(Cause::Host).unwrap();
            pool.open(HOST, block);
        } else {
            fill(&mut pool, HOST, 0);
        }
        let may_move = |blocks: &Blocks, block| open && blocks.is_candidate(block);
        assert_eq!(pool.next_wear_move(may_move), None);
        assert_eq!(pool.levelling.unwrap().counts()[0].1, 0);
    }
}

#[test]
fn every_wear_policy_works_in_a_pool() {
    let size = StoreSize { blocks: 6, pages_per_block: 4, logical_pages: 12, seed: Seed(1) };
    for entry in crate::wear::WEAR_LEVELLINGS {
        let config: WearConfig = serde_json::from_value(entry.name.into()).unwrap();
        let mut pool = pool("fifo");
        let policy = config.build(&size).unwrap();
        pool.levelling = policy.map(|policy| Box::new(Levelling::new(policy, Vec::new(), 6, 0)));
        for round in 0..40 {
            let block = fill(&mut pool, HOST, round % 9);
            pool.take_candidate(block);
            assert_eq!(pool.give_back(block, Cause::Cleaning), Ok(true), "{}", entry.name);
            if let Some(block) = pool.next_wear_move(Blocks::is_candidate) {
                pool.take_candidate(block);
                pool.give_back(block, Cause::WearLevelling).unwrap();
            }
        }
        pool.recover_wear();
        assert_eq!(pool.check(0), Ok(()));
    }
}
