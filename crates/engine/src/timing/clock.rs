//! The host's side of the device: its queue, the link, the write buffer, and the clock that ties them to the flash.

mod answers;
mod outage;
mod pending;

use super::busy::BusyTime;
use super::controller::Controller;
use super::ends::Ends;
use super::flash::{Finished, Flash, Programmed};
use super::host::{Arrivals, Cleaning, HostTiming};
use super::journal::{Journal, Step};
use super::node::NONE;
use super::parts::{Parts, Share};
use super::singles::Single;
use super::statistics::{Statistics, TimingReport};
use super::writes::Writes;
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::request::Op;
use pending::{Before, Dispatch, Pending};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// So many places are taken before ended requests are forgotten, if the queue is deeper.
const MOST_PLACES: u32 = 1 << 12;

/// The device as the host sees it.
///
/// For each request: [`Clock::next_dispatch`] says when the device takes it, then the layers do it and write their steps
/// into the journal, then [`Clock::serve`] puts these on the flash. The layers thus do everything in the order in which
/// the device takes requests.
///
/// - The device takes requests in order. It takes one when there is a place in its queue and, for a write where there is a
///   write buffer, room for its pages (for as many as the buffer holds, if there are more).
/// - The controller then works on one request after the other, and the layers do each when it is done with it. Meanwhile the
///   device goes on taking requests.
/// - The link carries data in each direction in order. A write's pages are on it before the flash begins, a read's after.
/// - A buffered write ends when its pages are in the buffer; a page leaves it when its program ends. Reads of pages in the
///   buffer go to the flash all the same.
/// - A flush ends when all earlier writes are programmed.
pub struct Clock {
    host: HostTiming,
    flash: Flash,
    journal: Journal,
    statistics: Statistics,
    /// When the device took the last request.
    taken_ns: u64,
    /// When the flash had the last request, not before [`Clock::taken_ns`].
    now_ns: u64,
    controller: Controller,
    next: Option<Dispatch>,
    pending: Vec<Pending>,
    /// The parts, so far, of reads that wait for the link and of flushes that wait for writes.
    parts: Vec<Parts>,
    free: Vec<u32>,
    /// Reads that the flash has done or is known to end, by time, that wait for their turn on the link.
    done: BinaryHeap<Reverse<(u64, u32)>>,
    /// Ends of requests that still have a place in the queue, and what cleaning caused of their responses.
    places: Ends<Share>,
    /// Requests that have a place, those that ended since it was last full included.
    in_queue: u32,
    /// What cleaning caused of the wait that the last request to wait waited for.
    waited_share: Share,
    link_in_ns: u64,
    link_out_ns: u64,
    buffered: u64,
    /// Programs whose pages are in the buffer.
    leaving: BinaryHeap<Reverse<Programmed>>,
    writes: Writes,
    busy_before: (Vec<BusyTime>, Vec<BusyTime>),
    /// Whether nothing of a request is left to be done when its flash operations are known to end: there is neither a link nor a
    /// write buffer.
    is_bare: bool,
    /// Requests served so far.
    served: u64,
    /// Numbers and ends of those that ended, if somebody follows them.
    ended: Option<Vec<(u64, u64)>>,
    steps: Vec<Step>,
    finished: Vec<Finished>,
}

impl Clock {
    /// At time 0, with nothing to do.
    pub fn new(host: HostTiming, flash: Flash, journal: Journal) -> Result<Self, ConfigError> {
        host.check()?;
        let flash = flash.noting_cleaning();
        let flash = if host.write_buffer_pages > 0 { flash.noting_programs() } else { flash };
        let busy_before = (flash.die_busy(0), flash.channel_busy());
        Ok(Clock {
            host,
            flash,
            journal,
            statistics: Statistics::new(0, host.page_bytes),
            taken_ns: 0,
            now_ns: 0,
            controller: Controller::new(host.controller_read_ns, host.controller_write_ns),
            next: None,
            pending: Vec::new(),
            parts: Vec::new(),
            free: Vec::new(),
            done: BinaryHeap::new(),
            places: Ends::new(host.queue_depth),
            in_queue: 0,
            waited_share: Share::default(),
            link_in_ns: 0,
            link_out_ns: 0,
            buffered: 0,
            leaving: BinaryHeap::new(),
            writes: Writes::default(),
            busy_before,
            is_bare: host.link_bytes_per_us.is_none() && host.write_buffer_pages == 0,
            served: 0,
            ended: None,
            steps: Vec::new(),
            finished: Vec::new(),
        })
    }

