//! Speed limits of this machine for programs that look up random entries of large tables.
//!
//!     cargo run --release --example roofline -- [LARGEST_MIB]
//!
//! Prints one line for each table size, up to LARGEST_MIB (default 1024), and the instruction rate:
//!
//! - `latency` ns of a random load that waits for the load before it.
//! - `2`, `4`, `8`, `16` ns of a load with that many independent chains of such loads.
//! - `G` ns of a random read-modify-write that is prefetched 64 ahead: the yardstick of the engine benchmark.
//! - `read`, `write` GB/s of a sequential pass.
//! - instruction rate: independent one-cycle additions per nanosecond.
//!
//! Tables of 4 MiB and more use huge pages if the system has them. Times are CPU time of the thread; each value is
//! the median of [`ROUNDS`] measurements, which alternate with those of the other columns.

#[path = "../benches/yardstick/mod.rs"]
mod yardstick;

use cpu_time::ThreadTime;
use std::hint::black_box;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::table;
use yardstick::Yardstick;

/// Number of measurements per value.
const ROUNDS: usize = 7;
/// Loads and updates in a measurement of random access.
const LOADS: usize = 1 << 20;
/// Minimum number of bytes read or written in a measurement of sequential access.
const BYTES: usize = 64 << 20;

/// A cache line that contains the number of the next line in its chain.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; 16]);

/// Returns lines that form one cycle in random order (Sattolo's algorithm).
fn cycle(bytes: usize) -> Vec<Line> {
    let len = bytes / size_of::<Line>();
    let mut random = Seed(1).random();
    let mut order: Vec<u32> = (0..len as u32).collect();
    for last in (1..len).rev() {
        order.swap(last, random_below(&mut random, last as u64) as usize);
    }
    let mut lines = table::filled(len, Line([0; 16]));
    lines.iter_mut().zip(order).for_each(|(line, next)| line.0[0] = next);
    lines
}

/// Returns the CPU time of a call in nanoseconds.
fn ns(work: impl FnOnce()) -> f64 {
    let start = ThreadTime::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Returns the ns per load of `CHAINS` parallel walks along the cycle.
fn chase<const CHAINS: usize>(lines: &[Line], begin: &mut u32) -> f64 {
    let mut at: [u32; CHAINS] = std::array::from_fn(|chain| {
        (*begin as usize + chain * lines.len() / CHAINS) as u32 % lines.len() as u32
    });
    let steps = LOADS / CHAINS;
    let time = ns(|| {
        for _ in 0..steps {
            for place in &mut at {
                *place = lines[*place as usize].0[0];
            }
        }
    });
    *begin = black_box(at)[0];
    time / (steps * CHAINS) as f64
}

/// Returns the GB/s of repeated passes over the table.
fn bandwidth(lines: &mut [Line], mut pass: impl FnMut(&mut [Line], u32)) -> f64 {
    let bytes = size_of_val(lines);
    let passes = BYTES.div_ceil(bytes);
    let time = ns(|| (0..passes as u32).for_each(|at| pass(black_box(&mut *lines), at)));
    (passes * bytes) as f64 / time
}

fn read(lines: &mut [Line], _pass: u32) {
    let sum = |sums: [u32; 16], line: &Line| std::array::from_fn(|at| sums[at].wrapping_add(line.0[at]));
    black_box(lines.iter().fold([0; 16], sum));
}

fn write(lines: &mut [Line], pass: u32) {
    lines.fill(Line([pass; 16]));
}

/// Returns the independent additions per nanosecond.
#[cfg(target_arch = "x86_64")]
fn additions() -> f64 {
    const TURNS: u64 = 1 << 20;
    let time = ns(|| {
        // SAFETY: only the declared registers are written; the stack and memory are not touched.
        unsafe {
            std::arch::asm!(
                ".p2align 6",
                "2:",
                "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1", "add {e}, 1", "add {f}, 1", "add {g}, 1",
                "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1", "add {e}, 1", "add {f}, 1", "add {g}, 1",
                "sub {turns}, 1",
                "jnz 2b",
                turns = inout(reg) TURNS => _,
                a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
                e = out(reg) _, f = out(reg) _, g = out(reg) _,
                options(nomem, nostack),
            );
        }
    });
    (16 * TURNS) as f64 / time
}

#[cfg(not(target_arch = "x86_64"))]
fn additions() -> f64 {
    f64::NAN
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the values of a table of `bytes` bytes, in the order of the columns.
fn measure(bytes: usize) -> [f64; 8] {
    let (mut lines, mut begin) = (cycle(bytes), 0);
    let mut yardstick = Yardstick::new(bytes / size_of::<u32>());
    yardstick.measure(LOADS as u64);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push([
            chase::<1>(&lines, &mut begin),
            chase::<2>(&lines, &mut begin),
            chase::<4>(&lines, &mut begin),
            chase::<8>(&lines, &mut begin),
            chase::<16>(&lines, &mut begin),
            yardstick.measure(LOADS as u64),
            bandwidth(&mut lines, read),
            0.0,
        ]);
    }
    // Writing destroys the cycle.
    rounds.iter_mut().for_each(|round| round[7] = bandwidth(&mut lines, write));
    std::array::from_fn(|column| median(rounds.iter().map(|round| round[column])))
}

fn main() {
    yardstick::check();
    let largest: usize = match std::env::args().nth(1) {
        None => 1024,
        Some(text) => {
            text.parse().unwrap_or_else(|_| panic!("{text:?}: the largest table in MiB, as a whole number"))
        }
    };
    println!(
        "{:>12} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9}",
        "table, KiB", "latency", "2", "4", "8", "16", "G", "read", "write"
    );
    let sizes = (0..).map(|power| 32usize << (2 * power)).take_while(|kib| *kib <= largest << 10);
    for kib in sizes {
        let [latency, two, four, eight, sixteen, g, read, write] = measure(kib << 10);
        println!(
            "{kib:>12} {latency:>9.2} {two:>7.2} {four:>7.2} {eight:>7.2} {sixteen:>7.2} {g:>7.2} {read:>9.1} {write:>9.1}"
        );
    }
    println!("{:.1} additions a nanosecond", median((0..ROUNDS).map(|_| additions())));
}
