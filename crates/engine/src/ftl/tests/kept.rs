//! Recovery of FTLs from the bytes of their flash alone, compared with recovery in simulation.

use super::super::Restart;
use super::drives::{Chips, PAGES_PER_BLOCK, flash};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::flash_format::{DATA, SPARE_BYTES, SpareRecord, crc};
use crate::layer::{
    Abilities, Answer, Command, Content, Layer, LayerError, Medium, MediumError, Query, RecoveryReport,
    Reports, Run,
};
use crate::log::Migration;
use crate::nand::{
    Backing, DescribePage, FillPage, Flash, Fragile, KeptBlock, KeptError, KeptFlash, KeptPage, Nand,
    OwnNote, Spare, Supply,
};
use crate::units::{BlockId, Lpn};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of a page; at least as many as any test's FTL assumes.
const PAGE_BYTES: usize = 256;

/// A page in bytes.
type Bytes = ([u8; SPARE_BYTES], [u8; PAGE_BYTES]);

#[derive(Clone)]
struct Block {
    erases: u32,
    is_bad: bool,
    pages: Vec<Bytes>,
}

struct Kept {
    blocks: Vec<Block>,
    operations: u64,
    /// A page whose content is not stored yet.
    waiting: Option<(BlockId, u32, SpareRecord)>,
    /// True while operations on the flash do not change the stored bytes.
    is_frozen: bool,
}

/// Flash in bytes, in memory.
#[derive(Clone)]
pub struct Image(Arc<Mutex<Kept>>);

impl Image {
    /// Creates the image of erased flash.
    pub fn new(blocks: u32) -> Self {
        let block = Block { erases: 0, is_bad: false, pages: Vec::new() };
        let blocks = vec![block; blocks as usize];
        Image(Arc::new(Mutex::new(Kept { blocks, operations: 0, waiting: None, is_frozen: false })))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }

    fn page(&self, block: BlockId, page: u32) -> (SpareRecord, [u8; PAGE_BYTES]) {
        let (spare, bytes) = self.lock().blocks[block.index()].pages[page as usize];
        let spare = SpareRecord::decode(&spare).unwrap().expect("a programmed page");
        assert_eq!(spare.page_crc, crc(&bytes), "{block:?}, page {page}");
        (spare, bytes)
    }

    fn block(&self, block: BlockId) -> KeptBlock<Content> {
        let Block { erases, is_bad, pages } = self.lock().blocks[block.index()].clone();
        let mut kept = KeptBlock { erases, is_bad, note: 0, pages: Vec::new() };
        for page in 0..pages.len() as u32 {
            let spare = SpareRecord::decode(&pages[page as usize].0).unwrap().expect("a programmed page");
            kept.pages.push(match spare.own.class {
                crate::flash_format::SPOILT => KeptPage::Unreadable,
                _ => {
                    kept.note = spare.note;
                    KeptPage::Written { spare: spare.spare, content: Content(spare.name) }
                }
            });
        }
        kept
    }

    /// Creates flash with the state of the bytes; it writes to these bytes.
    pub fn flash(&self) -> Nand<Content> {
        let blocks = self.lock().blocks.len() as u32;
        let mut nand = flash(blocks);
        (0..blocks).map(BlockId).for_each(|block| nand.restore(block, &self.block(block)).unwrap());
        nand.with_backing(Box::new(self.clone()))
    }
}

impl Kept {
    fn push(&mut self, block: BlockId, page: u32, mut spare: SpareRecord, bytes: [u8; PAGE_BYTES]) {
        spare.page_crc = crc(&bytes);
        let pages = &mut self.blocks[block.index()].pages;
        assert_eq!(pages.len(), page as usize);
        pages.push((spare.encode(), bytes));
    }

    fn begin(&mut self) -> bool {
        assert!(self.waiting.is_none(), "a page was never filled");
        self.operations += 1;
        !self.is_frozen
    }
}

impl Backing<Content> for Image {
    fn program(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, Content>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        for (at, (&owner, content)) in run.owners.unwrap().iter().zip(run.data).enumerate() {
            let mut kept = self.lock();
            if !kept.begin() {
                continue;
            }
            let mut bytes = [0; PAGE_BYTES];
            bytes[..8].copy_from_slice(&content.0.to_le_bytes());
            let own = describe(at, &mut bytes).unwrap().unwrap_or(OwnNote::new(DATA));
            let spare = Spare {
                owner,
                sequence: run.sequence + at as u64,
                stream: run.stream,
                cause: run.cause,
                group_goes_on: false,
            };
            let (name, operation) = (content.0, kept.operations);
            let record = SpareRecord { spare, note: run.note, name, operation, page_crc: 0, own };
            let place = page + at as u32;
            if matches!(run.cause, Cause::Translation | Cause::Validity) {
                kept.waiting = Some((block, place, record));
            } else {
                kept.push(block, place, record, bytes);
            }
        }
        Ok(())
    }

