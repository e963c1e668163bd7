//! Figure 3 of the log-on-log paper: a segment of the upper log is on two blocks of the lower log.

use super::Lesson;
use super::script::{SMALL_DRIVE, WriteScript};
use crate::film::Film;
use wearwell_plot::Failure;

pub const LESSON: Lesson = Lesson {
    name: "log-on-log-figure-3",
    title: "Segments that do not match",
    source: "Yang et al., \"Don't stack your log on my log\" (INFLOW 2014), Figure 3",
    notes: &[
        "A file system writes segments of 6 pages, a drive has blocks of 8. Each page below has the colour of the segment that it \
         belongs to: the file system writes in order, and so does the drive, but most segments lie on two blocks.",
        "Then the file system writes one file of a segment after the other anew, whole. It never moves a page: each segment that it takes back \
         holds nothing valid. But every such segment leaves holes in two blocks below, so that the drive finds no block that is \
         empty, and moves pages which the file system will delete soon. Look at both factors on the right: ×1.00 above, more below.",
    ],
    film,
};

/// Upper log with ten segments of 6 pages.
const LOG: &str = r#"
[[log]]
name = "file system"
placement = "single"
segment_size = "24 KiB"
spare_factor = 0.3
free_blocks_low = 1
"#;

/// Pages per segment.
const SEGMENT_PAGES: u32 = 6;

/// Number of files, each of which has the size of a segment.
const FILES: u32 = 7;

/// Order in which whole files are rewritten, three times; every other write is of file 0.
const REWRITE_ORDER: [u32; 12] = [0, 2, 0, 4, 0, 6, 0, 1, 0, 3, 0, 5];

fn film() -> Result<Film, Failure> {
    write_script(FILES, SEGMENT_PAGES).film(&[SMALL_DRIVE, LOG].concat())
}

/// Writes the files in order, then rewrites files; each file is written in one request of a segment's size.
fn write_script(files: u32, segment: u32) -> WriteScript {
    let rewrites =
        REWRITE_ORDER.iter().copied().cycle().take(3 * REWRITE_ORDER.len()).filter(|file| *file < files);
    (0..files).chain(rewrites).fold(WriteScript::new(), |script, file| script.write(file * segment, segment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::Op;
    use std::collections::BTreeSet;

    /// Counts the pages that cleaning moved in the upper and the lower log.
    fn moved(film: &Film) -> [usize; 2] {
        let of = |at: usize| {
            let ops = film.frames.iter().flat_map(|frame| &frame.ops);
            ops.filter(|op| matches!(op, Op::Write { panel, cell, .. } if *panel == at && cell.cause == 1))
                .count()
        };
        [of(0), of(1)]
    }

    #[test]
    fn upper_log_moves_no_page_and_lower_log_moves_some() {
        let film = film().unwrap();
        let [above, below] = moved(&film);
        assert_eq!(above, 0);
        assert!(below > 10, "{below}");
        // In the paper's figure, a freed segment leaves invalid pages in two blocks that also hold valid pages.
        let of_a_segment = film.frames.iter().map(|frame| {
            let invalidated = frame.ops.iter().filter_map(|op| match op {
                Op::Invalidate { panel: 1, block, .. } => Some(*block),
                _ => None,
            });
            invalidated.collect::<BTreeSet<u32>>()
        });
        assert!(of_a_segment.filter(|blocks| blocks.len() == 2).count() >= 3);
    }

    #[test]
    fn block_sized_segments_move_no_page() {
        let scenario = [SMALL_DRIVE, LOG].concat();
        let scenario =
            scenario.replace("24 KiB", "32 KiB").replace("240 KiB", "256 KiB").replace("0.3", "0.375");
        let film = write_script(5, 8).film(&scenario).unwrap();
        assert_eq!(moved(&film), [0, 0]);
        let erases = film.frames.iter().flat_map(|frame| &frame.ops);
        assert!(erases.filter(|op| matches!(op, Op::Erase { panel: 1, .. })).count() > 3);
    }
}
