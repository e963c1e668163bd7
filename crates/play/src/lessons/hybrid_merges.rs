//! The three merges of a hybrid FTL, from the switch merge without copies to the full merge of a whole block.

use super::Lesson;
use super::script::WriteScript;
use crate::film::Film;
use wearwell_plot::Failure;

pub const LESSON: Lesson = Lesson {
    name: "hybrid-merges",
    title: "Three merges",
    source: "Kim, Kim, Noh, Min and Cho, \"A Space-Efficient Flash Translation Layer for CompactFlash Systems\" (IEEE Transactions on \
             Consumer Electronics 48(2), 2002)",
    notes: &[
        "A map of blocks needs little RAM, but then a page has one place in its block, which flash cannot write twice. So new versions go \
         to a log block: here there are two, each for one block of the host's, eight pages of which (0 to 7, 8 to 15 and so on) are a data block.",
        "When a third log is wanted, the oldest is merged with its data block. If it was written from the first page to the last, it takes the \
         data block's place and nothing is copied (a switch merge). If it was written in order and is not full, the rest is copied behind it (a partial \
         merge). In any other case all pages are copied to a fresh block, and two blocks are erased (a full merge).",
    ],
    film,
};

/// Drive of nine blocks of 8 pages, for four logical blocks.
const DRIVE: &str = r#"
[device]
capacity = "128 KiB"
raw_capacity = "288 KiB"
pages_per_block = 8
page_size = "4 KiB"

[ftl.structure]
kind = "bast"
log_blocks = 2

[precondition]
fill = "none"

[workload]
kind = "uniform"
"#;

fn film() -> Result<Film, Failure> {
    let filled = (0..4).fold(WriteScript::new(), |script, block| script.write(block * 8, 8));
    // First, the log block of the second logical block is filled in order.
    let switched = filled.write(8, 8);
    // Then, the log block of the third logical block is started in order; it is merged when the fourth logical block
    // needs a log block.
    let partly = switched.write(16, 3).write(0, 1).write(24, 1);
    // Finally, the log block of the first logical block is written in random order; it is merged when the second
    // logical block needs a log block.
    [5, 2, 5, 28, 26, 9].into_iter().fold(partly, |script, page| script.write(page, 1)).film(DRIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::Op;

    #[test]
    fn switch_merge_moves_no_page_partial_some_and_full_all() {
        let film = film().unwrap();
        let moved = |frame: &crate::film::Frame| {
            let is_moved = |op: &&Op| matches!(op, Op::Write { cell, .. } if cell.cause == 1);
            frame.ops.iter().filter(is_moved).count()
        };
        let moves: Vec<usize> = film.frames.iter().map(moved).filter(|moved| *moved > 0).collect();
        assert_eq!(moves, [5, 8]);
        let erases = film.frames.iter().flat_map(|frame| &frame.ops);
        // The erased blocks are the old data blocks of all three merges, and the log block of the last merge.
        assert_eq!(erases.filter(|op| matches!(op, Op::Erase { .. })).count(), 4);
        let merge = film.frames.iter().filter(|frame| frame.text.contains("merges blocks"));
        assert_eq!(merge.count(), 1, "only the full one gathers pages of several blocks");
    }
}
