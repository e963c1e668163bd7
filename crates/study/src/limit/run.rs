//! A run beside the least that anything could have written in its place.

use super::{Flash, Recorder, Start, least_rewrites};
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_stack::{HostOp, Observer, Phase, RunError, RunResult, Scenario, host_operations, run};

/// Writes of a stretch, of which several add up: memory is for one at a time.
const MOST_WRITES: usize = 1 << 24;

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
    let problem = |key, problem: &str| Err(ConfigError::new(key, problem).into());
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
    let result = run(scenario, observer)?;
    let host_pages = result.course.measured_host_pages;
    let measured = result.windows.iter().rev().find(|window| window.phase == Phase::Measure);
    let end = measured.map_or(0, |window| window.host_pages);
    let flash =
        Flash { blocks: u64::from(result.device.blocks), pages_per_block: result.device.pages_per_block };
    let mut sum = Sum { flash, recorder: Recorder::new(result.device.logical_pages), least_rewrites: 0 };
    let (begin, mut written) = (end - host_pages, 0);
    host_operations(&result.scenario, &mut |op| {
        match op {
            HostOp::Trim(page) => sum.recorder.trim(page),
            HostOp::Write(page) => {
                if written == begin {
                    sum.end_stretch(false);
                }
                sum.recorder.write(page);
                written += 1;
            }
        }
        if written == end || sum.recorder.writes() == MOST_WRITES {
            sum.end_stretch(written > begin);
        }
        if written == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Limit { host_pages, least_rewrites: sum.least_rewrites, result })
}

/// The stretches so far.
struct Sum {
    flash: Flash,
    recorder: Recorder,
    least_rewrites: u64,
}

impl Sum {
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
