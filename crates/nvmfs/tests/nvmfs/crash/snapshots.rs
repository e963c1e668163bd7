//! Power cuts while snapshots are created and deleted, and while files that they contain change.

use crate::common::more_cases;
use crate::crash::cuts::Cuts;
use crate::crash::expected::difference;
use crate::crash::machine::{Fs, Image, options};
use crate::crash::script::Player;
use crate::crash::scripted::{SavedState, tree_of};
use crate::crash::tree::Tree;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Kind, Result};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::names;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::MemorySsd;

/// Sequence of file operations.
type Script = fn(&mut Player<'_>) -> Result<()>;
/// Action on snapshots during which the power is cut.
type FsAction = fn(&mut Fs);
/// Names and content of snapshots.
type Snapshots = Arc<Vec<(&'static str, Tree)>>;

fn write_first_state(player: &mut Player<'_>) -> Result<()> {
    player.create("a", Kind::File)?;
    player.create("b", Kind::File)?;
    player.write("a", 0, 100_000, 1)?;
    player.write("b", 0, 30_000, 2)
}

fn write_second_state(player: &mut Player<'_>) -> Result<()> {
    player.write("a", 8_192, 30_000, 3)?;
    player.create("c", Kind::File)?;
    player.write("c", 0, 9_000, 4)
}

fn write_third_state(player: &mut Player<'_>) -> Result<()> {
    player.write("a", 4_000, 70_000, 5)?;
    player.write("b", 20_000, 30_000, 6)
}

/// Time at which [`write_third_state`] ends.
const TIME_OF_THIRD_NS: i64 = 3_000_000_000;

/// Creates three states, the first two of which are kept as snapshots.
fn state_with_snapshots() -> (SavedState, Snapshots) {
    let mut scene = SavedState::new(PlacementKind::Nvmfs);
    let mut snapshots = Vec::new();
    for (name, script) in [("one", write_first_state as Script), ("two", write_second_state)] {
        let (machine, mut fs, model) = scene.begin(script);
        fs.create_snapshot(name, 7).expect("there is room");
        snapshots.push((name, tree_of(&model)));
        scene.end(&machine, fs, model);
    }
    let (machine, fs, model) = scene.begin(write_third_state);
    scene.end(&machine, fs, model);
    (scene, Arc::new(snapshots))
}

/// Mounts an image on simple devices, which are faster.
fn mount(image: &Image) -> std::result::Result<Nvmfs<PlainNvram, MemorySsd>, String> {
    let nvram = PlainNvram::from(image.nvram.clone());
    let mounted = Nvmfs::mount(nvram, Arc::new(image.ssd.clone()), options());
    mounted.map(|(fs, _)| fs).map_err(|error| error.to_string())
}

/// Checks the snapshots of an image. All must be intact; `changing`, which is being created or deleted, may
/// also be missing.
fn check_image(image: &Image, snapshots: &Snapshots, changing: &str) -> std::result::Result<(), String> {
    let fs = mount(image)?;
    fs.store().check()?;
    let names: Vec<String> = fs.store().snapshots().map(|one| one.name.clone()).collect();
    let (nvram, ssd) = (fs.store().region.bytes().to_vec(), Arc::clone(fs.store().ssd()));
    for (name, tree) in snapshots.iter() {
        if !names.iter().any(|one| one == name) {
            if *name == changing { continue } else { return Err(format!("{name} is gone")) }
        }
        let opened =
            Nvmfs::mount_snapshot(PlainNvram::from(nvram.clone()), Arc::clone(&ssd), options(), name);
        let (mut view, _) = opened.map_err(|error| format!("{name}: {error}"))?;
        view.store().check()?;
        let problems = names::check::check(&view.store().region).map_err(|error| error.to_string())?;
        let found = Tree::read(&mut view)?;
        if found.nodes != tree.nodes || !problems.is_empty() {
            return Err(format!("{name}: {problems:?}\n  {}", difference(tree, &found)));
        }
    }
    Ok(())
}

/// Checks that the files are unchanged. (Only the nodes are compared, because some of the blocks in use belong to
/// snapshots.)
fn check_files(image: &Image, expected: &Tree) -> std::result::Result<(), String> {
    let mut fs = mount(image)?;
    let found = Tree::read(&mut fs)?;
    let data_problems = fs.store().check_all_data().map_err(|error| error.to_string())?;
    match found.nodes == expected.nodes && data_problems.is_empty() {
        true => Ok(()),
        false => Err(format!("files: {data_problems:?} {}", difference(expected, &found))),
    }
}

/// Cuts the power at every event of an action, or at about `max_cuts` events if there are more. After some of the
/// cuts, also cuts the power during the mount.
fn cut_all(
    scene: &SavedState,
    snapshots: &Snapshots,
    changing: &'static str,
    act: FsAction,
    max_cuts: u64,
) -> u64 {
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    let start = machine.power.events();
    act(&mut fs);
    let end = machine.power.events();
    let expected = tree_of(&scene.model);
    let step = (end - start).div_ceil(max_cuts.saturating_mul(more_cases())).max(1);
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    let (kept, mut cut) = (Arc::clone(snapshots), 0);
    machine.begin_cuts(Cuts::new((start..=end).step_by(step as usize), 1, move |crash| {
        check_files(&crash.image, &expected)?;
        check_image(&crash.image, &kept, changing)?;
        cut += 1;
        if cut % 7 == 0 { cut_mount(&crash.image, &kept, changing) } else { Ok(()) }
    }));
    act(&mut fs);
    machine.end_cuts().unwrap_or_else(|(event, problem)| panic!("{changing}, event {event}: {problem}"));
    end - start
}

/// Cuts the power at some events of the mount after a cut.
fn cut_mount(
    image: &Image,
    snapshots: &Snapshots,
    changing: &'static str,
) -> std::result::Result<(), String> {
    let events = image.events_of_mount()?;
    let step = (events / (4 * more_cases())).max(1) as usize;
    let kept = Arc::clone(snapshots);
    image.cut_mount(Cuts::new((0..events).step_by(step), 1, move |crash| {
        check_image(&crash.image, &kept, changing)
    }))
}

#[test]
fn power_cut_leaves_new_snapshot_complete_or_absent() {
    let (scene, mut kept) = state_with_snapshots();
    Arc::make_mut(&mut kept).push(("new", tree_of(&scene.model)));
    let events =
        cut_all(&scene, &kept, "new", |fs| fs.create_snapshot("new", 9).expect("there is room"), u64::MAX);
    assert!(events > 5, "{events}");
}

#[test]
fn power_cut_during_deletion_preserves_other_snapshots() {
    let (scene, kept) = state_with_snapshots();
    for (name, act) in [
        ("one", (|fs| fs.delete_snapshot("one").expect("it is there")) as FsAction),
        ("two", |fs| fs.delete_snapshot("two").expect("it is there")),
    ] {
        let events = cut_all(&scene, &kept, name, act, 60);
        assert!(events > 60, "{name}: {events}");
    }
}

/// Deletes a snapshot step by step. Between steps, a file is overwritten with the same content and times. Nothing
/// visible changes, but the old blocks must be preserved.
fn delete_in_steps(fs: &mut Fs, name: &str) {
    fs.begin_deleting_snapshot(name).expect("it is there");
    for step in 0.. {
        if step % 3 == 0 {
            let caller = Caller { uid: 3, gid: 4, now_ns: TIME_OF_THIRD_NS };
            Player { fs, caller }.write("b", 20_000, 30_000, 6).expect("there is room");
        }
        if !fs.continue_deleting(1).expect("nothing is damaged") {
            assert!(step > 2, "{name}: {step} steps");
            return;
        }
    }
}

#[test]
fn writes_between_deletion_steps_preserve_other_snapshots() {
    let (scene, kept) = state_with_snapshots();
    for (name, act) in
        [("one", (|fs| delete_in_steps(fs, "one")) as FsAction), ("two", |fs| delete_in_steps(fs, "two"))]
    {
        let events = cut_all(&scene, &kept, name, act, 60);
        assert!(events > 60, "{name}: {events}");
    }
}

/// Cuts the power while files change; all snapshots must survive.
fn cut_changes(script: Script) {
    let (mut scene, mut kept) = state_with_snapshots();
    let (machine, mut fs, model) = scene.begin(|_| Ok(()));
    fs.create_snapshot("three", 9).expect("there is room");
    Arc::make_mut(&mut kept).push(("three", tree_of(&model)));
    scene.end(&machine, fs, model);
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    let start = machine.power.events();
    scene.play(&mut fs, script);
    let end = machine.power.events();
    let step = ((end - start) / (60 * more_cases())).max(1) as usize;
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    machine.begin_cuts(Cuts::new((start..=end).step_by(step), 1, move |crash| {
        check_image(&crash.image, &kept, "")
    }));
    scene.play(&mut fs, script);
    machine.end_cuts().unwrap_or_else(|(event, problem)| panic!("event {event}: {problem}"));
}

#[test]
fn power_cut_during_overwrite_preserves_snapshots() {
    cut_changes(|player| {
        player.write("a", 0, 50_000, 7)?;
        player.create("d", Kind::File)?;
        player.write("d", 0, 20_000, 8)
    });
}

#[test]
fn power_cut_during_truncate_or_remove_preserves_snapshots() {
    cut_changes(|player| {
        player.resize("a", 10_000)?;
        player.unlink("b")?;
        player.unlink("c")
    });
}
