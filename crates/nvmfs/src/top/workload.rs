//! A file system as a workload of the stack below.

use super::machine::Machine;
use crate::ssd::{BlockOp, BlockRequest};
use crate::stats::Stats;
use crate::workload::play::PlayCounts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_workload::{PageBatch, Workload};

/// What a file system at the top of a stack did in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopReport {
    /// Whether the files were made before the run was over.
    pub set_up: bool,
    /// What was played after the set-up.
    pub played: PlayCounts,
    /// How the file system stands, and what it did since it was made.
    pub stats: Stats,
}

/// A machine whose requests drive a stack.
pub(super) struct TopWorkload {
    machine: Machine,
    pages_per_block: u32,
    requests: Vec<BlockRequest>,
    was_set_up: bool,
    failure: Option<String>,
}

impl TopWorkload {
    pub(super) fn new(machine: Machine, pages_per_block: u32) -> Self {
        TopWorkload { machine, pages_per_block, requests: Vec::new(), was_set_up: false, failure: None }
    }

    /// Plays on until there is a request; false if that came to an end.
    fn play_on(&mut self) -> bool {
        while self.requests.is_empty() {
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
            self.machine.reset_counts();
        }
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

    fn report(&self) -> Option<Value> {
        let (played, stats) = (self.machine.played(), self.machine.stats());
        let report = TopReport { set_up: self.was_set_up, played, stats };
        Some(serde_json::to_value(report).expect("counts are plain data"))
    }

    fn final_draw(&mut self) -> u64 {
        // The file system draws no numbers, and its workload's are seen in what it did.
        let counts = self.machine.stats().counts;
        counts.ssd_written_blocks.rotate_left(32) ^ counts.written_blocks ^ counts.read_hits.rotate_left(48)
    }
}
