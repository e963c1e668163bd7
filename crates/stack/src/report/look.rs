//! Intermediate results of a stack while it runs.

use super::about::About;
use super::result::{DeviceResult, LayerResult, NandResult};
use super::run::{cleaned, device_result, layer_results, nand_result};
use super::wear::WearResult;
use crate::run::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wearwell_engine::layer::Reports;

/// Snapshot of what the layers and the flash reported at one moment. Results are computed from the snapshot only on request, so
/// that the stack need not wait for the computation.
#[derive(Clone)]
pub struct Look {
    about: Arc<About>,
    before: Arc<Snapshot>,
    now: Arc<Snapshot>,
}

/// Results of a stack since it was new: the parts of a run's result that are known at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoFar {
    /// The drive.
    pub device: DeviceResult,
    /// Pages programmed for each page that the host wrote; `None` until cleaning has run, because the figure would mean nothing.
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

impl Look {
    pub(crate) fn new(about: Arc<About>, before: Arc<Snapshot>, now: Snapshot) -> Self {
        Look { about, before, now: Arc::new(now) }
    }

    /// Returns the reports of the layers and the flash.
    pub fn reports(&self) -> &Reports {
        &self.now.reports
    }

    /// Returns the names of the layers in the order of their reports, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.about.tree.layers.iter().map(|layer| layer.name.as_str())
    }

    /// Returns the pages that the host has written.
    pub fn host_pages(&self) -> u64 {
        self.now.host_pages() - self.before.host_pages()
    }

    /// Returns the erases after which a block is worn out, if the scenario gives them.
    pub fn endurance_cycles(&self) -> Option<u32> {
        self.about.device.endurance_cycles
    }

    /// Returns the results up to this moment.
    pub fn so_far(&self) -> SoFar {
        let (before, now) = (&self.before, &self.now);
        let (host_pages, nand) = (self.host_pages(), nand_result(before, now));
        let is_meaningful = host_pages > 0 && cleaned(before, now) > 0;
        SoFar {
            device: device_result(&self.about.device),
            write_amplification: is_meaningful.then(|| nand.programs as f64 / host_pages as f64),
            host_pages,
            layers: layer_results(&self.about, before, now),
            nand,
            wear: WearResult::of(now.nand()),
        }
    }
}
