//! Power cuts at random events of random operations.

use crate::common::model::ModelFs;
use crate::common::{ModelPair, Op, Position, SpaceMode, more_cases, random_ops};
use crate::crash::cuts::{CrashImage, Cuts, SurvivingChanges};
use crate::crash::expected::Expected;
use crate::crash::machine::{DeviceOp, Fault, Fs, Image, Machine};
use crate::crash::recovery::{recover, recover_again};
use crate::crash::tree::Tree;
use rand::{Rng, RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use wearwell_nvmfs::api::{Allocate, BLOCK_BYTES};
use wearwell_nvmfs::placement::PlacementKind;

/// Number of operations before the first operation that may be interrupted.
const OPS_BEFORE: usize = 600;
/// Number of operations per run.
const OPS: usize = 24;
/// Number of cuts per run.
const CUTS: usize = 10;

/// Returns operations that cover the whole API. Long operations among them keep both devices full. No operation
/// remounts the file system.
fn ops(seed: u64) -> impl Iterator<Item = Op> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
    let short = random_ops(seed).filter(|op| !matches!(op, Op::Remount));
    short.map(move |op| if random.random_range(0..3) == 0 { long_op(&mut random) } else { op })
}

fn long_op(random: &mut impl Rng) -> Op {
    let file = random.random_range(0..1 << 12);
    let from = Position::At(random.random_range(0..400 * BLOCK_BYTES as u64));
    let length = random.random_range(1..400_000);
    match random.random_range(0..10) {
        0..6 => Op::Write { file, from, length, seed: random.random() },
        6..9 => Op::Read { file, from, length },
        _ => {
            let how = [Allocate::Punch, Allocate::Reserve { keep_size: true }][random.random_range(0..2)];
            Op::Allocate { file, how, from, length: length as u64 / 4 }
        }
    }
}

/// File system that was in use, and the same files in a model.
pub struct StartState {
    image: Image,
    twin: ModelPair<Fs>,
}

impl StartState {
    pub fn new(placement: PlacementKind) -> StartState {
        let (machine, fs) = Image::new_fs(placement).mount(Fault::Nothing).expect("it is fresh");
        let mut pair = ModelPair::new(fs, SpaceMode::Scarce, |_| unreachable!("nothing is mounted anew"));
        for op in ops(17).take(OPS_BEFORE) {
            pair.step(&op).unwrap();
        }
        let stats = pair.other().stats();
        assert!(stats.counts.ssd_writes > 0 && stats.counts.evicted_pages > 0, "{stats:?}");
        assert!(placement != PlacementKind::Nvmfs || stats.counts.recycled_extents > 0, "{stats:?}");
        let image = machine.close(pair.take_other());
        pair.close_all();
        StartState { image, twin: pair }
    }

    /// Mounts the file system.
    fn begin(&self, fault: Fault) -> (Machine, ModelPair<Fs>) {
        let (machine, fs) = self.image.mount(fault).expect("it was closed");
        (machine, self.twin.with_other(fs))
    }
}

/// Record of a run without a cut.
struct UncutRun {
    ops: Vec<Op>,
    /// Number of events before each operation and at the end, including the events of the mount.
    events: Vec<u64>,
    /// Event numbers of the fences and flushes.
    points: Vec<u64>,
    /// State of the model before each operation and at the end.
    models: Vec<ModelFs>,
}

impl UncutRun {
    fn new(start: &StartState, seed: u64, fault: Fault) -> UncutRun {
        let (machine, mut twin) = start.begin(fault);
        let ops: Vec<Op> = ops(1_000 + seed).take(OPS).collect();
        let mut events = vec![machine.power.events()];
        let mut models = vec![twin.model.clone()];
        for op in &ops {
            twin.step(op).unwrap_or_else(|text| panic!("seed {seed}: {text}"));
            events.push(machine.power.events());
            models.push(twin.model.clone());
        }
        let acts = machine.op_log.ops().into_iter().filter(|(_, act)| *act != DeviceOp::Read);
        let points = acts.map(|(event, _)| event).filter(|event| *event >= events[0]).collect();
        UncutRun { ops, events, points, models }
    }

    /// Draws an event at which to cut: any event, an event of a random operation, or a fence or flush. Thus long
    /// operations do not dominate.
    fn draw(&self, random: &mut impl Rng) -> u64 {
        let (first, end) = (self.events[0], self.events[OPS]);
        let op = random.random_range(0..OPS);
        match random.random_range(0..3) {
            0 => random.random_range(first..end),
            1 if self.events[op] < self.events[op + 1] => {
                random.random_range(self.events[op]..self.events[op + 1])
            }
            _ => self.points[random.random_range(0..self.points.len())].min(end - 1),
        }
    }

