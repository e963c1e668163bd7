//! Plans checked against operations written by hand, with their times and dependencies.

mod cleaning;
mod copyback;
mod host;

use super::*;
use crate::timing::layout::{Layout, Striping};
use crate::timing::parameters::{Contention, HashEngine, Priority, Suspend};

/// Two dies, each on its own channel and with two planes; flash pages of two units. Consecutive blocks go to die 0,
/// die 1, and then to their second planes: blocks 0, 4, 8, … lie on plane 0 of die 0, blocks 2, 6, … on its plane 1.
const LAYOUT: Layout = Layout {
    channels: 2,
    ways: 1,
    dies: 1,
    planes: 2,
    superblock_blocks: 1,
    units_per_page: 2,
    pages_per_block: 16,
    striping: Striping::Block,
};

const TIMING: FlashTiming = FlashTiming {
    layout: LAYOUT,
    read_ns: 100,
    spare_read_ns: 3,
    program_ns: 1000,
    erase_ns: 10_000,
    command_ns: 1,
    unit_transfer_ns: 10,
    contention: Contention::Channel,
    priority: Priority::Fcfs,
    suspend: Suspend { erase: false, program: false, suspend_ns: 0, resume_ns: 0 },
    multi_plane: false,
    copyback: false,
    erase_ahead: false,
    hash: HashEngine { engines: 1, hash_ns: 200 },
};

/// Blocks that span both planes of a die: even flash pages on plane 0, odd ones on plane 1.
const SUPERBLOCKS: FlashTiming =
    FlashTiming { layout: Layout { superblock_blocks: 2, ..LAYOUT }, multi_plane: true, ..TIMING };

const CLEANING: Cause = Cause::Cleaning;
const HOST: Cause = Cause::Host;
const TRANSLATION: Cause = Cause::Translation;

fn read(block: u32, page: u32, cause: Cause) -> Step {
    Step::Read { block: BlockId(block), page, cause }
}

fn reads(block: u32, pages: std::ops::Range<u32>, cause: Cause) -> Vec<Step> {
    pages.map(|page| read(block, page, cause)).collect()
}

fn spare(block: u32, page: u32, cause: Cause) -> Step {
    Step::ReadSpare { block: BlockId(block), page, cause }
}

fn program(block: u32, page: u32, pages: u32, cause: Cause) -> Step {
    Step::Program { block: BlockId(block), page, pages, cause }
}

fn erase(block: u32, cause: Cause) -> Step {
    Step::Erase { block: BlockId(block), cause }
}

fn hash(pages: u32, cause: Cause) -> Step {
    Step::Hash { pages, cause, percent: 100 }
}

/// Plans the steps of a request that is submitted at 5 and may start at 7, on an idle device.
struct PlanTest {
    planner: Planner,
    nodes: Nodes,
    erased: BlockErases,
    timing: FlashTiming,
    foreground: bool,
}

impl PlanTest {
    fn new(timing: FlashTiming) -> Self {
        timing.check().unwrap();
        let (planner, nodes, erased) = (Planner::default(), Nodes::new(), BlockErases::default());
        PlanTest { planner, nodes, erased, timing, foreground: false }
    }

