//! Intermediate results of a stack while it runs.

use super::description::StackDescription;
use super::result::{DeviceResult, LayerResult, NandResult};
use super::run::{device_result, layer_results, nand_result, total_cleanings};
use super::wear::WearResult;
use crate::run::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wearwell_engine::layer::Reports;

/// Snapshot of what the layers and the flash reported at one moment. Results are computed from the snapshot only on
/// request, so that the stack need not wait for the computation.
#[derive(Clone)]
pub struct StackSnapshot {
    description: Arc<StackDescription>,
    initial: Arc<Snapshot>,
    now: Arc<Snapshot>,
}

/// Results of a stack since it was new: the parts of a run's result that are known at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntermediateResult {
    /// The drive.
    pub device: DeviceResult,
    /// Pages programmed for each page that the host wrote; `None` until the first cleaning, because before it the
    /// figure would mean nothing.
    pub write_amplification: Option<f64>,
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// The layers in the order of the scenario, the FTL last.
    pub layers: Vec<LayerResult>,
    /// The flash.
    pub nand: NandResult,
    /// Wear.
    pub wear: WearResult,
}

impl StackSnapshot {
    pub(crate) fn new(description: Arc<StackDescription>, initial: Arc<Snapshot>, now: Snapshot) -> Self {
        StackSnapshot { description, initial, now: Arc::new(now) }
    }

    /// Returns the reports of the layers and the flash.
    pub fn reports(&self) -> &Reports {
        &self.now.reports
    }

    /// Returns the names of the layers in the order of their reports, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.description.tree.layers.iter().map(|layer| layer.name.as_str())
    }

    /// Returns the pages that the host has written.
    pub fn host_pages(&self) -> u64 {
        self.now.host_pages() - self.initial.host_pages()
    }

    /// Returns the number of erases after which a block is worn out, if the scenario gives them.
    pub fn endurance_cycles(&self) -> Option<u32> {
        self.description.device.endurance_cycles
    }

    /// Returns the results up to this moment.
    pub fn result(&self) -> IntermediateResult {
        let (initial, now) = (&self.initial, &self.now);
        let (host_pages, nand) = (self.host_pages(), nand_result(initial, now));
        let is_meaningful = host_pages > 0 && total_cleanings(initial, now) > 0;
        IntermediateResult {
            device: device_result(&self.description.device),
            write_amplification: is_meaningful.then(|| nand.programs as f64 / host_pages as f64),
            host_pages,
            layers: layer_results(&self.description, initial, now),
            nand,
            wear: WearResult::of(now.nand()),
        }
    }
}
