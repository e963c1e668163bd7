//! Converts the steps of a request to operations and their dependencies; the rules are in [`super::flash`].

use super::block_erases::{BlockErases, Dependency};
use super::journal::Step;
use super::layout::FlashLocation;
use super::node::{Class, Kind, NONE, Nodes};
use super::parameters::FlashTiming;
use super::parts::Parts;
use super::pending_programs::PendingPrograms;
use crate::counters::Cause;
use crate::units::BlockId;
use std::collections::VecDeque;

/// A request to be planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRequest {
    pub request: u32,
    /// Time at which the cleaning of the request begins.
    pub now_ns: u64,
    /// Time at which all other operations of the request begin.
    pub start_ns: u64,
    /// True if the host's programs wait for the cleaning before them.
    pub foreground: bool,
}

/// A read operation that further pages may join, with its cause, its block, and the location of its last page.
#[derive(Clone, Copy, Debug)]
struct OpenRead {
    node: u32,
    cause: Cause,
    block: BlockId,
    flash_page: u32,
    place: FlashLocation,
}

/// Read of a spare area without its page.
#[derive(Clone, Copy, Debug)]
struct SpareRead {
    node: u32,
    block: BlockId,
    page: u32,
}

/// State of the planner, kept to reuse its memory.
#[derive(Debug, Default)]
pub(super) struct Planner {
    /// Nodes of the request, in order.
    pub created: Vec<u32>,
    /// Number of these nodes that the request waits for.
    pub awaited: u32,
    open_read: Option<OpenRead>,
    /// Last read of a spare area in the request; the read of its page waits for it.
    spare_read: Option<SpareRead>,
    /// Reads since the last gate, which the request's next program waits for; `read_gate` represents earlier reads.
    reads: Vec<u32>,
    read_gate: u32,
    translation: u32,
    hash: u32,
    /// Reads by cleaning, one entry per unit, whose pages have not been written yet.
    cleaning_reads: VecDeque<u32>,
    cleaning_hash: u32,
    /// Pages of the last cleaning hash that no program has taken yet.
    hashed_pages: u32,
    /// Nodes that the next erase of cleaning waits for.
    since_erase: Vec<u32>,
    /// Cleaning operations that the next host program waits for, with cleaning in the foreground.
    since_gate: Vec<u32>,
    cleaning_gate: u32,
    /// Nodes that the next erase of another cause waits for.
    other_nodes: Vec<u32>,
    ops: Vec<u32>,
}

/// Device state that a planner works on.
pub(super) struct PlanContext<'a> {
    pub nodes: &'a mut Nodes,
    pub erased: &'a mut BlockErases,
    pub programs: &'a mut PendingPrograms,
    pub timing: &'a FlashTiming,
    pub request: PlannedRequest,
}

impl Planner {
    /// Plans the steps and stores the nodes in [`Planner::created`].
    pub fn plan(&mut self, context: &mut PlanContext<'_>, steps: &[Step]) {
        self.created.clear();
        self.awaited = 0;
        (self.open_read, self.spare_read) = (None, None);
        self.reads.clear();
        self.cleaning_reads.clear();
        self.since_erase.clear();
        self.since_gate.clear();
        self.other_nodes.clear();
        (self.read_gate, self.translation, self.hash) = (NONE, NONE, NONE);
        (self.cleaning_hash, self.hashed_pages, self.cleaning_gate) = (NONE, 0, NONE);
        for &step in steps {
            match step {
                Step::Read { block, page, cause } => self.read(context, block, page, cause),
                Step::ReadSpare { block, page, cause } => self.read_spare(context, block, page, cause),
                Step::Program { block, page, pages, cause } => {
                    self.program(context, block, page, pages, cause)
                }
                Step::Erase { block, cause } => self.erase(context, block, cause),
                Step::Hash { pages, cause, percent } => self.hash(context, pages, cause, percent),
            }
            if !matches!(step, Step::Read { .. }) {
                self.open_read = None;
            }
        }
    }

