//! Figures 2 to 4 of the NVMFS paper: the lists on the NVRAM, and the extents of the SSD.

use super::Lesson;
use crate::film::{Cell, Film, Frame, Op, Panel, PanelContent};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, FileSystem, Ino, Kind, ROOT};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::EXTENT_BLOCKS;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::{BlockOp, BlockRequest, MemorySsd, RecordingSsd};
use wearwell_nvmfs::stats::Counts;
use wearwell_nvmfs::store::{BlockMap, FileBlock};
use wearwell_plot::Failure;

pub const LESSON: Lesson = Lesson {
    name: "nvmfs-extents",
    title: "Hot on NVRAM, cold on the SSD in extents",
    source: "Qiu and Reddy, \"NVMFS: A hybrid file system for improving random write in NAND-flash SSD\" (MSST 2013), Section III and \
             Figures 2 to 4",
    notes: &[
        "Four files, a colour each, are written in random places. What is written goes to NVRAM, to the front of the dirty list; a block \
         that is written again while it is there costs the SSD nothing.",
        "When the dirty list is too long, the blocks that were not used for longest go to the SSD, 128 at a time, one request for an \
         extent of 512 KiB: random writes have become sequential ones. They stay on NVRAM as clean ones until room is needed.",
        "A block that is written anew leaves a hole where it was on the SSD. Nothing is overwritten there: when few extents are free, the \
         one with most holes is recycled, what is valid in it goes back to NVRAM, and the whole extent is trimmed.",
    ],
    film,
};

const EXTENTS: u64 = 16;
const NVRAM_BYTES: usize = 4 << 20;
const FILES: u32 = 4;
const BLOCKS_OF_FILE: u32 = 320;
/// Number of blocks per write.
const BURST: u32 = 16;
const WRITES: u32 = 420;
/// Maximum number of blocks drawn per list.
const MAX_LISTED_BLOCKS: usize = 58;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 0 };

type Requests = Arc<Mutex<Vec<BlockRequest>>>;

/// File system during the filming.
struct FilmedNvmfs {
    fs: Nvmfs<PlainNvram, RecordingSsd<MemorySsd>>,
    requests: Requests,
    files: Vec<Ino>,
    random: Random,
    frames: Vec<Frame>,
    /// Valid blocks of the SSD according to the film.
    valid: BTreeMap<u64, FileBlock>,
}

fn film() -> Result<Film, Failure> {
    let mut played = FilmedNvmfs::new()?;
    for write in 0..WRITES {
        played.write(write)?;
    }
    Ok(played.film())
}

fn to_failure(error: impl std::fmt::Debug) -> Failure {
    format!("{error:?}").into()
}

