//! Cost of simulated time: the timed flash alone, 8 channels of 4 dies, single-page requests at random times.
//!
//!     cargo bench --bench timing -- [SUBSTRING]
//!
//! 70 % reads of 50 us and 30 % programs of 600 us, 4 KiB, at 65 % of the dies' capacity. Includes addresses, arrival
//! times and collecting results; histograms only where named. One random number decides everything about a request,
//! and the gap to the previous request comes from a table, because drawing logarithms costs more than a device
//! without channels. Prints the best and the median of 40 chunks of 256 Ki requests in CPU time of the thread, and
//! millions of page operations per second from the median.
//!
//! Goals: 8 M operations per second with exact first-come-first-served channels, 20 M with contention for dies only.

use cpu_time::ThreadTime;
use rand::Rng;
use wearwell_base::request::Op;
use wearwell_base::seed::{Random, Seed};
use wearwell_base::units::BlockId;
use wearwell_engine::counters::Cause;
use wearwell_engine::timing::{
    Arrivals, Cleaning, Clock, Contention, Flash, FlashTiming, HashEngine, HostTiming, Journal, Layout,
    Priority, Step, Striping, Suspend,
};

const CHUNK: u64 = 1 << 18;
const CHUNKS: usize = 40;
const BLOCKS: u64 = 1 << 14;
const READS: f64 = 0.7;
const LOAD: f64 = 0.65;
const GAPS: u64 = 1 << 12;

const FLASH: FlashTiming = FlashTiming {
    layout: Layout {
        channels: 8,
        ways: 4,
        dies: 1,
        planes: 1,
        superblock_blocks: 1,
        units_per_page: 1,
        pages_per_block: 256,
        striping: Striping::Block,
    },
    read_ns: 50_000,
    program_ns: 600_000,
    spare_read_ns: 1_500,
    erase_ns: 3_500_000,
    command_ns: 200,
    unit_transfer_ns: 3_400,
    contention: Contention::Channel,
    priority: Priority::Fcfs,
    suspend: Suspend { erase: false, program: false, suspend_ns: 0, resume_ns: 0 },
    multi_plane: false,
    copyback: false,
    erase_ahead: false,
    hash: HashEngine { engines: 1, hash_ns: 14_000 },
};

/// Requests at random times.
struct Source {
    random: Random,
    now_ns: u64,
    /// Times between arrivals, all equally likely; together they approximate an exponential distribution.
    gaps_ns: Vec<u64>,
}

impl Source {
    fn new() -> Self {
        let service_ns = READS * FLASH.read_ns as f64 + (1.0 - READS) * FLASH.program_ns as f64;
        let dies = f64::from(FLASH.layout.all_dies());
        let mean_ns = service_ns / dies / LOAD;
        let gap_ns = |at: u64| (-mean_ns * libm::log((at as f64 + 0.5) / GAPS as f64)).round() as u64;
        Source { random: Seed(1).random(), now_ns: 0, gaps_ns: (0..GAPS).map(gap_ns).collect() }
    }

    fn next(&mut self) -> (u64, Op, Step) {
        // One random number decides everything about a request, because the cost of drawing numbers is not to be
        // measured.
        let number = self.random.random::<u64>();
        self.now_ns += self.gaps_ns[(number % GAPS) as usize];
        let block = BlockId((number / GAPS % BLOCKS) as u32);
        let (page, cause) = (3, Cause::Host);
        if (number >> 32) as f64 / f64::from(u32::MAX) < READS {
            (self.now_ns, Op::Read, Step::Read { block, page, cause })
        } else {
            (self.now_ns, Op::Write, Step::Program { block, page, pages: 1, cause })
        }
    }
}

/// Measures chunks of requests.
fn measure(name: &str, goal: f64, mut request: impl FnMut((u64, Op, Step))) {
    if std::env::args().nth(1).is_some_and(|part| !part.starts_with("--") && !name.contains(&part)) {
        return;
    }
    let mut source = Source::new();
    let mut chunk = || {
        let begin = ThreadTime::now();
        for _ in 0..CHUNK {
            request(source.next());
        }
        begin.elapsed().as_nanos() as f64 / CHUNK as f64
    };
    let mut times: Vec<f64> = (0..CHUNKS).map(|_| chunk()).collect();
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[CHUNKS / 2]);
    let rate = 1000.0 / median;
    let goal_result = match goal {
        0.0 => String::new(),
        goal => format!("{goal} M/s {}", if rate >= goal { "met" } else { "missed" }),
    };
    println!("{name:32} {best:8.1} {median:8.1} {rate:9.1} {goal_result}");
}

fn bench_flash(name: &str, goal: f64, timing: FlashTiming) {
    let mut flash = Flash::new(timing).expect("a possible device");
    let mut sum_ns = 0;
    measure(name, goal, |(now_ns, _, step)| {
        flash.submit(0, now_ns, now_ns, &[step], false);
        for request in flash.drain_finished() {
            sum_ns += request.parts.total_ns();
        }
    });
    std::hint::black_box(sum_ns);
    flash.advance(u64::MAX >> 1);
    flash.check().expect("what the device did adds up");
}

fn bench_with_host(name: &str, timing: FlashTiming, queue_depth: u32) {
    let host = HostTiming {
        queue_depth,
        arrivals: Arrivals::Open,
        cleaning: Cleaning::Background,
        controller_read_ns: 0,
        controller_write_ns: 0,
        link_bytes_per_us: None,
        page_bytes: 4096,
        write_buffer_pages: 0,
        power_off_ns: 0,
    };
    let journal = Journal::default();
    let flash = Flash::new(timing).expect("a possible device");
    let mut clock = Clock::new(host, flash, journal.clone()).expect("a possible host");
    measure(name, 0.0, |(now_ns, op, step)| {
        clock.next_dispatch(op, 1, now_ns);
        journal.push(step);
        clock.serve(op, 1);
    });
}

fn main() {
    println!("{:32} {:>8} {:>8} {:>9}", "case", "best ns", "median", "M/s");
    measure("requests alone", 0.0, |request| {
        std::hint::black_box(request);
    });
    let die = FlashTiming { contention: Contention::Die, ..FLASH };
    let read_first = FlashTiming { priority: Priority::ReadFirst, ..FLASH };
    let suspend = Suspend { erase: true, program: true, suspend_ns: 10_000, resume_ns: 10_000 };
    bench_flash("dies", 20.0, die);
    bench_flash("channels", 8.0, FLASH);
    bench_flash("channels, reads first", 0.0, read_first);
    bench_flash("channels, suspending", 0.0, FlashTiming { suspend, ..read_first });
    bench_with_host("dies, host, histograms", die, u32::MAX);
    bench_with_host("channels, host, histograms", FLASH, u32::MAX);
    bench_with_host("channels, host, queue of 256", FLASH, 256);
}
