//! A log of invalidated pages, in flash.
//!
//! Entries are numbered in the order in which they are added. A flash page contains `V` entries, so the number of an
//! entry determines its page of the log. Each entry contains the number of the previous entry for the same block, and
//! RAM contains the number of each block's newest entry. An erase cuts off the block's chain.
//!
//! Cleaning takes the oldest page and adds its entries that are still valid again, at the heads of their chains. A
//! chain that leads to a cleaned page therefore ends there: all entries of that page were either added again, nearer to
//! the head, or were obsolete, together with all earlier entries of the chain.

use super::flash::newest_by_label;
use super::log_entries::{LogEntries, LogEntry, NONE};
use super::{FoundPage, LogPage, PageSet, PageValidity, RamBitmap, ValidityFlash, ValidityPage};
use crate::config::ConfigError;
use crate::layer::{LayerError, RamPart};
use crate::table::{filled, prefetch};
use crate::units::{BlockId, Divider, Slot};
use std::collections::VecDeque;

/// Bytes of an entry: address, time, and number of the previous entry, 4 bytes each. The simulation uses wider
/// numbers, so that they never wrap.
const ENTRY_BYTES: u32 = 12;

/// Number of oldest pages that are cleaned after a page was written. The number is above one, so that a log shrinks
/// again after it grew too long because all entries of some pages were still valid.
const PAGES_PER_CLEANING: u32 = 2;

/// Sizes and settings of a page-validity log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Number of blocks of the device.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Size of a page in bytes; at least two entries of 12.
    pub page_bytes: u32,
    /// Capacity of the log in entries (X); at least the entries of two pages. A log whose entries are all valid exceeds
    /// this capacity.
    pub entries: u64,
}

impl LogConfig {
    /// Returns the settings of GeckoFTL, Appendix E: the capacity is twice the number of pages that can be invalid.
    /// `spare_pages` is the number of the device's pages minus that of the logical pages.
    pub fn new(blocks: u32, pages_per_block: u32, page_bytes: u32, spare_pages: u64) -> Self {
        let entries = (2 * spare_pages).max(u64::from(2 * (page_bytes / ENTRY_BYTES)));
        LogConfig { blocks, pages_per_block, page_bytes, entries }
    }

    /// Returns the number of entries per page (V).
    pub fn page_entries(&self) -> u32 {
        self.page_bytes / ENTRY_BYTES
    }

    fn check(&self) -> Result<(), ConfigError> {
        let entries = self.page_entries();
        if entries < 2 {
            let min_bytes = 2 * ENTRY_BYTES;
            let problem = format!(
                "{} bytes hold fewer than two entries of the validity log; at least {min_bytes}",
                self.page_bytes
            );
            return Err(ConfigError::new("page_bytes", problem));
        }
        if self.entries < 2 * u64::from(entries) {
            let problem = format!("is {}; it must be at least {}, two pages", self.entries, 2 * entries);
            return Err(ConfigError::new("entries", problem));
        }
        Ok(())
    }
}

/// A page of the log that is still needed.
#[derive(Clone, Debug)]
struct LogPageRef {
    at: Slot,
    /// Entries of the page; shares the memory of the copy in flash. After a counted read, the entries are accessed
    /// here, because the access through the page's block takes longer.
    entries: LogEntries,
}

/// The page-validity log of IB-FTL, with the cleaning of GeckoFTL, Appendix E.
///
/// A page reported twice takes two entries until its block is erased, unless both are in the buffer.
#[derive(Clone, Debug)]
pub struct ValidityLog {
    config: LogConfig,
    /// Divides the number of a physical page by the pages per block.
    block_of: Divider,
    /// Number of the newest entry of each block.
    heads: Vec<u64>,
    /// Time of each block's last erase: entries that are not newer are obsolete.
    erase_times: Vec<u64>,
    /// Entries that are not yet written. The number of the first entry is the number of the next page times V.
    buffer: Vec<LogEntry>,
    /// Pages of the log, starting with page number `oldest`.
    pages: VecDeque<LogPageRef>,
    oldest: u32,
    /// Cleaned pages whose entries are not all in flash again yet: they are needed after a power loss. The newest of
    /// these pages is the page before `oldest`.
    cleaned: VecDeque<Slot>,
    durable_until: u64,
}

