//! Monomorphised layers on other layers.

use crate::config::ConfigError;
use crate::layer::Payload;
use crate::log::{
    BoxedLayer, LsmConfig, LsmTree, ObjectLayer, ObjectLayout, PassThrough, SharedLayer, SparseLayer,
    TrimLogConfig,
};

/// Layer to put on another, with its settings.
pub enum UpperPlan {
    /// A log-structured merge tree.
    Tree(LsmConfig),
    /// A sparse address space.
    Sparse(TrimLogConfig),
    /// Objects.
    Objects(ObjectLayout),
    /// Pass-through layer with this number of pages.
    PassThrough(u32),
}

impl UpperPlan {
    /// Builds the layer on `lower`.
    pub(super) fn on<P: Payload>(self, lower: BoxedLayer<P>) -> Result<BoxedLayer<P>, ConfigError> {
        Ok(match self {
            UpperPlan::Tree(config) => Box::new(LsmTree::new(config, lower)?),
            UpperPlan::Sparse(log) => Box::new(SparseLayer::new(lower, log)?),
            UpperPlan::Objects(layout) => Box::new(ObjectLayer::new(lower, layout)?),
            UpperPlan::PassThrough(logical_pages) => Box::new(PassThrough::new(lower, logical_pages)),
        })
    }
}

/// Splits a layer into partitions; returns the shared layer and its partitions.
pub(super) fn partition<P: Payload>(
    lower: BoxedLayer<P>,
    sizes: &[u32],
) -> (SharedLayer<P>, Vec<BoxedLayer<P>>) {
    let (shared, partitions) = SharedLayer::new(lower, sizes);
    (shared, partitions.into_iter().map(|partition| Box::new(partition) as BoxedLayer<P>).collect())
}
