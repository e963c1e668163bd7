//! Collects finished work from the flash and answers the host.

use super::Clock;
use crate::request::Op;
use crate::timing::clock::pending::Pending;
use crate::timing::flash::{CleaningInterval, Finished};
use crate::timing::node::NONE;
use crate::timing::parts::Parts;
use std::cmp::Reverse;

impl Clock {
    /// Collects all finished requests from the flash.
    #[inline(always)]
    pub(super) fn collect(&mut self) {
        if !self.flash.ended.is_empty() {
            self.collect_ended();
        }
        if !self.flash.finished.is_empty() {
            self.collect_finished();
        }
        if let Some(programmed) = &mut self.flash.programmed {
            self.leaving.extend(programmed.drain(..).map(Reverse));
        }
        if self.flash.cleaned.as_ref().is_some_and(|cleaned| !cleaned.is_empty()) {
            self.collect_cleaned();
        }
    }

    #[inline(never)]
    fn collect_cleaned(&mut self) {
        let cleaned = self.flash.cleaned.iter_mut().flat_map(|cleaned| cleaned.drain(..));
        for CleaningInterval { begin_ns, end_ns, erased_victim } in cleaned {
            match erased_victim {
                true => self.statistics.timeline.victim(end_ns),
                false => self.statistics.timeline.cleaning(begin_ns, end_ns),
            }
        }
    }

    /// Ends the requests that were a single operation, as most are, in one function without calls.
    #[inline(never)]
    fn collect_ended(&mut self) {
        for nth in 0..self.flash.ended.len() {
            let finished = self.flash.take_ended(nth);
            self.end(&finished);
        }
        self.flash.ended.clear();
        self.release_flushes();
    }

    /// Ends the requests of several operations.
    #[inline(never)]
    fn collect_finished(&mut self) {
        // Swapped and not copied, because the entries are large.
        let mut finished = std::mem::replace(&mut self.flash.finished, std::mem::take(&mut self.finished));
        finished.iter().for_each(|finished| self.end(finished));
        finished.clear();
        self.finished = finished;
        self.release_flushes();
    }

    /// Answers a request that the flash has done or is known to end. A read that needs the link is only queued: reads
    /// on the link must be answered in order of time.
    #[inline(always)]
    fn end(&mut self, &Finished { tag, done_ns, ref parts }: &Finished) {
        if tag == NONE {
            return;
        }
        let pending = &mut self.pending[tag as usize];
        pending.done_ns = done_ns;
        if pending.op == Op::Write {
            self.writes.end(pending.number, done_ns);
        }
        if pending.is_answered {
            return self.free.push(tag);
        }
        let parts = pending.before.and(parts);
        match pending.op {
            Op::Read if self.host.link_bytes_per_us.is_some() => {
                self.parts[tag as usize] = parts;
                self.done.push(Reverse((done_ns, tag)));
            }
            Op::Flush => {
                pending.is_done = true;
                self.parts[tag as usize] = parts;
                self.answer_flush(tag);
            }
            _ => self.answer_now(tag, &parts),
        }
    }

    /// Answers flushes that had only to wait for writes.
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
    pub(super) fn settle_until(&mut self, now_ns: u64) {
        while let Some(&Reverse((done_ns, tag))) = self.done.peek()
            && done_ns <= now_ns
        {
            self.done.pop();
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
        let Pending { op, pages, ticket, arrival_ns, is_answered, is_measured, .. } =
            self.pending[tag as usize];
        if is_measured {
            self.statistics.record(op, pages, arrival_ns, parts);
        }
        self.places.push(arrival_ns + parts.total_ns(), parts.cleaning_share());
        self.note_end(ticket, arrival_ns + parts.total_ns());
        if !is_answered {
            self.free.push(tag);
        }
    }
}
