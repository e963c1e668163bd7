//! Flash: erase blocks with the rules of NAND, wear and bad blocks.

mod fault;
mod flash;
mod forward;
mod geometry;
mod power;
mod presets;
mod spare;
mod storage;
#[cfg(test)]
mod tests;

use crate::counters::Cause;
use crate::layer::{
    Group, InvalidationListener, LayerBelow, Medium, MediumError, NandReport, Pages, Payload, Reports, Run,
};
use crate::seed::{Seed, random_below};
use crate::table::{filled, prefetch};
use crate::units::BlockId;
use fault::FaultState;
pub use fault::Faults;
pub use flash::Flash;
pub(crate) use forward::forward_flash;
pub(crate) use geometry::superblocks_fit;
pub use geometry::{Geometry, GeometryError};
pub use power::{PowerCut, PowerCutFlash, PowerSource};
pub use presets::{DriveFrontEnd, FRONT_ENDS, PRESETS, Preset};
pub use spare::{METADATA_NOTE_BYTES, MetadataNote, PageState, Spare, SpareArea, SpareStorage};
pub use storage::{
    DescribePage, FillPage, FlashStorage, StoredBlock, StoredFlash, StoredFlashError, StoredPage,
};

/// Value of a bad block's write pointer.
const BAD: u32 = u32::MAX;

/// Wear of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Erases that a block endures; `None` for flash that never wears out.
    pub endurance_cycles: Option<u32>,
    /// Relative half-width of the uniform distribution of block endurance around `endurance_cycles`; 0 to below 1.
    pub endurance_spread: f64,
    /// Number of factory bad blocks, which are chosen at random.
    pub factory_bad_blocks: u32,
}

/// State of a block, stored in one structure because its fields are used together.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Index of the page to be programmed next, or [`BAD`].
    next_page: u32,
    erases: u32,
}

/// An array of flash chips, addressed as erase blocks.
///
/// Rejects operations that flash does not support: programming out of order or twice, reading unprogrammed pages,
/// accessing a bad block.
///
/// Memory: 8 bytes per block in counting runs, 4 more with an endurance limit; a block's page contents are allocated
/// when it is first programmed.
pub struct Nand<P> {
    geometry: Geometry,
    blocks: Vec<Block>,
    endurance: Option<Vec<u32>>,
    contents: Vec<Option<Box<[P]>>>,
    spare: Option<SpareArea>,
    /// Storage for the user's additional data in spare areas.
    spare_storage: Option<Box<dyn SpareStorage<P>>>,
    faults: Option<Box<FaultState>>,
    /// Storage outside the simulation, if any.
    storage: Option<Box<dyn FlashStorage<P>>>,
    /// True if blocks have only write pointers and erase counts: no content, spare areas, faults or endurance limit.
    /// All counting runs use such flash. Their code path handles no other feature, so that it is short enough to be
    /// inlined.
    is_counting_only: bool,
    programs: u64,
    reads: u64,
    spare_reads: u64,
    erases: u64,
    worn_out_blocks: u32,
}

impl<P: Payload> Nand<P> {
    /// Creates erased flash of the given geometry.
    pub fn new(geometry: Geometry, wear: Wear, seed: Seed) -> Self {
        let count = geometry.blocks();
        let mut random = seed.derive("nand").random();
        let mut blocks = filled(count as usize, Block::default());
        let mut left = wear.factory_bad_blocks.min(count);
        while left > 0 {
            let block = &mut blocks[random_below(&mut random, u64::from(count)) as usize];
            if block.next_page != BAD {
                block.next_page = BAD;
                left -= 1;
            }
        }
        let endurance = wear.endurance_cycles.map(|cycles| {
            let half_width = (f64::from(cycles) * wear.endurance_spread) as u64;
            let draw = |_| cycles - half_width as u32 + random_below(&mut random, 2 * half_width + 1) as u32;
            (0..count).map(draw).collect()
        });
        let holds_data = size_of::<P>() > 0;
        Nand {
            geometry,
            blocks,
            endurance,
            contents: if holds_data { vec![None; count as usize] } else { Vec::new() },
            spare: None,
            spare_storage: None,
            faults: None,
            storage: None,
            is_counting_only: !holds_data && wear.endurance_cycles.is_none(),
            programs: 0,
            reads: 0,
            spare_reads: 0,
            erases: 0,
            worn_out_blocks: 0,
        }
    }

