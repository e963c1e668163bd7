//! Logarithmic Gecko: page validity in flash for a fraction of a write per update (GeckoFTL, Section 3).
//!
//! Updates go to a buffer of one flash page. A full buffer is written as a *run*, sorted by block. Runs of `T^i` to
//! `T^(i+1) - 1` pages are in level `i`; when two runs are in the same level, they are merged, as in an LSM-tree.
//! Entries are bitmaps: those of the same pages are combined with OR, and an entry with the *erase flag* makes all
//! older entries of its block obsolete. A query searches the buffer and then one page of each run, from newest to
//! oldest, and ends at an erase flag.
//!
//! It can be used without the rest of the engine, with any implementation of [`ValidityFlash`].
//!
//! ```
//! use wearwell_base::units::{BlockId, Slot};
//! use wearwell_engine::validity::{Gecko, GeckoConfig, MemoryFlash, PageSet, PageValidity};
//!
//! // 1024 blocks of 128 pages of 4 KiB.
//! let mut flash = MemoryFlash::new();
//! let mut gecko = Gecko::new(GeckoConfig::new(1024, 128, 4096))?;
//! let page = |block: u32, page: u32| Slot(block * 128 + page);
//!
//! gecko.invalidate(page(7, 3), &mut flash)?;
//! for block in 0..1024 {
//!     gecko.invalidate(page(block, 100), &mut flash)?;
//! }
//! let mut invalid = PageSet::new(128);
//! gecko.query(BlockId(7), &mut invalid, &mut flash)?;
//! assert!(invalid.contains(3) && invalid.contains(100) && invalid.count() == 2);
//! // 1025 updates, two flushes: 512 entries fit into a page, and the second flush merged its page with the first page.
//! assert_eq!((gecko.report().flushes, flash.appends()), (2, 3));
//!
//! gecko.record_erase(BlockId(7), &mut flash)?;
//! invalid.clear();
//! gecko.query(BlockId(7), &mut invalid, &mut flash)?;
//! assert_eq!(invalid.count(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod config;
mod entry;
mod flush;
mod merge;
mod page;
mod prefetching;
mod recover;
mod run;
#[cfg(test)]
mod tests;

pub use config::GeckoConfig;
pub use entry::EntryWords;
pub use page::{GeckoPage, Postamble, Preamble};

use super::{PageSet, PageValidity, ValidityFlash, ValidityPage};
use crate::config::ConfigError;
use crate::layer::{LayerError, RamPart};
use crate::units::{BlockId, Slot};
use buffer::Buffer;
use entry::Layout;
use run::{Run, gecko_page, is_aligned, level_of};
use std::ops::Range;

/// Counts since a store was created or recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeckoReport {
    /// Number of times that the buffer was written.
    pub flushes: u64,
    /// Flushes that caused a merge.
    pub merges: u64,
    /// Entries written, in flushes and merges.
    pub entries_written: u64,
    /// Pages written, except those that cleaning moved.
    pub pages_written: u64,
}

/// An entry: known invalid pages of a block, or of a part of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeckoEntry {
    /// The block.
    pub block: BlockId,
    /// True if all older entries of the block are obsolete.
    pub is_erased: bool,
    /// Invalid pages according to this entry.
    pub invalid: PageSet,
    /// Index of the page in the run that contains the entry; 0 in the buffer.
    pub page: u32,
}

/// Logarithmic Gecko.
#[derive(Clone, Debug)]
pub struct Gecko {
    config: GeckoConfig,
    layout: Layout,
    buffer: Buffer,
    /// Runs from newest to oldest; each is in a higher level than the previous run.
    runs: Vec<Run>,
    next_run: u32,
    next_flush: u64,
    durable_until: u64,
    report: GeckoReport,
    /// For each run, the pages that may contain entries of the queried block; kept to reuse the allocation.
    queried_pages: Vec<Range<usize>>,
    /// Memory for merged entries, kept for reuse.
    spare_buffers: Vec<Vec<u64>>,
}

