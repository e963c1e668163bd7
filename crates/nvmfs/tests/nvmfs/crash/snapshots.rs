//! Power is cut while snapshots are made and deleted, and while what they keep changes.

use crate::common::more_cases;
use crate::crash::cuts::Cuts;
use crate::crash::expected::difference;
use crate::crash::machine::{Fs, Image, options};
use crate::crash::script::Player;
use crate::crash::scripted::{Scene, tree_of};
use crate::crash::tree::Tree;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Kind, Result};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::names;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::MemorySsd;

/// What is done between, or cut.
type Script = fn(&mut Player<'_>) -> Result<()>;
/// What is cut.
type Act = fn(&mut Fs);
/// Snapshots by name.
type Snapshots = Arc<Vec<(&'static str, Tree)>>;

fn first(player: &mut Player<'_>) -> Result<()> {
    player.make("a", Kind::File)?;
    player.make("b", Kind::File)?;
    player.write("a", 0, 100_000, 1)?;
    player.write("b", 0, 30_000, 2)
}

fn second(player: &mut Player<'_>) -> Result<()> {
    player.write("a", 8_192, 30_000, 3)?;
    player.make("c", Kind::File)?;
    player.write("c", 0, 9_000, 4)
}

fn third(player: &mut Player<'_>) -> Result<()> {
    player.write("a", 4_000, 70_000, 5)?;
    player.write("b", 20_000, 30_000, 6)
}

/// When [`third`] is done.
const TIME_OF_THIRD_NS: i64 = 3_000_000_000;

/// Three states, the first two of which are snapshots.
fn scene() -> (Scene, Snapshots) {
    let mut scene = Scene::new(PlacementKind::Nvmfs);
    let mut kept = Vec::new();
    for (name, script) in [("one", first as Script), ("two", second)] {
        let (machine, mut fs, model) = scene.begin(script);
        fs.create_snapshot(name, 7).expect("there is room");
        kept.push((name, tree_of(&model)));
        scene.end(&machine, fs, model);
    }
    let (machine, fs, model) = scene.begin(third);
    scene.end(&machine, fs, model);
    (scene, Arc::new(kept))
}

/// On plain devices, which are faster.
fn mount(image: &Image) -> std::result::Result<Nvmfs<PlainNvram, MemorySsd>, String> {
    let nvram = PlainNvram::from(image.nvram.clone());
    let mounted = Nvmfs::mount(nvram, Arc::new(image.ssd.clone()), options());
    mounted.map(|(fs, _)| fs).map_err(|error| error.to_string())
}

/// The snapshots of what a cut left, each as it must be; the one that comes or goes is whole, or there is none.
fn look(image: &Image, kept: &Snapshots, changing: &str) -> std::result::Result<(), String> {
    let fs = mount(image)?;
    fs.store().check()?;
    let there: Vec<String> = fs.store().snapshots().map(|one| one.name.clone()).collect();
    let (nvram, ssd) = (fs.store().region.bytes().to_vec(), Arc::clone(fs.store().ssd()));
    for (name, tree) in kept.iter() {
        if !there.iter().any(|one| one == name) {
            if *name == changing { continue } else { return Err(format!("{name} is gone")) }
        }
        let opened =
            Nvmfs::mount_snapshot(PlainNvram::from(nvram.clone()), Arc::clone(&ssd), options(), name);
        let (mut view, _) = opened.map_err(|error| format!("{name}: {error}"))?;
        view.store().check()?;
        let problems = names::check::check(&view.store().region).map_err(|error| error.to_string())?;
        let found = Tree::of(&mut view)?;
        if found.nodes != tree.nodes || !problems.is_empty() {
            return Err(format!("{name}: {problems:?}\n  {}", difference(tree, &found)));
        }
    }
    Ok(())
}

/// The files, which nobody changed. (Of blocks in use some are snapshots'.)
fn look_at_files(image: &Image, expected: &Tree) -> std::result::Result<(), String> {
    let mut fs = mount(image)?;
    let found = Tree::of(&mut fs)?;
    let wrong = fs.store().check_all_data().map_err(|error| error.to_string())?;
    match found.nodes == expected.nodes && wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("files: {wrong:?} {}", difference(expected, &found))),
    }
}

