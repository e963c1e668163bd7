//! Running a scenario: fill, overwrite, warm up until steady, measure.

use super::build::{self, Stack};
use super::parts::Parts;
use super::precondition::{Sequential, Uniform};
use super::report::{self, Snapshot};
use super::result::{Phase, RunResult, Window};
use super::scenario::{Fill, Measure, Scenario};
use super::source::{Source, SourceError, TraceReplay};
use super::steady;
use crate::config::ConfigError;
use crate::layer::{LayerError, no_data};
use crate::seed::Seed;
use crate::trace::Op;
use crate::workload::PageBatch;
use std::ops::ControlFlow;
use std::time::Instant;

/// Pages handed to the stack at a time: enough to look ahead in, little enough to stay in the cache.
const BATCH_PAGES: u64 = 4096;

/// Pages between two reports of progress.
const PROGRESS_PAGES: u64 = 1 << 20;

/// Passes through a trace whose amplification must agree for the run to be steady.
const STEADY_PASSES: usize = 3;

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace cannot be replayed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The stack could not do what it was asked.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The observer stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// Two layers disagree about what passed between them: a defect of Wearwell.
    #[error("the counters do not add up: {0}; please report this with the scenario")]
    Inconsistent(String),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Share of the phase that is done, from 0 to 1; during an open-ended warm-up, the share of its limit.
    pub done: f64,
    /// Drive writes since the drive was new.
    pub drive_writes: f64,
    /// Write amplification of the last window.
    pub write_amplification: Option<f64>,
}

/// Is told how a run goes on, and may stop it.
pub trait Observer {
    /// Called about once for every million pages.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Asked after every few thousand pages, so that a part which has failed can end the run at once.
    fn keep_going(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}

/// Runs `scenario` in counting mode.
///
/// # Errors
/// A scenario that cannot be built, a trace that cannot be read or does not fit, a drive that dies before the end of
/// the run, or an observer that stops it.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    run_with(scenario, Parts::default(), observer)
}

/// Runs `scenario` with some of its parts replaced; a workload of the program's own stands for the scenario's
/// `workload` and `trace`, either of which is then left out of the result.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    parts: Parts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let mut resolved = scenario.clone();
    let own_parts = parts.warnings();
    if parts.workload.is_some() {
        (resolved.workload, resolved.trace) = (None, None);
    } else {
        check_source(&resolved)?;
    }
    check_measure(&resolved)?;
    let stack = build::build_with::<()>(&mut resolved, parts.victim)?;
    let logical_pages = stack.top.logical_pages();
    let source: Box<dyn Source> = match parts.workload {
        Some(make) => Box::new(make(logical_pages)),
        None => build_source(&resolved, logical_pages, stack.page_bytes)?,
    };
    let mut driver = Driver {
        window_pages: pages_of(resolved.measure.window, logical_pages).max(1),
        logical_pages,
        stack,
        source,
        observer,
        batch: PageBatch::default(),
        windows: Vec::new(),
        passes: Vec::new(),
        pass_host_pages: 0,
        pass_programs: 0,
        window_start: Snapshot::default(),
        window_host_pages: 0,
        host_pages: 0,
        since_progress: 0,
        end_of_life: None,
    };
    driver.window_start = Snapshot::take(&driver.stack);
    let start = Instant::now();
    driver.precondition(&resolved)?;
    let warmed_up = driver.warm_up(&resolved.measure)?;
    let before = Snapshot::take(&driver.stack);
    driver.measure(&resolved.measure)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut result = report::result(resolved, driver.finish(warmed_up, before, seconds)?)?;
    result.warnings.extend(own_parts);
    Ok(result)
}

/// Fills in every default of `scenario` and checks it without running it.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    let mut resolved = scenario.clone();
    check_source(&resolved)?;
    check_measure(&resolved)?;
    let stack = build::build::<()>(&mut resolved)?;
    if let Some(workload) = &resolved.workload {
        workload
            .build(stack.top.logical_pages(), Seed(resolved.seed).of("workload"))
            .map_err(|error| error.within("workload"))?;
    }
    Ok(resolved)
}

