//! What is going to change for the first time since the newest snapshot was made is kept before.

use super::super::Store;
use super::super::pages;
use super::super::region::Changes;
use super::is_kept;
use crate::api::{Error, Ino, Result};
use crate::layout::{Field, INODES, INODES_PER_PAGE, Inode, Kept, MAX_FILE_BLOCKS, PageId, Place};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Most pages that an operation may need to keep what it changes: four inodes and four blocks of directories, each with three
/// pages of pointers, and as many again for what it makes itself.
const KEPT_AT_ONCE: u32 = 64;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// The tree of the snapshot that is to be given what changes. None where the only one is being deleted.
    pub(in crate::store) fn keeping(&self) -> Option<Ino> {
        let newest = self.snapshots.last()?;
        (!newest.record.is_going || self.snapshots.len() > 1).then_some(newest.tree)
    }

    /// Before an operation that changes metadata: sees to it that what it changes can be kept.
    ///
    /// # Errors
    /// [`Error::NoSpace`], when nothing was changed yet.
    pub fn prepare_to_keep(&mut self) -> Result<()> {
        if self.keeping().is_none() {
            return Ok(());
        }
        if self.free_metadata_pages() < KEPT_AT_ONCE {
            let problem = "the NVRAM has no room to keep for a snapshot what is to be changed";
            return Err(Error::NoSpace(problem));
        }
        self.make_room(KEPT_AT_ONCE)
    }

    /// The same of an inode alone, which is kept at once.
    ///
    /// # Errors
    /// [`Error::NoSpace`].
    pub fn keep_inode(&mut self, ino: Ino) -> Result<()> {
        self.keeper_with_room(ino).map(|_| ())
    }

    /// Makes all changes, or none, after what they replace was kept.
    ///
    /// # Errors
    /// [`Error::NoSpace`], unless [`Store::prepare_to_keep`] was called before; [`Error::Damaged`].
    pub(crate) fn commit(&mut self, changes: Changes) -> Result<()> {
        let mut changes = changes;
        if self.keeping().is_some() {
            for (ino, inode) in changes.changed_inodes() {
                if let Some(kept) = self.keeper(ino)? {
                    self.keep_xattrs(&mut changes, ino, kept, inode.xattrs)?;
                }
            }
            for (dir, block) in changes.changed_blocks() {
                self.keep_block(dir, block.into())?;
            }
        }
        self.region.apply(changes);
        Ok(())
    }

    /// The number under which the newest snapshot keeps what changes of a file, if it does.
    pub(in crate::store) fn keeper_with_room(&mut self, ino: Ino) -> Result<Option<Ino>> {
        if self.keeping().is_none() || is_kept(ino) {
            return Ok(None);
        }
        let is_there = self.has_record(ino)?;
        if !is_there {
            self.prepare_to_keep()?;
        }
        self.keeper(ino)
    }

    /// Whether the newest snapshot keeps an inode already.
    fn has_record(&self, ino: Ino) -> Result<bool> {
        let Some(tree) = self.keeping() else { return Ok(false) };
        Ok(self.region.record_of(tree, ino)?.is_some_and(|at| self.region.kept(at).is_there()))
    }

    /// The same, for which there is room. The inode is kept first, if it is not yet.
    pub(in crate::store) fn keeper(&mut self, ino: Ino) -> Result<Option<Ino>> {
        let Some(tree) = self.keeping().filter(|_| ino != INODES && !is_kept(ino)) else { return Ok(None) };
        if let Some(at) = self.region.record_of(tree, ino)?
            && self.region.kept(at).is_there()
        {
            let kept = self.region.kept(at);
            return Ok((kept.was_used() && !kept.is_whole()).then(|| self.region.areas.kept_inode(at)));
        }
        let inode = self.region.sound_inode(ino)?;
        let at = self.make_record(tree, ino)?;
        let mut changes = Changes::default();
        changes.put(at, Kept::inode(&inode).encode().to_vec());
        self.region.apply(changes);
        Ok(inode.kind().is_some().then(|| self.region.areas.kept_inode(at)))
    }

    /// Where a snapshot is to keep an inode.
    fn make_record(&mut self, tree: Ino, ino: Ino) -> Result<usize> {
        let number = ino.0 / INODES_PER_PAGE;
        let at = self.make_pointer(tree, number.into())?;
        let page = match self.region.pointer_page(at)? {
            Some(page) => page,
            None => {
                let page = self.take_metadata_page(tree)?;
                pages::own(&mut self.region, page, tree, number);
                self.lead_to(at, page);
                page
            }
        };
        Ok(self.region.record_in(page, ino))
    }

    /// A pointer leads to a page from now on, after what is in it is safe.
    fn lead_to(&mut self, at: usize, page: PageId) {
        self.region.fence();
        self.region.store_word(at, Place::Nvram(page).pointer(&self.region.areas));
        self.region.fence();
    }

    /// Where the pointer to a block that is going to change is to be kept, if it is not kept yet.
    pub(in crate::store) fn place_to_keep(&mut self, kept: Ino, block: u64) -> Result<Option<usize>> {
        let at = self.make_pointer(kept, block)?;
        Ok((self.region.word(at) == 0).then_some(at))
    }

    /// A page of metadata is copied for a snapshot.
    fn copied(&mut self, kept: Ino, from: PageId) -> Result<PageId> {
        let content = *self.region.sound_page(from)?;
        let page = self.take_metadata_page(kept)?;
        self.region.store_page(page, &content);
        Ok(page)
    }

    /// A block of a directory is going to change.
    fn keep_block(&mut self, dir: Ino, block: u64) -> Result<()> {
        let Some(kept) = self.keeper(dir)? else { return Ok(()) };
        let Some(at) = self.place_to_keep(kept, block)? else { return Ok(()) };
        match self.region.place_of(dir, block)? {
            Place::Nvram(from) => {
                let page = self.copied(kept, from)?;
                self.lead_to(at, page);
            }
            _ => self.keep_hole(at),
        }
        Ok(())
    }

    /// Where a pointer is kept it says that there was none.
    fn keep_hole(&mut self, at: usize) {
        self.region.store_word(at, Place::Absent.pointer(&self.region.areas));
        self.region.fence();
    }

    /// Holes of a file are going to be something else; without its content, which may still come.
    pub(in crate::store) fn keep_holes(&mut self, kept: Ino, blocks: std::ops::Range<u64>) -> Result<()> {
        for block in blocks {
            if let Some(at) = self.place_to_keep(kept, block)? {
                self.region.store_word(at, Place::Absent.pointer(&self.region.areas));
            }
        }
        self.region.fence();
        Ok(())
    }

    /// The extended attributes of a file are going to be elsewhere, or others where they are.
    fn keep_xattrs(&mut self, changes: &mut Changes, ino: Ino, kept: Ino, next: u64) -> Result<()> {
        let now = self.region.raw_inode(ino)?.xattrs;
        let are_changed = changes.are_xattrs_changed(ino);
        let at = self.region.inode_at(kept)?;
        if !self.region.kept(at).are_xattrs_elsewhere() || now == next && !are_changed {
            return Ok(());
        }
        let mut pointer = now;
        if now == next
            && let Some(from) = self.region.pointer_page(self.region.field(ino, Field::Xattrs)?)?
        {
            let page = self.copied(kept, from)?;
            self.region.fence();
            pointer = Place::Nvram(page).pointer(&self.region.areas);
        }
        changes.put_word(at, self.kept_word(at, 0, Kept::XATTRS_ELSEWHERE));
        changes.put_word(at + Field::Xattrs as usize, pointer);
        Ok(())
    }

    /// The first word of what is kept of an inode, with some bits set and some not.
    pub(super) fn kept_word(&self, at: usize, set: u32, clear: u32) -> u64 {
        (self.region.word(at) | u64::from(set)) & !u64::from(clear)
    }

    /// Gives up a page of attributes to which the file points no more: a snapshot has it, or nobody.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(crate) fn give_up_xattrs(&mut self, ino: Ino, page: PageId) -> Result<()> {
        if let Some(kept) = self.keeper(ino)? {
            let place = Place::Nvram(page);
            if self.region.raw_inode(kept)?.xattrs == place.pointer(&self.region.areas) {
                return self.give(ino, kept, place);
            }
        }
        self.free_metadata_page(ino, page)
    }

    /// Before blocks of a file become holes: sees to it that a snapshot can be given them.
    ///
    /// # Errors
    /// [`Error::NoSpace`].
    pub(crate) fn prepare_to_cut(&mut self, ino: Ino, first: u64, end: u64) -> Result<()> {
        let Some(kept) = self.keeper_with_room(ino)? else { return Ok(()) };
        for edge in [first, end].into_iter().filter(|edge| (1..MAX_FILE_BLOCKS).contains(edge)) {
            if self.region.pointer_at(kept, edge)?.is_none() {
                self.prepare_to_keep()?;
                self.make_pointer(kept, edge)?;
            }
        }
        self.region.fence();
        Ok(())
    }

    /// A file that has nothing any more is free, and a snapshot has all that it needs of it.
    pub(crate) fn free_inode(&mut self, ino: Ino) -> Result<()> {
        let mode_at = self.region.field(ino, Field::Mode)?;
        match self.keeper(ino)? {
            None => {
                self.region.store_word(mode_at, 0);
                self.region.fence();
            }
            Some(kept) => {
                let at = self.region.inode_at(kept)?;
                let mut changes = Changes::default();
                changes.put_word(mode_at, 0);
                changes.put_word(at, self.kept_word(at, Kept::WHOLE, Kept::XATTRS_ELSEWHERE));
                self.region.apply(changes);
            }
        }
        Ok(())
    }

    /// A file that goes has no attributes any more.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(crate) fn drop_xattrs(&mut self, ino: Ino) -> Result<()> {
        let at = self.region.field(ino, Field::Xattrs)?;
        let Some(page) = self.region.pointer_page(at)? else { return Ok(()) };
        let mut changes = Changes::default();
        let inode = Inode { xattrs: 0, ..self.region.raw_inode(ino)? };
        changes.put_inode(ino, inode);
        self.commit(changes)?;
        self.give_up_xattrs(ino, page)
    }
}
