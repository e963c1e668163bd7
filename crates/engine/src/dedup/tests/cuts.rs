//! Power cuts at every moment of a short run, over every FTL: flushed data survives, and all tables are consistent.

use super::super::*;
use super::ftls::{FTLS, LayerVisitor, PAGES, draw, kinds, visit_ftl};
use crate::counters::Operation;
use crate::ftl::tests::drives::{PowerCutNand, has_battery, reports};
use crate::ftl::tests::stored_bytes::RebuiltFtl;
use crate::ftl::{CutSettings, CutTimes, Outages, PowerCutFtl, PowerCycle, Restart};
use crate::layer::{DedupReport, Layer, LayerError, RecoveryReport, Run};
use crate::nand::{MetadataNote, Nand, PowerCut, PowerSource, SpareStorage};
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
struct PowerCutRun {
    name: String,
    steps: u32,
    cuts: CutTimes,
    recovery_cut_probability: f64,
    cut_again_probability: f64,
    outages: Outages,
    erases: u64,
    /// Programs and erases, as counted by the layer and by the flash.
    counted_operations: [u64; 2],
    flash_operations: Option<(u64, u64)>,
    /// Recovery report of a final cut.
    final_recovery: Option<RecoveryReport>,
    dedup: Option<DedupReport>,
}

impl LayerVisitor for PowerCutRun {
    fn visit<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, power: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send,
    {
        self.run_layer(layer, settings, power);
        let (programs, erases) = self.flash_operations.expect("just counted");
        assert_eq!(self.counted_operations, [programs, erases], "{}", self.name);
    }
}

