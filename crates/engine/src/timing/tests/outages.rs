//! Power cuts during a request, compared with devices that start anew each time.

use super::naive::{NaiveDevice, Request};
use super::queues::{HOST, ONE_DIE, Rig, program, read};
use super::{BLOCKS, PAGES_PER_BLOCK, requests, timing};
use crate::counters::Cause;
use crate::timing::{Cleaning, Event, FlashTiming, HostTiming, Layout, Step, TimingReport};
use crate::units::BlockId;
use proptest::prelude::*;
use wearwell_base::request::Op;

fn spare(block: u32) -> Step {
    Step::ReadSpare { block: BlockId(block), page: 0, cause: Cause::Host }
}

impl Rig {
    /// Runs a request with one power cut: the steps before the cut, the steps of recovery, and the steps after it.
    fn request_with_power_cut(
        &mut self,
        op: Op,
        arrival_ns: u64,
        before: &[Step],
        recovery: &[Vec<Step>],
        after: &[Step],
    ) {
        self.clock.next_dispatch(op, 1, arrival_ns);
        self.journal.extend(before.iter().copied());
        self.journal.push_event(Event::PowerLost);
        for steps in recovery {
            self.journal.extend(steps.iter().copied());
            self.journal.push_event(Event::RecoveryStepEnded);
        }
        self.journal.push_event(Event::Recovered);
        self.journal.extend(after.iter().copied());
        self.clock.serve(op, 1);
    }
}

#[test]
fn request_waits_until_the_drive_has_recovered() {
    let layout = Layout { channels: 3, ..ONE_DIE.layout };
    let host = HostTiming { power_off_ns: 7_000_000, ..HOST };
    let mut rig = Rig::new(host, FlashTiming { layout, ..ONE_DIE });
    rig.request(Op::Read, 1, 0, &[read(1)]);
    // Three spare areas in parallel, one on each die, and then two pages of one die.
    let recovery = [(0..3).map(spare).collect(), vec![read(0), read(3)]];
    rig.request_with_power_cut(Op::Write, 100_000, &[program(0, 0, 1)], &recovery, &[program(0, 1, 1)]);
    let taken_ns = rig.request(Op::Read, 1, 200_000, &[read(2)]);
    let report = rig.finish();
    let spare_ns = 2_000 + 313;
    let (lost_ns, recovery_ns) = (100_000 + 410_000, spare_ns + 120_000);
    let recovered_ns = lost_ns + 7_000_000 + recovery_ns;
    assert_eq!(taken_ns, recovered_ns);
    let (reads, writes) = (&report.requests["read"], &report.requests["write"]);
    assert_eq!(writes.max_ns, recovered_ns + 410_000 - 100_000);
    assert_eq!(writes.parts_ns["outage_ns"], (recovered_ns - 100_000) as f64);
    // A request that arrives during the outage waits for a slot in the queue.
    assert_eq!(reads.max_ns, recovered_ns + 60_000 - 200_000);
    assert_eq!(reads.parts_ns["queue_ns"] * 2.0, (recovered_ns - 200_000) as f64);
    let outages = report.outages.unwrap();
    assert_eq!((outages.outages, outages.max_ns), (1, recovered_ns - lost_ns));
    assert_eq!((outages.mean_ns, outages.mean_off_ns), ((recovered_ns - lost_ns) as f64, 7e6));
    assert_eq!(report.dies.iter().map(|die| die.other_ns).sum::<u64>(), 3 * spare_ns + 2 * 60_000);
}

#[test]
fn power_cut_during_recovery_does_not_delay_answered_writes() {
    let host = HostTiming { power_off_ns: 1_000_000, write_buffer_pages: 4, ..HOST };
    let mut rig = Rig::new(host, ONE_DIE);
    rig.clock.next_dispatch(Op::Write, 1, 0);
    rig.journal.extend([program(0, 0, 1)].into_iter());
    rig.journal.push_event(Event::PowerLost);
    rig.journal.extend([spare(0)].into_iter());
    rig.journal.push_event(Event::PowerLost);
    rig.journal.extend([spare(0)].into_iter());
    rig.journal.push_event(Event::Recovered);
    rig.clock.serve(Op::Write, 1);
    let report = rig.finish();
    let outages = report.outages.unwrap();
    assert_eq!((outages.outages, outages.max_ns, outages.mean_off_ns), (1, 2_000_000 + 2 * 2_313, 2e6));
    assert_eq!(report.requests["write"].max_ns, 0);
}

