//! The life cycle of a block, on pools whose pages can be counted by hand: 6 blocks of 4 pages unless stated otherwise.

use super::*;
use crate::config::StoreSize;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RamPart, no_data};
use crate::nand::{Faults, Flash, Geometry, Nand, PageState, Wear};
use crate::seed::Seed;
use crate::units::Lpn;
use crate::victim::{VictimConfig, VictimPolicy};
use crate::wear::{BlockWear, WearConfig, WearLevelling};

type TestPool = Pool<Nand<()>, Box<dyn VictimPolicy>>;

const HOST: StreamId = StreamId(0);

fn nand(wear: Wear) -> Nand<()> {
    let geometry = Geometry::flat(6, 4, 4096);
    Nand::new(geometry, wear, Seed(1)).with_spare_area()
}

fn config(watermarks: Option<Watermarks>) -> PoolConfig {
    PoolConfig { pages: 12, streams: 2, first_sequence: 0, watermarks, survives_failed_programs: true }
}

fn pool_on(nand: Nand<()>, policy: &str, watermarks: Option<Watermarks>) -> TestPool {
    let size = StoreSize { blocks: 6, pages_per_block: 4, logical_pages: 12, seed: Seed(1) };
    let victim: VictimConfig = serde_json::from_value(policy.into()).unwrap();
    Pool::new(nand, victim.build_boxed(&size).unwrap(), config(watermarks))
}

fn pool(policy: &str) -> TestPool {
    pool_on(nand(Wear::default()), policy, None)
}

/// Opens a block for the stream and fills it with pages `first` to `first + 3`.
fn fill(pool: &mut TestPool, stream: StreamId, first: u32) -> BlockId {
    let block = pool.take_erased(Cause::Host).expect("an erased block");
    let frontier = pool.open(stream, block);
    let owners: Vec<Lpn> = (first..first + 4).map(Lpn).collect();
    assert_eq!(pool.program(stream, frontier, Some(&owners), no_data(4), Cause::Host), Ok(()));
    assert!(pool.advance_frontier(stream, frontier, 4), "four pages fill a block");
    pool.close(block);
    block
}

fn invalidate(pool: &mut TestPool, block: BlockId, pages: u32) {
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
    let mut full_victims = 0;
    assert_eq!(pool.take_victim(&mut full_victims), Some(block));
    pool.count_victim(block);
    assert_eq!(pool.victim_valid_pages, [0, 1, 0, 0, 0], "one victim with one valid page");
    assert_eq!(pool.reclaim(block, Cause::Cleaning), Ok(true));
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
    assert!(!pool.advance_frontier(HOST, frontier, 1));
    let moved = pool.take_erased(Cause::Cleaning).unwrap();
    pool.open(StreamId(1), moved);
    assert_eq!(pool.frontier_in(block), Some(Frontier { block, page: 1 }));
    assert_eq!((pool.written(block), pool.written(moved), pool.written(BlockId(5))), (1, 0, 0));
    assert_eq!(pool.open_room(), 3 + 4);
    assert_eq!(pool.check(0), Ok(()));
    assert!(pool.check(1).is_err(), "a block that is nowhere is missed");
}

