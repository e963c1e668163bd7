//! The host's side of the device: queue, link and write buffer; and the clock that connects these parts with the flash.

mod answers;
mod outage;
mod pending;

use super::busy::BusyTime;
use super::controller::Controller;
use super::flash::{Completion, Flash, ProgramCompletion};
use super::host::{Arrivals, Cleaning, HostTiming};
use super::journal::{Journal, Step};
use super::node::NONE;
use super::parts::{Fraction, Parts};
use super::singles::SingleOperation;
use super::statistics::{Statistics, TimingReport};
use super::time_queue::TimeQueue;
use super::writes::WriteTracker;
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::request::Op;
use pending::{Dispatch, PendingRequest, TimesBeforeFlash};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum number of slots of a deep queue that are taken before ended requests are removed from the count.
const MAX_UNCHECKED_SLOTS: u32 = 1 << 12;

/// The device as the host sees it.
///
/// For each request, [`Clock::next_dispatch`] returns the time at which the device takes the request. Then the layers
/// execute the request and write their steps into the journal, and [`Clock::serve`] runs these steps on the flash.
/// The layers thus execute requests in the order in which the device takes them.
///
/// - The device takes requests in order. It takes a request when its queue has a free slot. A write also needs free
///   space in the write buffer, if there is one, for all its pages or, if they exceed the buffer, for the size of the
///   buffer.
/// - The controller then processes one request after another, and the layers execute each request when the controller
///   has finished it. During this time the device continues to take requests.
/// - The link carries data in order in each direction. A write transfers its pages before the flash begins, a read
///   afterwards.
/// - A buffered write ends when its pages are in the buffer; a page leaves the buffer when its program ends. Reads of
///   buffered pages still go to the flash.
/// - A flush ends when all earlier writes are programmed.
pub struct Clock {
    host: HostTiming,
    flash: Flash,
    journal: Journal,
    statistics: Statistics,
    /// Time at which the device took the last request.
    taken_ns: u64,
    /// Time at which the flash got the last request, not before [`Clock::taken_ns`].
    now_ns: u64,
    controller: Controller,
    next: Option<Dispatch>,
    pending: Vec<PendingRequest>,
    /// Parts of the response times, so far, of reads that wait for the link and of flushes that wait for writes.
    parts: Vec<Parts>,
    free_tags: Vec<u32>,
    /// Reads whose end on the flash is known and that wait for the link, by time.
    reads_for_link: BinaryHeap<Reverse<(u64, u32)>>,
    /// Ends of requests that still occupy a slot in the queue, and the fraction of their response time that cleaning
    /// caused.
    slot_ends: TimeQueue<Fraction>,
    /// Number of requests that occupy a slot, including requests that ended since the queue was last found full.
    in_queue: u32,
    /// Fraction of cleaning in the response time of the request whose slot the last waiting request took.
    waited_cleaning_fraction: Fraction,
    link_in_ns: u64,
    link_out_ns: u64,
    buffered: u64,
    /// Programs whose pages are in the buffer.
    buffered_programs: BinaryHeap<Reverse<ProgramCompletion>>,
    writes: WriteTracker,
    busy_before: (Vec<BusyTime>, Vec<BusyTime>),
    /// True if a request is complete when its flash operations are known to end: without a link and a write buffer.
    is_flash_only: bool,
    /// Number of requests served so far.
    served: u64,
    /// Numbers and ends of the ended requests, if [`Clock::record_ends`] was called.
    ended: Option<Vec<(u64, u64)>>,
    steps: Vec<Step>,
    finished: Vec<Completion>,
}

