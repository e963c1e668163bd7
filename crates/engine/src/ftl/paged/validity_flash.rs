//! The flash of an FTL as seen by its validity store.

use super::contents::MetaPage;
use super::space::Space;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::Slot;
use crate::validity::{ValidityFlash, ValidityPage};

impl<F: Flash> ValidityFlash for Space<F> {
    fn append(&mut self, page: ValidityPage) -> Result<Slot, LayerError> {
        let note = self.frozen_state.unwrap_or(self.current_state());
        let at = self.append_validity(page, note)?;
        self.flushed_state = note;
        Ok(at)
    }

    fn copy(&mut self, at: Slot) -> Result<Slot, LayerError> {
        self.read_metadata(at, Cause::Validity)?;
        let Some(MetaPage::Validity(page)) = self.contents.page(at) else {
            panic!("the validity store copies its own pages");
        };
        // The moved page keeps its old note, because its content covers no further reports.
        let (page, note) = (**page).clone();
        let to = self.append_validity(page, note)?;
        self.discard_metadata(at);
        Ok(to)
    }

    fn read(&mut self, at: Slot) -> Result<&ValidityPage, LayerError> {
        self.read_metadata(at, Cause::Validity)?;
        Ok(self.peek(at).expect("the validity store reads its own pages"))
    }

    fn peek(&self, at: Slot) -> Option<&ValidityPage> {
        match self.contents.page(at) {
            Some(MetaPage::Validity(page)) => Some(&page.0),
            _ => None,
        }
    }

    fn prefetch(&self, at: Slot, step: u32) {
        self.contents.prefetch_validity(at, step);
        if step == 0 {
            self.pool.medium.prefetch_block(self.split(at).0);
        }
    }

    fn move_words(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64])) {
        self.contents.move_words(from, to, change);
        // If the stored flash cannot be written, the next operation fails anyway.
        let _ = self.store_page(to);
    }

    fn discard(&mut self, at: Slot) {
        if let Some(unneeded) = &mut self.unneeded {
            unneeded.insert(at);
        }
        self.contents.drop_bitmap(at);
        self.discard_metadata(at);
    }

    fn now(&self) -> u64 {
        self.pool.sequence
    }
}
