//! The host's side, compared with a naive model: for each request, the model reruns all earlier requests to the end and
//! finds the time at which a queue slot and buffer space become free.

use super::naive::{NaiveDevice, Request};
use super::queues::{HOST, ONE_DIE, Rig, program, read};
use crate::timing::{Arrivals, Contention, FlashTiming, HostTiming, Layout};
use proptest::prelude::*;
use wearwell_base::request::Op;

/// A read or a write of one page; and the time from the previous request to this request.
#[derive(Clone, Copy, Debug)]
struct DrawnRequest {
    gap_ns: u64,
    op: Op,
    block: u32,
}

/// A request in the naive model.
struct ModelRequest {
    drawn: DrawnRequest,
    arrival_ns: u64,
    request: Request,
}

struct NaiveHost {
    host: HostTiming,
    flash: FlashTiming,
    requests: Vec<ModelRequest>,
}

/// Returns the first time, not before `begin_ns`, at which fewer than `limit` of the `ends` are in the future.
fn first_with_fewer(begin_ns: u64, ends: &[u64], limit: usize) -> u64 {
    let moments = ends.iter().copied().chain([begin_ns]).filter(|&moment| moment >= begin_ns);
    let is_free = |moment: &u64| ends.iter().filter(|&end| end > moment).count() < limit;
    moments.filter(is_free).min().expect("everything ends")
}

impl NaiveHost {
    /// Returns the time at which the flash has done each request, if no other request comes.
    fn done(&self) -> Vec<u64> {
        let requests: Vec<Request> = self.requests.iter().map(|taken| taken.request.clone()).collect();
        NaiveDevice::new(self.flash, false).run(&requests)
    }

    /// Returns the times at which the host gets its answers.
    fn answer_times(&self) -> Vec<u64> {
        let mut answers = self.done();
        let is_read = |at: &usize| self.requests[*at].drawn.op == Op::Read;
        let mut reads: Vec<usize> = (0..answers.len()).filter(is_read).collect();
        reads.sort_by_key(|&at| answers[at]);
        let mut link_ns = 0;
        for at in reads {
            link_ns = answers[at].max(link_ns) + self.host.link_ns(1);
            if self.host.link_bytes_per_us.is_some() {
                answers[at] = link_ns;
            }
        }
        if self.host.write_buffer_pages > 0 {
            for (answer, taken) in answers.iter_mut().zip(&self.requests) {
                if taken.drawn.op == Op::Write {
                    *answer = taken.request.start_ns;
                }
            }
        }
        answers
    }

    /// Returns the time at which the drive begins each request.
    fn run(&mut self, drawn: &[DrawnRequest]) -> Vec<u64> {
        let (mut due_ns, mut taken_ns, mut controller_ns, mut link_ns) = (0, 0, 0, 0);
        for (number, &draw) in drawn.iter().enumerate() {
            due_ns += draw.gap_ns;
            let is_open = self.host.arrivals == Arrivals::Open;
            let begin_ns = if is_open { due_ns.max(taken_ns) } else { taken_ns };
            let place_ns = first_with_fewer(begin_ns, &self.answer_times(), self.host.queue_depth as usize);
            taken_ns = place_ns;
            let (is_write, room) = (draw.op == Op::Write, self.host.write_buffer_pages as usize);
            if is_write && room > 0 {
                let done = self.done().into_iter().zip(&self.requests);
                let writes = done.filter(|(_, taken)| taken.drawn.op == Op::Write).map(|(done, _)| done);
                taken_ns = first_with_fewer(place_ns, &writes.collect::<Vec<_>>(), room);
            }
            let work_ns = if is_write { self.host.controller_write_ns } else { self.host.controller_read_ns };
            controller_ns = taken_ns.max(controller_ns) + work_ns;
            let (now_ns, mut start_ns) = (controller_ns, controller_ns);
            if is_write {
                link_ns = now_ns.max(link_ns) + self.host.link_ns(1);
                start_ns = if self.host.link_bytes_per_us.is_some() { link_ns } else { now_ns };
            }
            let steps = vec![step(draw, number)];
            let arrival_ns = if is_open { due_ns } else { place_ns };
            self.requests.push(ModelRequest {
                drawn: draw,
                arrival_ns,
                request: Request { now_ns, start_ns, steps },
            });
        }
        self.requests.iter().map(|taken| taken.request.now_ns).collect()
    }
}

