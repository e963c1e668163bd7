//! The device compared with queueing theory, and tests of its host side.

use crate::counters::Cause;
use crate::seed::{Random, Seed};
use crate::timing::{
    Arrivals, Cleaning, Clock, Contention, Flash, FlashTiming, HashEngine, HostTiming, Journal, Layout,
    Priority, Step, Striping, Suspend, TimingReport,
};
use crate::units::BlockId;
use rand::Rng;
use wearwell_base::request::Op;

pub(super) const ONE_DIE: FlashTiming = FlashTiming {
    layout: Layout {
        channels: 1,
        ways: 1,
        dies: 1,
        planes: 1,
        superblock_blocks: 1,
        units_per_page: 1,
        pages_per_block: 64,
        striping: Striping::Block,
    },
    read_ns: 50_000,
    program_ns: 400_000,
    spare_read_ns: 2_000,
    erase_ns: 3_000_000,
    command_ns: 0,
    unit_transfer_ns: 10_000,
    contention: Contention::Die,
    priority: Priority::Fcfs,
    suspend: Suspend { erase: false, program: false, suspend_ns: 0, resume_ns: 0 },
    multi_plane: false,
    copyback: false,
    erase_ahead: false,
    hash: HashEngine { engines: 1, hash_ns: 14_000 },
};

pub(super) const HOST: HostTiming = HostTiming {
    queue_depth: u32::MAX,
    arrivals: Arrivals::Open,
    cleaning: Cleaning::Background,
    controller_read_ns: 0,
    controller_write_ns: 0,
    link_bytes_per_us: None,
    page_bytes: 4096,
    write_buffer_pages: 0,
    power_off_ns: 0,
};

pub(super) struct Rig {
    pub(super) journal: Journal,
    pub(super) clock: Clock,
}

impl Rig {
    pub(super) fn new(host: HostTiming, flash: FlashTiming) -> Rig {
        let journal = Journal::default();
        let clock = Clock::new(host, Flash::new(flash).unwrap(), journal.clone()).unwrap();
        Rig { journal, clock }
    }

    pub(super) fn request(&mut self, op: Op, pages: u32, arrival_ns: u64, steps: &[Step]) -> u64 {
        let dispatch_ns = self.clock.next_dispatch(op, pages, arrival_ns);
        self.journal.extend(steps.iter().copied());
        self.clock.serve(op, pages);
        dispatch_ns
    }

    pub(super) fn finish(mut self) -> TimingReport {
        self.clock.drain();
        self.clock.check().unwrap();
        let report = self.clock.report();
        let busy = report.dies.iter().chain(&report.channels);
        assert!(busy.map(|busy| busy.total_ns()).all(|busy_ns| busy_ns <= report.elapsed_ns));
        for times in report.requests.values() {
            let parts = times.parts_ns.iter().filter(|(name, _)| !name.contains("of_which"));
            let sum: f64 = parts.map(|(_, mean)| mean).sum();
            assert!((sum - times.mean_ns).abs() < 1e-6 * sum.max(1.0), "{sum} {}", times.mean_ns);
        }
        report
    }
}

pub(super) fn read(block: u32) -> Step {
    Step::Read { block: BlockId(block), page: 0, cause: Cause::Host }
}

pub(super) fn program(block: u32, page: u32, pages: u32) -> Step {
    Step::Program { block: BlockId(block), page, pages, cause: Cause::Host }
}

fn gap_ns(random: &mut Random, mean_ns: f64) -> u64 {
    (-mean_ns * libm::log(1.0 - random.random::<f64>())) as u64
}

/// Returns the mean waiting times of batches of requests with random arrivals, a fraction of them programs.
fn mean_waits(flash: FlashTiming, load: f64, programs: f64, batches: usize) -> Vec<f64> {
    let mut random = Seed(7).derive("timing").random();
    let service_ns = |is_program: bool| if is_program { flash.program_ns } else { flash.read_ns };
    let transfer_ns = flash.unit_transfer_ns as f64;
    let mean_ns =
        transfer_ns + programs * service_ns(true) as f64 + (1.0 - programs) * service_ns(false) as f64;
    let mut rig = Rig::new(HOST, flash);
    let (mut now_ns, mut means) = (0, Vec::new());
    for _ in 0..batches {
        rig.clock.reset();
        for _ in 0..20_000 {
            now_ns += gap_ns(&mut random, mean_ns / load);
            let is_program = random.random::<f64>() < programs;
            let (op, step) = if is_program { (Op::Write, program(0, 0, 1)) } else { (Op::Read, read(0)) };
            rig.request(op, 1, now_ns, &[step]);
        }
        rig.clock.drain();
        let report = rig.clock.report();
        let waited =
            report.requests.values().map(|times| times.parts_ns["die_wait_ns"] * times.requests as f64);
        let requests: u64 = report.requests.values().map(|times| times.requests).sum();
        means.push(waited.sum::<f64>() / requests as f64);
    }
    means.split_off(1)
}

