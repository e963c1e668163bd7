//! Power cuts at every moment of a short run, over every FTL: flushed data survive, and all tables are consistent.

use super::super::*;
use super::ftls::{FTLS, PAGES, Use, draw, kinds, with};
use crate::counters::Operation;
use crate::ftl::tests::drives::{Chips, has_battery, reports};
use crate::ftl::tests::kept::Rebuilt;
use crate::ftl::{CutSettings, Cuts, Interrupted, Outages, PowerCycle, Restart};
use crate::layer::{DedupReport, Layer, RecoveryReport, Run};
use crate::nand::{Cut, Nand, OwnNote, SpareKeeper, Supply};
use crate::seed::Seed;
use crate::units::BlockId;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Requests of a run, and of the warm-up before power may be cut.
const STEPS: u32 = 130;

/// Half the requests of a run that is cut at every operation: enough to fill the drive and to clean some blocks. A
/// drive that also writes a validity log is larger.
fn few_steps(ftl: &str) -> u32 {
    if ftl == "ib_ftl" { 85 } else { 48 }
}

/// A run with power cuts. After each cut, and at the end, all pages are read back and the tables recounted.
struct History {
    name: String,
    steps: u32,
    cuts: Cuts,
    recovery: f64,
    again: f64,
    outages: Outages,
    erases: u64,
    /// Programs and erases, as counted by the layer and by the flash.
    sent: [u64; 2],
    flash: Option<(u64, u64)>,
    /// Recovery report of a final cut.
    last: Option<RecoveryReport>,
    dedup: Option<DedupReport>,
}

impl Use for History {
    fn on<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, supply: Supply)
    where
        F: Restart<Flash = Chips>,
        F::Settings: Send,
    {
        self.of(layer, settings, supply);
        let (programs, erases) = self.flash.expect("just counted");
        assert_eq!(self.sent, [programs, erases], "{}", self.name);
    }
}

impl History {
    /// Runs any layer that can restart.
    fn of<D>(&mut self, layer: D, settings: D::Settings, supply: Supply)
    where
        D: Restart<Flash = Chips>,
        D::Settings: Send,
    {
        let History { name, steps, cuts, recovery, again, .. } = self;
        let cut = CutSettings {
            cuts: cuts.clone(),
            recovery_cut_probability: *recovery,
            cut_again_probability: *again,
            seed: Seed(2),
        };
        let mut drive = Interrupted::<_, Content>::new(layer, settings, supply, cut, Journal::paused());
        let mut random = Seed(3).random();
        let mut done = Ok(());
        for step in 0..2 * *steps {
            if step == *steps {
                drive.begin(u64::from(*steps));
            }
            let (pages, data) = draw(&mut random);
            done = done.and_then(|()| match step % 16 {
                15 => drive.flush(),
                7 | 11 => drive.trim(&pages),
                5 => drive.read(&pages, &mut Vec::new()),
                _ => drive.write(&pages, &data, 0),
            });
        }
        let all: Vec<Lpn> = (0..PAGES).map(Lpn).collect();
        done = done.and_then(|()| drive.read(&all, &mut Vec::new()));
        done.unwrap_or_else(|error| panic!("{name} {cuts:?}: {error}"));
        drive.check().unwrap_or_else(|error| panic!("{name} {cuts:?}: {error}"));
        let (own, nand) = reports::<Content>(&drive);
        self.sent = [Operation::Write, Operation::Erase].map(|op| own.counters.outgoing_total(op));
        self.flash = Some((nand.programs, nand.erases));
        self.erases = nand.erases;
        self.outages = drive.outages().unwrap();
        self.last =
            Some(drive.cycle().unwrap_or_else(|error| panic!("{name} {cuts:?}, at the end: {error}")));
        self.dedup = reports::<Content>(&drive).0.dedup;
    }
}

impl History {
    fn new(ftl: &str, kind: &Value, cuts: Cuts, recovery: f64) -> Self {
        let name = format!("{ftl} {kind}");
        History {
            name,
            steps: STEPS,
            cuts,
            recovery,
            again: 0.0,
            outages: Outages::default(),
            erases: 0,
            sent: [0; 2],
            flash: None,
            last: None,
            dedup: None,
        }
    }
}

