//! A run beside the least that anything could have written in its place.

use super::{Flash, Recorder, Start, least_rewrites};
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_stack::{HostOp, Observer, RunError, RunResult, Scenario, host_operations, run};

/// Writes of a stretch, of which several add up: memory is for one at a time.
const MOST_WRITES: usize = 1 << 24;

/// Operations between two looks at whether to go on.
const OPS_A_LOOK: u32 = 1 << 16;

/// A run and its limit.
#[derive(Clone, Debug)]
pub struct Limit {
    /// What the drive did.
    pub result: RunResult,
    /// Host pages of the measured part.
    pub host_pages: u64,
    /// Pages of the measured part that had to be rewritten, whatever the drive knew of the future.
    pub least_rewrites: u64,
}

impl Limit {
    /// Write amplification below which nothing gets.
    pub fn lower_bound(&self) -> f64 {
        1.0 + self.least_rewrites as f64 / self.host_pages.max(1) as f64
    }

    /// The share of all that was written beyond the host's pages which nobody has shown to be necessary; `None` where the drive wrote no
    /// more than them, or nothing is known of it.
    pub fn open_share(&self) -> Option<f64> {
        let rewritten = self.result.write_amplification? - 1.0;
        (rewritten > 0.0).then(|| 1.0 - (self.lower_bound() - 1.0) / rewritten)
    }
}

/// Runs `scenario`, and bounds from below what its measured part had to write to flash.
///
/// # Errors
///
/// As of [`run`]; scenarios in which what the drive is asked for is not what the host writes, and several tenants.
pub fn limit(scenario: &Scenario, observer: &mut dyn Observer) -> Result<Limit, RunError> {
    check(scenario)?;
    Limit::of(run(scenario, observer)?, &mut || observer.keep_going())
}

impl Limit {
    /// Bounds from below what the measured part of the run of `result` had to write to flash, as long as `keep_going` lets it.
    ///
    /// # Errors
    ///
    /// As of [`limit`], but for those of the run itself.
    pub fn of(result: RunResult, keep_going: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Self, RunError> {
        check(&result.scenario)?;
        let logical_pages = f64::from(result.device.logical_pages);
        let course = &result.course;
        let before = (course.precondition_drive_writes + course.warm_up_drive_writes) * logical_pages;
        let (begin, host_pages) = (before.round() as u64, course.measured_host_pages);
        let flash =
            Flash { blocks: u64::from(result.device.blocks), pages_per_block: result.device.pages_per_block };
        let recorder = Recorder::new(result.device.logical_pages);
        let mut sum = Sum { flash, recorder, least_rewrites: 0, begin, end: begin + host_pages, written: 0 };
        let (mut ops, mut interrupted) = (0u32, false);
        if host_pages > 0 {
            host_operations(&result.scenario, &mut |op| {
                ops = ops.wrapping_add(1);
                if ops.is_multiple_of(OPS_A_LOOK) && keep_going().is_break() {
                    interrupted = true;
                    return ControlFlow::Break(());
                }
                sum.see(op)
            })?;
        }
        if interrupted {
            return Err(RunError::Interrupted);
        }
        Ok(Limit { host_pages, least_rewrites: sum.least_rewrites, result })
    }
}

/// Refuses scenarios that have no limit.
///
/// # Errors
///
/// What the drive is asked for is not what the host writes.
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

/// The stretches so far.
struct Sum {
    flash: Flash,
    recorder: Recorder,
    least_rewrites: u64,
    /// Host writes before the measured part, and at its end.
    begin: u64,
    end: u64,
    written: u64,
}

impl Sum {
    fn see(&mut self, op: HostOp) -> ControlFlow<()> {
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
        if self.written == self.end || self.recorder.writes() == MOST_WRITES {
            self.end_stretch(self.written > self.begin);
        }
        if self.written == self.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A new stretch begins; what the last one bounds is added if it is `measured`.
    fn end_stretch(&mut self, measured: bool) {
        let history = self.recorder.take();
        if measured {
            self.least_rewrites += least_rewrites(&history, self.flash, Start::Anything);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_stack::{Draft, Progress};

    fn found(settings: &str) -> Result<Limit, RunError> {
        let drive = "device = { capacity = '1 MiB', raw_capacity = '1120 KiB', pages_per_block = 4 }\n\
                     measure = { warm_up = 1.0, drive_writes = 4.0 }\n";
        let scenario =
            Draft::from_toml(&format!("{drive}{settings}"), "the test").unwrap().scenario().unwrap();
        limit(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))
    }

    #[test]
    fn what_had_to_be_rewritten_is_no_more_than_what_was() {
        for workload in ["kind = 'uniform'", "kind = 'zipf', exponent = 0.9"] {
            for victim in ["greedy", "fifo"] {
                let found =
                    found(&format!("workload = {{ {workload} }}\nftl = {{ victim = '{victim}' }}")).unwrap();
                let amplification = found.result.write_amplification.unwrap();
                assert!(found.host_pages >= 4 * 256);
                assert!(found.lower_bound() <= amplification, "{} > {amplification}", found.lower_bound());
                assert!((0.0..=1.0).contains(&found.open_share().unwrap()));
            }
        }
        // Sequential writes need no foresight.
        let sequential = found("workload = { kind = 'sequential' }").unwrap();
        assert_eq!(sequential.least_rewrites, 0);
    }

    #[test]
    fn what_is_no_single_drive_of_one_host_is_refused() {
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
            let error = found(settings).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
