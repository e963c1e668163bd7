//! NVMFS: the operations of a file system, on top of `Names` and a [`Store`].
//!
//! An operation on names first checks that it can succeed, then allocates what it needs, then collects all its
//! changes and applies them atomically. A power cut leaves either all of its changes or none.

mod acls;
mod attributes;
mod background;
mod content;
mod create;
mod range;
mod removal;
mod rename;
mod repair;
mod snapshot_view;
mod snapshots;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_acls;
#[cfg(test)]
mod tests_of_inodes;
#[cfg(test)]
mod tests_of_names;
#[cfg(test)]
mod tests_of_space;
#[cfg(test)]
mod tests_of_waiting;
mod xattrs;

pub use background::Work;
pub use repair::repair;
pub use snapshot_view::SnapshotView;
pub use snapshots::check_snapshots;

use crate::api::{
    Allocate, Attributes, Caller, Change, Entry, Error, FileSystem, Ino, Kind, ROOT, Rename, Result, Seek,
    SetXattr, Statistics,
};
use crate::layout::Inode;
use crate::names::{self, Names};
use crate::nvram::Nvram;
use crate::options::{Format, Options};
use crate::ssd::Ssd;
use crate::stats::Stats;
use crate::store::{Changes, OpenError, OpenReport, State, Store};
use removal::orphans;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// The NVMFS file system.
pub struct Nvmfs<N, S> {
    pub(crate) store: Store<N, S>,
    pub(crate) names: Names,
    /// True if each write flushes when necessary. If false, a thread flushes with [`Nvmfs::begin_background`].
    pub auto_flush: bool,
    /// True while flushing is in progress.
    is_flushing: bool,
    /// Number of extents that the background thread has recycled since it was last idle.
    recycled: u32,
    /// Numbers of the inode pages to check after the last snapshot was deleted: some may be unused.
    inode_pages_to_drop: Vec<u32>,
    /// Number of operations that were refused for lack of space.
    no_space: u64,
    /// Resource that was full at the last refusal.
    last_no_space: Option<&'static str>,
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Creates a file system with an empty root directory. The content of NVRAM and SSD is lost.
    ///
    /// # Errors
    /// Invalid sizes or settings; errors of the SSD.
    pub fn format(
        nvram: N,
        ssd: Arc<S>,
        format: &Format,
        options: Options,
    ) -> std::result::Result<Self, OpenError> {
        Ok(Self::from_store_with_orphans(Store::format(nvram, ssd, format, options)?, &[])?)
    }

    /// Opens a file system, after a clean close or a crash.
    ///
    /// # Errors
    /// Devices that do not hold a file system; damage that needs fsck.
    pub fn mount(
        nvram: N,
        ssd: Arc<S>,
        options: Options,
    ) -> std::result::Result<(Self, OpenReport), OpenError> {
        let (store, found) = Store::open(nvram, ssd, options)?;
        Ok((Self::from_store_with_orphans(store, &found.scan.orphans)?, found))
    }

    /// Closes the file system. Unlinked files that are still open are removed at the next mount.
    pub fn close(self) -> N {
        self.store.close()
    }

    /// Returns the file system in an open store. Searches all inodes for unlinked files and removes these files;
    /// [`Nvmfs::mount`] gets them from the scan instead.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is no root directory, or if a file cannot be removed.
    pub fn from_store(store: Store<N, S>) -> Result<Self> {
        let orphans = orphans(&store.region)?;
        Self::from_store_with_orphans(store, &orphans)
    }

    /// Does what [`Nvmfs::from_store`] does, with `orphans` as the unlinked files instead of a search.
    fn from_store_with_orphans(store: Store<N, S>, orphans: &[Ino]) -> Result<Self> {
        let mut fs = Self::open_for_repair(store)?;
        if fs.store.region.raw_inode(ROOT)?.kind() != Some(Kind::Directory) {
            return Err(Error::Damaged("there is no root directory".into()));
        }
        orphans.iter().try_for_each(|ino| fs.check_orphan(*ino))?;
        fs.remove_orphans(orphans)?;
        fs.drop_empty_blocks()?;
        while fs.continue_deleting(snapshots::BLOCKS_PER_STEP)? {}
        fs.drop_unused_inodes()?;
        Ok(fs)
    }

