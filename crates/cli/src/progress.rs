//! Progress of a run or a sweep, on standard error.

use crate::interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wearwell_stack::{Phase, Progress};
use wearwell_study::SweepObserver;

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Number of steps of a progress bar.
const STEPS: u64 = 1000;

/// Options for the display of progress.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct ProgressArgs {
    /// Show no progress
    #[arg(long, short, conflicts_with = "progress")]
    pub quiet: bool,
    /// Without a terminal, print a plain line of progress every few seconds
    #[arg(long)]
    pub progress: bool,
}

/// Progress display: a bar on a terminal, lines elsewhere if requested.
pub struct ProgressDisplay {
    bar: ProgressBar,
    lines: Option<Mutex<Instant>>,
}

impl ProgressDisplay {
    /// Returns a display whose bar has `steps` steps and shows `{msg}` before and `{prefix}` behind it.
    fn new(args: ProgressArgs, steps: u64, template: &str) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target =
            if terminal && !args.quiet { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        bar.set_style(
            ProgressStyle::with_template(template).expect("a valid template").progress_chars("=> "),
        );
        bar.enable_steady_tick(Duration::from_millis(200));
        let lines = (args.progress && !terminal).then(|| Mutex::new(Instant::now()));
        ProgressDisplay { bar, lines }
    }

    fn line(&self, text: impl FnOnce() -> String) {
        let Some(last) = &self.lines else { return };
        let mut last = last.lock().expect("nothing panics while it prints");
        if last.elapsed() >= LINE_INTERVAL {
            *last = Instant::now();
            crate::messages::print_message(format_args!("{}", text()));
        }
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::ReadTrace => "reading the trace",
        Phase::Fill => "filling",
        Phase::Overwrite => "overwriting",
        Phase::WarmUp => "warming up",
        Phase::Measure => "measuring",
    }
}

/// Progress of one run.
pub struct RunProgress(ProgressDisplay);

impl RunProgress {
    /// Starts the display of a run.
    pub fn new(args: ProgressArgs) -> Self {
        RunProgress(ProgressDisplay::new(args, STEPS, "{spinner} {msg:11} [{bar:32}] {prefix} {elapsed}"))
    }

    /// Shows `progress` and returns whether to continue.
    pub fn show(&self, progress: &Progress) -> ControlFlow<()> {
        let name = phase_name(progress.phase);
        let amplification =
            progress.write_amplification.map_or(String::new(), |wa| format!(", write amplification {wa:.3}"));
        let prefix = format!("{:.1} drive writes{amplification}", progress.drive_writes);
        self.0.line(|| format!("{name} ({:.0} %): {prefix}", progress.fraction_done * 100.0));
        self.0.bar.set_message(name);
        self.0.bar.set_prefix(prefix);
        self.0.bar.set_position((progress.fraction_done * STEPS as f64) as u64);
        interrupt::interrupt_flow()
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        self.0.clear();
    }
}

/// Progress of a sweep, with an estimate of its cost.
pub struct SweepProgress {
    display: ProgressDisplay,
    began: Instant,
    cost: Mutex<Cost>,
}

/// Calls `study` with a display of `points` runs, which is removed afterwards.
pub fn with_progress<T>(args: ProgressArgs, points: usize, study: impl FnOnce(&SweepProgress) -> T) -> T {
    let display = SweepProgress::new(args, points);
    let outcome = study(&display);
    display.clear();
    outcome
}

/// Cost of the executed runs, without those found in the store.
#[derive(Clone, Copy, Default)]
struct Cost {
    runs: u32,
    core_seconds: f64,
}

impl SweepProgress {
    /// Starts the display of a sweep of `points` runs.
    pub fn new(args: ProgressArgs, points: usize) -> Self {
        let template = "{spinner} [{bar:32}] {pos} of {len} runs {elapsed}{prefix}";
        let display = ProgressDisplay::new(args, points as u64, template);
        SweepProgress { display, began: Instant::now(), cost: Mutex::default() }
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        self.display.clear();
    }