    /// Enables spare areas, which store the data that the store writes for each page.
    pub fn with_spare_area(mut self) -> Self {
        self.spare = Some(SpareArea::new(self.geometry.blocks(), self.geometry.pages_per_block));
        self.is_counting_only = false;
        self
    }

    /// Sets the storage of the user's data in spare areas beyond [`Spare`].
    pub fn with_spare_storage(mut self, storage: Box<dyn SpareStorage<P>>) -> Self {
        self.spare_storage = Some(storage);
        self
    }

    /// Enables faults.
    pub fn with_faults(mut self, faults: Faults, seed: Seed) -> Self {
        self.faults = Some(Box::new(FaultState::new(faults, self.geometry.blocks(), seed)));
        self.is_counting_only = false;
        self
    }

    /// Returns the geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the spare areas, if enabled.
    pub fn spare_area(&self) -> Option<&SpareArea> {
        self.spare.as_ref()
    }

    /// Returns the index of the page of `block` to be programmed next; `None` for a bad block.
    pub fn next_page(&self, block: BlockId) -> Option<u32> {
        let page = self.blocks[block.index()].next_page;
        (page != BAD).then_some(page)
    }

    /// Returns the error for a rejected run of `pages` pages at `page` of `block`.
    #[cold]
    fn refusal(&self, block: BlockId, page: u32, pages: u32) -> MediumError {
        let end = page.saturating_add(pages);
        match self.blocks.get(block.index()).map(|block| block.next_page) {
            Some(BAD) => MediumError::BadBlock { block: block.0 },
            Some(expected) if end <= self.geometry.pages_per_block => {
                MediumError::OutOfOrder { block: block.0, page, expected }
            }
            _ => MediumError::OutsideGeometry { block: block.0, page, end },
        }
    }

    fn check_readable(&self, block: BlockId, pages: Pages<'_>) -> Result<(), MediumError> {
        match self.blocks.get(block.index()).map(|block| block.next_page) {
            Some(BAD) => return Err(MediumError::BadBlock { block: block.0 }),
            programmed => pages.check_programmed(block, programmed)?,
        }
        let Some(spare) = &self.spare else { return Ok(()) };
        let unreadable = match pages {
            Pages::Listed(pages) => spare.first_unreadable(block, pages.iter().copied()),
            Pages::Counted(count) => spare.first_unreadable(block, 0..count),
        };
        unreadable.map_or(Ok(()), |page| Err(MediumError::Unreadable { block: block.0, page }))
    }

    /// Programs the pages of a run before the page that fails.
    #[cold]
    fn fail_program(
        &mut self,
        block: BlockId,
        page: u32,
        programmed: usize,
        run: &Run<'_, P>,
    ) -> Result<(), MediumError> {
        let owners = run.owners.map(|owners| &owners[..programmed]);
        // The written pages of an interrupted group must not look complete.
        let group = if run.group == Group::None { Group::None } else { Group::Continues };
        self.program_pages(block, page, &Run { owners, data: &run.data[..programmed], group, ..*run })?;
        let failed = page + programmed as u32;
        self.mark_unreadable(block, failed);
        Err(MediumError::ProgramFailed { block: block.0, page: failed })
    }

    /// Makes the next page of `block` neither erased nor readable.
    fn mark_unreadable(&mut self, block: BlockId, page: u32) {
        debug_assert_eq!(self.blocks[block.index()].next_page, page);
        if let Some(backing) = &mut self.storage {
            backing.mark_unreadable(block, page, 1);
        }
        self.blocks[block.index()].next_page += 1;
        if let Some(spare) = &mut self.spare {
            spare.mark_unreadable(block, 1);
        }
    }

    /// Erases the spare areas of `block`.
    fn erase_spare(&mut self, block: BlockId) {
        if let Some(spare) = &mut self.spare {
            spare.erase(block);
        }
        self.discard_spare_data(block);
    }