    /// Draws some events at which to cut.
    fn draw_events(&self, seed: u64) -> Vec<u64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..CUTS).map(|_| self.draw(&mut random)).collect()
    }
}

fn tree_of(model: &ModelFs) -> Tree {
    let mut model = model.clone();
    model.remount();
    Tree::read(&mut model).expect("the model is whole")
}

fn is_write(op: &Op) -> bool {
    matches!(op, Op::Write { .. } | Op::Allocate { .. })
}

/// Repeats the operations of a run and cuts the power at these events. After each cut, also cuts the power at one
/// event of the next mount: at `second`, or at a random event.
///
/// # Errors
/// The event of the first cut with a wrong image, and the problem.
fn cut(
    start: &StartState,
    run: &UncutRun,
    events: &[u64],
    second: Option<u64>,
    fault: Fault,
    seed: u64,
) -> Result<(), (u64, String)> {
    let (machine, mut twin) = start.begin(fault);
    for (at, op) in run.ops.iter().enumerate() {
        let of_op = events.iter().filter(|event| (run.events[at]..run.events[at + 1]).contains(event));
        let of_op: Vec<u64> = of_op.copied().collect();
        if of_op.is_empty() {
            twin.step(op).unwrap_or_else(|text| panic!("before a cut: {text}"));
            continue;
        }
        let (before, after) = (tree_of(&run.models[at]), tree_of(&run.models[at + 1]));
        let expected = Arc::new(Expected { before, after, is_write: is_write(op) });
        let cuts = Cuts::new(of_op, 1, move |crash| check(crash, &expected, second)).with_seed(seed);
        machine.begin_cuts(cuts);
        twin.step(op).unwrap_or_else(|text| panic!("while power may go: {text}"));
        machine.end_cuts().map_err(|(event, problem)| (event, format!("{op:?}: {problem}")))?;
    }
    Ok(())
}

/// Mounts and checks an image; then mounts and checks it again, with a power cut during the mount.
fn check(crash: CrashImage<'_>, expected: &Arc<Expected>, second: Option<u64>) -> Result<(), String> {
    if crash.surviving == SurvivingChanges::Some || second.is_some() {
        let any = crash.random.next_u64();
        let seed = crash.random.next_u64();
        let second = match second {
            Some(second) => second,
            None => any % crash.image.events_of_mount()?,
        };
        recover_again(&crash.image, expected, second, seed)
            .map_err(|problem| format!("second event {second}: {problem}"))?;
    }
    recover(crash.image, expected)
}

fn starts() -> Vec<StartState> {
    PlacementKind::ALL.into_iter().map(StartState::new).collect()
}

fn start_of(starts: &[StartState], seed: u64) -> &StartState {
    &starts[seed as usize % starts.len()]
}

/// Repeats `seed:event` or `seed:event:second` from the message of a failure.
fn repeat(text: &str) {
    let numbers: Vec<u64> = text.split(':').map(|number| number.parse().expect("a number")).collect();
    let (seed, event, second) = (numbers[0], numbers[1], numbers.get(2).copied());
    let starts = starts();
    let start = start_of(&starts, seed);
    let run = UncutRun::new(start, seed, Fault::Nothing);
    let result = cut(start, &run, &[event], second, Fault::Nothing, seed);
    result.unwrap_or_else(|(_, problem)| panic!("{text}: {problem}"));
}

#[test]
fn completed_operations_survive_power_cut_at_any_event() {
    if let Ok(text) = std::env::var("WEARWELL_CUT") {
        return repeat(&text);
    }
    const SEEDS: u64 = 8;
    let starts = starts();
    for seed in 0..SEEDS * more_cases() {
        let start = start_of(&starts, seed);
        let run = UncutRun::new(start, seed, Fault::Nothing);
        let result = cut(start, &run, &run.draw_events(seed), None, Fault::Nothing, seed);
        result.unwrap_or_else(|(event, problem)| panic!("WEARWELL_CUT={seed}:{event}: {problem}"));
    }
}

/// Returns the problem of a faulty device that cuts reveal.
fn detect(fault: Fault) -> Option<String> {
    const SEEDS: u64 = 4;
    let start = StartState::new(PlacementKind::Nvmfs);
    let problem = |seed| {
        let run = UncutRun::new(&start, seed, fault);
        cut(&start, &run, &run.draw_events(seed), None, fault, seed).err()
    };
    let (event, problem) = (0..SEEDS).find_map(problem)?;
    println!("{fault:?}: found out by a cut at event {event}: {problem}");
    Some(problem)
}

#[test]
fn missing_nvram_write_backs_are_detected() {
    assert!(detect(Fault::WriteBacks).is_some());
}

#[test]
fn missing_ssd_flushes_are_detected() {
    assert!(detect(Fault::Flushes).is_some());
}
