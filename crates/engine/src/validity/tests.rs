//! Comparison of all stores with a naive model, a table of booleans.

use super::*;
use crate::units::{BlockId, Slot};
use proptest::prelude::*;

/// Type and sizes of a store.
#[derive(Clone, Debug)]
enum Setup {
    InRam(u32),
    Flash(u32),
    Log(LogConfig),
    Gecko(GeckoConfig),
}

#[derive(Clone, Copy, Debug)]
enum Told {
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
struct Bench {
    setup: Setup,
    blocks: u32,
    pages_per_block: u32,
    flash: MemoryFlash,
    store: Box<dyn PageValidity>,
    invalid: Vec<bool>,
    first_written: Vec<Option<u64>>,
    told: Vec<(u64, Told)>,
    saved: bool,
    /// Time up to which reports were made before they were repeated, and the store's `durable_until` at that time.
    told_again: Option<(u64, u64)>,
    /// True if power is lost when the next append fails.
    cuts: bool,
}

impl Setup {
    fn build(&self, blocks: u32, pages_per_block: u32) -> Box<dyn PageValidity> {
        match self {
            Setup::InRam(bytes) => Box::new(InRam::new(blocks, pages_per_block, *bytes)),
            Setup::Flash(bytes) => Box::new(FlashBitmap::new(blocks, pages_per_block, *bytes)),
            Setup::Log(config) => Box::new(ValidityLog::new(*config).unwrap()),
            Setup::Gecko(config) => Box::new(Gecko::new(*config).unwrap()),
        }
    }
}

impl Bench {
    fn new(setup: Setup, blocks: u32, pages_per_block: u32) -> Self {
        Bench {
            store: setup.build(blocks, pages_per_block),
            setup,
            blocks,
            pages_per_block,
            flash: MemoryFlash::keeping_discarded(),
            invalid: vec![false; (blocks * pages_per_block) as usize],
            first_written: vec![None; blocks as usize],
            told: Vec::new(),
            saved: false,
            told_again: None,
            cuts: false,
        }
    }

    fn tell(&mut self, told: Told) {
        let mut before = self.flash.appends();
        let mut failed = 0;
        let mut began = self.flash.now();
        while let Err(error) = self.tell_once(told) {
            assert_eq!(error, crate::layer::LayerError::NoSpace);
            failed += 1;
            if std::mem::take(&mut self.cuts) {
                self.lose_power(usize::MAX);
                before = self.flash.appends();
            }
            began = self.flash.now();
            self.store.check(&self.flash).unwrap();
            assert_eq!(self.flash.live_pages(), self.store.flash_pages());
        }
        self.told.push((began, told));
        let most = self.store.most_appended();
        assert!(self.flash.appends() - before <= (1 + failed) * most, "more than {most} appended");
    }

    fn tell_once(&mut self, told: Told) -> Result<(), crate::layer::LayerError> {
        match told {
            Told::Invalid(page) => self.store.invalidate(page, &mut self.flash),
            Told::Erased(block) => self.store.erased(block, &mut self.flash),
        }
    }

    fn invalidate(&mut self, page: u32) {
        let page = page % self.invalid.len() as u32;
        let now = self.flash.now();
        // The page that replaces it is written first.
        self.flash.advance(1);
        self.first_written[(page / self.pages_per_block) as usize].get_or_insert(now);
        self.invalid[page as usize] = true;
        self.saved = false;
        self.tell(Told::Invalid(Slot(page)));
    }

    fn erase(&mut self, block: u32) {
        let block = block % self.blocks;
        let first = (block * self.pages_per_block) as usize;
        self.invalid[first..first + self.pages_per_block as usize].fill(false);
        self.first_written[block as usize] = None;
        self.saved = false;
        self.tell(Told::Erased(BlockId(block)));
    }

    fn query(&mut self, block: u32) {
        let block = BlockId(block % self.blocks);
        let mut asked = PageSet::new(self.pages_per_block);
        self.store.query(block, &mut asked, &mut self.flash).unwrap();
        self.assert_block(block, &asked);
    }

    fn assert_block(&self, block: BlockId, answer: &PageSet) {
        let first = block.0 * self.pages_per_block;
        let answer: Vec<bool> = (0..self.pages_per_block).map(|page| answer.contains(page)).collect();
        let wanted = &self.invalid[first as usize..(first + self.pages_per_block) as usize];
        assert_eq!(answer, wanted, "block {}", block.0);
    }

