//! Discrete-event simulation of the flash device.
//!
//! # Model
//!
//! **Dies.** A die does one operation at a time, on all its planes or on one. Waiting operations run in order of
//! arrival, or host reads run before everything else ([`Priority`](super::Priority)). A program takes its die, waits
//! for the channel, is transferred (command and units), and keeps the die until the array has finished. A read takes
//! its die for `read_ns`, waits for the channel, is transferred, and keeps the die until then. An erase needs the
//! channel only for its command. Reading a spare area without its page takes `spare_read_ns`, and the channel for the
//! command and 1/32 of a unit.
//!
//! At equal times, operations end first, then operations arrive, then dies choose their next operation, and then
//! transfers begin. An idle die takes an arriving operation at once.
//!
//! **Channels** go to the operation that was ready first, and among equals to the operation that was planned first. A
//! transfer also waits for its die, and does not reserve the channel while it waits. Therefore each grant is a separate
//! event; a single time until which the channel is taken would not be enough.
//!
//! **Flash pages.** Units of a flash page that one step names are one operation. A page is programmed when its last
//! unit arrives. A program of earlier units ends with their transfer: they stay in the drive's page buffer, which
//! survives a power cut only in a drive with capacitors. With `multi_plane`, pages of one step in the same row of the
//! same die are programmed or read together: each page is transferred, and the array works once. A block's planes are
//! erased together. With [`Striping::Drive`](super::Striping), the planes of a die are programmed with the last page of
//! their row, no matter which step that page belongs to.
//!
//! **Copyback.** A page that cleaning moves within its plane is read and programmed by one operation of the die, which
//! needs the channel only for its command. Only whole flash pages are moved in this way.
//!
//! **Suspension.** A host read suspends an erase or program that has reached the array (at once, or when its transfer
//! ends). The die then needs `suspend_ns`, does all waiting host reads, and resumes with the remaining time plus
//! `resume_ns`. An operation may be suspended any number of times, so that a dense sequence of reads can delay it
//! without limit.
//!
//! **Hash engines** take pages in order of arrival.
//!
//! # Dependencies
//!
//! In a request, in the order of its steps:
//!
//! - Programs of all causes except cleaning wait for the reads and the last hash before them. Host reads wait for the
//!   last read of the mapping table (cause `Translation`) before them. Reads of spare areas count as reads.
//! - The read of a page waits for the read of its spare area, if this was the last read of a spare area before it: the
//!   spare area decides if the page is read.
//! - The n-th page that cleaning hashes, or programs without hashing, waits for the n-th page that cleaning read. A
//!   program takes the pages of the last hash first, and waits for that hash.
//! - An erase for cleaning waits for all operations of cleaning since its last erase. An erase of a cause other than
//!   host and cleaning waits for all operations of such causes.
//! - A program waits for the erase of its block to end, even if an earlier request issued the erase. If the drive
//!   erases ahead ([`FlashTiming::erase_ahead`]), the two only contend for their dies.
//! - With cleaning in the foreground, the host's programs wait for all cleaning before them. With cleaning in the
//!   background, they only share dies and channels with it.
//!
//! - Programs of a block reach each of its dies in page order: a program without dependencies queues behind a program
//!   with dependencies.
//!
//! A request ends with the last of its operations that are not cleaning.
//!
//! Approximation: a read of a page that is still being programmed waits only in the queue of the page's die.

use super::backlog::Backlog;
use super::block_erases::BlockErases;
use super::channel::{Channel, EventKind, NEVER, key, time_of};
use super::die::Die;
use super::die_lookup::DieLookup;
use super::early_grants::EarlyGrants;
use super::journal::Step;
use super::node::Nodes;
use super::parameters::FlashTiming;
use super::parts::{Fraction, Parts};
use super::pending_programs::PendingPrograms;
use super::plan::{PlanContext, PlannedRequest, Planner};
use super::tournament::TournamentTree;
use crate::config::ConfigError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag given to [`Flash::submit`].
    pub tag: u32,
    /// End of the last operation.
    pub done_ns: u64,
    /// The time from the submission's `start_ns` to `done_ns`, in parts.
    pub parts: Parts,
}

/// An interval in which a die did cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CleaningInterval {
    /// Start.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// True if this entry, of zero length, marks the end of a victim's erase.
    pub erased_victim: bool,
}

/// A completed program of the host; ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProgramCompletion {
    pub end_ns: u64,
    /// Pages of the host.
    pub pages: u32,
    /// Fraction of the time since the start of the request that cleaning caused.
    pub cleaning_fraction: Fraction,
}

/// A request that has not ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenRequest {
    pub tag: u32,
    pub pending: u32,
    pub done_ns: u64,
    pub parts: Parts,
}

/// Expected busy times of the dies, summed over operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OperationTimes {
    pub operations_ns: u64,
    pub transfers_ns: u64,
    pub suspending_ns: u64,
    pub resuming_ns: u64,
}