    fn hold(&mut self, block: BlockId, page: u32, fill: &mut FillPage<'_>) -> Result<(), MediumError> {
        let mut kept = self.lock();
        if kept.is_frozen {
            return Ok(());
        }
        let (waiting, place, mut record) = kept.waiting.take().expect("a page that waits");
        assert_eq!((waiting, place), (block, page));
        let mut bytes = [0; PAGE_BYTES];
        record.own = fill(&mut bytes).unwrap();
        kept.push(block, page, record, bytes);
        Ok(())
    }

    fn spoil(&mut self, block: BlockId, page: u32, pages: u32) {
        let mut kept = self.lock();
        if !kept.begin() {
            return;
        }
        kept.blocks[block.index()].pages.truncate(page as usize);
        let spoilt = SpareRecord::spoilt(kept.operations);
        (page..page + pages).for_each(|page| kept.push(block, page, spoilt, [0; PAGE_BYTES]));
    }

    fn erase(&mut self, block: BlockId, erases: u32) -> Result<(), MediumError> {
        let mut kept = self.lock();
        if kept.begin() {
            kept.blocks[block.index()] = Block { erases, is_bad: false, pages: Vec::new() };
        }
        Ok(())
    }

    fn retire(&mut self, block: BlockId) {
        let mut kept = self.lock();
        if kept.begin() {
            kept.blocks[block.index()].is_bad = true;
        }
    }
}

impl KeptFlash for Image {
    fn read_own(&mut self, block: BlockId, page: u32, bytes: &mut [u8]) -> Result<OwnNote, KeptError> {
        let (spare, held) = self.page(block, page);
        bytes.copy_from_slice(&held[..bytes.len()]);
        Ok(spare.own)
    }

    fn noted(&self, block: BlockId, page: u32) -> Option<(OwnNote, u64)> {
        let (spare, _) = self.page(block, page);
        Some((spare.own, spare.name))
    }
}

/// Additional setup of new flash.
type Dress = Arc<dyn Fn(Nand<Content>) -> Nand<Content> + Send + Sync>;

/// Settings from which a [`Rebuilt`] FTL is built after each power cut.
#[derive(Clone)]
pub struct RebuiltSettings<S> {
    ftl: S,
    image: Image,
    supply: Supply,
    dress: Dress,
    /// True if the FTL is also recovered in simulation, for comparison.
    compares: bool,
    /// True if batteries do not work.
    is_unsaved: bool,
}

/// An FTL that is recovered from bytes.
pub struct Rebuilt<F>(F);

impl<F: Restart<Flash = Chips>> Rebuilt<F> {
    /// Wraps the new `ftl` and its settings.
    pub fn new(
        mut ftl: F,
        settings: F::Settings,
        supply: &Supply,
        dress: Dress,
        [compares, is_unsaved]: [bool; 2],
    ) -> (Self, RebuiltSettings<F::Settings>) {
        let image = Image::new(ftl.flash_mut().blocks());
        ftl.flash_mut().within().back(Box::new(image.clone()));
        let supply = supply.clone();
        (Rebuilt(ftl), RebuiltSettings { ftl: settings, image, supply, dress, compares, is_unsaved })
    }
}

/// Returns the report of a recovery in comparable form: without the spare areas read for differing versions of
/// translation pages. If cleaning has erased a version between two other versions, the simulation knows the changes of
/// each, but recovery from bytes sees more differences between the remaining versions.
fn comparable(mut report: RecoveryReport) -> String {
    for step in report.steps.iter_mut().filter(|step| step.name == "validity buffer") {
        step.spare_reads = 0;
    }
    format!("{report:?}")
}

/// Returns the complete state of the flash, page by page.
fn state(flash: &mut Chips) -> Vec<KeptBlock<Content>> {
    let nand = flash.within();
    (0..nand.blocks()).map(|block| nand.kept(BlockId(block))).collect()
}