/// Cuts at every event of what is done, or at as many as are asked for if those are fewer, and again while that is mounted.
fn cut_all(scene: &Scene, kept: &Snapshots, changing: &'static str, act: Act, most: u64) -> u64 {
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    let start = machine.power.events();
    act(&mut fs);
    let end = machine.power.events();
    let expected = tree_of(&scene.model);
    let step = (end - start).div_ceil(most.saturating_mul(more_cases())).max(1);
    let (machine, mut fs, _) = scene.begin(|_| Ok(()));
    let (kept, mut cut) = (Arc::clone(kept), 0);
    machine.begin_cuts(Cuts::new((start..=end).step_by(step as usize), 1, move |left| {
        look_at_files(&left.image, &expected)?;
        look(&left.image, &kept, changing)?;
        cut += 1;
        if cut % 7 == 0 { cut_mount(&left.image, &kept, changing) } else { Ok(()) }
    }));
    act(&mut fs);
    machine.end_cuts().unwrap_or_else(|(event, problem)| panic!("{changing}, event {event}: {problem}"));
    end - start
}

/// Cuts the mount after a cut at some of its events.
fn cut_mount(image: &Image, kept: &Snapshots, changing: &'static str) -> std::result::Result<(), String> {
    let events = image.events_of_mount()?;
    let step = (events / (4 * more_cases())).max(1) as usize;
    let kept = Arc::clone(kept);
    image.cut_mount(Cuts::new((0..events).step_by(step), 1, move |left| look(&left.image, &kept, changing)))
}

#[test]
fn a_snapshot_is_made_or_not() {
    let (scene, mut kept) = scene();
    Arc::make_mut(&mut kept).push(("new", tree_of(&scene.model)));
    let events =
        cut_all(&scene, &kept, "new", |fs| fs.create_snapshot("new", 9).expect("there is room"), u64::MAX);
    assert!(events > 5, "{events}");
}

#[test]
fn a_snapshot_is_there_or_goes_and_others_stay() {
    let (scene, kept) = scene();
    for (name, act) in [
        ("one", (|fs| fs.delete_snapshot("one").expect("it is there")) as Act),
        ("two", |fs| fs.delete_snapshot("two").expect("it is there")),
    ] {
        let events = cut_all(&scene, &kept, name, act, 60);
        assert!(events > 60, "{name}: {events}");
    }
}

/// Deletes a snapshot step by step. Between steps a file is written as it was, at the time at which it was, so that nothing that can
/// be seen changes, and yet what was there has to be kept.
fn delete_by_and_by(fs: &mut Fs, name: &str) {
    fs.begin_deleting_snapshot(name).expect("it is there");
    for step in 0.. {
        if step % 3 == 0 {
            let caller = Caller { uid: 3, gid: 4, now_ns: TIME_OF_THIRD_NS };
            Player { fs, caller }.write("b", 20_000, 30_000, 6).expect("there is room");
        }
        if !fs.go_on_deleting(1).expect("nothing is damaged") {
            assert!(step > 2, "{name}: {step} steps");
            return;
        }
    }
}

#[test]
fn others_stay_whatever_is_written_between_the_steps_in_which_one_goes() {
    let (scene, kept) = scene();
    for (name, act) in
        [("one", (|fs| delete_by_and_by(fs, "one")) as Act), ("two", |fs| delete_by_and_by(fs, "two"))]
    {
        let events = cut_all(&scene, &kept, name, act, 60);
        assert!(events > 60, "{name}: {events}");
    }
}

/// Power is cut while the file system changes: what snapshots have stays.
fn cut_changes(script: Script) {
    let (mut scene, mut kept) = scene();
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
    machine.begin_cuts(Cuts::new((start..=end).step_by(step), 1, move |left| look(&left.image, &kept, "")));
    scene.play(&mut fs, script);
    machine.end_cuts().unwrap_or_else(|(event, problem)| panic!("event {event}: {problem}"));
}

#[test]
fn what_is_written_over_while_power_goes_is_kept() {
    cut_changes(|player| {
        player.write("a", 0, 50_000, 7)?;
        player.make("d", Kind::File)?;
        player.write("d", 0, 20_000, 8)
    });
}

#[test]
fn what_is_cut_off_or_removed_while_power_goes_is_kept() {
    cut_changes(|player| {
        player.resize("a", 10_000)?;
        player.unlink("b")?;
        player.unlink("c")
    });
}