/// Expected times of the requests, from devices without state from before the power cut.
struct Expected {
    responses_ns: u64,
    outage_ns: u64,
}

fn expected(timing: FlashTiming, case: &Case, foreground: bool) -> Expected {
    let run = |requests: &[Request]| NaiveDevice::new(timing, foreground).run_to_end(requests);
    let request_at =
        |now_ns: u64, steps: &[Step]| Request { now_ns, start_ns: now_ns, steps: steps.to_vec() };
    let interrupted = &case.requests[case.interrupted];
    let mut before = case.requests[..case.interrupted].to_vec();
    before.push(request_at(interrupted.now_ns, &interrupted.steps[..case.steps_before_cut]));
    let (mut ends, last_ns) = run(&before);
    ends.pop();
    let lost_ns = last_ns.max(interrupted.now_ns);
    let mut recovered_ns = lost_ns + case.off_ns;
    for steps in &case.recovery {
        recovered_ns = run(&[request_at(recovered_ns, steps)]).1.max(recovered_ns);
    }
    let rest = &case.requests[case.interrupted + 1..];
    let mut after = vec![request_at(recovered_ns, &interrupted.steps[case.steps_before_cut..])];
    after.extend(rest.iter().map(|request| request_at(request.now_ns.max(recovered_ns), &request.steps)));
    ends.extend(run(&after).0);
    let responses = ends.iter().zip(&case.requests).map(|(end_ns, request)| end_ns - request.now_ns);
    Expected { responses_ns: responses.sum(), outage_ns: recovered_ns - lost_ns }
}

/// Requests, of which one loses power after some of its steps.
#[derive(Clone, Debug)]
struct Case {
    requests: Vec<Request>,
    interrupted: usize,
    steps_before_cut: usize,
    recovery: Vec<Vec<Step>>,
    off_ns: u64,
}

fn recovery() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let place = || ((0..BLOCKS).prop_map(BlockId), 0..PAGES_PER_BLOCK);
    let cause = Cause::Host;
    let scan = prop::collection::vec(
        place().prop_map(move |(block, page)| Step::ReadSpare { block, page, cause }),
        1..12,
    );
    let copy = (place(), place()).prop_map(move |((from, page), (block, to))| {
        vec![Step::Read { block: from, page, cause }, Step::Program { block, page: to, pages: 1, cause }]
    });
    let erase = place().prop_map(move |(block, _)| vec![Step::Erase { block, cause }]);
    prop::collection::vec(prop_oneof![scan, copy, erase], 0..4)
}

fn cases() -> impl Strategy<Value = Case> {
    (requests(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), recovery(), 0..5000u64).prop_map(
        |(mut requests, struck, done, recovery, off_ns)| {
            requests.iter_mut().for_each(|request| request.start_ns = request.now_ns);
            let interrupted = struck.index(requests.len());
            let steps_before_cut = done.index(requests[interrupted].steps.len() + 1);
            Case { requests, interrupted, steps_before_cut, recovery, off_ns }
        },
    )
}

fn simulate(timing: FlashTiming, case: &Case, foreground: bool) -> TimingReport {
    let cleaning = if foreground { Cleaning::Foreground } else { Cleaning::Background };
    let mut rig = Rig::new(HostTiming { cleaning, power_off_ns: case.off_ns, ..HOST }, timing);
    for (number, Request { now_ns, steps, .. }) in case.requests.iter().enumerate() {
        if number == case.interrupted {
            let (before, after) = steps.split_at(case.steps_before_cut);
            rig.request_with_power_cut(Op::Trim, *now_ns, before, &case.recovery, after);
        } else {
            rig.request(Op::Trim, 1, *now_ns, steps);
        }
    }
    rig.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn outage_behaves_like_a_new_device(timing in timing(), case in cases(), foreground in any::<bool>()) {
        let report = simulate(timing, &case, foreground);
        let expected = expected(timing, &case, foreground);
        let times = &report.requests["trim"];
        prop_assert_eq!((times.mean_ns * times.requests as f64).round() as u64, expected.responses_ns);
        prop_assert_eq!(report.outages.unwrap().max_ns, expected.outage_ns);
    }
}
