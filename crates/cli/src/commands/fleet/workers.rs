//! How long the runs of a check take, by the clock and on paper.

use crate::report::table::duration;
use crate::tell::tell;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;
use wearwell_stack::Progress;
use wearwell_study::SweepObserver;
use wearwell_study::fleet::makespan;

/// An observer that also looks at the clock.
pub struct Clocked<'a, O> {
    observer: &'a O,
    /// When the first run was seen, and when the last one was finished.
    times: Mutex<Option<(Instant, Instant)>>,
}

impl<'a, O: SweepObserver> Clocked<'a, O> {
    /// Watches beside `observer`.
    pub fn new(observer: &'a O) -> Self {
        Clocked { observer, times: Mutex::new(None) }
    }

    fn note(&self) {
        let now = Instant::now();
        let mut times = self.times.lock().expect("nothing panics while it holds the lock");
        *times = Some((times.map_or(now, |(begin, _)| begin), now));
    }

    /// Tells how long the runs took, beside what list scheduling makes of their own times, and what that comes to with `workers`.
    pub fn tell(&self, seconds: &[f64], threads: Option<usize>, workers: usize) {
        let Some((begin, end)) = *self.times.lock().expect("nothing panics while it holds the lock") else {
            return;
        };
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.unwrap_or_else(cores);
        let measured = (end - begin).as_secs_f64();
        let here = makespan(seconds, threads);
        let there = makespan(seconds, workers);
        let all: f64 = seconds.iter().sum();
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        tell(format_args!(
            "{} runs on {threads} threads took {}; on paper {} ({:+.1} %). {workers} workers as fast as these would take {}: \
             {} of work, of which the longest run is {}",
            seconds.len(),
            duration(measured),
            duration(here),
            100.0 * (here / measured - 1.0),
            duration(there),
            duration(all),
            duration(longest),
        ));
    }
}

impl<O: SweepObserver> SweepObserver for Clocked<'_, O> {
    fn begin(&self, number: usize) -> ControlFlow<()> {
        self.observer.begin(number)
    }

    fn progress(&self, number: usize, progress: &Progress) -> ControlFlow<()> {
        self.note();
        self.observer.progress(number, progress)
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.observer.keep_going()
    }

    fn took(&self, seconds: f64) {
        self.observer.took(seconds);
    }

    fn finished(&self, finished: usize, points: usize) {
        self.note();
        self.observer.finished(finished, points);
    }
}
