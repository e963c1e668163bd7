//! Inode pages, which hold the inodes beyond the table. They are allocated on demand as blocks of a file that is in
//! no directory.
//!
//! An in-memory table maps the number of each inode page to its location. It is built from the pointers of that file
//! when the file system is opened.

use super::Store;
use super::change_notes::Unit;
use super::pages::{self, State};
use super::region::{Changes, Region};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{BlockLocation, INODE_BYTES, INODES, INODES_PER_PAGE, Inode, PageId};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

impl<N: Nvram> Region<N> {
    /// Returns the upper bound (exclusive) of the existing inode numbers.
    pub fn inode_limit(&self) -> u32 {
        self.areas.inodes + self.inode_pages.end() * INODES_PER_PAGE
    }

    /// Returns the numbers of all inodes, used or free.
    pub fn inos(&self) -> impl Iterator<Item = Ino> + use<N> {
        let numbers: Vec<u32> = self.inode_pages.numbers().collect();
        let first = self.areas.first_of_page(0).0;
        let of_page = move |number| {
            let start = first + number * INODES_PER_PAGE;
            start..start + INODES_PER_PAGE
        };
        (1..first).chain(numbers.into_iter().flat_map(of_page)).map(Ino)
    }

    /// Returns the number of the inode page that contains an inode, and the range of inodes on this page; `None` for
    /// an inode of the table.
    pub fn page_of_inode(&self, ino: Ino) -> Option<(u32, Range<u32>)> {
        let (number, _) = self.areas.paged_inode(ino)?;
        let first = self.areas.first_of_page(number).0;
        self.inode_pages.page(number).map(|_| (number, first..first + INODES_PER_PAGE))
    }

    /// Returns the numbers of all inode pages.
    pub fn inode_page_numbers(&self) -> Vec<u32> {
        self.inode_pages.numbers().collect()
    }

    /// Returns the offset of an inode.
    pub fn inode_at(&self, ino: Ino) -> Result<usize> {
        if let Some(at) = self.areas.inode(ino) {
            return Ok(at);
        }
        if let Some(at) = self.areas.kept_offset(ino) {
            return Ok(at);
        }
        let (number, index) = self.areas.paged_inode(ino).ok_or(Error::NotFound)?;
        let page = self.inode_pages.page(number).ok_or(Error::NotFound)?;
        Ok(self.areas.page(page) + index * INODE_BYTES)
    }

    /// Returns the unit whose checksum covers the byte at `at`.
    pub fn unit_of(&self, at: usize) -> Option<Unit> {
        let areas = &self.areas;
        let Some(offset) = at.checked_sub(areas.data) else {
            let ino = at.checked_sub(areas.inode_table)? / INODE_BYTES;
            return (ino < areas.inodes as usize).then_some(Unit::Inode(Ino(ino as u32)));
        };
        let page = PageId(u32::try_from(offset / BLOCK_BYTES).ok().filter(|page| *page < areas.pages)?);
        if pages::state_of(self, page) != State::Inodes {
            return Some(Unit::Page(page));
        }
        let (_, number) = pages::owner_of(self, page);
        let index = (offset % BLOCK_BYTES / INODE_BYTES) as u32;
        Some(Unit::Inode(Ino(areas.first_of_page(number).0 + index)))
    }

    /// Writes back volatile changes of inodes outside of the table.
    pub(super) fn save_inode_pages(&mut self) {
        for number in self.inode_page_numbers() {
            let page = self.inode_pages.page(number).expect("it has this number");
            self.write_back(self.areas.page(page), BLOCK_BYTES);
        }
    }

    /// True if the unit exists.
    pub(super) fn exists(&self, unit: Unit) -> bool {
        match unit {
            Unit::Inode(ino) => self.inode_at(ino).is_ok(),
            Unit::Page(page) => page.0 < self.areas.pages,
        }
    }

