//! Comparison of all stores with a naive model, a table of booleans.

use super::*;
use crate::units::{BlockId, Slot};
use proptest::prelude::*;

/// Type and sizes of a store.
#[derive(Clone, Debug)]
enum StoreSetup {
    InRam(u32),
    Flash(u32),
    Log(LogConfig),
    Gecko(GeckoConfig),
}

#[derive(Clone, Copy, Debug)]
enum Report {
    Invalid(Slot),
    Erased(BlockId),
}

#[derive(Clone, Debug)]
enum Step {
    Invalidate(u32),
    Erase(u32),
    Query(u32),
    Count,
    Relocate(u32),
    Save,
    Fail(u64),
    Cut(u64),
    DropDiscarded(u32),
    LosePower,
    LosePowerTwice(usize),
    SaveAndLosePower,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        120 => any::<u32>().prop_map(Step::Invalidate),
        12 => any::<u32>().prop_map(Step::Erase),
        6 => any::<u32>().prop_map(Step::Query),
        1 => Just(Step::Count),
        8 => any::<u32>().prop_map(Step::Relocate),
        1 => Just(Step::Save),
        3 => (0u64..5).prop_map(Step::Fail),
        2 => (0u64..5).prop_map(Step::Cut),
        2 => any::<u32>().prop_map(Step::DropDiscarded),
        1 => Just(Step::LosePower),
        1 => (0usize..8).prop_map(Step::LosePowerTwice),
        1 => Just(Step::SaveAndLosePower),
    ]
}

/// A device with complete knowledge, and a store.
struct TestDevice {
    setup: StoreSetup,
    blocks: u32,
    pages_per_block: u32,
    flash: MemoryFlash,
    store: Box<dyn PageValidity>,
    invalid: Vec<bool>,
    first_written: Vec<Option<u64>>,
    reports: Vec<(u64, Report)>,
    saved: bool,
    /// Time up to which reports were made before they were repeated, and the store's `durable_until` at that time.
    repeated_reports: Option<(u64, u64)>,
    /// True if power is cut when the next append fails.
    cuts_on_failure: bool,
}

impl StoreSetup {
    fn build(&self, blocks: u32, pages_per_block: u32) -> Box<dyn PageValidity> {
        match self {
            StoreSetup::InRam(bytes) => Box::new(RamValidity::new(blocks, pages_per_block, *bytes)),
            StoreSetup::Flash(bytes) => Box::new(FlashBitmap::new(blocks, pages_per_block, *bytes)),
            StoreSetup::Log(config) => Box::new(ValidityLog::new(*config).unwrap()),
            StoreSetup::Gecko(config) => Box::new(Gecko::new(*config).unwrap()),
        }
    }
}

impl TestDevice {
    fn new(setup: StoreSetup, blocks: u32, pages_per_block: u32) -> Self {
        TestDevice {
            store: setup.build(blocks, pages_per_block),
            setup,
            blocks,
            pages_per_block,
            flash: MemoryFlash::retaining_discarded(),
            invalid: vec![false; (blocks * pages_per_block) as usize],
            first_written: vec![None; blocks as usize],
            reports: Vec::new(),
            saved: false,
            repeated_reports: None,
            cuts_on_failure: false,
        }
    }

    fn report(&mut self, report: Report) {
        let mut before = self.flash.appends();
        let mut failed = 0;
        let mut began = self.flash.now();
        while let Err(error) = self.report_once(report) {
            assert_eq!(error, crate::layer::LayerError::NoSpace);
            failed += 1;
            if std::mem::take(&mut self.cuts_on_failure) {
                self.lose_power(usize::MAX);
                before = self.flash.appends();
            }
            began = self.flash.now();
            self.store.check(&self.flash).unwrap();
            assert_eq!(self.flash.live_pages(), self.store.flash_pages());
        }
        self.reports.push((began, report));
        let max_appended = self.store.max_appended_pages();
        assert!(
            self.flash.appends() - before <= (1 + failed) * max_appended,
            "more than {max_appended} appended"
        );
    }

    fn report_once(&mut self, report: Report) -> Result<(), crate::layer::LayerError> {
        match report {
            Report::Invalid(page) => self.store.invalidate(page, &mut self.flash),
            Report::Erased(block) => self.store.record_erase(block, &mut self.flash),
        }
    }

    fn invalidate(&mut self, page: u32) {
        let page = page % self.invalid.len() as u32;
        let now = self.flash.now();
        // The page that replaces the invalid page is written first.
        self.flash.advance(1);
        self.first_written[(page / self.pages_per_block) as usize].get_or_insert(now);
        self.invalid[page as usize] = true;
        self.saved = false;
        self.report(Report::Invalid(Slot(page)));
    }