    /// Discards the stored user data for the spare areas of `block`.
    fn discard_spare_data(&mut self, block: BlockId) {
        if let Some(keeper) = &mut self.spare_storage {
            keeper.erased(block);
        }
    }

    #[inline(never)]
    fn erase_checked(&mut self, block: BlockId) -> Result<(), MediumError> {
        let Some(state) = self.blocks.get_mut(block.index()) else {
            return Err(MediumError::OutsideGeometry { block: block.0, page: 0, end: 0 });
        };
        if state.next_page == BAD {
            return Err(MediumError::BadBlock { block: block.0 });
        }
        if self.endurance.as_ref().is_some_and(|limits| state.erases >= limits[block.index()]) {
            state.next_page = BAD;
            self.worn_out_blocks += 1;
            let erases = state.erases;
            if let Some(backing) = &mut self.storage {
                backing.retire(block);
            }
            self.discard_spare_data(block);
            return Err(MediumError::WornOut { block: block.0, erases });
        }
        if let Some(backing) = &mut self.storage {
            backing.erase(block, state.erases + 1)?;
        }
        *state = Block { next_page: 0, erases: state.erases + 1 };
        self.erases += 1;
        self.erase_spare(block);
        if let Some(faults) = &mut self.faults {
            faults.erased(block);
        }
        if let Some(contents) = self.contents.get_mut(block.index()) {
            *contents = None;
        }
        Ok(())
    }

    /// True when reads need no checks: zero-sized payload, no faults, no unreadable pages.
    fn can_skip_read_checks(&self) -> bool {
        size_of::<P>() == 0
            && self.faults.is_none()
            && self.spare.as_ref().is_none_or(|spare| spare.unreadable_pages() == 0)
    }

    #[inline(never)]
    fn read_checked(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        out: &mut Vec<P>,
    ) -> Result<(), MediumError> {
        if let (true, Pages::Listed(&[page])) = (self.can_skip_read_checks(), pages)
            && self
                .blocks
                .get(block.index())
                .is_some_and(|state| state.next_page != BAD && page < state.next_page)
        {
            self.reads += 1;
            out.push(P::default());
            return Ok(());
        }
        self.check_readable(block, pages)?;
        self.reads += u64::from(pages.len());
        if let Some(faults) = &mut self.faults {
            faults.read(block, pages.len());
        }
        match (&self.contents.get(block.index()), pages) {
            (Some(Some(contents)), Pages::Listed(list)) => {
                out.extend(list.iter().map(|&page| contents[page as usize]));
            }
            _ => out.resize(out.len() + pages.len() as usize, P::default()),
        }
        Ok(())
    }

    /// Programs a run whose order has been checked; handles all optional features of this flash.
    #[inline(never)]
    fn program_checked(&mut self, block: BlockId, page: u32, run: &Run<'_, P>) -> Result<(), MediumError> {
        if let Some(faults) = &mut self.faults
            && let Some(programmed) = faults.program(run.data.len())
        {
            return self.fail_program(block, page, programmed, run);
        }
        self.program_pages(block, page, run)
    }

    #[inline(always)]
    fn program_pages(&mut self, block: BlockId, page: u32, run: &Run<'_, P>) -> Result<(), MediumError> {
        let pages = run.data.len() as u32;
        if let Some(backing) = &mut self.storage {
            let keeper = self.spare_storage.as_deref();
            let describe = |at: usize, bytes: &mut [u8]| match (keeper, run.owners) {
                (Some(keeper), Some(owners)) => keeper.describe(owners[at], run.cause, bytes),
                _ => Ok(None),
            };
            backing.program(block, page, run, &describe)?;
        }
        if let Some(spare) = &mut self.spare {
            spare.write(block, page, run)?;
            if let Some(keeper) = &mut self.spare_storage {
                keeper.written(block, page, run);
            }
        }
        if size_of::<P>() > 0 {
            let empty = || vec![P::default(); self.geometry.pages_per_block as usize].into();
            let contents = self.contents[block.index()].get_or_insert_with(empty);
            contents[page as usize..(page + pages) as usize].copy_from_slice(run.data);
        }
        self.blocks[block.index()].next_page = page + pages;
        self.programs += u64::from(pages);
        Ok(())
    }
}

impl<P: Payload> Medium for Nand<P> {
    type Payload = P;