    /// Frees empty blocks of directories.
    fn drop_empty_blocks(&mut self) -> Result<()> {
        for ino in self.store.region.inos() {
            if self.store.region.raw_inode(ino)?.kind() == Some(Kind::Directory) {
                match names::drop_empty_blocks(&mut self.store, ino) {
                    // Damage is left for fsck to repair.
                    Ok(()) | Err(Error::Damaged(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Returns the file system in an open store without any change to the store, for [`repair()`].
    ///
    /// # Errors
    /// Damage that makes inodes unreadable.
    pub fn open_for_repair(store: Store<N, S>) -> Result<Self> {
        let names = Names::new(&store.region, store.options().index_bytes)?;
        Ok(Nvmfs {
            store,
            names,
            auto_flush: true,
            is_flushing: false,
            recycled: 0,
            inode_pages_to_drop: Vec::new(),
            no_space: 0,
            last_no_space: None,
        })
    }

    /// Records the full resource if `error` is [`Error::NoSpace`].
    pub fn note_refusal(&mut self, error: &Error) {
        if let Error::NoSpace(reason) = error {
            self.no_space += 1;
            self.last_no_space = Some(reason);
        }
    }

    /// Returns the underlying store.
    pub fn store(&self) -> &Store<N, S> {
        &self.store
    }

    /// Returns the underlying store, for closing it.
    pub fn into_store(self) -> Store<N, S> {
        self.store
    }

    /// Returns the state of the file system and its counts.
    pub fn stats(&self) -> Stats {
        let counts = self.store.counts;
        let (inodes, available_inodes) = (self.used_inodes(), self.available_inodes());
        Stats {
            counts,
            read_hit_ratio: counts.read_hit_ratio(),
            write_hit_ratio: counts.write_hit_ratio(),
            cleaning_efficiency: counts.cleaning_efficiency(),
            pages: self.store.region.areas.pages,
            free_pages: self.store.pages_in(State::Free),
            clean_pages: self.store.pages_in(State::Clean),
            probation_pages: self.store.probation_pages(),
            dirty_pages: self.store.pages_in(State::Dirty),
            dirty_list_pages: self.store.dirty_list_pages(),
            metadata_pages: self.store.pages_in(State::Metadata),
            free_metadata_pages: self.store.free_metadata_pages(),
            extents: self.store.usable_extents(),
            free_extents: self.store.free_extents(),
            ssd_valid_blocks: self.store.ssd_valid_blocks(),
            extent_fill: self.store.extent_fill(),
            inodes: inodes as u32,
            inode_limit: (inodes + available_inodes) as u32,
            inode_pages: self.store.pages_in(State::Inodes),
            used_blocks: self.store.used_blocks(),
            reserved_blocks: self.store.reserved_blocks(),
            capacity_blocks: self.store.capacity_blocks(),
            available_blocks: self.store.available_blocks(),
            snapshot_blocks: self.store.snapshot_blocks(),
            // A damaged snapshot is not an error here; fsck reports it.
            snapshots: self.snapshots().unwrap_or_default(),
            snapshots_being_deleted: self.store.snapshots_being_deleted() as u32,
            no_space: self.no_space,
            last_no_space: self.last_no_space.map(str::to_owned),
            checksums: self.store.checksum_stats(),
            drive: self.store.ssd().drive(),
        }
    }

    fn used_inodes(&self) -> u64 {
        self.store.inodes() - u64::from(self.names.inodes.free())
    }

    /// Returns the number of files that can still be created.
    fn available_inodes(&self) -> u64 {
        self.store.available_files(self.names.inodes.free().into())
    }

    /// Returns the inode of a directory that was not removed.
    fn directory(&self, ino: Ino) -> Result<Inode> {
        let inode = self.store.region.inode(ino)?;
        match inode.kind() {
            Some(Kind::Directory) if inode.links == 0 => Err(Error::NotFound),
            Some(Kind::Directory) => Ok(inode),
            _ => Err(Error::NotDirectory),
        }
    }

    /// Returns the inode of a regular file.
    fn file(&self, ino: Ino) -> Result<Inode> {
        let inode = self.store.region.inode(ino)?;
        match inode.kind() {
            Some(Kind::File) => Ok(inode),
            Some(Kind::Directory) => Err(Error::IsDirectory),
            _ => Err(Error::Invalid("not a regular file")),
        }
    }

    /// Returns the inode that a directory entry or a parent field refers to; the inode must be in use.
    fn inode_of_entry(&self, ino: Ino) -> Result<Inode> {
        self.store
            .region
            .inode(ino)
            .map_err(|_| Error::Damaged(format!("a name leads to inode {}, which is not in use", ino.0)))
    }

    /// Returns the directory entry of a name other than `.` and `..`.
    fn entry(&mut self, dir: Ino, name: &[u8]) -> Result<names::FoundEntry> {
        self.names.find(&self.store.region, dir, name)?.ok_or(Error::NotFound)
    }

    /// Returns the inode of a directory in `changes`, with updated modification and change times.
    fn touch_directory<'a>(
        &self,
        changes: &'a mut Changes,
        dir: Ino,
        caller: &Caller,
    ) -> Result<&'a mut Inode> {
        let inode = changes.inode(&self.store.region, dir)?;
        inode.modified_ns = caller.now_ns;
        inode.changed_ns = caller.now_ns;
        Ok(inode)
    }

    fn lookup_name(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes> {
        let directory = self.directory(parent)?;
        names::check_name(name)?;
        let ino = match name {
            b"." => parent,
            b".." => Ino(directory.related),
            _ => self.entry(parent, name)?.ino,
        };
        self.inode_of_entry(ino)?;
        self.attributes_of(ino)
    }

    fn list(&self, ino: Ino, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<()> {
        let directory = self.directory(ino)?;
        let Some(from) = names::list_dots((ino, Ino(directory.related)), from, each) else { return Ok(()) };
        names::list(&self.store.region, ino, from, |position, ino, kind, name| {
            each(Entry { next: names::cookie_after(position), ino, kind, name })
        })
    }
}

impl<N: Nvram, S: Ssd> FileSystem for Nvmfs<N, S> {
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes> {
        self.lookup_name(parent, name)
    }

    fn attributes(&mut self, ino: Ino) -> Result<Attributes> {
        self.attributes_of(ino)
    }

    fn set_attributes(&mut self, ino: Ino, change: &Change, caller: &Caller) -> Result<Attributes> {
        self.change_attributes(ino, change, caller)
    }

    fn create(
        &mut self,
        parent: Ino,
        name: &[u8],
        kind: Kind,
        permissions: u32,
        device: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        self.make_file(parent, name, kind, permissions, device, caller)
    }

    fn make_directory(
        &mut self,
        parent: Ino,
        name: &[u8],
        permissions: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        self.create_inode(parent, name, create::NewFile::Directory { permissions }, caller)
    }

    fn symlink(&mut self, parent: Ino, name: &[u8], target: &[u8], caller: &Caller) -> Result<Attributes> {
        self.make_link(parent, name, target, caller)
    }

    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>> {
        self.target(ino)
    }

    fn link(&mut self, ino: Ino, parent: Ino, name: &[u8], caller: &Caller) -> Result<Attributes> {
        self.add_name(ino, parent, name, caller)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.remove_name(parent, name, caller)
    }

    fn remove_directory(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.remove_empty(parent, name, caller)
    }

    fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), how: Rename, caller: &Caller) -> Result<()> {
        self.rename_entry(from, to, how, caller)
    }

    fn open(&mut self, ino: Ino) -> Result<()> {
        self.store.region.inode(ino)?;
        self.names.inodes.open(ino);
        Ok(())
    }

    fn release(&mut self, ino: Ino) -> Result<()> {
        self.store.region.inode(ino)?;
        self.names.inodes.release(ino)?;
        self.remove_if_unused(ino)
    }

    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], caller: &Caller) -> Result<usize> {
        self.read_file(ino, offset, out, caller)
    }

    fn write(&mut self, ino: Ino, offset: u64, data: &[u8], caller: &Caller) -> Result<usize> {
        self.write_file(ino, offset, data, caller)
    }

    fn allocate(&mut self, ino: Ino, how: Allocate, offset: u64, length: u64, caller: &Caller) -> Result<()> {
        self.allocate_range(ino, how, offset, length, caller)
    }

    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        self.seek_block(ino, offset, what)
    }

    fn sync(&mut self, ino: Ino) -> Result<()> {
        // Every operation is durable when it returns.
        self.store.region.inode(ino).map(|_| ())
    }

    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.list(ino, from, each)
    }

    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.xattr_value(ino, name)
    }

    fn set_xattr(
        &mut self,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
        caller: &Caller,
    ) -> Result<()> {
        self.put_xattr(ino, name, value, how, caller)
    }

    fn xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.xattr_names(ino)
    }

    fn remove_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.delete_xattr(ino, name, caller)
    }

    fn statistics(&mut self) -> Result<Statistics> {
        let blocks = self.store.capacity_blocks();
        Ok(Statistics {
            blocks,
            free_blocks: blocks.saturating_sub(self.store.used_blocks()),
            available_blocks: self.store.available_blocks(),
            inodes: self.used_inodes() + self.available_inodes(),
            free_inodes: self.available_inodes(),
        })
    }
}