#[test]
fn consecutive_victims_full_of_valid_pages_are_counted() {
    let mut pool = pool("fifo");
    let blocks: Vec<BlockId> = (0..3).map(|block| fill(&mut pool, HOST, 4 * block)).collect();
    invalidate(&mut pool, blocks[1], 1);
    let mut full_victims = 0;
    assert_eq!(pool.take_victim(&mut full_victims), Some(blocks[0]));
    assert_eq!(full_victims, 1);
    assert_eq!(pool.take_victim(&mut full_victims), Some(blocks[1]));
    assert_eq!(full_victims, 0);
    full_victims = 64 * 6 + 1;
    assert_eq!(pool.take_victim(&mut full_victims), None, "given up, though a candidate is left");
    full_victims = 64 * 6;
    assert_eq!(pool.take_victim(&mut full_victims), Some(blocks[2]));
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
    let watermarks = Watermarks { low: 4, high: 5, deferred_low: Some(2), idle_high: Some(5) };
    let mut pool = pool_on(nand(Wear::default()), "greedy", Some(watermarks));
    assert_eq!(pool.current_watermarks(), Some((4, 5)));
    assert!(!pool.must_clean() && !pool.needs_idle_cleaning());
    fill(&mut pool, HOST, 0);
    fill(&mut pool, HOST, 4);
    assert!(pool.must_clean() && pool.needs_idle_cleaning());
    assert_eq!(
        [4, 5].map(|free| (pool.is_low(free), pool.is_below_idle_target(free))),
        [(true, true), (false, false)]
    );
    pool.note_cleaning_above(true);
    pool.note_cleaning_above(true);
    pool.note_cleaning_above(false);
    assert_eq!(pool.current_watermarks(), Some((2, 2)), "one log above cleans still");
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
    let watermarks = |low, deferred, idle| FreeBlocks { low, deferred, idle }.watermarks(3);
    let plain = Watermarks { low: 3, high: 3, deferred_low: None, idle_high: None };
    assert_eq!((watermarks(None, None, None), watermarks(Some(3), None, None)), (Ok(plain), Ok(plain)));
    for (deferred, idle) in [(3, 9), (7, 20)] {
        let all = Watermarks { low: 8, high: 8, deferred_low: Some(deferred), idle_high: Some(idle) };
        assert_eq!(watermarks(Some(8), Some(deferred), Some(idle)), Ok(all));
    }
    for (low, deferred, idle, key) in [
        (2, None, None, "free_blocks_low"),
        (8, Some(2), None, "free_blocks_deferred"),
        (8, Some(8), None, "free_blocks_deferred"),
        (8, None, Some(8), "free_blocks_idle"),
    ] {
        assert_eq!(watermarks(Some(low), deferred, idle).unwrap_err().key, key);
    }
}

#[test]
fn pool_without_marks_cleans_when_no_block_is_erased() {
    let pool = pool("greedy");
    assert_eq!([0, 1].map(|free| pool.is_low(free)), [true, false]);
    assert!(!pool.is_below_idle_target(0) && !pool.needs_idle_cleaning());
}

/// The list of erased blocks shrinks once the drive is in use: only a new drive has all its blocks erased.
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
fn failed_program_leaves_block_pending_until_retired() {
    let faults = Faults { program_failure_rate: 0.999_999, read_disturb_limit: None };
    let mut pool = pool_on(nand(Wear::default()).with_faults(faults, Seed(1)), "greedy", None);
    pool.needed_blocks = 6;
    let block = pool.take_erased(Cause::Host).unwrap();
    let frontier = pool.open(HOST, block);
    let owners = [Lpn(0), Lpn(1)];
    let error = pool.program(HOST, frontier, Some(&owners), no_data(2), Cause::Host).unwrap_err();
    assert_eq!(pool.programmed_before_failure(frontier, (Some(&owners), 2), Cause::Host, error), Ok(0));
    assert_eq!(pool.counters.outgoing(Cause::Host, Operation::Write), 0, "nothing was taken");
    pool.close_failed_block(HOST, frontier, 0);
    assert_eq!(pool.frontiers[HOST.index()], None);
    assert!(pool.has_failed(block));
    assert_eq!(pool.check(0), Ok(()));
    assert_eq!(pool.reclaim(block, Cause::Cleaning), Ok(false), "retired, not erased");
    assert!(pool.medium.is_bad(block) && !pool.has_failed(block));
    assert_eq!(pool.usable_blocks, 5);
    assert_eq!(pool.check_end_of_life(), Err(LayerError::EndOfLife { usable_blocks: 5, needed_blocks: 6 }));
    assert_eq!(pool.no_space(), pool.end_of_life(), "it is missing because it failed");
}

#[test]
fn half_full_pending_block_has_not_failed() {
    let mut pool = pool("greedy");
    let [half, failed] = [(); 2].map(|()| pool.take_erased(Cause::Host).unwrap());
    pool.pending_blocks.push(PendingBlock { block: half, written: 2, is_failed: false });
    pool.add_failed_block(Frontier { block: failed, page: 1 }, 2);
    assert_eq!(pool.pending_blocks[1], PendingBlock { block: failed, written: 3, is_failed: true });
    assert_eq!([half, failed, BlockId(5)].map(|block| pool.has_failed(block)), [false, true, false]);
    assert_eq!(pool.check(0), Ok(()));
    assert!(!pool.take_failed(half) && pool.take_failed(failed));
    assert_eq!(pool.pending_blocks.iter().map(|aside| aside.block).collect::<Vec<_>>(), [half]);
}

