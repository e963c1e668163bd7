//! What a lesson's host does, request by request.

use crate::film::Film;
use crate::scenario::{Cut, MOST_STEPS};
use std::collections::VecDeque;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_plot::Failure;
use wearwell_stack::{Draft, MakeWorkload, Parts};
use wearwell_workload::{PageBatch, Workload};

/// Nine blocks of 8 pages, with room for seven and a half; what is written is up to the script.
pub const SMALL_DRIVE: &str = r#"
[device]
capacity = "240 KiB"
raw_capacity = "288 KiB"
pages_per_block = 8
page_size = "4 KiB"

[ftl]
placement = "single"
reclaim = "in_place"

[precondition]
fill = "none"

[workload]
kind = "uniform"
"#;

/// Requests, each for pages from the first on. When all are done there are only flushes.
pub struct Script(VecDeque<(Op, u32, u32)>);

impl Script {
    /// Does nothing.
    pub fn new() -> Script {
        Script(VecDeque::new())
    }

    /// Writes pages in one request.
    pub fn write(mut self, first: u32, pages: u32) -> Script {
        self.0.push_back((Op::Write, first, pages));
        self
    }

    /// Films the scenario while this is done.
    pub fn film(self, scenario: &str) -> Result<Film, Failure> {
        let scenario = Draft::from_toml(scenario, "the lesson's scenario")?.scenario()?;
        let make: MakeWorkload = Box::new(move |_| Box::new(self));
        let parts = Parts { workload: Some(make), ..Parts::default() };
        let cut = Cut { from: 0, steps: MOST_STEPS };
        Ok(crate::scenario::film(&scenario, parts, cut, &mut || true)?.film)
    }
}

impl Workload for Script {
    fn fill(&mut self, batch: &mut PageBatch, _pages: usize) {
        let (op, first, pages) = self.0.pop_front().unwrap_or((Op::Flush, 0, 0));
        batch.push_request(op, 0, Lpn(first), pages);
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}
