//! Event handling of the flash device.

use super::channel::{EventKind, NEVER, key, time_of};
use super::die::Phase;
use super::flash::{CleaningInterval, Completion, Flash, OpenRequest, ProgramCompletion};
use super::node::{Class, Kind, NONE, Node};
use super::parameters::{Contention, Priority};
use super::parts::Parts;
use crate::units::BlockId;
use std::cmp::Reverse;

impl Flash {
    #[inline]
    fn set_key(&mut self, die: u32, new: u128) {
        self.next_events.set(self.dies[die as usize].channel, die, new);
    }

    pub(super) fn arrive(&mut self, id: u32, now_ns: u64) {
        if self.nodes[id].kind == Kind::Program {
            self.release_follower(id, now_ns);
        }
        match self.nodes[id].kind {
            Kind::Gate => self.complete(id, now_ns, Parts::default()),
            Kind::Hash => self.hash(id, now_ns),
            _ if self.has_known_ends => self.complete_in_order(id, now_ns),
            _ => self.queue(id, now_ns),
        }
    }

    /// A program has arrived at its die: releases the next program of its block.
    #[inline]
    fn release_follower(&mut self, id: u32, now_ns: u64) {
        let Node { die, class, follower, .. } = self.nodes[id];
        self.pending_programs.arrived(die, id);
        if follower == NONE {
            return;
        }
        self.nodes[id].follower = NONE;
        let before = self.nodes.wait_parts(follower);
        let delay_ns = now_ns.saturating_sub(self.nodes[follower].release_ns);
        let parts = match class {
            Class::Cleaning => Parts { cleaning_ns: before.cleaning_ns + delay_ns, ..before },
            _ => Parts { die_wait_ns: before.die_wait_ns + delay_ns, ..before },
        };
        self.release(follower, now_ns, class, parts);
    }

    fn hash(&mut self, id: u32, now_ns: u64) {
        let (pages, page_ns) = (self.nodes[id].units, self.nodes[id].array_ns);
        let mut last = (now_ns, 0);
        for _ in 0..pages {
            let engine = self.engines.iter_mut().min().expect("there is an engine");
            let begin_ns = (*engine).max(now_ns);
            *engine = begin_ns + page_ns;
            last = last.max((*engine, begin_ns - now_ns));
        }
        let (end_ns, wait_ns) = last;
        let parts = Parts { hash_wait_ns: wait_ns, hash_ns: end_ns - now_ns - wait_ns, ..Parts::default() };
        self.complete(id, end_ns, parts);
    }

    /// Gives the die to an operation that arrives at `now_ns` and needs `service_ns`, first come, first served.
    /// Returns the start, and the part of the wait that cleaning caused.
    #[inline]
    pub(super) fn serve_in_order(
        &mut self,
        number: u32,
        class: Class,
        now_ns: u64,
        service_ns: u64,
    ) -> (u64, u64) {
        let die = &mut self.dies[number as usize];
        let backlog = &mut self.backlogs[number as usize];
        let begin_ns = die.free_ns.max(now_ns);
        let cleaning_wait_ns =
            if !backlog.is_empty() && begin_ns > now_ns { backlog.remaining_ns(now_ns) } else { 0 };
        die.free_ns = begin_ns + service_ns;
        die.add_interval(class, begin_ns, die.free_ns);
        if class == Class::Cleaning {
            backlog.remaining_ns(now_ns);
            backlog.push(begin_ns, die.free_ns);
        }
        (begin_ns, cleaning_wait_ns)
    }

    /// Completes an operation whose end is known on arrival.
    pub(super) fn complete_in_order(&mut self, id: u32, now_ns: u64) {
        let node = &self.nodes[id];
        let service_ns = node.channel_ns + node.array_ns;
        let (taken_ns, cleaning_wait_ns) = self.serve_in_order(node.die, node.class, now_ns, service_ns);
        (self.nodes[id].taken_ns, self.nodes[id].die_cleaning_wait_ns) = (taken_ns, cleaning_wait_ns);
        self.end_operation(id, taken_ns + service_ns);
    }

    fn can_suspend(&self, id: u32) -> bool {
        match self.nodes[id].kind {
            // The operation is only a transfer into the page buffer.
            _ if self.nodes[id].array_ns == 0 => false,
            Kind::Erase => self.timing.suspend.erase,
            Kind::Program => self.timing.suspend.program,
            _ => false,
        }
    }