impl<F: Restart<Flash = Chips>> Restart for Rebuilt<F>
where
    F::Settings: Send,
{
    type Flash = Chips;
    type Remains = F::Remains;
    type Settings = RebuiltSettings<F::Settings>;

    const DURABLE_TRIMS: bool = F::DURABLE_TRIMS;
    const READS_ALL_SPARE_AREAS: bool = F::READS_ALL_SPARE_AREAS;

    fn into_flash(self) -> F::Remains {
        self.0.into_flash()
    }

    fn restart(
        settings: &Self::Settings,
        remains: F::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::Remains)> {
        let RebuiltSettings { ftl, image, supply, dress, compares, is_unsaved } = settings;
        image.lock().waiting = None;
        let simulated = compares.then(|| {
            image.lock().is_frozen = true;
            let simulated = F::restart(ftl, remains).map_err(|(error, _)| error).unwrap();
            image.lock().is_frozen = false;
            simulated
        });
        let flash = Fragile::new(dress(image.flash()), supply.clone());
        let remains = F::reread(ftl, flash, &mut image.clone()).unwrap();
        let restart = if *is_unsaved { F::restart_unsaved } else { F::restart };
        let (mut again, report) = restart(ftl, remains)?;
        if let Some((mut simulated, did)) = simulated {
            assert_eq!(comparable(did), comparable(report.clone()));
            assert!(state(again.flash_mut()) == state(simulated.flash_mut()), "another flash");
            let layer = |ftl: &F| {
                let mut reports = Reports::default();
                ftl.describe(&mut reports);
                // The memory use is specific to the simulation.
                reports.layers[0].memory_bytes = 0;
                reports.layers[0].ftl.iter_mut().for_each(|ftl| ftl.recovery = None);
                format!("{:?}", reports.layers)
            };
            assert_eq!(layer(&simulated), layer(&again));
        }
        Ok((Rebuilt(again), report))
    }

    fn restart_unsaved(
        settings: &Self::Settings,
        remains: F::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::Remains)> {
        Self::restart(settings, remains)
    }

    fn reread(
        settings: &Self::Settings,
        flash: Chips,
        kept: &mut dyn KeptFlash,
    ) -> Result<F::Remains, KeptError> {
        F::reread(&settings.ftl, flash, kept)
    }

    fn save(&mut self) -> Result<(), LayerError> {
        self.0.save()
    }

    fn has_battery(&self) -> bool {
        self.0.has_battery()
    }

    fn owes(&self) -> bool {
        self.0.owes()
    }

    fn flash_mut(&mut self) -> &mut Chips {
        self.0.flash_mut()
    }

    fn ask(&mut self, migration: Box<dyn Migration<Content>>) -> Result<(), ConfigError> {
        self.0.ask(migration)
    }
}

impl<F: Restart<Flash = Chips>> Layer<Content> for Rebuilt<F> {
    fn logical_pages(&self) -> u32 {
        self.0.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[Content], hint: u16) -> Result<(), LayerError> {
        self.0.write(pages, data, hint)
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<Content>) -> Result<(), LayerError> {
        self.0.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.0.trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.0.flush()
    }

    fn abilities(&self) -> Abilities {
        self.0.abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.0.query(query)
    }

    fn command(&mut self, command: Command<'_, Content>) -> Result<Answer, LayerError> {
        self.0.command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        self.0.describe(reports);
    }

    fn final_draw(&mut self) -> u64 {
        self.0.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}

/// Flash restored from the stored bytes equals the original flash, block by block.
#[test]
fn flash_roundtrips_through_stored_bytes() {
    let supply = Supply::new(false);
    let image = Image::new(3);
    let mut chips = Fragile::new(flash(3).with_backing(Box::new(image.clone())), supply.clone());
    let run = |owners: &'static [Lpn], data: &'static [Content], sequence, note| Run {
        owners: Some(owners),
        data,
        sequence,
        cause: Cause::Host,
        stream: crate::units::StreamId(1),
        group: crate::layer::Group::None,
        note,
    };
    chips.program(BlockId(1), 0, run(&[Lpn(4), Lpn(5)], &[Content(40), Content(50)], 7, 3)).unwrap();
    chips.program(BlockId(1), 2, run(&[Lpn(6)], &[Content(60)], 12, 5)).unwrap();
    chips.tear_program(BlockId(1), 3);
    chips.erase(BlockId(2), Cause::Cleaning).unwrap();
    chips.tear_erase(BlockId(2));
    chips.retire(BlockId(0));
    let again = image.flash();
    for block in (0..3).map(BlockId) {
        assert_eq!(again.kept(block), chips.within().kept(block));
    }
    assert_eq!(again.kept(BlockId(1)).note, 5);
    assert_eq!(again.kept(BlockId(1)).pages.len() as u32, PAGES_PER_BLOCK);
    assert_eq!((again.kept(BlockId(2)).erases, again.kept(BlockId(0)).is_bad), (1, true));
    again.check().unwrap();
}
