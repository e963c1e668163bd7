//! Rename in all its variants.

use super::{ModelFs, check_name, is_dot_or_dot_dot};
use wearwell_nvmfs::api::{Caller, Error, Ino, MAX_LINKS, Rename, Result};

/// Name in a directory, and its file, if it exists.
#[derive(Clone, Copy)]
struct NamePosition<'a> {
    parent: Ino,
    name: &'a [u8],
    ino: Option<Ino>,
}

impl ModelFs {
    pub(super) fn rename_entry(
        &mut self,
        from: (Ino, &[u8]),
        to: (Ino, &[u8]),
        how: Rename,
        caller: &Caller,
    ) -> Result<()> {
        self.directory(from.0)?;
        self.directory(to.0)?;
        let from = self.position(from)?;
        let to = self.position(to)?;
        let Some(source) = from.ino else {
            return Err(Error::NotFound);
        };
        match (how, to.ino) {
            (Rename::Keep, Some(_)) => return Err(Error::Exists),
            (Rename::Exchange, None) => return Err(Error::NotFound),
            _ if to.ino == Some(source) => return Ok(()),
            _ => {}
        }
        self.check_loops(source, to.parent)?;
        if let (Rename::Exchange, Some(target)) = (how, to.ino) {
            self.check_loops(target, from.parent)?;
            self.check_links(source, Some(target), from.parent, to.parent)?;
            self.check_links(target, Some(source), to.parent, from.parent)?;
            self.put(target, to.parent, from, caller)?;
        } else {
            if let Some(target) = to.ino {
                self.check_replace(source, target)?;
            }
            self.check_links(source, to.ino, from.parent, to.parent)?;
            self.directory_to_change(from.parent, caller)?.entries.remove(from.name);
            if let Some(target) = to.ino {
                if self.inode(target)?.is_directory() {
                    self.inode_mut(to.parent)?.links -= 1;
                }
                self.remove_link(target, caller)?;
            }
        }
        self.put(source, from.parent, to, caller)
    }

    fn position<'a>(&self, (parent, name): (Ino, &'a [u8])) -> Result<NamePosition<'a>> {
        check_name(name)?;
        if is_dot_or_dot_dot(name) {
            return Err(Error::Invalid("`.` and `..` cannot be renamed"));
        }
        let ino = self.directory(parent)?.entries.get(name).map(|slot| slot.ino);
        Ok(NamePosition { parent, name, ino })
    }

    /// Fails if `ino` is the directory `into` or one of its ancestors, since a directory cannot move into itself.
    fn check_loops(&self, ino: Ino, into: Ino) -> Result<()> {
        let mut at = into;
        loop {
            if at == ino {
                return Err(Error::Invalid("a directory cannot move into itself"));
            }
            let above = self.directory(at)?.parent;
            if above == at {
                return Ok(());
            }
            at = above;
        }
    }

    fn check_replace(&self, source: Ino, target: Ino) -> Result<()> {
        match (self.inode(source)?.is_directory(), self.inode(target)?.is_directory()) {
            (true, false) => Err(Error::NotDirectory),
            (false, true) => Err(Error::IsDirectory),
            (true, true) if !self.directory(target)?.entries.is_empty() => Err(Error::NotEmpty),
            _ => Ok(()),
        }
    }

    /// Checks that the link count of the new parent can grow: a directory from another parent adds a link, unless it
    /// replaces a directory.
    fn check_links(&self, moved: Ino, replaced: Option<Ino>, from: Ino, to: Ino) -> Result<()> {
        let goes_directory = match replaced {
            Some(going) => self.inode(going)?.is_directory(),
            None => false,
        };
        let adds = self.inode(moved)?.is_directory() && !goes_directory && from != to;
        if adds && self.inode(to)?.links >= MAX_LINKS {
            return Err(Error::TooManyLinks);
        }
        Ok(())
    }

    /// Adds the directory entry of a file that was in `old_parent`.
    fn put(&mut self, ino: Ino, old_parent: Ino, to: NamePosition<'_>, caller: &Caller) -> Result<()> {
        self.directory_to_change(to.parent, caller)?.insert(to.name, ino);
        let inode = self.inode_mut(ino)?;
        inode.changed_ns = caller.now_ns;
        if let super::Body::Directory(directory) = &mut inode.body {
            directory.parent = to.parent;
            self.inode_mut(old_parent)?.links -= 1;
            self.inode_mut(to.parent)?.links += 1;
        }
        Ok(())
    }
}