impl Gecko {
    /// Creates a store without invalid pages.
    ///
    /// # Errors
    ///
    /// Fails for a size ratio below 2, for no partitions or more than a block has pages, for a page too small for two
    /// entries, and for keys too short for the device. The error contains the key and the allowed values.
    pub fn new(config: GeckoConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let layout = Layout::new(&config);
        Ok(Gecko {
            config,
            layout,
            buffer: Buffer::new(layout, config.page_entries()),
            runs: Vec::new(),
            next_run: 0,
            next_flush: 0,
            durable_until: 0,
            report: GeckoReport::default(),
            queried_pages: Vec::new(),
            spare_buffers: Vec::new(),
        })
    }

    /// Returns the counts.
    pub fn report(&self) -> GeckoReport {
        self.report
    }

    /// Returns level and number of pages of each run, from newest to oldest.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let pages = self.runs.iter().map(|run| run.slots.len() as u64);
        pages.map(|pages| (level_of(pages, self.config.size_ratio), pages))
    }

    /// Returns the number of entries in the buffer.
    pub fn buffered(&self) -> u32 {
        self.buffer.len()
    }

    /// Returns the entries of the buffer and then of each run, from newest to oldest, without counting reads; for
    /// display.
    ///
    /// # Panics
    ///
    /// If `flash` is not the flash that this store uses.
    pub fn entries(&self, flash: &dyn ValidityFlash) -> Vec<Vec<GeckoEntry>> {
        let decode = |entries: &[u64], page: u32| -> Vec<GeckoEntry> {
            let entries = entries.chunks_exact(self.layout.stride);
            let named = entries.map(|entry| {
                let mut invalid = PageSet::new(self.config.pages_per_block);
                self.layout.collect(entry, &mut invalid);
                let block = self.layout.block(self.layout.key(entry[0]));
                GeckoEntry { block, is_erased: entry[0] & self.layout.flag != 0, invalid, page }
            });
            named.collect()
        };
        let run = |run: &Run| {
            let pages =
                run.slots.iter().map(|at| gecko_page(flash.peek(*at).expect("a page of the directory")));
            (0..).zip(pages).flat_map(|(at, page)| decode(&page.entries, at)).collect()
        };
        std::iter::once(decode(&self.buffer.sorted(), 0)).chain(self.runs.iter().map(run)).collect()
    }

    /// Makes an update. If the buffer is then full, writes it; if the write fails, undoes the update.
    fn update(
        &mut self,
        key: u64,
        change: impl FnOnce(&mut Buffer),
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        let capacity = self.config.page_entries();
        let is_limited = self.config.buffer_inserts_limited;
        let may_fill = (self.buffer.len() + 1 == capacity && self.buffer.is_new(key))
            || (is_limited && self.buffer.updates() + 1 >= capacity);
        if !may_fill {
            change(&mut self.buffer);
            return Ok(());
        }
        let before = self.buffer.clone();
        change(&mut self.buffer);
        if self.buffer.len() < capacity && !(is_limited && self.buffer.updates() >= capacity) {
            return Ok(());
        }
        self.flush(flash.now(), flash).inspect_err(|_| self.buffer = before)
    }

    /// Returns the number of pages that these entries need.
    fn pages_of(&self, entries: &[u64]) -> u64 {
        run::pages_of(entries, &self.config, &self.layout)
    }
}

impl PageValidity for Gecko {
    fn invalidate(&mut self, page: Slot, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let (key, _, _) = self.layout.locate(page);
        self.update(key, |buffer| buffer.invalidate(page), flash)
    }

    fn record_erase(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        self.update(self.layout.first_key(block), |buffer| buffer.erase(block), flash)
    }

    fn query(
        &mut self,
        block: BlockId,
        invalid: &mut PageSet,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        let mut is_erased = self.buffer.collect_block(block, invalid);
        if is_erased {
            return Ok(());
        }
        self.prefetch_query(block, flash);
        for (run, pages) in self.runs.iter().zip(&self.queried_pages) {
            if is_erased {
                break;
            }
            for page in pages.clone() {
                let page = gecko_page(flash.read(run.slots[page])?);
                is_erased |= self.layout.collect_block(&page.entries, block, invalid);
            }
        }
        Ok(())
    }