    pub(super) fn queue(&mut self, id: u32, now_ns: u64) {
        self.arrived += 1;
        let node = &mut self.nodes[id];
        node.order = self.arrived;
        let is_host_read = node.kind == Kind::Read && node.class == Class::Host;
        let number = node.die;
        let die = &mut self.dies[number as usize];
        node.cleaning_at_arrival_ns = die.busy_until(Class::Cleaning, now_ns);
        if die.phase == Phase::Idle {
            let begin_ns = die.free_ns.max(now_ns);
            self.start_operation(number, id, begin_ns);
            return;
        }
        if self.is_fifo || !is_host_read {
            die.others.push(&mut self.nodes, id);
            return;
        }
        die.reads.push(&mut self.nodes, id);
        let (phase, current) = (die.phase, die.current);
        match phase {
            Phase::Array if self.can_suspend(current) => {
                let begin_ns = now_ns.max(self.nodes[current].array_begin_ns);
                let end_ns = time_of(self.next_events.die_key(self.dies[number as usize].channel, number));
                self.suspend(number, begin_ns, end_ns);
            }
            Phase::Channel if self.can_suspend(current) => {
                self.dies[number as usize].suspend_requested = true
            }
            _ => {}
        }
    }

    /// Begins an operation on the die.
    fn start_operation(&mut self, number: u32, id: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let node = &mut self.nodes[id];
        node.taken_ns = now_ns;
        node.die_cleaning_wait_ns = die.busy_until(Class::Cleaning, now_ns) - node.cleaning_at_arrival_ns;
        node.suspend_ns = std::mem::take(&mut die.suspend_wait_ns);
        die.current = id;
        die.phase = Phase::Channel;
        die.begin(node.class, now_ns);
        let ready_ns = if node.kind == Kind::Read { now_ns + node.array_ns } else { now_ns };
        let node_number = node.number;
        self.set_key(number, key(ready_ns, EventKind::Transfer, node_number));
    }

    /// Handles the next event of a die, which has this key.
    pub(super) fn handle_event(&mut self, die: u32, event: u128) {
        let now_ns = time_of(event);
        match self.dies[die as usize].phase {
            Phase::Channel => self.grant(die, now_ns),
            Phase::Array => self.end_array(die, now_ns),
            Phase::Choosing => self.choose_next(die, now_ns),
            Phase::Suspending => {
                self.dies[die as usize].end(now_ns);
                self.choose_next(die, now_ns);
            }
            Phase::Idle => unreachable!("an idle die has no events"),
        }
    }

    /// Grants the channel to the die's operation.
    #[inline]
    fn grant(&mut self, number: u32, ready_ns: u64) {
        let can_suspend = self.can_suspend(self.dies[number as usize].current);
        let die = &mut self.dies[number as usize];
        let (id, channel) = (die.current, die.channel as usize);
        let node = &mut self.nodes[id];
        let uses_channel = self.timing.contention == Contention::Channel && node.channel_ns > 0;
        let (begin_ns, cleaning_wait_ns) = if uses_channel {
            self.channels[channel].grant(ready_ns, node.channel_ns, node.class)
        } else {
            (ready_ns, 0)
        };
        if uses_channel {
            self.operation_times.transfers_ns += node.channel_ns;
        }
        (node.channel_wait_ns, node.channel_cleaning_wait_ns) = (begin_ns - ready_ns, cleaning_wait_ns);
        let transferred_ns = begin_ns + node.channel_ns;
        node.array_begin_ns = transferred_ns;
        let end_ns = if node.kind == Kind::Read { transferred_ns } else { transferred_ns + node.array_ns };
        if !can_suspend {
            die.end(end_ns);
            self.end_operation(id, end_ns);
            if self.is_fifo {
                self.choose_next(number, end_ns);
            } else {
                self.schedule_choice(number, end_ns);
            }
            return;
        }
        die.phase = Phase::Array;
        die.left_ns = node.array_ns;
        if std::mem::take(&mut die.suspend_requested) {
            self.suspend(number, transferred_ns, end_ns);
        } else {
            self.set_key(number, key(end_ns, EventKind::End, u64::from(number)));
        }
    }

    /// Schedules the time at which the die chooses its next operation.
    pub(super) fn schedule_choice(&mut self, number: u32, when_ns: u64) {
        self.dies[number as usize].phase = Phase::Choosing;
        self.set_key(number, key(when_ns, EventKind::Choice, u64::from(number)));
    }

    /// Suspends the die's operation at `now_ns`; it would have ended at `end_ns`.
    fn suspend(&mut self, number: u32, now_ns: u64, end_ns: u64) {
        let die = &mut self.dies[number as usize];
        let left_ns = die.left_ns.min(end_ns - now_ns);
        let worked_ns = now_ns - self.nodes[die.current].array_begin_ns;
        self.operation_times.resuming_ns += worked_ns - (die.left_ns - left_ns);
        die.left_ns = left_ns;
        die.suspended = std::mem::replace(&mut die.current, NONE);
        die.phase = Phase::Suspending;
        die.end(now_ns);
        die.begin(Class::Suspend, now_ns);
        let suspend_ns = self.timing.suspend.suspend_ns;
        die.suspend_wait_ns = suspend_ns;
        self.operation_times.suspending_ns += suspend_ns;
        self.set_key(number, key(now_ns + suspend_ns, EventKind::Choice, u64::from(number)));
    }

