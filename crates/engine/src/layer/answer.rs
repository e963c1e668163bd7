//! Answers of layers to queries and commands.

/// Answer of a layer to a query or command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The layer lacks the ability or has no information.
    Nothing,
    /// Number of pages.
    Pages(u64),
    /// Pages that would stay valid in the blocks that store any of the queried pages.
    LeftValid {
        /// Number of pages that would stay valid.
        valid_pages: u64,
        /// Number of all pages in these blocks.
        block_pages: u64,
    },
    /// True if the command did something.
    Done(bool),
    /// State of a zone.
    Zone(ZoneState),
}

/// State of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneState {
    /// Number of pages in each zone.
    pub pages: u32,
    /// Pages written since the last reset.
    pub written: u32,
    /// True if the zone was finished before it was full.
    pub is_finished: bool,
    /// True if the zone can be read and reset, but not written.
    pub is_offline: bool,
    /// Maximum number of open zones if this limit prevents writes to the zone (the zone is empty, and as many other
    /// zones are open); otherwise `None`.
    pub open_limit: Option<u32>,
}

impl ZoneState {
    /// Returns the index within the zone of the page to be written next; the number of pages in a zone if the zone is
    /// full.
    pub fn write_pointer(&self) -> u32 {
        if self.is_finished { self.pages } else { self.written }
    }
}

impl Answer {
    /// Returns the number of pages, or 0 if the answer is not a number of pages.
    pub fn pages(self) -> u64 {
        if let Answer::Pages(pages) = self { pages } else { 0 }
    }

    /// Returns the fraction of pages in [`Answer::LeftValid`] that would stay valid; 0 if no block holds any of the
    /// queried pages, or for other answers.
    pub fn valid_fraction(self) -> f64 {
        match self {
            Answer::LeftValid { valid_pages, block_pages: held_pages } if held_pages > 0 => {
                valid_pages as f64 / held_pages as f64
            }
            _ => 0.0,
        }
    }
}
