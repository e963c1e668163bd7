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

/// Description of a run on its last page; a run without one is incomplete.
#[derive(Clone, Debug, PartialEq)]
pub struct Postamble {
    /// Same content as on the first page.
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
    /// Present on the first page.
    pub preamble: Option<Preamble>,
    /// Present on the last page.
    pub postamble: Option<Box<Postamble>>,
    /// Packed entries.
    pub entries: Box<[u64]>,
}
