//! NVRAM in a set of several files, whose labels identify the members of the set and their order.
//!
//! Each file of a set begins with a label, followed by its part of the region. The label contains the index of the
//! part, the number of parts, and the number of times that the set was opened. This count reveals an older copy of
//! one file.
//!
//! Opening increments the count on all files in two steps, so that a power cut between the steps causes no false alarm.
//! First, the next count is announced in all labels; then it becomes the current count in all labels.

use super::mapped::{MappedNvram, Part, Persistence};
use super::mapping::ALIGNMENT;
use super::{Nvram, mapped::check_size};
use crate::api::BLOCK_BYTES;
use crate::backing::{self, Existing, refusal};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes of the label of each file, aligned so that the data after the label can be mapped as devices require.
pub const LABEL_BYTES: u64 = ALIGNMENT as u64;
/// Maximum number of files of a set.
pub const MAX_FILES: usize = 64;

/// First bytes of a file of a set. They differ from the first words of file systems.
const MAGIC: &[u8; 8] = b"WWNVSET1";
/// Bytes of the fixed part of a label: magic, set identifier, part index, number of parts, bytes of the part,
/// checksum.
const FIXED_BYTES: usize = 48;
/// Offsets of two counts: the number of the last opening that was begun, and the number of the last opening that was
/// completed.
const COUNTS_AT: [usize; 2] = [64, 72];

/// Label of a file of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label {
    /// Identifier of the set.
    id: u128,
    /// Index of the part, starting from 0.
    part: u32,
    /// Number of parts.
    parts: u32,
    /// Bytes of the region in this file.
    bytes: u64,
}

impl Label {
    fn encode(&self) -> [u8; FIXED_BYTES] {
        let mut bytes = [0; FIXED_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&self.id.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.part.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.parts.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.bytes.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..40]);
        bytes[40..44].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes a label; `None` if the bytes are not a label.
    fn decode(bytes: &[u8]) -> Option<Label> {
        let id = u128::from_le_bytes(*bytes.get(8..24)?.first_chunk()?);
        let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..at + 4)?.first_chunk()?));
        let size = u64::from_le_bytes(*bytes.get(32..40)?.first_chunk()?);
        let label = Label { id, part: number(24)?, parts: number(28)?, bytes: size };
        let is_whole = bytes.get(..FIXED_BYTES)? == label.encode();
        (is_whole && label.part < label.parts).then_some(label)
    }
}

/// Encodes a count with its complement in one word, which is written atomically; a damaged word does not
/// decode.
fn count_word(count: u32) -> u64 {
    u64::from(!count) << 32 | u64::from(count)
}

fn count_in(bytes: &[u8], at: usize) -> Option<u32> {
    let word = u64::from_le_bytes(*bytes.get(at..at + 8)?.first_chunk()?);
    (count_word(word as u32) == word).then_some(word as u32)
}