    /// When the device begins with the next request, which came at `arrival_ns` (of no meaning in a closed loop), not before
    /// the one before it: when it has taken it and the controller is done with it. [`Clock::serve`] must follow.
    pub fn next_dispatch(&mut self, op: Op, pages: u32, arrival_ns: u64) -> u64 {
        let begin_ns = match self.host.arrivals {
            Arrivals::Open => self.taken_ns.max(arrival_ns),
            Arrivals::Closed => self.taken_ns,
        };
        let place_ns = self.wait_for_place(begin_ns);
        // In a closed loop the host asks when it finds a place.
        let arrival_ns = if self.host.arrivals == Arrivals::Open { arrival_ns } else { place_ns };
        let queue_ns = place_ns - arrival_ns;
        // Where the place was free already, the requests before this one waited for it to be taken.
        let queue_of_which_cleaning_ns = self.waited_share.of(queue_ns);
        let taken_ns = if op == Op::Write { self.wait_for_room(pages, place_ns) } else { place_ns };
        let buffer_ns = taken_ns - place_ns;
        let buffer_of_which_cleaning_ns = self.waited_share.of(buffer_ns);
        let now_ns = self.controller.serve(op, taken_ns);
        let before = Before {
            queue_ns,
            queue_of_which_cleaning_ns,
            buffer_ns,
            buffer_of_which_cleaning_ns,
            controller_ns: now_ns - taken_ns,
            ..Before::default()
        };
        (self.taken_ns, self.now_ns) = (taken_ns, now_ns);
        self.next = Some(Dispatch { arrival_ns, now_ns, before });
        now_ns
    }

    /// From when on there is a place in the queue.
    fn wait_for_place(&mut self, mut now_ns: u64) -> u64 {
        if self.host.link_bytes_per_us.is_some() {
            self.advance(now_ns);
        }
        // Places are counted anew only when all seem to be taken, and now and then.
        if self.in_queue < self.host.queue_depth.min(MOST_PLACES) {
            return now_ns;
        }
        self.advance(now_ns);
        loop {
            let in_queue = &mut self.in_queue;
            self.places.take_until(now_ns, |_| *in_queue -= 1);
            if self.in_queue < self.host.queue_depth {
                return now_ns;
            }
            match self.places.first() {
                Some((end_ns, share)) if self.nothing_ends_before(end_ns) => {
                    (now_ns, self.waited_share) = (end_ns, share);
                }
                _ => self.go_on(),
            }
        }
    }

    /// From when on there is room for a write in the buffer.
    fn wait_for_room(&mut self, pages: u32, mut now_ns: u64) -> u64 {
        let capacity = u64::from(self.host.write_buffer_pages);
        if capacity == 0 {
            return now_ns;
        }
        self.advance(now_ns);
        let room = capacity - u64::from(pages).min(capacity);
        loop {
            while let Some(&Reverse(Programmed { end_ns, pages, .. })) = self.leaving.peek()
                && end_ns <= now_ns
            {
                self.leaving.pop();
                self.buffered -= u64::from(pages);
            }
            if self.buffered <= room {
                return now_ns;
            }
            match self.leaving.peek() {
                Some(Reverse(next))
                    if self.flash.next_event_ns().is_none_or(|event_ns| next.end_ns <= event_ns) =>
                {
                    (now_ns, self.waited_share) = (next.end_ns, next.share);
                }
                _ => self.go_on(),
            }
        }
    }

    /// Whether no request whose end is not settled will end before `time_ns`.
    fn nothing_ends_before(&self, time_ns: u64) -> bool {
        self.flash.next_event_ns().is_none_or(|event_ns| time_ns <= event_ns)
            && self.done.peek().is_none_or(|Reverse((done_ns, _))| time_ns <= *done_ns)
    }