impl ValidityLog {
    /// Creates an empty log. Fails if a setting cannot work; the error names its key.
    pub fn new(config: LogConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let blocks = config.blocks as usize;
        Ok(ValidityLog {
            config,
            block_of: Divider::new(config.pages_per_block),
            heads: filled(blocks, NONE),
            erase_times: filled(blocks, 0),
            buffer: Vec::with_capacity(config.page_entries() as usize),
            pages: VecDeque::new(),
            oldest: 0,
            cleaned: VecDeque::new(),
            durable_until: 0,
        })
    }

    /// Recovers the log by reading all of it. `first_written` returns the sequence number of a block's first page,
    /// `None` for an erased block.
    ///
    /// # Panics
    ///
    /// If [`ValidityLog::new`] rejects `config`.
    pub fn recover(
        config: LogConfig,
        pages: &[FoundPage],
        first_written: &dyn Fn(BlockId) -> Option<u64>,
        flash: &mut dyn ValidityFlash,
    ) -> Result<Self, LayerError> {
        let mut store = Self::new(config).expect("settings that made the log");
        for (block, erase_time) in (0..).map(BlockId).zip(&mut store.erase_times) {
            // No page of an erased block is invalid, regardless of the log.
            *erase_time = first_written(block).unwrap_or(flash.now());
        }
        let found = newest_by_label(pages, flash);
        let Some(last) = found.last() else { return Ok(store) };
        let newest = log_page(flash.read(last.at)?);
        (store.oldest, store.durable_until) = (newest.oldest, newest.written);
        for page in found {
            if page.label < store.oldest {
                flash.discard(page.at);
                continue;
            }
            assert_eq!(page.label, store.next_page(), "a page of the validity log is missing");
            let first = store.first_entry_of(page.label);
            let entries = log_page(flash.read(page.at)?).entries.clone();
            for (number, entry) in (first..).zip(entries.iter()) {
                let block = store.block(entry.page).index();
                if entry.time > store.erase_times[block] {
                    store.heads[block] = number;
                }
            }
            store.pages.push_back(LogPageRef { at: page.at, entries });
        }
        Ok(store)
    }

    fn block(&self, page: Slot) -> BlockId {
        BlockId(self.block_of.quotient(page.0))
    }

    /// Prefetches the data about the page's block.
    fn prefetch_block(&self, page: Slot) {
        let block = self.block(page).index();
        prefetch(self.heads.as_ptr().wrapping_add(block));
        prefetch(self.erase_times.as_ptr().wrapping_add(block));
    }

    /// Returns the number of the page that is written next.
    fn next_page(&self) -> u32 {
        self.oldest + self.pages.len() as u32
    }