    /// Ends the die's operation, which could be suspended before.
    fn end_array(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let id = die.current;
        die.end(now_ns);
        let worked_ns = now_ns - self.nodes[id].array_begin_ns;
        self.operation_times.resuming_ns += worked_ns - die.left_ns;
        self.end_operation(id, now_ns);
        self.schedule_choice(number, now_ns);
    }

    /// Chooses the die's next work, from `now_ns` on.
    fn choose_next(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let (read, other) = (die.reads.head, die.others.head);
        let takes_read = read != NONE
            && (die.suspended != NONE
                || other == NONE
                || self.timing.priority == Priority::ReadFirst
                || self.nodes[read].order < self.nodes[other].order);
        if takes_read {
            let id = die.reads.pop(&self.nodes);
            self.start_operation(number, id, now_ns);
        } else if die.suspended != NONE {
            let id = std::mem::replace(&mut die.suspended, NONE);
            die.current = id;
            die.phase = Phase::Array;
            die.begin(self.nodes[id].class, now_ns);
            self.nodes[id].array_begin_ns = now_ns;
            let end_ns = now_ns + self.timing.suspend.resume_ns + die.left_ns;
            self.set_key(number, key(end_ns, EventKind::End, u64::from(number)));
        } else if other != NONE {
            let id = die.others.pop(&self.nodes);
            self.start_operation(number, id, now_ns);
        } else {
            die.phase = Phase::Idle;
            die.current = NONE;
            die.free_ns = now_ns;
            self.set_key(number, NEVER);
        }
    }

    /// Ends an operation of a die at `end_ns`.
    #[inline]
    fn end_operation(&mut self, id: u32, end_ns: u64) {
        let node = &self.nodes[id];
        self.operation_times.operations_ns += node.channel_wait_ns + node.channel_ns + node.array_ns;
        if node.class == Class::Cleaning {
            if let Some(cleaned) = &mut self.cleaning_intervals {
                cleaned.push(CleaningInterval { begin_ns: node.taken_ns, end_ns, erased_victim: false });
            }
        } else if node.kind == Kind::Program
            && node.class == Class::Host
            && let Some(programmed) = &mut self.completed_programs
        {
            let share = (self.nodes.wait_parts(id) + node.parts(end_ns)).cleaning_fraction();
            programmed.push(ProgramCompletion { end_ns, pages: node.units, cleaning_fraction: share });
        }
        if node.is_whole_request {
            self.last_end_ns = self.last_end_ns.max(end_ns);
            self.ended_singles.push((id, end_ns));
        } else {
            self.complete(id, end_ns, node.parts(end_ns));
        }
    }

    /// Ends a node at `end_ns`, which may be in the future: notifies its request and the nodes that wait for it.
    fn complete(&mut self, id: u32, end_ns: u64, parts: Parts) {
        let node = &self.nodes[id];
        let (class, request, erases) = (node.class, node.request, node.erased_block);
        let total = if node.has_wait_parts { self.nodes.wait_parts(id) + parts } else { parts };
        self.last_end_ns = self.last_end_ns.max(end_ns);
        if erases != NONE {
            self.block_erases.end(BlockId(erases), id, end_ns);
            if class == Class::Cleaning
                && let Some(cleaned) = &mut self.cleaning_intervals
            {
                cleaned.push(CleaningInterval { begin_ns: end_ns, end_ns, erased_victim: true });
            }
        }
        while let Some(to) = self.nodes.take_dependent(id) {
            self.release(to, end_ns, class, total);
        }
        self.nodes.remove(id);
        if request != NONE {
            let open = &mut self.open_requests[request as usize];
            open.pending -= 1;
            if end_ns >= open.done_ns {
                (open.done_ns, open.parts) = (end_ns, total);
            }
            if open.pending == 0 {
                self.finish(request);
            }
        }
    }

    /// Removes one dependency, which ended at `end_ns`, from node `to`.
    fn release(&mut self, to: u32, end_ns: u64, class: Class, parts_until_end: Parts) {
        let before = self.nodes.wait_parts(to);
        let node = &mut self.nodes[to];
        let delay_ns = end_ns.saturating_sub(node.release_ns);
        node.release_ns += delay_ns;
        node.unmet_dependencies -= 1;
        if node.unmet_dependencies == 0 {
            self.waiting -= 1;
            self.arrivals.push(Reverse((key(node.release_ns, EventKind::Arrival, node.number), to)));
        }
        if delay_ns == 0 || node.class == Class::Cleaning {
            return;
        }
        let parts = match class {
            Class::Cleaning => Parts { cleaning_ns: before.cleaning_ns + delay_ns, ..before },
            _ => parts_until_end,
        };
        self.nodes.set_wait_parts(to, parts);
    }

    pub(super) fn finish(&mut self, request: u32) {
        let OpenRequest { tag, done_ns, parts, .. } = self.open_requests[request as usize];
        self.finished.push(Completion { tag, done_ns, parts });
        self.free_requests.push(request);
    }
}
