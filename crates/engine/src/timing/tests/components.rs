//! Unit tests of the small parts.

use super::super::backlog::Backlog;
use super::super::block_erases::{BlockErases, Dependency};
use super::super::channel::{Channel, EventKind, NEVER, key, time_of};
use super::super::die::{Die, Queue};
use super::super::die_lookup::DieLookup;
use super::super::node::{Class, Kind, NONE, Nodes};
use super::super::parts::{PARTS, Parts};
use super::super::writes::WriteTracker;
use super::super::{
    Arrivals, BusyTime, Cleaning, Contention, Flash, FlashTiming, HashEngine, HostTiming, Journal, Layout,
    Priority, Step, Striping, Suspend,
};
use super::queues::{ONE_DIE, program, read};
use crate::counters::Cause;
use crate::seed::{Seed, random_below};
use crate::units::BlockId;

/// Returns parts of which the n-th is 2 to the power of n, times `unit`.
fn parts(unit: u64) -> Parts {
    let power = |at: u32| unit << at;
    Parts {
        queue_ns: power(0),
        queue_of_which_cleaning_ns: power(1),
        buffer_ns: power(2),
        buffer_of_which_cleaning_ns: power(3),
        controller_ns: power(4),
        link_ns: power(5),
        outage_ns: power(6),
        flush_ns: power(7),
        hash_wait_ns: power(8),
        hash_ns: power(9),
        cleaning_ns: power(10),
        die_wait_ns: power(11),
        die_wait_of_which_cleaning_ns: power(12),
        channel_wait_ns: power(13),
        channel_wait_of_which_cleaning_ns: power(14),
        transfer_ns: power(15),
        flash_ns: power(16),
        suspend_ns: power(17),
    }
}

#[test]
fn parts_add_up_to_the_response() {
    let all = parts(1);
    assert_eq!(all.values(), std::array::from_fn::<u64, PARTS, _>(|at| 1 << at));
    let of_which: Vec<usize> = (0..PARTS).filter(|&at| Parts::NAMES[at].contains("of_which")).collect();
    assert_eq!(of_which, [1, 3, 12, 14]);
    let whole: u64 = (0..PARTS).filter(|at| !of_which.contains(at)).map(|at| 1 << at).sum();
    assert_eq!(all.total_ns(), whole);
    assert_eq!(all.cleaning_total_ns(), (1 << 1) + (1 << 3) + (1 << 10) + (1 << 12) + (1 << 14));
    assert_eq!(all + parts(3), parts(4));
    assert_eq!(all + Parts::default(), all);
}

#[test]
fn fractions_are_rounded_down() {
    let fraction = |cleaning_ns: u64, flash_ns: u64| {
        Parts { cleaning_ns, flash_ns, ..Parts::default() }.cleaning_fraction()
    };
    assert_eq!(fraction(0, 0).of(1000), 0);
    assert_eq!(fraction(0, 5).of(1000), 0);
    assert_eq!(fraction(5, 0).of(1000), 1000, "all of it");
    assert_eq!(fraction(1, 1).of(1001), 500);
    // A third is 21845 of 65536, rounded down.
    assert_eq!((fraction(1, 2).of(3), fraction(1, 2).of(3 << 20)), (0, (21845 * (3u64 << 20)) >> 16));
    assert_eq!(fraction(u64::MAX / 4, u64::MAX / 4).of(u64::MAX), u64::MAX / 2);
}

#[test]
fn busy_times_are_sums_and_differences() {
    let busy = |unit: u64| BusyTime::from([unit, 10 * unit, 100 * unit, 1000 * unit]);
    assert_eq!(busy(2).total_ns(), 2222);
    assert_eq!(
        (busy(1).host_ns, busy(1).cleaning_ns, busy(1).other_ns, busy(1).suspend_ns),
        (1, 10, 100, 1000)
    );
    assert_eq!(busy(7) - busy(3), busy(4));
}

#[test]
fn only_future_intervals_count() {
    let mut backlog = Backlog::default();
    assert!(backlog.is_empty());
    assert_eq!(backlog.remaining_ns(0), 0);
    backlog.push(10, 20);
    backlog.push(20, 25);
    backlog.push(40, 50);
    assert!(!backlog.is_empty());
    assert_eq!([5, 10, 12, 20, 22].map(|now_ns| backlog.remaining_ns(now_ns)), [25, 25, 23, 15, 13]);
    assert_eq!([30, 40, 49, 50].map(|now_ns| backlog.remaining_ns(now_ns)), [10, 10, 1, 0]);
    assert!(backlog.is_empty());
}