    fn first_entry_of(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.config.page_entries())
    }

    fn is_full(&self) -> bool {
        self.buffer.len() as u32 == self.config.page_entries()
    }

    /// Adds an entry; the buffer must not be full.
    fn push(&mut self, page: Slot, time: u64) {
        let number = self.first_entry_of(self.next_page()) + self.buffer.len() as u64;
        let block = self.block(page).index();
        let previous = std::mem::replace(&mut self.heads[block], number);
        self.buffer.push(LogEntry { page, time, previous });
    }

    /// Writes the buffer, because it is full or is being saved. `call_time` is the time at which the current call
    /// began; the report of this call is not in the buffer yet.
    fn flush(&mut self, call_time: u64, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let number = self.next_page();
        let entries = LogEntries::new(self.first_entry_of(number), &self.buffer);
        let page = LogPage { number, oldest: self.oldest, written: call_time, entries: entries.clone() };
        let at = flash.append(ValidityPage::Log(page))?;
        self.buffer.clear();
        self.pages.push_back(LogPageRef { at, entries });
        self.cleaned.drain(..).for_each(|at| flash.discard(at));
        self.durable_until = call_time;
        Ok(())
    }

    /// Adds the entries of the oldest pages that are still valid again, if the log is too long.
    fn clean(&mut self, call_time: u64, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        for _ in 0..PAGES_PER_CLEANING {
            // The page just written is never cleaned: it makes the cleaned pages unnecessary.
            if self.pages.len() < 2 || self.first_entry_of(self.pages.len() as u32) <= self.config.entries {
                break;
            }
            flash.read(self.pages[0].at)?;
            let entries = self.pages[0].entries.clone();
            entries.iter().for_each(|entry| self.prefetch_block(entry.page));
            for entry in entries.iter() {
                if entry.time <= self.erase_times[self.block(entry.page).index()] {
                    continue;
                }
                if self.is_full() {
                    self.flush(call_time, flash)?;
                }
                // The entry is still valid, so the new time distinguishes it from the last erase as well as the
                // original time did.
                self.push(entry.page, entry.time.max(flash.now()));
            }
            let page = self.pages.pop_front().expect("the page just read");
            self.cleaned.push_back(page.at);
            self.oldest += 1;
        }
        Ok(())
    }

    /// Calls `visit` with those entries of the block's chain that are in the buffer, newest first. Returns the number
    /// of the first entry that is not in the buffer.
    fn walk_buffer(&self, block: BlockId, mut visit: impl FnMut(&LogEntry)) -> u64 {
        let buffered = self.first_entry_of(self.next_page());
        let mut number = self.heads[block.index()];
        while number != NONE && number >= buffered {
            let entry = &self.buffer[(number - buffered) as usize];
            visit(entry);
            number = entry.previous;
        }
        number
    }

    /// Returns the page in flash that contains the entry; `None` after the end of a chain.
    fn page_of(&self, number: u64) -> Option<&LogPageRef> {
        let oldest = self.first_entry_of(self.oldest);
        if number == NONE || number < oldest {
            return None;
        }
        self.pages.get(((number - oldest) / u64::from(self.config.page_entries())) as usize)
    }

    /// Follows a chain through one page and adds the invalid pages. Returns the number of the next entry.
    fn walk_page(&self, entries: &LogEntries, block: BlockId, mut number: u64, invalid: &mut PageSet) -> u64 {
        while number != NONE && number >= entries.first() {
            let entry = entries.get(number);
            if entry.time <= self.erase_times[block.index()] {
                return NONE;
            }
            invalid.insert(entry.page.0 - block.0 * self.config.pages_per_block);
            number = entry.previous;
        }
        number
    }
}

fn log_page(page: &ValidityPage) -> &LogPage {
    let ValidityPage::Log(page) = page else { panic!("a page of the validity log, not {page:?}") };
    page
}

impl PageValidity for ValidityLog {
    fn invalidate(&mut self, page: Slot, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let mut is_buffered = false;
        self.walk_buffer(self.block(page), |entry| is_buffered |= entry.page == page);
        if is_buffered {
            return Ok(());
        }
        let call_time = flash.now();
        if self.is_full() {
            self.flush(call_time, flash)?;
            self.clean(call_time, flash)?;
        }
        // The entries added by cleaning may have filled the buffer again.
        if self.is_full() {
            self.flush(call_time, flash)?;
        }
        // The entry must be newer than the last erase, even if the clock has not advanced.
        let time = flash.now().max(self.erase_times[self.block(page).index()] + 1);
        self.push(page, time);
        Ok(())
    }

    fn prefetch(&self, page: Slot) {
        self.prefetch_block(page);
    }

    fn record_erase(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        // Without entries since the last erase, the old time is sufficient and is kept. When erases are reported
        // again after a power loss, this time is when the block was first written.
        if self.heads[block.index()] != NONE {
            let erase_time = &mut self.erase_times[block.index()];
            *erase_time = flash.now().max(*erase_time + 1);
        }
        self.heads[block.index()] = NONE;
        Ok(())
    }

    fn query(
        &mut self,
        block: BlockId,
        invalid: &mut PageSet,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        let first = block.0 * self.config.pages_per_block;
        let mut number = self.walk_buffer(block, |entry| invalid.insert(entry.page.0 - first));
        while let Some(page) = self.page_of(number) {
            flash.read(page.at)?;
            number = self.walk_page(&page.entries, block, number, invalid);
        }
        Ok(())
    }

