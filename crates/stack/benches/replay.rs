//! Cost of replaying a trace, compared with a synthetic workload with the same drive, policies and request sizes.
//!
//!     cargo bench --bench replay -- [--quick] [NAME…]
//!
//! Runs the cases whose name contains one of the words. The bench generates the trace: 70 % writes; requests of 1, 2, 4
//! and 16 pages in equal shares, at uniformly random addresses. The synthetic workload has the same distribution. Runs
//! of each case alternate with runs of its synthetic workload; the medians are printed:
//!
//! - `ns/page`: CPU time of the thread per page program of the flash.
//! - `ratio`: this time over that of the synthetic workload. The goal is at most 1.3, and at most 2 in timed runs.
//! - `requests/s`: requests of the trace per second of CPU time.
//! - `bytes`: memory of the decoded trace per request, at the end of the run.
//!
//! Times are CPU time of the thread that runs the drive, which excludes decoding in another thread; the last line has
//! the decoding time.

use cpu_time::{ProcessTime, ThreadTime};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use wearwell_stack::{Phase, Progress, RunResult, Scenario, run};
use wearwell_trace::{ReadOptions, RequestBatch, TraceCursor};

/// Lengths of requests in pages, in equal shares.
const REQUEST_PAGES: [u64; 4] = [1, 2, 4, 16];

const PAGE_BYTES: u64 = 4096;

/// Seed of the trace and of the drive.
const SEED: u64 = 1;

/// A replay, and the synthetic workload that it is compared with.
struct Case {
    name: &'static str,
    /// Settings of the trace.
    trace: &'static str,
    /// Settings of the synthetic workload, except request sizes.
    synthetic: &'static str,
    /// Top-level settings of both runs, which TOML requires before all tables.
    top: &'static str,
    /// Settings of the device, except its capacity.
    device: &'static str,
    /// TOML tables of both runs.
    tables: &'static str,
    content: TraceContent,
    tenants: u64,
    fit: bool,
    /// Largest ratio that meets the goal.
    max_ratio: f64,
}

/// Special requests of the trace.
#[derive(Clone, Copy, PartialEq)]
enum TraceContent {
    Plain,
    /// One request in eight is a discard.
    Trims,
    /// Written pages have distinct digests.
    Digests,
    /// The drive is divided into four volumes.
    Volumes,
}

const PLAIN: Case = Case {
    name: "",
    trace: "address = 'compact'",
    synthetic: "",
    top: "",
    device: "spare_factor = 0.15\npages_per_block = 128",
    tables: "",
    content: TraceContent::Plain,
    tenants: 1,
    fit: false,
    max_ratio: 1.3,
};

const CASES: &[Case] = &[
    Case { name: "compact", ..PLAIN },
    Case { name: "direct", trace: "address = 'direct'", ..PLAIN },
    Case { name: "wrap", trace: "address = 'wrap'", ..PLAIN },
    Case { name: "scale", trace: "address = 'scale'", ..PLAIN },
    Case { name: "fit", fit: true, ..PLAIN },
    Case { name: "TRIMs", synthetic: "trim_ratio = 0.125", content: TraceContent::Trims, ..PLAIN },
    Case {
        name: "volumes",
        trace: "address = 'compact'\nvolume_rule = 'side_by_side'",
        content: TraceContent::Volumes,
        ..PLAIN
    },
    Case { name: "tenants", tenants: 2, ..PLAIN },
    Case {
        name: "digests",
        top: "content = { dedup_ratio = 0.0 }",
        tables: "[ftl]\ndedup = 'inline'\nplacement = 'references'",
        content: TraceContent::Digests,
        ..PLAIN
    },
    Case {
        name: "timed",
        device: "preset = 'tlc'\npages_per_block = 96",
        tables: "[timing]\nrequests = { requests_per_second = 2000.0, spacing = 'exponential' }",
        max_ratio: 2.0,
        ..PLAIN
    },
];

/// Random numbers from Marsaglia's xorshift.
struct XorShift(u64);

