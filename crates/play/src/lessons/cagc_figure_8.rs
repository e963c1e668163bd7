//! Figure 8 of the CAGC paper: the pages of four files are cleaned with and without deduplication.

use super::Lesson;
use crate::director::{Director, Medium};
use crate::film::{Cell, Film, Op, Panel, PanelContent};
use serde_json::json;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::Seed;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::dedup::{Dedup, DedupConfig, SharedTables};
use wearwell_engine::instances::{BoxedLog, CompiledPayload};
use wearwell_engine::layer::{ContentId, EventLog, Layer};
use wearwell_engine::log::{BoxedLayer, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PlacementConfig, PlacementContext};
use wearwell_engine::timing::{Journal, RecordingNand};
use wearwell_engine::victim::{Blocks, VictimPolicy};
use wearwell_plot::Failure;

pub const LESSON: Lesson = Lesson {
    name: "cagc-figure-8",
    title: "Four files, two of them deleted",
    source: "Wu et al., \"CAGC: A Content-aware Garbage Collection Scheme for Ultra-Low Latency Flash-based SSDs\" (IPDPS 2021), \
             Figure 8",
    notes: &[
        "Two drives are written the same four files, ABCD, EBF, DAB and BG: twelve pages in three blocks. A letter is what a page holds; \
         equal letters are equal pages. Neither drive looks at them while they are written.",
        "Then both clean these three blocks. The one above moves 12 pages. The one below hashes what it moves: of equal pages one is \
         moved, and the others become references to it, which leaves 7. Pages with several references go to a block of their own.",
        "At last files 2 and 4 are deleted. Above, pages die in two blocks, which are then worth an erase, and below in one: a page \
         that others still refer to stays.",
    ],
    film,
};

/// Content of the files, with one letter for each page.
const FILES: [&str; 4] = ["ABCD", "EBF", "DAB", "BG"];

/// Numbers of the files that are deleted.
const DELETED: [usize; 2] = [1, 3];

const PAGES_PER_BLOCK: u32 = 6;

/// Number of pages of files per block; the other two pages of a block are invalid when it is cleaned.
const VALID_PAGES_PER_BLOCK: u32 = 4;

/// Logical page that is overwritten until erased blocks run low.
const FILLER: u32 = 18;

/// Appearance of pages by page number in the store, which identifies the content.
type Appearances = Arc<Mutex<HashMap<Lpn, Cell>>>;

/// Victim policy that selects the blocks of the figure in the given order.
struct ScriptedVictims(VecDeque<u32>);

impl VictimPolicy for ScriptedVictims {
    fn select(&mut self, _blocks: &Blocks) -> BlockId {
        BlockId(self.0.pop_front().expect("the figure has three victims"))
    }
}

/// One of the two drives of the figure.
struct Drive {
    layer: BoxedLayer<ContentId>,
    sharing: Option<SharedTables>,
    appearances: Appearances,
}

fn reclaim_and_blocks(pages: u32, streams: u8, spare_blocks: u32) -> (Reclaim, u32) {
    let reclaim = Reclaim::FreePool { low: 3, high: 4 };
    (reclaim, pages.div_ceil(PAGES_PER_BLOCK) + reclaim.reserved_blocks(streams) + spare_blocks)
}