    fn peek(&self, block: BlockId, flash: &dyn ValidityFlash, invalid: &mut PageSet) {
        let first = block.0 * self.config.pages_per_block;
        let mut number = self.walk_buffer(block, |entry| invalid.insert(entry.page.0 - first));
        while let Some(page) = self.page_of(number) {
            let page = log_page(flash.peek(page.at).expect("a page of the validity log"));
            number = self.walk_page(&page.entries, block, number, invalid);
        }
    }

    fn relocate(&mut self, at: Slot, flash: &mut dyn ValidityFlash) -> Result<bool, LayerError> {
        let Some(number) = flash.peek(at).map(ValidityPage::label) else { return Ok(false) };
        let cleaned = self.oldest - self.cleaned.len() as u32;
        let slot = match number.checked_sub(self.oldest) {
            Some(page) => self.pages.get_mut(page as usize).map(|page| &mut page.at),
            None => number.checked_sub(cleaned).and_then(|page| self.cleaned.get_mut(page as usize)),
        };
        match slot {
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
        let LogConfig { blocks, pages_per_block, .. } = self.config;
        // A page may have two entries, because cleaning has added the entry again, or because the invalidation was
        // reported again after a power loss.
        let mut valid = RamBitmap::new(blocks, pages_per_block);
        let mut clear_invalid = |entry: LogEntry| {
            if entry.time > self.erase_times[self.block(entry.page).index()] {
                valid.clear(entry.page);
            }
        };
        self.buffer.iter().copied().for_each(&mut clear_invalid);
        for page in &self.pages {
            log_page(flash.read(page.at)?).entries.iter().for_each(&mut clear_invalid);
        }
        for block in (0..blocks).map(BlockId) {
            let mut invalid = 0;
            valid.for_each_word(block, pages_per_block, |pages, bits| {
                invalid += pages.len() as u32 - bits.count_ones();
            });
            if invalid > 0 {
                visit(block, invalid);
            }
        }
        Ok(())
    }

    fn save(&mut self, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.flush(flash.now(), flash)?;
        // A page that is not full takes the space of a full page, so a log that is saved repeatedly must be cleaned.
        self.clean(flash.now(), flash)
    }

    fn durable_until(&self) -> u64 {
        self.durable_until
    }

    fn ram(&self) -> Vec<RamPart> {
        let blocks = 4 * u64::from(self.config.blocks);
        let pages = self.config.entries.div_ceil(u64::from(self.config.page_entries()));
        vec![
            RamPart { name: "log chains", bytes: blocks },
            RamPart { name: "erase timestamps", bytes: blocks },
            RamPart { name: "log directory", bytes: 4 * pages },
            RamPart { name: "log buffer", bytes: u64::from(self.config.page_bytes) },
        ]
    }

    fn max_appended_pages(&self) -> u64 {
        // One page is for the buffer, and the other pages are for the entries added by cleaning, which need not fill
        // whole pages.
        1 + u64::from(PAGES_PER_CLEANING)
    }

    fn flash_pages(&self) -> u64 {
        (self.pages.len() + self.cleaned.len()) as u64
    }

    fn check(&self, flash: &dyn ValidityFlash) -> Result<(), String> {
        if self.buffer.len() as u32 > self.config.page_entries() {
            return Err(format!("{} entries in the buffer", self.buffer.len()));
        }
        let first = self.oldest - self.cleaned.len() as u32;
        let cleaned = self.cleaned.iter().map(|&at| (at, None));
        let needed = self.pages.iter().map(|page| (page.at, Some(&page.entries)));
        for (number, (at, entries)) in (first..).zip(cleaned.chain(needed)) {
            match flash.peek(at) {
                Some(ValidityPage::Log(page))
                    if page.number == number
                        && entries.is_none_or(|entries| entries.shares_memory_with(&page.entries)) => {}
                other => {
                    return Err(format!("page {number} of the validity log is not at {}: {other:?}", at.0));
                }
            }
        }
        let end = self.first_entry_of(self.next_page()) + self.buffer.len() as u64;
        match self.heads.iter().position(|&head| head != NONE && head >= end) {
            Some(block) => Err(format!("the chain of block {block} begins past the end of the validity log")),
            None => Ok(()),
        }
    }
}