    fn erase(&mut self, block: u32) {
        let block = block % self.blocks;
        let first = (block * self.pages_per_block) as usize;
        self.invalid[first..first + self.pages_per_block as usize].fill(false);
        self.first_written[block as usize] = None;
        self.saved = false;
        self.report(Report::Erased(BlockId(block)));
    }

    fn query(&mut self, block: u32) {
        let block = BlockId(block % self.blocks);
        let mut invalid = PageSet::new(self.pages_per_block);
        self.store.query(block, &mut invalid, &mut self.flash).unwrap();
        self.assert_block(block, &invalid);
    }

    fn assert_block(&self, block: BlockId, answer: &PageSet) {
        let first = block.0 * self.pages_per_block;
        let answer: Vec<bool> = (0..self.pages_per_block).map(|page| answer.contains(page)).collect();
        let expected = &self.invalid[first as usize..(first + self.pages_per_block) as usize];
        assert_eq!(answer, expected, "block {}", block.0);
    }

    fn count(&mut self) {
        let mut counts = vec![None; self.blocks as usize];
        let mut record = |block: BlockId, count| assert!(counts[block.index()].replace(count).is_none());
        self.store.count_invalid(&mut self.flash, &mut record).unwrap();
        let pages = self.pages_per_block as usize;
        let counted = self.invalid.chunks(pages).map(|block| block.iter().filter(|bit| **bit).count() as u32);
        let expected: Vec<Option<u32>> = counted.map(|count| (count > 0).then_some(count)).collect();
        assert_eq!(counts, expected);
    }

    fn relocate(&mut self, at: u32) {
        let slots = self.flash.appends().max(1) as u32;
        let at = Slot(at % slots);
        let live = self.flash.live_pages();
        let mut moved = self.store.relocate(at, &mut self.flash);
        if moved.is_err() {
            moved = self.store.relocate(at, &mut self.flash);
        }
        if moved.unwrap() {
            assert!(!self.store.relocate(at, &mut self.flash).unwrap());
        }
        assert_eq!(self.flash.live_pages(), live);
    }

    fn save(&mut self) {
        if self.store.save(&mut self.flash).is_err() {
            self.store.save(&mut self.flash).unwrap();
        }
        self.saved = true;
    }

    /// Recovers the store and repeats lost reports, or only the first `max_reports` of them.
    fn lose_power(&mut self, max_reports: usize) {
        let found = self.flash.scan();
        let appends = self.flash.appends();
        self.store = self.recovered(&found);
        assert_eq!(self.flash.appends(), appends, "recovery wrote");
        assert_eq!(self.flash.live_pages(), self.store.flash_pages(), "recovery left stale pages live");
        if self.saved {
            return self.assert_all();
        }
        let written = self.store.durable_until();
        let durable = match self.repeated_reports {
            Some((before, since)) if written <= since => before.min(written),
            _ => written,
        };
        self.flash.stop_failing();
        // A device repeats reports from the contents of its blocks, so only those since each block's last erase.
        let lost = self.reports.partition_point(|(time, _)| *time < durable);
        for at in (lost..self.reports.len()).take(max_reports) {
            let report = self.reports[at].1;
            let block = self.block(report);
            let is_later_erase =
                |&(_, later): &(u64, Report)| matches!(later, Report::Erased(of) if of == block);
            if !self.reports[at + 1..].iter().any(is_later_erase) {
                self.report_once(report).unwrap();
            }
        }
        self.repeated_reports = Some((durable, self.store.durable_until()));
    }

    fn block(&self, report: Report) -> BlockId {
        match report {
            Report::Invalid(page) => BlockId(page.0 / self.pages_per_block),
            Report::Erased(block) => block,
        }
    }

    fn recovered(&mut self, found: &[FoundPage]) -> Box<dyn PageValidity> {
        let (blocks, pages, flash) = (self.blocks, self.pages_per_block, &mut self.flash);
        match &self.setup {
            StoreSetup::InRam(bytes) => {
                let image = RamValidity::recover_image(blocks, pages, *bytes, found, flash).unwrap();
                match image {
                    Some(store) if self.saved => Box::new(store),
                    image => {
                        // Without a battery, an image is useless, because the store discards the image at the first
                        // change.
                        let mut stale = image.unwrap_or_else(|| RamValidity::new(blocks, pages, *bytes));
                        stale.record_erase(BlockId(0), flash).unwrap();
                        self.setup.build(blocks, pages)
                    }
                }
            }
            StoreSetup::Flash(bytes) => {
                Box::new(FlashBitmap::recover(blocks, pages, *bytes, found, flash).unwrap())
            }
            StoreSetup::Gecko(config) => Box::new(Gecko::recover(*config, found, flash).unwrap()),
            StoreSetup::Log(config) => {
                let first = |block: BlockId| self.first_written[block.index()];
                Box::new(ValidityLog::recover(*config, found, &first, flash).unwrap())
            }
        }
    }