    fn peek(&self, block: BlockId, flash: &dyn ValidityFlash, invalid: &mut PageSet) {
        let mut is_erased = self.buffer.collect_block(block, invalid);
        for run in &self.runs {
            if is_erased {
                break;
            }
            for page in run.pages_of(block, &self.layout, &self.config) {
                let page = gecko_page(flash.peek(run.slots[page]).expect("a page of the directory"));
                is_erased |= self.layout.collect_block(&page.entries, block, invalid);
            }
        }
    }

    fn relocate(&mut self, at: Slot, flash: &mut dyn ValidityFlash) -> Result<bool, LayerError> {
        let Some(ValidityPage::Gecko(page)) = flash.peek(at) else { return Ok(false) };
        let (number, index) = (page.run, page.index as usize);
        let run = self.runs.iter_mut().find(|run| run.number == number);
        match run.and_then(|run| run.slots.get_mut(index)) {
            Some(slot) if *slot == at => {
                *slot = flash.copy(at)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn count_invalid(
        &mut self,
        flash: &mut dyn ValidityFlash,
        visit: &mut dyn FnMut(BlockId, u32),
    ) -> Result<(), LayerError> {
        let entries = self.merge_all(flash)?;
        let (mut block, mut count) = (BlockId(0), 0);
        for entry in entries.chunks_exact(self.layout.stride) {
            let owner = self.layout.block(self.layout.key(entry[0]));
            if owner != block {
                if count > 0 {
                    visit(block, count);
                }
                (block, count) = (owner, 0);
            }
            count += self.layout.count(entry);
        }
        if count > 0 {
            visit(block, count);
        }
        Ok(())
    }

    fn save(&mut self, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        if self.buffer.len() == 0 { Ok(()) } else { self.flush(flash.now(), flash) }
    }

    fn durable_until(&self) -> u64 {
        self.durable_until
    }

    fn ram(&self) -> Vec<RamPart> {
        // All runs together have at most twice the pages of the largest; a directory entry is a key and an address.
        let directories = 2 * 4 * 2 * self.config.largest_run_pages();
        // One buffer for updates, one for output, and one for each run in a merge.
        let inputs = if self.config.multiway { self.config.levels() } else { 2 };
        let buffers = u64::from(self.config.page_bytes) * u64::from(2 + inputs);
        vec![
            RamPart { name: "run directories", bytes: directories },
            RamPart { name: "gecko buffers", bytes: buffers },
        ]
    }

    fn max_appended_pages(&self) -> u64 {
        // Because of alignment, a page may contain as few as V - S + 1 entries.
        let (entries, parts) = (self.config.page_entries(), self.config.parts());
        let min_entries = u64::from(if is_aligned(&self.config) { entries - parts + 1 } else { entries });
        let largest = self.config.max_entries().div_ceil(min_entries).max(1);
        if self.config.multiway {
            return largest;
        }
        // A chain of merges writes a result for each level, containing at most what all levels up to it hold.
        let ratio = u64::from(self.config.size_ratio);
        let (mut total, mut merged) = (0, 1);
        for level in 0..=level_of(largest, self.config.size_ratio) {
            merged += (ratio.pow(level + 1) - 1).min(largest);
            total += (merged * u64::from(entries)).div_ceil(min_entries).min(largest);
        }
        total
    }

    fn flash_pages(&self) -> u64 {
        self.runs.iter().map(|run| run.slots.len() as u64).sum()
    }

    fn check(&self, flash: &dyn ValidityFlash) -> Result<(), String> {
        if self.buffer.len() >= self.config.page_entries() {
            return Err(format!("{} entries in the buffer", self.buffer.len()));
        }
        for pair in self.runs().collect::<Vec<_>>().windows(2) {
            if pair[0].0 >= pair[1].0 {
                return Err(format!("runs (level, pages) {pair:?} were not merged"));
            }
        }
        let mut next = self.next_flush;
        for run in &self.runs {
            let covers = run.preamble.flushes;
            if covers.1 + 1 != next {
                return Err(format!(
                    "run {} holds flushes {covers:?}, before it come those from {next}",
                    run.number
                ));
            }
            next = covers.0;
            run::check(run, &self.config, &self.layout, flash)?;
        }
        if next == 0 { Ok(()) } else { Err(format!("no run holds the flushes before {next}")) }
    }
}
