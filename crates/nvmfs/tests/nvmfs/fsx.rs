//! Random operations on one file, compared with a buffer in memory.
//!
//! `WEARWELL_FSX=seed:ops` runs `ops` operations generated from `seed`. After a failure, the list of operations is
//! reduced to those that reproduce the failure, and printed.

use crate::common::model::ModelFs;
use crate::common::{Remount, content, small};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wearwell_nvmfs::api::{Allocate, BLOCK_BYTES, Caller, Change, FileSystem, Ino, Kind, ROOT};

/// Maximum size of the file, bytes.
const MAX_BYTES: usize = 3 << 20;
/// Maximum length of the range of one operation, bytes.
const RANGE_BYTES: usize = 200_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read {
        from: usize,
        length: usize,
    },
    Write {
        from: usize,
        length: usize,
        seed: u8,
    },
    /// Writes whole pages, as the write-back of a mapped file does, at most up to the page that contains the end of
    /// the file.
    WritePages {
        from: usize,
        pages: usize,
        seed: u8,
    },
    Truncate {
        to: usize,
    },
    Allocate {
        how: Allocate,
        from: usize,
        length: usize,
    },
    Remount,
}

fn steps(seed: u64, count: usize) -> Vec<Step> {
    let mut numbers = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count).map(|_| step(&mut numbers)).collect()
}

fn step(numbers: &mut impl Rng) -> Step {
    let from = offset(numbers);
    let max_length = if numbers.random_ratio(1, 8) { RANGE_BYTES } else { 3 * BLOCK_BYTES };
    let length = numbers.random_range(1..=max_length).min(MAX_BYTES - from);
    let seed = numbers.random_range(1..=255);
    match numbers.random_range(0..100) {
        0..30 => Step::Read { from, length },
        30..55 => Step::Write { from, length, seed },
        55..70 => Step::WritePages { from: from / BLOCK_BYTES, pages: 1 + length / BLOCK_BYTES, seed },
        70..77 => Step::Truncate { to: from },
        77..84 => Step::Allocate { how: Allocate::Punch, from, length },
        84..91 => {
            let keep_size = numbers.random();
            Step::Allocate { how: Allocate::Zero { keep_size }, from, length }
        }
        91..98 => {
            let keep_size = numbers.random();
            Step::Allocate { how: Allocate::Reserve { keep_size }, from, length }
        }
        _ => Step::Remount,
    }
}

/// Returns an offset, which is often at a block boundary and more likely near the beginning than near the end.
fn offset(numbers: &mut impl Rng) -> usize {
    let shift = numbers.random_range(0..8);
    let at = numbers.random_range(0..MAX_BYTES - BLOCK_BYTES) >> shift;
    match numbers.random_range(0..4) {
        0 => at / BLOCK_BYTES * BLOCK_BYTES,
        1 => at / BLOCK_BYTES * BLOCK_BYTES + BLOCK_BYTES - 1,
        _ => at,
    }
}

/// File system with one file, and the expected content of the file.
struct Exerciser<F> {
    fs: F,
    remount: Remount<F>,
    file: Ino,
    expected: Vec<u8>,
}

impl<F: FileSystem> Exerciser<F> {
    fn new((mut fs, remount): (F, Remount<F>)) -> Self {
        let file = fs.create(ROOT, b"fsx", Kind::File, 0o600, 0, &Caller::default()).expect("a new file").ino;
        Self { fs, remount, file, expected: Vec::new() }
    }

    /// Runs all steps; returns the number of the first failed step and its problem.
    fn run(mut self, steps: &[Step]) -> Result<(), (usize, String)> {
        for (number, step) in steps.iter().enumerate() {
            if let Step::Remount = step {
                self.fs = (self.remount)(self.fs);
            }
            self.step(*step).map_err(|what| (number, what))?;
        }
        self.check(0, MAX_BYTES).map_err(|what| (steps.len() - 1, what))
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let caller = Caller::default();
        match step {
            Step::Read { from, length } => return self.check(from, length),
            Step::Write { from, length, seed } => self.write(from, &content(seed, length))?,
            Step::WritePages { from, pages, seed } => {
                let (from, end) = (from * BLOCK_BYTES, (from + pages) * BLOCK_BYTES);
                let end = end.min(self.expected.len());
                if from < end {
                    self.write(from, &content(seed, end - from))?;
                }
            }
            Step::Truncate { to } => {
                let change = Change { size_bytes: Some(to as u64), ..Change::default() };
                self.fs.set_attributes(self.file, &change, &caller).map_err(|error| error.to_string())?;
                self.expected.resize(to, 0);
            }
            Step::Allocate { how, from, length } => {
                self.fs
                    .allocate(self.file, how, from as u64, length as u64, &caller)
                    .map_err(|error| error.to_string())?;
                self.expect_allocated(how, from, from + length);
            }
            Step::Remount => return self.check(0, MAX_BYTES),
        }
        let size_bytes = self.fs.attributes(self.file).map_err(|error| error.to_string())?.size_bytes;
        if size_bytes != self.expected.len() as u64 {
            return Err(format!("the size is {size_bytes}, not {}", self.expected.len()));
        }
        Ok(())
    }