fn build_source(
    scenario: &Scenario,
    logical_pages: u32,
    page_bytes: u32,
) -> Result<Box<dyn Source>, RunError> {
    match (&scenario.workload, &scenario.trace) {
        (Some(workload), None) => {
            let seed = Seed(scenario.seed).of("workload");
            Ok(Box::new(workload.build(logical_pages, seed).map_err(|error| error.within("workload"))?))
        }
        (None, Some(trace)) => Ok(Box::new(TraceReplay::new(trace, logical_pages, page_bytes)?)),
        _ => unreachable!("checked before the stack was built"),
    }
}

fn check_source(scenario: &Scenario) -> Result<(), ConfigError> {
    match (&scenario.workload, &scenario.trace) {
        (Some(_), Some(_)) => Err(ConfigError::new("workload", "stands beside `trace`; give one of them")),
        (None, None) => Err(ConfigError::new("workload", "is missing; give it, or `trace`")),
        _ => Ok(()),
    }
}

fn check_measure(scenario: &Scenario) -> Result<(), ConfigError> {
    let Measure { warm_up, max_warm_up, tolerance, drive_writes, window, warranty_years, .. } =
        scenario.measure;
    let positive = [
        ("measure.max_warm_up", max_warm_up),
        ("measure.tolerance", tolerance),
        ("measure.drive_writes", drive_writes),
        ("measure.window", window),
        ("measure.warranty_years", warranty_years),
    ];
    let not_negative = [
        ("measure.warm_up", warm_up.unwrap_or(0.0)),
        ("precondition.random_overwrites", scenario.precondition.random_overwrites),
    ];
    let refuse = |(key, value): (&str, f64), allowed: &str| {
        Err(ConfigError::new(key, format!("is {value}; it must be {allowed}")))
    };
    if let Some(&bad) = positive.iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
        return refuse(bad, "a number above 0");
    }
    if let Some(&bad) = not_negative.iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
        return refuse(bad, "a number, 0 or above");
    }
    match scenario.measure.until_worn_out_blocks {
        Some(0) => {
            Err(ConfigError::new("measure.until_worn_out_blocks", "is 0; at least one block has to wear out"))
        }
        Some(_) if !scenario.device.wears_out => Err(ConfigError::new(
            "measure.until_worn_out_blocks",
            "needs `device.wears_out = true`, or no block ever will",
        )),
        _ => Ok(()),
    }
}

fn pages_of(drive_writes: f64, logical_pages: u32) -> u64 {
    (drive_writes * f64::from(logical_pages)).round() as u64
}

/// What a run leaves behind for its report.
pub(super) struct Finished {
    pub stack: Stack<()>,
    pub windows: Vec<Window>,
    /// Amplification of each measured window, or pass of a trace.
    pub measured: Vec<f64>,
    pub before: Snapshot,
    pub steady: bool,
    pub trace_passes: Option<u64>,
    pub skipped_lines: u64,
    pub end_of_life: Option<LayerError>,
    pub final_draw: u64,
    pub seconds: f64,
}

struct Driver<'a> {
    stack: Stack<()>,
    source: Box<dyn Source>,
    observer: &'a mut dyn Observer,
    batch: PageBatch,
    logical_pages: u32,
    window_pages: u64,
    windows: Vec<Window>,
    /// Phase and amplification of each pass through the trace.
    passes: Vec<(Phase, f64)>,
    pass_host_pages: u64,
    pass_programs: u64,
    window_start: Snapshot,
    window_host_pages: u64,
    /// Host pages written since the drive was new.
    host_pages: u64,
    since_progress: u64,
    end_of_life: Option<LayerError>,
}

