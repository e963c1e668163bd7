//! What was sent from one layer to another.

/// What was sent, in pages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// Written.
    pub written: u64,
    /// Read.
    pub read: u64,
    /// Trimmed.
    pub trimmed: u64,
}
