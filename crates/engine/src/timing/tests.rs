//! The simulated flash device, compared with a naive model that has one heap of events.

mod components;
mod hosts;
mod naive;
mod outages;
mod queues;
mod timed;

use crate::counters::Cause;
use crate::timing::{
    Completion, Contention, Flash, FlashTiming, HashEngine, Layout, Priority, Step, Striping, Suspend,
};
use crate::units::BlockId;
use naive::{NaiveDevice, Request};
use proptest::prelude::*;

const PAGES_PER_BLOCK: u32 = 64;

/// Blocks of the tested device.
const BLOCKS: u32 = 24;

fn layout() -> impl Strategy<Value = Layout> {
    let striping = prop_oneof![Just(Striping::Block), Just(Striping::Drive)];
    let sizes = (1..4u32, 1..3u32, 1..3u32, 0..3u32);
    (sizes, striping).prop_map(|((channels, ways, planes, superblock), striping)| Layout {
        channels,
        ways,
        dies: 1,
        planes,
        superblock_blocks: [1, planes, channels * ways * planes][superblock as usize],
        units_per_page: 1,
        pages_per_block: PAGES_PER_BLOCK * 3,
        striping,
    })
}

fn timing() -> impl Strategy<Value = FlashTiming> {
    let suspend = (any::<bool>(), any::<bool>(), 0..20u64, 0..20u64).prop_map(
        |(erase, program, suspend_ns, resume_ns)| Suspend { erase, program, suspend_ns, resume_ns },
    );
    let times = (1..80u64, 1..9u64, 1..300u64, 1..900u64, 0..6u64, 1..40u64);
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>());
    (layout(), times, kinds, prop_oneof![Just(Suspend::default()), suspend], 1..3u32, 0..50u64).prop_map(
        |(
            layout,
            (read_ns, spare_read_ns, program_ns, erase_ns, command_ns, unit_transfer_ns),
            kinds,
            suspend,
            engines,
            hash_ns,
        )| {
            FlashTiming {
                // The number of pages must be divisible by dies and planes.
                layout: Layout { pages_per_block: layout.superblock_blocks * PAGES_PER_BLOCK, ..layout },
                read_ns,
                spare_read_ns,
                program_ns,
                erase_ns,
                command_ns,
                unit_transfer_ns,
                contention: if kinds.0 { Contention::Channel } else { Contention::Die },
                priority: if kinds.1 { Priority::Fcfs } else { Priority::ReadFirst },
                suspend,
                multi_plane: false,
                copyback: false,
                erase_ahead: kinds.2,
                hash: HashEngine { engines, hash_ns },
            }
        },
    )
}

/// Groups of steps as layers issue them.
fn group() -> impl Strategy<Value = Vec<Step>> {
    let block = || (0..BLOCKS).prop_map(BlockId);
    let reads = |cause: Cause, block: BlockId, count: u32| {
        (0..count).map(move |page| Step::Read { block, page: 7 * page % PAGES_PER_BLOCK, cause })
    };
    prop_oneof![
        4 => (block(), 1..4u32).prop_map(move |(block, count)| reads(Cause::Host, block, count).collect()),
        1 => (block(), 0..4u32, any::<bool>(), any::<bool>()).prop_map(|(block, page, cleans, reads)| {
            let cause = if cleans { Cause::Cleaning } else { Cause::Host };
            let read = reads.then_some(Step::Read { block, page, cause });
            [Step::ReadSpare { block, page, cause }].into_iter().chain(read).collect()
        }),
        4 => (block(), 0..60u32, 1..4u32).prop_map(|(block, page, pages)| {
            vec![Step::Program { block, page, pages, cause: Cause::Host }]
        }),
        1 => (1..4u32, 0..120u32).prop_map(|(pages, percent)| {
            vec![Step::Hash { pages, cause: Cause::Host, percent }]
        }),
        2 => (block(), block(), 0..5u32, any::<bool>()).prop_map(move |(victim, block, pages, hashes)| {
            let cause = Cause::Cleaning;
            let mut steps: Vec<Step> = reads(cause, victim, pages).collect();
            if hashes && pages > 0 {
                steps.push(Step::Hash { pages, cause, percent: 100 });
            }
            if pages > 0 {
                steps.push(Step::Program { block, page: 3, pages, cause });
            }
            steps.push(Step::Erase { block: victim, cause });
            steps
        }),
    ]
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request =
        (prop_oneof![Just(0), 0..40u64, 0..1500u64], 0..30u64, prop::collection::vec(group(), 0..4));
    prop::collection::vec(request, 1..60).prop_map(|requests| {
        let mut now_ns = 0;
        requests
            .into_iter()
            .map(|(gap_ns, link_ns, groups)| {
                now_ns += gap_ns;
                let mut steps = groups.concat();
                // Consecutive reads of one page would be one operation.
                steps.dedup();
                Request { now_ns, start_ns: now_ns + link_ns, steps }
            })
            .collect()
    })
}

