//! A log of invalidated pages, in flash.
//!
//! Entries get numbers in the order in which they are put in; a flash page holds `V` of them, so that an entry's number
//! says which page of the log it is in. Each entry names the one put in before it for the same block, and RAM holds the
//! newest one's number for each block. An erase cuts the block's chain off.
//!
//! Cleaning takes the oldest page and puts its entries that are still true in again, at the head of their chains. So a
//! chain that leads to a page already cleaned ends there: all entries of that page were put in again, and are nearer the
//! head, or were obsolete, and so was everything put in before them.

use super::flash::newest_of_each;
use super::log_entries::{LogEntries, LogEntry, NONE};
use super::{Found, LogPage, PageSet, PageValidity, RamBitmap, ValidityFlash, ValidityPage};
use crate::config::ConfigError;
use crate::layer::{LayerError, RamPart};
use crate::table::{filled, prefetch};
use crate::units::{BlockId, Divider, Slot};
use std::collections::VecDeque;

/// Bytes of an entry: address, time, and number of the entry before it, 4 each. The simulation's numbers are wider, so
/// that they never wrap.
const ENTRY_BYTES: u32 = 12;

/// Oldest pages that are cleaned after one page was written. More than one, so that a log that grew too long because all
/// entries of some page were still true gets short again.
const CLEANED_AT_ONCE: u32 = 2;

/// Sizes of a page-validity log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Blocks of the device.
    pub blocks: u32,
    /// Pages in each.
    pub pages_per_block: u32,
    /// Size of a page, bytes; at least two entries of 12.
    pub page_bytes: u32,
    /// Entries that the log is to hold (X), at least those of two pages. A log whose entries are all true grows beyond it.
    pub entries: u64,
}

impl LogConfig {
    /// The bound of GeckoFTL, Appendix E: twice the pages that can be invalid, `spare_pages` being the difference between
    /// the device's pages and the logical ones.
    pub fn new(blocks: u32, pages_per_block: u32, page_bytes: u32, spare_pages: u64) -> Self {
        let entries = (2 * spare_pages).max(u64::from(2 * (page_bytes / ENTRY_BYTES)));
        LogConfig { blocks, pages_per_block, page_bytes, entries }
    }

    /// Entries of a page (V).
    pub fn page_entries(&self) -> u32 {
        self.page_bytes / ENTRY_BYTES
    }

