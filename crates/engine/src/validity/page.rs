//! What the stores write to flash.

use super::GeckoPage;
use super::log_entries::LogEntries;

/// What a page of a validity store holds; it stays in flash until its block is erased.
#[derive(Clone, Debug, PartialEq)]
pub enum ValidityPage {
    /// A page of the bitmap in flash.
    Bitmap(BitmapPage),
    /// A page of the page-validity log.
    Log(LogPage),
    /// A page of a run of Logarithmic Gecko.
    Gecko(GeckoPage),
    /// A page of the bitmap in RAM, saved as power failed.
    Image(ImagePage),
}

impl ValidityPage {
    /// What the spare area says of the page: number of the bitmap's page, of the log's page, of the run, or of the
    /// image's page.
    pub fn label(&self) -> u32 {
        match self {
            ValidityPage::Bitmap(page) => page.index,
            ValidityPage::Log(page) => page.number,
            ValidityPage::Gecko(page) => page.run,
            ValidityPage::Image(page) => page.index,
        }
    }

    /// Bytes of memory that the page leads to.
    pub fn boxed_bytes(&self) -> usize {
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
    /// Its place in the bitmap.
    pub index: u32,
    /// Bit `i` is set if page `index * bits + i` of the device is invalid, `bits` being those of a flash page.
    pub words: Box<[u64]>,
}

/// A page of the bitmap in RAM, saved.
#[derive(Clone, Debug, PartialEq)]
pub struct ImagePage {
    /// Sequence number at which saving began; the same for all pages of one image.
    pub image: u64,
    /// Its place in the image.
    pub index: u32,
    /// Pages of the image.
    pub pages: u32,
    /// As in a [`BitmapPage`].
    pub words: Box<[u64]>,
}

/// A page of the page-validity log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogPage {
    /// Its place in the log since the log began.
    pub number: u32,
    /// The oldest page that is still needed once this one is written.
    pub oldest: u32,
    /// Sequence number up to which it and the pages before it hold all that the log was told; copies keep it.
    pub written: u64,
    /// Invalidated pages, in the order in which they were put into the log.
    pub entries: LogEntries,
}