/// Runs the requests at once, or event by event.
fn run(timing: FlashTiming, requests: &[Request], foreground: bool, by_event: bool) -> Vec<Completion> {
    let mut flash = Flash::new(timing).unwrap();
    for (tag, request) in requests.iter().enumerate() {
        while by_event && flash.next_event_ns().is_some_and(|event_ns| event_ns < request.now_ns) {
            flash.step();
            flash.check().unwrap();
        }
        flash.submit(tag as u32, request.now_ns, request.start_ns, &request.steps, foreground);
    }
    flash.advance(u64::MAX);
    assert!(flash.is_settled());
    flash.check().unwrap();
    let mut finished: Vec<Completion> = flash.drain_finished().collect();
    finished.sort_by_key(|finished| finished.tag);
    finished
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn ends_match_the_naive_device(
        timing in timing(), requests in requests(), foreground in any::<bool>(), by_event in any::<bool>(),
    ) {
        let finished = run(timing, &requests, foreground, by_event);
        let ends: Vec<u64> = finished.iter().map(|finished| finished.done_ns).collect();
        prop_assert_eq!(ends, NaiveDevice::new(timing, foreground).run(&requests));
        for (finished, request) in finished.iter().zip(&requests) {
            prop_assert_eq!(finished.parts.total_ns(), finished.done_ns - request.start_ns, "{:?}", finished);
            prop_assert!(finished.parts.die_wait_of_which_cleaning_ns <= finished.parts.die_wait_ns);
            prop_assert!(finished.parts.channel_wait_of_which_cleaning_ns <= finished.parts.channel_wait_ns);
        }
    }

    #[test]
    fn channels_without_transfer_time_add_no_waits(timing in timing(), requests in requests(), foreground in any::<bool>()) {
        let channel = FlashTiming {
            command_ns: 0, unit_transfer_ns: 0, contention: Contention::Channel, ..timing
        };
        let die = FlashTiming { contention: Contention::Die, ..channel };
        // Requests of a single step only: if a step arrives at the moment at which another step ends, their order may
        // differ.
        let is_single = |request: &&Request| matches!(request.steps[..], [Step::Read { .. } | Step::Program { .. }]);
        let requests: Vec<Request> = requests.iter().filter(is_single).cloned().collect();
        prop_assert_eq!(run(channel, &requests, foreground, false), run(die, &requests, foreground, false));
    }

    #[test]
    fn immediate_operations_end_like_queued_ones(
        timing in timing(), mut requests in requests(), foreground in any::<bool>(),
    ) {
        let mut finished = Vec::new();
        let (mut queued, mut immediate) = (Flash::new(timing).unwrap(), Flash::new(timing).unwrap());
        for (tag, request) in (0..).zip(&mut requests) {
            let now_ns = request.now_ns;
            request.start_ns = now_ns;
            queued.advance(now_ns);
            immediate.advance(now_ns);
            prop_assert_eq!(queued.die_busy(now_ns), immediate.die_busy(now_ns));
            prop_assert_eq!(queued.channel_busy(), immediate.channel_busy_before(now_ns));
            queued.submit(tag, now_ns, now_ns, &request.steps, foreground);
            let single = match request.steps[..] {
                [step] => immediate.single_operation(now_ns, now_ns, step),
                _ => None,
            };
            match single {
                Some(single) => match immediate.try_complete(now_ns, &single) {
                    Some((done_ns, parts)) => finished.push(Completion { tag, done_ns, parts }),
                    None => immediate.submit_single(tag, now_ns, now_ns, single),
                },
                None => immediate.submit(tag, now_ns, now_ns, &request.steps, foreground),
            }
        }
        for flash in [&mut queued, &mut immediate] {
            flash.advance(u64::MAX >> 1);
            prop_assert!(flash.is_settled());
            flash.check().unwrap();
        }
        let end_ns = queued.last_end_ns();
        prop_assert_eq!(end_ns, immediate.last_end_ns());
        prop_assert_eq!(queued.die_busy(end_ns), immediate.die_busy(end_ns));
        prop_assert_eq!(queued.channel_busy(), immediate.channel_busy());
        finished.extend(immediate.drain_finished());
        finished.sort_by_key(|finished| finished.tag);
        let mut expected: Vec<Completion> = queued.drain_finished().collect();
        expected.sort_by_key(|finished| finished.tag);
        prop_assert_eq!(finished, expected);
    }
}
