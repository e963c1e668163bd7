//! Logarithmic Gecko, Section 3 of the GeckoFTL paper: a buffer, runs in levels, and merges.

use super::Lesson;
use crate::film::{Cell, Film, Frame, Op, Panel, PanelContent};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::{BlockId, Slot};
use wearwell_engine::validity::{Gecko, GeckoConfig, GeckoEntry, MemoryFlash, PageSet, PageValidity};
use wearwell_plot::Failure;

pub const LESSON: Lesson = Lesson {
    name: "gecko-merges",
    title: "Which pages are invalid, in a merge tree",
    source: "Dayan, Bonnet and Idreos, \"GeckoFTL: Scalable Flash Translation Techniques For Very Large Flash Devices\" (SIGMOD 2016), \
             Section 3",
    notes: &[
        "A drive of 24 blocks of 4 pages writes down which pages are invalid. An entry, such as 7:02, says that pages 0 and 2 of block 7 \
         are; 7:× says that block 7 was erased, and that everything older about it is obsolete. A flash page holds four entries; colours \
         tell the pages of a run apart.",
        "Updates go to a buffer in RAM, which costs no flash write. When it is full it is written as a run. Whenever two runs \
         would be in one level, they are merged: equal blocks become one entry, and an erase makes older entries vanish. So \
         the number of runs stays small, and with it the pages that a query must read, one of each run.",
    ],
    film,
};

const BLOCKS: u32 = 24;
const PAGES_PER_BLOCK: u32 = 4;
const UPDATES: u32 = 90;
/// Number of levels drawn: all entries of the drive fill six pages, which are in level 2.
const DRAWN_LEVELS: usize = 4;

fn film() -> Result<Film, Failure> {
    let mut played = FilmedGecko::new()?;
    for update in 0..UPDATES {
        played.update(update)?;
    }
    Ok(played.film())
}

/// Validity store during the filming.
struct FilmedGecko {
    gecko: Gecko,
    flash: MemoryFlash,
    random: Random,
    frames: Vec<Frame>,
}

impl FilmedGecko {
    fn new() -> Result<FilmedGecko, Failure> {
        // A page of 18 bytes holds four entries, each with a key of 32 bits and 4 bits of the bitmap.
        let config = GeckoConfig { multiway: false, ..GeckoConfig::new(BLOCKS, PAGES_PER_BLOCK, 18) };
        let first = Frame { text: "Nothing is invalid.".to_owned(), ops: Vec::new() };
        let (gecko, random) = (Gecko::new(config)?, Seed(1).derive("gecko").random());
        Ok(FilmedGecko { gecko, flash: MemoryFlash::new(), random, frames: vec![first] })
    }

    /// Invalidates a page, or sometimes erases or queries a block, and shows the effects.
    fn update(&mut self, number: u32) -> Result<(), Failure> {
        let (before, writes, reads) = (self.gecko.report(), self.flash.appends(), self.flash.reads());
        let runs: Vec<(u32, u64)> = self.gecko.runs().collect();
        let block = random_below(&mut self.random, u64::from(BLOCKS)) as u32;
        let page = random_below(&mut self.random, u64::from(PAGES_PER_BLOCK)) as u32;
        self.flash.advance(1);
        if number % 15 == 14 {
            return self.query_block(block);
        }
        let event = if number % 7 == 6 {
            self.gecko.record_erase(BlockId(block), &mut self.flash)?;
            format!("Block {block} is erased")
        } else {
            self.gecko.invalidate(Slot(block * PAGES_PER_BLOCK + page), &mut self.flash)?;
            format!("Page {page} of block {block} becomes invalid")
        };
        let after = self.gecko.report();
        let effect = match (after.flushes > before.flushes, after.merges > before.merges) {
            (false, _) => ": that is noted in the buffer, without a flash write".to_owned(),
            (true, false) => ": the buffer is full and is written as a run of its own".to_owned(),
            (true, true) => {
                let merged_levels: Vec<u32> = runs.iter().map(|(level, _)| *level).collect();
                let remaining: Vec<(u32, u64)> = self.gecko.runs().collect();
                let merged = merged_levels.len() + 1 - remaining.len();
                format!(
                    ": the buffer is full, and is merged with {} into one in level {}",
                    if merged == 1 { "a run".to_owned() } else { format!("{merged} runs") },
                    remaining[0].0
                )
            }
        };
        let cost = match (self.flash.appends() - writes, self.flash.reads() - reads) {
            (0, _) => String::new(),
            (writes, 0) => format!(" ({writes} written)"),
            (writes, reads) => format!(" ({writes} written, {reads} read)"),
        };
        self.show(format!("{event}{effect}{cost}."));
        Ok(())
    }

