//! A run that is observed page by page, request after request, until the observer stops it.

use super::apply::apply;
use super::error::RunError;
use super::payload::RunPayload;
use super::precondition::{RandomOverwrites, SequentialFill};
use super::source::{Source, SourceError};
use super::tenants::{self, Tenant};
use super::window::Phase;
use crate::build::Stack;
use crate::scenario::resolve::ResolvedScenario;
use crate::scenario::{Fill, Scenario};
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::{EventLog, LayerError, MediumEvent, Reports};
use wearwell_workload::PageBatch;

/// Observer of a run, page by page.
pub trait PageObserver {
    /// Receives the resolved scenario before it is built; an error refuses the scenario.
    fn begin(&mut self, resolved: &ResolvedScenario) -> Result<(), ConfigError>;

    /// Receives the effects of a request on the media, or of a batch of requests during the fill. Each effect comes
    /// with the number of its layer in [`ResolvedScenario::tree`]. Returns `Break` to end the run.
    fn observe(&mut self, phase: Phase, events: Vec<(usize, MediumEvent)>) -> ControlFlow<()>;
}

/// Outcome of an observed run.
#[derive(Debug)]
pub struct ObservedOutcome {
    /// Counts of each layer and of the flash since the drive was new.
    pub reports: Reports,
    /// Reason why the drive reached its end of life, if it did.
    pub end_of_life: Option<LayerError>,
}

/// Executes the observed run.
pub(crate) struct ObservedRun<'a, P> {
    pub stack: Stack<P>,
    pub tenants: Vec<Tenant>,
    pub watch: EventLog,
    pub observer: &'a mut dyn PageObserver,
    pub batch: PageBatch,
}

/// Reason to stop: the observer stopped the run, or no further page can be written.
enum StopReason {
    ObserverStopped,
    EndOfLife(LayerError),
    Failed(RunError),
}

impl From<SourceError> for StopReason {
    fn from(error: SourceError) -> Self {
        StopReason::Failed(error.into())
    }
}

impl<P: RunPayload> ObservedRun<'_, P> {
    /// Fills, overwrites and then runs the workloads, until the observer stops.
    pub fn run(mut self, scenario: &Scenario) -> Result<ObservedOutcome, RunError> {
        let end_of_life = match self.run_until_stop(scenario) {
            StopReason::ObserverStopped => None,
            StopReason::EndOfLife(error) => Some(error),
            StopReason::Failed(error) => return Err(error),
        };
        self.stack.check().map_err(RunError::Inconsistent)?;
        Ok(ObservedOutcome { reports: self.stack.describe(), end_of_life })
    }

    fn run_until_stop(&mut self, scenario: &Scenario) -> StopReason {
        let reason = self.precondition(scenario).err();
        reason.or_else(|| self.workloads().err()).expect("a workload has no end of its own")
    }

    fn precondition(&mut self, scenario: &Scenario) -> Result<(), StopReason> {
        let request_pages = scenario.precondition.request_pages;
        for at in 0..self.tenants.len() {
            if scenario.precondition.fill == Fill::Sequential {
                let mut fill = SequentialFill::new(self.tenants[at].logical_pages, request_pages);
                while !fill.is_complete() {
                    self.batch.clear();
                    fill.fill(&mut self.batch, 4096)?;
                    self.apply(at, Phase::Fill, true)?;
                }
            }
        }
        for at in 0..self.tenants.len() {
            let Tenant { logical_pages, overwrite, .. } = self.tenants[at];
            let mut overwrite =
                RandomOverwrites { pages: logical_pages, request_pages, random: overwrite.random() };
            let pages = scenario.precondition.random_overwrites * f64::from(logical_pages);
            let mut remaining = pages.round() as u64;
            while remaining > 0 {
                self.batch.clear();
                overwrite.fill(&mut self.batch, 1)?;
                remaining = remaining.saturating_sub(self.batch.pages.len() as u64);
                self.apply(at, Phase::Overwrite, true)?;
            }
        }
        self.tenants.iter_mut().for_each(Tenant::begin);
        Ok(())
    }

    fn workloads(&mut self) -> Result<(), StopReason> {
        loop {
            let at = tenants::next_tenant(&self.tenants);
            self.batch.clear();
            self.tenants[at].source.fill(&mut self.batch, 1)?;
            self.apply(at, Phase::Measure, false)?;
        }
    }

    /// Applies the current batch for tenant `at` and reports its effects to the observer. With `needs_contents`, the
    /// tenant's source first adds contents to a batch of another source.
    fn apply(&mut self, at: usize, phase: Phase, needs_contents: bool) -> Result<(), StopReason> {
        let Tenant { source, sent, first_hint, .. } = &mut self.tenants[at];
        if needs_contents {
            source.add_contents(&mut self.batch);
        }
        P::fill_payloads(&mut self.batch);
        let outcome = apply(&mut *self.stack.targets[at].layer, &self.batch, *first_hint, false, sent);
        let flow = self.observer.observe(phase, self.watch.take());
        match outcome {
            Err(error) if error.is_end_of_life() => Err(StopReason::EndOfLife(error)),
            Err(error) => Err(StopReason::Failed(error.into())),
            Ok(()) if flow.is_break() => Err(StopReason::ObserverStopped),
            Ok(()) => Ok(()),
        }
    }
}
