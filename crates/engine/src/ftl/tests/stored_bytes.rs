//! Recovery of FTLs from the bytes of their flash alone, compared with recovery in simulation.

use super::super::Restart;
use super::drives::{PAGES_PER_BLOCK, PowerCutNand, flash};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::flash_format::{DATA, SPARE_BYTES, SpareRecord, crc};
use crate::layer::{
    Abilities, Answer, Command, ContentId, Layer, LayerError, Medium, MediumError, Query, RecoveryReport,
    Reports, Run,
};
use crate::log::MigrationPolicy;
use crate::nand::{
    DescribePage, FillPage, Flash, FlashStorage, MetadataNote, Nand, PowerCutFlash, PowerSource, Spare,
    StoredBlock, StoredFlash, StoredFlashError, StoredPage,
};
use crate::units::{BlockId, Lpn};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of a page; at least as many as any test's FTL assumes.
const PAGE_BYTES: usize = 256;

/// A page in bytes.
type PageBytes = ([u8; SPARE_BYTES], [u8; PAGE_BYTES]);

#[derive(Clone)]
struct ImageBlock {
    erases: u32,
    is_bad: bool,
    pages: Vec<PageBytes>,
}

struct ImageState {
    blocks: Vec<ImageBlock>,
    operations: u64,
    /// A page whose content is not stored yet.
    unfilled: Option<(BlockId, u32, SpareRecord)>,
    /// True while operations on the flash do not change the stored bytes.
    is_frozen: bool,
}

/// Flash in bytes, in memory.
#[derive(Clone)]
pub struct Image(Arc<Mutex<ImageState>>);

impl Image {
    /// Creates the image of erased flash.
    pub fn new(blocks: u32) -> Self {
        let block = ImageBlock { erases: 0, is_bad: false, pages: Vec::new() };
        let blocks = vec![block; blocks as usize];
        Image(Arc::new(Mutex::new(ImageState { blocks, operations: 0, unfilled: None, is_frozen: false })))
    }

    fn lock(&self) -> MutexGuard<'_, ImageState> {
        self.0.lock().unwrap()
    }

    fn page(&self, block: BlockId, page: u32) -> (SpareRecord, [u8; PAGE_BYTES]) {
        let (spare, bytes) = self.lock().blocks[block.index()].pages[page as usize];
        let spare = SpareRecord::decode(&spare).unwrap().expect("a programmed page");
        assert_eq!(spare.page_crc, crc(&bytes), "{block:?}, page {page}");
        (spare, bytes)
    }

    fn block(&self, block: BlockId) -> StoredBlock<ContentId> {
        let ImageBlock { erases, is_bad, pages } = self.lock().blocks[block.index()].clone();
        let mut stored_block = StoredBlock { erases, is_bad, note: 0, pages: Vec::new() };
        for page in 0..pages.len() as u32 {
            let spare = SpareRecord::decode(&pages[page as usize].0).unwrap().expect("a programmed page");
            stored_block.pages.push(match spare.ftl_note.class {
                crate::flash_format::UNREADABLE => StoredPage::Unreadable,
                _ => {
                    stored_block.note = spare.note;
                    StoredPage::Written { spare: spare.spare, content: ContentId(spare.content_id) }
                }
            });
        }
        stored_block
    }

    /// Creates flash with the state of the bytes; it writes to these bytes.
    pub fn flash(&self) -> Nand<ContentId> {
        let blocks = self.lock().blocks.len() as u32;
        let mut nand = flash(blocks);
        (0..blocks).map(BlockId).for_each(|block| nand.restore(block, &self.block(block)).unwrap());
        nand.with_storage(Box::new(self.clone()))
    }
}

impl ImageState {
    fn push(&mut self, block: BlockId, page: u32, mut spare: SpareRecord, bytes: [u8; PAGE_BYTES]) {
        spare.page_crc = crc(&bytes);
        let pages = &mut self.blocks[block.index()].pages;
        assert_eq!(pages.len(), page as usize);
        pages.push((spare.encode(), bytes));
    }

    fn count_operation(&mut self) -> bool {
        assert!(self.unfilled.is_none(), "a page was never filled");
        self.operations += 1;
        !self.is_frozen
    }
}