/// The simulated device; see the [module](self).
///
/// Time only advances: requests are submitted in order of time, and events before a submission are processed first.
pub struct Flash {
    pub(super) timing: FlashTiming,
    pub(super) is_fifo: bool,
    pub(super) has_known_ends: bool,
    pub(super) nodes: Nodes,
    pub(super) dies: Vec<Die>,
    /// Next event of each die, and the first of these events.
    pub(super) next_events: TournamentTree,
    /// Future cleaning on each die, where ends are known on arrival.
    pub(super) backlogs: Vec<Backlog>,
    pub(super) channels: Vec<Channel>,
    /// Time at which each hash engine becomes free.
    pub(super) engines: Vec<u64>,
    /// Nodes that arrive later, with the keys of their arrivals.
    pub(super) arrivals: BinaryHeap<Reverse<(u128, u32)>>,
    /// Number of nodes that wait for other nodes.
    pub(super) waiting: u64,
    pub(super) arrived: u64,
    pub(super) open_requests: Vec<OpenRequest>,
    pub(super) free_requests: Vec<u32>,
    pub(super) block_erases: BlockErases,
    /// Programs that have not reached their dies.
    pub(super) pending_programs: PendingPrograms,
    pub(super) planner: Planner,
    pub(super) die_lookup: DieLookup,
    pub(super) operation_times: OperationTimes,
    pub(super) early_grants: EarlyGrants,
    pub(super) last_end_ns: u64,
    pub(super) finished: Vec<Completion>,
    /// Ended requests of a single operation: the node, which is kept until it is collected, and the time of its end.
    pub(super) ended_singles: Vec<(u32, u64)>,
    /// Completed host programs, if recorded.
    pub(super) completed_programs: Option<Vec<ProgramCompletion>>,
    /// Intervals in which dies did cleaning, if recorded.
    pub(super) cleaning_intervals: Option<Vec<CleaningInterval>>,
}

impl Flash {
    /// Creates an idle device at time 0.
    pub fn new(timing: FlashTiming) -> Result<Self, ConfigError> {
        timing.check()?;
        let (dies, per_channel) = (timing.layout.all_dies(), timing.layout.dies_per_channel());
        Ok(Flash {
            timing,
            is_fifo: timing.is_fifo(),
            has_known_ends: timing.has_known_ends(),
            nodes: Nodes::new(),
            dies: (0..dies).map(|die| Die::new(die / per_channel)).collect(),
            next_events: TournamentTree::new(timing.layout.channels, per_channel),
            backlogs: (0..dies).map(|_| Backlog::default()).collect(),
            channels: (0..timing.layout.channels).map(|_| Channel::default()).collect(),
            engines: vec![0; timing.hash.engines as usize],
            arrivals: BinaryHeap::new(),
            waiting: 0,
            arrived: 0,
            open_requests: Vec::new(),
            free_requests: Vec::new(),
            block_erases: BlockErases::new(timing.erase_ahead),
            pending_programs: PendingPrograms::new(dies),
            planner: Planner::default(),
            die_lookup: DieLookup::new(&timing.layout, timing.multi_plane),
            operation_times: OperationTimes::default(),
            early_grants: EarlyGrants::default(),
            last_end_ns: 0,
            finished: Vec::new(),
            ended_singles: Vec::new(),
            completed_programs: None,
            cleaning_intervals: None,
        })
    }

    /// Makes the device record the ends of host programs.
    pub(super) fn recording_programs(mut self) -> Self {
        self.completed_programs = Some(Vec::new());
        self
    }

    /// Makes the device record the intervals in which dies do cleaning.
    pub(super) fn recording_cleaning(mut self) -> Self {
        self.cleaning_intervals = Some(Vec::new());
        self
    }

    /// Submits a request at `now_ns`, not before any earlier request. Its cleaning begins at once, and its other
    /// operations begin at `start_ns`, which is not before `now_ns`. [`Flash::drain_finished`] returns the request
    /// under `tag`, even if the request has no flash operations, at the latest after [`Flash::advance`] to its end.
    pub fn submit(&mut self, tag: u32, now_ns: u64, start_ns: u64, steps: &[Step], foreground: bool) {
        if let [step] = steps
            && let Some(single) = self.single_operation(now_ns, start_ns, *step)
        {
            return self.submit_single(tag, now_ns, start_ns, single);
        }
        self.advance(now_ns);
        let request = self.open_request(tag, start_ns);
        let request_plan = PlannedRequest { request, now_ns, start_ns, foreground };
        let mut context = PlanContext {
            nodes: &mut self.nodes,
            erased: &mut self.block_erases,
            programs: &mut self.pending_programs,
            timing: &self.timing,
            request: request_plan,
        };
        self.planner.plan(&mut context, steps);
        self.open_requests[request as usize].pending = self.planner.awaited;
        if self.planner.awaited == 0 {
            self.finish(request);
        }
        let created = std::mem::take(&mut self.planner.created);
        self.start_nodes(&created, now_ns);
        self.planner.created = created;
    }

    fn open_request(&mut self, tag: u32, start_ns: u64) -> u32 {
        let open = OpenRequest { tag, pending: 1, done_ns: start_ns, parts: Parts::default() };
        match self.free_requests.pop() {
            Some(request) => {
                self.open_requests[request as usize] = open;
                request
            }
            None => {
                self.open_requests.push(open);
                self.open_requests.len() as u32 - 1
            }
        }
    }

