//! Host requests of a single operation: this common case needs no planning.

use super::block_erases::Dependency;
use super::channel::{EventKind, key};
use super::die::Phase;
use super::flash::{Completion, Flash};
use super::journal::Step;
use super::node::{Class, Kind};
use super::parameters::Contention;
use super::parts::Parts;
use crate::counters::Cause;
use crate::units::BlockId;
use std::cmp::Reverse;
use std::hint::select_unpredictable;

/// An operation that waits only for its die and channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct SingleOperation {
    kind: Kind,
    block: BlockId,
    die: u32,
    units: u32,
    channel_ns: u64,
    array_ns: u64,
}

impl Flash {
    /// Returns the single operation of a request with only this step, after processing all earlier events; `None` if
    /// the request needs planning.
    #[inline]
    pub(super) fn single_operation(
        &mut self,
        now_ns: u64,
        start_ns: u64,
        step: Step,
    ) -> Option<SingleOperation> {
        let (kind, block, page, units, cause) = match step {
            Step::Read { block, page, cause } => (Kind::Read, block, page, 1, cause),
            Step::Program { block, page, pages, cause } => (Kind::Program, block, page, pages, cause),
            _ => return None,
        };
        let (flash_page, is_one, is_full) = self.die_lookup.flash_page(page, units);
        // Predictable conditions come first: the CPU cannot predict if a request reads or programs.
        if cause != Cause::Host
            || !is_one
            || (self.block_erases.dependency(block, start_ns) != Dependency::Nothing && kind == Kind::Program)
        {
            return None;
        }
        let die = self.die_lookup.die(block, flash_page);
        self.advance_for(die, now_ns);
        if kind == Kind::Program && self.pending_programs.is_under_way(die, block) {
            return None;
        }
        let channel_ns = self.timing.command_ns + u64::from(units) * self.timing.unit_transfer_ns;
        let program_ns = if is_full { self.timing.program_ns } else { 0 };
        let array_ns = select_unpredictable(kind == Kind::Read, self.timing.read_ns, program_ns);
        Some(SingleOperation { kind, block, die, units, channel_ns, array_ns })
    }

    /// Submits a request that consists of this operation, found at `now_ns`, and that begins at `start_ns`.
    pub(super) fn submit_single(&mut self, tag: u32, now_ns: u64, start_ns: u64, single: SingleOperation) {
        if self.has_known_ends && start_ns == now_ns && self.completed_programs.is_none() {
            let (done_ns, parts) = self.serve_single_in_order(&single, now_ns);
            self.finished.push(Completion { tag, done_ns, parts });
            return;
        }
        let SingleOperation { kind, block, die, units, channel_ns, array_ns } = single;
        let id = self.nodes.create(kind, Class::Host, start_ns);
        let node = &mut self.nodes[id];
        (node.request, node.is_whole_request, node.die, node.units) = (tag, true, die, units);
        (node.channel_ns, node.array_ns) = (channel_ns, array_ns);
        if start_ns <= now_ns {
            // The node was not planned, so that no program of its block follows it.
            match self.has_known_ends {
                true => self.complete_in_order(id, now_ns),
                false => self.queue(id, now_ns),
            }
        } else {
            self.arrivals.push(Reverse((key(start_ns, EventKind::Arrival, node.number), id)));
            if kind == Kind::Program {
                self.pending_programs.plan(die, block, id);
            }
        }
    }

    /// Runs the operation, which begins at `now_ns`, if its end can be known at once. Returns its end and the parts of
    /// the time until then. No request or node is created. Only for devices that do not record programs.
    #[inline]
    pub(super) fn try_complete(&mut self, now_ns: u64, single: &SingleOperation) -> Option<(u64, Parts)> {
        if self.has_known_ends {
            return Some(self.serve_single_in_order(single, now_ns));
        }
        self.is_next(single, now_ns).then(|| self.program_immediately(single, now_ns))
    }

    fn serve_single_in_order(&mut self, single: &SingleOperation, now_ns: u64) -> (u64, Parts) {
        let &SingleOperation { die, channel_ns, array_ns, .. } = single;
        let (taken_ns, cleaning_wait_ns) =
            self.serve_in_order(die, Class::Host, now_ns, channel_ns + array_ns);
        let done_ns = taken_ns + channel_ns + array_ns;
        self.operation_times.operations_ns += channel_ns + array_ns;
        self.last_end_ns = self.last_end_ns.max(done_ns);
        let parts = Parts {
            die_wait_ns: taken_ns - now_ns,
            die_wait_of_which_cleaning_ns: cleaning_wait_ns,
            transfer_ns: channel_ns,
            flash_ns: array_ns,
            ..Parts::default()
        };
        (done_ns, parts)
    }

    /// True if a program that arrives now is taken by its die at once, gets the channel next, and will not be
    /// suspended. Such a program need not be queued as an event.
    #[inline]
    fn is_next(&self, single: &SingleOperation, now_ns: u64) -> bool {
        let die = &self.dies[single.die as usize];
        let begins = single.kind == Kind::Program && die.phase == Phase::Idle && die.free_ns <= now_ns;
        let takes_time = single.channel_ns + single.array_ns > 0;
        if !begins || !takes_time || (self.timing.suspend.program && single.array_ns > 0) {
            return false;
        }
        // Without waiting nodes, channels are independent of each other, and other channels may lag behind.
        let next = match self.waiting == 0 && self.arrivals.is_empty() {
            true => self.next_events.channel_key(die.channel as usize),
            false => self.next_events.first_key().min(self.first_arrival()),
        };
        key(now_ns, EventKind::Transfer, self.nodes.next_number()) < next
    }

    /// Runs a program that is next on its die and channel: handles its arrival, its start on the die and the grant of
    /// the channel at once.
    #[inline]
    fn program_immediately(&mut self, single: &SingleOperation, now_ns: u64) -> (u64, Parts) {
        let &SingleOperation { die: number, channel_ns, array_ns, .. } = single;
        let die = &mut self.dies[number as usize];
        let channel = die.channel;
        let mut granted = (now_ns, 0);
        if self.timing.contention == Contention::Channel && channel_ns > 0 {
            granted = self.channels[channel as usize].grant(now_ns, channel_ns, Class::Host);
            self.early_grants.add(now_ns, channel, channel_ns);
            self.operation_times.transfers_ns += channel_ns;
        }
        let (begin_ns, cleaning_wait_ns) = granted;
        let channel_wait_ns = begin_ns - now_ns;
        let end_ns = begin_ns + channel_ns + array_ns;
        self.operation_times.operations_ns += end_ns - now_ns;
        self.last_end_ns = self.last_end_ns.max(end_ns);
        die.add_interval(Class::Host, now_ns, end_ns);
        if self.is_fifo {
            die.free_ns = end_ns;
        } else {
            self.schedule_choice(number, end_ns);
        }
        let parts = Parts {
            channel_wait_ns,
            channel_wait_of_which_cleaning_ns: cleaning_wait_ns,
            transfer_ns: channel_ns,
            flash_ns: array_ns,
            ..Parts::default()
        };
        (end_ns, parts)
    }
}
