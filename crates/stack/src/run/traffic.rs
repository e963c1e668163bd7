//! Traffic from one layer to another.

/// Pages sent from one layer to another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// Pages written.
    pub written: u64,
    /// Pages read.
    pub read: u64,
    /// Pages trimmed.
    pub trimmed: u64,
}
