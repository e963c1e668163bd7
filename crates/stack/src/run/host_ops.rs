//! Future operations of the host: the operations of a run, generated without a stack.

use super::error::RunError;
use super::precondition::{RandomOverwrites, SequentialFill};
use super::source::{Source, SourceError, SourceNeeds};
use super::tenants;
use crate::build::memory;
use crate::scenario::resolve::{Foreknowledge, ResolvedScenario};
use crate::scenario::{Fill, Scenario};
use std::collections::VecDeque;
use std::ops::ControlFlow;
pub use wearwell_base::foresight::HostOp;

use wearwell_base::config::ConfigError;
use wearwell_base::foresight::{Foresight, FutureOperations};
use wearwell_trace::Op;
use wearwell_workload::PageBatch;

/// Number of pages drawn at a time.
const BATCH_PAGES: usize = 4096;

/// Number of passes through a trace without a write after which no write is expected.
const MAX_PASSES_WITHOUT_WRITE: u64 = 2;

/// The operations of one tenant of a run, in order, from the fresh drive on.
struct HostOps {
    /// Sources of preconditioning writes, with their numbers of pages.
    preconditioning: VecDeque<(Box<dyn Source>, u64)>,
    workload: Box<dyn Source>,
    batch: PageBatch,
    /// Last pass through the trace that contained a write.
    last_writing_pass: Option<u64>,
}

impl HostOps {
    fn of(resolved: &ResolvedScenario) -> Result<Self, RunError> {
        if resolved.tree.tenants.len() != 1 {
            return Err(foresight_error("whose turn it is of several is not known without the stack"));
        }
        HostOps::of_tenant(resolved, 0)
    }

    /// Returns the operations of tenant `at`, which do not depend on other tenants.
    fn of_tenant(resolved: &ResolvedScenario, at: usize) -> Result<Self, RunError> {
        let scenario = &resolved.scenario;
        if scenario.top.is_some() {
            return Err(ConfigError::new("top", "what it writes is not known without the stack").into());
        }
        let pages = resolved.tree.tenants[at].pages;
        let request_pages = scenario.precondition.request_pages;
        let mut preconditioning: VecDeque<(Box<dyn Source>, u64)> = VecDeque::new();
        if scenario.precondition.fill == Fill::Sequential {
            preconditioning
                .push_back((Box::new(SequentialFill::new(pages, request_pages)), u64::from(pages)));
        }
        let overwrites = (scenario.precondition.random_overwrites * f64::from(pages)).round() as u64;
        let random = tenants::overwrite_seed(scenario, at).random();
        preconditioning.push_back((Box::new(RandomOverwrites { pages, request_pages, random }), overwrites));
        let needs = SourceNeeds {
            contents: false,
            requests: false,
            time: resolved.timing.as_ref().and_then(|timing| timing.arrivals.clone()),
        };
        let page_bytes = resolved.device.geometry.page_bytes;
        let workload = tenants::build_source(scenario, at, None, (pages, page_bytes), &needs)?;
        Ok(HostOps { preconditioning, workload, batch: PageBatch::default(), last_writing_pass: None })
    }

    /// Passes the next operations to `sink`; returns false at the end.
    fn next(&mut self, mut sink: impl FnMut(HostOp)) -> Result<bool, SourceError> {
        self.batch.clear();
        let requested = match self.preconditioning.front_mut() {
            Some((source, left)) if *left > 0 => {
                source.fill(&mut self.batch, (*left).min(BATCH_PAGES as u64) as usize)?;
                *left = left.saturating_sub(self.batch.pages.len() as u64);
                true
            }
            Some(_) => {
                self.preconditioning.pop_front();
                return Ok(true);
            }
            None => false,
        };
        if !requested {
            self.workload.fill(&mut self.batch, BATCH_PAGES)?;
        }
        let mut has_written = false;
        for (run, pages) in self.batch.iter() {
            has_written |= run.op == Op::Write;
            match run.op {
                Op::Write => pages.iter().for_each(|&page| sink(HostOp::Write(page))),
                Op::Trim => pages.iter().for_each(|&page| sink(HostOp::Trim(page))),
                Op::Read | Op::Flush => {}
            }
        }
        if has_written {
            self.last_writing_pass = self.workload.passes();
        }
        // A trace restarts at its end, and may never write.
        let passes_since_write = self.workload.passes().zip(self.last_writing_pass.or(Some(0)));
        Ok(passes_since_write.is_none_or(|(passes, wrote)| passes < wrote + MAX_PASSES_WITHOUT_WRITE))
    }
}

/// Future operations of a run. After an unreadable line of the trace, no further operations are known; the run itself
/// reports the error at that line.
impl FutureOperations for HostOps {
    fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool {
        HostOps::next(self, sink).unwrap_or(false)
    }
}

/// Returns the future writes of the host of `resolved`, if a layer needs them.
///
/// # Errors
/// Fails as [`host_operations`] does.
pub(crate) fn foresight(resolved: &ResolvedScenario) -> Result<Option<Foresight>, RunError> {
    let Some(Foreknowledge { horizon, pages, tenant }) = resolved.foreknowledge() else { return Ok(None) };
    // Foreknowledge counts towards the memory of a run and is allocated before the stack.
    memory::check(resolved)?;
    Ok(Some(Foresight::new(Box::new(HostOps::of_tenant(resolved, tenant)?), pages, horizon)))
}

fn foresight_error(problem: &str) -> RunError {
    ConfigError::new("tenant", problem).into()
}

/// Calls `sink` with each write and trim of the host of `scenario`, from the fresh drive on, until `sink` returns
/// `Break` or no operations remain.
///
/// # Errors
/// Fails as [`crate::run()`] does, except for errors of the stack, and for a scenario with several tenants.
pub fn host_operations(
    scenario: &Scenario,
    sink: &mut dyn FnMut(HostOp) -> ControlFlow<()>,
) -> Result<(), RunError> {
    let mut ops = HostOps::of(&ResolvedScenario::of(scenario.clone())?)?;
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() {
        let more = ops.next(|op| {
            if flow.is_continue() {
                flow = sink(op);
            }
        })?;
        if !more {
            break;
        }
    }
    Ok(())
}
