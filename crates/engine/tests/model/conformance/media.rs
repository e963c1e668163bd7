//! All media, each driven at random within the rules of flash, and compared with the medium that it wraps.

use super::layers::{bare_nand, boxed_ftl};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::{BlockId, Lpn, StreamId};
use wearwell_engine::checked::CheckedMedium;
use wearwell_engine::counters::Cause;
use wearwell_engine::layer::{ContentId, Group, Medium, MediumExt, Pages, Reports, Run};
use wearwell_engine::log::{Segments, TrimRule};
use wearwell_engine::nand::{Nand, PowerCutFlash, PowerSource};
use wearwell_engine::timing::{Journal, RecordingNand};

/// Types built by the tests below.
pub(super) const DRIVEN: &[&str] = &["CheckedMedium", "Nand", "PowerCutFlash", "RecordingNand", "Segments"];

/// Random operations for one or several media.
struct MediumDriver {
    next: Vec<u32>,
    pages_per_block: u32,
    sequence: u64,
    random: Random,
}

/// Returns the state of a medium as text.
fn state<M: Medium<Payload = ContentId>>(medium: &mut M, block: BlockId) -> String {
    let mut reports = Reports::default();
    medium.describe(&mut reports);
    let nand = reports.nand.map(|nand| (nand.programs, nand.erases, nand.erase_counts));
    let own_state = (medium.erases(block), medium.is_bad(block), medium.blocks(), medium.pages_per_block());
    let below = (
        medium.layer_below().is_some(),
        medium.has_metadata_stream(),
        medium.wants_invalidations(),
        medium.metadata_pages(),
        medium.pages_until_checkpoint(),
        medium.abilities_below(),
        medium.left_valid(block),
    );
    format!("{nand:?} {own_state:?} {below:?} {:?}", medium.check())
}

impl MediumDriver {
    fn new(medium: &impl Medium, seed: u64) -> Self {
        let (next, pages_per_block) = (vec![0; medium.blocks() as usize], medium.pages_per_block());
        MediumDriver { next, pages_per_block, sequence: 0, random: Seed(seed).random() }
    }

    /// Executes the same operation on all `media`, whose answers must be equal.
    fn step(&mut self, media: &mut [&mut dyn TextMedium]) {
        let block = BlockId(random_below(&mut self.random, self.next.len() as u64) as u32);
        let (next, left) = (self.next[block.index()], self.pages_per_block - self.next[block.index()]);
        let action = random_below(&mut self.random, 6);
        let count = 1 + random_below(&mut self.random, u64::from(left.clamp(1, 4))) as u32;
        let read = random_below(&mut self.random, u64::from(next.max(1))) as u32;
        let answers: Vec<String> = media
            .iter_mut()
            .map(|medium| match action {
                0..=2 if left > 0 => medium.program(block, next, count.min(left), self.sequence),
                3 if next > 0 => medium.read(block, read),
                4 if left == 0 => medium.erase(block),
                _ => medium.maintain(block),
            })
            .collect();
        match action {
            0..=2 if left > 0 => {
                self.next[block.index()] += count.min(left);
                self.sequence += u64::from(count.min(left));
            }
            4 if left == 0 => self.next[block.index()] = 0,
            _ => {}
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{block:?}: {answers:?}");
    }
}

/// Any medium, with its answers as text.
trait TextMedium {
    fn program(&mut self, block: BlockId, page: u32, pages: u32, sequence: u64) -> String;
    fn read(&mut self, block: BlockId, page: u32) -> String;
    fn erase(&mut self, block: BlockId) -> String;
    fn maintain(&mut self, block: BlockId) -> String;
}

impl<M: Medium<Payload = ContentId>> TextMedium for M {
    fn program(&mut self, block: BlockId, page: u32, pages: u32, sequence: u64) -> String {
        let numbers = sequence..sequence + u64::from(pages);
        let owners: Vec<Lpn> = numbers.clone().map(|number| Lpn(number as u32)).collect();
        let data: Vec<ContentId> = numbers.map(|number| ContentId(1 + number)).collect();
        let run = Run {
            owners: Some(&owners),
            data: &data,
            sequence,
            cause: Cause::Host,
            stream: StreamId(0),
            group: Group::None,
            note: 0,
        };
        format!("{:?} {}", Medium::program(self, block, page, run), state(self, block))
    }

    fn read(&mut self, block: BlockId, page: u32) -> String {
        let mut found = Vec::new();
        self.prefetch_block(block);
        let done = Medium::read(self, block, Pages::Listed(&[page]), Cause::Cleaning, &mut found);
        format!("{done:?} {found:?} {}", state(self, block))
    }

    fn erase(&mut self, block: BlockId) -> String {
        format!("{:?} {}", Medium::erase(self, block, Cause::Cleaning), state(self, block))
    }

    fn maintain(&mut self, block: BlockId) -> String {
        self.notify_cleaning(true);
        self.notify_cleaning(false);
        let results = (
            self.set_streams(1),
            self.clean_while_idle(),
            self.end_checkpoint(),
            self.flush(),
            self.take_disturbed(),
            self.reads_before_refresh(block),
        );
        format!("{results:?} {}", state(self, block))
    }
}

fn segments(seed: u64) -> Segments<ContentId> {
    Segments::new(boxed_ftl(seed), 16, Some(TrimRule::default()))
}

#[test]
fn media_keep_the_contract_and_wrappers_change_nothing() {
    for seed in 0..4 {
        let mut bare: Nand<ContentId> = bare_nand(seed);
        let mut checked = CheckedMedium::new(bare_nand::<ContentId>(seed));
        let mut recording = CheckedMedium::new(RecordingNand::new(bare_nand(seed), Journal::default()));
        let mut power_cut =
            CheckedMedium::new(PowerCutFlash::new(bare_nand::<ContentId>(seed), PowerSource::new(false)));
        let mut driver = MediumDriver::new(&bare, seed);
        for _ in 0..4000 {
            driver.step(&mut [&mut bare, &mut checked, &mut recording, &mut power_cut]);
        }
        let (mut bare, mut checked) = (segments(seed), CheckedMedium::new(segments(seed)));
        let mut driver = MediumDriver::new(&bare, seed);
        for _ in 0..4000 {
            driver.step(&mut [&mut bare, &mut checked]);
        }
    }
}

#[test]
fn constants_of_media_pass_through_wrappers() {
    let constants = |reads_by_page: bool, keeps_groups: bool| (reads_by_page, keeps_groups);
    let nand = constants(Nand::<()>::READS_BY_PAGE, Nand::<()>::STORES_GROUPS);
    assert_eq!(
        constants(PowerCutFlash::<Nand<()>>::READS_BY_PAGE, PowerCutFlash::<Nand<()>>::STORES_GROUPS),
        nand
    );
    assert_eq!(
        constants(CheckedMedium::<Nand<()>>::READS_BY_PAGE, CheckedMedium::<Nand<()>>::STORES_GROUPS),
        nand
    );
    // The clock must know which pages are read.
    assert_eq!(
        constants(RecordingNand::<()>::READS_BY_PAGE, RecordingNand::<()>::STORES_GROUPS),
        (true, nand.1)
    );
}
