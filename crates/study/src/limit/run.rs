//! Runs with their lower bound.

use super::{FlashGeometry, HistoryRecorder, InitialFlash, least_rewrites};
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_stack::{HostOp, Observer, RunError, RunResult, Scenario, host_operations, run};

/// Maximum number of writes in a stretch, which bounds memory; a run is a sum over stretches.
const MAX_STRETCH_WRITES: usize = 1 << 24;

/// Number of operations between two checks for interruption.
const OPS_PER_STOP_CHECK: u32 = 1 << 16;

/// Run with its lower bound.
#[derive(Clone, Debug)]
pub struct LowerBoundRun {
    /// Result of the run.
    pub result: RunResult,
    /// Host pages of the measured phase.
    pub host_pages: u64,
    /// Least number of rewrites in the measured phase for any drive, even with knowledge of the future.
    pub least_rewrites: u64,
}

impl LowerBoundRun {
    /// Returns the lower bound on write amplification.
    pub fn lower_bound(&self) -> f64 {
        1.0 + self.least_rewrites as f64 / self.host_pages.max(1) as f64
    }

    /// Returns the fraction of the rewrites that is not proven necessary; `None` without rewrites, or without a write
    /// amplification.
    pub fn unproven_share(&self) -> Option<f64> {
        let rewritten = self.result.write_amplification? - 1.0;
        (rewritten > 0.0).then(|| 1.0 - (self.lower_bound() - 1.0) / rewritten)
    }
}

/// Runs `scenario`, and computes the lower bound of flash writes in its measured phase.
///
/// # Errors
///
/// Fails as [`run`] does, for scenarios in which the drive's requests differ from the host's writes, and for several
/// tenants.
pub fn run_with_bound(scenario: &Scenario, observer: &mut dyn Observer) -> Result<LowerBoundRun, RunError> {
    check(scenario)?;
    LowerBoundRun::of(run(scenario, observer)?, &mut || observer.should_continue())
}

impl LowerBoundRun {
    /// Computes the lower bound of flash writes in the measured phase of `result`, unless `keep_going` stops it.
    ///
    /// # Errors
    ///
    /// Fails as [`run_with_bound`] does, except for errors of the run itself.
    pub fn of(result: RunResult, keep_going: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Self, RunError> {
        check(&result.scenario)?;
        let logical_pages = f64::from(result.device.logical_pages);
        let course = &result.phases;
        let before = (course.precondition_drive_writes + course.warm_up_drive_writes) * logical_pages;
        let (begin, host_pages) = (before.round() as u64, course.measured_host_pages);
        let flash = FlashGeometry {
            blocks: u64::from(result.device.blocks),
            pages_per_block: result.device.pages_per_block,
        };
        let recorder = HistoryRecorder::new(result.device.logical_pages);
        let mut sum =
            BoundSum { flash, recorder, least_rewrites: 0, begin, end: begin + host_pages, written: 0 };
        let (mut ops, mut interrupted) = (0u32, false);
        if host_pages > 0 {
            host_operations(&result.scenario, &mut |op| {
                ops = ops.wrapping_add(1);
                if ops.is_multiple_of(OPS_PER_STOP_CHECK) && keep_going().is_break() {
                    interrupted = true;
                    return ControlFlow::Break(());
                }
                sum.record(op)
            })?;
        }
        if interrupted {
            return Err(RunError::Interrupted);
        }
        Ok(LowerBoundRun { host_pages, least_rewrites: sum.least_rewrites, result })
    }
}

/// Refuses scenarios without a lower bound.
///
/// # Errors
///
/// Returns an error if the drive's requests differ from the host's writes.
pub fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    let problem = |key, problem: &str| Err(ConfigError::new(key, problem));
    if !scenario.log.is_empty() {
        return problem(
            "log",
            "the limit is that of a drive; a layer on it writes something else than the host",
        );
    }
    if scenario.holds_content() {
        return problem("ftl.dedup", "the limit counts each page that the host writes as written");
    }
    if scenario.power.is_some() {
        return problem("power", "the limit is that of a drive which keeps its power");
    }
    if scenario.top.is_some() {
        return problem(
            "top",
            "the limit is that of a drive; a file system on it writes something else than the host",
        );
    }
    Ok(())
}

/// Sum of the bounds of stretches.
struct BoundSum {
    flash: FlashGeometry,
    recorder: HistoryRecorder,
    least_rewrites: u64,
    /// Number of host writes at the start of the measured phase.
    begin: u64,
    /// Number of host writes at the end of the measured phase.
    end: u64,
    written: u64,
}