#[test]
fn failed_program_is_an_error_if_not_survivable() {
    let faults = Faults { program_failure_rate: 0.999_999, read_disturb_limit: None };
    let nand = nand(Wear::default()).with_faults(faults, Seed(1));
    let config = PoolConfig { survives_failed_programs: false, ..config(None) };
    let mut pool = Pool::new(nand, NoVictims, config);
    let frontier = pool.open(HOST, BlockId(0));
    let error = pool.program(HOST, frontier, None, no_data(1), Cause::Host).unwrap_err();
    assert_eq!(pool.programmed_before_failure(frontier, (None, 1), Cause::Host, error.clone()), Err(error));
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
        assert_eq!(pool.reclaim(block, Cause::Cleaning), Ok(erased), "erase {round} of {block:?}");
    }
    assert_eq!((pool.usable_blocks, pool.erased.len()), (5, 5));
    assert_eq!(pool.check_end_of_life(), Ok(()));
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
    let group_continues = |page| match pool.medium.spare(BlockId(0), page) {
        PageState::Written(spare) => spare.group_continues,
        other => panic!("page {page} is {other:?}"),
    };
    assert_eq!([0, 1, 2, 3].map(group_continues), [true, true, false, false]);
}

/// Policy that opens the block erased last, requests the given move, and records the reported programs.
struct ScriptedLevelling {
    next: Option<BlockId>,
    programs: u64,
}

impl WearLevelling for ScriptedLevelling {
    fn next_move(
        &mut self,
        programs: u64,
        read_wear: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId> {
        self.programs += programs;
        let next = self.next.take()?;
        assert_eq!(read_wear(next), Some(BlockWear { erases: 0, erased_at: 0 }));
        Some(next)
    }

    fn choose(&mut self, erased: &VecDeque<BlockId>, is_hot: bool) -> usize {
        if is_hot { 0 } else { erased.len() - 1 }
    }

    fn uses_erase_counts(&self) -> bool {
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
    let policy = Box::new(ScriptedLevelling { next: Some(BlockId(0)), programs: 0 });
    pool.levelling = Some(Box::new(Levelling::new(policy, Vec::new(), 6, 0)));
    let full = fill(&mut pool, HOST, 0);
    assert_eq!(full, BlockId(0), "hot pages: the first");
    assert_eq!(pool.take_erased(Cause::Cleaning), Some(BlockId(5)), "cold pages: the last");
    pool.erased.push_back(BlockId(5));
    assert_eq!(pool.next_wear_move(Blocks::is_candidate), Some(full));
    assert_eq!(pool.next_wear_move(Blocks::is_candidate), None, "it names nothing more");
    pool.take_candidate(full);
    pool.reclaim(full, Cause::WearLevelling).unwrap();
    let mut reads = [0; Cause::ALL.len()];
    reads[Cause::WearLevelling as usize] = 2;
    assert_eq!(pool.wear_spare_reads(), reads, "one to look, one before the erase");
    let mut levelling = pool.levelling.take().unwrap();
    levelling.reset_spare_reads();
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
    pool.set_wear_levelling(None, vec![3]);
    assert!(pool.levelling.is_none(), "nothing is levelled");
    pool.set_wear_levelling(Some(Box::new(ScriptedLevelling { next: None, programs: 0 })), vec![3, 9]);
    let block = fill(&mut pool, HOST, 0);
    pool.take_candidate(block);
    pool.reclaim(block, Cause::Cleaning).unwrap();
    assert_eq!(pool.into_surviving_flash().erased_at, [41, 9, 0, 0, 0, 0]);
    assert!(self::pool("fifo").into_surviving_flash().erased_at.is_empty());
}

#[test]
fn wear_levelling_skips_blocks_that_cannot_be_moved() {
    for open in [true, false] {
        let mut pool = pool("fifo");
        let policy = Box::new(ScriptedLevelling { next: Some(BlockId(0)), programs: 0 });
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
            assert_eq!(pool.reclaim(block, Cause::Cleaning), Ok(true), "{}", entry.name);
            if let Some(block) = pool.next_wear_move(Blocks::is_candidate) {
                pool.take_candidate(block);
                pool.reclaim(block, Cause::WearLevelling).unwrap();
            }
        }
        pool.recover_wear();
        assert_eq!(pool.check(0), Ok(()));
    }
}