impl Drive {
    /// Returns a drive with or without deduplication, and its number of blocks.
    fn new(merges: bool, number: usize, watch: &EventLog) -> Result<(Drive, u32), Failure> {
        let config: DedupConfig =
            serde_json::from_value(json!({ "kind": "cagc", "promotion": "when_moved" }))?;
        let placement: PlacementConfig =
            serde_json::from_value(json!(if merges { "references" } else { "single" }))?;
        let sharing = merges.then(|| SharedTables::new(&config, FILLER + 1, 0)).transpose()?;
        let logical_pages = sharing.as_ref().map_or(FILLER + 1, SharedTables::store_pages);
        let size = StoreSize { blocks: 0, pages_per_block: PAGES_PER_BLOCK, logical_pages, seed: Seed(1) };
        let placement =
            placement.build_boxed(PlacementContext { size: &size, temperature: None, foresight: None })?;
        let (reclaim, blocks) =
            reclaim_and_blocks(logical_pages, placement.streams(), if merges { 1 } else { 2 });
        let nand = Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), Wear::default(), Seed(1));
        let flash = RecordingNand::new(nand, Journal::paused()).with_watcher(Some(watch.recorder(number)));
        let log = BoxedLog {
            config: StoreConfig::new(logical_pages, reclaim, Seed(1)),
            // The first five blocks contain only overwritten pages; the files are in blocks 5 to 7.
            victim: Box::new(ScriptedVictims([7, 5, 6].into())),
            placement,
            levelling: None,
            migration: sharing.as_ref().and_then(|sharing| sharing.migration_policy(None, true)),
        };
        let store = ContentId::boxed_log_on_recording_nand(flash, log)?;
        let layer: BoxedLayer<ContentId> = match &sharing {
            Some(sharing) => Box::new(Dedup::new(sharing.clone(), store, None)?),
            None => store,
        };
        Ok((Drive { layer, sharing, appearances: Appearances::default() }, blocks))
    }

    /// Writes pages with the given contents and appearance.
    fn write(&mut self, pages: &[(Lpn, ContentId, Cell)]) -> Result<(), Failure> {
        let numbers: Vec<Lpn> = pages.iter().map(|(page, ..)| *page).collect();
        let data: Vec<ContentId> = pages.iter().map(|(_, content, _)| *content).collect();
        self.layer.write(&numbers, &data, 0)?;
        let mut appearances = self.appearances.lock().unwrap_or_else(PoisonError::into_inner);
        for (page, _, cell) in pages {
            let stored = match &self.sharing {
                Some(sharing) => sharing.slot_of(*page).map(|(slot, ..)| Lpn(slot)),
                None => Some(*page),
            };
            appearances.extend(stored.map(|stored| (stored, cell.clone())));
        }
        Ok(())
    }

    /// Returns the stored pages of files with their reference counts: first the unshared pages, then the shared pages.
    fn stored(&self) -> Option<[Vec<Cell>; 2]> {
        let sharing = self.sharing.as_ref()?;
        let appearances = self.appearances.lock().unwrap_or_else(PoisonError::into_inner);
        let found = (0..FILLER).filter_map(|page| sharing.slot_of(Lpn(page)));
        let slots: BTreeMap<u32, u32> = found.map(|(slot, references, _)| (slot, references)).collect();
        let mut rows = [Vec::new(), Vec::new()];
        for (slot, references) in slots {
            let Some(cell) = appearances.get(&Lpn(slot)).filter(|cell| !cell.label.is_empty()) else {
                continue;
            };
            let label =
                if references > 1 { format!("{}×{references}", cell.label) } else { cell.label.clone() };
            rows[usize::from(references > 1)].push(Cell { label, ..cell.clone() });
        }
        rows.iter_mut().for_each(|row| row.sort_by(|a, b| a.label.cmp(&b.label)));
        Some(rows)
    }
}

/// Returns the logical page of the page `at` of the files: of each six pages of a block, four belong to files.
fn page_of(at: u32) -> Lpn {
    Lpn(at / VALID_PAGES_PER_BLOCK * PAGES_PER_BLOCK + at % VALID_PAGES_PER_BLOCK)
}

/// Returns all pages of the files with their letters, in order.
fn file_pages() -> Vec<(usize, char)> {
    (0..).zip(FILES).flat_map(|(file, letters)| letters.chars().map(move |letter| (file, letter))).collect()
}

/// Returns the appearance of a page that belongs to no file.
fn filler_cell() -> Cell {
    Cell { group: 7, ..Cell::default() }
}

fn letter_cell(letter: char) -> Cell {
    Cell { label: letter.to_string(), group: u32::from(letter) - u32::from('A'), cause: 0 }
}

/// Both drives during the filming.
struct FilmedDrives {
    drives: Vec<Drive>,
    watch: EventLog,
    director: Director,
}

impl FilmedDrives {
    fn new() -> Result<FilmedDrives, Failure> {
        let watch = EventLog::default();
        let (mut drives, mut media) = (Vec::new(), Vec::new());
        for (number, (name, merges)) in [("Traditional", false), ("CAGC", true)].into_iter().enumerate() {
            let (drive, blocks) = Drive::new(merges, number, &watch)?;
            drives.push(drive);
            let pages_per_block = PAGES_PER_BLOCK;
            media.push(Medium {
                name: name.to_owned(),
                word: "block",
                blocks,
                pages_per_block,
                users: Vec::new(),
            });
        }
        let appearances: Vec<Appearances> = drives.iter().map(|drive| drive.appearances.clone()).collect();
        let appearance = move |at: usize, page: Lpn| {
            let drive_appearances = appearances[at].lock().unwrap_or_else(PoisonError::into_inner);
            Some(drive_appearances.get(&page).cloned().unwrap_or_else(filler_cell))
        };
        let director = Director::new(media, "Two new drives.").with_appearance(Box::new(appearance));
        Ok(FilmedDrives { drives, watch, director })
    }

    /// Performs an action on both drives, one after the other.
    fn for_each_drive(
        &mut self,
        mut action: impl FnMut(&mut Drive) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for drive in &mut self.drives {
            action(drive)?;
            self.director.add_events(self.watch.take());
            if let Some(rows) = drive.stored() {
                let rows = rows.into_iter().enumerate();
                self.director
                    .extend_last_frame(rows.map(|(row, cells)| Op::Row { panel: 2, row, cells }).collect());
            }
        }
        Ok(())
    }

