//! What layers answer to what is asked of them, and to what they are told.

/// What a layer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It cannot tell, or there is nothing to tell.
    Nothing,
    /// So many pages.
    Pages(u64),
    /// Pages that would stay valid in the blocks that hold any of those asked about.
    Left {
        /// Pages valid afterwards.
        valid_pages: u64,
        /// All pages of these blocks.
        held_pages: u64,
    },
    /// Whether it did something.
    Done(bool),
    /// How a zone is.
    Zone(ZoneState),
}

/// How a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneState {
    /// Pages of the zone, as of each other.
    pub pages: u32,
    /// Pages written since it was reset last.
    pub written: u32,
    /// It was finished before all of it was written.
    pub is_finished: bool,
    /// It can be read and reset, and not written.
    pub is_offline: bool,
    /// Zones that may be partly written at the same time, if that keeps it from being written to: it is empty, and so many are.
    pub open_limit: Option<u32>,
}

impl ZoneState {
    /// The page of the zone that is written next: as many as the zone has when it is full.
    pub fn write_pointer(&self) -> u32 {
        if self.is_finished { self.pages } else { self.written }
    }
}

impl Answer {
    /// Pages, if it is about pages; else 0.
    pub fn pages(self) -> u64 {
        if let Answer::Pages(pages) = self { pages } else { 0 }
    }

    /// Share of valid pages; 0 where no block holds any of them, or nothing is known.
    pub fn left_share(self) -> f64 {
        match self {
            Answer::Left { valid_pages, held_pages } if held_pages > 0 => {
                valid_pages as f64 / held_pages as f64
            }
            _ => 0.0,
        }
    }
}
