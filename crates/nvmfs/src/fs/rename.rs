//! Rename in all its variants.

use super::Nvmfs;
use crate::api::{Caller, Error, Ino, Kind, MAX_LINKS, ROOT, Rename, Result};
use crate::names::{self, FoundEntry};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;

/// Name in a directory.
#[derive(Clone, Copy)]
struct Name<'a> {
    parent: Ino,
    name: &'a [u8],
}

/// Existing name together with its file.
#[derive(Clone, Copy)]
struct NamedFile<'a> {
    at: Name<'a>,
    found: FoundEntry,
    kind: Kind,
}

impl NamedFile<'_> {
    fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    pub(super) fn rename_entry(
        &mut self,
        from: (Ino, &[u8]),
        to: (Ino, &[u8]),
        how: Rename,
        caller: &Caller,
    ) -> Result<()> {
        self.directory(from.0)?;
        self.directory(to.0)?;
        self.store.prepare_to_keep()?;
        let source = self.named(from)?;
        let target = self.named(to)?;
        let to = Name { parent: to.0, name: to.1 };
        let Some(source) = source else {
            return Err(Error::NotFound);
        };
        match (how, target) {
            (Rename::Keep, Some(_)) => Err(Error::Exists),
            (Rename::Exchange, None) => Err(Error::NotFound),
            (_, Some(target)) if target.found.ino == source.found.ino => Ok(()),
            (Rename::Exchange, Some(target)) => self.exchange(source, target, caller),
            (_, Some(target)) => self.replace(source, target, caller),
            (_, None) => self.move_to(source, to, caller),
        }
    }

    /// Returns the file that has a name, if the name exists.
    fn named<'a>(&mut self, (parent, name): (Ino, &'a [u8])) -> Result<Option<NamedFile<'a>>> {
        names::check_name(name)?;
        if names::is_dot_or_dot_dot(name) {
            return Err(Error::Invalid("`.` and `..` cannot be renamed"));
        }
        let Some(found) = self.names.find(&self.store.region, parent, name)? else { return Ok(None) };
        let kind = self.inode_of_entry(found.ino)?.kind().ok_or(Error::NotFound)?;
        Ok(Some(NamedFile { at: Name { parent, name }, found, kind }))
    }

    /// Fails if a directory would become its own child or descendant.
    fn check_loops(&self, moved: NamedFile<'_>, into: Ino) -> Result<()> {
        if !moved.is_directory() {
            return Ok(());
        }
        let mut at = into;
        for _ in 0..self.store.region.inode_limit() {
            if at == moved.found.ino {
                return Err(Error::Invalid("a directory cannot move into itself"));
            }
            if at == ROOT {
                return Ok(());
            }
            at = Ino(self.inode_of_entry(at)?.related);
        }
        Err(Error::Damaged(format!("no way leads up from directory {} to the root", into.0)))
    }

    /// Checks that the link count of the new parent can grow: a directory from another parent adds a link, unless it
    /// replaces a directory.
    fn check_links(&self, moved: NamedFile<'_>, replaced: Option<NamedFile<'_>>, to: Ino) -> Result<()> {
        let is_link = moved.is_directory() && moved.at.parent != to;
        let adds = is_link && !replaced.is_some_and(|going| going.is_directory());
        if adds && self.store.region.inode(to)?.links >= MAX_LINKS {
            return Err(Error::TooManyLinks);
        }
        Ok(())
    }

    /// Renames to a name that does not exist yet.
    fn move_to(&mut self, source: NamedFile<'_>, to: Name<'_>, caller: &Caller) -> Result<()> {
        self.check_loops(source, to.parent)?;
        self.check_links(source, None, to.parent)?;
        let location = self.names.make_room(&mut self.store, to.parent, to.name)?;
        let (region, from) = (&self.store.region, source.at);
        let mut changes = Changes::default();
        let entry = (source.found.ino, source.kind, to.name);
        names::put_entry(region, &mut changes, location, entry)?;
        let freed = names::free_entry(region, &mut changes, from.parent, source.found, Some(location))?;
        self.add_move_changes(&mut changes, source, to.parent, caller)?;
        self.store.commit(changes)?;
        self.names.note_removed(&mut self.store, from.name, source.found, freed)?;
        self.names.note_added(&self.store.region, location, to.name);
        Ok(())
    }

    /// Renames to an existing name, whose file is replaced.
    fn replace(&mut self, source: NamedFile<'_>, target: NamedFile<'_>, caller: &Caller) -> Result<()> {
        let (from, to) = (source.at, target.at);
        self.check_loops(source, to.parent)?;
        match (source.is_directory(), target.is_directory()) {
            (true, false) => return Err(Error::NotDirectory),
            (false, true) => return Err(Error::IsDirectory),
            (true, true) => self.check_empty(target.found.ino)?,
            _ => {}
        }
        self.check_links(source, Some(target), to.parent)?;
        let region = &self.store.region;
        let mut changes = Changes::default();
        let file = (source.found.ino, source.kind);
        names::retarget_entry(region, &mut changes, to.parent, target.found, file)?;
        let freed = names::free_entry(region, &mut changes, from.parent, source.found, None)?;
        self.remove_link(&mut changes, to.parent, target.found.ino, caller)?;
        self.add_move_changes(&mut changes, source, to.parent, caller)?;
        self.store.commit(changes)?;
        self.names.note_removed(&mut self.store, from.name, source.found, freed)?;
        self.remove_if_unused(target.found.ino)
    }

    /// Exchanges the names of two files.
    fn exchange(&mut self, source: NamedFile<'_>, target: NamedFile<'_>, caller: &Caller) -> Result<()> {
        let (from, to) = (source.at, target.at);
        self.check_loops(source, to.parent)?;
        self.check_loops(target, from.parent)?;
        self.check_links(source, Some(target), to.parent)?;
        self.check_links(target, Some(source), from.parent)?;
        let region = &self.store.region;
        let mut changes = Changes::default();
        names::retarget_entry(
            region,
            &mut changes,
            to.parent,
            target.found,
            (source.found.ino, source.kind),
        )?;
        names::retarget_entry(
            region,
            &mut changes,
            from.parent,
            source.found,
            (target.found.ino, target.kind),
        )?;
        self.add_move_changes(&mut changes, source, to.parent, caller)?;
        self.add_move_changes(&mut changes, target, from.parent, caller)?;
        self.store.commit(changes)?;
        Ok(())
    }

    /// Adds to `changes` the updates for a file that gets a new name: its times, both directories, and the parent if
    /// the file is a directory.
    fn add_move_changes(
        &self,
        changes: &mut Changes,
        moved: NamedFile<'_>,
        to: Ino,
        caller: &Caller,
    ) -> Result<()> {
        let from = moved.at.parent;
        let link = u32::from(moved.is_directory());
        let old_parent = self.touch_directory(changes, from, caller)?;
        old_parent.links = old_parent.links.saturating_sub(link);
        let joined = self.touch_directory(changes, to, caller)?;
        // Saturation happens only if the link count is damaged.
        joined.links = joined.links.saturating_add(link);
        let inode = changes.inode(&self.store.region, moved.found.ino)?;
        inode.changed_ns = caller.now_ns;
        if moved.is_directory() {
            inode.related = to.0;
        }
        Ok(())
    }
}
