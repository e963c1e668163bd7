//! Which pages of a block are valid.
//!
//! [`RamBitmap`] is the log engine's own: a bit a page, in memory. A flash translation layer cannot afford so much RAM,
//! and has four ways to know which pages of a victim it need not copy, all behind [`PageValidity`]:
//!
//! | kind | where | source |
//! |---|---|---|
//! | [`InRam`] | a bitmap in RAM | DFTL, LazyFTL |
//! | [`FlashBitmap`] | the same bitmap in flash, a page rewritten for each update | μ-FTL |
//! | [`ValidityLog`] | a log of invalidated pages in flash, chained by block | IB-FTL; GeckoFTL, Appendix E |
//! | [`Gecko`] | runs of bitmaps in flash, merged like those of an LSM-tree | GeckoFTL, Section 3 |
//!
//! They write to whatever implements [`ValidityFlash`]: a drive's metadata blocks, or [`MemoryFlash`] for tests and for
//! those who want a store alone.

mod config;
mod flash;
mod flash_bitmap;
mod gecko;
mod in_ram;
mod log;
mod log_entries;
mod page;
mod page_set;
mod ram_bitmap;
#[cfg(test)]
mod tests;

pub use config::{
    FlashBitmapSettings, GeckoSettings, LogSettings, RamBitmapSettings, VALIDITIES, VALIDITY_ALIASES,
    ValidityConfig, ValidityKind, ValiditySize,
};
pub use flash::{Found, MemoryFlash, ValidityFlash};
pub use flash_bitmap::FlashBitmap;
pub use gecko::{EntryWords, Gecko, GeckoConfig, GeckoEntry, GeckoPage, GeckoReport, Postamble, Preamble};
pub use in_ram::InRam;
pub use log::{LogConfig, ValidityLog};
pub use log_entries::{LogEntries, LogEntry};
pub use page::{BitmapPage, ImagePage, LogPage, ValidityPage};
pub use page_set::PageSet;
pub use ram_bitmap::RamBitmap;

use crate::layer::{LayerError, RamPart};
use crate::units::{BlockId, Slot};

/// Knows which pages are invalid.
///
/// The device's clock must have moved on between the erase of a block and the invalidation of one of its pages, as it
/// does when the page is written: stores in flash tell the lives of a block apart by it.
///
/// A call that fails has done nothing, or all that it was to do; either way it is right to repeat it.
pub trait PageValidity: Send {
    /// The page at `page` is invalid from now on. Idempotent.
    fn invalidate(&mut self, page: Slot, flash: &mut dyn ValidityFlash) -> Result<(), LayerError>;

    /// The page at `page` will be invalidated soon: a hint.
    fn prefetch(&self, page: Slot) {
        let _ = page;
    }

    /// `block` has just been erased: all its pages are free, hence not invalid.
    fn erased(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError>;

    /// Adds the invalid pages of `block` to `invalid`; flash reads are paid.
    fn query(
        &mut self,
        block: BlockId,
        invalid: &mut PageSet,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError>;

    /// The same as [`PageValidity::query`] at no cost, for checks.
    fn peek(&self, block: BlockId, flash: &dyn ValidityFlash, invalid: &mut PageSet);

    /// Cleaning wants the store's page at `at` elsewhere: if it is still needed, reads it, appends it anew and discards
    /// the old one. Says whether it was needed.
    fn relocate(&mut self, at: Slot, flash: &mut dyn ValidityFlash) -> Result<bool, LayerError>;

    /// Calls `visit` with every block that has invalid pages and their number, each block at most once, scanning what is
    /// in flash; reads are paid (GeckoFTL, Appendix C, step 5).
    fn count_invalid(
        &mut self,
        flash: &mut dyn ValidityFlash,
        visit: &mut dyn FnMut(BlockId, u32),
    ) -> Result<(), LayerError>;

    /// Writes what is only in RAM to flash, as a battery lets a drive do when power fails.
    fn save(&mut self, flash: &mut dyn ValidityFlash) -> Result<(), LayerError>;

    /// Sequence number at which the store's buffer was last written out: what it was told later is lost with the power.
    /// 0 at first; always `u64::MAX` if nothing is ever lost, always 0 if everything is.
    ///
    /// Who tells again what was lost does so by what this was before, and until the buffer is written after all is told: power may
    /// be lost again, and what comes again after the buffer was written is older than that.
    fn durable_until(&self) -> u64;

    /// RAM of each structure, as the device would hold it (GeckoFTL, Appendix B).
    fn ram(&self) -> Vec<RamPart>;

    /// Most pages that one call of `invalidate` or `erased` may append.
    fn most_appended(&self) -> u64;

    /// Pages in flash that are still needed.
    fn flash_pages(&self) -> u64;

    /// Recounts what the store keeps; an error is a defect.
    fn check(&self, flash: &dyn ValidityFlash) -> Result<(), String>;
}
