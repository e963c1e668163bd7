//! Contents of the pages of runs.

use crate::units::Slot;

/// Description of a run on its first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// Level of the run when it was written.
    pub level: u32,
    /// Sequence number at which the update that caused the run was reported; the run contains all earlier updates.
    pub created: u64,
    /// Numbers of the first and the last flush whose entries the run contains.
    pub flushes: (u64, u64),
}

/// Description of a run on the last page of the run; a run without this description is incomplete.
#[derive(Clone, Debug, PartialEq)]
pub struct Postamble {
    /// Copy of the description on the first page.
    pub preamble: Preamble,
    /// First key of each page, including this last one.
    pub first_keys: Box<[u64]>,
    /// Locations of the pages before this page.
    pub slots: Box<[Slot]>,
}

/// A page of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct GeckoPage {
    /// Unique number of the run.
    pub run: u32,
    /// Index of the page in the run.
    pub index: u32,
    /// Description of the run; only on the first page.
    pub preamble: Option<Preamble>,
    /// Description of the complete run; only on the last page.
    pub postamble: Option<Box<Postamble>>,
    /// Packed entries.
    pub entries: Box<[u64]>,
}