#[test]
fn events_are_ordered_by_time_kind_and_number() {
    let kinds = [EventKind::End, EventKind::Arrival, EventKind::Choice, EventKind::Transfer];
    let keys: Vec<u128> = [3, 4]
        .iter()
        .flat_map(|&time_ns| {
            kinds.map(|turn| [0, 1, (1 << 62) - 1].map(|number| key(time_ns, turn, number))).concat()
        })
        .collect();
    assert!(keys.is_sorted_by(|one, other| one < other));
    assert_eq!(
        (time_of(keys[0]), time_of(keys[23]), time_of(key(u64::MAX, EventKind::Transfer, 5))),
        (3, 4, u64::MAX)
    );
    assert!(key(u64::MAX, EventKind::Transfer, 5) < NEVER);
}

#[test]
fn channel_is_granted_in_order() {
    let mut channel = Channel::default();
    assert_eq!(channel.grant(100, 10, Class::Host), (100, 0));
    assert_eq!(channel.grant(105, 20, Class::Cleaning), (110, 0), "behind a page of the host");
    // The transfer waits 5 ns for the host and 20 ns for cleaning.
    assert_eq!(channel.grant(105, 7, Class::Other), (130, 20));
    // Half of the cleaning transfer is over at this time.
    assert_eq!(channel.grant(120, 1, Class::Host), (137, 10));
    assert_eq!(channel.grant(200, 5, Class::Cleaning), (200, 0));
    assert_eq!((channel.free_ns, channel.busy_ns), (205, [11, 25, 7, 0]));
}

#[test]
fn waiting_operations_leave_the_queue_in_arrival_order() {
    let (mut nodes, mut queue) = (Nodes::new(), Queue::EMPTY);
    let all: Vec<u32> = (0..4).map(|_| nodes.create(Kind::Read, Class::Host, 0)).collect();
    assert_eq!(queue.head, NONE);
    queue.push(&mut nodes, all[2]);
    queue.push(&mut nodes, all[0]);
    assert_eq!(queue.pop(&nodes), all[2]);
    queue.push(&mut nodes, all[3]);
    assert_eq!((queue.pop(&nodes), queue.pop(&nodes), queue.head), (all[0], all[3], NONE));
    queue.push(&mut nodes, all[1]);
    assert_eq!((queue.pop(&nodes), queue.head), (all[1], NONE));
}

#[test]
fn die_busy_time_is_counted_by_class() {
    let mut die = Die::new(0);
    die.begin(Class::Cleaning, 10);
    // The interval is open: its end is not yet known.
    assert_eq!((die.busy_until(Class::Cleaning, 15), die.busy_until(Class::Host, 15)), (5, 0));
    assert_eq!(die.busy_until(Class::Cleaning, 9), 0);
    die.end(30);
    // The interval ends in the future.
    assert_eq!([10, 15, 30, 99].map(|now_ns| die.busy_until(Class::Cleaning, now_ns)), [0, 5, 20, 20]);
    die.add_interval(Class::Host, 30, 33);
    assert_eq!((die.busy_until(Class::Host, 31), die.busy_until(Class::Cleaning, 31)), (1, 20));
    assert_eq!(die.busy_ns(), [3, 20, 0, 0]);
}

#[test]
fn freed_nodes_and_edges_are_reused() {
    let mut nodes = Nodes::new();
    let [first, second, third] =
        [7, 8, 9].map(|begin_ns| nodes.create(Kind::Program, Class::Other, begin_ns));
    assert_eq!((nodes[second].number, nodes[second].release_ns, nodes.unfinished), (1, 8, 3));
    nodes.add_dependency(first, second);
    nodes.add_dependency(first, third);
    nodes.add_dependency(second, third);
    assert_eq!(
        (nodes[first].unmet_dependencies, nodes[second].unmet_dependencies, nodes[third].unmet_dependencies),
        (0, 1, 2)
    );
    let mut dependents =
        [nodes.take_dependent(first), nodes.take_dependent(first), nodes.take_dependent(first)];
    dependents.sort_unstable();
    assert_eq!(dependents, [None, Some(second), Some(third)]);
    nodes.remove(first);
    assert_eq!(nodes.unfinished, 2);
    let reused = nodes.create(Kind::Gate, Class::Host, 3);
    assert_eq!(
        (reused, nodes[reused].number, nodes[reused].unmet_dependencies, nodes.unfinished),
        (first, 3, 0, 3)
    );
    nodes.add_dependency(third, reused);
    assert_eq!(
        (nodes.take_dependent(third), nodes.take_dependent(second), nodes.take_dependent(second)),
        (Some(reused), Some(third), None)
    );
    // Parts before the release exist only after `set_wait_parts`.
    assert_eq!(nodes.wait_parts(reused), Parts::default());
    nodes.set_wait_parts(reused, parts(1));
    assert_eq!((nodes.wait_parts(reused), nodes.wait_parts(third)), (parts(1), Parts::default()));
    nodes.remove(reused);
    let reused_again = nodes.create(Kind::Gate, Class::Host, 0);
    assert_eq!((reused_again, nodes.wait_parts(reused_again)), (reused, Parts::default()));
    assert_eq!(
        [Cause::Host, Cause::Cleaning, Cause::Dedup].map(Class::from),
        [Class::Host, Class::Cleaning, Class::Other]
    );
}