fn assert_mean(values: &[f64], expected: f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} ± {error}, expected {expected}");
    assert!(error < 0.05 * expected, "{mean} ± {error} says little");
}

#[test]
fn one_die_with_reads_matches_the_m_d_1_queue() {
    for load in [0.3, 0.7] {
        let service_ns = 60_000.0;
        assert_mean(&mean_waits(ONE_DIE, load, 0.0, 21), load * service_ns / (2.0 * (1.0 - load)));
    }
    // The event simulation gives the same times as the calculation without events.
    let by_events = FlashTiming { contention: Contention::Channel, priority: Priority::ReadFirst, ..ONE_DIE };
    assert_eq!(mean_waits(by_events, 0.7, 0.0, 2), mean_waits(ONE_DIE, 0.7, 0.0, 2));
}

/// Pollaczek–Khinchine formula: `W = lambda E[S²] / (2 (1 - rho))`.
#[test]
fn one_die_with_reads_and_programs_matches_the_m_g_1_queue() {
    let (read_ns, program_ns, share, load) = (60_000.0f64, 410_000.0f64, 0.3, 0.6);
    let mean_ns = share * program_ns + (1.0 - share) * read_ns;
    let square = share * program_ns.powi(2) + (1.0 - share) * read_ns.powi(2);
    assert_mean(&mean_waits(ONE_DIE, load, share, 31), load / mean_ns * square / (2.0 * (1.0 - load)));
}

#[test]
fn closed_loop_saturates_all_dies_and_obeys_littles_law() {
    let layout = Layout { channels: 4, ways: 2, ..ONE_DIE.layout };
    let flash = FlashTiming { layout, contention: Contention::Channel, unit_transfer_ns: 0, ..ONE_DIE };
    let host = HostTiming { queue_depth: 8, arrivals: Arrivals::Closed, ..HOST };
    let mut rig = Rig::new(host, flash);
    for number in 0..8000 {
        rig.request(Op::Read, 1, 0, &[read(number)]);
    }
    let report = rig.finish();
    assert_eq!(report.elapsed_ns, 1000 * 50_000);
    assert!((report.requests_per_s - 8.0 * 1e9 / 50_000.0).abs() < 1e-3);
    // With random dies, some are idle, but the number of requests in the device stays at the queue depth.
    let mut random = Seed(3).random();
    let mut rig =
        Rig::new(HostTiming { queue_depth: 16, ..host }, FlashTiming { unit_transfer_ns: 9000, ..flash });
    for _ in 0..40_000 {
        rig.request(Op::Read, 1, 0, &[read(random.random_range(0..8))]);
    }
    let report = rig.finish();
    let in_device = report.requests_per_s * 1e-9 * report.requests["read"].mean_ns;
    assert!((in_device - 16.0).abs() < 0.02, "{in_device}");
}

#[test]
fn full_queue_delays_dispatch() {
    let mut rig = Rig::new(HostTiming { queue_depth: 2, ..HOST }, ONE_DIE);
    let accepted_ns: Vec<u64> = (0..4).map(|number| rig.request(Op::Read, 1, number, &[read(0)])).collect();
    assert_eq!(accepted_ns, [0, 1, 60_000, 120_000]);
    let reads = &rig.finish().requests["read"];
    assert_eq!((reads.max_ns, reads.requests), (240_000 - 3, 4));
}