fn history(ftl: &str, kind: &Value, cuts: Cuts, recovery: f64) -> History {
    let mut history = History::new(ftl, kind, cuts, recovery);
    with(ftl, kind, &mut history);
    history
}

/// Cuts power at many operations of the run, singly and in series, with cuts during recovery.
fn exercise(ftl: &str, kind: &Value, step: usize) {
    let battery = has_battery(ftl);
    let (mut met, mut torn) = (0, 0);
    for after in (0..).step_by(step) {
        let cut = Cut { after, torn: after % 2 == 0 };
        let outages = history(ftl, kind, Cuts::At(vec![cut]), 0.0).outages;
        if outages.cuts == 0 {
            break;
        }
        (met, torn) = (met + 1, torn + outages.torn_cuts);
    }
    assert!(met * step > 80, "{ftl} {kind}: {met} of the operations were there");
    assert_eq!(torn > 1, !battery, "{ftl} {kind}: {torn} were torn");
    for every in [60, 100] {
        let outages = history(ftl, kind, Cuts::Every(every), 0.4).outages;
        assert!(outages.cuts > 0, "{ftl} {kind}: {outages:?}");
        assert_eq!(outages.pages_verified, outages.cuts * u64::from(PAGES));
        assert_eq!(outages.recoveries.len() as u64, outages.cuts);
    }
    // Series of cuts, without verification between them.
    let mut history = History { again: 0.8, ..History::new(ftl, kind, Cuts::Every(60), 0.4) };
    with(ftl, kind, &mut history);
    let outages = &history.outages;
    assert!(outages.pages_verified < outages.cuts * u64::from(PAGES), "{ftl} {kind}: {outages:?}");
}

/// Runs layers that restart from the bytes of their flash.
struct OnBytes(History);

impl Use for OnBytes {
    fn on<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, supply: Supply)
    where
        F: Restart<Flash = Chips>,
        F::Settings: Send,
    {
        let notes = settings.notes.clone();
        let dress = Arc::new(move |nand: Nand<Content>| nand.with_spare_keeper(Box::new(notes.clone())));
        let (layer, settings) = Rebuilt::new(layer, settings, &supply, dress, [false; 2]);
        self.0.of(layer, settings, supply);
    }
}

#[test]
fn every_kind_restarts_from_bytes_on_every_ftl() {
    for (ftl, cleaning) in FTLS {
        for kind in kinds(cleaning, &json!({ "map_log": true, "map_log_page_records": 5 })) {
            let mut met = 0;
            for after in (0..).step_by(23) {
                let cut = Cuts::At(vec![Cut { after, torn: after % 2 == 0 }]);
                let mut history = OnBytes(History::new(ftl, &kind, cut, 0.0));
                with(ftl, &kind, &mut history);
                if history.0.outages.cuts == 0 {
                    break;
                }
                met += 1;
            }
            assert!(met > 3, "{ftl} {kind}: {met} cuts");
            let cuts = Cuts::Every(60);
            let mut history = OnBytes(History { again: 0.5, ..History::new(ftl, &kind, cuts, 0.4) });
            with(ftl, &kind, &mut history);
            assert!(history.0.outages.cuts > 0, "{ftl} {kind}");
        }
    }
}

#[test]
fn every_kind_restarts_on_every_ftl() {
    for (ftl, cleaning) in FTLS {
        for kind in kinds(cleaning, &json!({ "map_log": true, "map_log_page_records": 5 })) {
            let step = if matches!(kind["kind"].as_str(), Some("inline" | "cagc")) { 3 } else { 17 };
            exercise(ftl, &kind, step);
        }
    }
}

