//! File system as a workload of the stack below it.

use super::machine::Machine;
use crate::api::BLOCK_BYTES;
use crate::ssd::{BlockOp, BlockRequest};
use crate::stats::{Counts, Stats};
use crate::workload::play::PlayCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_workload::{PageBatch, Stage, Workload};

/// Results of a file system on top of a stack in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopReport {
    /// True if the set-up was complete before the run ended.
    pub set_up: bool,
    /// Counts of operations after the set-up.
    pub played: PlayCounts,
    /// Counts during the measurement.
    pub measured: MeasuredCounts,
    /// State of the file system, and its counts since its creation.
    pub stats: Stats,
}

/// Start of the measurement in a run with a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountFrom {
    /// After the warm-up of `measure`: in the steady state, unless `measure.warm_up` sets the start.
    #[default]
    Steady,
    /// At the creation of the file system; includes the set-up of the workload.
    Mkfs,
    /// After the set-up of the workload.
    SetUp,
}

/// Counts of a file system on top of a stack during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCounts {
    /// Counts of operations.
    pub played: PlayCounts,
    /// Counts of the file system.
    pub counts: Counts,
    /// Bytes written to the SSD divided by bytes written by the workload, as in figure 6; `None` if the
    /// workload wrote nothing.
    pub traffic: Option<f64>,
}

/// Start and length of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasurementPlan {
    /// Event at which the measurement starts.
    pub from: CountFrom,
    /// Number of bytes that the workload writes during the measurement, without its set-up; `None` if the measurement
    /// lasts for the whole run.
    pub written_bytes: Option<u64>,
}

/// Machine whose requests drive a stack.
pub(super) struct TopWorkload {
    machine: Machine,
    pages_per_block: u32,
    plan: MeasurementPlan,
    requests: Vec<BlockRequest>,
    was_set_up: bool,
    /// Counts of the operations of the set-up.
    set_up: PlayCounts,
    /// Counts of operations, and of the file system, at the start of the measurement.
    before: Option<(PlayCounts, Counts)>,
    /// Stage of the requests that were returned last.
    stage: Option<Stage>,
    failure: Option<String>,
}

impl TopWorkload {
    pub(super) fn new(machine: Machine, pages_per_block: u32, plan: MeasurementPlan) -> Self {
        let mut new = TopWorkload {
            machine,
            pages_per_block,
            plan,
            requests: Vec::new(),
            was_set_up: false,
            set_up: PlayCounts::default(),
            before: None,
            stage: None,
            failure: None,
        };
        new.stage = new.next_stage();
        new
    }

    /// Returns the counts of all operations, including the set-up.
    fn played(&self) -> PlayCounts {
        if self.was_set_up { self.set_up + self.machine.played() } else { self.machine.played() }
    }

    /// Returns the stage of the next operation.
    fn next_stage(&self) -> Option<Stage> {
        let stage = match (self.before, self.plan.from) {
            (Some(_), _) => {
                let written_bytes = self.plan.written_bytes?;
                if self.was_set_up && self.written_since() >= written_bytes {
                    Stage::Over
                } else {
                    Stage::Measured
                }
            }
            // The driver of the run decides when the warm-up ends.
            (None, CountFrom::Steady) => return None,
            (None, CountFrom::SetUp) if !self.was_set_up => Stage::WarmUp,
            (None, CountFrom::SetUp | CountFrom::Mkfs) => Stage::Measured,
        };
        Some(stage)
    }

    /// Returns the number of bytes written since the start of the measurement, without the set-up.
    fn written_since(&self) -> u64 {
        let before = self.before.map_or(0, |(played, _)| played.written_bytes);
        self.played().written_bytes - before.max(self.set_up.written_bytes)
    }

    /// Executes operations until there is a request. Returns false if the workload has ended, or if the next request
    /// belongs to another stage.
    fn play_until_request(&mut self) -> bool {
        while self.requests.is_empty() {
            let stage = self.next_stage();
            if stage != self.stage {
                self.stage = stage;
                return false;
            }
            let failure = match self.machine.step(&mut self.requests) {
                Ok(true) => {
                    self.begin_main_phase();
                    continue;
                }
                Ok(false) => "the workload ended; under a stack it must go on for ever".to_owned(),
                Err(error) => error.to_string(),
            };
            self.failure = Some(failure);
            return false;
        }
        true
    }

    fn begin_main_phase(&mut self) {
        if !self.was_set_up && self.machine.is_set_up() {
            self.was_set_up = true;
            self.set_up = self.machine.played();
            self.machine.reset_counts();
        }
    }

    /// Returns the counts since the start of the measurement.
    fn measured(&self) -> MeasuredCounts {
        let (played, counts) = self.before.unwrap_or((self.played(), self.machine.stats().counts));
        let (played, counts) = (self.played() - played, self.machine.stats().counts - counts);
        let sent_bytes = (counts.ssd_written_blocks * BLOCK_BYTES as u64) as f64;
        let traffic = (played.written_bytes > 0).then(|| sent_bytes / played.written_bytes as f64);
        MeasuredCounts { played, counts, traffic }
    }

    fn push(&self, batch: &mut PageBatch, request: BlockRequest) {
        let op = match request.op {
            BlockOp::Read => Op::Read,
            BlockOp::Write => Op::Write,
            BlockOp::Trim => Op::Trim,
            BlockOp::Flush => Op::Flush,
        };
        let pages = u64::from(self.pages_per_block);
        batch.push_request(
            op,
            request.stream,
            Lpn((request.first * pages) as u32),
            (request.blocks * pages) as u32,
        );
    }
}

impl Workload for TopWorkload {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let until = batch.pages.len() + pages;
        while batch.pages.len() < until {
            if !self.play_until_request() {
                return;
            }
            let taken = if pages == 1 { 1 } else { self.requests.len() };
            let requests: Vec<_> = self.requests.drain(..taken).collect();
            requests.into_iter().for_each(|request| self.push(batch, request));
            if pages == 1 {
                break;
            }
        }
    }

    fn failure_reason(&self) -> Option<String> {
        self.failure.clone()
    }

    fn stage(&self) -> Option<Stage> {
        self.stage
    }

    fn begin_measure(&mut self) {
        self.before = Some((self.played(), self.machine.stats().counts));
        self.stage = self.next_stage();
    }

    fn report(&self) -> Option<Value> {
        let (played, stats) = (self.machine.played(), self.machine.stats());
        let report = TopReport { set_up: self.was_set_up, played, measured: self.measured(), stats };
        Some(serde_json::to_value(report).expect("counts are plain data"))
    }

    fn final_draw(&mut self) -> u64 {
        // The file system draws no random numbers, and its counts reflect the random numbers of its workload.
        let counts = self.machine.stats().counts;
        counts.ssd_written_blocks.rotate_left(32) ^ counts.written_blocks ^ counts.read_hits.rotate_left(48)
    }
}
