//! Cuts while the file system is closed and opened.

use crate::crash::expected::Expected;
use crate::crash::machine::{Image, Lie, nvram_of};
use crate::crash::recovery::recover;
use crate::crash::script::STEPS;
use crate::crash::scripted::{Scene, moments, tree_of};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wearwell_nvmfs::api::{FileSystem, Kind};
use wearwell_nvmfs::placement::PlacementKind;

/// A scene with data on both devices.
fn used(placement: PlacementKind) -> Scene {
    let steps = STEPS.iter().position(|step| step.name == "rename").expect("it is a step");
    Scene::after(placement, steps)
}

#[test]
fn what_is_closed_while_power_goes_is_whole() {
    for placement in PlacementKind::ALL {
        let scene = used(placement);
        let expected = Expected::exactly(tree_of(&scene.model));
        let (machine, fs, _) = scene.begin(|_| Ok(()));
        let start = machine.power.events();
        let _ = fs.close();
        let moments = moments(&machine, start..machine.power.events());
        for event in moments {
            let (machine, fs, _) = scene.begin(|_| Ok(()));
            machine.power.cut_at(event);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(event);
            for image in machine.crashes(&fs.close(), 2, &mut random) {
                recover(&image, &expected, None, &mut random)
                    .unwrap_or_else(|problem| panic!("{placement:?}, event {event}: {problem}"));
            }
        }
    }
}

/// Mounts an image of an older version, which that brings up to date, and cuts power at each of these events; `crashes` images each
/// must come back as expected. How many of them are still of the older version, and how many are not.
fn cut_in_first_mount(
    old: &Image,
    expected: &Expected,
    events: impl IntoIterator<Item = u64>,
    crashes: usize,
) -> [usize; 2] {
    let mut counts = [0, 0];
    for event in events {
        let (machine, fs) = old.mount_until(Lie::Nothing, Some(event)).expect("it was closed");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(event);
        for image in machine.crashes(&nvram_of(fs), crashes, &mut random) {
            counts[usize::from(image.nvram[7] != old.nvram[7])] += 1;
            recover(&image, expected, None, &mut random)
                .unwrap_or_else(|problem| panic!("event {event}: {problem}"));
        }
    }
    counts
}

/// One without checksums gets them with its first mount, whenever power goes.
#[test]
fn checksums_come_while_power_goes() {
    for placement in PlacementKind::ALL {
        let scene = Scene::new(placement);
        let fill = |fs: &mut dyn FileSystem| {
            scene.play(fs, |player| player.make("a", Kind::File));
            scene.play(fs, |player| player.write("a", 0, 900_000, 1));
        };
        let image = Image::of_before(placement, |fs| fill(fs));
        let mut model = scene.model.clone();
        fill(&mut model);
        let expected = Expected::exactly(tree_of(&model));
        let (machine, fs) = image.mount(Lie::Nothing).expect("it was closed");
        let after = machine.close(fs);
        assert_eq!([image.nvram[7], after.nvram[7]], [b'1', b'8']);
        let events = machine.power.events();
        let mut moments = moments(&machine, 0..events);
        moments.extend((0..events).step_by(events as usize / 40));
        let [without, with] = cut_in_first_mount(&image, &expected, moments, 2);
        assert!(without > 10 && with > 10, "{placement:?}: {without} images without checksums, {with} with");
    }
}

/// One of before blocks could be reserved, more inodes come, or snapshots be made, is brought up to date with its first mount, whenever power goes.
#[test]
fn one_of_an_older_version_is_brought_up_to_date_while_power_goes() {
    for version in *b"247" {
        bring_up_to_date_while_power_goes(version);
    }
}

fn bring_up_to_date_while_power_goes(version: u8) {
    let mut scene = used(PlacementKind::Nvmfs);
    let (machine, fs, _) = scene.begin(|_| Ok(()));
    assert_eq!(fs.stats().inode_pages, 0, "those of before have none");
    assert_eq!(machine.close(fs).nvram[7], b'8');
    scene.image.nvram[7] = version;
    let expected = Expected::exactly(tree_of(&scene.model));
    let (machine, fs, _) = scene.begin(|_| Ok(()));
    let events = machine.power.events();
    assert_eq!(machine.close(fs).nvram[7], b'8');
    let mut moments = moments(&machine, 0..events);
    // It is one of the last things of a mount.
    moments.extend(events - 8..events);
    let [before, after] = cut_in_first_mount(&scene.image, &expected, moments, 1);
    assert!(before > 3 && after > 3, "{before} images of before, {after} brought up to date");
}

#[test]
fn what_is_mounted_while_power_goes_is_whole() {
    for placement in PlacementKind::ALL {
        let scene = used(placement);
        let expected = Expected::exactly(tree_of(&scene.model));
        let (machine, fs, _) = scene.begin(|_| Ok(()));
        drop(fs);
        let events = machine.power.events();
        let mut moments = moments(&machine, 0..events);
        moments.extend((0..events).step_by(events as usize / 20));
        for event in moments {
            let (machine, fs) = scene.image.mount_until(Lie::Nothing, Some(event)).expect("it was closed");
            let mut random = Xoshiro256PlusPlus::seed_from_u64(event);
            for image in machine.crashes(&nvram_of(fs), 1, &mut random) {
                recover(&image, &expected, None, &mut random)
                    .unwrap_or_else(|problem| panic!("{placement:?}, event {event}: {problem}"));
            }
        }
    }
}
