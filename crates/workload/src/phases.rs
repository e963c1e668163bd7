//! Workloads in sequence: a load that changes, a hot set that moves.

use super::Workload;
use super::batch::{FillGoal, PageBatch};
use super::config::WorkloadConfig;
use super::error::{invalid_value, require};
use super::kind::Kind;
use super::rank_map::Space;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_base::seed::Seed;

/// A sequence of workloads, each for a given number of page writes.
///
/// A phase that is repeated continues where it stopped. All phases scatter alike: a page of some rank stays
/// where it is unless the phases differ in `shift`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// The phases, in order; at least one.
    pub phases: Vec<Phase>,
    /// True if the first phase follows the last. Otherwise the last phase never ends.
    #[serde(default)]
    pub repeat: bool,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Writes of the phase, in multiples of the logical capacity, above 0, rounded to pages. Only a last
    /// phase that never ends may omit the value; if given there, it has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub writes: Option<f64>,
    /// Workload of the phase.
    pub workload: WorkloadConfig,
}

impl Phases {
    /// True if phase `index` never ends.
    fn is_endless(&self, index: usize) -> bool {
        !self.repeat && index + 1 == self.phases.len()
    }

    /// Returns the number of page writes of phase `index`; `u64::MAX` for an endless phase.
    fn page_writes(&self, index: usize, space: &Space) -> Result<u64, ConfigError> {
        if self.is_endless(index) {
            return Ok(u64::MAX);
        }
        let phase = &self.phases[index];
        let key = format!("phases[{index}].writes");
        let Some(writes) = phase.writes else {
            let allowed = "must say after how many multiples of the logical capacity the phase ends";
            return Err(invalid_value(key, "nothing", allowed));
        };
        let is_valid = writes > 0.0 && writes.is_finite();
        require(is_valid, key, writes, "must be a finite number of logical capacities above 0")?;
        let allowed = "must write, or the phase never ends";
        let written = phase.workload.written_per_request();
        require(written > 0.0, format!("phases[{index}].workload"), "without writes", allowed)?;
        Ok(((writes * f64::from(space.logical_pages)).round() as u64).max(1))
    }
}

impl Kind for Phases {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        require(!self.phases.is_empty(), "phases", "[]", "must have at least one entry")?;
        let mut sources = Vec::new();
        for (index, phase) in self.phases.iter().enumerate() {
            let name = format!("phases[{index}]");
            let source = phase.workload.build_on(space, seed.derive(&name));
            let source = source.map_err(|error| error.within(&format!("{name}.workload")))?;
            sources.push(PhaseSource { source, page_writes: self.page_writes(index, space)? });
        }
        let remaining_writes = sources[0].page_writes;
        Ok(Box::new(PhaseSequence { phases: sources, current: 0, remaining_writes }))
    }

    /// Returns the mean over the whole sequence: the pages written in all phases, divided by the number of requests.
    fn written_per_request(&self) -> f64 {
        let endless = self.phases.last().filter(|_| !self.repeat);
        if let Some(last) = endless {
            return last.workload.written_per_request();
        }
        let writes = self.phases.iter().map(|phase| phase.writes.unwrap_or(0.0));
        let requests = self
            .phases
            .iter()
            .map(|phase| phase.writes.unwrap_or(0.0) / phase.workload.written_per_request());
        writes.sum::<f64>() / requests.sum::<f64>()
    }
}

struct PhaseSource {
    source: Box<dyn Workload>,
    page_writes: u64,
}

struct PhaseSequence {
    phases: Vec<PhaseSource>,
    current: usize,
    /// Number of page writes until the current phase ends, including those of the request that reaches the end.
    remaining_writes: u64,
}

impl Workload for PhaseSequence {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let goal = FillGoal::new(batch, pages);
        while !goal.is_met(batch) {
            // A fill of at most `remaining_writes` pages cannot go beyond the request that ends the phase, even if many
            // requests are reads. The end therefore does not depend on the sizes of fills.
            let requested = self.remaining_writes.min(goal.missing(batch)) as usize;
            let (pages_before, runs_before) = (batch.pages.len(), batch.runs.len());
            self.phases[self.current].source.fill(batch, requested);
            self.remaining_writes =
                self.remaining_writes.saturating_sub(written_since(batch, pages_before, runs_before));
            if self.remaining_writes == 0 {
                self.current = (self.current + 1) % self.phases.len();
                self.remaining_writes = self.phases[self.current].page_writes;
            }
        }
    }

    fn final_draw(&mut self) -> u64 {
        self.phases.iter_mut().fold(0, |all, stage| all.rotate_left(1) ^ stage.source.final_draw())
    }
}

/// Returns the number of pages written by the requests appended to `batch` since the batch had the given numbers of
/// pages and runs.
fn written_since(batch: &PageBatch, pages_before: usize, runs_before: usize) -> u64 {
    let mut start = pages_before;
    let mut written = 0;
    // The last run before the fill may have grown.
    for run in &batch.runs[runs_before.saturating_sub(1)..] {
        let end = (run.end as usize).max(start);
        if run.op == Op::Write {
            written += (end - start) as u64;
        }
        start = end;
    }
    written
}
