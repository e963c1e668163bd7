//! Pages that the stores write to flash.

use super::GeckoPage;
use super::log_entries::LogEntries;

/// Content of a page of a validity store; it stays in flash until its block is erased.
#[derive(Clone, Debug, PartialEq)]
pub enum ValidityPage {
    /// A page of the bitmap in flash.
    Bitmap(BitmapPage),
    /// A page of the page-validity log.
    Log(LogPage),
    /// A page of a run of Logarithmic Gecko.
    Gecko(GeckoPage),
    /// A page of the bitmap in RAM, saved at a power failure.
    Image(ImagePage),
}

impl ValidityPage {
    /// Returns the number that is stored in the spare area: of the bitmap page, the log page, the run, or the image
    /// page.
    pub fn label(&self) -> u32 {
        match self {
            ValidityPage::Bitmap(page) => page.index,
            ValidityPage::Log(page) => page.number,
            ValidityPage::Gecko(page) => page.run,
            ValidityPage::Image(page) => page.index,
        }
    }

    /// Returns the bytes of heap memory that the page owns.
    pub fn heap_bytes(&self) -> usize {
        match self {
            ValidityPage::Bitmap(page) => size_of_val(&*page.words),
            ValidityPage::Log(page) => page.entries.memory_bytes(),
            ValidityPage::Gecko(page) => size_of_val(&*page.entries),
            ValidityPage::Image(page) => size_of_val(&*page.words),
        }
    }
}

/// A page of the bitmap in flash.
#[derive(Clone, Debug, PartialEq)]
pub struct BitmapPage {
    /// Index of the page in the bitmap.
    pub index: u32,
    /// Bit `i` is set if page `index * bits + i` of the device is invalid, where `bits` is the number of bits in a
    /// flash page.
    pub words: Box<[u64]>,
}

/// A page of the saved bitmap in RAM.
#[derive(Clone, Debug, PartialEq)]
pub struct ImagePage {
    /// Sequence number at which saving began; the same for all pages of one image.
    pub image: u64,
    /// Index of the page in the image.
    pub index: u32,
    /// Number of pages in the image.
    pub pages: u32,
    /// Same format as in a [`BitmapPage`].
    pub words: Box<[u64]>,
}

/// A page of the page-validity log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogPage {
    /// Number of the page, counted since the log began.
    pub number: u32,
    /// Number of the oldest page that is still needed once this page is written.
    pub oldest: u32,
    /// Sequence number up to which this page and those before it contain all reports; unchanged in copies.
    pub written: u64,
    /// Invalidated pages, in the order in which they were added to the log.
    pub entries: LogEntries,
}