impl Driver<'_> {
    fn precondition(&mut self, scenario: &Scenario) -> Result<(), RunError> {
        if scenario.precondition.fill == Fill::Sequential {
            let mut fill = Sequential { next: 0, end: self.logical_pages };
            self.precondition_from(&mut fill, Phase::Fill, u64::from(self.logical_pages))?;
        }
        let mut overwrite =
            Uniform { pages: self.logical_pages, random: Seed(scenario.seed).of("overwrite").random() };
        let pages = pages_of(scenario.precondition.random_overwrites, self.logical_pages);
        self.precondition_from(&mut overwrite, Phase::Overwrite, pages)
    }

    fn precondition_from(
        &mut self,
        source: &mut dyn Source,
        phase: Phase,
        pages: u64,
    ) -> Result<(), RunError> {
        let end = self.host_pages + pages;
        while self.host_pages < end && self.end_of_life.is_none() {
            let left = end - self.host_pages;
            self.step(
                Some(&mut *source),
                phase,
                left.min(self.window_left()),
                1.0 - left as f64 / pages as f64,
            )?;
            if self.window_left() == 0 {
                self.close_window(phase);
            }
        }
        self.close_window(phase);
        Ok(())
    }

    /// Runs the workload until it is steady, or for as long as the scenario says; whether it became steady.
    ///
    /// A pass through a trace that was begun is finished, so that measuring begins with the trace.
    fn warm_up(&mut self, measure: &Measure) -> Result<bool, RunError> {
        if measure.until_worn_out_blocks.is_some() {
            return Ok(false);
        }
        let start = self.host_pages;
        let limit = pages_of(measure.warm_up.unwrap_or(measure.max_warm_up), self.logical_pages);
        let mut steady = false;
        while (self.host_pages - start < limit || self.pass_host_pages > 0)
            && !(steady && measure.warm_up.is_none())
            && self.end_of_life.is_none()
        {
            let done = ((self.host_pages - start) as f64 / limit as f64).min(1.0);
            if self.window(Phase::WarmUp, done)? {
                steady = self.is_steady(Phase::WarmUp, measure.tolerance);
            }
        }
        Ok(steady)
    }

    fn measure(&mut self, measure: &Measure) -> Result<(), RunError> {
        let start = self.host_pages;
        let wanted = pages_of(measure.drive_writes, self.logical_pages).max(1);
        let passes = self.source.passes().map(|passes| passes + u64::from(measure.passes.unwrap_or(1)));
        while self.end_of_life.is_none() {
            let written = self.host_pages - start;
            let worn_out = self.window_start.worn_out_blocks();
            let whole =
                passes.is_none_or(|passes| self.source.passes() >= Some(passes)) && self.pass_host_pages == 0;
            let done = match measure.until_worn_out_blocks {
                Some(wanted) if worn_out >= wanted => break,
                Some(wanted) => f64::from(worn_out) / f64::from(wanted),
                None if written >= wanted && whole => break,
                None => (written as f64 / wanted as f64).min(1.0),
            };
            self.window(Phase::Measure, done)?;
        }
        Ok(())
    }

    /// Whether what the run is judged by, windows or passes, agree well enough.
    fn is_steady(&self, phase: Phase, tolerance: f64) -> bool {
        let series = self.series(phase);
        match self.source.passes() {
            None => steady::is_steady(&series, tolerance),
            Some(_) if series.len() <= STEADY_PASSES => false,
            Some(_) => steady::agree(&series[series.len() - STEADY_PASSES..], tolerance),
        }
    }

    /// Write amplification of the windows of a phase, or of its passes through the trace.
    ///
    /// Traces have good and bad stretches; only whole passes can be compared.
    fn series(&self, phase: Phase) -> Vec<f64> {
        match self.source.passes() {
            Some(_) => self.passes.iter().filter(|pass| pass.0 == phase).map(|pass| pass.1).collect(),
            None => {
                let windows = self.windows.iter().filter(|window| window.phase == phase);
                windows.map(|window| window.write_amplification).collect()
            }
        }
    }

    fn window_left(&self) -> u64 {
        self.window_pages.saturating_sub(self.window_host_pages)
    }

    /// One window of the workload, cut short at the end of a pass; whether the series to judge by grew.
    fn window(&mut self, phase: Phase, done: f64) -> Result<bool, RunError> {
        let passes = self.source.passes();
        while self.window_left() > 0 && self.source.passes() == passes && self.end_of_life.is_none() {
            self.step(None, phase, self.window_left(), done)?;
        }
        self.close_window(phase);
        let ended = self.source.passes() != passes;
        if ended && self.pass_host_pages > 0 {
            self.passes.push((phase, self.pass_programs as f64 / self.pass_host_pages as f64));
            (self.pass_host_pages, self.pass_programs) = (0, 0);
        }
        Ok(ended || passes.is_none())
    }

    /// Takes at most a batch from `source` (the workload, if none is given) and applies it.
    fn step(
        &mut self,
        source: Option<&mut dyn Source>,
        phase: Phase,
        pages: u64,
        done: f64,
    ) -> Result<(), RunError> {
        self.batch.clear();
        let source = source.unwrap_or(&mut *self.source);
        source.fill(&mut self.batch, pages.min(BATCH_PAGES) as usize)?;
        match apply(&mut self.stack, &self.batch) {
            Ok(written) => {
                self.host_pages += written;
                self.window_host_pages += written;
            }
            Err(error) if error.is_end_of_life() => {
                let written = Snapshot::take(&self.stack).host_pages() - self.host_pages;
                self.host_pages += written;
                self.window_host_pages += written;
                self.end_of_life = Some(error);
            }
            Err(error) => return Err(error.into()),
        }
        if self.observer.keep_going().is_break() {
            return Err(RunError::Interrupted);
        }
        self.since_progress += self.batch.pages.len() as u64;
        if self.since_progress >= PROGRESS_PAGES {
            self.since_progress = 0;
            return self.report_progress(phase, done);
        }
        Ok(())
    }

    fn report_progress(&mut self, phase: Phase, done: f64) -> Result<(), RunError> {
        let progress = Progress {
            phase,
            done,
            drive_writes: self.host_pages as f64 / f64::from(self.logical_pages),
            write_amplification: self.windows.last().map(|window| window.write_amplification),
        };
        match self.observer.progress(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(RunError::Interrupted),
        }
    }

    /// Ends the window in hand, if anything was written in it.
    fn close_window(&mut self, phase: Phase) {
        if self.window_host_pages == 0 {
            return;
        }
        let now = Snapshot::take(&self.stack);
        let programs = now.programs() - self.window_start.programs();
        let window = Window {
            phase,
            host_pages: self.host_pages,
            window_host_pages: self.window_host_pages,
            programs,
            erases: now.erases() - self.window_start.erases(),
            write_amplification: programs as f64 / self.window_host_pages as f64,
            mapped_share: now.mapped_share(),
        };
        if matches!(phase, Phase::WarmUp | Phase::Measure) {
            self.pass_host_pages += window.window_host_pages;
            self.pass_programs += programs;
        }
        if self.source.passes().is_none() {
            (self.pass_host_pages, self.pass_programs) = (0, 0);
        }
        self.windows.push(window);
        self.window_start = now;
        self.window_host_pages = 0;
    }

    fn finish(mut self, steady: bool, before: Snapshot, seconds: f64) -> Result<Finished, RunError> {
        let measured = self.series(Phase::Measure);
        Ok(Finished {
            measured,
            before,
            steady,
            trace_passes: self.source.passes(),
            skipped_lines: self.source.skipped(),
            end_of_life: self.end_of_life,
            final_draw: self.stack.top.final_draw() ^ self.source.final_draw().rotate_left(32),
            stack: self.stack,
            windows: self.windows,
            seconds,
        })
    }
}

/// Applies a batch to the stack; pages written.
fn apply(stack: &mut Stack<()>, batch: &PageBatch) -> Result<u64, LayerError> {
    let mut written = 0;
    let mut read = Vec::new();
    for (run, pages) in batch.iter() {
        match run.op {
            Op::Write => {
                stack.top.write(pages, no_data(pages.len()), run.hint)?;
                written += pages.len() as u64;
            }
            Op::Read => {
                read.clear();
                stack.top.read(pages, &mut read)?;
            }
            Op::Trim => stack.top.trim(pages)?,
            Op::Flush => stack.top.flush()?,
        }
    }
    Ok(written)
}
