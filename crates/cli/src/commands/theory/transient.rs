//! `wearwell theory transient`: the path to the steady state, optionally compared with the simulator.

use super::answer::{Answer, OutputArgs};
use super::distributions;
use super::options::{DriveArgs, Frontiers, PolicyArgs, short};
use super::writes::WriteArgs;
use crate::exit::Failure;
use crate::progress::{ProgressArgs, RunProgress};
use crate::report::grid;
use clap::ValueEnum;
use serde_json::{Value, json};
use wearwell_stack::{Phase, Progress, RunError, RunResult, Scenario};
use wearwell_study::Row;
use wearwell_theory::mean_field::{InitialState, MeanField, PathPoint};
use wearwell_theory::{Class, Classes, Drive};

/// Relative distance from the steady state within which the path counts as steady.
const STEADY_TOLERANCE: f64 = 0.01;

/// Drive writes of uniform overwrites that bring the simulator to the mixed initial state.
const MIXING_DRIVE_WRITES: f64 = 10.0;

/// Largest number of rows of the table; points of a longer path are left out.
const MAX_ROWS: usize = 40;

/// Mean field in time: path of write amplification to its steady state
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    writes: WriteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Number of write frontiers
    #[arg(long, value_enum, default_value_t = Frontiers::Single, help_heading = "Cleaning")]
    structure: Frontiers,
    /// Initial state of the drive
    #[arg(long, value_enum, default_value_t = InitialStateArg::Sequential, help_heading = "Path")]
    from: InitialStateArg,
    /// The hot set moves to random cold pages once per this many drive writes
    #[arg(long, value_name = "N", help_heading = "Path", conflicts_with = "simulate")]
    moves_every: Option<f64>,
    /// Length of the path, in logical capacities written by the host
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10.0,
        help_heading = "Path",
        allow_negative_numbers = true
    )]
    drive_writes: f64,
    /// Number of points on the path, at equal distances
    #[arg(long, value_name = "N", default_value_t = 40, help_heading = "Path")]
    points: usize,
    /// Also simulate from the same initial state
    #[arg(long, help_heading = "Simulation")]
    simulate: bool,
    /// Blocks of the simulated drive
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "simulate",
        help_heading = "Simulation"
    )]
    blocks: u32,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1, requires = "simulate", help_heading = "Simulation")]
    seed: u64,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
The simulated drive is cleaned in place and has the classes one after the other in its space. Its mixed beginning is
ten drive writes of uniform overwrites; with two frontiers these use both, where the model begins with one.
greedy-limit has no path, for its law is not smooth; many choices come near.

Examples:
  wearwell theory transient --hot-writes 0.9 --hot-space 0.1 --drive-writes 20
  wearwell theory transient --from fresh --structure double --simulate
  wearwell theory transient --pages-per-block 32 --hot-writes 0.9 --hot-space 0.1 --structure double --moves-every 2
  wearwell theory transient --format csv > path.csv";

/// Initial states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InitialStateArg {
    /// All blocks erased, no data
    Fresh,
    /// Every page written once, in the order of addresses
    Sequential,
    /// The steady state of uniform writes
    Mixed,
}

impl InitialStateArg {
    fn initial_state(self) -> InitialState {
        match self {
            InitialStateArg::Fresh => InitialState::Fresh,
            InitialStateArg::Sequential => InitialState::Sequential,
            InitialStateArg::Mixed => InitialState::Mixed,
        }
    }