/// A read that the flash finished long ago still uses the link; the trim behind it ends earlier and frees its queue
/// slot.
#[test]
fn queue_slot_is_freed_by_the_request_that_ends_first() {
    let layout = Layout { channels: 2, ..ONE_DIE.layout };
    let flash = FlashTiming { layout, priority: Priority::ReadFirst, ..ONE_DIE };
    let host = HostTiming { queue_depth: 2, link_bytes_per_us: Some(40.96), ..HOST };
    let mut rig = Rig::new(host, flash);
    let on_the_link = rig.request(Op::Read, 1, 0, &[read(0)]);
    let on_the_other_die = rig.request(Op::Trim, 1, 10_000, &[read(1)]);
    assert_eq!([on_the_link, on_the_other_die], [0, 10_000]);
    assert_eq!(rig.request(Op::Trim, 1, 65_000, &[read(1)]), 70_000);
    let report = rig.finish();
    assert_eq!((report.requests["read"].max_ns, report.requests["trim"].max_ns), (160_000, 65_000));
}

#[test]
fn write_buffer_answers_early_until_it_is_full() {
    let host = HostTiming { write_buffer_pages: 2, link_bytes_per_us: Some(4096.0), ..HOST };
    let mut rig = Rig::new(host, ONE_DIE);
    let accepted_ns: Vec<u64> =
        (0..4).map(|page| rig.request(Op::Write, 1, 0, &[program(0, page, 1)])).collect();
    assert_eq!(accepted_ns, [0, 0, 411_000, 821_000]);
    rig.request(Op::Flush, 0, 900_000, &[]);
    let report = rig.finish();
    let writes = &report.requests["write"];
    assert_eq!(writes.max_ns, 822_000);
    assert_eq!(writes.parts_ns["link_ns"], 1250.0);
    assert_eq!(report.requests["flush"].max_ns, 1_641_000 - 900_000);
}

#[test]
fn flush_waits_only_for_earlier_writes() {
    let layout = Layout { channels: 2, ..ONE_DIE.layout };
    let mut rig = Rig::new(HOST, FlashTiming { layout, ..ONE_DIE });
    rig.request(Op::Write, 1, 0, &[program(0, 0, 1)]);
    rig.request(Op::Flush, 0, 1000, &[]);
    rig.request(Op::Write, 2, 2000, &[program(1, 0, 2)]);
    rig.request(Op::Trim, 9, 3000, &[]);
    let report = rig.finish();
    assert_eq!(report.requests["flush"].max_ns, 409_000);
    assert_eq!(report.requests["trim"].max_ns, 0);
    assert_eq!(report.requests["write"].max_ns, 820_000);
}

fn cleaning(pages: u32) -> Vec<Step> {
    let cause = Cause::Cleaning;
    let mut steps: Vec<Step> = (0..pages).map(|page| Step::Read { block: BlockId(0), page, cause }).collect();
    steps.push(Step::Program { block: BlockId(1), page: 0, pages, cause });
    steps.push(Step::Erase { block: BlockId(0), cause });
    steps
}

#[test]
fn writes_wait_only_for_foreground_cleaning() {
    let layout = Layout { channels: 3, ..ONE_DIE.layout };
    let flash = FlashTiming { layout, ..ONE_DIE };
    for (kind, other, response_ns, waited) in [
        (Cleaning::Foreground, 2, 60_000 + 410_000 + 3_000_000 + 410_000, 3_470_000.0),
        (Cleaning::Background, 2, 410_000, 0.0),
        // The program is in the block that is being erased.
        (Cleaning::Background, 0, 60_000 + 410_000 + 3_000_000 + 410_000, 3_470_000.0),
    ] {
        let mut rig = Rig::new(HostTiming { cleaning: kind, ..HOST }, flash);
        let mut steps = cleaning(1);
        steps.push(program(other, 0, 1));
        rig.request(Op::Write, 1, 0, &steps);
        rig.request(Op::Read, 1, 0, &[read(0)]);
        let report = rig.finish();
        let writes = &report.requests["write"];
        assert_eq!((writes.max_ns, writes.parts_ns["cleaning_ns"]), (response_ns, waited));
        // The read waits for cleaning's read on its die.
        assert_eq!(report.requests["read"].parts_ns["die_wait_of_which_cleaning_ns"], 60_000.0);
        assert_eq!(report.timeline.bins.iter().map(|bin| bin.victims).sum::<u64>(), 1);
        let busy: u64 = report.timeline.bins.iter().map(|bin| bin.cleaning_busy_ns).sum();
        assert_eq!(busy, report.dies.iter().map(|busy| busy.cleaning_ns).sum::<u64>());
    }
}

