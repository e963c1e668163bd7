//! Power cuts at the moments for which section III-D describes the result of a crash.

use crate::common::more_cases;
use crate::crash::cuts::Cuts;
use crate::crash::expected::Expected;
use crate::crash::machine::{DeviceOp, Fault, Image, Machine};
use crate::crash::recovery::recover;
use crate::crash::script::{Player, STEPS};
use crate::crash::scripted::{SavedState, tree_of};
use std::ops::Range;
use wearwell_nvmfs::api::Result;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::store::State;

/// Number of cuts per phase.
const CUTS: u64 = 12;

/// Events at which the phases of a flush end: the batch is written, then its metadata is updated.
struct FlushPhases {
    started: u64,
    written: u64,
    metadata_updated: u64,
}

/// Events at which the phases of cleaning end: blocks are read, inodes are updated, space is freed.
struct CleaningPhases {
    started: u64,
    read: u64,
    inodes_updated: u64,
}

/// Returns a state with many dirty pages, and with blocks that are only on the SSD.
fn saved_state() -> SavedState {
    let steps = STEPS.iter().position(|step| step.name == "rename").expect("it is a step");
    SavedState::after(PlacementKind::Nvmfs, steps)
}

/// Writes the same bytes to some blocks each time, so that extents keep other blocks of which they have the only
/// copy.
fn write_some(player: &mut Player<'_>) -> Result<()> {
    (0..900).step_by(3).try_for_each(|block| player.write("large", block * 4096, 10, 31))
}

/// Writes to all blocks, so that flushing becomes due.
fn write_all(player: &mut Player<'_>) -> Result<()> {
    (0..600).try_for_each(|block| player.write("large", block * 4096, 10, 31))
}

/// Flushes an extent, and cuts the power during the flush.
fn flush(scene: &SavedState, cuts: Option<Cuts>) -> (Machine, FlushPhases) {
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    fs.auto_flush = false;
    scene.play(&mut fs, write_all);
    if let Some(cuts) = cuts {
        machine.begin_cuts(cuts);
    }
    let batch = fs.begin_background().expect("the SSD works").expect("there is something to flush");
    let begun = machine.power.events();
    let result = batch.run();
    let written = machine.power.events();
    fs.end_background(batch, result).expect("the SSD works");
    let noted = machine.power.events();
    (machine, FlushPhases { started: begun, written, metadata_updated: noted })
}

/// Cleans an extent, and cuts the power during cleaning.
fn clean(scene: &SavedState, cuts: Option<Cuts>) -> (Machine, CleaningPhases) {
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    // Fragmented extents must not be recycled immediately.
    fs.auto_flush = false;
    scene.play(&mut fs, write_some);
    let mut store = fs.into_store();
    if let Some(cuts) = cuts {
        machine.begin_cuts(cuts);
    }
    // This continues until an extent is cleaned that has the only copy of some blocks.
    let (begun, fences) = loop {
        let (begun, before) = (machine.power.events(), machine.op_log.ops().len());
        assert!(store.recycle_step().expect("there is room"));
        let acts = machine.op_log.ops().split_off(before);
        if let Some(last_read) = acts.iter().rposition(|(_, act)| *act == DeviceOp::Read) {
            let fences: Vec<u64> = acts[last_read + 1..].iter().map(|(event, _)| *event).collect();
            break (begun, fences);
        }
    };
    // The last three fences belong to the update.
    let [.., brought, _, _, updated] = fences[..] else { panic!("{fences:?}") };
    (machine, CleaningPhases { started: begun, read: brought, inodes_updated: updated })
}

/// Cuts the power at some of the `events`, and checks the images.
fn cut_within(
    scene: &SavedState,
    events: Range<u64>,
    before: fn(&mut Player<'_>) -> Result<()>,
    act: impl FnOnce(Cuts) -> Machine,
    extra_check: fn(&Image) -> std::result::Result<(), String>,
) {
    let (_, _, model) = scene.begin(before);
    let expected = Expected::exact(tree_of(&model));
    let step = ((events.end - events.start) / (CUTS * more_cases())).max(1) as usize;
    assert!(!events.is_empty());
    let machine = act(Cuts::new(events.step_by(step), 3, move |crash| {
        extra_check(&crash.image)?;
        recover(crash.image, &expected)
    }));
    machine.end_cuts().unwrap_or_else(|(event, problem)| panic!("event {event}: {problem}"));
}

fn no_extra_check(_: &Image) -> std::result::Result<(), String> {
    Ok(())
}

/// Checks that all pages are dirty: the lists were rebuilt from the inode table.
fn lists_are_reset(image: &Image) -> std::result::Result<(), String> {
    let (_, fs) = image.mount(Fault::Nothing)?;
    let (clean, dirty) = (fs.store().pages_in(State::Clean), fs.store().pages_in(State::Dirty));
    if clean == 0 && dirty > 0 { Ok(()) } else { Err(format!("{clean} pages are clean, {dirty} dirty")) }
}

#[test]
fn power_cut_while_flush_is_written() {
    let scene = saved_state();
    let (_, ends) = flush(&scene, None);
    let act = |cuts| flush(&scene, Some(cuts)).0;
    cut_within(&scene, ends.started..ends.written, write_all, act, no_extra_check);
}

#[test]
fn power_cut_between_flush_and_its_metadata() {
    let scene = saved_state();
    let (_, ends) = flush(&scene, None);
    let act = |cuts| flush(&scene, Some(cuts)).0;
    cut_within(&scene, ends.written..ends.written + 1, write_all, act, lists_are_reset);
}

#[test]
fn power_cut_while_flush_metadata_is_updated() {
    let scene = saved_state();
    let (_, ends) = flush(&scene, None);
    let act = |cuts| flush(&scene, Some(cuts)).0;
    cut_within(&scene, ends.written + 1..ends.metadata_updated, write_all, act, lists_are_reset);
}

#[test]
fn power_cut_while_cleaning_reads_blocks() {
    let scene = saved_state();
    let (_, ends) = clean(&scene, None);
    let act = |cuts| clean(&scene, Some(cuts)).0;
    cut_within(&scene, ends.started..ends.read, write_some, act, no_extra_check);
}

#[test]
fn power_cut_while_cleaning_updates_inodes() {
    let scene = saved_state();
    let (_, ends) = clean(&scene, None);
    let act = |cuts| clean(&scene, Some(cuts)).0;
    cut_within(&scene, ends.read..ends.inodes_updated + 1, write_some, act, no_extra_check);
}