    fn count(&mut self) {
        let mut counts = vec![None; self.blocks as usize];
        let mut visit = |block: BlockId, count| assert!(counts[block.index()].replace(count).is_none());
        self.store.count_invalid(&mut self.flash, &mut visit).unwrap();
        let pages = self.pages_per_block as usize;
        let wanted = self.invalid.chunks(pages).map(|block| block.iter().filter(|bit| **bit).count() as u32);
        let wanted: Vec<Option<u32>> = wanted.map(|count| (count > 0).then_some(count)).collect();
        assert_eq!(counts, wanted);
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

    /// Recovers the store and repeats lost reports, or only the first `most` of them.
    fn lose_power(&mut self, most: usize) {
        let found = self.flash.found();
        let appends = self.flash.appends();
        self.store = self.recovered(&found);
        assert_eq!(self.flash.appends(), appends, "recovery wrote");
        assert_eq!(self.flash.live_pages(), self.store.flash_pages(), "recovery left stale pages live");
        if self.saved {
            return self.assert_all();
        }
        let written = self.store.durable_until();
        let durable = match self.told_again {
            Some((before, since)) if written <= since => before.min(written),
            _ => written,
        };
        self.flash.fail_no_more();
        // A device repeats reports from the contents of its blocks, so only those since each block's last erase.
        let lost = self.told.partition_point(|(time, _)| *time < durable);
        for at in (lost..self.told.len()).take(most) {
            let told = self.told[at].1;
            let block = self.block(told);
            let is_past = |&(_, later): &(u64, Told)| matches!(later, Told::Erased(of) if of == block);
            if !self.told[at + 1..].iter().any(is_past) {
                self.tell_once(told).unwrap();
            }
        }
        self.told_again = Some((durable, self.store.durable_until()));
    }

    fn block(&self, told: Told) -> BlockId {
        match told {
            Told::Invalid(page) => BlockId(page.0 / self.pages_per_block),
            Told::Erased(block) => block,
        }
    }

    fn recovered(&mut self, found: &[Found]) -> Box<dyn PageValidity> {
        let (blocks, pages, flash) = (self.blocks, self.pages_per_block, &mut self.flash);
        match &self.setup {
            Setup::InRam(bytes) => {
                let image = InRam::recover_image(blocks, pages, *bytes, found, flash).unwrap();
                match image {
                    Some(store) if self.saved => Box::new(store),
                    image => {
                        // Without a battery, an image is useless: a change makes the store discard it.
                        let mut stale = image.unwrap_or_else(|| InRam::new(blocks, pages, *bytes));
                        stale.erased(BlockId(0), flash).unwrap();
                        self.setup.build(blocks, pages)
                    }
                }
            }
            Setup::Flash(bytes) => {
                Box::new(FlashBitmap::recover(blocks, pages, *bytes, found, flash).unwrap())
            }
            Setup::Gecko(config) => Box::new(Gecko::recover(*config, found, flash).unwrap()),
            Setup::Log(config) => {
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

    fn take(&mut self, step: &Step) {
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
                self.cuts = true;
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

/// Generates sizes of a device, starting with two blocks of one page.
fn sizes() -> impl Strategy<Value = (u32, u32)> {
    (2u32..12, prop_oneof![3 => 1u32..9, 1 => 60u32..140])
}

fn run(setup: Setup, (blocks, pages): (u32, u32), steps: &[Step]) {
    let mut bench = Bench::new(setup, blocks, pages);
    for step in steps {
        bench.take(step);
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..400)
}

proptest! {
    #[test]
    fn the_bitmap_in_ram_agrees_with_the_model(sizes in sizes(), bytes in 1u32..40, steps in steps()) {
        run(Setup::InRam(bytes), sizes, &steps);
    }

    #[test]
    fn the_bitmap_in_flash_agrees_with_the_model(sizes in sizes(), bytes in 1u32..40, steps in steps()) {
        run(Setup::Flash(bytes), sizes, &steps);
    }

    #[test]
    fn the_log_agrees_with_the_model(
        sizes in sizes(), entries in 2u32..6, rest in 0u32..12, spare in 0u64..60, steps in steps(),
    ) {
        let config = LogConfig::new(sizes.0, sizes.1, 12 * entries + rest, spare);
        run(Setup::Log(config), sizes, &steps);
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
    fn gecko_agrees_with_the_model_on_large_blocks(
        (sizes, mut config) in (2u32..5, 700u32..1100).prop_flat_map(|sizes| (Just(sizes), gecko(sizes))),
        partitions in 1u32..9, steps in prop::collection::vec(step(), 1..200),
    ) {
        config.partitions = partitions;
        config.page_bytes = (3 * (config.key_bits + config.part_pages())).div_ceil(8);
        run(Setup::Gecko(config), sizes, &steps);
    }

    #[test]
    fn gecko_agrees_with_the_model(
        (sizes, config) in sizes().prop_flat_map(|sizes| (Just(sizes), gecko(sizes))), steps in steps(),
    ) {
        run(Setup::Gecko(config), sizes, &steps);
    }
}