#[test]
fn programs_wait_for_the_last_erase_of_their_block() {
    let mut erases = BlockErases::default();
    let block = BlockId(3);
    assert_eq!(erases.dependency(block, 0), Dependency::Nothing);
    erases.begin(block, 11);
    assert_eq!(
        (erases.dependency(block, 0), erases.dependency(BlockId(2), 0)),
        (Dependency::OnNode(11), Dependency::Nothing)
    );
    assert_eq!(erases.dependency(BlockId(9), 0), Dependency::Nothing, "a block that was never erased");
    // The block is erased again before the first erase has ended.
    erases.begin(block, 12);
    erases.end(block, 11, 50);
    assert_eq!(erases.dependency(block, 0), Dependency::OnNode(12));
    erases.end(block, 12, 70);
    assert_eq!(
        [60, 69, 70, 71].map(|now_ns| erases.dependency(block, now_ns)),
        [Dependency::Until(70), Dependency::Until(70), Dependency::Nothing, Dependency::Nothing]
    );
    erases.begin(BlockId(0), 13);
    assert_eq!(
        (erases.dependency(block, 60), erases.dependency(BlockId(0), 60)),
        (Dependency::Until(70), Dependency::OnNode(13))
    );
    erases.end(BlockId(0), 13, 40);
    assert_eq!(
        (erases.dependency(block, 60), erases.dependency(BlockId(0), 30)),
        (Dependency::Until(70), Dependency::Until(40))
    );
}

#[test]
fn flushes_wait_for_all_earlier_writes() {
    let mut writes = WriteTracker::default();
    writes.wait(90);
    assert_eq!(std::mem::take(&mut writes.released), [(90, 0)], "there is none");
    assert_eq!((writes.begin(), writes.begin()), (0, 1));
    writes.wait(91);
    assert_eq!(writes.begin(), 2);
    writes.wait(92);
    writes.end(1, 500);
    writes.end(2, 100);
    assert_eq!(writes.released, []);
    // Flushes 91 and 92 waited for the first write. The last end is that of another write.
    writes.end(0, 300);
    assert_eq!(std::mem::take(&mut writes.released), [(91, 500), (92, 500)]);
    writes.wait(93);
    assert_eq!(std::mem::take(&mut writes.released), [(93, 500)]);
    assert_eq!(writes.begin(), 3);
    writes.wait(94);
    writes.end(3, 200);
    assert_eq!(writes.released, [(94, 500)]);
}

#[test]
fn flush_release_matches_a_linear_scan_of_writes() {
    let mut random = Seed(2).random();
    let (mut writes, mut ends, mut under_way) = (WriteTracker::default(), Vec::new(), Vec::new());
    let mut flushes: Vec<(u32, usize)> = Vec::new();
    for step in 0..4_000u32 {
        match random_below(&mut random, 8) {
            0..3 => {
                under_way.push(writes.begin());
                ends.push(None);
            }
            3 => {
                writes.add_ended(u64::from(step));
                ends.push(Some(u64::from(step)));
            }
            4 => {
                flushes.push((step, ends.len()));
                writes.wait(step);
            }
            _ if under_way.is_empty() => {}
            _ => {
                let number =
                    under_way.swap_remove(random_below(&mut random, under_way.len() as u64) as usize);
                let end_ns = random_below(&mut random, 1_000_000);
                ends[number as usize] = Some(end_ns);
                writes.end(number, end_ns);
            }
        }
        let have_ended = |&&(_, before): &&(u32, usize)| ends[..before].iter().all(Option::is_some);
        let released = flushes.iter().take_while(have_ended).count();
        let latest = |before: usize| ends[..before].iter().map(|end| end.unwrap_or(0)).max().unwrap_or(0);
        let expected: Vec<(u32, u64)> =
            flushes.drain(..released).map(|(flush, before)| (flush, latest(before))).collect();
        assert_eq!(std::mem::take(&mut writes.released), expected);
    }
}