    fn expect_allocated(&mut self, how: Allocate, from: usize, end: usize) {
        let extends =
            matches!(how, Allocate::Reserve { keep_size: false } | Allocate::Zero { keep_size: false });
        if extends && self.expected.len() < end {
            self.expected.resize(end, 0);
        }
        let end = end.min(self.expected.len());
        if !matches!(how, Allocate::Reserve { .. }) && from < end {
            self.expected[from..end].fill(0);
        }
    }

    fn write(&mut self, from: usize, data: &[u8]) -> Result<(), String> {
        let mut done = 0;
        while done < data.len() {
            let at = (from + done) as u64;
            done += self
                .fs
                .write(self.file, at, &data[done..], &Caller::default())
                .map_err(|error| error.to_string())?;
        }
        let end = from + data.len();
        if self.expected.len() < end {
            self.expected.resize(end, 0);
        }
        self.expected[from..end].copy_from_slice(data);
        Ok(())
    }

    /// Reads a range and compares it with the expected content.
    fn check(&mut self, from: usize, length: usize) -> Result<(), String> {
        let mut out = vec![0xa5; length];
        let count = self
            .fs
            .read(self.file, from as u64, &mut out, &Caller::default())
            .map_err(|error| error.to_string())?;
        let expected = self.expected.get(from..).unwrap_or_default();
        let expected = &expected[..length.min(expected.len())];
        if count != expected.len() {
            return Err(format!("{count} bytes read at {from}, not {}", expected.len()));
        }
        match (0..count).find(|at| out[*at] != expected[*at]) {
            Some(at) => Err(format!("byte {} is {}, not {}", from + at, out[at], expected[at])),
            None => Ok(()),
        }
    }
}

/// Removes steps without which the failure still occurs: halves, then quarters, and so on.
fn shrink(mut steps: Vec<Step>, fails: impl Fn(&[Step]) -> Option<usize>) -> Vec<Step> {
    let mut part = steps.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + part).min(steps.len()));
            match fails(&fewer) {
                Some(last) => steps = fewer[..=last].to_vec(),
                None => at += part,
            }
        }
        part /= 2;
    }
    steps
}

/// Tests new file systems with several seeds, or with the seed given in the environment.
fn exercise<F: FileSystem>(seeds: u64, count: usize, fresh: fn() -> (F, Remount<F>)) {
    let requested = std::env::var("WEARWELL_FSX").ok().map(|text| {
        let (seed, count) = text.split_once(':').expect("WEARWELL_FSX=seed:ops");
        (seed.parse().expect("a seed"), count.parse().expect("a number of operations"))
    });
    let runs = requested.map_or_else(|| (0..seeds).map(|seed| (seed, count)).collect(), |run| vec![run]);
    for (seed, count) in runs {
        println!("WEARWELL_FSX={seed}:{count}");
        let steps = steps(seed, count);
        if let Err((number, what)) = Exerciser::new(fresh()).run(&steps) {
            println!("WEARWELL_FSX={seed}:{} fails: {what}", number + 1);
            let fails = |steps: &[Step]| Exerciser::new(fresh()).run(steps).err().map(|(last, _)| last);
            let fewer = shrink(steps[..=number].to_vec(), fails);
            panic!("{what}\nthe same goes wrong, or another thing, after {fewer:#?}");
        }
    }
}

fn model() -> (ModelFs, Remount<ModelFs>) {
    let remount = |mut fs: ModelFs| {
        fs.remount();
        fs
    };
    (ModelFs::new(), Box::new(remount))
}

#[test]
fn model_keeps_file_content() {
    exercise(4, 3_000, model);
}

#[test]
fn nvmfs_keeps_file_content() {
    exercise(4, 3_000, small);
}

#[test]
fn loss_at_mount_is_found_and_reduced() {
    fn lossy(mut fs: ModelFs) -> ModelFs {
        let file = fs.lookup(ROOT, b"fsx").unwrap();
        let mut byte = [0];
        if fs.read(file.ino, 70_000, &mut byte, &Caller::default()).unwrap() == 1 {
            fs.write(file.ino, 70_000, &[byte[0] ^ 1], &Caller::default()).unwrap();
        }
        fs
    }
    let fails = |steps: &[Step]| {
        Exerciser::new((ModelFs::new(), Box::new(lossy))).run(steps).err().map(|(last, _)| last)
    };
    let steps = steps(1, 1_000);
    let last = fails(&steps).expect("the loss is found");
    let fewer = shrink(steps[..=last].to_vec(), fails);
    assert!(fewer.len() <= 3, "{fewer:?}");
    assert!(matches!(fewer.last(), Some(Step::Remount)));
}