    /// Returns one line per node: its kind, class, die, times on the channel and in the array, units, and the
    /// numbers, from 0, of the lines that it waits for.
    fn plan(&mut self, steps: &[Step]) -> Vec<String> {
        let request = PlannedRequest { request: 3, now_ns: 5, start_ns: 7, foreground: self.foreground };
        let PlanTest { planner, nodes, erased, timing, .. } = self;
        // All programs planned before have reached their dies.
        let programs = &mut PendingPrograms::new(timing.layout.all_dies());
        planner.plan(&mut PlanContext { nodes, erased, programs, timing, request }, steps);
        let created = planner.created.clone();
        let line_of = |id: u32| created.iter().position(|other| *other == id).expect("of this request");
        let mut dependencies = vec![Vec::new(); created.len()];
        let counts: Vec<u32> = created.iter().map(|&id| nodes[id].unmet_dependencies).collect();
        for (line, &id) in created.iter().enumerate() {
            while let Some(to) = nodes.take_dependent(id) {
                dependencies[line_of(to)].push(line);
            }
        }
        let mut lines = Vec::new();
        for ((&id, mut waits), counted) in created.iter().zip(dependencies).zip(counts) {
            let follows = created.iter().any(|&other| nodes[other].follower == id);
            assert_eq!(waits.len() as u32 + u32::from(follows), counted, "whom it waits for, and how many");
            waits.sort_unstable();
            lines.push(line(&nodes[id], &waits));
        }
        let visible = created.iter().filter(|id| nodes[**id].request == 3).count();
        assert_eq!(planner.awaited as usize, visible, "the request waits for its own");
        lines
    }
}

fn line(node: &crate::timing::node::Node, waits: &[usize]) -> String {
    let class = match node.class {
        Class::Host => "host",
        Class::Cleaning => "cleaning",
        _ => "other",
    };
    let begin_ns = if node.class == Class::Cleaning { 5 } else { 7 };
    assert!(node.release_ns >= begin_ns && (node.has_wait_parts || node.release_ns == begin_ns));
    let is_own = node.kind != Kind::Gate && node.class != Class::Cleaning;
    // A read that became part of a copyback is replaced by a gate, which belongs to no request either.
    assert_eq!(node.request == 3, is_own);
    let mut line = match node.kind {
        Kind::Gate => format!("gate {class}"),
        Kind::Hash => format!("hash {class} {} a {}", node.units, node.array_ns),
        kind => {
            let name = format!("{kind:?}").to_lowercase();
            format!("{name} {class} die {} {}+{} u{}", node.die, node.channel_ns, node.array_ns, node.units)
        }
    };
    if node.erased_block != NONE {
        line += &format!(" erases {}", node.erased_block);
    }
    if !waits.is_empty() {
        let waits: Vec<String> = waits.iter().map(usize::to_string).collect();
        line += &format!(" after {}", waits.join(","));
    }
    line
}

#[track_caller]
fn assert_plan(timing: FlashTiming, steps: &[Step], expected: &[&str]) {
    assert_eq!(PlanTest::new(timing).plan(steps), expected);
}

#[track_caller]
fn assert_foreground_plan(steps: &[Step], expected: &[&str]) {
    assert_eq!(PlanTest { foreground: true, ..PlanTest::new(TIMING) }.plan(steps), expected);
}

#[test]
fn plans_are_independent_of_earlier_plans() {
    let mut test = PlanTest { foreground: true, ..PlanTest::new(TIMING) };
    let mut all = reads(0, 0..3, CLEANING);
    all.extend([
        read(1, 0, TRANSLATION),
        read(1, 1, HOST),
        hash(2, HOST),
        hash(2, CLEANING),
        program(5, 0, 1, HOST),
    ]);
    let lines = test.plan(&all).len();
    assert!(lines > 8 && test.planner.awaited == 4);
    let steps = [read(0, 3, CLEANING), read(1, 0, HOST), program(9, 0, 1, CLEANING), erase(0, CLEANING)];
    assert_eq!(
        test.plan(&steps),
        [
            "read cleaning die 0 11+100 u1",
            "read host die 1 11+100 u1",
            "program cleaning die 1 11+0 u1 after 0",
            "gate cleaning after 0,2",
            "erase cleaning die 0 1+10000 u1 erases 0 after 3",
        ]
    );
    assert_eq!(test.plan(&[program(5, 0, 1, HOST)]), ["program host die 1 11+0 u1"]);
    assert_eq!(test.plan(&[erase(8, TRANSLATION)]), ["erase other die 0 1+10000 u1 erases 8"]);
}
