//! Power cuts while inode pages are added and freed.

use crate::common::model::ModelFs;
use crate::common::more_cases;
use crate::crash::cuts::{Cuts, SurvivingChanges};
use crate::crash::expected::Expected;
use crate::crash::machine::{Fault, Fs, Image, Machine};
use crate::crash::recovery::{recover, recover_again};
use crate::crash::scripted::tree_of;
use rand::RngCore;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, FileSystem, Kind, ROOT};
use wearwell_nvmfs::placement::PlacementKind;

const CALLER: Caller = Caller { uid: 3, gid: 4, now_ns: 2_000_000_000 };

/// Creation or removal of a file.
#[derive(Clone, Copy, Debug)]
enum FileChange {
    Make(u32),
    Remove(u32),
}

impl FileChange {
    fn play(self, fs: &mut dyn FileSystem) {
        let name = |number| format!("{number:06}").into_bytes();
        match self {
            FileChange::Make(number) => {
                fs.create(ROOT, &name(number), Kind::File, 0o644, 0, &CALLER).map(drop).expect("room");
            }
            FileChange::Remove(number) => fs.unlink(ROOT, &name(number), &CALLER).expect("it is there"),
        }
    }
}

/// Cuts the power at every second event of a change (at every event if more cases are requested), and at one event of
/// the following mount. Returns the number of events.
fn cut_change(image: &Image, model: &ModelFs, change: FileChange) -> u64 {
    let (machine, mut fs) = image.mount(Fault::Nothing).expect("it was closed");
    let start = machine.power.events();
    change.play(&mut fs);
    let events = start..machine.power.events();
    let mut after = model.clone();
    change.play(&mut after);
    let expected = Arc::new(Expected { before: tree_of(model), after: tree_of(&after), is_write: false });
    let step = if more_cases() > 1 { 1 } else { 2 };
    let (machine, mut fs) = image.mount(Fault::Nothing).expect("it was closed");
    machine.begin_cuts(Cuts::new(events.clone().step_by(step), 1, move |crash| {
        if crash.surviving == SurvivingChanges::Some {
            let second = crash.random.next_u64() % crash.image.events_of_mount()?;
            recover_again(&crash.image, &expected, second, crash.random.next_u64())?;
        }
        recover(crash.image, &expected)
    }));
    change.play(&mut fs);
    machine.end_cuts().unwrap_or_else(|(event, problem)| panic!("{change:?}, event {event}: {problem}"));
    events.end - events.start
}

/// Performs the changes in order, and cuts the power during each change that changes the number of inode pages. Returns
/// the number of inode pages before and after each such change.
fn cut_changes(acts: impl IntoIterator<Item = FileChange>) -> Vec<(u32, u32)> {
    let (mut image, mut model) = (Image::new_fs(PlacementKind::Nvmfs), ModelFs::new());
    let begin = |image: &Image| -> (Machine, Fs) { image.mount(Fault::Nothing).expect("it was closed") };
    let (mut machine, mut fs) = begin(&image);
    let (mut changes, mut done) = (Vec::new(), Vec::new());
    for act in acts {
        let before = fs.stats().inode_pages;
        act.play(&mut fs);
        let after = fs.stats().inode_pages;
        if before != after {
            changes.push((before, after));
            // The changes before the current change are repeated.
            let (machine, mut fs) = begin(&image);
            done.drain(..).for_each(|act: FileChange| {
                act.play(&mut fs);
                act.play(&mut model);
            });
            image = machine.close(fs);
            assert!(cut_change(&image, &model, act) > 10);
        }
        done.push(act);
        if before != after {
            (machine, fs) = begin(&image);
            act.play(&mut fs);
        }
    }
    drop((machine, fs));
    changes
}

/// The fifth inode page needs a pointer page; of the last two inode pages, one is kept in reserve.
#[test]
fn power_cut_while_adding_or_freeing_inode_pages_loses_nothing() {
    let made = (0..150).map(FileChange::Make);
    let changes = cut_changes(made.chain((0..150).rev().map(FileChange::Remove)));
    let (more, fewer): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(before, after)| after > before);
    assert_eq!(more, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    assert_eq!(fewer, [(5, 4), (4, 3), (3, 2), (2, 1)]);
}