impl MappedNvram {
    /// Creates a set of files of equal size, with a region of at least `bytes` zeros (a multiple of 4096) in total.
    /// If `bytes` is `None`, makes a set of existing files or devices. A single file has no label.
    ///
    /// # Errors
    ///
    /// Files that cannot be created or opened, that are given twice or are too small; more than 64 files.
    pub fn create_set(
        paths: &[PathBuf],
        bytes: Option<u64>,
        existing: Existing,
        persistence: Persistence,
        id: u128,
    ) -> io::Result<Self> {
        match (paths, bytes) {
            ([path], Some(bytes)) => return MappedNvram::create(path, bytes, existing, persistence),
            ([path], None) => {
                let mut nvram = MappedNvram::open(path, persistence)?;
                refuse_content(path, nvram.bytes(), existing)?;
                // An old label is erased: the file no longer belongs to a set.
                nvram.store(0, &[0; BLOCK_BYTES]);
                nvram.write_back(0, BLOCK_BYTES);
                nvram.fence();
                return Ok(nvram);
            }
            _ => {}
        }
        let first = single_path(paths)?;
        let size = bytes.map(|bytes| {
            check_size(first, bytes)?;
            Ok::<_, io::Error>(bytes.div_ceil(paths.len() as u64).next_multiple_of(LABEL_BYTES) + LABEL_BYTES)
        });
        let size = size.transpose()?;
        let parts = parts_of(paths, |path| match size {
            Some(size) => backing::create(path, size, existing, OFlags::empty()),
            None => backing::open(path, OFlags::empty()),
        })?;
        let count = parts.len() as u32;
        let labels = (0..).zip(&parts).map(|(part, Part { range, .. })| Label {
            id,
            part,
            parts: count,
            bytes: range.end - range.start,
        });
        let labels: Vec<Label> = labels.collect();
        let mut area = MappedNvram::map(label_areas(&parts)?, persistence)?;
        for (part, area) in parts.iter().zip(area.bytes().chunks_exact(ALIGNMENT)) {
            refuse_content(&part.path, area, existing)?;
        }
        for (at, label) in (0..).step_by(ALIGNMENT).zip(&labels) {
            area.store(at, &[0; BLOCK_BYTES]);
            area.store(at, &label.encode());
            COUNTS_AT.iter().for_each(|count| area.store_word(at + count, count_word(0)));
            area.write_back(at, BLOCK_BYTES);
        }
        area.fence();
        MappedNvram::map(parts, persistence)
    }

    /// Opens the files of a set, in any order; a single file is opened without a label.
    ///
    /// # Errors
    ///
    /// Files that cannot be opened, are given twice, are not exactly the files of one set, or are copies of
    /// different times.
    pub fn open_set(paths: &[PathBuf], persistence: Persistence) -> io::Result<Self> {
        let [_, _, ..] = paths else {
            refuse_part(single_path(paths)?)?;
            return MappedNvram::open(single_path(paths)?, persistence);
        };
        let parts = parts_of(paths, |path| backing::open(path, OFlags::empty()))?;
        let mut area = MappedNvram::map(label_areas(&parts)?, persistence)?;
        let count = check_set(&parts, area.bytes())?;
        for at in COUNTS_AT {
            for label in (0..parts.len()).map(|part| part * ALIGNMENT) {
                area.store_word(label + at, count_word(count.saturating_add(1)));
                area.write_back(label + at, 8);
            }
            area.fence();
        }
        MappedNvram::map(ordered(parts, area.bytes()), persistence)
    }

    /// Opens the files of a set for inspection, as [`MappedNvram::open_private`] does with a single file.
    ///
    /// # Errors
    ///
    /// The errors of [`MappedNvram::open_set`].
    pub fn open_set_private(paths: &[PathBuf]) -> io::Result<Self> {
        let [_, _, ..] = paths else {
            refuse_part(single_path(paths)?)?;
            return MappedNvram::open_private(single_path(paths)?);
        };
        let parts = parts_of(paths, |path| backing::open_read_only(path, OFlags::empty()))?;
        let area = MappedNvram::map_private(label_areas(&parts)?)?;
        check_set(&parts, area.bytes())?;
        MappedNvram::map_private(ordered(parts, area.bytes()))
    }
}

fn single_path(paths: &[PathBuf]) -> io::Result<&Path> {
    let none = || io::Error::new(ErrorKind::InvalidInput, "no file of NVRAM was given");
    paths.first().map(PathBuf::as_path).ok_or_else(none)
}

/// Returns the label of a file, if it can be read; otherwise, mapping the file later reports the reason.
fn label_of(path: &Path) -> Option<Label> {
    let mut bytes = [0; FIXED_BYTES];
    // The content of a DAX device can be read only through a mapping. If such a device is a part of a set, the checks
    // of the file system detect it.
    File::open(path).and_then(|file| file.read_exact_at(&mut bytes, 0)).ok()?;
    Label::decode(&bytes)
}

/// Refuses a file that is part of a set: its content would be mistaken for damaged NVRAM.
fn refuse_part(path: &Path) -> io::Result<()> {
    let Some(label) = label_of(path) else { return Ok(()) };
    let problem = format!("is file {} of {} of a set; give all of them", label.part + 1, label.parts);
    Err(refusal(path, ErrorKind::InvalidInput, &problem))
}

