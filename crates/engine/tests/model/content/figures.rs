//! The example of the CAGC paper's Figure 8, page by page.

use super::DriveConfig;
use crate::naive::observe::reports;
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::dedup::{DedupConfig, SharedTables};
use wearwell_engine::layer::ContentId;
use wearwell_engine::log::BoxedLayer;
use wearwell_engine::timing::Journal;
use wearwell_engine::victim::{Blocks, VictimPolicy};

/// Takes victims in a given order, and records the blocks in which pages become invalid.
struct ScriptedVictims {
    order: VecDeque<u32>,
    invalidated_in: Arc<Mutex<BTreeSet<u32>>>,
}

impl VictimPolicy for ScriptedVictims {
    fn invalidated(&mut self, block: BlockId, _score: u32, _blocks: &Blocks) {
        self.invalidated_in.lock().unwrap().insert(block.0);
    }

    fn select(&mut self, _blocks: &Blocks) -> BlockId {
        BlockId(self.order.pop_front().expect("no more victims than those of the figure"))
    }
}

/// Returns the pages that cleaning writes, and the number of blocks with invalid pages after files 2 and 4 are
/// deleted.
///
/// The paper's "2 flash block erase operations" and "1" are interpreted as these blocks: those for which an erase is
/// worthwhile after the deletion. They cannot be the erases of the cleaning that writes the 12 or 7 pages, because both
/// clean the same blocks. 18 pages are three blocks of 6; 12 live pages leave 6 free, 7 leave 11.
fn figure_8(dedup: bool) -> (u64, usize) {
    const INVALID_CONTENTS: [u64; 2] = [100, 101];
    // Four files in the order in which they were written; two pages of each block are invalid by now.
    let files: [&[u8]; 4] = [b"ABCD", b"EBF", b"DAB", b"BG"];
    let pages: Vec<u8> = files.concat();
    let drive = DriveConfig {
        dedup: json!({ "kind": "cagc", "promotion": "when_moved" }),
        placement: json!(if dedup { "references" } else { "single" }),
        logical_pages: 19,
        pages_per_block: 6,
        watermarks: (3, 4),
        spare_blocks: if dedup { 1 } else { 2 },
        ..DriveConfig::default()
    };
    let invalidated_in = Arc::new(Mutex::new(BTreeSet::new()));
    // Blocks 0 to 4 hold only overwritten pages, so that erased blocks run low; the files are in blocks 5, 6 and 7.
    let victim =
        Box::new(ScriptedVictims { order: [7, 5, 6].into(), invalidated_in: invalidated_in.clone() });
    let mut layer: BoxedLayer<ContentId> = if dedup {
        Box::new(drive.build_with(Some(victim)).0)
    } else {
        drive.store(drive.logical_pages, None, &Journal::default(), Some(victim))
    };
    let last = Lpn(18);
    for version in 0..30 {
        layer.write(&[last], &[ContentId(1000 + version)], 0).unwrap();
    }
    for (block, live) in (0..).zip(pages.chunks(4)) {
        let first = 6 * block;
        let numbers: Vec<Lpn> = (first..first + 6).map(Lpn).collect();
        let live_contents = live.iter().map(|&letter| u64::from(letter));
        let data: Vec<ContentId> = live_contents
            .chain(INVALID_CONTENTS.map(|name| name + u64::from(first)))
            .map(ContentId)
            .collect();
        layer.write(&numbers, &data, 0).unwrap();
        layer.trim(&numbers[4..]).unwrap();
    }
    // The next page needs a block, and cleaning runs first.
    layer.write(&[last], &[ContentId(2000)], 0).unwrap();
    let counters = reports(&*layer).layers[0].counters;
    assert_eq!(counters.outgoing(Cause::Cleaning, Operation::Erase), 3);
    invalidated_in.lock().unwrap().clear();
    // Of the twelve pages, the 5th to 7th are file 2 and the last two are file 4; each block holds four of these twelve
    // pages.
    let deleted: Vec<Lpn> = [4, 5, 6, 10, 11].map(|at| Lpn(at / 4 * 6 + at % 4)).into();
    layer.trim(&deleted).unwrap();
    let mut read = Vec::new();
    let remaining: Vec<Lpn> = [0, 1, 2, 3, 7, 8, 9].map(|at| Lpn(at / 4 * 6 + at % 4)).into();
    layer.read(&remaining, &mut read).unwrap();
    assert_eq!(read, b"ABCDDAB".map(|letter| ContentId(u64::from(letter))));
    layer.check().unwrap();
    let blocks = invalidated_in.lock().unwrap().len();
    (counters.outgoing(Cause::Cleaning, Operation::Write), blocks)
}

#[test]
fn cagc_moved_pages_match_figure_8() {
    let ((plain, plain_erases), (merged, merged_erases)) = (figure_8(false), figure_8(true));
    assert_eq!((plain, plain_erases, 18 - plain), (12, 2, 6));
    assert_eq!((merged, merged_erases, 18 - merged), (7, 1, 11));
}

#[test]
fn stores_without_migration_support_are_refused() {
    let sharing = SharedTables::new(&DriveConfig::default().config(), 80, 0).unwrap();
    let setup = crate::naive::rig::Setup::default();
    let store = setup.engine_on(setup.nand::<ContentId>()).unwrap();
    let migration = sharing.migration_policy(None, false).expect("cagc looks while cleaning");
    assert_eq!(store.with_migration_policy(migration).err().unwrap().key, "reclaim");
    let config: DedupConfig = serde_json::from_value(json!("inline")).unwrap();
    assert!(SharedTables::new(&config, 80, 0).unwrap().migration_policy(None, false).is_none());
}
