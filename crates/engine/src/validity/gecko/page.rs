//! What the pages of runs hold.

use crate::units::Slot;

/// What a run says of itself on its first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// Its level when it was written.
    pub level: u32,
    /// Sequence number at which the update that led to it was told: it holds everything told before.
    pub created: u64,
    /// First and last of the flushes whose entries it holds.
    pub covers: (u64, u64),
}

/// What a run says of itself on its last page; a run without is only partly written.
#[derive(Clone, Debug, PartialEq)]
pub struct Postamble {
    /// As on the first page.
    pub preamble: Preamble,
    /// First key of each page, this one's last.
    pub first_keys: Box<[u64]>,
    /// Where the pages before this one were written.
    pub slots: Box<[Slot]>,
}

/// A page of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct GeckoPage {
    /// Number of the run, unique.
    pub run: u32,
    /// The page's place in the run.
    pub index: u32,
    /// On the first page.
    pub preamble: Option<Preamble>,
    /// On the last page.
    pub postamble: Option<Box<Postamble>>,
    /// Entries, packed.
    pub entries: Box<[u64]>,
}