impl FlashStorage<ContentId> for Image {
    fn program(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, ContentId>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        for (at, (&owner, content)) in run.owners.unwrap().iter().zip(run.data).enumerate() {
            let mut state = self.lock();
            if !state.count_operation() {
                continue;
            }
            let mut bytes = [0; PAGE_BYTES];
            bytes[..8].copy_from_slice(&content.0.to_le_bytes());
            let note = describe(at, &mut bytes).unwrap().unwrap_or(MetadataNote::new(DATA));
            let spare = Spare {
                owner,
                sequence: run.sequence + at as u64,
                stream: run.stream,
                cause: run.cause,
                group_continues: false,
            };
            let (name, operation) = (content.0, state.operations);
            let record = SpareRecord {
                spare,
                note: run.note,
                content_id: name,
                operation,
                page_crc: 0,
                ftl_note: note,
            };
            let index = page + at as u32;
            if matches!(run.cause, Cause::Translation | Cause::Validity) {
                state.unfilled = Some((block, index, record));
            } else {
                state.push(block, index, record, bytes);
            }
        }
        Ok(())
    }

    fn store_page_bytes(
        &mut self,
        block: BlockId,
        page: u32,
        fill: &mut FillPage<'_>,
    ) -> Result<(), MediumError> {
        let mut state = self.lock();
        if state.is_frozen {
            return Ok(());
        }
        let (waiting, index, mut record) = state.unfilled.take().expect("a page that waits");
        assert_eq!((waiting, index), (block, page));
        let mut bytes = [0; PAGE_BYTES];
        record.ftl_note = fill(&mut bytes).unwrap();
        state.push(block, page, record, bytes);
        Ok(())
    }

    fn mark_unreadable(&mut self, block: BlockId, page: u32, pages: u32) {
        let mut state = self.lock();
        if !state.count_operation() {
            return;
        }
        state.blocks[block.index()].pages.truncate(page as usize);
        let unreadable = SpareRecord::unreadable(state.operations);
        (page..page + pages).for_each(|page| state.push(block, page, unreadable, [0; PAGE_BYTES]));
    }

    fn erase(&mut self, block: BlockId, erases: u32) -> Result<(), MediumError> {
        let mut state = self.lock();
        if state.count_operation() {
            state.blocks[block.index()] = ImageBlock { erases, is_bad: false, pages: Vec::new() };
        }
        Ok(())
    }

    fn retire(&mut self, block: BlockId) {
        let mut state = self.lock();
        if state.count_operation() {
            state.blocks[block.index()].is_bad = true;
        }
    }
}

impl StoredFlash for Image {
    fn read_metadata_page(
        &mut self,
        block: BlockId,
        page: u32,
        bytes: &mut [u8],
    ) -> Result<MetadataNote, StoredFlashError> {
        let (spare, stored) = self.page(block, page);
        bytes.copy_from_slice(&stored[..bytes.len()]);
        Ok(spare.ftl_note)
    }

    fn page_note(&self, block: BlockId, page: u32) -> Option<(MetadataNote, u64)> {
        let (spare, _) = self.page(block, page);
        Some((spare.ftl_note, spare.content_id))
    }
}

/// Additional setup of new flash.
type FlashSetup = Arc<dyn Fn(Nand<ContentId>) -> Nand<ContentId> + Send + Sync>;

/// Settings from which a [`RebuiltFtl`] FTL is built after each power cut.
#[derive(Clone)]
pub struct RebuiltFtlSettings<S> {
    ftl: S,
    image: Image,
    power_source: PowerSource,
    flash_setup: FlashSetup,
    /// True if the FTL is also recovered in simulation, for comparison.
    compares: bool,
    /// True if batteries do not work.
    is_unsaved: bool,
}

/// An FTL that is recovered from bytes.
pub struct RebuiltFtl<F>(F);