    fn check(&self) -> Result<(), ConfigError> {
        let entries = self.page_entries();
        if entries < 2 {
            let least = 2 * ENTRY_BYTES;
            let problem = format!(
                "{} bytes hold fewer than two entries of the validity log; at least {least}",
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
struct Kept {
    at: Slot,
    /// What is in flash there, and shares its memory: whoever has paid for reading the page looks here, since the way by the page's
    /// block is much longer.
    entries: LogEntries,
}

/// The page-validity log of IB-FTL with the cleaning that GeckoFTL, Appendix E, gives it.
///
/// A page told twice takes two entries until its block is erased, unless both are in the buffer.
#[derive(Clone, Debug)]
pub struct ValidityLog {
    config: LogConfig,
    /// Turns a slot into its block.
    block_of: Divider,
    /// Number of the newest entry of each block.
    heads: Vec<u64>,
    /// When each block was erased: entries not younger are obsolete.
    erased: Vec<u64>,
    /// Entries not yet written; the first one's number is that of the page to be written next, times V.
    buffer: Vec<LogEntry>,
    /// The pages, from page number `oldest` on.
    pages: VecDeque<Kept>,
    oldest: u32,
    /// Cleaned pages whose entries are not all in flash again: needed after a loss of power. The newest is the one before
    /// `oldest`.
    cleaned: VecDeque<Slot>,
    durable_until: u64,
}

impl ValidityLog {
    /// An empty log.
    pub fn new(config: LogConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let blocks = config.blocks as usize;
        Ok(ValidityLog {
            config,
            block_of: Divider::new(config.pages_per_block),
            heads: filled(blocks, NONE),
            erased: filled(blocks, 0),
            buffer: Vec::with_capacity(config.page_entries() as usize),
            pages: VecDeque::new(),
            oldest: 0,
            cleaned: VecDeque::new(),
            durable_until: 0,
        })
    }

    /// Reads the whole log; `first_written` gives the sequence number of the page written first in a block, `None` for an
    /// erased one.
    ///
    /// # Panics
    ///
    /// If [`ValidityLog::new`] refuses `config`.
    pub fn recover(
        config: LogConfig,
        pages: &[Found],
        first_written: &dyn Fn(BlockId) -> Option<u64>,
        flash: &mut dyn ValidityFlash,
    ) -> Result<Self, LayerError> {
        let mut store = Self::new(config).expect("settings that made the log");
        for (block, erased) in (0..).map(BlockId).zip(&mut store.erased) {
            // What is in an erased block is not invalid, whatever the log says.
            *erased = first_written(block).unwrap_or(flash.now());
        }
        let found = newest_of_each(pages, flash);
        let Some(last) = found.last() else { return Ok(store) };
        let newest = log_page(flash.read(last.at)?);
        (store.oldest, store.durable_until) = (newest.oldest, newest.written);
        for page in found {
            if page.label < store.oldest {
                flash.discard(page.at);
                continue;
            }
            assert_eq!(page.label, store.next_page(), "a page of the validity log is missing");
            let first = store.first_entry(page.label);
            let entries = log_page(flash.read(page.at)?).entries.clone();
            for (number, entry) in (first..).zip(entries.iter()) {
                let block = store.block(entry.page).index();
                if entry.time > store.erased[block] {
                    store.heads[block] = number;
                }
            }
            store.pages.push_back(Kept { at: page.at, entries });
        }
        Ok(store)
    }

    /// Entries that the pages in flash have room for, and those in the buffer; obsolete ones, too.
    pub fn entries(&self) -> u64 {
        self.first_entry(self.pages.len() as u32) + self.buffer.len() as u64
    }

    fn block(&self, page: Slot) -> BlockId {
        BlockId(self.block_of.quotient(page.0))
    }

    /// What is kept of the page's block will be looked at soon: a hint.
    fn foresee(&self, page: Slot) {
        let block = self.block(page).index();
        prefetch(self.heads.as_ptr().wrapping_add(block));
        prefetch(self.erased.as_ptr().wrapping_add(block));
    }

    /// Number of the page that is written next.
    fn next_page(&self) -> u32 {
        self.oldest + self.pages.len() as u32
    }

    fn first_entry(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.config.page_entries())
    }

    fn is_full(&self) -> bool {
        self.buffer.len() as u32 == self.config.page_entries()
    }

    /// Puts an entry in; there must be room.
    fn push(&mut self, page: Slot, time: u64) {
        let number = self.first_entry(self.next_page()) + self.buffer.len() as u64;
        let block = self.block(page).index();
        let previous = std::mem::replace(&mut self.heads[block], number);
        self.buffer.push(LogEntry { page, time, previous });
    }

    /// Writes the buffer, which is full or is being saved. `told` is when the call under way began: what it was told is
    /// not in the buffer yet.
    fn flush(&mut self, told: u64, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let number = self.next_page();
        let entries = LogEntries::new(self.first_entry(number), &self.buffer);
        let page = LogPage { number, oldest: self.oldest, written: told, entries: entries.clone() };
        let at = flash.append(ValidityPage::Log(page))?;
        self.buffer.clear();
        self.pages.push_back(Kept { at, entries });
        self.cleaned.drain(..).for_each(|at| flash.discard(at));
        self.durable_until = told;
        Ok(())
    }

    /// Puts what is still true in the oldest pages in again, if the log is too long.
    fn clean(&mut self, told: u64, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        for _ in 0..CLEANED_AT_ONCE {
            // The page just written is never cleaned: it is what makes the cleaned ones dispensable.
            if self.pages.len() < 2 || self.first_entry(self.pages.len() as u32) <= self.config.entries {
                break;
            }
            flash.read(self.pages[0].at)?;
            let entries = self.pages[0].entries.clone();
            entries.iter().for_each(|entry| self.foresee(entry.page));
            for entry in entries.iter() {
                if entry.time <= self.erased[self.block(entry.page).index()] {
                    continue;
                }
                if self.is_full() {
                    self.flush(told, flash)?;
                }
                // True now, it tells an erase to come from the one before its page was written as well as when it was new.
                self.push(entry.page, entry.time.max(flash.now()));
            }
            let page = self.pages.pop_front().expect("the page just read");
            self.cleaned.push_back(page.at);
            self.oldest += 1;
        }
        Ok(())
    }

    /// Calls `visit` with the entries of the block's chain that are in the buffer, from the newest on; the number of the
    /// first that is not.
    fn walk_buffer(&self, block: BlockId, mut visit: impl FnMut(&LogEntry)) -> u64 {
        let buffered = self.first_entry(self.next_page());
        let mut number = self.heads[block.index()];
        while number != NONE && number >= buffered {
            let entry = &self.buffer[(number - buffered) as usize];
            visit(entry);
            number = entry.previous;
        }
        number
    }

    /// The page in flash that has the entry; `None` past the end of a chain.
    fn page_of(&self, number: u64) -> Option<&Kept> {
        let oldest = self.first_entry(self.oldest);
        if number == NONE || number < oldest {
            return None;
        }
        self.pages.get(((number - oldest) / u64::from(self.config.page_entries())) as usize)
    }

    /// Follows a chain through one page, adding the invalid pages; the number of the next entry.
    fn walk_page(&self, entries: &LogEntries, block: BlockId, mut number: u64, invalid: &mut PageSet) -> u64 {
        while number != NONE && number >= entries.first() {
            let entry = entries.get(number);
            if entry.time <= self.erased[block.index()] {
                return NONE;
            }
            invalid.set(entry.page.0 - block.0 * self.config.pages_per_block);
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
        let mut known = false;
        self.walk_buffer(self.block(page), |entry| known |= entry.page == page);
        if known {
            return Ok(());
        }
        let told = flash.now();
        if self.is_full() {
            self.flush(told, flash)?;
            self.clean(told, flash)?;
        }
        // What cleaning put in may have filled it once more.
        if self.is_full() {
            self.flush(told, flash)?;
        }
        // Whatever the clock says, the entry must outlast the erase before it.
        let time = flash.now().max(self.erased[self.block(page).index()] + 1);
        self.push(page, time);
        Ok(())
    }

    fn prefetch(&self, page: Slot) {
        self.foresee(page);
    }

    fn erased(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        // Without entries since the last erase there is nothing to outlast, and the old time stays. After a loss of power,
        // when erases are told again, that is when the block's life began.
        if self.heads[block.index()] != NONE {
            let erased = &mut self.erased[block.index()];
            *erased = flash.now().max(*erased + 1);
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
        let mut number = self.walk_buffer(block, |entry| invalid.set(entry.page.0 - first));
        while let Some(page) = self.page_of(number) {
            flash.read(page.at)?;
            number = self.walk_page(&page.entries, block, number, invalid);
        }
        Ok(())
    }

    fn peek(&self, block: BlockId, flash: &dyn ValidityFlash, invalid: &mut PageSet) {
        let first = block.0 * self.config.pages_per_block;
        let mut number = self.walk_buffer(block, |entry| invalid.set(entry.page.0 - first));
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
        // A page can be there twice: put in again by cleaning of the page under way, or told again after a loss of power.
        let mut valid = RamBitmap::new(blocks, pages_per_block);
        let mut see = |entry: LogEntry| {
            if entry.time > self.erased[self.block(entry.page).index()] {
                valid.clear(entry.page);
            }
        };
        self.buffer.iter().copied().for_each(&mut see);
        for page in &self.pages {
            log_page(flash.read(page.at)?).entries.iter().for_each(&mut see);
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
        // A page written before it is full counts like any other, and a log saved again and again must not grow.
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

    fn most_appended(&self) -> u64 {
        // The buffer, and what cleaning puts in, which need not be a multiple of a page.
        1 + u64::from(CLEANED_AT_ONCE)
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
                    if page.number == number && entries.is_none_or(|entries| entries.are(&page.entries)) => {}
                other => {
                    return Err(format!("page {number} of the validity log is not at {}: {other:?}", at.0));
                }
            }
        }
        let end = self.first_entry(self.next_page()) + self.buffer.len() as u64;
        match self.heads.iter().position(|&head| head != NONE && head >= end) {
            Some(block) => Err(format!("the chain of block {block} begins past the end of the validity log")),
            None => Ok(()),
        }
    }
}
