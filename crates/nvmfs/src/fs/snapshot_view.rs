//! Read-only view of a snapshot while the live file system is in use.

use super::Nvmfs;
use crate::api::{
    Allocate, Attributes, BLOCK_BYTES, Caller, Change, Entry, Error, FileSystem, Ino, Kind, Rename, Result,
    Seek, SetXattr, Statistics,
};
use crate::layout::{MAX_DIRECTORY_BLOCKS, PageId, Xattrs, decode_xattrs};
use crate::names;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::SnapshotFile;
use std::ops::ControlFlow;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// View of a snapshot in a live file system. Files have the inode numbers that they had at the time of the
/// snapshot.
pub struct SnapshotView<'a, N, S> {
    fs: &'a mut Nvmfs<N, S>,
    view: u32,
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Returns the view with this number from [`Store::views`](crate::store::Store::views). After the snapshot is
    /// deleted, all operations of the view return [`Error::Stale`].
    pub fn snapshot_view(&mut self, view: u32) -> SnapshotView<'_, N, S> {
        SnapshotView { fs: self, view }
    }
}

/// Index of the next existing block of a directory, and the page with its content.
type NextPage = Result<Option<(u32, PageId)>>;

impl<N: Nvram, S: Ssd> SnapshotView<'_, N, S> {
    fn snapshot_file(&self, ino: Ino) -> Result<SnapshotFile> {
        self.fs.store.snapshot_file(self.view, ino)
    }

    fn file_of_kind(&self, ino: Ino, expected: Kind) -> Result<SnapshotFile> {
        let file = self.snapshot_file(ino)?;
        match (file.inode.kind(), expected) {
            (Some(kind), wanted) if kind == wanted => Ok(file),
            (_, Kind::Directory) => Err(Error::NotDirectory),
            (Some(Kind::Directory), _) => Err(Error::IsDirectory),
            (_, Kind::Symlink) => Err(Error::Invalid("not a symbolic link")),
            _ => Err(Error::Invalid("not a regular file")),
        }
    }

    fn next_page(&self, directory: &SnapshotFile, from: u32) -> NextPage {
        let region = &self.fs.store.region;
        let blocks = (directory.inode.size_bytes / BLOCK).min(MAX_DIRECTORY_BLOCKS.into());
        let Some(block) = directory.next_block(region, from.into(), blocks, true)? else { return Ok(None) };
        Ok(directory.page(region, block)?.map(|page| (block as u32, page)))
    }

    /// Calls `each` for the entries of a directory except `.` and `..`, until `each` breaks.
    fn list(
        &self,
        (ino, directory): (Ino, &SnapshotFile),
        from: u32,
        each: impl FnMut(u32, Ino, Kind, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let region = &self.fs.store.region;
        names::list_pages(region, ino, from, |next| self.next_page(directory, next), each)
    }

    fn read_xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let region = &self.fs.store.region;
        match self.snapshot_file(ino)?.xattrs_page(region)? {
            None => Ok(Xattrs::new()),
            Some(page) => decode_xattrs(region.verified_page(page)?).ok_or_else(|| {
                Error::Damaged(format!(
                    "the extended attributes of inode {} make no sense in a snapshot",
                    ino.0
                ))
            }),
        }
    }
}