    /// Settles the next request that is known to end, or works off the flash's next event.
    fn go_on(&mut self) {
        if let Some(&Reverse((done_ns, _))) = self.done.peek()
            && self.flash.next_event_ns().is_none_or(|event_ns| done_ns <= event_ns)
        {
            return self.settle_until(done_ns);
        }
        let went_on = self.flash.step();
        assert!(went_on, "the device waits for what never comes");
        self.collect();
    }

    #[inline]
    fn advance(&mut self, now_ns: u64) {
        self.flash.advance(now_ns);
        self.collect();
        if !self.done.is_empty() {
            self.settle_until(now_ns);
        }
    }

    /// From now on [`Clock::go_to`] tells when each request ends.
    pub fn follow(&mut self) {
        self.ended = Some(Vec::new());
    }

    /// The number of the request that is served next, from 0.
    pub fn next_number(&self) -> u64 {
        self.served
    }

    /// Works off what happens until `now_ns`, before which no request comes any more. Appends to `ended` the numbers of requests that
    /// are known to end since the last time, and when they do, which may be later; the time at which more may be known, if
    /// anything is under way.
    pub fn go_to(&mut self, now_ns: u64, ended: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.advance(now_ns);
        if let Some(found) = &mut self.ended {
            ended.append(found);
        }
        let next_done_ns = self.done.peek().map(|Reverse((done_ns, _))| *done_ns);
        self.flash.next_event_ns().into_iter().chain(next_done_ns).min()
    }

    #[inline]
    fn note_end(&mut self, number: u64, end_ns: u64) {
        if let Some(ended) = &mut self.ended {
            ended.push((number, end_ns));
        }
    }

    /// Puts the steps that the journal holds on the flash, for the request of the last [`Clock::next_dispatch`].
    pub fn serve(&mut self, op: Op, pages: u32) {
        self.served += 1;
        let alone = if self.is_bare { self.journal.take_alone() } else { None };
        let begin_ns = self.next.expect("next_dispatch comes before serve").now_ns;
        let single = alone.and_then(|step| self.flash.single(begin_ns, begin_ns, step));
        match single {
            Some(single) if self.serve_at_once(op, pages, &single) => self.collect(),
            _ => self.serve_steps(op, pages, alone, single),
        }
    }

    /// Serves the request that is this operation alone, if its end is known at once: it never is one of those that wait for theirs.
    #[inline]
    fn serve_at_once(&mut self, op: Op, pages: u32, single: &Single) -> bool {
        let Dispatch { arrival_ns, now_ns, before } = self.next.expect("asked for before");
        if !matches!(op, Op::Read | Op::Write) {
            return false;
        }
        let Some((done_ns, parts)) = self.flash.do_at_once(now_ns, single) else { return false };
        self.next = None;
        if op == Op::Write {
            self.writes.pass(done_ns);
        }
        self.in_queue += 1;
        let parts = before.and(&parts);
        self.statistics.record(op, pages, arrival_ns, &parts);
        self.places.push(done_ns, parts.cleaning_share());
        self.note_end(self.served - 1, done_ns);
        true
    }

    /// Puts on the flash `alone`, the operation that it is if it is one, or the steps that the journal holds.
    fn serve_steps(&mut self, op: Op, pages: u32, alone: Option<Step>, single: Option<Single>) {
        let Dispatch { arrival_ns, mut now_ns, mut before } =
            self.next.take().expect("next_dispatch comes before serve");
        let mut start_ns = now_ns;
        if op == Op::Write && self.host.link_bytes_per_us.is_some() {
            start_ns = self.link_in_ns.max(now_ns) + self.host.link_ns(pages);
            self.link_in_ns = start_ns;
            before.link_ns = start_ns - now_ns;
        }
        let number = if op == Op::Write { self.writes.begin() } else { 0 };
        let is_answered = op == Op::Write && self.host.write_buffer_pages > 0;
        if self.journal.has_events() {
            let back_ns = self.live_through_outages(now_ns, start_ns);
            // Who has an answer already does not wait.
            before.outage_ns = if is_answered { 0 } else { back_ns - start_ns };
            (now_ns, start_ns) = (back_ns, back_ns);
        }
        let pending = Pending {
            op,
            pages,
            arrival_ns,
            before,
            done_ns: 0,
            number,
            ticket: self.served - 1,
            writes_ended_ns: None,
            is_done: false,
            is_answered,
            is_measured: true,
        };
        let tag = self.free.pop().unwrap_or(self.pending.len() as u32);
        match self.pending.get_mut(tag as usize) {
            Some(place) => *place = pending,
            None => {
                self.pending.push(pending);
                self.parts.push(Parts::default());
            }
        }
        if op == Op::Flush {
            self.writes.wait(tag);
            self.release_flushes();
        }
        self.in_queue += 1;
        if let Some(single) = single {
            self.flash.submit_single(tag, now_ns, start_ns, single);
        } else {
            self.steps.clear();
            self.steps.extend(alone);
            self.submit(tag, now_ns, start_ns);
        }
        if is_answered {
            self.answer(tag, &before.and(&Parts::default()));
        }
        self.collect();
    }