    fn assert_all(&self) {
        let mut invalid = PageSet::new(self.pages_per_block);
        for block in (0..self.blocks).map(BlockId) {
            invalid.clear();
            self.store.peek(block, &self.flash, &mut invalid);
            self.assert_block(block, &invalid);
        }
        self.store.check(&self.flash).unwrap();
        assert_eq!(self.flash.live_pages(), self.store.flash_pages());
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Invalidate(page) => self.invalidate(page),
            Step::Erase(block) => self.erase(block),
            Step::Query(block) => self.query(block),
            Step::Count => self.count(),
            Step::Relocate(at) => self.relocate(at),
            Step::Save => self.save(),
            Step::Fail(after) => self.flash.fail_after(after),
            Step::Cut(after) => {
                self.flash.fail_after(after);
                self.cuts_on_failure = true;
            }
            Step::DropDiscarded(odd) => self.flash.drop_discarded(|at| (at.0 ^ odd) % 3 != 0),
            Step::LosePower => self.lose_power(usize::MAX),
            Step::LosePowerTwice(after) => {
                self.lose_power(after);
                self.lose_power(usize::MAX);
            }
            Step::SaveAndLosePower => {
                self.save();
                self.lose_power(usize::MAX);
            }
        }
        self.assert_all();
    }
}

/// Generates sizes of a device; the smallest device has two blocks of one page.
fn sizes() -> impl Strategy<Value = (u32, u32)> {
    (2u32..12, prop_oneof![3 => 1u32..9, 1 => 60u32..140])
}

fn run(setup: StoreSetup, (blocks, pages): (u32, u32), steps: &[Step]) {
    let mut bench = TestDevice::new(setup, blocks, pages);
    for step in steps {
        bench.apply(step);
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..400)
}

proptest! {
    #[test]
    fn ram_bitmap_matches_model(sizes in sizes(), bytes in 1u32..40, steps in steps()) {
        run(StoreSetup::InRam(bytes), sizes, &steps);
    }

    #[test]
    fn flash_bitmap_matches_model(sizes in sizes(), bytes in 1u32..40, steps in steps()) {
        run(StoreSetup::Flash(bytes), sizes, &steps);
    }

    #[test]
    fn validity_log_matches_model(
        sizes in sizes(), entries in 2u32..6, rest in 0u32..12, spare in 0u64..60, steps in steps(),
    ) {
        let config = LogConfig::new(sizes.0, sizes.1, 12 * entries + rest, spare);
        run(StoreSetup::Log(config), sizes, &steps);
    }
}

/// Generates settings of Logarithmic Gecko with few entries per page, so that there are many merges.
fn gecko((blocks, pages): (u32, u32)) -> impl Strategy<Value = GeckoConfig> {
    let settings = (2u32..6, 1..=pages, 2u32..5, any::<bool>(), prop::bool::weighted(0.2), 12u32..64);
    settings.prop_map(move |(size_ratio, partitions, entries, multiway, buffer_inserts_limited, key_bits)| {
        let config = GeckoConfig { size_ratio, partitions, key_bits, ..GeckoConfig::new(blocks, pages, 0) };
        let page_bytes = (entries * (key_bits + config.part_pages())).div_ceil(8);
        GeckoConfig { page_bytes, multiway, buffer_inserts_limited, ..config }
    })
}

proptest! {
    /// Bitmaps of many words.
    #[test]
    fn gecko_on_large_blocks_matches_model(
        (sizes, mut config) in (2u32..5, 700u32..1100).prop_flat_map(|sizes| (Just(sizes), gecko(sizes))),
        partitions in 1u32..9, steps in prop::collection::vec(step(), 1..200),
    ) {
        config.partitions = partitions;
        config.page_bytes = (3 * (config.key_bits + config.part_pages())).div_ceil(8);
        run(StoreSetup::Gecko(config), sizes, &steps);
    }

    #[test]
    fn gecko_matches_model(
        (sizes, config) in sizes().prop_flat_map(|sizes| (Just(sizes), gecko(sizes))), steps in steps(),
    ) {
        run(StoreSetup::Gecko(config), sizes, &steps);
    }
}
