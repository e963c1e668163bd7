//! Flash that records its operations behaves like plain flash, and the record is complete.

use crate::counters::Cause;
use crate::layer::{ContentId, Group, Medium, MediumError, NandReport, Pages, Reports, Run};
use crate::nand::{Faults, Flash, Geometry, Nand, PageState, Wear};
use crate::seed::Seed;
use crate::timing::{Event, Journal, RecordingNand, Step};
use crate::units::{BlockId, Lpn, StreamId};

const CLEANING: Cause = Cause::Cleaning;

fn nand() -> Nand<ContentId> {
    Nand::new(Geometry::flat(4, 4, 4096), Wear::default(), Seed(1)).with_spare_area()
}

fn program(
    flash: &mut impl Medium<Payload = ContentId>,
    block: u32,
    page: u32,
    pages: u32,
) -> Result<(), MediumError> {
    let owners: Vec<Lpn> = (page..page + pages).map(Lpn).collect();
    let data: Vec<ContentId> = owners.iter().map(|owner| ContentId(owner.0.into())).collect();
    let (cause, stream, group) = (CLEANING, StreamId(1), Group::None);
    let run = Run { owners: Some(&owners), data: &data, sequence: 7, cause, stream, group, note: 5 };
    flash.program(BlockId(block), page, run)
}

/// Returns the answers of the flash to a series of calls, as text.
fn call_results<F: Flash<Payload = ContentId>>(flash: &mut F) -> Vec<String> {
    let mut answers = Vec::new();
    let mut record = |answer: &dyn std::fmt::Debug| answers.push(format!("{answer:?}"));
    record(&(flash.blocks(), flash.pages_per_block(), F::STORES_GROUPS, flash.layer_below().is_some()));
    record(&program(flash, 0, 0, 3));
    record(&program(flash, 0, 1, 1));
    let mut out = Vec::new();
    for pages in [Pages::Listed(&[2, 0]), Pages::Counted(2), Pages::Listed(&[3])] {
        record(&flash.read(BlockId(0), pages, Cause::Host, &mut out));
    }
    record(&out);
    record(&(flash.spare(BlockId(0), 1), flash.note(BlockId(0)), flash.next_page(BlockId(0))));
    record(&flash.read_spare(BlockId(0), 1, Cause::Translation));
    flash.read_wear(BlockId(2));
    record(&flash.erase(BlockId(0), CLEANING));
    record(&flash.erase(BlockId(4), CLEANING));
    flash.retire(BlockId(1));
    record(&(flash.is_bad(BlockId(0)), flash.is_bad(BlockId(1)), flash.erases(BlockId(0))));
    record(&(flash.layer_below_mut().is_some(), flash.flush(), flash.take_disturbed()));
    record(&flash.reads_before_refresh(BlockId(0)));
    flash.tear_program(BlockId(0), 0);
    flash.tear_erase(BlockId(2));
    record(&[0, 2].map(|block| flash.spare(BlockId(block), 0)));
    let mut reports = Reports::default();
    flash.describe(&mut reports);
    let NandReport { programs, reads, spare_reads, erases, bad_blocks, .. } = reports.nand.unwrap();
    record(&(programs, reads, spare_reads, erases, bad_blocks, flash.check()));
    flash.recovery_step_ended();
    answers
}

#[test]
fn recording_flash_behaves_like_plain_flash() {
    let journal = Journal::default();
    let mut timed = RecordingNand::new(nand(), journal.clone());
    assert_eq!(call_results(&mut timed), call_results(&mut nand()));
    let block = BlockId(0);
    let reads = [2, 0, 0, 1].map(|page| Step::Read { block, page, cause: Cause::Host });
    let mut expected = vec![Step::Program { block, page: 0, pages: 3, cause: CLEANING }];
    expected.extend(reads);
    expected.push(Step::ReadSpare { block, page: 1, cause: Cause::Translation });
    expected.push(Step::ReadSpare { block: BlockId(2), page: 0, cause: Cause::WearLevelling });
    expected.push(Step::Erase { block, cause: CLEANING });
    let mut steps = Vec::new();
    journal.take(&mut steps);
    assert_eq!(steps, expected, "what was refused is not among them");
    assert_eq!(journal.take_events(), [(expected.len(), Event::RecoveryStepEnded)]);
}

/// The failed attempt takes time, and so does a successful page before it.
#[test]
fn failed_program_is_recorded_up_to_the_failed_page() {
    let faults = Faults { program_failure_rate: 0.4, read_disturb_limit: Some(1) };
    let journal = Journal::default();
    let nand = Nand::new(Geometry::flat(64, 4, 4096), Wear::default(), Seed(1)).with_spare_area();
    let mut timed = RecordingNand::new(nand.with_faults(faults, Seed(4)), journal.clone());
    let mut failed_at = [0; 4];
    for block in 0..64 {
        let done = program(&mut timed, block, 0, 4);
        let mut steps = Vec::new();
        journal.take(&mut steps);
        let pages = match done {
            Err(MediumError::ProgramFailed { page, .. }) => {
                assert_eq!(timed.spare(BlockId(block), page), PageState::Unreadable);
                failed_at[page as usize] += 1;
                page + 1
            }
            done => done.map_or(0, |()| 4),
        };
        assert_eq!(steps, [Step::Program { block: BlockId(block), page: 0, pages, cause: CLEANING }]);
    }
    assert!(failed_at.iter().all(|&failures| failures > 0), "{failed_at:?}");
    let whole = (0..64).find(|&block| timed.spare(BlockId(block), 0) != PageState::Unreadable).unwrap();
    timed.read(BlockId(whole), Pages::Listed(&[0]), Cause::Host, &mut Vec::new()).unwrap();
    assert_eq!(timed.take_disturbed(), Some(BlockId(whole)));
}
