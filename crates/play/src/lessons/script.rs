//! Scripts of host requests for lessons.

use crate::film::Film;
use crate::scenario::{FilmRange, MAX_STEPS};
use std::collections::VecDeque;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_plot::Failure;
use wearwell_stack::{CustomParts, Draft, WorkloadFactory};
use wearwell_workload::{PageBatch, Workload};

/// Drive of nine blocks of 8 pages, with a capacity of seven and a half blocks; the script supplies the writes.
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

/// Sequence of requests, each with its first page and number of pages. After the last request, the script continues
/// with flushes.
pub struct WriteScript(VecDeque<(Op, u32, u32)>);

impl WriteScript {
    /// Returns an empty script.
    pub fn new() -> WriteScript {
        WriteScript(VecDeque::new())
    }

    /// Adds a write of pages in one request.
    pub fn write(mut self, first: u32, pages: u32) -> WriteScript {
        self.0.push_back((Op::Write, first, pages));
        self
    }

    /// Films the scenario while the script runs.
    pub fn film(self, scenario: &str) -> Result<Film, Failure> {
        let scenario = Draft::from_toml(scenario, "the lesson's scenario")?.scenario()?;
        let workload: WorkloadFactory = Box::new(move |_| Box::new(self));
        let parts = CustomParts { workload: Some(workload), ..CustomParts::default() };
        let cut = FilmRange { from: 0, steps: MAX_STEPS };
        Ok(crate::scenario::film(&scenario, parts, cut, &mut || true)?.film)
    }
}

impl Workload for WriteScript {
    fn fill(&mut self, batch: &mut PageBatch, _pages: usize) {
        let (op, first, pages) = self.0.pop_front().unwrap_or((Op::Flush, 0, 0));
        batch.push_request(op, 0, Lpn(first), pages);
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}