impl Clock {
    /// Creates the clock of an idle device at time 0.
    pub fn new(host: HostTiming, flash: Flash, journal: Journal) -> Result<Self, ConfigError> {
        host.check()?;
        let flash = flash.recording_cleaning();
        let flash = if host.write_buffer_pages > 0 { flash.recording_programs() } else { flash };
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
            free_tags: Vec::new(),
            reads_for_link: BinaryHeap::new(),
            slot_ends: TimeQueue::new(host.queue_depth),
            in_queue: 0,
            waited_cleaning_fraction: Fraction::default(),
            link_in_ns: 0,
            link_out_ns: 0,
            buffered: 0,
            buffered_programs: BinaryHeap::new(),
            writes: WriteTracker::default(),
            busy_before,
            is_flash_only: host.link_bytes_per_us.is_none() && host.write_buffer_pages == 0,
            served: 0,
            ended: None,
            steps: Vec::new(),
            finished: Vec::new(),
        })
    }

    /// Returns the time at which the device begins the next request: when the device has taken the request and the
    /// controller has processed it. Times never decrease. `arrival_ns` has no meaning in a closed loop.
    /// [`Clock::serve`] must follow.
    pub fn next_dispatch(&mut self, op: Op, pages: u32, arrival_ns: u64) -> u64 {
        let begin_ns = match self.host.arrivals {
            Arrivals::Open => self.taken_ns.max(arrival_ns),
            Arrivals::Closed => self.taken_ns,
        };
        let slot_ns = self.wait_for_slot(begin_ns);
        // In a closed loop, a request arrives when the queue has a free slot.
        let arrival_ns = if self.host.arrivals == Arrivals::Open { arrival_ns } else { slot_ns };
        let queue_ns = slot_ns - arrival_ns;
        // If the slot was already free, this request waited because earlier requests waited.
        let queue_of_which_cleaning_ns = self.waited_cleaning_fraction.of(queue_ns);
        let taken_ns = if op == Op::Write { self.wait_for_buffer(pages, slot_ns) } else { slot_ns };
        let buffer_ns = taken_ns - slot_ns;
        let buffer_of_which_cleaning_ns = self.waited_cleaning_fraction.of(buffer_ns);
        let now_ns = self.controller.serve(op, taken_ns);
        let before = TimesBeforeFlash {
            queue_ns,
            queue_of_which_cleaning_ns,
            buffer_ns,
            buffer_of_which_cleaning_ns,
            controller_ns: now_ns - taken_ns,
            ..TimesBeforeFlash::default()
        };
        (self.taken_ns, self.now_ns) = (taken_ns, now_ns);
        self.next = Some(Dispatch { arrival_ns, now_ns, before });
        now_ns
    }

    /// Returns the time from which the queue has a free slot.
    fn wait_for_slot(&mut self, mut now_ns: u64) -> u64 {
        if self.host.link_bytes_per_us.is_some() {
            self.advance(now_ns);
        }
        // The count of taken slots is updated only when all slots seem to be taken, and from time to time.
        if self.in_queue < self.host.queue_depth.min(MAX_UNCHECKED_SLOTS) {
            return now_ns;
        }
        self.advance(now_ns);
        loop {
            let in_queue = &mut self.in_queue;
            self.slot_ends.take_until(now_ns, |_| *in_queue -= 1);
            if self.in_queue < self.host.queue_depth {
                return now_ns;
            }
            match self.slot_ends.first() {
                Some((end_ns, fraction)) if self.no_request_ends_before(end_ns) => {
                    (now_ns, self.waited_cleaning_fraction) = (end_ns, fraction);
                }
                _ => self.process_next(),
            }
        }
    }

    /// Returns the time from which the buffer has free space for a write.
    fn wait_for_buffer(&mut self, pages: u32, mut now_ns: u64) -> u64 {
        let capacity = u64::from(self.host.write_buffer_pages);
        if capacity == 0 {
            return now_ns;
        }
        self.advance(now_ns);
        let room = capacity - u64::from(pages).min(capacity);
        loop {
            while let Some(&Reverse(ProgramCompletion { end_ns, pages, .. })) = self.buffered_programs.peek()
                && end_ns <= now_ns
            {
                self.buffered_programs.pop();
                self.buffered -= u64::from(pages);
            }
            if self.buffered <= room {
                return now_ns;
            }
            match self.buffered_programs.peek() {
                Some(Reverse(next))
                    if self.flash.next_event_ns().is_none_or(|event_ns| next.end_ns <= event_ns) =>
                {
                    (now_ns, self.waited_cleaning_fraction) = (next.end_ns, next.cleaning_fraction);
                }
                _ => self.process_next(),
            }
        }
    }

    /// True if no request whose end is still unknown can end before `time_ns`.
    fn no_request_ends_before(&self, time_ns: u64) -> bool {
        self.flash.next_event_ns().is_none_or(|event_ns| time_ns <= event_ns)
            && self.reads_for_link.peek().is_none_or(|Reverse((done_ns, _))| time_ns <= *done_ns)
    }

    /// Settles the next request that is known to end, or processes the flash's next event.
    fn process_next(&mut self) {
        if let Some(&Reverse((done_ns, _))) = self.reads_for_link.peek()
            && self.flash.next_event_ns().is_none_or(|event_ns| done_ns <= event_ns)
        {
            return self.answer_reads_until(done_ns);
        }
        let progressed = self.flash.step();
        assert!(progressed, "the device waits for what never comes");
        self.collect();
    }

    #[inline]
    fn advance(&mut self, now_ns: u64) {
        self.flash.advance(now_ns);
        self.collect();
        if !self.reads_for_link.is_empty() {
            self.answer_reads_until(now_ns);
        }
    }

    /// Makes [`Clock::advance_to`] report the end of each request from now on.
    pub fn record_ends(&mut self) {
        self.ended = Some(Vec::new());
    }

    /// Returns the number of the request that is served next, from 0.
    pub fn next_request_number(&self) -> u64 {
        self.served
    }

    /// Processes all events until `now_ns`; no request may arrive before `now_ns` afterwards. Appends to `ended` the
    /// numbers and end times of the requests whose ends became known since the last call; such an end may lie in the
    /// future. Returns the time at which more ends may become known, if operations are under way.
    pub fn advance_to(&mut self, now_ns: u64, ended: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.advance(now_ns);
        if let Some(recorded) = &mut self.ended {
            ended.append(recorded);
        }
        let next_done_ns = self.reads_for_link.peek().map(|Reverse((done_ns, _))| *done_ns);
        self.flash.next_event_ns().into_iter().chain(next_done_ns).min()
    }

    #[inline]
    fn record_end(&mut self, number: u64, end_ns: u64) {
        if let Some(ended) = &mut self.ended {
            ended.push((number, end_ns));
        }
    }

    /// Runs the steps in the journal on the flash, for the request of the last [`Clock::next_dispatch`].
    pub fn serve(&mut self, op: Op, pages: u32) {
        self.served += 1;
        let only_step = if self.is_flash_only { self.journal.take_single() } else { None };
        let begin_ns = self.next.expect("next_dispatch comes before serve").now_ns;
        let single = only_step.and_then(|step| self.flash.single_operation(begin_ns, begin_ns, step));
        match single {
            Some(single) if self.serve_immediately(op, pages, &single) => self.collect(),
            _ => self.serve_steps(op, pages, only_step, single),
        }
    }

    /// Serves a request that consists of this single operation, if the end is known at once and the operation need not
    /// wait for other operations.
    #[inline]
    fn serve_immediately(&mut self, op: Op, pages: u32, single: &SingleOperation) -> bool {
        let Dispatch { arrival_ns, now_ns, before } = self.next.expect("asked for before");
        if !matches!(op, Op::Read | Op::Write) {
            return false;
        }
        let Some((done_ns, parts)) = self.flash.try_complete(now_ns, single) else { return false };
        self.next = None;
        if op == Op::Write {
            self.writes.add_ended(done_ns);
        }
        self.in_queue += 1;
        let parts = before.combine(&parts);
        self.statistics.record(op, pages, arrival_ns, &parts);
        self.slot_ends.push(done_ns, parts.cleaning_fraction());
        self.record_end(self.served - 1, done_ns);
        true
    }

    /// Runs a request on the flash: the step `only_step` if the request is a single operation, otherwise the steps in
    /// the journal.
    fn serve_steps(&mut self, op: Op, pages: u32, only_step: Option<Step>, single: Option<SingleOperation>) {
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
            let recovered_ns = self.run_outages(now_ns, start_ns);
            // An answered request does not wait for the outage.
            before.outage_ns = if is_answered { 0 } else { recovered_ns - start_ns };
            (now_ns, start_ns) = (recovered_ns, recovered_ns);
        }
        let pending = PendingRequest {
            op,
            pages,
            arrival_ns,
            before,
            done_ns: 0,
            write_number: number,
            request_number: self.served - 1,
            writes_ended_ns: None,
            is_done: false,
            is_answered,
            is_measured: true,
        };
        let tag = self.free_tags.pop().unwrap_or(self.pending.len() as u32);
        match self.pending.get_mut(tag as usize) {
            Some(slot) => *slot = pending,
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
            self.steps.extend(only_step);
            self.submit(tag, now_ns, start_ns);
        }
        if is_answered {
            self.answer(tag, &before.combine(&Parts::default()));
        }
        self.collect();
    }

    /// Submits the steps in `self.steps`, and those in the journal.
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

    /// Returns the time at which the device becomes idle before `until_ns`, the arrival of the next request, or `None`
    /// if the device does not become idle. The caller may then let a layer clean and call [`Clock::serve_cleaning`].
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

    /// Runs the steps in the journal on the flash without a request, at the time that [`Clock::idle`] returned, or
    /// when the device last took a request.
    pub fn serve_cleaning(&mut self) {
        if self.journal.has_events() {
            self.run_outages(self.now_ns, self.now_ns);
        }
        self.steps.clear();
        self.submit(NONE, self.now_ns, self.now_ns);
        self.collect();
    }

    /// Completes all operations under way, and returns the time at which the last of these operations ends.
    pub fn drain(&mut self) -> u64 {
        self.advance(u64::MAX >> 1);
        self.statistics.end_ns().max(self.flash.last_end_ns())
    }

    /// Starts the measurement: only requests that arrive from now on count.
    pub fn reset(&mut self) {
        self.advance(self.now_ns);
        self.statistics.reset(self.now_ns);
        self.pending.iter_mut().for_each(|pending| pending.is_measured = false);
        let channels = self.flash.channel_busy_before(self.now_ns);
        self.busy_before = (self.flash.die_busy(self.now_ns), channels);
    }

    /// Returns the measurements; complete after [`Clock::drain`].
    pub fn report(&self) -> TimingReport {
        let end_ns = self.flash.last_end_ns().max(self.now_ns);
        let since = |now: Vec<BusyTime>, before: &[BusyTime]| {
            now.into_iter().zip(before).map(|(now, &before)| now - before).collect()
        };
        let dies = since(self.flash.die_busy(end_ns), &self.busy_before.0);
        let channels = since(self.flash.channel_busy(), &self.busy_before.1);
        self.statistics.report(end_ns, dies, channels)
    }

    /// Recomputes the counts that can be recomputed; an error is a bug.
    pub fn check(&self) -> Result<(), String> {
        self.flash.check()
    }
}