/// Refuses to overwrite existing content unless `existing` allows it.
fn refuse_content(path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    let first = bytes.get(..BLOCK_BYTES).unwrap_or(bytes);
    if existing == Existing::Overwrite || backing::is_blank(first) {
        return Ok(());
    }
    Err(refusal(path, ErrorKind::AlreadyExists, "holds something already"))
}

/// Opens the files, and returns for each file the part after the label.
fn parts_of(
    paths: &[PathBuf],
    open: impl Fn(&Path) -> io::Result<backing::Backing>,
) -> io::Result<Vec<Part>> {
    if paths.len() > MAX_FILES {
        let problem = format!("is one of {} files; a set has {MAX_FILES} at most", paths.len());
        return Err(refusal(&paths[MAX_FILES], ErrorKind::InvalidInput, &problem));
    }
    let mut opened = Vec::new();
    let part = |path: &PathBuf| {
        // Duplicates are detected by device and inode, because the error of the lock would blame another process.
        let same = path.metadata().ok().map(|of| (of.dev(), of.ino()));
        if same.is_some() && opened.contains(&same) {
            return Err(refusal(path, ErrorKind::InvalidInput, "is given twice"));
        }
        let backing = open(path)?;
        opened.push(path.metadata().ok().map(|of| (of.dev(), of.ino())));
        if backing.bytes < 2 * LABEL_BYTES || !backing.bytes.is_multiple_of(LABEL_BYTES) {
            let problem = format!(
                "{} bytes are no size of one NVRAM file of several; it is a multiple of {LABEL_BYTES} bytes, the first of which are for its label",
                backing.bytes
            );
            return Err(refusal(path, ErrorKind::InvalidInput, &problem));
        }
        Ok(Part { path: path.clone(), range: LABEL_BYTES..backing.bytes, backing })
    };
    paths.iter().map(part).collect()
}

/// Returns the label of each part.
fn label_areas(parts: &[Part]) -> io::Result<Vec<Part>> {
    let area = |part: &Part| {
        Ok(Part { path: part.path.clone(), backing: part.backing.try_clone()?, range: 0..LABEL_BYTES })
    };
    parts.iter().map(area).collect()
}

/// Checks that the files belong to one set and are from the same time; returns the number of openings.
fn check_set(parts: &[Part], labels: &[u8]) -> io::Result<u32> {
    let refused = |part: &Part, problem: &str| Err(refusal(&part.path, ErrorKind::InvalidData, problem));
    let mut found: Vec<(Label, [u32; 2])> = Vec::new();
    for (part, area) in parts.iter().zip(labels.chunks_exact(ALIGNMENT)) {
        let Some(label) = Label::decode(area) else {
            return refused(
                part,
                "is no file of a set of NVRAM files; mkfs makes one of all that it is given",
            );
        };
        let [Some(next), Some(now)] = COUNTS_AT.map(|at| count_in(area, at)) else {
            return refused(part, "its label is damaged");
        };
        let (first, _) = *found.first().unwrap_or(&(label, [0; 2]));
        if (label.id, label.parts) != (first.id, first.parts) {
            return refused(part, &format!("is of another set than {}", parts[0].path.display()));
        }
        if found.iter().any(|(other, _)| other.part == label.part) {
            return refused(
                part,
                &format!("is a copy of another of the files: both are file {}", label.part + 1),
            );
        }
        if label.bytes != part.range.end - part.range.start {
            return refused(part, "is of another size than it was made with");
        }
        found.push((label, [next, now]));
    }
    let expected = found.first().map_or(0, |(label, _)| label.parts);
    if found.len() != expected as usize {
        let missing = (0..expected).filter(|part| found.iter().all(|(label, _)| label.part != *part));
        let missing: Vec<_> = missing.map(|part| (part + 1).to_string()).collect();
        let problem = format!("is of a set of {expected} files; missing: {}", missing.join(", "));
        return refused(&parts[0], &problem);
    }
    agreed_count(parts, &found)
}

