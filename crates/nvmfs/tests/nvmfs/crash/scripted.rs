//! Power cuts of each type of operation: before, after and between its persistence points.

use crate::common::model::ModelFs;
use crate::common::more_cases;
use crate::crash::cuts::Cuts;
use crate::crash::expected::Expected;
use crate::crash::machine::{DeviceOp, Fault, Fs, Image, Machine};
use crate::crash::recovery::recover;
use crate::crash::script::{Player, STEPS, Step};
use crate::crash::tree::Tree;
use std::ops::Range;
use wearwell_nvmfs::api::{Caller, FileSystem, Result};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::stats::Counts;

/// Maximum number of events of an operation that is cut at each of its events.
const FEW_EVENTS: u64 = 60;
/// Maximum number of cuts per operation, unless more cases are requested.
const MAX_CUTS: usize = 7;

/// Closed file system, and the same files in a model.
#[derive(Clone)]
pub struct SavedState {
    pub image: Image,
    pub model: ModelFs,
    pub caller: Caller,
}

impl SavedState {
    pub fn new(placement: PlacementKind) -> SavedState {
        let caller = Caller { uid: 3, gid: 4, now_ns: 1_000_000_000 };
        SavedState { image: Image::new_fs(placement), model: ModelFs::new(), caller }
    }

    /// Mounts the file system, and performs an act in the file system and in the model; the act cannot fail.
    pub fn begin(&self, act: fn(&mut Player<'_>) -> Result<()>) -> (Machine, Fs, ModelFs) {
        let (machine, mut fs) = self.image.mount(Fault::Nothing).expect("it was closed");
        let mut model = self.model.clone();
        self.play(&mut fs, act);
        self.play(&mut model, act);
        (machine, fs, model)
    }

    pub fn play(&self, fs: &mut dyn FileSystem, act: fn(&mut Player<'_>) -> Result<()>) {
        act(&mut Player { fs, caller: self.caller }).expect("the script is possible");
    }

    /// Closes the file system, whose content becomes the saved state.
    pub fn end(&mut self, machine: &Machine, fs: Fs, mut model: ModelFs) {
        model.remount();
        *self = SavedState { image: machine.close(fs), model, caller: self.caller };
        self.caller.now_ns += 1_000_000_000;
    }

    /// Returns the state after the first `steps` steps.
    pub fn after(placement: PlacementKind, steps: usize) -> SavedState {
        let mut scene = SavedState::new(placement);
        for step in &STEPS[..steps] {
            let (machine, mut fs, mut model) = scene.begin(step.prepare);
            scene.play(&mut fs, step.act);
            scene.play(&mut model, step.act);
            scene.end(&machine, fs, model);
        }
        scene
    }
}

/// Returns the tree that will be visible after a mount.
pub fn tree_of(model: &ModelFs) -> Tree {
    let mut model = model.clone();
    model.remount();
    Tree::read(&mut model).expect("the model is whole")
}

/// Selects events of an operation at which to cut.
pub fn cut_events(machine: &Machine, events: Range<u64>) -> Vec<u64> {
    if events.end - events.start <= FEW_EVENTS {
        return events.collect();
    }
    let acts = machine.op_log.ops();
    let points = acts.iter().filter(|(_, act)| *act != DeviceOp::Read).map(|(event, _)| *event);
    let mut moments = vec![events.start];
    let mut last = events.start;
    for point in points.filter(|point| events.contains(point)) {
        moments.extend([(last + point) / 2, point, point + 1]);
        last = point;
    }
    moments.push((last + events.end) / 2);
    moments.retain(|moment| events.contains(moment));
    moments.dedup();
    moments
}

/// Returns an evenly spaced selection of the events.
fn evenly_spaced(events: Vec<u64>) -> Vec<u64> {
    let step = events.len().div_ceil(MAX_CUTS * more_cases() as usize).max(1);
    events.into_iter().step_by(step).collect()
}

/// Cuts a step at some of its events; returns the counts of the file system and the number of cuts.
fn cut_step(scene: &mut SavedState, step: &Step) -> (Counts, usize) {
    let (machine, mut fs, mut model) = scene.begin(step.prepare);
    let before = tree_of(&model);
    let start = machine.power.events();
    scene.play(&mut fs, step.act);
    scene.play(&mut model, step.act);
    let expected = Expected { before, after: tree_of(&model), is_write: step.is_write };
    let moments = evenly_spaced(cut_events(&machine, start..machine.power.events()));
    let count = moments.len();
    // The step is repeated with power cuts.
    let (machine, mut fs, _) = scene.begin(step.prepare);
    machine.begin_cuts(Cuts::new(moments, 1, move |crash| recover(crash.image, &expected)));
    scene.play(&mut fs, step.act);
    let result = machine.end_cuts();
    result.unwrap_or_else(|(event, problem)| panic!("{}, event {event}: {problem}", step.name));
    let counts = fs.stats().counts;
    scene.end(&machine, fs, model);
    (counts, count)
}

fn cut_all(placement: PlacementKind) -> Counts {
    let mut scene = SavedState::new(placement);
    let mut total = Counts::default();
    let mut cuts = 0;
    for step in STEPS {
        let (counts, moments) = cut_step(&mut scene, step);
        total.ssd_writes += counts.ssd_writes;
        total.evicted_pages += counts.evicted_pages;
        total.recycled_extents += counts.recycled_extents;
        cuts += moments;
    }
    println!("{placement:?}: {} operations, {total:?}", STEPS.len());
    assert!(cuts > 200, "{cuts}");
    assert!(total.ssd_writes > 0 && total.evicted_pages > 0, "{total:?}");
    total
}

#[test]
fn operation_is_atomic_under_power_cut() {
    assert!(cut_all(PlacementKind::Nvmfs).recycled_extents > 0);
}

#[test]
fn operation_is_atomic_under_power_cut_with_fixed_places() {
    cut_all(PlacementKind::Conquest);
}
