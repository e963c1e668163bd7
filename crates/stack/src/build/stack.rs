//! A stack ready to be written to.

use crate::device::ResolvedDevice;
use crate::scenario::tree::Tree;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::layer::{Payload, Reports};
use wearwell_engine::log::{BoxedLayer, Shared};

/// A stack ready to be written to.
pub struct Stack<P> {
    /// Where each tenant writes; a single one where the scenario has no tenants.
    pub targets: Vec<Target<P>>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The drive.
    pub device: ResolvedDevice,
    /// Layers that several stand on.
    pub(super) shared: Vec<Shared<P>>,
    /// What cuts the drive's power, where the scenario has `power`.
    pub(crate) power: Option<Box<dyn PowerCycle>>,
    pub(crate) tree: Tree,
}

/// Where a tenant writes.
pub struct Target<P> {
    /// The layer, or the tenant's partition of it; it owns those below that nobody else stands on.
    pub layer: BoxedLayer<P>,
    /// Number of the layer in the reports.
    pub on: usize,
    /// Number of the partition of that layer, if it is divided.
    pub partition: Option<usize>,
}

impl<P: Payload> Stack<P> {
    /// Names of the log layers in the order of the scenario, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tree.layers.iter().map(|layer| layer.name.as_str())
    }

    /// Pages of all tenants together.
    pub fn logical_pages(&self) -> u64 {
        self.writers_pages().iter().sum()
    }

    /// Pages shown to each writer.
    pub(crate) fn writers_pages(&self) -> Vec<u64> {
        self.targets.iter().map(|target| u64::from(target.layer.logical_pages())).collect()
    }

    /// The reports of all layers, in the order of their names, and of the flash.
    pub fn describe(&self) -> Reports {
        let mut reports = Reports::default();
        self.targets.iter().for_each(|target| target.layer.describe(&mut reports));
        self.shared.iter().for_each(|shared| shared.describe(&mut reports));
        // They came from each target and each shared layer down to the next shared one.
        let whole = self.targets.iter().filter(|target| target.partition.is_none());
        let divided = self.tree.upwards().into_iter().filter(|&at| self.tree.layers[at].partitions.is_some());
        let tops = whole.map(|target| target.on).chain(divided);
        let order = tops.flat_map(|top| self.tree.alone_from(top));
        let mut layers: Vec<_> = order.zip(std::mem::take(&mut reports.layers)).collect();
        layers.sort_by_key(|(at, _)| *at);
        reports.layers = layers.into_iter().map(|(_, report)| report).collect();
        reports
    }

    /// A number drawn from the generators of all layers that are asked; ends their use.
    pub(crate) fn final_draw(&mut self) -> u64 {
        let targets = self.targets.iter_mut().map(|target| target.layer.final_draw());
        let shared = self.shared.iter_mut().map(Shared::final_draw);
        targets.chain(shared).reduce(|draw, next| draw.rotate_left(7) ^ next).expect("a target")
    }

    /// Recounts everything that is counted, in all layers; an error is a defect.
    pub fn check(&self) -> Result<(), String> {
        self.targets.iter().try_for_each(|target| target.layer.check())?;
        self.shared.iter().try_for_each(Shared::check)
    }
}