fn step(drawn: DrawnRequest, number: usize) -> crate::timing::Step {
    match drawn.op {
        Op::Write => program(drawn.block, number as u32, 1),
        _ => read(drawn.block),
    }
}

fn drawn_requests() -> impl Strategy<Value = Vec<DrawnRequest>> {
    let wish = (prop_oneof![Just(0), 0..400_000u64], any::<bool>(), 0..6u32);
    let wish = wish.prop_map(|(gap_ns, is_write, block)| {
        let op = if is_write { Op::Write } else { Op::Read };
        DrawnRequest { gap_ns, op, block }
    });
    prop::collection::vec(wish, 1..30)
}

fn hosts() -> impl Strategy<Value = HostTiming> {
    let rate = prop_oneof![Just(None), (20.0..800.0f64).prop_map(Some)];
    (1..9u32, any::<bool>(), 0..90_000u64, 0..90_000u64, rate, 0..4u32).prop_map(
        |(queue_depth, is_open, controller_read_ns, controller_write_ns, link_bytes_per_us, buffer)| {
            HostTiming {
                queue_depth,
                arrivals: if is_open { Arrivals::Open } else { Arrivals::Closed },
                controller_read_ns,
                controller_write_ns,
                link_bytes_per_us,
                write_buffer_pages: buffer,
                ..HOST
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn dispatch_times_match_the_naive_host(
        wishes in drawn_requests(), host in hosts(), dies in 1..4u32, is_exact in any::<bool>(),
    ) {
        let contention = if is_exact { Contention::Channel } else { Contention::Die };
        let layout = Layout { ways: dies, ..ONE_DIE.layout };
        let flash = FlashTiming { layout, contention, ..ONE_DIE };
        let mut naive = NaiveHost { host, flash, requests: Vec::new() };
        let expected = naive.run(&wishes);
        let (mut rig, mut due_ns) = (Rig::new(host, flash), 0);
        for (number, (wish, expected_ns)) in wishes.iter().zip(expected).enumerate() {
            due_ns += wish.gap_ns;
            let begun_ns = rig.request(wish.op, 1, due_ns, &[step(*wish, number)]);
            prop_assert_eq!(begun_ns, expected_ns, "request {}", number);
        }
        let answers = naive.answer_times().into_iter().zip(&naive.requests);
        let expected_ns: u64 = answers.map(|(answer_ns, taken)| answer_ns - taken.arrival_ns).sum();
        let report = rig.finish();
        let sum_ns = report.requests.values().map(|times| times.mean_ns * times.requests as f64).sum::<f64>();
        prop_assert!((sum_ns - expected_ns as f64).abs() < 1.0, "{} {}", sum_ns, expected_ns);
    }
}

#[test]
fn controller_processes_requests_one_after_the_other() {
    let host = HostTiming { controller_read_ns: 7_000, controller_write_ns: 30_000, ..HOST };
    let layout = Layout { channels: 4, ..ONE_DIE.layout };
    let mut rig = Rig::new(host, FlashTiming { layout, ..ONE_DIE });
    let begun = [
        rig.request(Op::Write, 1, 0, &[program(0, 0, 1)]),
        rig.request(Op::Read, 1, 0, &[read(1)]),
        rig.request(Op::Trim, 1, 0, &[]),
        rig.request(Op::Read, 1, 100_000, &[read(2)]),
    ];
    assert_eq!(begun, [30_000, 37_000, 37_000, 107_000]);
    let report = rig.finish();
    let part = |kind: &str, name: &str| report.requests[kind].parts_ns[name];
    assert_eq!((part("write", "controller_ns"), part("trim", "controller_ns")), (30_000.0, 37_000.0));
    // The first read waits until the controller has processed the write; the second read waits only until the
    // controller has processed this read.
    assert_eq!(part("read", "controller_ns"), (37_000.0 + 7_000.0) / 2.0);
    assert_eq!(report.requests["write"].max_ns, 30_000 + 410_000);
    let error = HostTiming { controller_write_ns: u64::MAX, ..host }.check().unwrap_err();
    assert_eq!(error.key, "controller_write_ns");
}
