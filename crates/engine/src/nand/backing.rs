//! Flash that is kept outside of the simulation, byte by byte, so that a drive can come back from it in another process.

use super::{BAD, Nand, OwnNote, PageState, Spare};
use crate::layer::{MediumError, Payload, Run};
use crate::units::BlockId;

/// Fills the bytes of a page, and says what its spare area notes of it; or why it cannot be said in these bytes.
pub type FillPage<'a> = dyn FnMut(&mut [u8]) -> Result<OwnNote, String> + 'a;

/// Says what the user of the flash notes of a page of a run; of a page of its own, fills the bytes. `None`: nothing.
pub type DescribePage<'a> = dyn Fn(usize, &mut [u8]) -> Result<Option<OwnNote>, String> + 'a;

/// Where flash is kept: told of all that changes the flash, before the simulation's own account of it changes.
///
/// Whatever it answers with an error is not done. [`MediumError::PowerLost`] says that nothing can be done any more, be it that power
/// was cut or that what it writes to has failed.
pub trait Backing<P>: Send {
    /// These pages are programmed. One of the FTL's own, which holds nothing by name, gets its bytes by [`Backing::hold`] before
    /// anything else is done.
    ///
    /// `describe` says of the pages of the run, by their number in it, what their user notes besides, and fills the bytes of those that
    /// it wrote for itself and knows already.
    fn program(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, P>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError>;

    /// What the page holds that was programmed last, and that the FTL wrote for itself.
    fn hold(&mut self, block: BlockId, page: u32, fill: &mut FillPage<'_>) -> Result<(), MediumError>;

    /// So many pages are left neither erased nor readable.
    fn spoil(&mut self, block: BlockId, page: u32, pages: u32);

    /// The block is erased, for the time of this number.
    fn erase(&mut self, block: BlockId, erases: u32) -> Result<(), MediumError>;

    /// The block is bad from now on.
    fn retire(&mut self, block: BlockId);
}

/// A page of flash as it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptPage<P> {
    /// Neither erased nor readable.
    Unreadable,
    /// Programmed.
    Written {
        /// What its spare area says.
        spare: Spare,
        /// The name of what it holds.
        content: P,
    },
}

/// A block of flash as it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBlock<P> {
    /// How often it was erased.
    pub erases: u32,
    /// Whether it is bad.
    pub is_bad: bool,
    /// The note of the run that was programmed last.
    pub note: u64,
    /// The pages before its first erased one.
    pub pages: Vec<KeptPage<P>>,
}

/// What is wrong with kept flash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {block}{}: {problem}", page.map_or(String::new(), |page| format!(", page {page}")))]
pub struct KeptError {
    /// The block.
    pub block: u32,
    /// The page, if it is one.
    pub page: Option<u32>,
    /// What is wrong.
    pub problem: String,
}

impl KeptError {
    /// Of a page.
    pub fn page(block: BlockId, page: u32, problem: impl Into<String>) -> Self {
        KeptError { block: block.0, page: Some(page), problem: problem.into() }
    }

    /// Of a block.
    pub fn block(block: BlockId, problem: impl Into<String>) -> Self {
        KeptError { block: block.0, page: None, problem: problem.into() }
    }
}

/// Kept flash, as whoever puts an FTL together again reads it.
pub trait KeptFlash {
    /// Reads the bytes of a page that the FTL wrote for itself, as many as there is room for; what its spare area notes of it.
    ///
    /// # Errors
    /// A page that holds something else, or is not what was written.
    fn read_own(&mut self, block: BlockId, page: u32, bytes: &mut [u8]) -> Result<OwnNote, KeptError>;

    /// What the spare area of a programmed page notes besides [`Spare`], and the name of what the page holds.
    fn noted(&self, block: BlockId, page: u32) -> Option<(OwnNote, u64)>;
}

impl<P: Payload> Nand<P> {
    /// The same flash, which is kept by `backing` as well from now on.
    pub fn with_backing(mut self, backing: Box<dyn Backing<P>>) -> Self {
        self.backing = Some(backing);
        self.is_bare = false;
        self
    }

    /// The same of flash that is in use.
    #[cfg(test)]
    pub(crate) fn back(&mut self, backing: Box<dyn Backing<P>>) {
        (self.backing, self.is_bare) = (Some(backing), false);
    }

    /// Makes an erased block of new flash what was kept of it.
    ///
    /// # Errors
    /// What flash with spare areas cannot be.
    pub fn restore(&mut self, block: BlockId, kept: &KeptBlock<P>) -> Result<(), KeptError> {
        let was_bad = self.blocks[block.index()].next_page == BAD;
        if was_bad && !kept.is_bad {
            return Err(KeptError::block(block, "is in use and was bad when the drive was new"));
        }
        let pages = kept.pages.len() as u32;
        if pages > self.geometry.pages_per_block {
            return Err(KeptError::block(block, "has more pages than a block"));
        }
        self.erases += u64::from(kept.erases);
        self.blocks[block.index()].erases = kept.erases;
        if kept.is_bad {
            self.blocks[block.index()].next_page = BAD;
            self.worn_out_blocks += u32::from(!was_bad);
            return Ok(());
        }
        let spares = self.spare.as_mut().expect("flash with spare areas");
        for (page, kept) in (0..).zip(&kept.pages) {
            match kept {
                KeptPage::Unreadable => spares.spoil(block, 1),
                KeptPage::Written { spare, .. } => {
                    spares.restore(block, spare).map_err(|problem| KeptError::page(block, page, problem))?;
                }
            }
        }
        spares.restore_note(block, kept.note);
        if size_of::<P>() > 0 && pages > 0 {
            let mut contents = vec![P::default(); self.geometry.pages_per_block as usize];
            for (content, kept) in contents.iter_mut().zip(&kept.pages) {
                if let KeptPage::Written { content: kept, .. } = kept {
                    *content = *kept;
                }
            }
            self.contents[block.index()] = Some(contents.into());
        }
        self.blocks[block.index()].next_page = pages;
        Ok(())
    }

    /// What [`Nand::restore`] makes the same block of.
    ///
    /// # Panics
    /// Flash without spare areas.
    pub fn kept(&self, block: BlockId) -> KeptBlock<P> {
        let (state, spares) = (self.blocks[block.index()], self.spare.as_ref().expect("spare areas"));
        let is_bad = state.next_page == BAD;
        let contents = self.contents.get(block.index()).and_then(Option::as_deref);
        let page = |page: u32| match spares.page(block, page) {
            PageState::Written(spare) => {
                let content = contents.map_or(P::default(), |contents| contents[page as usize]);
                KeptPage::Written { spare, content }
            }
            PageState::Unreadable | PageState::Erased => KeptPage::Unreadable,
        };
        let pages = if is_bad { Vec::new() } else { (0..state.next_page).map(page).collect() };
        let note = if is_bad { 0 } else { spares.note(block) };
        KeptBlock { erases: state.erases, is_bad, note, pages }
    }
}
