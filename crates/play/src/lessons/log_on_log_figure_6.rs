//! Figure 6 of the log-on-log paper: two logs that clean independently, without TRIM.

use super::Lesson;
use super::script::{SMALL_DRIVE, WriteScript};
use crate::film::Film;
use wearwell_base::seed::{Seed, random_below};
use wearwell_plot::Failure;

pub const LESSON: Lesson = Lesson {
    name: "log-on-log-figure-6",
    title: "Two logs that clean without knowing of each other",
    source: "Yang et al., \"Don't stack your log on my log\" (INFLOW 2014), Figure 6",
    notes: &[
        "Segments of 6 pages on blocks of 8, and the file system does not tell the drive what it no longer needs (trim = false). Pages \
         with a dashed edge are valid for the drive, and wanted by nobody.",
        "Watch cleaning below: it moves such pages as if they mattered. Then the file system cleans and copies some of the same \
         pages once more, which makes two copies of what one would have done for; and when it writes over the segment at last, the pages \
         that the drive had just gathered in one block die there one by one, and the valid ones between them are moved again.",
    ],
    film,
};

const LOG: &str = r#"
[[log]]
name = "file system"
placement = "single"
segment_size = "24 KiB"
spare_factor = 0.4
free_blocks_low = 1
trim = false
"#;

/// Number of pages in the file system.
const PAGES: u32 = 36;

/// Number of pages that are overwritten.
const UPDATES: u32 = 130;

/// Writes all pages in order, then overwrites randomly chosen pages one by one.
fn film() -> Result<Film, Failure> {
    let script = (0..PAGES / 6).fold(WriteScript::new(), |script, segment| script.write(segment * 6, 6));
    let mut random = Seed(1).derive("updates").random();
    let updates = (0..UPDATES).map(|_| random_below(&mut random, u64::from(PAGES)) as u32);
    updates.fold(script, |script, page| script.write(page, 1)).film(&[SMALL_DRIVE, LOG].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::Op;
    use crate::state::State;
    use std::collections::HashSet;

    #[test]
    fn drive_moves_stale_pages_and_both_logs_move_valid_pages() {
        let film = film().unwrap();
        let mut state = State::of(&film);
        let (mut stale_moves, mut moved, mut moved_then_invalidated) = (0, HashSet::new(), 0);
        let (mut moved_below, mut moved_twice) = (HashSet::new(), 0);
        for frame in &film.frames {
            for op in &frame.ops {
                match op {
                    Op::Write { panel: 1, block, page, cell } if cell.cause == 1 => {
                        let is_unwanted = |op: &Op| matches!(op, Op::Stale { panel: 1, block: own, page: at, stale: true } if (own, at) == (block, page));
                        stale_moves += usize::from(frame.ops.iter().any(is_unwanted));
                        moved.insert((*block, *page));
                        moved_below.insert(cell.label.clone());
                    }
                    Op::Invalidate { panel: 1, block, page } => {
                        moved_then_invalidated += usize::from(moved.contains(&(*block, *page)))
                    }
                    Op::Erase { panel: 1, block, .. } => moved.retain(|(own, _)| own != block),
                    Op::Write { panel: 0, cell, .. } if cell.cause == 1 => {
                        // The label of a page on the drive is the position of this page in the log of the file system.
                        let at = state.panels[0].pages.iter().position(|page| {
                            page.status == crate::state::PageStatus::Valid && page.cell.label == cell.label
                        });
                        moved_twice +=
                            usize::from(at.is_some_and(|at| moved_below.contains(&at.to_string())));
                    }
                    _ => {}
                }
            }
            state.apply(frame);
        }
        assert!(stale_moves > 5, "{stale_moves} pages that nobody wants are moved");
        assert!(moved_twice > 0, "{moved_twice} pages are moved below and then above");
        assert!(moved_then_invalidated > 5, "{moved_then_invalidated} pages die where cleaning had put them");
    }
}
