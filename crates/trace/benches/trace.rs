//! Speed of reading traces, including decompression, and of describing requests in memory: requests per second on one
//! core.
//!
//! `cargo bench --bench trace [requests]` writes traces of synthetic requests (2 million by default) to a temporary
//! directory and reads them back.

use std::path::Path;
use std::time::Instant;

use rand::Rng;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wearwell_trace::*;

const FILES: [(&str, &str); 8] = [
    ("msr", "csv.zst"),
    ("msr", "csv.gz"),
    ("msr", "csv"),
    ("alibaba", "csv.zst"),
    ("tencent", "csv.zst"),
    ("blktrace", "bin.zst"),
    ("wearwell-csv", "csv.zst"),
    ("table", "csv"),
];

/// Columns of traces in the format `table`.
const COLUMNS: &str = "time=ts:ns,op=type,offset=lba:512,size=len:512,volume=dev";

/// Returns synthetic requests like those of block traces: mostly writes of a few pages at skewed addresses on four
/// volumes.
fn synthetic_requests(requests: usize) -> RequestBatch {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut batch = RequestBatch::default();
    let mut time_ns = 12_816_638_529_551_466_300;
    for _ in 0..requests {
        time_ns += random.random_range(1..20_000) * 100;
        let op = if random.random_bool(0.7) { Op::Write } else { Op::Read };
        let page = (random.random::<f64>().powi(3) * 30e6) as u64;
        let length_bytes = 4096 << random.random_range(0..5);
        let volume = random.random_range(0..4);
        batch.push(&Request { time_ns, op, volume, offset_bytes: page * 4096, length_bytes, hint: 0 });
    }
    batch
}

fn write(path: &Path, format: &str, batch: &RequestBatch) {
    let mut options = WriteOptions::named(format);
    if format == "table" {
        options = options.with("columns", COLUMNS);
    }
    let mut writer = TraceWriter::create(path, &options).expect("a writer");
    writer.write_batch(batch).expect("expressible requests");
    writer.finish().expect("space");
}

/// Returns the seconds that `work` takes: the best of three.
fn best_of_three_seconds(mut work: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(once).fold(f64::INFINITY, f64::min)
}

fn main() {
    let requests = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(2_000_000);
    let batch = synthetic_requests(requests);
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (format, extension) in FILES {
        let path = directory.path().join(format!("{format}.{extension}"));
        write(&path, format, &batch);
        let mut options = ReadOptions::named(format);
        if format == "table" {
            options = options.with("columns", COLUMNS);
        }
        let read = best_of_three_seconds(|| {
            let mut reader = open(&path, &options).expect("a trace");
            let mut batch = RequestBatch::default();
            while reader.read_batch(&mut batch, 8192).expect("good lines") > 0 {}
        });
        let megabytes = std::fs::metadata(&path).expect("the file").len() as f64 / 1e6;
        let rate = requests as f64 / read / 1e6;
        println!("{format:>14} {extension:<8} {rate:7.2} M requests/s, {megabytes:6.1} MB");
    }
    for (name, sample) in
        [("describe", None), ("describe a tenth", Some(0.1)), ("describe a hundredth", Some(0.01))]
    {
        let sample = sample.map(|rate| SampleRate::new(rate).expect("a rate"));
        let options = DescribeOptions { sample, ..Default::default() };
        let seconds = best_of_three_seconds(|| {
            let mut describer = Describer::new(&options);
            describer.add(&batch);
            describer.finish();
        });
        let rate = requests as f64 / seconds / 1e6;
        println!("{name:>23} {rate:7.2} M requests/s, {:6.1} ns a request", seconds * 1e9 / requests as f64);
    }
}
