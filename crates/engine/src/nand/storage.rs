//! Storage of the flash's bytes outside the simulation, from which a drive can restart in another process.

use super::{BAD, MetadataNote, Nand, PageState, Spare};
use crate::layer::{MediumError, Payload, Run};
use crate::units::BlockId;

/// Fills the bytes of a page, and returns the note of its spare area; an error gives the reason why the page cannot be
/// encoded.
pub type FillPage<'a> = dyn FnMut(&mut [u8]) -> Result<MetadataNote, String> + 'a;

/// Returns the note of the flash user for a page of a run, and fills the bytes of a metadata page of the user. Returns
/// `None` without a note.
pub type DescribePage<'a> = dyn Fn(usize, &mut [u8]) -> Result<Option<MetadataNote>, String> + 'a;

/// Storage of the flash outside the simulation, notified of every change before the simulation's own state changes.
///
/// An operation that returns an error has no effect. [`MediumError::PowerLost`] means that no further operation is
/// possible, because power was cut or the underlying storage has failed.
pub trait FlashStorage<P>: Send {
    /// Programs these pages. The bytes of a metadata page of the FTL, which has no content identifier, follow by
    /// [`FlashStorage::store_page_bytes`] before any other operation.
    ///
    /// `describe` returns the note of the flash user for each page of the run, by its number in the run. It also fills
    /// the bytes of the metadata pages, if they are already known.
    fn program(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, P>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError>;

    /// Sets the bytes of the last programmed page, a metadata page of the FTL.
    fn store_page_bytes(
        &mut self,
        block: BlockId,
        page: u32,
        fill: &mut FillPage<'_>,
    ) -> Result<(), MediumError>;

    /// Makes `pages` pages neither erased nor readable.
    fn mark_unreadable(&mut self, block: BlockId, page: u32, pages: u32);

    /// Erases the block for the `erases`-th time.
    fn erase(&mut self, block: BlockId, erases: u32) -> Result<(), MediumError>;

    /// Marks the block as bad.
    fn retire(&mut self, block: BlockId);
}

/// Stored state of a flash page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredPage<P> {
    /// The page is neither erased nor readable.
    Unreadable,
    /// The page is programmed.
    Written {
        /// Content of the spare area.
        spare: Spare,
        /// Identifier of the page's content.
        content: P,
    },
}

/// Stored state of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlock<P> {
    /// Erase count.
    pub erases: u32,
    /// True if the block is bad.
    pub is_bad: bool,
    /// Note of the run programmed last.
    pub note: u64,
    /// Pages before the first erased page.
    pub pages: Vec<StoredPage<P>>,
}

/// Error in stored flash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {block}{}: {problem}", page.map_or(String::new(), |page| format!(", page {page}")))]
pub struct StoredFlashError {
    /// The block.
    pub block: u32,
    /// The page, unless the error concerns the whole block.
    pub page: Option<u32>,
    /// Description of the error.
    pub problem: String,
}

impl StoredFlashError {
    /// Creates an error of a page.
    pub fn page(block: BlockId, page: u32, problem: impl Into<String>) -> Self {
        StoredFlashError { block: block.0, page: Some(page), problem: problem.into() }
    }

    /// Creates an error of a block.
    pub fn block(block: BlockId, problem: impl Into<String>) -> Self {
        StoredFlashError { block: block.0, page: None, problem: problem.into() }
    }
}

/// Stored flash, as read when an FTL is restored.
pub trait StoredFlash {
    /// Reads the bytes of a metadata page of the FTL, as many as fit into `bytes`; returns the note of its spare area.
    ///
    /// # Errors
    /// Fails if the page is not a metadata page, or differs from the data that was written.
    fn read_metadata_page(
        &mut self,
        block: BlockId,
        page: u32,
        bytes: &mut [u8],
    ) -> Result<MetadataNote, StoredFlashError>;

    /// Returns the note that a programmed page's spare area holds in addition to [`Spare`], and the identifier of the
    /// page's content.
    fn page_note(&self, block: BlockId, page: u32) -> Option<(MetadataNote, u64)>;
}

impl<P: Payload> Nand<P> {
    /// Sets the storage outside the simulation, which is updated with every change from now on.
    pub fn with_storage(mut self, storage: Box<dyn FlashStorage<P>>) -> Self {
        self.storage = Some(storage);
        self.is_counting_only = false;
        self
    }

    /// Sets the storage outside the simulation for flash that is already in use.
    #[cfg(test)]
    pub(crate) fn set_storage(&mut self, storage: Box<dyn FlashStorage<P>>) {
        (self.storage, self.is_counting_only) = (Some(storage), false);
    }

    /// Restores an erased block of new flash to its stored state.
    ///
    /// # Errors
    /// Fails if flash with spare areas cannot have this state.
    pub fn restore(&mut self, block: BlockId, stored: &StoredBlock<P>) -> Result<(), StoredFlashError> {
        let was_bad = self.blocks[block.index()].next_page == BAD;
        if was_bad && !stored.is_bad {
            return Err(StoredFlashError::block(block, "is in use and was bad when the drive was new"));
        }
        let pages = stored.pages.len() as u32;
        if pages > self.geometry.pages_per_block {
            return Err(StoredFlashError::block(block, "has more pages than a block"));
        }
        self.erases += u64::from(stored.erases);
        self.blocks[block.index()].erases = stored.erases;
        if stored.is_bad {
            self.blocks[block.index()].next_page = BAD;
            self.worn_out_blocks += u32::from(!was_bad);
            return Ok(());
        }
        let spares = self.spare.as_mut().expect("flash with spare areas");
        for (page, stored) in (0..).zip(&stored.pages) {
            match stored {
                StoredPage::Unreadable => spares.mark_unreadable(block, 1),
                StoredPage::Written { spare, .. } => {
                    spares
                        .restore(block, spare)
                        .map_err(|problem| StoredFlashError::page(block, page, problem))?;
                }
            }
        }
        spares.restore_note(block, stored.note);
        if size_of::<P>() > 0 && pages > 0 {
            let mut contents = vec![P::default(); self.geometry.pages_per_block as usize];
            for (content, stored) in contents.iter_mut().zip(&stored.pages) {
                if let StoredPage::Written { content: name, .. } = stored {
                    *content = *name;
                }
            }
            self.contents[block.index()] = Some(contents.into());
        }
        self.blocks[block.index()].next_page = pages;
        Ok(())
    }

    /// Returns the state from which [`Nand::restore`] restores the block.
    ///
    /// # Panics
    /// Panics for flash without spare areas.
    pub fn stored_block(&self, block: BlockId) -> StoredBlock<P> {
        let (state, spares) = (self.blocks[block.index()], self.spare.as_ref().expect("spare areas"));
        let is_bad = state.next_page == BAD;
        let contents = self.contents.get(block.index()).and_then(Option::as_deref);
        let page = |page: u32| match spares.page(block, page) {
            PageState::Written(spare) => {
                let content = contents.map_or(P::default(), |contents| contents[page as usize]);
                StoredPage::Written { spare, content }
            }
            PageState::Unreadable | PageState::Erased => StoredPage::Unreadable,
        };
        let pages = if is_bad { Vec::new() } else { (0..state.next_page).map(page).collect() };
        let note = if is_bad { 0 } else { spares.note(block) };
        StoredBlock { erases: state.erases, is_bad, note, pages }
    }
}
