//! Naive model of the device: plans all operations of all requests first, then runs one heap of events.

use crate::counters::Cause;
use crate::timing::{Contention, FlashTiming, Priority, Step};
use crate::units::BlockId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub now_ns: u64,
    pub start_ns: u64,
    pub steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Read,
    Program,
    Erase,
    Hash,
}

#[derive(Clone, Debug)]
struct Op {
    kind: Kind,
    cleaning: bool,
    request: usize,
    die: u32,
    channel_ns: u64,
    array_ns: u64,
    pages: u32,
    dependencies: BTreeSet<usize>,
    /// Earlier program of the same block and die, which must arrive before this one.
    predecessor: Option<usize>,
    release_ns: u64,
    done_ns: Option<u64>,
}

/// Events, in the order in which they happen at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A die ends its transfer or array operation, unless the operation was suspended.
    Die(u32, u64),
    /// An operation may go to its die or engine.
    Arrive(usize),
    /// A die chooses its next operation.
    Choose(u32),
    /// An operation requests the channel.
    Ready(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Reading,
    WaitingOrTransferring,
    Array {
        end_ns: u64,
    },
    /// Between two operations, or while an operation is being suspended.
    Between,
}

#[derive(Clone, Debug)]
struct Die {
    state: State,
    current: Option<usize>,
    suspended: Option<(usize, u64)>,
    suspend_requested: bool,
    left_ns: u64,
    /// Number of suspensions, to recognise outdated events.
    version: u64,
    /// Waiting operations, in order of arrival.
    queue: Vec<usize>,
}

/// Planning state of a request.
#[derive(Default)]
struct Plan {
    number: usize,
    request: Request,
    reads: BTreeSet<usize>,
    /// Last spare area read: its operation and page.
    spare: Option<(usize, BlockId, u32)>,
    hash: Option<usize>,
    cleaning_reads: VecDeque<usize>,
    moved_hashes: BTreeSet<usize>,
    /// Hashed pages that no program has taken yet.
    hashed_pages: u32,
    /// Cleaning since the last erase.
    cleaning: BTreeSet<usize>,
    all_cleaning: BTreeSet<usize>,
}

impl Plan {
    fn op(&self, kind: Kind, cause: Cause, die: u32, channel_ns: u64, array_ns: u64) -> Op {
        let (request, cleaning) = (self.number, cause == Cause::Cleaning);
        let release_ns = if cleaning { self.request.now_ns } else { self.request.start_ns };
        let (after, pages, behind, done_ns) = (BTreeSet::new(), 1, None, None);
        Op {
            kind,
            cleaning,
            request,
            die,
            channel_ns,
            array_ns,
            pages,
            dependencies: after,
            predecessor: behind,
            release_ns,
            done_ns,
        }
    }

    fn add_cleaning(&mut self, id: usize) {
        self.cleaning.insert(id);
        self.all_cleaning.insert(id);
    }
}

pub struct NaiveDevice {
    timing: FlashTiming,
    foreground: bool,
    ops: Vec<Op>,
    dies: Vec<Die>,
    channels: Vec<(bool, VecDeque<usize>)>,
    engines: Vec<u64>,
    /// The last program of each block on each die.
    programs: BTreeMap<(u32, u32), usize>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
}

impl NaiveDevice {
    pub fn new(timing: FlashTiming, foreground: bool) -> Self {
        let die = Die {
            state: State::Idle,
            current: None,
            suspended: None,
            suspend_requested: false,
            left_ns: 0,
            version: 0,
            queue: Vec::new(),
        };
        NaiveDevice {
            timing,
            foreground,
            ops: Vec::new(),
            dies: vec![die; timing.layout.all_dies() as usize],
            channels: vec![(false, VecDeque::new()); timing.layout.channels as usize],
            engines: vec![0; timing.hash.engines as usize],
            programs: BTreeMap::new(),
            events: BinaryHeap::new(),
        }
    }

    /// Returns the end of each request.
    pub fn run(self, requests: &[Request]) -> Vec<u64> {
        self.run_to_end(requests).0
    }