/// Power is cut before each operation of a short run, and in the middle of each.
#[test]
fn power_cut_at_any_operation_is_survived() {
    let mut combinations = 0;
    for (ftl, cleaning) in FTLS {
        let battery = has_battery(ftl);
        for kind in kinds(cleaning, &json!({ "map_log": true, "map_log_page_records": 5 })) {
            let (mut cuts, mut erases) = (0, 0);
            for after in 0.. {
                let mut met = 0;
                // A battery completes the operation.
                for torn in [false, true].into_iter().filter(|torn| !(*torn && battery)) {
                    let cut = Cuts::At(vec![Cut { after, torn }]);
                    let mut history = History { steps: few_steps(ftl), ..History::new(ftl, &kind, cut, 0.0) };
                    with(ftl, &kind, &mut history);
                    (met, erases) = (met + history.outages.cuts, history.erases);
                }
                if met == 0 {
                    break;
                }
                cuts += met;
            }
            combinations += 1;
            assert!(cuts > 100, "{ftl} {kind}: {cuts} cuts");
            // The run without a cut.
            assert!(erases > 2, "{ftl} {kind}: {erases} blocks were erased");
        }
    }
    assert_eq!(combinations, 6 * 4 + 2 * 3);
}

#[test]
fn index_in_flash_is_rebuilt() {
    let index = json!({
        "map_log": true,
        "map_log_page_records": 3,
        "index": { "verify": true, "paged": { "page_entries": 5, "cached_pages": 2 } },
    });
    for (ftl, cleaning) in FTLS {
        kinds(cleaning, &index).iter().for_each(|kind| exercise(ftl, kind, 29));
    }
}

/// Recovery reads are counted.
#[test]
fn recovery_reads_the_spare_areas_and_the_map_log() {
    for (ftl, _) in FTLS {
        let kind = json!({ "kind": "inline", "map_log": true, "map_log_page_records": 5 });
        let history = history(ftl, &kind, Cuts::At(Vec::new()), 0.0);
        let steps = history.last.unwrap().steps;
        let find = |name: &str| steps.iter().find(|step| step.name == name);
        let log = find("log of the map").expect("it was read");
        assert!(log.page_reads > 0, "{ftl}: {log:?}");
        // The log in RAM has read all spare areas for its own recovery.
        assert_eq!(find("spare areas of slots").is_none(), ftl == "log", "{ftl}");
        assert!(find("spare areas of slots").is_none_or(|step| step.spare_reads > u64::from(PAGES)), "{ftl}");
        assert!(history.dedup.unwrap().hits > 20, "{ftl}: counts go on through all lives");
    }
}

/// Spare areas of which some lack their note.
struct Lying {
    notes: SpareNotes,
    runs: u32,
}

impl SpareKeeper<Content> for Lying {
    fn describe(&self, owner: Lpn, cause: Cause, bytes: &mut [u8]) -> Result<Option<OwnNote>, String> {
        self.notes.describe(owner, cause, bytes)
    }

    fn written(&mut self, block: BlockId, page: u32, run: &Run<'_, Content>) {
        self.runs += 1;
        if !self.runs.is_multiple_of(9) {
            self.notes.written(block, page, run);
        }
    }

    fn erased(&mut self, block: BlockId) {
        self.notes.erased(block);
    }
}

/// Runs on flash with missing notes.
struct OnLies(History);

impl Use for OnLies {
    fn keeper(&self, notes: &SpareNotes) -> Box<dyn SpareKeeper<Content>> {
        Box::new(Lying { notes: notes.clone(), runs: 0 })
    }

    fn on<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, supply: Supply)
    where
        F: Restart<Flash = Chips>,
        F::Settings: Send,
    {
        self.0.on(layer, settings, supply);
    }
}

/// Verifies the tests of power cuts: they must detect lost data.
#[test]
fn missing_notes_are_detected() {
    for (ftl, _) in FTLS {
        let kind = json!({ "kind": "inline", "map_log": true, "map_log_page_records": 5 });
        let history = History::new(ftl, &kind, Cuts::Every(60), 0.0);
        let lost = catch_unwind(AssertUnwindSafe(|| with(ftl, &kind, &mut OnLies(history))));
        assert!(lost.is_err(), "{ftl}: nothing is missed");
    }
}