impl XorShift {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// Writes a trace of `requests` requests over `pages` pages to `path`, in the format `wearwell`; returns the pages
/// written per request.
fn write_trace(path: &Path, content: TraceContent, requests: u64, pages: u64) -> f64 {
    let digests = if content == TraceContent::Digests { ",digests_4096" } else { "" };
    let mut text = format!("time_ns,op,volume,offset_bytes,length_bytes,hint{digests}\n");
    let mut random = XorShift(0x9e37_79b9 ^ SEED);
    let volumes = if content == TraceContent::Volumes { 4 } else { 1 };
    let (mut time_ns, mut written_pages) = (0, 0);
    for request in 0..requests {
        // The mean time between two requests is half a millisecond.
        time_ns += random.below(1_000_000);
        let op = match random.below(80) {
            0..10 if content == TraceContent::Trims => 'T',
            op if op % 10 < 7 => 'W',
            _ => 'R',
        };
        let length = REQUEST_PAGES[random.below(4) as usize];
        written_pages += if op == 'W' { length } else { 0 };
        let first = random.below(pages / volumes - length + 1) * PAGE_BYTES;
        let volume = random.below(volumes);
        write!(text, "{time_ns},{op},{volume},{first},{},0", length * PAGE_BYTES).expect("a string");
        if content == TraceContent::Digests {
            let digests = (0..length).map(|page| format!("{:032x}", (request << 8 | page) + 1));
            write!(text, ",{}", digests.collect::<Vec<_>>().join("+")).expect("a string");
        }
        text.push('\n');
    }
    std::fs::write(path, text).expect("a temporary file");
    written_pages as f64 / requests as f64
}

/// Returns the scenario of a case on a drive of `capacity_pages` pages: the replay of `trace`, or the synthetic
/// workload if it is `None`.
fn scenario(case: &Case, trace: Option<&Path>, capacity_pages: u64, drive_writes: f64) -> Scenario {
    let fits = case.fit && trace.is_some();
    let capacity = match fits {
        true => "fit = true".to_owned(),
        false => format!("capacity = '{} KiB'", capacity_pages * PAGE_BYTES / 1024),
    };
    let has_digests = trace.is_some() && case.content == TraceContent::Digests;
    let top = if has_digests { "" } else { case.top };
    let mut text = format!("seed = {SEED}\n{top}\n[device]\n{capacity}\n{}\n{}\n", case.device, case.tables);
    let sizes: Vec<String> =
        REQUEST_PAGES.iter().map(|pages| format!("{{ pages = {pages}, weight = 1.0 }}")).collect();
    let source = match trace {
        Some(path) => format!("path = '{}'\n{}", path.display(), case.trace),
        None => format!(
            "kind = 'uniform'\nread_ratio = 0.3\nrequest_pages = [{}]\n{}",
            sizes.join(", "),
            case.synthetic
        ),
    };
    let table = if trace.is_some() { "trace" } else { "workload" };
    if case.tenants == 1 {
        write!(text, "[{table}]\n{source}\n").expect("a string");
    }
    for tenant in 0..if case.tenants == 1 { 0 } else { case.tenants } {
        let share = 1.0 / case.tenants as f64;
        write!(
            text,
            "[[tenant]]\nname = 't{tenant}'\non = 'ftl'\nshare = {share}\n[tenant.{table}]\n{source}\n"
        )
        .expect("a string");
    }
    write!(text, "[measure]\nwarm_up = 1.0\ndrive_writes = {drive_writes:.1}\n").expect("a string");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name))
}

/// Cost of a run.
struct RunCost {
    /// CPU time of the thread, ns.
    ns: f64,
    /// Page writes of all layers.
    pages: f64,
    /// Pages that the workload wrote.
    host_pages: f64,
}

fn measure(name: &str, scenario: &Scenario) -> RunCost {
    let start = ThreadTime::now();
    let result: RunResult = run(scenario, &mut |_: &Progress| ControlFlow::Continue(()))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let ns = start.elapsed().as_nanos() as f64;
    let workload_windows =
        result.windows.iter().filter(|window| [Phase::WarmUp, Phase::Measure].contains(&window.phase));
    RunCost {
        ns,
        pages: result.performance.page_writes_per_second * result.performance.seconds,
        host_pages: workload_windows.map(|window| window.window_host_pages as f64).sum(),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Reads the whole trace at `path`; returns CPU nanoseconds of all threads and bytes of memory, both per request.
fn decode(path: &Path) -> (f64, f64) {
    let start = ProcessTime::now();
    let mut cursor = TraceCursor::open(path, &ReadOptions::default()).expect("a trace");
    let mut requests = RequestBatch::default();
    let mut count = 0;
    while cursor.read(&mut requests).expect("requests") > 0 {
        count += requests.len();
        requests.clear();
    }
    let (bytes, resident) = cursor.stored_size().expect("a regular file");
    assert_eq!(resident, count, "all requests stay in memory");
    (start.elapsed().as_nanos() as f64 / count as f64, bytes as f64 / count as f64)
}

fn main() {
    let names: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, capacity_pages, requests) = if quick { (3, 1 << 16, 50_000) } else { (5, 1 << 18, 200_000) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!("{:<10} {:>10} {:>10} {:>7} {:>12}", "ns/page", "replay", "synthetic", "ratio", "requests/s");
    for case in CASES.iter().filter(|case| is_selected(case.name)) {
        let path = folder.path().join(format!("{}.csv", case.name));
        let pages_per_request = write_trace(&path, case.content, requests, capacity_pages / case.tenants);
        let drive_writes = if case.tables.contains("timing") { 4.0 } else { 40.0 };
        let scenarios = [Some(&*path), None].map(|trace| scenario(case, trace, capacity_pages, drive_writes));
        let (mut replay, mut synthetic, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let cost = measure(case.name, &scenarios[0]);
            replay.push(cost.ns / cost.pages);
            rates.push(1e9 * cost.host_pages / pages_per_request / cost.ns);
            let cost = measure(case.name, &scenarios[1]);
            synthetic.push(cost.ns / cost.pages);
        }
        let ratio =
            median(replay.iter().zip(&synthetic).map(|(replay, synthetic)| replay / synthetic).collect());
        let verdict = if ratio <= case.max_ratio { "met" } else { "MISSED" };
        println!(
            "{:<10} {:>10.2} {:>10.2} {ratio:>7.2} {:>12.0}  {verdict}",
            case.name,
            median(replay),
            median(synthetic),
            median(rates),
        );
    }
    let path = folder.path().join("decode.csv");
    write_trace(&path, TraceContent::Plain, requests, capacity_pages);
    let (ns, bytes) = decode(&path);
    println!(
        "decoding {ns:.0} ns of CPU time a request in its own thread; {bytes:.1} bytes of memory a request"
    );
}
