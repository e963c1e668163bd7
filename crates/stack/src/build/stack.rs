//! A stack that is built, and can be written to.

use crate::device::ResolvedDevice;
use crate::scenario::tree::Tree;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::layer::{Payload, Reports};
use wearwell_engine::log::{BoxedLayer, SharedLayer};

/// A stack that is built, and can be written to.
pub struct Stack<P> {
    /// Layer that each tenant writes to; a single entry if the scenario has no tenants.
    pub targets: Vec<Target<P>>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The drive.
    pub device: ResolvedDevice,
    /// Layers shared by several users.
    pub(super) shared: Vec<SharedLayer<P>>,
    /// Switch of the drive's power, if the scenario has `power`.
    pub(crate) power: Option<Box<dyn PowerCycle>>,
    pub(crate) tree: Tree,
}

/// The layer or partition that a tenant writes to.
pub struct Target<P> {
    /// The layer, or the tenant's partition of it; owns the layers below that have no other users.
    pub layer: BoxedLayer<P>,
    /// Number of the layer in the reports.
    pub layer_index: usize,
    /// Number of the partition of that layer, if it is divided.
    pub partition: Option<usize>,
}

impl<P: Payload> Stack<P> {
    /// Returns the names of the log layers in the order of the scenario, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tree.layers.iter().map(|layer| layer.name.as_str())
    }

    /// Returns the pages of all tenants together.
    pub fn logical_pages(&self) -> u64 {
        self.pages_per_writer().iter().sum()
    }

    /// Returns the pages shown to each writer.
    pub(crate) fn pages_per_writer(&self) -> Vec<u64> {
        self.targets.iter().map(|target| u64::from(target.layer.logical_pages())).collect()
    }

    /// Returns the reports of all layers, in the order of [`Self::names`], and the report of the flash.
    pub fn describe(&self) -> Reports {
        let mut reports = Reports::default();
        self.targets.iter().for_each(|target| target.layer.describe(&mut reports));
        self.shared.iter().for_each(|shared| shared.describe(&mut reports));
        // Each target and each shared layer reported the layers from itself down to the next shared layer. The reports
        // are sorted by the numbers of the layers.
        let undivided = self.targets.iter().filter(|target| target.partition.is_none());
        let divided =
            self.tree.bottom_up().into_iter().filter(|&at| self.tree.layers[at].partitions.is_some());
        let tops = undivided.map(|target| target.layer_index).chain(divided);
        let order = tops.flat_map(|top| self.tree.exclusive_chain(top));
        let mut layers: Vec<_> = order.zip(std::mem::take(&mut reports.layers)).collect();
        layers.sort_by_key(|(at, _)| *at);
        reports.layers = layers.into_iter().map(|(_, report)| report).collect();
        reports
    }

    /// Returns a number drawn from the random generators of all layers; the generators must not be used afterwards.
    pub(crate) fn final_draw(&mut self) -> u64 {
        let targets = self.targets.iter_mut().map(|target| target.layer.final_draw());
        let shared = self.shared.iter_mut().map(SharedLayer::final_draw);
        targets.chain(shared).reduce(|draw, next| draw.rotate_left(7) ^ next).expect("a target")
    }

    /// Recomputes all counts of all layers and compares them; an error is a defect.
    pub fn check(&self) -> Result<(), String> {
        self.targets.iter().try_for_each(|target| target.layer.check())?;
        self.shared.iter().try_for_each(SharedLayer::check)
    }
}