impl FilmedNvmfs {
    fn new() -> Result<FilmedNvmfs, Failure> {
        let requests = Requests::default();
        let sink = Arc::clone(&requests);
        let ssd = RecordingSsd::new(MemorySsd::new(EXTENTS * EXTENT_BLOCKS), move |request| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        });
        let options = Options { recycle_free: 0.25, ..Options::default() };
        let format = Format { inodes: Some(32), ..Format::default() };
        let mut fs = Nvmfs::format(PlainNvram::new(NVRAM_BYTES), Arc::new(ssd), &format, options)
            .map_err(to_failure)?;
        let mut files = Vec::new();
        for name in [b"a", b"b", b"c", b"d"] {
            files.push(fs.create(ROOT, name, Kind::File, 0o600, 0, &CALLER).map_err(to_failure)?.ino);
        }
        requests.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let first = Frame {
            text: "Four empty files; the SSD's first extent is the label's.".to_owned(),
            ops: Vec::new(),
        };
        let random = Seed(1).derive("nvmfs").random();
        Ok(FilmedNvmfs { fs, requests, files, random, frames: vec![first], valid: BTreeMap::new() })
    }

    /// Writes a burst of blocks and shows the effects.
    fn write(&mut self, number: u32) -> Result<(), Failure> {
        let bursts = u64::from(BLOCKS_OF_FILE / BURST);
        // At first every file is written completely, then random bursts are written, mostly in the first file.
        let (file, burst) = match u64::from(number) {
            number if number < bursts * u64::from(FILES) => ((number / bursts) as usize, number % bursts),
            _ => {
                let hot = random_below(&mut self.random, 2) > 0;
                let file = if hot { 0 } else { random_below(&mut self.random, u64::from(FILES)) as usize };
                (file, random_below(&mut self.random, bursts))
            }
        };
        let first = burst as u32 * BURST;
        let (ino, before) = (self.files[file], self.fs.store().counts);
        let data = vec![number as u8; BURST as usize * BLOCK_BYTES];
        let done =
            self.fs.write(ino, u64::from(first) * BLOCK_BYTES as u64, &data, &CALLER).map_err(to_failure)?;
        if done != data.len() {
            return Err("the file system took less than it was given".into());
        }
        let (after, block_map) = (self.fs.store().counts, self.fs.store().block_map());
        self.show_write(file, ino, first, (&before, &after), &block_map);
        let requests = std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        self.show_recycling((&before, &after), &block_map);
        for request in requests {
            self.show_request(request, &block_map);
        }
        self.show_lists(&block_map);
        Ok(())
    }

    /// Invalidates those blocks in the film that are no longer valid on the SSD and for which `filter` returns true.
    fn invalidate_blocks(
        &mut self,
        block_map: &BlockMap,
        filter: impl Fn(u64, FileBlock) -> bool,
    ) -> Vec<Op> {
        let invalid: Vec<u64> = self
            .valid
            .iter()
            .filter(|(block, owner)| {
                block_map.ssd[**block as usize] != Some(**owner) && filter(**block, **owner)
            })
            .map(|(block, _)| *block)
            .collect();
        let invalidate = |block: u64| {
            let (extent, page) = extent_and_page(block);
            Op::Invalidate { panel: 0, block: extent, page }
        };
        invalid
            .into_iter()
            .map(|block| {
                self.valid.remove(&block);
                invalidate(block)
            })
            .collect()
    }

    fn show_write(
        &mut self,
        file: usize,
        ino: Ino,
        first: u32,
        (before, after): (&Counts, &Counts),
        block_map: &BlockMap,
    ) {
        let range = first..first + BURST;
        let ops =
            self.invalidate_blocks(block_map, |_, (owner, block)| owner == ino && range.contains(&block));
        let hits = after.write_hits - before.write_hits;
        let name = ["a", "b", "c", "d"][file];
        let mut text = format!("Blocks {first}–{} of file {name} are written to NVRAM", first + BURST - 1);
        if hits > 0 {
            text += &format!("; {hits} were there already");
        }
        if !ops.is_empty() {
            text += &format!("; {} copies on the SSD are no longer valid", ops.len());
        }
        self.frames.push(Frame { text: text + ".", ops });
    }

    fn show_recycling(&mut self, (before, after): (&Counts, &Counts), block_map: &BlockMap) {
        let extents = after.recycled_extents - before.recycled_extents;
        if extents == 0 {
            return;
        }
        let moved = after.moved_blocks - before.moved_blocks;
        let ops = self.invalidate_blocks(block_map, |_, _| true);
        let what = if extents == 1 { "an extent is".to_owned() } else { format!("{extents} extents are") };
        let text =
            format!("Few extents are free: {what} recycled, and {moved} valid blocks go back to NVRAM.");
        self.frames.push(Frame { text, ops });
    }

    fn show_request(&mut self, request: BlockRequest, block_map: &BlockMap) {
        // The extent of the label is not drawn.
        if request.first < EXTENT_BLOCKS {
            return;
        }
        let blocks = request.first..request.first + request.blocks;
        let (extent, _) = extent_and_page(request.first);
        match request.op {
            BlockOp::Write => {
                let mut ops = Vec::new();
                for block in blocks {
                    let owner = block_map.ssd[block as usize];
                    let file = owner.and_then(|(ino, _)| self.files.iter().position(|file| *file == ino));
                    let (extent, page) = extent_and_page(block);
                    let cell = Cell { label: String::new(), cause: 0, group: file.unwrap_or(7) as u32 };
                    ops.push(Op::Write { panel: 0, block: extent, page, cell });
                    match owner {
                        Some(owner) => drop(self.valid.insert(block, owner)),
                        None => ops.push(Op::Invalidate { panel: 0, block: extent, page }),
                    }
                }
                let text = format!(
                    "The dirty list is long: the {} blocks not used for longest go to extent {extent}, in one request.",
                    request.blocks
                );
                self.frames.push(Frame { text, ops });
            }
            BlockOp::Trim => {
                let mut ops = self.invalidate_blocks(block_map, |block, _| blocks.contains(&block));
                let extents = extent..=extent_and_page(request.first + request.blocks - 1).0;
                ops.extend(extents.map(|block| Op::Erase { panel: 0, block, cause: 1 }));
                let text = format!("Extent {extent} holds nothing valid, and is trimmed.");
                self.frames.push(Frame { text, ops });
            }
            BlockOp::Read | BlockOp::Flush => {}
        }
    }

    /// Shows the current lists in the latest frame.
    fn show_lists(&mut self, block_map: &BlockMap) {
        let cells = |blocks: &[FileBlock]| -> Vec<Cell> {
            let of =
                |(ino, _): &FileBlock| self.files.iter().position(|file| file == ino).unwrap_or(7) as u32;
            let shown = if blocks.len() > MAX_LISTED_BLOCKS { MAX_LISTED_BLOCKS - 1 } else { blocks.len() };
            let cell = |block| Cell { label: String::new(), cause: 0, group: of(block) };
            let more = (shown < blocks.len()).then(|| Cell { label: "…".to_owned(), cause: 0, group: 7 });
            blocks[..shown].iter().map(cell).chain(more).collect()
        };
        let rows = [cells(&block_map.dirty), cells(&block_map.clean)];
        let invalidated = self.invalidate_blocks(block_map, |_, _| true);
        let frame = self.frames.last_mut().expect("there is a first one");
        frame.text += &format!(
            " NVRAM: {} dirty, {} clean, {} free.",
            block_map.dirty.len(),
            block_map.clean.len(),
            block_map.free_pages
        );
        let ops = &mut frame.ops;
        ops.extend(invalidated);
        ops.extend(rows.into_iter().enumerate().map(|(row, cells)| Op::Row { panel: 1, row, cells }));
    }

    fn film(self) -> Film {
        let (blocks, pages_per_block) = (EXTENTS as u32, EXTENT_BLOCKS as u32);
        let word = "extent".to_owned();
        let ssd = PanelContent::Blocks { blocks, pages_per_block, word, grouped: true };
        let rows = ["dirty, latest first", "clean, latest first"].map(str::to_owned).into();
        let panels = vec![
            Panel { name: "SSD, in extents".to_owned(), content: ssd },
            Panel { name: "NVRAM".to_owned(), content: PanelContent::Rows { rows } },
        ];
        Film { title: String::new(), notes: Vec::new(), panels, frames: self.frames }
    }
}