#[test]
fn die_lookup_matches_the_layout() {
    let mut random = Seed(1).random();
    for (channels, ways, dies, planes) in [(1, 1, 1, 1), (2, 2, 1, 2), (3, 1, 2, 4)] {
        let all = channels * ways * dies * planes;
        for superblock_blocks in [1, planes, all] {
            let units_per_page = 1 + random_below(&mut random, 4) as u32;
            let pages_per_block = 4 * units_per_page * superblock_blocks;
            let multi_plane = random_below(&mut random, 2) == 0;
            let striping = if random_below(&mut random, 2) == 0 { Striping::Block } else { Striping::Drive };
            let layout = Layout {
                channels,
                ways,
                dies,
                planes,
                superblock_blocks,
                units_per_page,
                pages_per_block,
                striping,
            };
            layout.check().unwrap();
            let lookup = DieLookup::new(&layout, multi_plane);
            let joint_pages = if striping == Striping::Drive && multi_plane { planes } else { 1 };
            for block in (0..3 * all).map(BlockId) {
                for flash_page in 0..pages_per_block / units_per_page {
                    let place = layout.locate(block, flash_page);
                    assert_eq!(lookup.die(block, flash_page), place.die);
                    assert!(place.die < layout.all_dies() && place.plane < planes);
                    assert_eq!(layout.channel_of(place.die), place.die / layout.dies_per_channel());
                }
            }
            for (page, units) in (0..20).flat_map(|page| (0..6).map(move |units| (page, units))) {
                let first = page / units_per_page;
                let is_one = units > 0 && (page + units - 1) / units_per_page == first;
                let is_full =
                    page + units == (first + 1) * units_per_page && (first + 1).is_multiple_of(joint_pages);
                assert_eq!(lookup.flash_page(page, units), (first, is_one, is_full));
            }
        }
    }
}

const TIMING: FlashTiming = FlashTiming {
    layout: Layout { pages_per_block: 4, ..ONE_DIE.layout },
    read_ns: 1,
    spare_read_ns: 1,
    program_ns: 1,
    erase_ns: 1,
    command_ns: 1,
    unit_transfer_ns: 1,
    suspend: Suspend { suspend_ns: 1, resume_ns: 1, ..ONE_DIE.suspend },
    hash: HashEngine { engines: 1, hash_ns: 1 },
    ..ONE_DIE
};

#[test]
fn times_of_more_than_an_hour_are_refused() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    type Change = fn(&mut FlashTiming, u64);
    let key = |change: Change, time_ns: u64| {
        let mut timing = TIMING;
        change(&mut timing, time_ns);
        timing.check().err().map(|error| error.key)
    };
    let changes: [(&str, Change); 9] = [
        ("read_ns", |timing, time_ns| timing.read_ns = time_ns),
        ("spare_read_ns", |timing, time_ns| timing.spare_read_ns = time_ns),
        ("program_ns", |timing, time_ns| timing.program_ns = time_ns),
        ("erase_ns", |timing, time_ns| timing.erase_ns = time_ns),
        ("command_ns", |timing, time_ns| timing.command_ns = time_ns),
        ("unit_transfer_ns", |timing, time_ns| timing.unit_transfer_ns = time_ns),
        ("suspend_ns", |timing, time_ns| timing.suspend.suspend_ns = time_ns),
        ("resume_ns", |timing, time_ns| timing.suspend.resume_ns = time_ns),
        ("hash_ns", |timing, time_ns| timing.hash.hash_ns = time_ns),
    ];
    for (name, change) in changes {
        assert_eq!((key(change, 0), key(change, HOUR_NS)), (None, None));
        assert_eq!(key(change, HOUR_NS + 1).as_deref(), Some(name));
    }
    assert_eq!(key(|timing, _| timing.hash.engines = 0, 0).as_deref(), Some("hash.engines"));
    assert_eq!(key(|timing, _| timing.layout.ways = 0, 0).as_deref(), Some("ways"));
}