    fn create(&mut self, context: &mut PlanContext<'_>, kind: Kind, class: Class) -> u32 {
        let begin = if class == Class::Cleaning { context.request.now_ns } else { context.request.start_ns };
        let id = context.nodes.create(kind, class, begin);
        self.created.push(id);
        if kind == Kind::Gate {
            return id;
        }
        if class == Class::Cleaning {
            self.since_erase.push(id);
            self.since_gate.push(id);
        } else {
            context.nodes[id].request = context.request.request;
            self.awaited += 1;
        }
        if class == Class::Other {
            self.other_nodes.push(id);
        }
        id
    }

    /// Returns a node that ends when the last node of `all`, which is not empty, ends.
    fn gate(&mut self, context: &mut PlanContext<'_>, class: Class, all: &[u32]) -> u32 {
        if let [only] = all {
            return *only;
        }
        let gate = self.create(context, Kind::Gate, class);
        for &id in all {
            context.nodes.add_dependency(id, gate);
        }
        gate
    }

    fn read(&mut self, context: &mut PlanContext<'_>, block: BlockId, page: u32, cause: Cause) {
        let timing = context.timing;
        let flash_page = page / timing.layout.units_per_page;
        let place = timing.layout.locate(block, flash_page);
        let joined = self.open_read.filter(|open| {
            let same_row = open.place.die == place.die && open.place.row == place.row;
            // Only a page that was read alone can be copied back.
            let joins_planes = timing.multi_plane && !(timing.copyback && cause == Cause::Cleaning);
            let joins = open.flash_page == flash_page || (joins_planes && same_row);
            open.block == block && open.cause == cause && joins
        });
        let node = match joined {
            Some(open) => open.node,
            None => {
                let node = self.create(context, Kind::Read, cause.into());
                let new = &mut context.nodes[node];
                (new.die, new.channel_ns, new.array_ns) = (place.die, timing.command_ns, timing.read_ns);
                if let Some(spare) =
                    self.spare_read.filter(|spare| (spare.block, spare.page) == (block, page))
                {
                    context.nodes.add_dependency(spare.node, node);
                }
                node
            }
        };
        context.nodes[node].channel_ns += timing.unit_transfer_ns;
        context.nodes[node].units += 1;
        context.nodes[node].plane = place.plane;
        self.open_read = Some(OpenRead { node, cause, block, flash_page, place });
        if cause == Cause::Cleaning {
            self.cleaning_reads.push_back(node);
        } else if joined.is_none() {
            self.record_read(context, node, cause);
        }
    }

    fn read_spare(&mut self, context: &mut PlanContext<'_>, block: BlockId, page: u32, cause: Cause) {
        let timing = context.timing;
        let place = timing.layout.locate(block, page / timing.layout.units_per_page);
        let node = self.create(context, Kind::Read, cause.into());
        let new = &mut context.nodes[node];
        (new.die, new.plane) = (place.die, place.plane);
        (new.channel_ns, new.array_ns) = (timing.spare_channel_ns(), timing.spare_read_ns);
        self.spare_read = Some(SpareRead { node, block, page });
        if cause != Cause::Cleaning {
            self.record_read(context, node, cause);
        }
    }

    /// Records a read that is not cleaning, and adds its dependency on the mapping table.
    fn record_read(&mut self, context: &mut PlanContext<'_>, node: u32, cause: Cause) {
        self.reads.push(node);
        if cause == Cause::Translation {
            self.translation = node;
        } else if cause == Cause::Host && self.translation != NONE {
            context.nodes.add_dependency(self.translation, node);
        }
    }

