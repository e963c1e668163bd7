//! Page validity: knowledge of the valid pages of each block.
//!
//! [`RamBitmap`] is used by the log engine: one bit per page, in memory. Flash translation layers cannot afford this
//! much RAM. They have four ways to find the pages of a victim that need not be copied, all behind [`PageValidity`]:
//!
//! | type | location | source |
//! |---|---|---|
//! | [`RamValidity`] | a bitmap in RAM | DFTL, LazyFTL |
//! | [`FlashBitmap`] | the same bitmap in flash, a page rewritten for each update | μ-FTL |
//! | [`ValidityLog`] | a log of invalidated pages in flash, chained by block | IB-FTL; GeckoFTL, Appendix E |
//! | [`Gecko`] | runs of bitmaps in flash, merged like those of an LSM-tree | GeckoFTL, Section 3 |
//!
//! They write to any implementation of [`ValidityFlash`]: a drive's metadata blocks, or [`MemoryFlash`] for tests and
//! for the use of a store without a drive.

mod config;
mod flash;
mod flash_bitmap;
mod gecko;
mod log;
mod log_entries;
mod page;
mod page_set;
mod ram_bitmap;
mod ram_validity;
#[cfg(test)]
mod tests;

pub use config::{
    FlashBitmapSettings, GeckoSettings, LogSettings, RamBitmapSettings, VALIDITIES, VALIDITY_ALIASES,
    ValidityConfig, ValidityKind, ValiditySize,
};
pub use flash::{FoundPage, MemoryFlash, ValidityFlash};
pub use flash_bitmap::FlashBitmap;
pub use gecko::{EntryWords, Gecko, GeckoConfig, GeckoEntry, GeckoPage, GeckoReport, Postamble, Preamble};
pub use log::{LogConfig, ValidityLog};
pub use log_entries::{LogEntries, LogEntry};
pub use page::{BitmapPage, ImagePage, LogPage, ValidityPage};
pub use page_set::PageSet;
pub use ram_bitmap::RamBitmap;
pub use ram_validity::RamValidity;

use crate::layer::{LayerError, RamPart};
use crate::units::{BlockId, Slot};

/// A store of invalid pages.
///
/// The device's clock must advance between the erase of a block and the invalidation of one of its pages, as it does
/// when the page is written. Stores in flash use it to distinguish the periods between erases.
///
/// A call that fails has either had no effect or done all of its work; in both cases, it may be repeated.
pub trait PageValidity: Send {
    /// Records that the page at `page` is invalid from now on. Idempotent.
    fn invalidate(&mut self, page: Slot, flash: &mut dyn ValidityFlash) -> Result<(), LayerError>;

    /// Prefetches data of the physical page `page`, which will be invalidated soon.
    fn prefetch(&self, page: Slot) {
        let _ = page;
    }

    /// Records that `block` has just been erased: all its pages are free and not invalid.
    fn record_erase(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError>;

    /// Adds the invalid pages of `block` to `invalid`; flash reads are counted.
    fn query(
        &mut self,
        block: BlockId,
        invalid: &mut PageSet,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError>;

    /// Has the effect of [`PageValidity::query`], but counts no reads; for checks.
    fn peek(&self, block: BlockId, flash: &dyn ValidityFlash, invalid: &mut PageSet);

    /// Moves the store's page at `at` during cleaning: if the page is still needed, reads it, appends it and discards
    /// the old copy. Returns true if the page was needed.
    fn relocate(&mut self, at: Slot, flash: &mut dyn ValidityFlash) -> Result<bool, LayerError>;

    /// Calls `visit` with every block that has invalid pages and their number, at most once per block, by a scan of
    /// the pages in flash; reads are counted (GeckoFTL, Appendix C, step 5).
    fn count_invalid(
        &mut self,
        flash: &mut dyn ValidityFlash,
        visit: &mut dyn FnMut(BlockId, u32),
    ) -> Result<(), LayerError>;

    /// Writes data that is only in RAM to flash, as a drive with a battery does at a power failure.
    fn save(&mut self, flash: &mut dyn ValidityFlash) -> Result<(), LayerError>;

    /// Returns the sequence number at which the store's buffer was last written: later reports are lost at a power
    /// failure. The value is 0 at first; it is always `u64::MAX` if no report is ever lost, and always 0 if all reports
    /// are lost.
    ///
    /// To repeat lost reports, the caller must use the value from before the first repeated report until the buffer is
    /// written after all of them. Power may fail again, and reports repeated after the buffer was written are older
    /// than its new value.
    fn durable_until(&self) -> u64;

    /// Returns the RAM of each structure, as in the device (GeckoFTL, Appendix B).
    fn ram(&self) -> Vec<RamPart>;

    /// Returns the maximum number of pages that one call of `invalidate` or `record_erase` may append.
    fn max_appended_pages(&self) -> u64;

    /// Returns the number of pages in flash that are still needed.
    fn flash_pages(&self) -> u64;

    /// Recomputes the store's data and compares the results; an error is a bug.
    fn check(&self, flash: &dyn ValidityFlash) -> Result<(), String>;
}
