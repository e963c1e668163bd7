//! Flash with attached validity stores. The stores are notified of each invalidated page and queried about each
//! victim of cleaning, and their flash operations are counted.

use wearwell_base::units::{BlockId, Slot};
use wearwell_engine::counters::Cause;
use wearwell_engine::layer::{
    Invalidation, InvalidationListener, LayerBelow, LayerError, Medium, MediumError, Pages, Reports, Run,
};
use wearwell_engine::nand::Nand;
use wearwell_engine::validity::{MemoryFlash, PageSet, PageValidity};

/// Page operations of a store on its flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashIo {
    /// Number of pages read.
    pub reads: u64,
    /// Number of pages written.
    pub writes: u64,
}

/// Operations of a store, by the reason for calling it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreIo {
    /// Notifications of pages that host writes invalidate.
    pub updates: FlashIo,
    /// Queries for the invalid pages of a victim.
    pub queries: FlashIo,
    /// Notifications of erased blocks.
    pub erases: FlashIo,
}

/// A store with its flash and its operations.
pub struct TrackedStore {
    store: Box<dyn PageValidity>,
    flash: MemoryFlash,
    io: StoreIo,
}

impl TrackedStore {
    /// Tracks a store that has no recorded invalid pages.
    pub fn new(store: Box<dyn PageValidity>) -> Self {
        TrackedStore { store, flash: MemoryFlash::new(), io: StoreIo::default() }
    }

    /// Returns the operations of the store so far.
    pub fn io(&self) -> StoreIo {
        self.io
    }

    /// Returns the number of pages that the store has in flash.
    pub fn flash_pages(&self) -> u64 {
        self.flash.live_pages()
    }

    /// Adds the invalid pages of a block to `invalid`, without counting operations.
    pub fn peek(&self, block: BlockId, invalid: &mut PageSet) {
        self.store.peek(block, &self.flash, invalid);
    }

    /// Calls the store, and adds its operations to the part of `io` that `part` selects.
    fn call(
        &mut self,
        part: impl FnOnce(&mut StoreIo) -> &mut FlashIo,
        call: impl FnOnce(&mut dyn PageValidity, &mut MemoryFlash) -> Result<(), LayerError>,
    ) {
        let (reads, writes) = (self.flash.reads(), self.flash.appends());
        call(self.store.as_mut(), &mut self.flash).expect("flash in memory that takes all");
        let io = part(&mut self.io);
        io.reads += self.flash.reads() - reads;
        io.writes += self.flash.appends() - writes;
    }
}

/// Flash that observes the log on it. Pages that cleaning moves are not reported, because their block is erased.
///
/// A page that occurs twice in one run of the log is reported only once; batches must not contain such pages.
pub struct Probe {
    nand: Nand<()>,
    stores: Vec<TrackedStore>,
    invalid: PageSet,
    /// Number of valid pages that cleaning has read since the last erase.
    valid_pages_read: u32,
    erases: u64,
}

impl Probe {
    /// Attaches stores to erased flash.
    pub fn new(nand: Nand<()>, tracked: Vec<TrackedStore>) -> Self {
        let invalid = PageSet::new(nand.pages_per_block());
        Probe { nand, stores: tracked, invalid, valid_pages_read: 0, erases: 0 }
    }

    /// Returns the stores.
    pub fn stores(&self) -> &[TrackedStore] {
        &self.stores
    }

    /// Returns the number of blocks erased so far, each after a query.
    pub fn erases(&self) -> u64 {
        self.erases
    }
}

impl Medium for Probe {
    type Payload = ();

    const STORES_GROUPS: bool = false;

    const READS_BY_PAGE: bool = false;

    /// Erases a victim after querying each store about it, as an FTL would, and checks the number of invalid pages.
    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        let valid_pages_read = std::mem::take(&mut self.valid_pages_read);
        for tracked in &mut self.stores {
            let invalid = &mut self.invalid;
            invalid.clear();
            tracked.call(|spent| &mut spent.queries, |store, flash| store.query(block, invalid, flash));
            assert_eq!(invalid.count() + valid_pages_read, invalid.pages(), "pages of block {}", block.0);
            tracked.call(|spent| &mut spent.erases, |store, flash| store.record_erase(block, flash));
        }
        self.erases += 1;
        self.nand.erase(block, cause)
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, ()>) -> Result<(), MediumError> {
        let pages = run.data.len() as u64;
        self.stores.iter_mut().for_each(|tracked| tracked.flash.advance(pages));
        self.nand.program(block, page, run)
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<()>,
    ) -> Result<(), MediumError> {
        if cause == Cause::Cleaning {
            self.valid_pages_read += pages.len();
        }
        self.nand.read(block, pages, cause, out)
    }

    fn blocks(&self) -> u32 {
        self.nand.blocks()
    }

    fn pages_per_block(&self) -> u32 {
        self.nand.pages_per_block()
    }

    fn count_reads(&mut self, pages: u64) {
        self.nand.count_reads(pages);
    }

    fn prefetch_block(&self, block: BlockId) {
        self.nand.prefetch_block(block);
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.nand.flush()
    }

    fn retire(&mut self, block: BlockId) {
        self.nand.retire(block);
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        self.nand.take_disturbed()
    }

    fn reads_before_refresh(&self, block: BlockId) -> u32 {
        self.nand.reads_before_refresh(block)
    }

    fn read_wear(&mut self, block: BlockId) {
        self.nand.read_wear(block);
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.nand.is_bad(block)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.nand.erases(block)
    }

    #[inline(always)]
    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        (!self.stores.is_empty()).then_some(self as &mut dyn InvalidationListener)
    }

    #[inline(always)]
    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        None
    }

    #[inline(always)]
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        None
    }

    fn describe(&self, reports: &mut Reports) {
        self.nand.describe(reports);
    }

    fn check(&self) -> Result<(), String> {
        self.nand.check()?;
        self.stores.iter().try_for_each(|tracked| tracked.store.check(&tracked.flash))
    }
}

impl InvalidationListener for Probe {
    fn on_invalidate(&mut self, invalidations: &[Invalidation]) {
        for invalidation in invalidations {
            let slot = Slot(invalidation.block.0 * self.nand.pages_per_block() + invalidation.page);
            for tracked in &mut self.stores {
                tracked.call(|spent| &mut spent.updates, |store, flash| store.invalidate(slot, flash));
            }
        }
    }
}