impl<F: Restart<Flash = PowerCutNand>> RebuiltFtl<F> {
    /// Wraps the new `ftl` and its settings.
    pub fn new(
        mut ftl: F,
        settings: F::Settings,
        power_source: &PowerSource,
        flash_setup: FlashSetup,
        [compares, is_unsaved]: [bool; 2],
    ) -> (Self, RebuiltFtlSettings<F::Settings>) {
        let image = Image::new(ftl.flash_mut().blocks());
        ftl.flash_mut().inner_mut().set_storage(Box::new(image.clone()));
        let power_source = power_source.clone();
        (
            RebuiltFtl(ftl),
            RebuiltFtlSettings { ftl: settings, image, power_source, flash_setup, compares, is_unsaved },
        )
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
fn state(flash: &mut PowerCutNand) -> Vec<StoredBlock<ContentId>> {
    let nand = flash.inner_mut();
    (0..nand.blocks()).map(|block| nand.stored_block(BlockId(block))).collect()
}

impl<F: Restart<Flash = PowerCutNand>> Restart for RebuiltFtl<F>
where
    F::Settings: Send,
{
    type Flash = PowerCutNand;
    type SurvivingFlash = F::SurvivingFlash;
    type Settings = RebuiltFtlSettings<F::Settings>;

    const DURABLE_TRIMS: bool = F::DURABLE_TRIMS;
    const READS_ALL_SPARE_AREAS: bool = F::READS_ALL_SPARE_AREAS;

    fn into_flash(self) -> F::SurvivingFlash {
        self.0.into_flash()
    }

    fn restart(
        settings: &Self::Settings,
        surviving: F::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::SurvivingFlash)> {
        let RebuiltFtlSettings { ftl, image, power_source, flash_setup, compares, is_unsaved } = settings;
        image.lock().unfilled = None;
        let simulated = compares.then(|| {
            image.lock().is_frozen = true;
            let simulated = F::restart(ftl, surviving).map_err(|(error, _)| error).unwrap();
            image.lock().is_frozen = false;
            simulated
        });
        let flash = PowerCutFlash::new(flash_setup(image.flash()), power_source.clone());
        let surviving = F::decode_flash(ftl, flash, &mut image.clone()).unwrap();
        let restart = if *is_unsaved { F::restart_unsaved } else { F::restart };
        let (mut rebuilt, report) = restart(ftl, surviving)?;
        if let Some((mut simulated, simulated_report)) = simulated {
            assert_eq!(comparable(simulated_report), comparable(report.clone()));
            assert!(state(rebuilt.flash_mut()) == state(simulated.flash_mut()), "another flash");
            let layer = |ftl: &F| {
                let mut reports = Reports::default();
                ftl.describe(&mut reports);
                // The memory use is specific to the simulation.
                reports.layers[0].memory_bytes = 0;
                reports.layers[0].ftl.iter_mut().for_each(|ftl| ftl.recovery = None);
                format!("{:?}", reports.layers)
            };
            assert_eq!(layer(&simulated), layer(&rebuilt));
        }
        Ok((RebuiltFtl(rebuilt), report))
    }

    fn restart_unsaved(
        settings: &Self::Settings,
        surviving: F::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::SurvivingFlash)> {
        Self::restart(settings, surviving)
    }

    fn decode_flash(
        settings: &Self::Settings,
        flash: PowerCutNand,
        stored: &mut dyn StoredFlash,
    ) -> Result<F::SurvivingFlash, StoredFlashError> {
        F::decode_flash(&settings.ftl, flash, stored)
    }

    fn save(&mut self) -> Result<(), LayerError> {
        self.0.save()
    }

    fn has_battery(&self) -> bool {
        self.0.has_battery()
    }

    fn has_volatile_writes(&self) -> bool {
        self.0.has_volatile_writes()
    }

    fn flash_mut(&mut self) -> &mut PowerCutNand {
        self.0.flash_mut()
    }

    fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<ContentId>>,
    ) -> Result<(), ConfigError> {
        self.0.set_migration_policy(migration)
    }
}

impl<F: Restart<Flash = PowerCutNand>> Layer<ContentId> for RebuiltFtl<F> {
    fn logical_pages(&self) -> u32 {
        self.0.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[ContentId], hint: u16) -> Result<(), LayerError> {
        self.0.write(pages, data, hint)
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<ContentId>) -> Result<(), LayerError> {
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

    fn command(&mut self, command: Command<'_, ContentId>) -> Result<Answer, LayerError> {
        self.0.command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        self.0.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.0.written_pages()
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
    let power_source = PowerSource::new(false);
    let image = Image::new(3);
    let mut chips = PowerCutFlash::new(flash(3).with_storage(Box::new(image.clone())), power_source.clone());
    let run = |owners: &'static [Lpn], data: &'static [ContentId], sequence, note| Run {
        owners: Some(owners),
        data,
        sequence,
        cause: Cause::Host,
        stream: crate::units::StreamId(1),
        group: crate::layer::Group::None,
        note,
    };
    chips.program(BlockId(1), 0, run(&[Lpn(4), Lpn(5)], &[ContentId(40), ContentId(50)], 7, 3)).unwrap();
    chips.program(BlockId(1), 2, run(&[Lpn(6)], &[ContentId(60)], 12, 5)).unwrap();
    chips.tear_program(BlockId(1), 3);
    chips.erase(BlockId(2), Cause::Cleaning).unwrap();
    chips.tear_erase(BlockId(2));
    chips.retire(BlockId(0));
    let restored = image.flash();
    for block in (0..3).map(BlockId) {
        assert_eq!(restored.stored_block(block), chips.inner_mut().stored_block(block));
    }
    assert_eq!(restored.stored_block(BlockId(1)).note, 5);
    assert_eq!(restored.stored_block(BlockId(1)).pages.len() as u32, PAGES_PER_BLOCK);
    assert_eq!(
        (restored.stored_block(BlockId(2)).erases, restored.stored_block(BlockId(0)).is_bad),
        (1, true)
    );
    restored.check().unwrap();
}