    /// Submits the steps in hand, and those that the journal holds.
    fn submit(&mut self, tag: u32, now_ns: u64, start_ns: u64) {
        let mut steps = std::mem::take(&mut self.steps);
        self.journal.take(&mut steps);
        self.submit_steps(tag, now_ns, start_ns, &steps);
        self.steps = steps;
    }

    fn submit_steps(&mut self, tag: u32, now_ns: u64, start_ns: u64, steps: &[Step]) {
        if self.host.write_buffer_pages > 0 {
            let programs = steps.iter().map(|step| match step {
                Step::Program { pages, cause: Cause::Host, .. } => u64::from(*pages),
                _ => 0,
            });
            self.buffered += programs.sum::<u64>();
        }
        self.flash.submit(tag, now_ns, start_ns, steps, self.host.cleaning == Cleaning::Foreground);
    }

    /// When the device falls idle before `until_ns`, the arrival of the next request; `None` if it does not. Meanwhile
    /// the caller may let a layer clean, and call [`Clock::serve_cleaning`].
    pub fn idle(&mut self, until_ns: u64) -> Option<u64> {
        while !self.flash.is_settled() && self.flash.next_event_ns().is_some_and(|next_ns| next_ns < until_ns)
        {
            self.flash.step();
        }
        self.collect();
        let idle_ns = self.flash.last_end_ns().max(self.now_ns).max(self.link_in_ns);
        if !self.flash.is_settled() || idle_ns >= until_ns {
            return None;
        }
        self.now_ns = idle_ns;
        Some(idle_ns)
    }

    /// Puts the steps that the journal holds on the flash, for nobody, at the time that [`Clock::idle`] told, or when the
    /// device last took a request.
    pub fn serve_cleaning(&mut self) {
        if self.journal.has_events() {
            self.live_through_outages(self.now_ns, self.now_ns);
        }
        self.steps.clear();
        self.submit(NONE, self.now_ns, self.now_ns);
        self.collect();
    }

    /// Ends everything that was begun, and tells when the last of it ended.
    pub fn drain(&mut self) -> u64 {
        self.advance(u64::MAX >> 1);
        self.statistics.end_ns().max(self.flash.last_end_ns())
    }

    /// Begins to measure: only requests that arrive from now on count.
    pub fn reset(&mut self) {
        self.advance(self.now_ns);
        self.statistics.reset(self.now_ns);
        self.pending.iter_mut().for_each(|pending| pending.is_measured = false);
        let channels = self.flash.channel_busy_before(self.now_ns);
        self.busy_before = (self.flash.die_busy(self.now_ns), channels);
    }

    /// What was measured; complete after [`Clock::drain`].
    pub fn report(&self) -> TimingReport {
        let end_ns = self.flash.last_end_ns().max(self.now_ns);
        let since = |now: Vec<BusyTime>, before: &[BusyTime]| {
            now.into_iter().zip(before).map(|(now, &before)| now - before).collect()
        };
        let dies = since(self.flash.die_busy(end_ns), &self.busy_before.0);
        let channels = since(self.flash.channel_busy(), &self.busy_before.1);
        self.statistics.report(end_ns, dies, channels)
    }

    /// Recounts what can be recounted; an error is a defect.
    pub fn check(&self) -> Result<(), String> {
        self.flash.check()
    }
}
