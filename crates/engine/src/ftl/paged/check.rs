//! Consistency checks: all counts are recomputed from the contents of the flash.

use super::known_blocks::VictimChooser;
use super::space::BlockGroup;
use super::store::PagedFtl;
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Lpn, Slot};
use crate::validity::PageSet;

impl<F: Flash> PagedFtl<F> {
    /// Returns the location of the page without counting any flash operation.
    pub(super) fn peek_location(&self, page: Lpn) -> Slot {
        if let Some(handle) = self.cache.find(page) {
            return self.cache.get(handle).slot;
        }
        let number = self.translation_page(page);
        let at = self.directory.peek(number, &self.space.contents);
        if at == Slot::NONE {
            return Slot::NONE;
        }
        self.space.contents.entry(number, at, self.space.contents.entry_of(page))
    }

    /// Recounts the logical pages that hold data.
    pub(super) fn count_mapped(&mut self) {
        self.mapped.clear();
        for page in 0..self.config.logical_pages {
            if self.peek_location(Lpn(page)) != Slot::NONE {
                self.mapped.insert(page);
            }
        }
        self.mapped_pages = self.mapped.count();
    }

    /// Checks mapping, validity and counters against the flash; an error is a bug.
    pub(super) fn check_all(&self) -> Result<(), String> {
        self.cache.check()?;
        self.validity.check(&self.space)?;
        self.check_locations()?;
        if let VictimChooser::KnownBlocks(known_blocks) = &self.space.pool.victim {
            known_blocks.check(&self.space.pool.blocks)?;
        }
        for block in (0..self.space.pool.blocks.len()).map(BlockId) {
            let used = !self.space.pool.medium.is_bad(block) && !self.space.pool.erased.contains(&block);
            if used && !self.space.erasable.contains(&block) {
                match self.space.group(block) {
                    BlockGroup::User => self.check_user(block)?,
                    _ => self.check_metadata(block)?,
                }
            }
        }
        self.space.pool.medium.check()
    }

    /// Checks that every page is stored at the location in its entry.
    fn check_locations(&self) -> Result<(), String> {
        for page in (0..self.config.logical_pages).map(Lpn) {
            let at = self.peek_location(page);
            if self.mapped.contains(page.0) != (at != Slot::NONE) {
                return Err(format!("page {} is mapped, or not, and the count says otherwise", page.0));
            }
            if at == Slot::NONE {
                continue;
            }
            let (block, index) = self.space.split(at);
            let is_stored_there = matches!(self.space.pool.medium.spare(block, index),
                PageState::Written(spare) if spare.owner == page);
            if !is_stored_there || self.space.group(block) != BlockGroup::User {
                return Err(format!("page {} is not at {at:?}, where its entry says", page.0));
            }
        }
        Ok(())
    }

    /// Checks that no valid page was reported as invalid, that every invalid page was reported or is known to the
    /// cache, and that the block's counter is right.
    fn check_user(&self, block: BlockId) -> Result<(), String> {
        let pages = self.space.pages_per_block();
        let mut invalid = PageSet::new(pages);
        self.validity.peek(block, &self.space, &mut invalid);
        let mut written = 0;
        let mut reported = 0;
        for page in 0..pages {
            let state = self.space.pool.medium.spare(block, page);
            written += u32::from(state != PageState::Erased);
            reported += u32::from(invalid.contains(page));
            let PageState::Written(spare) = state else { continue };
            let at = self.space.slot(block, page);
            let valid = self.peek_location(spare.owner) == at;
            if valid && invalid.contains(page) {
                return Err(format!("page {} at {at:?} is valid, but reported invalid", spare.owner.0));
            }
            if !valid && !invalid.contains(page) && self.cache.find(spare.owner).is_none() {
                return Err(format!(
                    "page {} at {at:?} is invalid, and nobody knows: {spare:?}, now {:?}, open {}, recovered {:?}",
                    spare.owner.0,
                    self.peek_location(spare.owner),
                    self.space.pool.is_open(block),
                    self.recovery.is_some()
                ));
            }
        }
        let counted = self.space.pool.blocks.valid_pages(block);
        let exact = pages - reported;
        let open = self.space.pool.is_open(block);
        let is_approximate = self.approximate_blocks.contains(&block) || self.space.pool.has_failed(block);
        if counted != exact && !is_approximate && (open || written == pages) {
            return Err(format!("block {} counts {counted} valid pages, not {exact}", block.0));
        }
        Ok(())
    }

    /// Compares the block's counter with the number of needed pages in the block.
    fn check_metadata(&self, block: BlockId) -> Result<(), String> {
        let group = self.space.group(block);
        let pages = self.space.pages_per_block();
        if group == BlockGroup::Validity || self.space.pool.has_failed(block) {
            return Ok(());
        }
        let mut needed = 0;
        let mut erased = 0;
        for page in 0..pages {
            let at = self.space.slot(block, page);
            match self.space.pool.medium.spare(block, page) {
                PageState::Erased => erased += 1,
                PageState::Unreadable => {}
                PageState::Written(spare) => {
                    let label = spare.owner.0;
                    let current = if label < self.space.contents.translation_pages() {
                        self.directory.peek(label, &self.space.contents) == at
                    } else {
                        self.directory.has_node(label, at, &self.space.contents)
                    };
                    needed += u32::from(current);
                }
            }
        }
        let open = self.space.pool.is_open(block);
        let counted = self.space.pool.blocks.valid_pages(block) - if open { erased } else { 0 };
        if counted != needed {
            return Err(format!(
                "metadata block {} counts {counted} valid pages, {needed} are needed",
                block.0
            ));
        }
        Ok(())
    }
}
