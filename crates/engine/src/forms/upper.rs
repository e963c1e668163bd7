//! Layers on others, with their types filled in.

use crate::config::ConfigError;
use crate::layer::Payload;
use crate::log::{
    BoxedLayer, LsmConfig, LsmTree, ObjectLayout, Objects, PassThrough, Shared, Sparse, TrimLog,
};

/// Which layer is put on another, and from what.
pub enum UpperPlan {
    /// A log-structured merge tree.
    Tree(LsmConfig),
    /// A sparse address space.
    Sparse(TrimLog),
    /// Objects.
    Objects(ObjectLayout),
    /// So many pages that are passed on.
    PassThrough(u32),
}

impl UpperPlan {
    /// The layer on `lower`.
    pub(super) fn on<P: Payload>(self, lower: BoxedLayer<P>) -> Result<BoxedLayer<P>, ConfigError> {
        Ok(match self {
            UpperPlan::Tree(config) => Box::new(LsmTree::new(config, lower)?),
            UpperPlan::Sparse(log) => Box::new(Sparse::new(lower, log)?),
            UpperPlan::Objects(layout) => Box::new(Objects::new(lower, layout)?),
            UpperPlan::PassThrough(logical_pages) => Box::new(PassThrough::new(lower, logical_pages)),
        })
    }
}

/// A layer that several stand on, and the part of each.
pub(super) fn shared<P: Payload>(lower: BoxedLayer<P>, sizes: &[u32]) -> (Shared<P>, Vec<BoxedLayer<P>>) {
    let (shared, partitions) = Shared::new(lower, sizes);
    (shared, partitions.into_iter().map(|partition| Box::new(partition) as BoxedLayer<P>).collect())
}
