//! Duration of a check's runs: measured, and estimated for other numbers of workers.

use crate::messages::print_message;
use crate::report::table::duration;
use wearwell_study::fleet::{TheoryCheck, makespan};

/// Prints the measured duration on `threads` (all cores unless given), the duration that list scheduling predicts from
/// the times of the runs, and the same prediction for `workers`.
pub fn print_durations(check: &TheoryCheck, threads: Option<usize>, workers: usize) {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = threads.unwrap_or_else(cores);
    let measured = makespan(&check.seconds, threads);
    let all: f64 = check.seconds.iter().sum();
    let longest = check.seconds.iter().copied().fold(0.0, f64::max);
    print_message(format_args!(
        "{} runs on {threads} threads took {}; on paper {} ({:+.1} %). {workers} workers as fast as these would take {}: \
         {} of work, of which the longest run is {}",
        check.seconds.len(),
        duration(check.clock_seconds),
        duration(measured),
        100.0 * (measured / check.clock_seconds - 1.0),
        duration(makespan(&check.seconds, workers)),
        duration(all),
        duration(longest),
    ));
}