    /// Queries which pages of a block are invalid, as cleaning does.
    fn query_block(&mut self, block: u32) -> Result<(), Failure> {
        let (mut invalid, reads) = (PageSet::new(PAGES_PER_BLOCK), self.flash.reads());
        self.gecko.query(BlockId(block), &mut invalid, &mut self.flash)?;
        let pages: Vec<String> = (0..PAGES_PER_BLOCK)
            .filter(|page| invalid.contains(*page))
            .map(|page| page.to_string())
            .collect();
        let pages = if pages.is_empty() { "none".to_owned() } else { pages.join(", ") };
        let reads = self.flash.reads() - reads;
        let read = if reads == 1 { "1 page".to_owned() } else { format!("{reads} pages") };
        self.show(format!(
            "Cleaning asks which pages of block {block} are invalid: {pages} ({read} read of the runs)."
        ));
        Ok(())
    }

    /// Adds a frame with the current content of the validity store.
    fn show(&mut self, text: String) {
        let mut rows = vec![Vec::new(); DRAWN_LEVELS + 1];
        let runs = self.gecko.entries(&self.flash);
        let levels = std::iter::once(0).chain(self.gecko.runs().map(|(level, _)| level as usize + 1));
        for (row, entries) in levels.zip(&runs) {
            rows[row] = entries.iter().map(cell).collect();
        }
        let ops = rows.into_iter().enumerate().map(|(row, cells)| Op::Row { panel: 0, row, cells });
        self.frames.push(Frame { text, ops: ops.collect() });
    }

    fn film(self) -> Film {
        let levels = (0..DRAWN_LEVELS).map(|level| format!("level {level}"));
        let rows = std::iter::once("buffer (RAM)".to_owned()).chain(levels).collect();
        let panels =
            vec![Panel { name: "Logarithmic Gecko".to_owned(), content: PanelContent::Rows { rows } }];
        Film { title: String::new(), notes: Vec::new(), panels, frames: self.frames }
    }
}

fn cell(entry: &GeckoEntry) -> Cell {
    let pages =
        (0..PAGES_PER_BLOCK).filter(|page| entry.invalid.contains(*page)).map(|page| page.to_string());
    let erased = if entry.is_erased { "×" } else { "" };
    Cell {
        label: format!("{}:{erased}{}", entry.block.0, pages.collect::<String>()),
        group: entry.page,
        cause: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn drawn_entries_agree_with_a_plain_bitmap() {
        let mut played = FilmedGecko::new().unwrap();
        let mut expected = BTreeMap::<u32, [bool; PAGES_PER_BLOCK as usize]>::new();
        let mut merges = 0;
        for update in 0..UPDATES {
            played.update(update).unwrap();
            let frame = played.frames.last().unwrap();
            let numbers: Vec<u32> = frame
                .text
                .split(|letter: char| !letter.is_ascii_digit())
                .filter_map(|word| word.parse().ok())
                .collect();
            if frame.text.starts_with("Page") {
                expected.entry(numbers[1]).or_default()[numbers[0] as usize] = true;
            } else if frame.text.starts_with("Block") {
                expected.remove(&numbers[0]);
            }
            merges += u32::from(frame.text.contains("merged"));
            // The rows are visited from the newest to the oldest, which is the order of a query.
            let mut drawn = BTreeMap::<u32, ([bool; PAGES_PER_BLOCK as usize], bool)>::new();
            for op in &frame.ops {
                let Op::Row { cells, .. } = op else { panic!("{op:?}") };
                let mut erased = Vec::new();
                for cell in cells {
                    let (block, pages) = cell.label.split_once(':').unwrap();
                    let (found, is_over) = drawn.entry(block.parse().unwrap()).or_default();
                    if *is_over {
                        continue;
                    }
                    pages
                        .bytes()
                        .filter(u8::is_ascii_digit)
                        .for_each(|page| found[usize::from(page - b'0')] = true);
                    erased.extend(pages.contains('×').then(|| block.parse::<u32>().unwrap()));
                }
                erased.iter().for_each(|block| drawn.get_mut(block).unwrap().1 = true);
            }
            let drawn: BTreeMap<_, _> = drawn
                .into_iter()
                .map(|(block, (pages, _))| (block, pages))
                .filter(|(_, pages)| pages.contains(&true))
                .collect();
            assert_eq!(drawn, expected, "{}", frame.text);
        }
        assert!(merges >= 5, "{merges}");
        assert!(played.gecko.runs().all(|(level, _)| (level as usize) < DRAWN_LEVELS));
    }
}
