//! Synchronisation: the dirty entries of one translation page are written to flash together, which identifies their
//! before-images.

use super::space::BlockGroup;
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::mapping::Mapping;
use crate::nand::{Flash, PageState};
use crate::units::{Lpn, Slot};
use crate::validity::{PageSet, ValidityConfig};

impl<F: Flash> PagedFtl<F> {
    /// Writes the next version of translation page `number` with all its dirty entries (paper, sec. 4 and 4.1),
    /// unless no entry turns out to differ (App. C.3.1).
    pub(super) fn synchronise(&mut self, number: u32) -> Result<(), LayerError> {
        let mut handles = std::mem::take(&mut self.handles);
        self.cache.dirty_of_translation_page(number, &mut handles);
        self.handles = handles;
        if self.handles.is_empty() { Ok(()) } else { self.write_version(number, false) }
    }

    /// Writes the next version of a translation page that must be moved, even if no entry is dirty. Its sequence
    /// number then matches its content, as recovery requires.
    pub(super) fn rewrite(&mut self, number: u32) -> Result<(), LayerError> {
        let mut handles = std::mem::take(&mut self.handles);
        self.cache.dirty_of_translation_page(number, &mut handles);
        self.handles = handles;
        self.write_version(number, true)
    }

    fn write_version(&mut self, number: u32, always: bool) -> Result<(), LayerError> {
        self.space.reported_before = self.space.pool.sequence;
        let old = self.directory.locate(number, &mut self.space)?;
        if old != Slot::NONE {
            self.space.read_metadata(old, Cause::Translation)?;
        }
        self.compare(number, old)?;
        // The trim of a page that the table never contained is only recorded by the sequence number of the
        // translation page.
        let trims = self.handles.iter().any(|&handle| self.cache.get(handle).before_image != Slot::NONE);
        if self.entries.is_empty() && !always && !trims {
            self.events.aborted_synchronisations += 1;
        } else {
            self.events.synchronisations += 1;
            self.events.synchronised_entries += self.entries.len() as u64;
            let new = self.space.append_translation(number, &self.entries)?;
            if old != Slot::NONE {
                self.space.protect(old);
            }
            self.directory.set(number, new, &mut self.space)?;
            if old != Slot::NONE {
                self.space.discard_metadata(old);
            }
        }
        for &handle in &self.handles {
            let Mapping { slot, .. } = self.cache.get(handle);
            self.cache.set(handle, Mapping::clean(slot));
        }
        self.trimmed.remove(&number);
        let reports = std::mem::take(&mut self.reports);
        for &(at, repeated) in &reports {
            self.report_invalid(at, repeated)?;
        }
        self.reports = reports;
        Ok(())
    }

    /// Finds the current entries that differ from the version at `old`, and the pages that become invalid because of
    /// them.
    fn compare(&mut self, number: u32, old: Slot) -> Result<(), LayerError> {
        self.entries.clear();
        self.reports.clear();
        for at in 0..self.handles.len() {
            let handle = self.handles[at];
            let (page, mapping) = (self.cache.page(handle), self.cache.get(handle));
            let entry = self.space.contents.entry_of(page);
            let flash_entry =
                if old == Slot::NONE { Slot::NONE } else { self.space.contents.entry(number, old, entry) };
            if mapping.before_image != Slot::NONE && mapping.before_image != flash_entry {
                self.reports.push((mapping.before_image, false));
            }
            if flash_entry == mapping.slot {
                continue;
            }
            self.entries.push((entry, mapping.slot));
            if flash_entry == Slot::NONE {
                continue;
            }
            // The page that a restored entry replaces may have been reported before the power cut, and its location
            // may have been reused.
            let is_identified = !mapping.unidentified && mapping.before_image != flash_entry;
            if !is_identified && (!mapping.uncertain || self.still_holds(flash_entry, page)?) {
                self.reports.push((flash_entry, mapping.uncertain));
            }
        }
        Ok(())
    }

    /// True if the page at `at` is a user page and a version of `page`.
    pub(super) fn still_holds(&mut self, at: Slot, page: Lpn) -> Result<bool, LayerError> {
        let state = self.space.read_spare(at, Cause::Translation);
        let (block, _) = self.space.split(at);
        Ok(match state {
            PageState::Written(spare) => spare.owner == page && self.space.group(block) == BlockGroup::User,
            PageState::Erased | PageState::Unreadable => false,
        })
    }

    /// Reports the page at `at` as invalid to the counters and the validity store; `repeated`: they may already have
    /// this report.
    pub(super) fn report_invalid(&mut self, at: Slot, repeated: bool) -> Result<(), LayerError> {
        if at == Slot::NONE {
            return Ok(());
        }
        let (block, page) = self.space.split(at);
        if self.current_victim == Some(block) {
            self.invalid.insert(page);
        }
        if repeated {
            if self.is_reported(at) {
                return Ok(());
            }
            self.approximate_blocks.insert(block);
        }
        self.space.invalidate(at);
        self.validity.invalidate(at, &mut self.space)
    }

    /// Repeats a report to the validity store that may have been made before power was lost.
    pub(super) fn report_again(&mut self, at: Slot) -> Result<(), LayerError> {
        if self.is_reported(at) { Ok(()) } else { self.validity.invalidate(at, &mut self.space) }
    }

    /// True if the validity store certainly has this report. Only used for the log, which recovery has completely
    /// read, and which would store a repeated report twice.
    fn is_reported(&self, at: Slot) -> bool {
        if !matches!(self.config.validity, ValidityConfig::Log(_)) {
            return false;
        }
        let (block, page) = self.space.split(at);
        let mut invalid = PageSet::new(self.space.pages_per_block());
        self.validity.peek(block, &self.space, &mut invalid);
        invalid.contains(page)
    }

    /// Makes all trims durable.
    pub(super) fn synchronise_trims(&mut self) -> Result<(), LayerError> {
        while let Some(&number) = self.trimmed.first() {
            self.make_space()?;
            self.synchronise(number)?;
            self.trimmed.remove(&number);
        }
        Ok(())
    }
}
