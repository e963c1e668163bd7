//! Collects finished work from the flash and answers the host.

use super::Clock;
use crate::request::Op;
use crate::timing::clock::pending::PendingRequest;
use crate::timing::flash::{CleaningInterval, Completion};
use crate::timing::node::NONE;
use crate::timing::parts::Parts;
use std::cmp::Reverse;

impl Clock {
    /// Collects all finished requests from the flash.
    #[inline(always)]
    pub(super) fn collect(&mut self) {
        if !self.flash.ended_singles.is_empty() {
            self.collect_ended();
        }
        if !self.flash.finished.is_empty() {
            self.collect_finished();
        }
        if let Some(programmed) = &mut self.flash.completed_programs {
            self.buffered_programs.extend(programmed.drain(..).map(Reverse));
        }
        if self.flash.cleaning_intervals.as_ref().is_some_and(|cleaned| !cleaned.is_empty()) {
            self.collect_cleaned();
        }
    }

    #[inline(never)]
    fn collect_cleaned(&mut self) {
        let cleaned = self.flash.cleaning_intervals.iter_mut().flat_map(|cleaned| cleaned.drain(..));
        for CleaningInterval { begin_ns, end_ns, erased_victim } in cleaned {
            match erased_victim {
                true => self.statistics.timeline.add_victim(end_ns),
                false => self.statistics.timeline.add_cleaning(begin_ns, end_ns),
            }
        }
    }

    /// Ends the requests that were a single operation. Most requests are single operations, so this function makes no
    /// calls.
    #[inline(never)]
    fn collect_ended(&mut self) {
        for nth in 0..self.flash.ended_singles.len() {
            let finished = self.flash.take_ended_single(nth);
            self.end(&finished);
        }
        self.flash.ended_singles.clear();
        self.release_flushes();
    }

    /// Ends the requests of several operations.
    #[inline(never)]
    fn collect_finished(&mut self) {
        // The vectors are swapped and not copied, because the entries are large.
        let mut finished = std::mem::replace(&mut self.flash.finished, std::mem::take(&mut self.finished));
        finished.iter().for_each(|finished| self.end(finished));
        finished.clear();
        self.finished = finished;
        self.release_flushes();
    }

    /// Answers a request that the flash has done or is known to end. A read that needs the link is only queued: reads
    /// on the link must be answered in order of time.
    #[inline(always)]
    fn end(&mut self, &Completion { tag, done_ns, ref parts }: &Completion) {
        if tag == NONE {
            return;
        }
        let pending = &mut self.pending[tag as usize];
        pending.done_ns = done_ns;
        if pending.op == Op::Write {
            self.writes.end(pending.write_number, done_ns);
        }
        if pending.is_answered {
            return self.free_tags.push(tag);
        }
        let parts = pending.before.combine(parts);
        match pending.op {
            Op::Read if self.host.link_bytes_per_us.is_some() => {
                self.parts[tag as usize] = parts;
                self.reads_for_link.push(Reverse((done_ns, tag)));
            }
            Op::Flush => {
                pending.is_done = true;
                self.parts[tag as usize] = parts;
                self.answer_flush(tag);
            }
            _ => self.answer_now(tag, &parts),
        }
    }

    /// Answers flushes that only waited for writes.
    pub(super) fn release_flushes(&mut self) {
        while let Some((tag, ended_ns)) = self.writes.released.pop() {
            let pending = &mut self.pending[tag as usize];
            pending.writes_ended_ns = Some(ended_ns);
            if pending.is_done {
                self.answer_flush(tag);
            }
        }
    }

    /// Answers, in order, the reads that the flash has done by `now_ns`.
    pub(super) fn answer_reads_until(&mut self, now_ns: u64) {
        while let Some(&Reverse((done_ns, tag))) = self.reads_for_link.peek()
            && done_ns <= now_ns
        {
            self.reads_for_link.pop();
            let pages = self.pending[tag as usize].pages;
            let end_ns = self.link_out_ns.max(done_ns) + self.host.link_ns(pages);
            self.link_out_ns = end_ns;
            let mut parts = self.parts[tag as usize];
            parts.link_ns += end_ns - done_ns;
            self.answer(tag, &parts);
        }
    }

    fn answer_flush(&mut self, tag: u32) {
        let pending = &mut self.pending[tag as usize];
        if let Some(ended_ns) = pending.writes_ended_ns {
            let flush_ns = ended_ns.saturating_sub(pending.done_ns);
            let parts = Parts { flush_ns, ..self.parts[tag as usize] };
            self.answer(tag, &parts);
        }
    }

    /// Answers the host at a time that is settled.
    pub(super) fn answer(&mut self, tag: u32, parts: &Parts) {
        self.answer_now(tag, parts);
    }

    /// Inlined version of [`Clock::answer`], for its most frequent callers.
    #[inline(always)]
    fn answer_now(&mut self, tag: u32, parts: &Parts) {
        let PendingRequest {
            op, pages, request_number: ticket, arrival_ns, is_answered, is_measured, ..
        } = self.pending[tag as usize];
        if is_measured {
            self.statistics.record(op, pages, arrival_ns, parts);
        }
        self.slot_ends.push(arrival_ns + parts.total_ns(), parts.cleaning_fraction());
        self.record_end(ticket, arrival_ns + parts.total_ns());
        if !is_answered {
            self.free_tags.push(tag);
        }
    }
}