impl PowerCutRun {
    /// Runs any layer that can restart.
    fn run_layer<D>(&mut self, layer: D, settings: D::Settings, power: PowerSource)
    where
        D: Restart<Flash = PowerCutNand>,
        D::Settings: Send,
    {
        let PowerCutRun { name, steps, cuts, recovery_cut_probability, cut_again_probability, .. } = self;
        let cut = CutSettings {
            cuts: cuts.clone(),
            recovery_cut_probability: *recovery_cut_probability,
            cut_again_probability: *cut_again_probability,
            seed: Seed(2),
        };
        let mut drive = PowerCutFtl::<_, ContentId>::new(layer, settings, power, cut, Journal::paused());
        let mut random = Seed(3).random();
        let mut done = Ok(());
        for step in 0..2 * *steps {
            if step == *steps {
                drive.begin_measurement(u64::from(*steps));
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
        let (layer_report, nand) = reports::<ContentId>(&drive);
        self.counted_operations =
            [Operation::Write, Operation::Erase].map(|op| layer_report.counters.outgoing_total(op));
        self.flash_operations = Some((nand.programs, nand.erases));
        self.erases = nand.erases;
        self.outages = drive.outages().unwrap();
        self.final_recovery =
            Some(drive.cycle().unwrap_or_else(|error| panic!("{name} {cuts:?}, at the end: {error}")));
        self.dedup = reports::<ContentId>(&drive).0.dedup;
    }
}

impl PowerCutRun {
    fn new(ftl: &str, kind: &Value, cuts: CutTimes, recovery_cut_probability: f64) -> Self {
        let name = format!("{ftl} {kind}");
        PowerCutRun {
            name,
            steps: STEPS,
            cuts,
            recovery_cut_probability,
            cut_again_probability: 0.0,
            outages: Outages::default(),
            erases: 0,
            counted_operations: [0; 2],
            flash_operations: None,
            final_recovery: None,
            dedup: None,
        }
    }
}

fn run_with_cuts(ftl: &str, kind: &Value, cuts: CutTimes, recovery_cut_probability: f64) -> PowerCutRun {
    let mut history = PowerCutRun::new(ftl, kind, cuts, recovery_cut_probability);
    visit_ftl(ftl, kind, &mut history);
    history
}

/// Cuts power at many operations of the run, singly and in series, with cuts during recovery.
fn test_cuts(ftl: &str, kind: &Value, step: usize) {
    let battery = has_battery(ftl);
    let (mut cuts, mut torn) = (0, 0);
    for after in (0..).step_by(step) {
        let cut = PowerCut { after, torn: after % 2 == 0 };
        let outages = run_with_cuts(ftl, kind, CutTimes::At(vec![cut]), 0.0).outages;
        if outages.cuts == 0 {
            break;
        }
        (cuts, torn) = (cuts + 1, torn + outages.torn_cuts);
    }
    assert!(cuts * step > 80, "{ftl} {kind}: {cuts} of the operations were there");
    assert_eq!(torn > 1, !battery, "{ftl} {kind}: {torn} were torn");
    for every in [60, 100] {
        let outages = run_with_cuts(ftl, kind, CutTimes::Every(every), 0.4).outages;
        assert!(outages.cuts > 0, "{ftl} {kind}: {outages:?}");
        assert_eq!(outages.pages_verified, outages.cuts * u64::from(PAGES));
        assert_eq!(outages.recoveries.len() as u64, outages.cuts);
    }
    // Series of cuts, without verification between them.
    let mut history =
        PowerCutRun { cut_again_probability: 0.8, ..PowerCutRun::new(ftl, kind, CutTimes::Every(60), 0.4) };
    visit_ftl(ftl, kind, &mut history);
    let outages = &history.outages;
    assert!(outages.pages_verified < outages.cuts * u64::from(PAGES), "{ftl} {kind}: {outages:?}");
}

/// Runs layers that restart from the bytes of their flash.
struct RunFromBytes(PowerCutRun);

impl LayerVisitor for RunFromBytes {
    fn visit<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, power: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send,
    {
        let notes = settings.notes.clone();
        let with_notes =
            Arc::new(move |nand: Nand<ContentId>| nand.with_spare_storage(Box::new(notes.clone())));
        let (layer, settings) = RebuiltFtl::new(layer, settings, &power, with_notes, [false; 2]);
        self.0.run_layer(layer, settings, power);
    }
}

#[test]
fn every_kind_restarts_from_bytes_on_every_ftl() {
    for (ftl, cleaning) in FTLS {
        for kind in kinds(cleaning, &json!({ "map_log": true, "map_log_page_records": 5 })) {
            let mut cut_runs = 0;
            for after in (0..).step_by(23) {
                let cut = CutTimes::At(vec![PowerCut { after, torn: after % 2 == 0 }]);
                let mut history = RunFromBytes(PowerCutRun::new(ftl, &kind, cut, 0.0));
                visit_ftl(ftl, &kind, &mut history);
                if history.0.outages.cuts == 0 {
                    break;
                }
                cut_runs += 1;
            }
            assert!(cut_runs > 3, "{ftl} {kind}: {cut_runs} cuts");
            let cuts = CutTimes::Every(60);
            let mut history = RunFromBytes(PowerCutRun {
                cut_again_probability: 0.5,
                ..PowerCutRun::new(ftl, &kind, cuts, 0.4)
            });
            visit_ftl(ftl, &kind, &mut history);
            assert!(history.0.outages.cuts > 0, "{ftl} {kind}");
        }
    }
}

#[test]
fn every_kind_restarts_on_every_ftl() {
    for (ftl, cleaning) in FTLS {
        for kind in kinds(cleaning, &json!({ "map_log": true, "map_log_page_records": 5 })) {
            let step = if matches!(kind["kind"].as_str(), Some("inline" | "cagc")) { 3 } else { 17 };
            test_cuts(ftl, &kind, step);
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
                let mut new_cuts = 0;
                // A battery completes the operation.
                for torn in [false, true].into_iter().filter(|torn| !(*torn && battery)) {
                    let cut = CutTimes::At(vec![PowerCut { after, torn }]);
                    let mut history =
                        PowerCutRun { steps: few_steps(ftl), ..PowerCutRun::new(ftl, &kind, cut, 0.0) };
                    visit_ftl(ftl, &kind, &mut history);
                    (new_cuts, erases) = (new_cuts + history.outages.cuts, history.erases);
                }
                if new_cuts == 0 {
                    break;
                }
                cuts += new_cuts;
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
        kinds(cleaning, &index).iter().for_each(|kind| test_cuts(ftl, kind, 29));
    }
}

/// Recovery reads are counted.
#[test]
fn recovery_reads_the_spare_areas_and_the_map_log() {
    for (ftl, _) in FTLS {
        let kind = json!({ "kind": "inline", "map_log": true, "map_log_page_records": 5 });
        let history = run_with_cuts(ftl, &kind, CutTimes::At(Vec::new()), 0.0);
        let steps = history.final_recovery.unwrap().steps;
        let find = |name: &str| steps.iter().find(|step| step.name == name);
        let log = find("log of the map").expect("it was read");
        assert!(log.page_reads > 0, "{ftl}: {log:?}");
        // The FTL `log`, with its map in RAM, has already read all spare areas for its own recovery.
        assert_eq!(find("spare areas of slots").is_none(), ftl == "log", "{ftl}");
        assert!(find("spare areas of slots").is_none_or(|step| step.spare_reads > u64::from(PAGES)), "{ftl}");
        assert!(history.dedup.unwrap().hits > 20, "{ftl}: counts go on through all lives");
    }
}

/// Spare areas, some of which lack their note.
struct IncompleteNotes {
    notes: SpareNotes,
    runs: u32,
}

impl SpareStorage<ContentId> for IncompleteNotes {
    fn describe(&self, owner: Lpn, cause: Cause, bytes: &mut [u8]) -> Result<Option<MetadataNote>, String> {
        self.notes.describe(owner, cause, bytes)
    }

    fn written(&mut self, block: BlockId, page: u32, run: &Run<'_, ContentId>) {
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
struct RunWithMissingNotes(PowerCutRun);

impl LayerVisitor for RunWithMissingNotes {
    fn spare_storage(&self, notes: &SpareNotes) -> Box<dyn SpareStorage<ContentId>> {
        Box::new(IncompleteNotes { notes: notes.clone(), runs: 0 })
    }

    fn visit<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, power: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send,
    {
        self.0.visit(layer, settings, power);
    }
}

/// Verifies the tests of power cuts: they must detect lost data.
#[test]
fn missing_notes_are_detected() {
    for (ftl, _) in FTLS {
        let kind = json!({ "kind": "inline", "map_log": true, "map_log_page_records": 5 });
        let history = PowerCutRun::new(ftl, &kind, CutTimes::Every(60), 0.0);
        let outcome =
            catch_unwind(AssertUnwindSafe(|| visit_ftl(ftl, &kind, &mut RunWithMissingNotes(history))));
        assert!(outcome.is_err(), "{ftl}: nothing is missed");
    }
}

/// Restarts a layer whose notes were erased from the spare areas.
struct RestartWithoutNotes {
    name: String,
}

impl LayerVisitor for RestartWithoutNotes {
    fn visit<F>(&mut self, mut layer: Dedup<F>, settings: DedupSettings<F::Settings>, _: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send,
    {
        layer.write(&[Lpn(1), Lpn(2)], &[ContentId(5), ContentId(5)], 0).unwrap();
        layer.flush().unwrap();
        assert_eq!(reports::<ContentId>(&layer).0.dedup.expect("it deduplicates").hits, 1, "{}", self.name);
        let surviving = layer.into_flash();
        settings.notes.clear();
        let Err((error, surviving)) = Dedup::<F>::restart(&settings, surviving) else {
            panic!("{}: the map came back without the notes", self.name);
        };
        // The record of the hit and the checkpoint name the slot of both pages.
        assert_eq!(error, LayerError::MapIncomplete { pages: 2 }, "{}", self.name);
        assert_eq!(Dedup::<F>::restart(&settings, surviving).err().map(|(again, _)| again), Some(error));
    }
}

/// A map that refers to missing pages is an error in all builds, and not a drive with fewer pages.
#[test]
fn map_with_missing_pages_does_not_come_back() {
    for (ftl, _) in FTLS {
        let kind = json!({ "kind": "inline", "map_log": true, "map_log_page_records": 16 });
        visit_ftl(ftl, &kind, &mut RestartWithoutNotes { name: ftl.to_owned() });
    }
}