/// Runs a write that cleans first, and ten reads that arrive at the same time. Returns the sums over the reads of the
/// waits for a place, and of the parts that cleaning caused.
fn reads_behind_cleaning(kind: Cleaning) -> (f64, f64, TimingReport) {
    let layout = Layout { channels: 3, ..ONE_DIE.layout };
    let host = HostTiming { cleaning: kind, queue_depth: 1, ..HOST };
    let mut rig = Rig::new(host, FlashTiming { layout, ..ONE_DIE });
    let mut steps = cleaning(1);
    steps.push(program(2, 0, 1));
    rig.request(Op::Write, 1, 0, &steps);
    for _ in 0..10 {
        rig.request(Op::Read, 1, 0, &[read(2)]);
    }
    let report = rig.finish();
    let sum = |name: &str| report.requests["read"].parts_ns[name] * 10.0;
    (sum("queue_ns"), sum("queue_of_which_cleaning_ns"), report)
}

#[test]
fn one_cleaning_makes_ten_requests_wait_for_a_queue_slot() {
    let (write_ns, waited_ns, read_ns) = (3_880_000u64, 3_470_000u64, 60_000u64);
    let (mut response_ns, mut cleaning_ns, mut sums_ns) = (write_ns, waited_ns, (0, 0));
    for _ in 0..10 {
        // Each wait is as long as the response of the previous request, which waited for all requests before it.
        let fraction = (cleaning_ns << 16) / response_ns;
        cleaning_ns = (response_ns * fraction) >> 16;
        sums_ns = (sums_ns.0 + response_ns, sums_ns.1 + cleaning_ns);
        response_ns += read_ns;
        assert!(10 * cleaning_ns > 7 * response_ns);
    }
    let (queue_ns, of_which_ns, report) = reads_behind_cleaning(Cleaning::Foreground);
    assert_eq!((queue_ns, of_which_ns), (sums_ns.0 as f64, sums_ns.1 as f64));
    let reads = &report.requests["read"];
    assert!(reads.percentiles.iter().all(|percentile| percentile.cleaning_share > 0.7), "{reads:?}");
    // With background cleaning no request waits for cleaning, and shares of zero must not become negative zeros.
    let (queue_ns, of_which_ns, report) = reads_behind_cleaning(Cleaning::Background);
    assert!(queue_ns > 0.0 && of_which_ns == 0.0);
    let percentiles = &report.requests["read"].percentiles;
    assert!(percentiles.iter().all(|percentile| percentile.cleaning_share.to_bits() == 0));
}

#[test]
fn buffer_kept_full_by_cleaning_makes_writes_wait() {
    let host = HostTiming { write_buffer_pages: 1, cleaning: Cleaning::Foreground, ..HOST };
    let layout = Layout { channels: 3, ..ONE_DIE.layout };
    let mut rig = Rig::new(host, FlashTiming { layout, ..ONE_DIE });
    let mut steps = cleaning(1);
    steps.push(program(2, 0, 1));
    rig.request(Op::Write, 1, 0, &steps);
    assert_eq!(rig.request(Op::Write, 1, 0, &[program(2, 1, 1)]), 3_880_000);
    let writes = &rig.finish().requests["write"];
    let fraction = (3_470_000u64 << 16) / 3_880_000;
    assert_eq!(writes.parts_ns["buffer_ns"] * 2.0, 3_880_000.0);
    assert_eq!(writes.parts_ns["buffer_of_which_cleaning_ns"] * 2.0, ((3_880_000 * fraction) >> 16) as f64);
}

