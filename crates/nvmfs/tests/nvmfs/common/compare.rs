//! Comparison of everything visible in two file systems.

use super::outcome::{comparable, list};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use wearwell_nvmfs::api::{Attributes, Caller, Error, FileSystem, Ino, Kind, ROOT, Seek};

/// Description of a difference.
pub type Difference = String;
type Result<T> = std::result::Result<T, Difference>;

/// Inode numbers of one file in both file systems.
type Pair = (Ino, Ino);

struct Comparison<'a> {
    model: &'a mut dyn FileSystem,
    other: &'a mut dyn FileSystem,
    caller: Caller,
    /// For each visited inode of the model, its counterpart in the other file system.
    counterparts: BTreeMap<Ino, Ino>,
    matched: BTreeSet<Ino>,
}

/// Finds the first visible difference, in the directory tree or in the unlinked open files `unnamed`.
///
/// The comparison reads files, which updates access times equally in both file systems.
pub fn compare(
    model: &mut dyn FileSystem,
    other: &mut dyn FileSystem,
    unnamed: &[Pair],
    caller: Caller,
) -> Result<()> {
    let mut comparison =
        Comparison { model, other, caller, counterparts: BTreeMap::new(), matched: BTreeSet::new() };
    comparison.file((ROOT, ROOT), b"/")?;
    for pair in unnamed {
        comparison.file(*pair, b"(no name)")?;
    }
    Ok(())
}

fn expect_same<T: PartialEq + Debug>(name: &str, path: &[u8], model: T, other: T) -> Result<()> {
    if model == other {
        return Ok(());
    }
    let path = path.escape_ascii();
    Err(format!("{name} of {path}:\n  model {model:?}\n  other {other:?}"))
}

/// Returns the results of an operation in both file systems, unless one of them failed.
fn both<T>(
    name: &str,
    path: &[u8],
    model: std::result::Result<T, Error>,
    other: std::result::Result<T, Error>,
) -> Result<(T, T)> {
    match (model, other) {
        (Ok(model), Ok(other)) => Ok((model, other)),
        (model, other) => Err(format!(
            "{name} of {}: refused: model {:?}, other {:?}",
            path.escape_ascii(),
            model.err(),
            other.err()
        )),
    }
}

impl Comparison<'_> {
    fn file(&mut self, pair: Pair, path: &[u8]) -> Result<()> {
        if let Some(partner) = self.counterparts.insert(pair.0, pair.1) {
            return expect_same("the file with another name", path, partner, pair.1);
        }
        if !self.matched.insert(pair.1) {
            return Err(format!("{} is one file with another name in the other only", path.escape_ascii()));
        }
        let (model, other) =
            both("attributes", path, self.model.attributes(pair.0), self.other.attributes(pair.1))?;
        expect_same("attributes", path, comparable(&model), comparable(&other))?;
        expect_same("inode number", path, pair.1, other.ino)?;
        self.xattrs(pair, path)?;
        match model.kind {
            Kind::Directory if model.links > 0 => self.directory(pair, path),
            Kind::File => self.content(pair, path, &model, &other),
            Kind::Symlink => {
                let targets =
                    both("target", path, self.model.read_link(pair.0), self.other.read_link(pair.1))?;
                expect_same("target", path, targets.0, targets.1)
            }
            _ => Ok(()),
        }
    }

    fn xattrs(&mut self, pair: Pair, path: &[u8]) -> Result<()> {
        let (mut model, mut other) =
            both("xattrs", path, self.model.xattrs(pair.0), self.other.xattrs(pair.1))?;
        model.sort();
        other.sort();
        expect_same("xattrs", path, &model, &other)?;
        for name in &model {
            let values = both("xattr", path, self.model.xattr(pair.0, name), self.other.xattr(pair.1, name))?;
            expect_same("xattr", path, values.0, values.1)?;
        }
        Ok(())
    }

    fn directory(&mut self, pair: Pair, path: &[u8]) -> Result<()> {
        let (model, other) = both("entries", path, list(self.model, pair.0), list(self.other, pair.1))?;
        let kinds = |entries: &BTreeMap<Vec<u8>, (Ino, Kind)>| -> Vec<_> {
            entries.iter().map(|(name, (_, kind))| (name.clone(), *kind)).collect()
        };
        expect_same("entries", path, kinds(&model), kinds(&other))?;
        for (name, (ino, _)) in &model {
            let partner = other[name].0;
            let looked_up =
                both("lookup", path, self.model.lookup(pair.0, name), self.other.lookup(pair.1, name))?;
            expect_same("lookup", path, *ino, looked_up.0.ino)?;
            expect_same("lookup", path, partner, looked_up.1.ino)?;
            if name == b"." || name == b".." {
                expect_same("`.` or `..`", path, self.counterparts.get(ino), Some(&partner))?;
            } else {
                let below = [path, name, b"/"].concat();
                self.file((*ino, partner), &below)?;
            }
        }
        Ok(())
    }

    fn content(&mut self, pair: Pair, path: &[u8], model: &Attributes, other: &Attributes) -> Result<()> {
        if other.blocks < model.blocks {
            return Err(format!("{}: {} of {} blocks", path.escape_ascii(), other.blocks, model.blocks));
        }
        let model_parts = parts(self.model, pair.0).map_err(|error| error.to_string())?;
        let other_parts = parts(self.other, pair.1).map_err(|error| error.to_string())?;
        expect_same("data and holes", path, &model_parts, &other_parts)?;
        if model.blocks == 0 && model.size_bytes == 0 && self.other_has_no_xattrs(pair.1) {
            expect_same("blocks", path, 0, other.blocks)?;
        }
        for (start, end) in model_parts {
            // The range includes the edges of the adjacent holes, and the end of the file.
            let start = start.saturating_sub(100);
            let mut model = vec![1; (end + 100 - start) as usize];
            let mut other = vec![2; model.len()];
            let (caller, model_fs, other_fs) = (&self.caller, &mut *self.model, &mut *self.other);
            let counts = both(
                "read",
                path,
                model_fs.read(pair.0, start, &mut model, caller),
                other_fs.read(pair.1, start, &mut other, caller),
            )?;
            expect_same("bytes read", path, counts.0, counts.1)?;
            model.truncate(counts.0);
            other.truncate(counts.1);
            if let Some(at) = (0..model.len()).find(|at| model[*at] != other[*at]) {
                let message = format!("byte {}", start + at as u64);
                return expect_same(&message, path, model[at], other[at]);
            }
        }
        Ok(())
    }

    fn other_has_no_xattrs(&mut self, ino: Ino) -> bool {
        self.other.xattrs(ino).is_ok_and(|names| names.is_empty())
    }
}

/// Returns the start and the end of each range of a file whose blocks exist, in order.
fn parts(fs: &mut dyn FileSystem, ino: Ino) -> std::result::Result<Vec<(u64, u64)>, Error> {
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        at = match fs.seek(ino, at, Seek::Data) {
            Err(Error::NoDataOrHole) => return Ok(parts),
            start => start?,
        };
        let start = at;
        at = fs.seek(ino, at, Seek::Hole)?;
        parts.push((start, at));
    }
}