impl BoundSum {
    fn record(&mut self, op: HostOp) -> ControlFlow<()> {
        match op {
            HostOp::Trim(page) => self.recorder.trim(page),
            HostOp::Write(page) => {
                if self.written == self.begin {
                    self.end_stretch(false);
                }
                self.recorder.write(page);
                self.written += 1;
            }
        }
        if self.written == self.end || self.recorder.writes() == MAX_STRETCH_WRITES {
            self.end_stretch(self.written > self.begin);
        }
        if self.written == self.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Begins a new stretch, and adds the bound of the last one if it is `measured`.
    fn end_stretch(&mut self, measured: bool) {
        let history = self.recorder.take();
        if measured {
            self.least_rewrites += least_rewrites(&history, self.flash, InitialFlash::Arbitrary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::units::Lpn;
    use wearwell_stack::{Draft, Progress};

    fn bounded_run(settings: &str) -> Result<LowerBoundRun, RunError> {
        let drive = "device = { capacity = '1 MiB', raw_capacity = '1120 KiB', pages_per_block = 4 }\n\
                     measure = { warm_up = 1.0, drive_writes = 4.0 }\n";
        let scenario =
            Draft::from_toml(&format!("{drive}{settings}"), "the test").unwrap().scenario().unwrap();
        run_with_bound(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))
    }

    #[test]
    fn least_rewrites_never_exceed_actual_rewrites() {
        for workload in ["kind = 'uniform'", "kind = 'zipf', exponent = 0.9"] {
            for victim in ["greedy", "fifo"] {
                let found =
                    bounded_run(&format!("workload = {{ {workload} }}\nftl = {{ victim = '{victim}' }}"))
                        .unwrap();
                let amplification = found.result.write_amplification.unwrap();
                assert!(found.host_pages >= 4 * 256);
                assert!(found.lower_bound() <= amplification, "{} > {amplification}", found.lower_bound());
                assert!((0.0..=1.0).contains(&found.unproven_share().unwrap()));
            }
        }
        // Sequential writes need no rewrites.
        let sequential = bounded_run("workload = { kind = 'sequential' }").unwrap();
        assert_eq!(sequential.least_rewrites, 0);
    }

    /// A full drive of two blocks of four pages: each measured write needs three rewrites, and the initial content saves
    /// 24 of them.
    #[test]
    fn bound_covers_exactly_the_measured_writes() {
        for (begin, host_pages, expected) in [(8, 16, 24), (8, 15, 21), (9, 16, 24), (16, 9, 3)] {
            let flash = FlashGeometry { blocks: 2, pages_per_block: 4 };
            let recorder = HistoryRecorder::new(8);
            let end = begin + host_pages;
            let mut sum = BoundSum { flash, recorder, least_rewrites: 0, begin, end, written: 0 };
            for write in 1..=end {
                let flow = sum.record(HostOp::Write(Lpn((write % 8) as u32)));
                assert_eq!(flow.is_break(), write == end, "write {write} of {end}");
            }
            assert_eq!(sum.least_rewrites, expected, "{host_pages} writes after {begin}");
        }
    }

    #[test]
    fn bound_and_unproven_share_have_hand_computed_values() {
        let mut found = bounded_run("workload = { kind = 'sequential' }").unwrap();
        found.result.write_amplification = Some(2.0);
        (found.host_pages, found.least_rewrites) = (1000, 250);
        assert_eq!((found.lower_bound(), found.unproven_share()), (1.25, Some(0.75)));
        found.least_rewrites = 1000;
        assert_eq!((found.lower_bound(), found.unproven_share()), (2.0, Some(0.0)));
        found.result.write_amplification = Some(1.0);
        assert_eq!(found.unproven_share(), None);
        (found.host_pages, found.least_rewrites) = (0, 0);
        assert_eq!(found.lower_bound(), 1.0);
    }

    #[test]
    fn scenario_without_lower_bound_is_refused() {
        for (settings, problem) in [
            (
                "workload = { kind = 'uniform' }\n[[log]]\nspare_factor = 0.3",
                "log: the limit is that of a drive",
            ),
            (
                "ftl = { dedup = 'cagc' }\nworkload = { kind = 'uniform' }\ncontent = 'mail'",
                "ftl.dedup: the limit counts",
            ),
            (
                "workload = { kind = 'uniform' }\npower = { at_end = true }",
                "power: the limit is that of a drive",
            ),
        ] {
            let error = bounded_run(settings).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