/// Returns the extent of a block, and the position of the block in the extent.
fn extent_and_page(block: u64) -> (u32, u32) {
    ((block / EXTENT_BLOCKS) as u32, (block % EXTENT_BLOCKS) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_filled_and_recycled() {
        let mut filmed = FilmedNvmfs::new().unwrap();
        for write in 0..WRITES {
            filmed.write(write).unwrap();
            // After each write, the film agrees with the file system.
            let block_map = filmed.fs.store().block_map();
            let expected: BTreeMap<u64, FileBlock> =
                (0..).zip(&block_map.ssd).filter_map(|(block, owner)| Some((block, (*owner)?))).collect();
            assert_eq!(filmed.valid, expected, "write {write}");
        }
        let counts = filmed.fs.store().counts;
        let film = filmed.film();
        let ops = || film.frames.iter().flat_map(|frame| &frame.ops);
        let written = ops().filter(|op| matches!(op, Op::Write { .. })).count() as u64;
        let trimmed = ops().filter(|op| matches!(op, Op::Erase { .. })).count() as u64;
        assert_eq!(written, counts.ssd_written_blocks);
        assert_eq!(trimmed * EXTENT_BLOCKS, counts.trimmed_blocks);
        // Random writes of 16 blocks reach the SSD in writes of 128 blocks, and fewer blocks are written to the SSD
        // than to the files.
        assert_eq!(counts.ssd_written_blocks, counts.ssd_writes * EXTENT_BLOCKS);
        assert!(counts.ssd_written_blocks < counts.written_blocks, "{counts:?}");
        assert!(counts.recycled_extents >= 2 && counts.write_hits > 500, "{counts:?}");
    }
}