    /// Estimates the remaining time and the total cost. The remaining runs are assumed to cost as much as the finished
    /// ones.
    fn estimate(&self, remaining: usize) -> String {
        let cost = *self.cost.lock().expect("nothing panics while it adds");
        if cost.runs == 0 || remaining == 0 {
            return String::new();
        }
        let share = remaining as f64 / f64::from(cost.runs);
        let (left_s, all_s) = (self.began.elapsed().as_secs_f64() * share, cost.core_seconds * (1.0 + share));
        format!(
            ", about {} left; {} of about {} of one core",
            duration(left_s),
            duration(cost.core_seconds),
            duration(all_s)
        )
    }
}

/// Formats a duration in seconds with a suitable unit.
fn duration(seconds: f64) -> String {
    match seconds {
        few if few < 90.0 => format!("{few:.0} s"),
        some if some < 5400.0 => format!("{:.0} min", some / 60.0),
        many => format!("{:.1} h", many / 3600.0),
    }
}

impl SweepObserver for SweepProgress {
    fn begin(&self, _: usize) -> ControlFlow<()> {
        interrupt::interrupt_flow()
    }

    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        interrupt::interrupt_flow()
    }

    fn keep_going(&self) -> ControlFlow<()> {
        interrupt::interrupt_flow()
    }

    fn run_timed(&self, seconds: f64) {
        let mut cost = self.cost.lock().expect("nothing panics while it adds");
        cost.runs += 1;
        cost.core_seconds += seconds;
    }

    fn finished(&self, finished: usize, points: usize) {
        // The number of combinations is known only after single changes were tried.
        let bar = &self.display.bar;
        bar.set_length(points as u64);
        bar.set_position(finished as u64);
        let estimate = self.estimate(points.saturating_sub(finished));
        bar.set_prefix(estimate.clone());
        self.display.line(|| format!("{finished} of {points} runs finished{estimate}"));
    }
}

/// Progress of an item whose points are run.
#[cfg(all(target_os = "linux", feature = "reproduce"))]
pub struct PointProgress(ProgressDisplay);

#[cfg(all(target_os = "linux", feature = "reproduce"))]
impl PointProgress {
    /// Starts the display of an item.
    pub fn new(args: ProgressArgs, item: &str) -> Self {
        let display = ProgressDisplay::new(
            args,
            0,
            "{spinner} {msg} [{bar:32}] {pos} of {len} points {elapsed} (eta {eta})",
        );
        display.bar.set_message(item.to_owned());
        PointProgress(display)
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        self.0.clear();
    }
}

#[cfg(all(target_os = "linux", feature = "reproduce"))]
impl wearwell_experiments::session::ReproductionObserver for PointProgress {
    fn announce_points(&self, points: usize) {
        self.0.bar.inc_length(points as u64);
    }

    fn point_finished(&self, _again: bool) {
        self.0.bar.inc(1);
        let bar = &self.0.bar;
        self.0.line(|| {
            format!("{}: {} of {} points", bar.message(), bar.position(), bar.length().unwrap_or_default())
        });
    }

    fn flow(&self) -> ControlFlow<()> {
        interrupt::interrupt_flow()
    }

    fn forbid_kill(&self) {
        interrupt::wait_for_cleanup();
    }

    fn computed_locally(&self, reason: &str) {
        self.0.bar.suspend(|| {
            crate::messages::print_message(format_args!("{}: run here: {reason}", self.0.bar.message()))
        });
    }
}

/// Progress of reading a file.
pub struct ReadProgress(ProgressDisplay);

impl ReadProgress {
    /// Starts the display for a file of `bytes` bytes.
    pub fn new(args: ProgressArgs, bytes: u64) -> Self {
        ReadProgress(ProgressDisplay::new(
            args,
            bytes,
            "{spinner} [{bar:32}] {bytes} of {total_bytes} {elapsed} (eta {eta})",
        ))
    }

    /// Counts the bytes that are read from `source`.
    pub fn watch<R: std::io::Read>(&self, source: R) -> indicatif::ProgressBarIter<R> {
        self.0.bar.wrap_read(source)
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        self.0.clear();
    }
}