    /// Schedules the nodes that have no dependencies.
    fn start_nodes(&mut self, created: &[u32], now_ns: u64) {
        let waiting = created.iter().filter(|&&id| self.nodes[id].unmet_dependencies > 0).count() as u64;
        self.waiting += waiting;
        for &id in created {
            let node = &self.nodes[id];
            // If some of the nodes wait, simultaneous arrivals must stay in order of their numbers.
            if node.unmet_dependencies > 0 {
                continue;
            } else if waiting == 0 && node.release_ns <= now_ns {
                self.arrive(id, now_ns);
            } else {
                let release_ns = node.release_ns.max(now_ns);
                self.arrivals.push(Reverse((key(release_ns, EventKind::Arrival, node.number), id)));
            }
        }
        self.process_arrivals(now_ns);
    }

    /// Processes the arrivals released by `until_ns`.
    fn process_arrivals(&mut self, until_ns: u64) {
        while let Some(&Reverse((arrival, id))) = self.arrivals.peek()
            && time_of(arrival) <= until_ns
        {
            self.arrivals.pop();
            self.arrive(id, time_of(arrival));
        }
    }

    /// Processes all events before `until_ns`, and the ends and arrivals at `until_ns` itself.
    #[inline]
    pub fn advance(&mut self, until_ns: u64) {
        let none_waiting = self.waiting == 0 && self.arrivals.is_empty();
        if !none_waiting || self.next_events.first_key() < key(until_ns, EventKind::Choice, 0) {
            self.advance_all(until_ns);
        }
    }

    #[inline(never)]
    fn advance_all(&mut self, until_ns: u64) {
        if !self.advance_all_channels(until_ns) || self.has_known_ends {
            return;
        }
        // Without dependencies between nodes, channels are independent of each other.
        for channel in 0..self.channels.len() {
            self.advance_channel(channel, until_ns);
        }
    }

    /// Advances as far as an operation of `die` that arrives at `until_ns` requires; other channels may lag behind.
    #[inline]
    pub(super) fn advance_for(&mut self, die: u32, until_ns: u64) {
        if self.advance_all_channels(until_ns) && !self.has_known_ends {
            self.advance_channel(self.dies[die as usize].channel as usize, until_ns);
        }
    }

    /// Processes events across all channels, as long as nodes wait. Returns false if nodes still wait at `until_ns`.
    #[inline]
    fn advance_all_channels(&mut self, until_ns: u64) -> bool {
        while self.waiting > 0 || !self.arrivals.is_empty() {
            if !self.step_before(key(until_ns, EventKind::Choice, 0)) {
                return false;
            }
        }
        true
    }

    #[inline]
    fn advance_channel(&mut self, channel: usize, until_ns: u64) {
        let limit = key(until_ns, EventKind::Choice, 0);
        while self.next_events.channel_key(channel) < limit {
            self.handle_event(
                self.next_events.first_die_of_channel(channel),
                self.next_events.channel_key(channel),
            );
        }
    }

    /// Returns the time of the next event, or `None` without one. Ends that are not known yet are not before that
    /// time.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        let next = self.next_events.first_key().min(self.first_arrival());
        (next != NEVER).then(|| time_of(next))
    }

    /// Returns the key of the first pending arrival.
    #[inline]
    pub(super) fn first_arrival(&self) -> u128 {
        self.arrivals.peek().map_or(NEVER, |Reverse((arrival, _))| *arrival)
    }

    /// Processes the next event; returns false if there is none.
    pub fn step(&mut self) -> bool {
        self.step_before(NEVER)
    }

    fn step_before(&mut self, limit: u128) -> bool {
        let event = self.next_events.first_key();
        match self.arrivals.peek() {
            Some(&Reverse((arrival, id))) if arrival < event => {
                if arrival >= limit {
                    return false;
                }
                self.arrivals.pop();
                self.arrive(id, time_of(arrival));
            }
            _ if event >= limit => return false,
            _ => self.handle_event(self.next_events.first_die(), event),
        }
        true
    }

    /// True if the ends of all operations under way are known.
    pub fn is_settled(&self) -> bool {
        self.nodes.unfinished == self.ended_singles.len() as u64
    }

    /// Returns the latest known end of an operation.
    pub fn last_end_ns(&self) -> u64 {
        self.last_end_ns
    }

    /// Takes the `nth` of the ended requests of a single operation, and frees its node.
    #[inline(always)]
    pub(super) fn take_ended_single(&mut self, nth: usize) -> Completion {
        let (id, done_ns) = self.ended_singles[nth];
        let node = &self.nodes[id];
        let finished = Completion { tag: node.request, done_ns, parts: node.parts(done_ns) };
        self.nodes.remove(id);
        finished
    }

    /// Takes the requests that ended, not in order of time.
    pub fn drain_finished(&mut self) -> std::vec::Drain<'_, Completion> {
        for nth in 0..self.ended_singles.len() {
            let finished = self.take_ended_single(nth);
            self.finished.push(finished);
        }
        self.ended_singles.clear();
        self.finished.drain(..)
    }
}
