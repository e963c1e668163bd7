//! NVRAM and SSD of different mounts are detected as a mismatch. Devices of the same mount always match, even after a
//! power cut at any time.

use crate::crash::cuts::{Cuts, SurvivingChanges};
use crate::crash::expected::Expected;
use crate::crash::machine::{Image, options};
use crate::crash::recovery::{recover, recover_again};
use crate::crash::scripted::{SavedState, tree_of};
use rand::RngCore;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use wearwell_nvmfs::api::{BLOCK_BYTES, Kind};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::Epoch;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::{OpenError, Store};

type PlainFs = Nvmfs<PlainNvram, MemorySsd>;

fn mount(nvram: &[u8], ssd: &MemorySsd, nonce: u64) -> Result<PlainFs, OpenError> {
    let options = Options { nonce, ..options() };
    PlainFs::mount(PlainNvram::from(nvram.to_vec()), Arc::new(ssd.clone()), options).map(|(fs, _)| fs)
}

/// Mounts and closes an image; `nonce` identifies the mount.
fn mounted_and_closed(image: &Image, nonce: u64) -> Image {
    let ssd = Arc::new(image.ssd.clone());
    let options = Options { nonce, ..options() };
    let nvram = PlainNvram::from(image.nvram.clone());
    let (fs, _) = PlainFs::mount(nvram, Arc::clone(&ssd), options).expect("they belong together");
    let nvram = fs.close().into_bytes();
    Image { nvram, ssd: (*ssd).clone() }
}