    fn name(self) -> String {
        self.to_possible_value().expect("no beginning is hidden").get_name().to_owned()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    // Checked first, because the simulation of a path takes a while.
    args.output.page()?;
    let (drive, writes, selection) = (args.drive.drive()?, args.writes.writes()?, args.policy.selection()?);
    let classes = writes.few_classes(&drive)?;
    if args.moves_every.is_some() && classes.count() != 2 {
        return Err(Failure::Usage(
            "--moves-every: only two classes of pages, hot and cold, can change places".into(),
        ));
    }
    let structure = args.structure.structure();
    // Options are checked before anything is calculated.
    let scenario = if args.simulate { Some(scenario(args, &drive, &classes)?) } else { None };
    let model = MeanField::new(drive, classes.clone(), structure, &*selection)?;
    let steady = model.steady_state()?.write_amplification;
    let from = args.from.initial_state();
    let path = match args.moves_every {
        None => model.transient(from, args.drive_writes, args.points)?,
        Some(every) => model.transient_moving(from, args.drive_writes, args.points, every)?,
    };
    let simulated = scenario.map(|scenario| simulate(args, &scenario)).transpose()?;
    let title = format!("path of the mean field, {} write frontier", Frontiers::name(structure));
    let mut answer = Answer::new("transient", title);
    answer.figure("Write amplification", format!("{steady:.4} in the steady state"));
    answer.figure("Within 1 % of it", steady_text(&path, steady));
    answer.add_drive(&drive, Some(&writes));
    answer.figure("Victim", selection.describe());
    answer.figure("Beginning", args.from.name());
    parameters(args, &mut answer);
    let rows: Vec<Row> = (0..path.len()).map(|at| row(&path, simulated.as_deref(), at)).collect();
    answer.sections.push(table(&path, simulated.as_deref()));
    answer.value("write_amplification_steady", json!(steady));
    answer.value("within_1_percent_after", json!(time_to_steady(&path, steady)));
    answer.value("path", rows.iter().map(|row| Value::Object(row.iter().cloned().collect())).collect());
    answer.rows = Some(rows);
    answer.finish(&args.output)
}

fn parameters(args: &Args, answer: &mut Answer) {
    answer.parameters(args.policy.parameters());
    answer.parameter("structure", json!(Frontiers::name(args.structure.structure())));
    answer.parameter("from", json!(args.from.name()));
    answer.parameter("drive_writes", json!(args.drive_writes));
    answer.parameter("points", json!(args.points));
    if let Some(every) = args.moves_every {
        answer.figure("Hot set", format!("moves every {} drive writes", short(every)));
        answer.parameter("moves_every", json!(every));
    }
    if args.simulate {
        answer.figure("Simulated drive", format!("{} blocks, seed {}", args.blocks, args.seed));
        answer.parameter("blocks", json!(args.blocks));
        answer.parameter("seed", json!(args.seed));
    }
}

/// Returns the drive writes after which all remaining points of the path are near the steady state.
fn time_to_steady(path: &[PathPoint], steady: f64) -> Option<f64> {
    let is_near = |point: &&PathPoint| (point.write_amplification / steady - 1.0).abs() <= STEADY_TOLERANCE;
    let near = path.iter().rev().take_while(is_near).count();
    match (near, path.len() - near) {
        (0, _) => None,
        (_, 0) => Some(0.0),
        (_, before) => Some(path[before - 1].drive_writes),
    }
}

fn steady_text(path: &[PathPoint], steady: f64) -> String {
    match time_to_steady(path, steady) {
        Some(drive_writes) => {
            format!("from {} drive writes on, as far as the path goes", short(drive_writes))
        }
        None => "not on this path; give more --drive-writes".into(),
    }
}

fn row(path: &[PathPoint], simulated: Option<&[f64]>, at: usize) -> Row {
    let point = &path[at];
    let mut row = vec![
        ("drive_writes".to_owned(), json!(point.drive_writes)),
        ("write_amplification".to_owned(), json!(point.write_amplification)),
        ("erased".to_owned(), json!(point.erased)),
        ("valid_pages_mean".to_owned(), json!(distributions::mean(&point.valid_pages))),
    ];
    if let Some(value) = simulated.and_then(|simulated| simulated.get(at)) {
        row.push(("simulated".to_owned(), json!(value)));
        row.push(("difference_percent".to_owned(), json!(100.0 * (value / point.write_amplification - 1.0))));
    }
    row
}

fn table(path: &[PathPoint], simulated: Option<&[f64]>) -> String {
    let step = path.len().div_ceil(MAX_ROWS).max(1);
    let is_shown = |at: &usize| (at + 1).is_multiple_of(step) || at + 1 == path.len();
    let rows = (0..path.len()).filter(is_shown).map(|at| {
        let point = &path[at];
        let mut cells = vec![
            short(point.drive_writes),
            format!("{:.2} %", 100.0 * point.erased),
            format!("{:.4}", point.write_amplification),
        ];
        if let Some(value) = simulated.and_then(|simulated| simulated.get(at)) {
            let difference = 100.0 * (value / point.write_amplification - 1.0);
            cells.extend([format!("{value:.4}"), format!("{difference:+.2} %")]);
        }
        cells
    });
    let head = ["drive writes", "erased", "write amplification", "simulated", "difference"];
    let columns = if simulated.is_some() { 5 } else { 3 };
    grid(&head[..columns], rows.collect(), &(0..columns).collect::<Vec<_>>())
}

/// Returns the scenario for the simulator.
fn scenario(args: &Args, drive: &Drive, classes: &Classes) -> Result<Scenario, Failure> {
    let placement = Frontiers::name(args.structure.structure());
    let victim = args.policy.simulated()?;
    let (fill, random_overwrites) = match args.from {
        InitialStateArg::Fresh => ("none", 0.0),
        InitialStateArg::Sequential => ("sequential", 0.0),
        InitialStateArg::Mixed => ("sequential", MIXING_DRIVE_WRITES),
    };
    let part = |class: &Class| json!({ "weight": class.write_share, "space": class.space_share, "workload": { "kind": "uniform" } });
    let workload = match classes.as_slice() {
        [_] => json!({ "kind": "uniform" }),
        classes => json!({ "kind": "mixed", "parts": classes.iter().map(part).collect::<Vec<_>>() }),
    };
    let scenario = json!({
        "seed": args.seed,
        "device": {
            "blocks_per_plane": args.blocks,
            "pages_per_block": drive.pages_per_block(),
            "spare_factor": drive.spare_factor(),
        },
        "ftl": { "victim": victim, "placement": placement, "reclaim": "in_place", "copy_order": "random" },
        "precondition": { "fill": fill, "random_overwrites": random_overwrites },
        "workload": workload,
        "measure": {
            "warm_up": 0.0,
            "drive_writes": args.drive_writes,
            "window": args.drive_writes / args.points.max(1) as f64,
        },
    });
    Scenario::read(&scenario).map_err(Failure::usage)
}

/// Returns the write amplification of the simulator, window by window.
fn simulate(args: &Args, scenario: &Scenario) -> Result<Vec<f64>, Failure> {
    let display = RunProgress::new(args.progress);
    let outcome = wearwell_stack::run(scenario, &mut |progress: &Progress| display.show(progress));
    display.clear();
    let result: RunResult = outcome.map_err(|error| match error {
        RunError::Interrupted => Failure::Interrupted,
        RunError::Config(error) => Failure::Usage(format!("the simulated drive: {error}")),
        other => Failure::run(other),
    })?;
    let measured = result.windows.iter().filter(|window| window.phase == Phase::Measure);
    Ok(measured.map(|window| window.write_amplification).collect())
}