#[test]
fn ends_are_known_on_arrival_only_without_suspension_and_priorities() {
    let first = TIMING.suspend;
    for (timing, is_eager, is_folded) in [
        (TIMING, true, true),
        (FlashTiming { contention: Contention::Channel, ..TIMING }, true, false),
        (FlashTiming { priority: Priority::ReadFirst, ..TIMING }, false, false),
        (FlashTiming { suspend: Suspend { erase: true, ..first }, ..TIMING }, false, false),
        (FlashTiming { suspend: Suspend { program: true, ..first }, ..TIMING }, false, false),
    ] {
        assert_eq!((timing.is_fifo(), timing.has_known_ends()), (is_eager, is_folded), "{timing:?}");
    }
}

/// Times of operations and busy times of dies and channels are counted separately, and compared.
#[test]
fn check_detects_times_that_do_not_add_up() {
    type Change = fn(&mut Flash);
    let changes: [(&str, Change); 5] = [
        ("channels busy", |flash| flash.operation_times.transfers_ns += 1),
        ("dies busy", |flash| flash.operation_times.operations_ns += 1),
        ("dies busy", |flash| flash.operation_times.suspending_ns += 1),
        ("dies busy", |flash| flash.operation_times.resuming_ns += 1),
        ("ns until", |flash| flash.last_end_ns -= 1),
    ];
    for contention in [Contention::Die, Contention::Channel] {
        let settled = || {
            let mut flash = Flash::new(FlashTiming { contention, ..ONE_DIE }).unwrap();
            flash.submit(0, 0, 0, &[read(0), program(0, 0, 1)], false);
            flash.advance(u64::MAX >> 1);
            flash
        };
        assert_eq!(settled().check(), Ok(()));
        for (expected, change) in changes {
            let mut flash = settled();
            change(&mut flash);
            let problem = flash.check().expect_err(expected);
            assert!(problem.contains(expected), "{problem}, expected: {expected}");
        }
    }
}

#[test]
fn host_timing_rejects_bad_values_and_computes_link_times() {
    let host = HostTiming {
        queue_depth: 1,
        arrivals: Arrivals::Open,
        cleaning: Cleaning::Foreground,
        controller_read_ns: 0,
        controller_write_ns: 0,
        link_bytes_per_us: Some(2048.0),
        page_bytes: 4096,
        write_buffer_pages: 0,
        power_off_ns: 0,
    };
    assert_eq!((host.check(), host.link_ns(1), host.link_ns(3), host.link_ns(0)), (Ok(()), 2000, 6000, 0));
    assert_eq!(
        HostTiming { link_bytes_per_us: Some(3000.0), ..host }.link_ns(1),
        1365,
        "to the next nanosecond"
    );
    let free = HostTiming { link_bytes_per_us: None, ..host };
    assert_eq!((free.check(), free.link_ns(9)), (Ok(()), 0));
    let key = |host: HostTiming| host.check().err().map(|error| error.key);
    assert_eq!(key(HostTiming { queue_depth: 0, ..host }).as_deref(), Some("queue_depth"));
    assert_eq!(key(HostTiming { page_bytes: 0, ..host }).as_deref(), Some("page_bytes"));
    for rate in [0.0, 1e-4, 1e10, f64::NAN, -1.0] {
        let refused = key(HostTiming { link_bytes_per_us: Some(rate), ..host });
        assert_eq!(refused.as_deref(), Some("link_bytes_per_us"), "{rate}");
    }
    assert_eq!(key(HostTiming { link_bytes_per_us: Some(1e-3), ..host }), None);
}

#[test]
fn journal_returns_steps_in_order_and_discards_them_while_paused() {
    let erase = |block: u32| Step::Erase { block: BlockId(block), cause: Cause::Host };
    let journal = Journal::default();
    let other = journal.clone();
    journal.push(erase(0));
    other.extend([1, 2].map(erase).into_iter());
    let mut steps = vec![erase(9)];
    journal.take(&mut steps);
    assert_eq!(steps, [9, 0, 1, 2].map(erase));
    other.take(&mut steps);
    assert_eq!(steps.len(), 4, "all were taken");
    journal.set_recording(false);
    other.push(erase(3));
    other.extend([erase(4)].into_iter());
    journal.set_recording(true);
    other.push(erase(5));
    steps.clear();
    journal.take(&mut steps);
    assert_eq!(steps, [erase(5)]);
    journal.push(erase(6));
    journal.clear();
    steps.clear();
    journal.take(&mut steps);
    assert_eq!(steps, []);
    let paused = Journal::paused();
    paused.push(erase(7));
    paused.take(&mut steps);
    assert_eq!(steps, []);
}
