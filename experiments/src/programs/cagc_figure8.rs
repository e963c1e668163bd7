//! Figure 8 of the CAGC paper: four files are written, cleaning moves their pages, two files are deleted. The program
//! counts page by page. A test of the engine checks that it gives the same counts with victims selected by hand.

use crate::Failure;
use crate::session::Session;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// The files, with one letter per page.
const FILES: [&str; 4] = ["ABCD", "EBF", "DAB", "BG"];

/// Indices of the deleted files.
const DELETED: [usize; 2] = [1, 3];

/// Number of pages of a block that contain file data; the other two of the block's six pages are invalid when the block
/// is cleaned.
const VALID_PAGES_PER_BLOCK: usize = 4;

/// Number of pages that cleaning reads.
const PAGES_READ: usize = 18;

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut table = Table::new(&["scheme", "written_pages", "erases", "free_pages"]);
    for (scheme, (written, erases)) in [("none", plain()), ("cagc", merged())] {
        let fields =
            [scheme.to_owned(), written.to_string(), erases.to_string(), (PAGES_READ - written).to_string()];
        table.push(fields.into());
    }
    table.publish(session, "data")
}

/// Counts writes and erases without merging: each page is rewritten, and each block with invalid pages after the
/// deletion is erased.
fn plain() -> (usize, usize) {
    let files = (0..).zip(FILES).flat_map(|(file, letters)| letters.chars().map(move |_| file));
    let pages: Vec<usize> = files.collect();
    let dirty_blocks = pages
        .iter()
        .enumerate()
        .filter(|(_, file)| DELETED.contains(file))
        .map(|(at, _)| at / VALID_PAGES_PER_BLOCK);
    (pages.len(), dirty_blocks.collect::<BTreeSet<_>>().len())
}

/// Counts writes and erases with merging: each distinct content is written once. Content with one reference goes to
/// the hot region, shared content to the cold region.
fn merged() -> (usize, usize) {
    let mut references: BTreeMap<char, Vec<usize>> = BTreeMap::new();
    for (file, letters) in FILES.iter().enumerate() {
        letters.chars().for_each(|letter| references.entry(letter).or_default().push(file));
    }
    let dies = |files: &Vec<usize>| files.iter().all(|file| DELETED.contains(file));
    let mut deleted = BTreeSet::new();
    for is_shared in [false, true] {
        let region = references.values().filter(|files| (files.len() > 1) == is_shared);
        for (at, _) in region.enumerate().filter(|(_, files)| dies(files)) {
            deleted.insert((is_shared, at / VALID_PAGES_PER_BLOCK));
        }
    }
    (references.len(), deleted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_8_writes_twelve_pages_without_and_seven_with_cagc() {
        assert_eq!((plain(), merged()), ((12, 2), (7, 1)));
    }
}