    /// Returns the end of each request, and the end of the last operation of all, or 0 without any.
    pub fn run_to_end(mut self, requests: &[Request]) -> (Vec<u64>, u64) {
        let mut erases = BTreeMap::new();
        for (number, request) in requests.iter().enumerate() {
            self.plan(number, request, &mut erases);
        }
        for number in 0..self.ops.len() {
            self.arrive_if_ready(number);
        }
        while let Some(Reverse((now_ns, event))) = self.events.pop() {
            match event {
                Event::Arrive(op) => self.arrive(op, now_ns),
                Event::Choose(die) => self.choose_next(die, now_ns),
                Event::Ready(op) => self.ready(op, now_ns),
                Event::Die(die, version) if self.dies[die as usize].version == version => {
                    self.die_event(die, now_ns);
                }
                Event::Die(..) => {}
            }
        }
        let end = |(number, request): (usize, &Request)| {
            let ops = self.ops.iter().filter(|op| op.request == number && !op.cleaning);
            ops.map(|op| op.done_ns.unwrap()).max().unwrap_or(request.start_ns)
        };
        let last_ns = self.ops.iter().map(|op| op.done_ns.unwrap()).max().unwrap_or(0);
        (requests.iter().enumerate().map(end).collect(), last_ns)
    }

    fn add(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    fn plan(&mut self, number: usize, request: &Request, erases: &mut BTreeMap<u32, BTreeSet<usize>>) {
        let mut plan = Plan { number, request: request.clone(), ..Plan::default() };
        for &step in &request.steps {
            match step {
                Step::Read { block, page, cause } => self.plan_read(&mut plan, block, page, cause),
                Step::ReadSpare { block, page, cause } => self.plan_spare(&mut plan, block, page, cause),
                Step::Program { block, page, pages, cause } => {
                    for page in page..page + pages {
                        self.plan_program(&mut plan, block, page, cause, erases.get(&block.0));
                    }
                }
                Step::Erase { block, .. } => {
                    let ops = self.plan_erase(&mut plan, block);
                    if !self.timing.erase_ahead {
                        erases.insert(block.0, ops);
                    }
                }
                Step::Hash { pages, cause, percent } => self.plan_hash(&mut plan, pages, cause, percent),
            }
        }
    }

    fn plan_read(&mut self, plan: &mut Plan, block: BlockId, page: u32, cause: Cause) {
        let die = self.timing.layout.locate(block, page).die;
        let page_ns = self.timing.command_ns + self.timing.unit_transfer_ns;
        let mut op = plan.op(Kind::Read, cause, die, page_ns, self.timing.read_ns);
        op.dependencies
            .extend(plan.spare.filter(|spare| (spare.1, spare.2) == (block, page)).map(|spare| spare.0));
        let id = self.add(op);
        if cause == Cause::Cleaning {
            plan.cleaning_reads.push_back(id);
            plan.add_cleaning(id);
        } else {
            plan.reads.insert(id);
        }
    }

    fn plan_spare(&mut self, plan: &mut Plan, block: BlockId, page: u32, cause: Cause) {
        let die = self.timing.layout.locate(block, page).die;
        let channel_ns = self.timing.command_ns + self.timing.unit_transfer_ns.div_ceil(32);
        let array_ns = self.timing.spare_read_ns;
        let id = self.add(plan.op(Kind::Read, cause, die, channel_ns, array_ns));
        plan.spare = Some((id, block, page));
        if cause == Cause::Cleaning {
            plan.add_cleaning(id);
        } else {
            plan.reads.insert(id);
        }
    }

    fn plan_program(
        &mut self,
        plan: &mut Plan,
        block: BlockId,
        page: u32,
        cause: Cause,
        erases: Option<&BTreeSet<usize>>,
    ) {
        let die = self.timing.layout.locate(block, page).die;
        let page_ns = self.timing.command_ns + self.timing.unit_transfer_ns;
        let mut op = plan.op(Kind::Program, cause, die, page_ns, self.timing.program_ns);
        op.dependencies.extend(erases.into_iter().flatten());
        if cause == Cause::Cleaning {
            // A hashed page was already read for its hash.
            if plan.hashed_pages > 0 {
                plan.hashed_pages -= 1;
                op.dependencies.extend(&plan.moved_hashes);
            } else {
                op.dependencies.extend(plan.cleaning_reads.pop_front());
            }
        } else {
            op.dependencies.extend(&plan.reads);
            op.dependencies.extend(plan.hash);
            op.dependencies.extend(plan.all_cleaning.iter().filter(|_| self.foreground));
        }
        op.predecessor = self.programs.get(&(block.0, die)).copied();
        let id = self.add(op);
        self.programs.insert((block.0, die), id);
        if cause == Cause::Cleaning {
            plan.add_cleaning(id);
        }
    }

    fn plan_erase(&mut self, plan: &mut Plan, block: BlockId) -> BTreeSet<usize> {
        let (layout, timing) = (self.timing.layout, self.timing);
        let mut ops = BTreeSet::new();
        for page in 0..layout.superblock_blocks {
            let die = layout.erasing_die(block, page);
            let mut op = plan.op(Kind::Erase, Cause::Cleaning, die, timing.command_ns, timing.erase_ns);
            op.dependencies.extend(&plan.cleaning);
            ops.insert(self.add(op));
        }
        plan.cleaning.clear();
        plan.hashed_pages = 0;
        plan.all_cleaning.extend(&ops);
        ops
    }

    fn plan_hash(&mut self, plan: &mut Plan, pages: u32, cause: Cause, percent: u32) {
        let hash_ns = self.timing.hash.hash_ns * u64::from(percent) / 100;
        if cause != Cause::Cleaning {
            plan.hash = Some(self.add(Op { pages, ..plan.op(Kind::Hash, cause, 0, 0, hash_ns) }));
            return;
        }
        plan.moved_hashes.clear();
        plan.hashed_pages = pages;
        for _ in 0..pages {
            let mut op = plan.op(Kind::Hash, cause, 0, 0, hash_ns);
            op.dependencies.extend(plan.cleaning_reads.pop_front());
            let id = self.add(op);
            plan.moved_hashes.insert(id);
            plan.add_cleaning(id);
        }
    }

    fn arrive_if_ready(&mut self, id: usize) {
        let op = &self.ops[id];
        if op.dependencies.is_empty() && op.predecessor.is_none() {
            self.events.push(Reverse((op.release_ns, Event::Arrive(id))));
        }
    }

    fn arrive(&mut self, id: usize, now_ns: u64) {
        if let Some(next) = (id..self.ops.len()).find(|&next| self.ops[next].predecessor == Some(id)) {
            self.ops[next].predecessor = None;
            self.ops[next].release_ns = self.ops[next].release_ns.max(now_ns);
            self.arrive_if_ready(next);
        }
        let Op { kind, cleaning, die, array_ns, pages, .. } = self.ops[id];
        if kind == Kind::Hash {
            let mut end_ns = now_ns;
            for _ in 0..pages {
                let engine = self.engines.iter_mut().min().unwrap();
                *engine = (*engine).max(now_ns) + array_ns;
                end_ns = end_ns.max(*engine);
            }
            self.complete(id, end_ns);
            return;
        }
        let number = die;
        let is_host_read = kind == Kind::Read && !cleaning;
        let die = &mut self.dies[number as usize];
        die.queue.push(id);
        let suspends = is_host_read && die.current.is_some_and(|current| self.may_suspend(current));
        let die = &mut self.dies[number as usize];
        match die.state {
            State::Idle => self.choose_next(number, now_ns),
            State::WaitingOrTransferring if suspends => die.suspend_requested = true,
            State::Array { end_ns } if suspends => {
                die.left_ns = die.left_ns.min(end_ns - now_ns);
                self.suspend(number, now_ns);
            }
            _ => {}
        }
    }

    fn may_suspend(&self, id: usize) -> bool {
        match self.ops[id].kind {
            Kind::Program => self.timing.suspend.program,
            Kind::Erase => self.timing.suspend.erase,
            _ => false,
        }
    }

    fn schedule(&mut self, number: u32, now_ns: u64, delay_ns: u64) {
        let version = self.dies[number as usize].version;
        self.events.push(Reverse((now_ns + delay_ns, Event::Die(number, version))));
    }

    fn suspend(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        die.version += 1;
        die.suspended = Some((die.current.take().unwrap(), die.left_ns));
        die.state = State::Between;
        self.events.push(Reverse((now_ns + self.timing.suspend.suspend_ns, Event::Choose(number))));
    }

    fn choose_next(&mut self, number: u32, now_ns: u64) {
        let is_host_read = |id: &usize| self.ops[*id].kind == Kind::Read && !self.ops[*id].cleaning;
        let die = &mut self.dies[number as usize];
        let read = die.queue.iter().position(is_host_read);
        let choice = match (die.suspended, self.timing.priority) {
            (Some(_), _) => read,
            (None, Priority::ReadFirst) if read.is_some() => read,
            _ => (!die.queue.is_empty()).then_some(0),
        };
        let Some(choice) = choice else {
            if let Some((id, left_ns)) = die.suspended.take() {
                let delay_ns = self.timing.suspend.resume_ns + left_ns;
                die.current = Some(id);
                die.left_ns = left_ns;
                die.state = State::Array { end_ns: now_ns + delay_ns };
                self.schedule(number, now_ns, delay_ns);
            } else {
                die.state = State::Idle;
                die.current = None;
            }
            return;
        };
        let id = die.queue.remove(choice);
        die.current = Some(id);
        if self.ops[id].kind == Kind::Read {
            die.state = State::Reading;
            self.schedule(number, now_ns, self.ops[id].array_ns);
        } else {
            die.state = State::WaitingOrTransferring;
            self.events.push(Reverse((now_ns, Event::Ready(id))));
        }
    }

    fn ready(&mut self, id: usize, now_ns: u64) {
        let Op { die, channel_ns, .. } = self.ops[id];
        let (busy, queue) = &mut self.channels[self.timing.layout.channel_of(die) as usize];
        let queues = self.timing.contention == Contention::Channel && channel_ns > 0;
        if queues && *busy {
            queue.push_back(id);
            return;
        }
        *busy |= queues;
        self.schedule(die, now_ns, channel_ns);
    }

    fn die_event(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        match die.state {
            State::Idle => unreachable!(),
            State::Reading => {
                die.state = State::WaitingOrTransferring;
                self.events.push(Reverse((now_ns, Event::Ready(die.current.unwrap()))));
            }
            State::WaitingOrTransferring => self.transferred(number, now_ns),
            State::Array { .. } => {
                let id = die.current.unwrap();
                self.end(number, id, now_ns);
            }
            State::Between => unreachable!(),
        }
    }

    fn transferred(&mut self, number: u32, now_ns: u64) {
        let id = self.dies[number as usize].current.unwrap();
        let Op { kind, channel_ns, array_ns, .. } = self.ops[id];
        if self.timing.contention == Contention::Channel && channel_ns > 0 {
            let (busy, queue) = &mut self.channels[self.timing.layout.channel_of(number) as usize];
            *busy = false;
            if let Some(next) = queue.pop_front() {
                *busy = true;
                let Op { die, channel_ns, .. } = self.ops[next];
                self.schedule(die, now_ns, channel_ns);
            }
        }
        let die = &mut self.dies[number as usize];
        if kind == Kind::Read {
            self.end(number, id, now_ns);
            return;
        }
        die.left_ns = array_ns;
        if std::mem::take(&mut die.suspend_requested) {
            self.suspend(number, now_ns);
        } else {
            die.state = State::Array { end_ns: now_ns + array_ns };
            self.schedule(number, now_ns, array_ns);
        }
    }

    fn end(&mut self, number: u32, id: usize, now_ns: u64) {
        self.dies[number as usize].state = State::Between;
        self.dies[number as usize].current = None;
        self.complete(id, now_ns);
        self.events.push(Reverse((now_ns, Event::Choose(number))));
    }

    fn complete(&mut self, id: usize, end_ns: u64) {
        self.ops[id].done_ns = Some(end_ns);
        for number in 0..self.ops.len() {
            if self.ops[number].dependencies.remove(&id) {
                let op = &mut self.ops[number];
                op.release_ns = op.release_ns.max(end_ns);
                self.arrive_if_ready(number);
            }
        }
    }
}
