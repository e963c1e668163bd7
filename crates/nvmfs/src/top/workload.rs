//! A file system as a workload of the stack below.

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

/// What a file system at the top of a stack did in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopReport {
    /// Whether the files were made before the run was over.
    pub set_up: bool,
    /// What was played after the set-up.
    pub played: PlayCounts,
    /// What was done while it was measured.
    pub measured: Measured,
    /// How the file system stands, and what it did since it was made.
    pub stats: Stats,
}

/// From when on a run with a file system is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountFrom {
    /// Once `measure` has warmed up: from the steady state on, unless `measure.warm_up` says when.
    #[default]
    Steady,
    /// From its making on, the making of the workload's files included.
    Mkfs,
    /// Once the workload's files are made.
    SetUp,
}

/// What a file system at the top of a stack did while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What was played.
    pub played: PlayCounts,
    /// What the file system did for it.
    pub counts: Counts,
    /// Bytes written to the SSD for each that the workload wrote, which figure 6 compares; `None` where it wrote nothing.
    pub traffic: Option<f64>,
}

/// When it is measured, and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    /// From when on.
    pub from: CountFrom,
    /// Bytes that the workload writes while it is measured, its set-up not counting; `None` for as long as the run goes on.
    pub written_bytes: Option<u64>,
}

/// A machine whose requests drive a stack.
pub(super) struct TopWorkload {
    machine: Machine,
    pages_per_block: u32,
    course: Course,
    requests: Vec<BlockRequest>,
    was_set_up: bool,
    /// What was played of the set-up.
    set_up: PlayCounts,
    /// What had been played, and done, when measuring began.
    before: Option<(PlayCounts, Counts)>,
    /// The stage of the requests handed out last.
    stage: Option<Stage>,
    failure: Option<String>,
}

impl TopWorkload {
    pub(super) fn new(machine: Machine, pages_per_block: u32, course: Course) -> Self {
        let mut new = TopWorkload {
            machine,
            pages_per_block,
            course,
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

    /// Everything that was played.
    fn played(&self) -> PlayCounts {
        if self.was_set_up { self.set_up + self.machine.played() } else { self.machine.played() }
    }

    /// The stage of what is played next.
    fn next_stage(&self) -> Option<Stage> {
        let stage = match (self.before, self.course.from) {
            (Some(_), _) => {
                let wanted = self.course.written_bytes?;
                if self.was_set_up && self.written_since() >= wanted { Stage::Over } else { Stage::Measured }
            }
            // Warmed up as the run has it.
            (None, CountFrom::Steady) => return None,
            (None, CountFrom::SetUp) if !self.was_set_up => Stage::WarmUp,
            (None, CountFrom::SetUp | CountFrom::Mkfs) => Stage::Measured,
        };
        Some(stage)
    }

    /// Bytes written since measuring began, those of the set-up not counting.
    fn written_since(&self) -> u64 {
        let before = self.before.map_or(0, |(played, _)| played.written_bytes);
        self.played().written_bytes - before.max(self.set_up.written_bytes)
    }

    /// Plays on until there is a request; false if that came to an end, or if what comes is of another stage.
    fn play_on(&mut self) -> bool {
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

    /// What was done since measuring began.
    fn measured(&self) -> Measured {
        let (played, counts) = self.before.unwrap_or((self.played(), self.machine.stats().counts));
        let (played, counts) = (self.played() - played, self.machine.stats().counts - counts);
        let sent_bytes = (counts.ssd_written_blocks * BLOCK_BYTES as u64) as f64;
        let traffic = (played.written_bytes > 0).then(|| sent_bytes / played.written_bytes as f64);
        Measured { played, counts, traffic }
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
            if !self.play_on() {
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

    fn failure(&self) -> Option<String> {
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
        // The file system draws no numbers, and its workload's are seen in what it did.
        let counts = self.machine.stats().counts;
        counts.ssd_written_blocks.rotate_left(32) ^ counts.written_blocks ^ counts.read_hits.rotate_left(48)
    }
}