fn open_error(nvram: &[u8], ssd: &MemorySsd) -> Option<String> {
    match mount(nvram, ssd, 1) {
        Ok(_) => None,
        Err(error @ OpenError::Unpaired { .. }) => Some(error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

fn damaged(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 4;
    bytes
}

/// Returns a copy of the SSD with a changed first block.
fn with_label(ssd: &MemorySsd, change: impl Fn(&mut [u8])) -> MemorySsd {
    let ssd = ssd.clone();
    let mut block = vec![0; BLOCK_BYTES];
    ssd.read(0, &mut block).expect("within");
    change(&mut block);
    ssd.write(0, &block, 0).expect("within");
    ssd
}

#[test]
fn copies_of_other_mounts_are_rejected_naming_the_older() {
    let mut images = vec![Image::new_fs(PlacementKind::Nvmfs)];
    for mark in 1..4 {
        images.push(mounted_and_closed(&images[mark as usize - 1], mark));
    }
    for (nvram, of_nvram) in images.iter().enumerate() {
        for (ssd, of_ssd) in images.iter().enumerate() {
            let refused = open_error(&of_nvram.nvram, &of_ssd.ssd);
            assert_eq!(refused.is_none(), nvram == ssd, "{nvram}, {ssd}: {refused:?}");
            let Some(text) = refused else { continue };
            let older = if nvram < ssd { "the NVRAM is older" } else { "the SSD is older" };
            assert!(text.contains(older) && text.contains("--unpaired"), "{text}");
        }
    }
    // The copies were mounted as often as the original, but separately.
    let (one, other) = (mounted_and_closed(&images[2], 8), mounted_and_closed(&images[2], 9));
    assert!(open_error(&one.nvram, &one.ssd).is_none());
    let text = open_error(&one.nvram, &other.ssd).expect("they are of different mounts");
    assert!(text.contains("mounted elsewhere"), "{text}");
}

#[test]
fn open_unpaired_repairs_mismatched_devices() {
    let before = Image::new_fs(PlacementKind::Nvmfs);
    let after = mounted_and_closed(&before, 1);
    let nvram = PlainNvram::from(before.nvram.clone());
    let ssd = Arc::new(after.ssd.clone());
    let (mut store, found) =
        Store::open_unpaired(nvram, Arc::clone(&ssd), options()).expect("one file system");
    assert!(found.was_closed);
    store.begin_epoch().expect("the drive is well");
    assert_eq!(store.epoch(), Epoch { count: 2, nonce: 0 });
    let nvram = store.close().into_bytes();
    assert!(open_error(&nvram, &ssd).is_none());
    assert!(open_error(&after.nvram, &ssd).is_some());
}

#[test]
fn file_system_without_epochs_still_mounts() {
    let mut image = mounted_and_closed(&Image::new_fs(PlacementKind::Nvmfs), 1);
    image.nvram[Epoch::AT..Epoch::NEXT_AT + Epoch::BYTES].fill(0);
    let old = with_label(&image.ssd, |block| block[Epoch::LABEL_AT..].fill(0));
    assert!(open_error(&image.nvram, &image.ssd).is_some());
    let image = Image { nvram: image.nvram, ssd: old };
    let later = mounted_and_closed(&image, 2);
    assert!(open_error(&later.nvram, &later.ssd).is_none());
    assert!(open_error(&image.nvram, &later.ssd).is_some() && open_error(&later.nvram, &image.ssd).is_some());
}

#[test]
fn damaged_epoch_is_reported_as_damage() {
    let image = mounted_and_closed(&Image::new_fs(PlacementKind::Nvmfs), 1);
    // The NVRAM stores the epoch twice.
    let [once, twice] = [vec![Epoch::AT], vec![Epoch::AT, Epoch::NEXT_AT + 9]]
        .map(|places| places.iter().fold(image.nvram.clone(), |bytes, at| damaged(&bytes, *at)));
    assert!(open_error(&once, &image.ssd).is_none());
    let text = open_error(&twice, &image.ssd).expect("nobody knows");
    assert!(text.contains("the NVRAM is damaged"), "{text}");
    let ssd = with_label(&image.ssd, |block| block[Epoch::LABEL_AT + 8] ^= 1);
    let text = open_error(&image.nvram, &ssd).expect("nobody knows");
    assert!(text.contains("the SSD is damaged"), "{text}");
}

#[test]
fn power_cut_during_mount_never_mismatches_devices() {
    let mut scene = SavedState::new(PlacementKind::Nvmfs);
    let (machine, mut fs, mut model) = scene.begin(|player| player.create("a", Kind::File));
    scene.play(&mut fs, |player| player.write("a", 0, 9000, 1));
    scene.play(&mut model, |player| player.write("a", 0, 9000, 1));
    scene.end(&machine, fs, model);
    let expected = Arc::new(Expected::exact(tree_of(&scene.model)));
    let events = scene.image.events_of_mount().expect("it was closed");
    let between = Arc::new(AtomicU32::new(0));
    // The parts of the mount before and after the change of epochs do not depend on the epochs.
    let (first, end) = epoch_events(&scene.image, events);
    let counted = Arc::clone(&between);
    let cuts = Cuts::new(first.saturating_sub(3)..(end + 3).min(events), 4, move |crash| {
        let now = Epoch::decode(&crash.image.nvram, Epoch::AT);
        counted.fetch_add((now != Epoch::decode(&crash.image.nvram, Epoch::NEXT_AT)).into(), Relaxed);
        // Mounting an image that was partly mounted already takes fewer events.
        let last = crash.image.events_of_mount()?;
        for second in [first, first + 2, end] {
            recover_again(&crash.image, &expected, second.min(last), crash.random.next_u64())?;
        }
        recover(crash.image, &expected)
    });
    scene.image.cut_mount(cuts).unwrap_or_else(|problem| panic!("{problem}"));
    let between = between.load(Relaxed);
    assert!(between > 10, "{between} images are of between the two");
}

/// Returns the first and the last event of the part of a mount that changes the epoch, found from the images of cuts.
fn epoch_events(image: &Image, events: u64) -> (u64, u64) {
    // One image has all changes that are not durable, and the other image has none of these changes.
    let of = |event: u64| {
        let counts = Arc::new(Mutex::new((None, None)));
        let found = Arc::clone(&counts);
        let cuts = Cuts::new([event], 0, move |crash| {
            let count = |at| Epoch::decode(&crash.image.nvram, at).map(|epoch| epoch.count);
            let mut found = found.lock().expect("nobody panics with it");
            match crash.surviving {
                SurvivingChanges::Nothing => found.1 = count(Epoch::AT),
                _ => found.0 = count(Epoch::NEXT_AT),
            }
            Ok(())
        });
        image.cut_mount(cuts).unwrap_or_else(|problem| panic!("{problem}"));
        *counts.lock().expect("nobody panics with it")
    };
    let (before, after) = (of(0), of(events));
    assert_ne!(before, after);
    let search = |is_over: &dyn Fn(u64) -> bool| {
        let (mut low, mut high) = (0, events);
        while low < high {
            let middle = (low + high) / 2;
            if is_over(middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    (search(&|event| of(event).0 != before.0), search(&|event| of(event).1 == after.1))
}