    /// Finds the page of an inode through the pointers; used before the map of inode pages is known.
    pub(super) fn find_inode_page(&mut self, ino: Ino) {
        let Some((number, _)) = self.areas.paged_inode(ino) else { return };
        if let Some(page) = self.page_by_pointers(INODES, number.into()) {
            self.inode_pages.put(number, page);
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the number of inodes, used or free.
    pub fn inodes(&self) -> u64 {
        let paged = u64::from(self.pages.count(State::Inodes)) * u64::from(INODES_PER_PAGE);
        u64::from(self.region.areas.inodes) - 1 + paged
    }

    /// Adds a page of free inodes, durable on return; returns their numbers.
    ///
    /// # Errors
    /// [`Error::NoSpace`].
    pub fn add_inode_page(&mut self) -> Result<Range<u32>> {
        let number = self.region.inode_pages.first_missing();
        if number >= self.region.areas.max_inode_pages() {
            return Err(Error::NoSpace("there are as many inodes as there can be"));
        }
        let added = self.pointer_for(INODES, number.into());
        let added = added.and_then(|pointer_at| Ok((pointer_at, self.take_inode_page(number)?)));
        let (pointer_at, page) = match added {
            Ok(made) => made,
            Err(error) => {
                self.prune(INODES, number.into())?;
                return Err(error);
            }
        };
        // The new inodes inherit the highest generation of removed inodes, so that a number never occurs twice with
        // the same generation.
        let generation = self.region.verified_inode(INODES)?.generation;
        let free = Inode { generation, ..Inode::default() }.encode();
        self.region.store(self.region.areas.page(page), &free.repeat(INODES_PER_PAGE as usize));
        self.region.fence();
        self.region.store_word(pointer_at, BlockLocation::Nvram(page).encode(&self.region.areas));
        self.region.fence();
        self.region.inode_pages.put(number, page);
        let first = self.region.areas.first_of_page(number).0;
        Ok(first..first + INODES_PER_PAGE)
    }

    fn take_inode_page(&mut self, number: u32) -> Result<PageId> {
        self.make_room(1)?;
        self.check_room_for_metadata(INODES, 1)?;
        let page = self.pages.take_free(&mut self.region).expect("room was made");
        pages::set_owner(&mut self.region, page, INODES, number);
        self.pages.put(&mut self.region, page, State::Inodes, false);
        self.count_blocks(INODES, 1, 0)?;
        Ok(page)
    }

    /// Frees an inode page, all of whose inodes are free. If an inode is damaged or snapshots exist, keeps the page
    /// and returns false.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn drop_inode_page(&mut self, number: u32) -> Result<bool> {
        if !self.snapshots.is_empty() {
            // A snapshot may refer to an inode of this page.
            return Ok(false);
        }
        let first = self.region.areas.first_of_page(number).0;
        let inodes = (first..first + INODES_PER_PAGE).map(Ino);
        if !inodes.clone().all(|ino| self.region.has_valid_checksum(Unit::Inode(ino))) {
            return Ok(false);
        }
        // No note may refer to an inode of this page after the page is freed.
        self.region.update_all_checksums();
        let mut file = self.region.verified_inode(INODES)?;
        for ino in inodes {
            file.generation = file.generation.max(self.region.raw_inode(ino)?.generation);
        }
        let unlinked = self.region.find_unlinked(INODES, number.into(), None)?;
        let mut changes = Changes::default();
        match unlinked.slot {
            Some(slot) => file.pointers[slot] = 0,
            None => changes.put_word(unlinked.at, 0),
        }
        changes.put_inode(INODES, file);
        self.region.apply(changes);
        self.region.inode_pages.take(number);
        unlinked.pages.into_iter().try_for_each(|page| self.free_metadata_page(INODES, page))?;
        Ok(true)
    }

    /// Frees pointer blocks that were allocated for an inode page which was not created.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn prune_inode_pages(&mut self) -> Result<()> {
        let next = self.region.inode_pages.first_missing();
        if next < self.region.areas.max_inode_pages() { self.prune(INODES, next.into()) } else { Ok(()) }
    }
}
