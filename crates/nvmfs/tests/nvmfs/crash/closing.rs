//! Power cuts while the file system is closed and opened.

use crate::crash::cuts::Cuts;
use crate::crash::expected::Expected;
use crate::crash::machine::{Fault, Image};
use crate::crash::recovery::recover;
use crate::crash::script::STEPS;
use crate::crash::scripted::{SavedState, cut_events, tree_of};
use std::sync::{Arc, Mutex};
use wearwell_nvmfs::api::{FileSystem, Kind};
use wearwell_nvmfs::placement::PlacementKind;

/// Returns a state with data on both devices.
fn used_state(placement: PlacementKind) -> SavedState {
    let steps = STEPS.iter().position(|step| step.name == "rename").expect("it is a step");
    SavedState::after(placement, steps)
}

#[test]
fn power_cut_during_close_loses_nothing() {
    for placement in PlacementKind::ALL {
        let scene = used_state(placement);
        let expected = Expected::exact(tree_of(&scene.model));
        let (machine, fs, _) = scene.begin(|_| Ok(()));
        let start = machine.power.events();
        let _ = fs.close();
        let moments = cut_events(&machine, start..machine.power.events());
        let (machine, fs, _) = scene.begin(|_| Ok(()));
        machine.begin_cuts(Cuts::new(moments, 2, move |crash| recover(crash.image, &expected)));
        let _ = fs.close();
        let result = machine.end_cuts();
        result.unwrap_or_else(|(event, problem)| panic!("{placement:?}, event {event}: {problem}"));
    }
}

/// Mounts an image of an older version, which upgrades the image, and cuts the power at each of these events.
/// `random_images` random images per cut must recover as expected. Returns the number of images that are still in the
/// old version, and the number of images that were upgraded.
fn cut_in_first_mount(
    old: &Image,
    expected: Expected,
    events: impl IntoIterator<Item = u64>,
    random_images: usize,
) -> [usize; 2] {
    let counts = Arc::new(Mutex::new([0, 0]));
    let (counted, version) = (Arc::clone(&counts), old.nvram[7]);
    let cuts = Cuts::new(events, random_images, move |crash| {
        counted.lock().expect("nobody panics with it")[usize::from(crash.image.nvram[7] != version)] += 1;
        recover(crash.image, &expected)
    });
    old.cut_mount(cuts).unwrap_or_else(|problem| panic!("{problem}"));
    *counts.lock().expect("nobody panics with it")
}

/// A file system without checksums gets checksums at its first mount, even if the power is cut at any time during the
/// mount.
#[test]
fn power_cut_during_upgrade_to_checksums_loses_nothing() {
    for placement in PlacementKind::ALL {
        let scene = SavedState::new(placement);
        let fill = |fs: &mut dyn FileSystem| {
            scene.play(fs, |player| player.create("a", Kind::File));
            scene.play(fs, |player| player.write("a", 0, 900_000, 1));
        };
        let image = Image::old_format(placement, |fs| fill(fs));
        let mut model = scene.model.clone();
        fill(&mut model);
        let expected = Expected::exact(tree_of(&model));
        let (machine, fs) = image.mount(Fault::Nothing).expect("it was closed");
        let events = machine.power.events();
        let after = machine.close(fs);
        assert_eq!([image.nvram[7], after.nvram[7]], [b'1', b'8']);
        let mut moments = cut_events(&machine, 0..events);
        moments.extend((0..events).step_by(events as usize / 40));
        // The version is written last.
        moments.extend(events - 8..=events);
        let [without, with] = cut_in_first_mount(&image, expected, moments, 2);
        assert!(without > 10 && with > 0, "{placement:?}: {without} images without checksums, {with} with");
    }
}

/// A file system of an older version (without reserved blocks, inode pages or snapshots) is upgraded at its first
/// mount, even if the power is cut at any time during the mount.
#[test]
fn power_cut_during_upgrade_of_older_version_loses_nothing() {
    for version in *b"247" {
        cut_power_during_upgrade(version);
    }
}

fn cut_power_during_upgrade(version: u8) {
    let mut scene = used_state(PlacementKind::Nvmfs);
    let (machine, fs, _) = scene.begin(|_| Ok(()));
    assert_eq!(fs.stats().inode_pages, 0, "those of before have none");
    assert_eq!(machine.close(fs).nvram[7], b'8');
    scene.image.nvram[7] = version;
    let expected = Expected::exact(tree_of(&scene.model));
    let (machine, fs, _) = scene.begin(|_| Ok(()));
    let events = machine.power.events();
    assert_eq!(machine.close(fs).nvram[7], b'8');
    let mut moments = cut_events(&machine, 0..events);
    // The upgrade is one of the last steps of a mount.
    moments.extend(events - 8..=events);
    let [before, after] = cut_in_first_mount(&scene.image, expected, moments, 3);
    assert!(before > 3 && after > 3, "{before} images of before, {after} brought up to date");
}

#[test]
fn power_cut_during_mount_loses_nothing() {
    for placement in PlacementKind::ALL {
        let scene = used_state(placement);
        let expected = Expected::exact(tree_of(&scene.model));
        let (machine, fs, _) = scene.begin(|_| Ok(()));
        let events = machine.power.events();
        drop(fs);
        let mut moments = cut_events(&machine, 0..events);
        moments.extend((0..events).step_by(events as usize / 20));
        let cuts = Cuts::new(moments, 1, move |crash| recover(crash.image, &expected));
        scene.image.cut_mount(cuts).unwrap_or_else(|problem| panic!("{placement:?}: {problem}"));
    }
}