#[test]
fn host_reads_wait_for_the_last_read_of_the_mapping_table_before_them() {
    // Each page is on its own die and channel.
    let layout = Layout { channels: 5, ..ONE_DIE.layout };
    let map = |block: u32| Step::Read { block: BlockId(block), page: 0, cause: Cause::Translation };
    for (steps, response_ns) in [
        (vec![map(0), read(1)], 120_000),
        (vec![read(1), map(0)], 60_000),
        // Reads of the mapping table wait neither for each other nor for earlier reads of the host.
        (vec![map(0), map(2), read(1), read(3)], 120_000),
        // The die of the last map read is still busy with the previous map read.
        (vec![map(0), map(5), read(1)], 180_000),
        // The last map read ends before the other map reads.
        (vec![map(0), map(5), map(10), map(2), read(1)], 180_000),
        (vec![map(0), read(1), map(2), read(3)], 120_000),
    ] {
        let mut rig = Rig::new(HOST, FlashTiming { layout, ..ONE_DIE });
        rig.request(Op::Read, 2, 0, &steps);
        assert_eq!(rig.finish().requests["read"].max_ns, response_ns, "{steps:?}");
    }
}

#[test]
fn idle_time_is_reported_and_used_for_cleaning() {
    let mut rig = Rig::new(HOST, ONE_DIE);
    rig.request(Op::Read, 1, 0, &[read(0)]);
    assert_eq!(rig.clock.idle(60_000), None);
    assert_eq!(rig.clock.idle(100_000), Some(60_000));
    rig.journal.extend(cleaning(1).into_iter());
    rig.clock.serve_cleaning();
    assert_eq!(rig.clock.idle(200_000), None);
    rig.request(Op::Read, 1, 200_000, &[read(0)]);
    let report = rig.finish();
    // The read waits for the program under way; the erase comes after the read.
    let reads = &report.requests["read"];
    assert_eq!(reads.max_ns, 60_000 + 60_000 + 410_000 - 200_000 + 60_000);
    let fraction = reads.percentiles[5].cleaning_share;
    assert!((fraction - 330.0 / 390.0).abs() < 1e-3, "{reads:?}");
}

#[test]
fn planes_work_together_and_copies_stay_on_the_die() {
    let layout = Layout { planes: 2, superblock_blocks: 2, units_per_page: 2, ..ONE_DIE.layout };
    let both = FlashTiming { layout, multi_plane: true, ..ONE_DIE };
    let response_ns = |flash: FlashTiming, steps: &[Step]| {
        let mut rig = Rig::new(HOST, flash);
        rig.request(Op::Write, 1, 0, steps);
        rig.finish().requests["write"].max_ns
    };
    // Four units fill a row of both planes; units five and six fill a single page.
    assert_eq!(response_ns(both, &[program(0, 0, 4)]), 40_000 + 400_000);
    assert_eq!(response_ns(both, &[program(0, 0, 6)]), 40_000 + 400_000 + 20_000 + 400_000);
    // The page is programmed when its second unit arrives.
    assert_eq!(response_ns(both, &[program(0, 0, 1)]), 10_000);
    assert_eq!(response_ns(both, &[program(0, 0, 1), program(0, 1, 1)]), 20_000 + 400_000);
    let single = FlashTiming { multi_plane: false, ..both };
    assert_eq!(response_ns(single, &[program(0, 0, 4)]), 2 * (20_000 + 400_000));

    let cleaning_ns = |flash: FlashTiming| {
        let mut rig = Rig::new(HOST, flash);
        rig.request(Op::Write, 1, 0, &cleaning(1));
        rig.finish().dies[0].cleaning_ns
    };
    let copies = FlashTiming { copyback: true, ..ONE_DIE };
    assert_eq!(cleaning_ns(copies), 50_000 + 400_000 + 3_000_000);
    assert_eq!(cleaning_ns(ONE_DIE), 60_000 + 410_000 + 3_000_000);
}

#[test]
fn read_interrupts_an_erase() {
    let suspend = Suspend { erase: true, program: false, suspend_ns: 5000, resume_ns: 7000 };
    let mut rig = Rig::new(HOST, FlashTiming { suspend, ..ONE_DIE });
    rig.request(Op::Trim, 1, 0, &[Step::Erase { block: BlockId(0), cause: Cause::Host }]);
    rig.request(Op::Read, 1, 1_000_000, &[read(0)]);
    let report = rig.finish();
    let (erase, read) = (&report.requests["trim"], &report.requests["read"]);
    assert_eq!((erase.max_ns, read.max_ns), (3_000_000 + 5000 + 60_000 + 7000, 65_000));
    assert_eq!((erase.parts_ns["suspend_ns"], read.parts_ns["suspend_ns"]), (72_000.0, 5000.0));
    assert_eq!(report.dies[0].suspend_ns, 5000);
}