    /// Overwrites the filler page until erased blocks run low, then writes the files; two pages of each block become
    /// invalid immediately.
    fn write_files(&mut self) -> Result<usize, Failure> {
        for version in 0..30 {
            self.for_each_drive(|drive| {
                drive.write(&[(Lpn(FILLER), ContentId(1000 + version), filler_cell())])
            })?;
        }
        let before = self.director.frames();
        self.director.add_text_frame("Four files are written to both drives: ABCD, EBF, DAB and BG. Blocks 0–4 hold only what was overwritten.");
        for (block, valid) in (0..).zip(file_pages().chunks(VALID_PAGES_PER_BLOCK as usize)) {
            let first = PAGES_PER_BLOCK * block;
            let named = valid.iter().map(|(_, name)| (ContentId(*name as u64), letter_cell(*name)));
            let invalidated = (0..2).map(|name| (ContentId(100 + name + u64::from(first)), filler_cell()));
            let pages: Vec<(Lpn, ContentId, Cell)> = (first..)
                .zip(named.chain(invalidated))
                .map(|(page, (content, cell))| (Lpn(page), content, cell))
                .collect();
            self.for_each_drive(|drive| drive.write(&pages))?;
            let last: Vec<Lpn> = pages[valid.len()..].iter().map(|(page, ..)| *page).collect();
            self.for_each_drive(|drive| Ok(drive.layer.trim(&last)?))?;
        }
        Ok(before)
    }
}

fn film() -> Result<Film, Failure> {
    let mut scene = FilmedDrives::new()?;
    let before = scene.write_files()?;
    scene.director.add_text_frame(
        "Erased blocks run low: the next page that is written makes each drive clean the three blocks.",
    );
    scene.for_each_drive(|drive| drive.write(&[(Lpn(FILLER), ContentId(2000), filler_cell())]))?;
    scene.director.add_text_frame(
        "The traditional drive moved 12 pages, CAGC 7. Now files 2 (EBF) and 4 (BG) are deleted.",
    );
    let of_deleted = (0..).zip(file_pages()).filter(|(_, (file, _))| DELETED.contains(file));
    let deleted: Vec<Lpn> = of_deleted.map(|(at, _)| page_of(at)).collect();
    scene.for_each_drive(|drive| Ok(drive.layer.trim(&deleted)?))?;
    scene.drives.iter().try_for_each(|drive| drive.layer.check())?;
    scene
        .director
        .add_text_frame("Dead pages are now in two blocks of the traditional drive, and in one of CAGC's.");
    let mut film = scene.director.film(String::new(), Vec::new());
    let rows = ["one reference", "shared"].map(str::to_owned).into();
    film.panels.push(Panel {
        name: "CAGC's pages and their references".to_owned(),
        content: PanelContent::Rows { rows },
    });
    Ok(film.starting_at(before - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{PageStatus, State};
    use std::collections::BTreeSet;

    #[test]
    fn film_matches_counts_of_figure() {
        let film = film().unwrap();
        let mut state = State::of(&film);
        let (mut moved, mut erased, mut invalidated) = ([0, 0], [0, 0], [BTreeSet::new(), BTreeSet::new()]);
        let deletion = film.frames.iter().position(|frame| frame.text.contains("are deleted")).unwrap();
        for (step, frame) in film.frames.iter().enumerate() {
            state.apply(frame);
            for op in &frame.ops {
                match op {
                    Op::Write { panel, cell, .. } if cell.cause == 1 => moved[*panel] += 1,
                    Op::Erase { panel, .. } => erased[*panel] += 1,
                    Op::Invalidate { panel, block, .. } if step > deletion => {
                        invalidated[*panel].insert(*block);
                    }
                    _ => {}
                }
            }
        }
        // The paper writes 12 and 7 pages. Its "2 flash block erase operations" and 1 are the numbers of blocks that
        // the deletion leaves with invalid pages. The freed 6 and 11 pages are the 18 pages of three blocks minus the
        // moved pages.
        assert_eq!((moved, erased), ([12, 7], [3, 3]));
        assert_eq!(invalidated.map(|blocks| blocks.len()), [2, 1]);
        let valid = |at: usize| {
            let valid_pages = state.panels[at].pages.iter().filter(|page| page.status == PageStatus::Valid);
            let mut letters: Vec<&str> =
                valid_pages.map(|page| page.cell.label.as_str()).filter(|label| !label.is_empty()).collect();
            letters.sort_unstable();
            letters.concat()
        };
        assert_eq!([valid(0), valid(1)], ["AABBCDD", "ABCD"]);
        let rows =
            |row: usize| state.panels[2].rows[row].iter().map(|cell| cell.label.clone()).collect::<Vec<_>>();
        assert_eq!(
            (rows(0), rows(1)),
            (vec!["C".to_owned()], ["A×2", "B×2", "D×2"].map(str::to_owned).into())
        );
    }
}
