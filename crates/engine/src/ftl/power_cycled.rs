//! FTLs at any depth of a stack whose power can be cut from outside.

use super::lasting_commands::LastingCommands;
use super::power_cycle_counts::PowerCycleCounts;
use super::{Outages, PowerCycle, Restart};
use crate::counters::Operation;
use crate::layer::{
    Abilities, Answer, Command, Layer, LayerError, Medium, Payload, Query, RecoveryReport, Reports,
};
use crate::units::Lpn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An FTL that can be power-cycled in place: it loses its RAM and is recovered from its flash.
///
/// Counts continue over all power cycles.
pub struct PowerCycledFtl<F: Restart> {
    /// The FTL; `None` only after a failed recovery.
    ftl: Option<F>,
    settings: F::Settings,
    cycle_counts: PowerCycleCounts,
    lasting_commands: LastingCommands,
}

impl<F: Restart> PowerCycledFtl<F> {
    /// Wraps `ftl`, which was built from `settings`.
    pub fn new(ftl: F, settings: F::Settings) -> Self {
        PowerCycledFtl {
            ftl: Some(ftl),
            settings,
            cycle_counts: PowerCycleCounts::default(),
            lasting_commands: LastingCommands::default(),
        }
    }

    fn ftl(&self) -> &F {
        self.ftl.as_ref().expect("no call after a failed recovery")
    }

    fn ftl_mut(&mut self) -> &mut F {
        self.ftl.as_mut().expect("no call after a failed recovery")
    }
}

impl<F: Restart> PowerCycle for PowerCycledFtl<F>
where
    F::Settings: Send,
{
    fn cycle(&mut self) -> Result<RecoveryReport, LayerError> {
        self.ftl_mut().save()?;
        let ftl = self.ftl.take().expect("just saved");
        self.cycle_counts.end_cycle(&ftl);
        let restarted = F::restart(&self.settings, ftl.into_flash());
        let (mut ftl, report) = restarted.map_err(|(error, _)| error)?;
        self.lasting_commands.repeat(&mut ftl);
        self.ftl = Some(ftl);
        Ok(report)
    }

    /// Does nothing: power is cut from outside only.
    fn begin_measurement(&mut self, _host_pages: u64) {}

    fn outages(&self) -> Option<Outages> {
        None
    }
}

impl<P: Payload, F: Restart> Layer<P> for PowerCycledFtl<F>
where
    F::Settings: Send,
    F::Flash: Medium<Payload = P>,
{
    fn logical_pages(&self) -> u32 {
        self.ftl().logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.ftl_mut().write(pages, data, hint)
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.ftl_mut().read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.ftl_mut().trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.ftl_mut().flush()
    }

    fn abilities(&self) -> Abilities {
        self.ftl().abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.ftl().query(query)
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        self.lasting_commands.record(&command);
        self.ftl_mut().command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.ftl().describe(reports);
        self.cycle_counts.complete(reports, at);
    }

    fn written_pages(&self) -> u64 {
        let mut reports = Reports::default();
        self.describe(&mut reports);
        reports.layers.first().map_or(0, |report| report.counters.incoming(Operation::Write))
    }

    fn final_draw(&mut self) -> u64 {
        self.ftl_mut().final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.ftl().check()
    }
}

/// A layer with a power switch: the stack and the code that cuts power each have a handle.
pub struct SwitchableLayer<L>(Arc<Mutex<L>>);

impl<L> SwitchableLayer<L> {
    /// Wraps `layer`, which implements the power switch itself.
    pub fn new(layer: L) -> Self {
        SwitchableLayer(Arc::new(Mutex::new(layer)))
    }

    /// Locks the layer. Ignores poisoning: between two calls a layer is consistent, even if a thread that used it
    /// panicked.
    fn lock(&self) -> MutexGuard<'_, L> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L> Clone for SwitchableLayer<L> {
    fn clone(&self) -> Self {
        SwitchableLayer(Arc::clone(&self.0))
    }
}

impl<L: PowerCycle> PowerCycle for SwitchableLayer<L> {
    fn cycle(&mut self) -> Result<RecoveryReport, LayerError> {
        self.lock().cycle()
    }

    fn begin_measurement(&mut self, host_pages: u64) {
        self.lock().begin_measurement(host_pages);
    }

    fn outages(&self) -> Option<Outages> {
        self.lock().outages()
    }
}

impl<P: Payload, L: Layer<P>> Layer<P> for SwitchableLayer<L> {
    fn logical_pages(&self) -> u32 {
        self.lock().logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.lock().write(pages, data, hint)
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.lock().read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.lock().trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.lock().flush()
    }

    fn abilities(&self) -> Abilities {
        self.lock().abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.lock().query(query)
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        self.lock().command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        self.lock().describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.lock().written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        self.lock().final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.lock().check()
    }
}