impl<N: Nvram, S: Ssd> FileSystem for SnapshotView<'_, N, S> {
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes> {
        let directory = self.file_of_kind(parent, Kind::Directory)?;
        names::check_name(name)?;
        let mut found = match name {
            b"." => Some(parent),
            b".." => Some(Ino(directory.inode.related)),
            _ => None,
        };
        if found.is_none() {
            self.list((parent, &directory), 0, |_, ino, _, other| {
                found = (other == name).then_some(ino);
                if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        self.attributes(found.ok_or(Error::NotFound)?)
    }

    fn attributes(&mut self, ino: Ino) -> Result<Attributes> {
        self.snapshot_file(ino)?.inode.attributes(ino).ok_or(Error::NotFound)
    }

    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>> {
        let file = self.file_of_kind(ino, Kind::Symlink)?;
        if file.inode.is_inline_link() {
            return Ok(file.inode.inline_target());
        }
        let region = &self.fs.store.region;
        let page = file.page(region, 0)?.filter(|_| file.inode.size_bytes <= BLOCK);
        let page =
            page.ok_or_else(|| Error::Damaged(format!("link {} has no target in a snapshot", ino.0)))?;
        Ok(region.verified_page(page)?[..file.inode.size_bytes as usize].to_vec())
    }

    fn open(&mut self, ino: Ino) -> Result<()> {
        self.snapshot_file(ino).map(drop)
    }

    fn release(&mut self, _: Ino) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], _: &Caller) -> Result<usize> {
        let file = self.file_of_kind(ino, Kind::File)?;
        let length = file.inode.size_bytes.saturating_sub(offset).min(out.len() as u64) as usize;
        self.fs.store.read_snapshot_file(&file, offset, &mut out[..length])?;
        Ok(length)
    }

    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let file = self.file_of_kind(ino, Kind::File)?;
        let size_bytes = file.inode.size_bytes;
        if offset >= size_bytes {
            return Err(Error::NoDataOrHole);
        }
        let (first, end) = (offset / BLOCK, size_bytes.div_ceil(BLOCK));
        match (file.next_block(&self.fs.store.region, first, end, what == Seek::Data)?, what) {
            (Some(block), _) => Ok(offset.max(block * BLOCK)),
            (None, Seek::Data) => Err(Error::NoDataOrHole),
            (None, Seek::Hole) => Ok(size_bytes),
        }
    }

    fn sync(&mut self, ino: Ino) -> Result<()> {
        self.snapshot_file(ino).map(drop)
    }

    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let directory = self.file_of_kind(ino, Kind::Directory)?;
        let Some(from) = names::list_dots((ino, Ino(directory.inode.related)), from, each) else {
            return Ok(());
        };
        self.list((ino, &directory), from, |position, ino, kind, name| {
            each(Entry { next: names::cookie_after(position), ino, kind, name })
        })
    }

    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.read_xattrs(ino)?.remove(name).ok_or(Error::NoAttribute)
    }

    fn xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.read_xattrs(ino)?.into_keys().collect())
    }

    fn statistics(&mut self) -> Result<Statistics> {
        self.fs.statistics()
    }

    fn set_attributes(&mut self, _: Ino, _: &Change, _: &Caller) -> Result<Attributes> {
        Err(Error::ReadOnly)
    }

    fn create(&mut self, _: Ino, _: &[u8], _: Kind, _: u32, _: u32, _: &Caller) -> Result<Attributes> {
        Err(Error::ReadOnly)
    }

    fn make_directory(&mut self, _: Ino, _: &[u8], _: u32, _: &Caller) -> Result<Attributes> {
        Err(Error::ReadOnly)
    }

    fn symlink(&mut self, _: Ino, _: &[u8], _: &[u8], _: &Caller) -> Result<Attributes> {
        Err(Error::ReadOnly)
    }

    fn link(&mut self, _: Ino, _: Ino, _: &[u8], _: &Caller) -> Result<Attributes> {
        Err(Error::ReadOnly)
    }

    fn unlink(&mut self, _: Ino, _: &[u8], _: &Caller) -> Result<()> {
        Err(Error::ReadOnly)
    }

    fn remove_directory(&mut self, _: Ino, _: &[u8], _: &Caller) -> Result<()> {
        Err(Error::ReadOnly)
    }

    fn rename(&mut self, _: (Ino, &[u8]), _: (Ino, &[u8]), _: Rename, _: &Caller) -> Result<()> {
        Err(Error::ReadOnly)
    }

    fn write(&mut self, _: Ino, _: u64, _: &[u8], _: &Caller) -> Result<usize> {
        Err(Error::ReadOnly)
    }

    fn allocate(&mut self, _: Ino, _: Allocate, _: u64, _: u64, _: &Caller) -> Result<()> {
        Err(Error::ReadOnly)
    }

    fn set_xattr(&mut self, _: Ino, _: &[u8], _: &[u8], _: SetXattr, _: &Caller) -> Result<()> {
        Err(Error::ReadOnly)
    }

    fn remove_xattr(&mut self, _: Ino, _: &[u8], _: &Caller) -> Result<()> {
        Err(Error::ReadOnly)
    }
}