    const STORES_GROUPS: bool = true;

    const READS_BY_PAGE: bool = size_of::<P>() > 0;

    fn blocks(&self) -> u32 {
        self.geometry.blocks()
    }

    fn pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block
    }

    #[inline]
    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, P>) -> Result<(), MediumError> {
        let pages = run.data.len() as u32;
        let in_order = self.blocks.get(block.index()).is_some_and(|block| block.next_page == page);
        // The block has no free page if the page number marks a bad block.
        let room = self.geometry.pages_per_block.checked_sub(page);
        if !in_order || room.is_none_or(|room| pages > room) {
            return Err(self.refusal(block, page, pages));
        }
        if !self.is_counting_only {
            return self.program_checked(block, page, &run);
        }
        self.blocks[block.index()].next_page = page + pages;
        self.programs += u64::from(pages);
        Ok(())
    }

    fn count_reads(&mut self, pages: u64) {
        self.reads += pages;
    }

    #[inline]
    fn erase(&mut self, block: BlockId, _cause: Cause) -> Result<(), MediumError> {
        match self.blocks.get_mut(block.index()) {
            Some(state) if self.is_counting_only && state.next_page != BAD => {
                *state = Block { next_page: 0, erases: state.erases + 1 };
                self.erases += 1;
                Ok(())
            }
            _ => self.erase_checked(block),
        }
    }

    #[inline]
    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        _cause: Cause,
        out: &mut Vec<P>,
    ) -> Result<(), MediumError> {
        match (self.blocks.get(block.index()), pages) {
            (Some(state), Pages::Counted(count))
                if self.is_counting_only && state.next_page != BAD && count <= state.next_page =>
            {
                self.reads += u64::from(count);
                out.resize(out.len() + count as usize, P::default());
                Ok(())
            }
            _ => self.read_checked(block, pages, out),
        }
    }

    #[inline(always)]
    fn prefetch_block(&self, block: BlockId) {
        prefetch(self.blocks.as_ptr().wrapping_add(block.index()));
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        Ok(())
    }

    fn retire(&mut self, block: BlockId) {
        let state = &mut self.blocks[block.index()];
        self.worn_out_blocks += u32::from(state.next_page != BAD);
        state.next_page = BAD;
        if let Some(backing) = &mut self.storage {
            backing.retire(block);
        }
        self.discard_spare_data(block);
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        self.faults.as_mut()?.take_disturbed()
    }

    fn reads_before_refresh(&self, block: BlockId) -> u32 {
        self.faults.as_ref().map_or(u32::MAX, |faults| faults.reads_before_report(block))
    }

    fn read_wear(&mut self, _block: BlockId) {
        self.spare_reads += 1;
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.blocks[block.index()].next_page == BAD
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.blocks[block.index()].erases
    }

    #[inline(always)]
    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        None
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
        let pages: usize = self.contents.iter().flatten().map(|contents| size_of_val(&**contents)).sum();
        let words = 2 * self.blocks.len() + self.endurance.as_ref().map_or(0, Vec::len);
        reports.nand = Some(NandReport {
            programs: self.programs,
            reads: self.reads,
            spare_reads: self.spare_reads,
            erases: self.erases,
            bad_blocks: self.blocks.iter().filter(|block| block.next_page == BAD).count() as u32,
            worn_out_blocks: self.worn_out_blocks,
            erase_counts: self.blocks.iter().map(|block| block.erases).collect(),
            memory_bytes: (pages + 4 * words + self.spare.as_ref().map_or(0, SpareArea::memory_bytes)) as u64,
        });
    }

    fn check(&self) -> Result<(), String> {
        let erased: u64 = self.blocks.iter().map(|block| u64::from(block.erases)).sum();
        if erased != self.erases {
            return Err(format!("nand: {} erases counted, the blocks add up to {erased}", self.erases));
        }
        let pages_per_block = self.geometry.pages_per_block;
        match self
            .blocks
            .iter()
            .map(|block| block.next_page)
            .position(|page| page != BAD && page > pages_per_block)
        {
            Some(block) => Err(format!("nand: the write pointer of block {block} is past its end")),
            None => Ok(()),
        }
    }
}