/// Returns the number of openings on which all files agree. A power cut during the increment leaves some files at the
/// old count, but the new count is then announced in all of these.
fn agreed_count(parts: &[Part], found: &[(Label, [u32; 2])]) -> io::Result<u32> {
    let newest = found.iter().map(|(_, [_, now])| *now).max().unwrap_or(0);
    let stale = found.iter().position(|(_, [next, now])| *now != newest && *next != newest);
    match stale {
        None => Ok(newest),
        Some(at) => {
            let problem = "is a copy of another time than the other files of its set; what was changed meanwhile is not in it";
            Err(refusal(&parts[at].path, ErrorKind::InvalidData, problem))
        }
    }
}

/// Sorts the parts by the order in their labels.
fn ordered(parts: Vec<Part>, labels: &[u8]) -> Vec<Part> {
    let order = labels.chunks_exact(ALIGNMENT).map(|area| Label::decode(area).map_or(0, |label| label.part));
    let mut parts: Vec<(u32, Part)> = order.zip(parts).collect();
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 3 * LABEL_BYTES;

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            Files(tempfile::tempdir_in("/dev/shm").expect("a folder in memory"))
        }

        fn paths(&self, names: &[&str]) -> Vec<PathBuf> {
            names.iter().map(|name| self.0.path().join(name)).collect()
        }

        fn create(&self, names: &[&str], id: u128) -> MappedNvram {
            let paths = self.paths(names);
            MappedNvram::create_set(&paths, Some(BYTES), Existing::Refuse, Persistence::Auto, id)
                .expect("new files")
        }

        fn open(&self, names: &[&str]) -> io::Result<MappedNvram> {
            MappedNvram::open_set(&self.paths(names), Persistence::Auto)
        }

        fn expect_refused(&self, names: &[&str], why: &str) {
            let outcomes = [self.open(names), MappedNvram::open_set_private(&self.paths(names))];
            for error in outcomes.map(|outcome| outcome.map(|_| ()).expect_err(why)) {
                assert!(error.to_string().contains(why), "{error} instead of {why}");
            }
        }

        fn counts(&self, name: &str) -> [Option<u32>; 2] {
            let bytes = std::fs::read(self.0.path().join(name)).expect("it can be read");
            COUNTS_AT.map(|at| count_in(&bytes, at))
        }

        fn set_count(&self, name: &str, which: usize, count: u32) {
            let file = File::options().write(true).open(self.0.path().join(name)).expect("it is there");
            file.write_all_at(&count_word(count).to_le_bytes(), COUNTS_AT[which] as u64).expect("8 bytes");
        }
    }

    #[test]
    fn files_of_a_set_form_one_region_in_any_order() {
        let files = Files::new();
        let mut nvram = files.create(&["a", "b", "c"], 7);
        // Each file has a label and a third of the region.
        assert_eq!(nvram.bytes().len() as u64, BYTES);
        let written: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        nvram.store(0, &written);
        nvram.store_word(LABEL_BYTES as usize, 1);
        nvram.write_back(0, written.len());
        nvram.fence();
        let written = nvram.bytes().to_vec();
        drop(nvram);
        for names in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
            assert!(files.open(&names).expect("all of them").bytes() == written, "{names:?}");
        }
        let before = ["a", "b", "c"].map(|name| std::fs::read(files.0.path().join(name)).expect("read"));
        let mut private = MappedNvram::open_set_private(&files.paths(&["b", "a", "c"])).expect("all of them");
        assert!(private.bytes() == written);
        private.store(0, &[0; 100]);
        drop(private);
        assert!(
            before == ["a", "b", "c"].map(|name| std::fs::read(files.0.path().join(name)).expect("read"))
        );
    }

    #[test]
    fn incomplete_or_mixed_sets_are_rejected() {
        let files = Files::new();
        drop(files.create(&["a", "b", "c"], 7));
        drop(files.create(&["x", "y"], 8));
        drop(files.create(&["alone"], 9));
        std::fs::copy(files.0.path().join("b"), files.0.path().join("copy")).expect("a copy");
        files.expect_refused(&["a"], "is file 1 of 3 of a set; give all of them");
        files.expect_refused(&["c", "a"], "is of a set of 3 files; missing: 2");
        files.expect_refused(&["a", "b", "b"], "is given twice");
        files.expect_refused(&["a", "b", "copy"], "is a copy of another of the files");
        files.expect_refused(&["a", "b", "y"], "is of another set than");
        files.expect_refused(&["a", "alone"], "is no file of a set");
        files.expect_refused(&["a", "nothing"], "nothing");
        files.expect_refused(&[], "no file of NVRAM was given");
        let grown = File::options().write(true).open(files.0.path().join("copy")).expect("it is there");
        grown.set_len(BYTES * 2).expect("room for it");
        files.expect_refused(&["a", "copy", "c"], "is of another size than it was made with");
        grown.set_len(BYTES + 4096).expect("room for it");
        files.expect_refused(&["a", "copy", "c"], "are no size of one NVRAM file of several");
        assert_eq!(files.open(&["alone"]).expect("a plain file").bytes().len() as u64, BYTES);
    }

    #[test]
    fn existing_content_is_overwritten_only_on_request() {
        let files = Files::new();
        drop(files.create(&["a", "b"], 7));
        let create = |names: &[&str], existing| {
            MappedNvram::create_set(&files.paths(names), None, existing, Persistence::Auto, 8).map(|_| ())
        };
        for names in [&["a"][..], &["b", "a"]] {
            let error = create(names, Existing::Refuse).expect_err("it holds something");
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        }
        drop(files.open(&["a", "b"]).expect("nothing has changed"));
        create(&["b"], Existing::Overwrite).expect("it may be lost");
        assert_eq!(files.open(&["b"]).expect("a file alone").bytes().len() as u64, BYTES);
        files.expect_refused(&["a", "b"], "is no file of a set");
        create(&["b"], Existing::Refuse).expect("nothing is in it");
    }

    #[test]
    fn stale_copy_is_rejected_and_power_cut_is_accepted() {
        let files = Files::new();
        drop(files.create(&["a", "b", "c"], 7));
        drop(files.open(&["a", "b", "c"]).expect("all of them"));
        assert_eq!(["a", "b", "c"].map(|name| files.counts(name)), [[Some(1); 2]; 3]);
        std::fs::copy(files.0.path().join("b"), files.0.path().join("old")).expect("a copy");
        // Power is cut while the second opening writes the announced count, and while it writes the current count.
        for which in [0, 1] {
            for name in ["a", "b", "c"] {
                files.set_count(name, which, 2);
                drop(MappedNvram::open_set_private(&files.paths(&["c", "b", "a"])).expect("a cut"));
                let outcome = MappedNvram::open_set_private(&files.paths(&["a", "old", "c"])).map(|_| ());
                // If power was cut while the announced count was written, the current count has not changed yet.
                assert_eq!(outcome.is_err(), which == 1, "{which} {name}");
            }
        }
        files.expect_refused(&["a", "old", "c"], "is a copy of another time");
        drop(files.open(&["a", "b", "c"]).expect("all of them"));
        assert_eq!(files.counts("c"), [Some(3); 2]);
    }

    #[test]
    fn damaged_label_is_rejected() {
        let files = Files::new();
        drop(files.create(&["a", "b"], 7));
        let at = files.0.path().join("b");
        let whole = std::fs::read(&at).expect("it can be read");
        let label_bits = (0..44 * 8).chain(COUNTS_AT[0] * 8..(COUNTS_AT[1] + 8) * 8);
        for bit in label_bits {
            let mut bytes = whole[..128].to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let file = File::options().write(true).open(&at).expect("it is there");
            file.write_all_at(&bytes, 0).expect("room for it");
            assert!(MappedNvram::open_set_private(&files.paths(&["a", "b"])).is_err(), "bit {bit}");
        }
    }
}