    fn program(
        &mut self,
        context: &mut PlanContext<'_>,
        block: BlockId,
        page: u32,
        pages: u32,
        cause: Cause,
    ) {
        let timing = context.timing;
        let (units, end) = (timing.layout.units_per_page, page + pages);
        let gathered_pages = timing.layout.jointly_programmed_pages(timing.multi_plane);
        let mut at = page;
        // Operation that the next flash page may join.
        let mut joinable: Option<(u32, FlashLocation)> = None;
        while at < end {
            let flash_page = at / units;
            let next = ((flash_page + 1) * units).min(end);
            let is_full = next == (flash_page + 1) * units;
            // If a die gathers the pages of its planes, only the last page starts the program.
            let programs = is_full && (flash_page + 1).is_multiple_of(gathered_pages);
            let place = timing.layout.locate(block, flash_page);
            if cause == Cause::Cleaning && is_full && self.copy_back(context, block, next - at, place) {
                joinable = None;
            } else {
                let joined = joinable.filter(|(_, last)| {
                    let joins = is_full || gathered_pages > 1;
                    timing.multi_plane && joins && last.die == place.die && last.row == place.row
                });
                let id = match joined {
                    Some((id, _)) => id,
                    None => self.new_program(context, block, place, cause),
                };
                let node = &mut context.nodes[id];
                node.channel_ns += u64::from(next - at) * timing.unit_transfer_ns;
                node.units += next - at;
                if programs {
                    node.array_ns = timing.program_ns;
                }
                if cause == Cause::Cleaning {
                    self.wait_for_moved_pages(context, id, next - at);
                }
                joinable = is_full.then_some((id, place));
            }
            at = next;
        }
    }

    /// Creates a program with all its dependencies except those on single pages.
    fn new_program(
        &mut self,
        context: &mut PlanContext<'_>,
        block: BlockId,
        place: FlashLocation,
        cause: Cause,
    ) -> u32 {
        if cause != Cause::Cleaning {
            self.close_gates(context);
        }
        let id = self.create(context, Kind::Program, cause.into());
        let node = &mut context.nodes[id];
        (node.die, node.channel_ns) = (place.die, context.timing.command_ns);
        if let Some(before) = context.programs.plan(place.die, block, id) {
            context.nodes.add_follower(before, id);
        }
        self.wait_for_erase(context, block, id);
        let gates = match cause {
            Cause::Cleaning => [NONE; 3],
            _ => [self.hash, self.read_gate, self.cleaning_gate],
        };
        for gate in gates.into_iter().filter(|&gate| gate != NONE) {
            context.nodes.add_dependency(gate, id);
        }
        id
    }

    fn wait_for_erase(&mut self, context: &mut PlanContext<'_>, block: BlockId, id: u32) {
        let release_ns = context.nodes[id].release_ns;
        match context.erased.dependency(block, release_ns) {
            Dependency::Nothing => {}
            Dependency::OnNode(erase) => context.nodes.add_dependency(erase, id),
            Dependency::Until(end_ns) => {
                context.nodes[id].release_ns = end_ns;
                context
                    .nodes
                    .set_wait_parts(id, Parts { cleaning_ns: end_ns - release_ns, ..Parts::default() });
            }
        }
    }

    /// Combines the dependencies of host programs into gates.
    fn close_gates(&mut self, context: &mut PlanContext<'_>) {
        if !self.reads.is_empty() {
            let mut all = std::mem::take(&mut self.reads);
            if self.read_gate != NONE {
                all.push(self.read_gate);
            }
            self.read_gate = self.gate(context, Class::Host, &all);
            all.clear();
            self.reads = all;
        }
        if context.request.foreground && !self.since_gate.is_empty() {
            let mut all = std::mem::take(&mut self.since_gate);
            if self.cleaning_gate != NONE {
                all.push(self.cleaning_gate);
            }
            self.cleaning_gate = self.gate(context, Class::Cleaning, &all);
            all.clear();
            self.since_gate = all;
        }
    }

    /// Makes the program `id` wait for the pages that it writes: first for hashed pages, then for pages that were
    /// only read.
    fn wait_for_moved_pages(&mut self, context: &mut PlanContext<'_>, id: u32, units: u32) {
        let hashed = self.hashed_pages.min(units);
        if hashed > 0 {
            self.hashed_pages -= hashed;
            context.nodes.add_dependency(self.cleaning_hash, id);
        }
        self.assign_cleaning_reads(context, id, units - hashed);
    }

