//! Flash with a journal behaves like plain flash, and the journal contains all counted operations.

use crate::naive::cases::{Op, ops, setup};
use crate::naive::observe::{observe, reports};
use crate::naive::rig::Engine;
use proptest::prelude::*;
use wearwell_engine::layer::{Layer, Medium, no_data};
use wearwell_engine::timing::{Journal, RecordingNand, Step};

fn step<M: Medium<Payload = ()>>(engine: &mut Engine<M>, op: &Op) {
    let pages = op.pages(engine.logical_pages());
    match op {
        Op::Trim(_) | Op::TrimAll => engine.trim(&pages).unwrap(),
        Op::Read(_) => engine.read(&pages, &mut Vec::new()).unwrap(),
        Op::Flush => engine.flush().unwrap(),
        _ => engine.write(&pages, no_data(pages.len()), op.hint()).unwrap(),
    }
}

/// Returns the numbers of programs, reads and erases.
fn counts<M: Medium<Payload = ()>>(engine: &Engine<M>) -> (u64, u64, u64) {
    let nand = reports(engine).nand.expect("there is flash below");
    (nand.programs, nand.reads, nand.erases)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flash_with_a_journal_behaves_like_plain_flash(setup in setup(), ops in ops(12), unrecorded in 0..6usize) {
        let journal = Journal::default();
        let mut bare = setup.engine_on(setup.nand::<()>()).unwrap();
        let mut recording = setup.engine_on(RecordingNand::new(setup.nand::<()>(), journal.clone())).unwrap();
        journal.set_recording(false);
        let mut before = (0, 0, 0);
        for (number, op) in ops.iter().enumerate() {
            if number == unrecorded {
                journal.set_recording(true);
                before = counts(&recording);
            }
            step(&mut bare, op);
            step(&mut recording, op);
        }
        observe(&bare).assert_equals(&observe(&recording));
        prop_assert_eq!(format!("{:?}", reports(&bare)), format!("{:?}", reports(&recording)));
        recording.check().unwrap();
        let mut steps = Vec::new();
        journal.take(&mut steps);
        if unrecorded >= ops.len() {
            prop_assert!(steps.is_empty());
            return Ok(());
        }
        let mut recorded = before;
        for step in steps {
            match step {
                Step::Program { pages, .. } => recorded.0 += u64::from(pages),
                Step::Read { .. } => recorded.1 += 1,
                Step::Erase { .. } => recorded.2 += 1,
                Step::ReadSpare { .. } | Step::Hash { .. } => {}
            }
        }
        prop_assert_eq!(recorded, counts(&recording));
        prop_assert_eq!(bare.final_draw(), recording.final_draw());
    }
}
