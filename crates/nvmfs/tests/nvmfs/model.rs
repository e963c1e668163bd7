//! Random operations have the same results on other file systems as on the model.

use crate::common::model::ModelFs;
use crate::common::{ModelPair, OP_WORDS, Op, SpaceMode, random_ops, small};
use proptest::prelude::*;
use wearwell_nvmfs::api::{Allocate, Caller, Change, FileSystem, Ino, Kind, ROOT, Seek};

/// Runs operations, and compares the trees at intervals and at the end.
fn run_and_compare<F: FileSystem>(
    twin: &mut ModelPair<F>,
    ops: impl Iterator<Item = Op>,
) -> Result<(), String> {
    const OPS_BETWEEN_COMPARISONS: usize = 500;
    for (done, op) in ops.enumerate() {
        twin.step(&op)?;
        if done % OPS_BETWEEN_COMPARISONS == OPS_BETWEEN_COMPARISONS - 1 {
            twin.compare()?;
        }
    }
    twin.compare()
}

/// Returns a model whose inode numbers differ from those of an ordinary one.
fn model_with_other_inodes() -> ModelFs {
    let mut fs = ModelFs::new();
    let caller = Caller::default();
    for _ in 0..3 {
        fs.create(ROOT, b"shift", Kind::File, 0, 0, &caller).unwrap();
        fs.unlink(ROOT, b"shift", &caller).unwrap();
    }
    fs
}

fn twin_of_models(room: SpaceMode, other: ModelFs) -> ModelPair<ModelFs> {
    ModelPair::new(other, room, |mut fs| {
        fs.remount();
        fs
    })
}

#[test]
fn model_agrees_with_itself() {
    for seed in 0..20 {
        let mut pair = twin_of_models(SpaceMode::Enough, model_with_other_inodes());
        run_and_compare(&mut pair, random_ops(seed).take(3_000))
            .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
    }
}

#[test]
fn model_agrees_with_small_model() {
    let mut refused = 0;
    for seed in 0..20 {
        let mut pair = twin_of_models(SpaceMode::Scarce, ModelFs::with_capacity(60, 20));
        run_and_compare(&mut pair, random_ops(seed).take(2_000))
            .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        refused += pair.refused;
    }
    assert!(refused > 100, "only {refused} operations lacked room");
}

#[test]
fn nvmfs_agrees_with_the_model() {
    for seed in 0..10 {
        let (fs, remount) = small();
        let mut pair = ModelPair::new(fs, SpaceMode::Scarce, remount);
        run_and_compare(&mut pair, random_ops(seed).take(2_000))
            .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
    }
}

/// Misbehaviour of a faulty file system, in addition to executing an operation.
type Fault = fn(&mut ModelFs, &Op);

/// Returns the first file in the root.
fn victim(fs: &mut ModelFs) -> Option<Ino> {
    let mut found = None;
    fs.read_directory(ROOT, 0, &mut |entry| {
        if entry.kind == Kind::File {
            found = Some(entry.ino);
        }
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    found
}

/// Changes a file without a visible change of its times.
fn change_silently(fs: &mut ModelFs, ino: Ino, act: impl FnOnce(&mut ModelFs, &Caller)) {
    let before = fs.attributes(ino).unwrap();
    let caller = Caller { now_ns: before.changed_ns, ..Caller::default() };
    act(fs, &caller);
    let (accessed_ns, modified_ns) = (Some(before.accessed_ns), Some(before.modified_ns));
    fs.set_attributes(ino, &Change { accessed_ns, modified_ns, ..Change::default() }, &caller).unwrap();
}

const FAULTS: [(&str, Fault); 6] = [
    ("a byte of content", |fs, op| {
        if let (Op::Write { .. }, Some(ino)) = (op, victim(fs)) {
            change_silently(fs, ino, |fs, caller| {
                let mut byte = [0];
                if fs.read(ino, 4095, &mut byte, caller).unwrap() == 1 {
                    fs.write(ino, 4095, &[byte[0] ^ 1], caller).unwrap();
                }
            });
        }
    }),
    ("a block where there is a hole", |fs, op| {
        if let (Op::Allocate { how: Allocate::Punch, .. }, Some(ino)) = (op, victim(fs)) {
            change_silently(fs, ino, |fs, caller| {
                let size_bytes = fs.attributes(ino).unwrap().size_bytes;
                if let Ok(hole) = fs.seek(ino, 0, Seek::Hole)
                    && hole < size_bytes
                {
                    fs.allocate(ino, Allocate::Reserve { keep_size: false }, hole, 1, caller).unwrap();
                }
            });
        }
    }),
    ("a time", |fs, op| {
        if matches!(op, Op::Rename { .. }) {
            let changed_ns = fs.attributes(ROOT).unwrap().changed_ns;
            let change = Change { modified_ns: Some(changed_ns - 1), ..Change::default() };
            fs.set_attributes(ROOT, &change, &Caller { now_ns: changed_ns, ..Caller::default() }).unwrap();
        }
    }),
    ("a link", |fs, op| {
        if let (Op::Link { .. }, Some(ino)) = (op, victim(fs)) {
            let _ = fs.link(ino, ROOT, b"fault", &Caller::default());
        }
    }),
    ("users of a file", |fs, op| {
        if let (Op::Open { .. }, Some(ino)) = (op, victim(fs)) {
            let _ = fs.release(ino);
        }
    }),
    ("an extended attribute", |fs, op| {
        if let (Op::SetXattr { .. }, Some(ino)) = (op, victim(fs)) {
            change_silently(fs, ino, |fs, caller| {
                let _ = fs.remove_xattr(ino, b"a", caller);
            });
        }
    }),
];

#[test]
fn injected_faults_are_detected() {
    for (what, fault) in FAULTS {
        let mut pair = twin_of_models(SpaceMode::Enough, model_with_other_inodes());
        let found = random_ops(1).take(5_000).try_for_each(|op| {
            pair.step(&op)?;
            fault(pair.other(), &op);
            Ok::<_, String>(())
        });
        assert!(found.and_then(|()| pair.compare()).is_err(), "{what} is different and was not found");
    }
}

fn operations(max: usize) -> impl Strategy<Value = Vec<Op>> {
    let words = prop::array::uniform::<_, OP_WORDS>(any::<u32>());
    prop::collection::vec(words.prop_map(|words| Op::from_words(&words)), 1..max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_operations_agree(ops in operations(200)) {
        let mut pair = twin_of_models(SpaceMode::Enough, model_with_other_inodes());
        let result = run_and_compare(&mut pair, ops.into_iter());
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}