    /// Assigns the next `units` pages that cleaning read to `id`.
    fn assign_cleaning_reads(&mut self, context: &mut PlanContext<'_>, id: u32, units: u32) {
        let mut last = NONE;
        for _ in 0..units {
            match self.cleaning_reads.pop_front() {
                Some(read) if read != last => {
                    context.nodes.add_dependency(read, id);
                    last = read;
                }
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Programs the page within its die (copyback), if one operation read exactly this page on the same plane.
    fn copy_back(
        &mut self,
        context: &mut PlanContext<'_>,
        block: BlockId,
        units: u32,
        place: FlashLocation,
    ) -> bool {
        // A page that was hashed has been transferred from its die.
        let Some(&read) = self.cleaning_reads.front().filter(|_| self.hashed_pages == 0) else {
            return false;
        };
        let count = units as usize;
        let is_whole = self.cleaning_reads.len() >= count
            && self.cleaning_reads.iter().take(count).all(|&other| other == read)
            && context.nodes[read].units == units
            && units == context.timing.layout.units_per_page;
        let is_same_plane = context.nodes[read].die == place.die && context.nodes[read].plane == place.plane;
        if !context.timing.copyback || !is_whole || !is_same_plane {
            return false;
        }
        self.cleaning_reads.drain(..count);
        // Read and program are now one operation; for nodes that wait for the read, the read ends at once.
        context.nodes[read].kind = Kind::Gate;
        let id = self.new_program(context, block, place, Cause::Cleaning);
        context.nodes[id].units = units;
        context.nodes[id].array_ns = context.timing.read_ns + context.timing.program_ns;
        context.nodes.add_dependency(read, id);
        true
    }

    fn erase(&mut self, context: &mut PlanContext<'_>, block: BlockId, cause: Cause) {
        let timing = context.timing;
        let mut before = match cause {
            Cause::Cleaning => std::mem::take(&mut self.since_erase),
            Cause::Host => Vec::new(),
            _ => std::mem::take(&mut self.other_nodes),
        };
        let gate = if before.is_empty() { NONE } else { self.gate(context, cause.into(), &before) };
        let mut ops = std::mem::take(&mut self.ops);
        let mut last = NONE;
        for plane in 0..timing.layout.superblock_blocks {
            let die = timing.layout.erasing_die(block, plane);
            if timing.multi_plane && die == last {
                continue;
            }
            last = die;
            let id = self.create(context, Kind::Erase, cause.into());
            let node = &mut context.nodes[id];
            (node.die, node.channel_ns, node.array_ns) = (die, timing.command_ns, timing.erase_ns);
            node.units = 1;
            if gate != NONE {
                context.nodes.add_dependency(gate, id);
            }
            ops.push(id);
        }
        let end = self.gate(context, cause.into(), &ops);
        context.nodes[end].erased_block = block.0;
        context.erased.begin(block, end);
        ops.clear();
        self.ops = ops;
        before.clear();
        match cause {
            Cause::Host => {}
            Cause::Cleaning => {
                self.hashed_pages = 0;
                // Erases of one cleaning do not wait for each other.
                self.since_erase = before;
            }
            _ => self.other_nodes = before,
        }
    }

    fn hash(&mut self, context: &mut PlanContext<'_>, pages: u32, cause: Cause, percent: u32) {
        let page_ns = context.timing.hash.hash_ns * u64::from(percent) / 100;
        if cause != Cause::Cleaning {
            self.hash = self.new_hash(context, cause, pages, page_ns);
            return;
        }
        // A page is hashed as soon as it has been read.
        let mut ops = std::mem::take(&mut self.ops);
        for _ in 0..pages {
            let id = self.new_hash(context, cause, 1, page_ns);
            self.assign_cleaning_reads(context, id, 1);
            ops.push(id);
        }
        if !ops.is_empty() {
            self.cleaning_hash = self.gate(context, Class::Cleaning, &ops);
            // Pages that were hashed earlier but not written were duplicates.
            self.hashed_pages = pages;
        }
        ops.clear();
        self.ops = ops;
    }

    fn new_hash(&mut self, context: &mut PlanContext<'_>, cause: Cause, pages: u32, page_ns: u64) -> u32 {
        let id = self.create(context, Kind::Hash, cause.into());
        (context.nodes[id].units, context.nodes[id].array_ns) = (pages, page_ns);
        id
    }
}

#[cfg(test)]
mod tests;
