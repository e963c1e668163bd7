//! Path from an initial state to the steady state: the mean field, eq. (6) and (9), compared with the simulator.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::hot_cold::{Frontier, Setting};
use crate::interval::Interval;
use crate::replicas::{run_all, run_each, write_amplification};
use crate::session::Session;
use crate::table::{Fields, Table};
use crate::theory::{Load, Model, Policy, solve_all};
use std::iter::zip;
use wearwell_stack::{Phase, RunResult};
use wearwell_theory::mean_field::{InitialState, Structure};

const BLOCKS: u32 = 2000;
/// Numbers of blocks between which the steady states are compared.
const SIZES: [u32; 3] = [500, 1000, 2000];
const STRUCTURES: [(&str, Structure, Frontier); 2] =
    [("single", Structure::Single, Frontier::Single), ("double", Structure::Double, Frontier::DoubleRandom)];
const LOADS: [(&str, Load); 2] = [("hot_cold", (0.9, 0.1)), ("uniform", (0.1, 0.1))];

/// Initial states of the drive, in the model and in the simulator.
const INITIAL_STATES: [(&str, InitialState, &str); 3] = [
    ("fresh", InitialState::Fresh, "fill = \"none\""),
    ("sequential", InitialState::Sequential, ""),
    ("mixed", InitialState::Mixed, "random_overwrites = 20.0"),
];

/// Length of the paths in drive writes, which is thirteen turnovers of the cold data.
const PATH_LENGTH: f64 = 120.0;
const WINDOW: f64 = 0.5;

/// Part of the paths that is drawn, in drive writes.
const DRAWN_LENGTH: f64 = 30.0;

/// Relative distance from the steady state below which a path has reached it.
const STEADY_TOLERANCE: f64 = 0.01;

/// A path of the model, and the simulated path for an equal drive.
struct PathPair {
    structure: &'static str,
    load: (&'static str, Load),
    initial: &'static str,
    drive_writes: Vec<f64>,
    model: Vec<f64>,
    simulated: Vec<Interval>,
    /// Write amplification in the steady state, calculated from the fixed point of the model.
    steady: f64,
}

fn setting((r, f): Load) -> Setting {
    Setting { pages_per_block: 32, spare_factor: 0.1, choices: 10, hot_writes: r, hot_space: f }
}

/// Returns the write amplification of each measured window.
fn windows(result: &RunResult) -> Result<Vec<f64>, Failure> {
    let measured = result.windows.iter().filter(|window| window.phase == Phase::Measure);
    Ok(measured.map(|window| window.write_amplification).collect())
}

fn pairs(session: &Session) -> Result<Vec<PathPair>, Failure> {
    let points = (session.length * PATH_LENGTH / WINDOW).round() as usize;
    let drive_writes = points as f64 * WINDOW;
    let mut found = Vec::new();
    let (mut scenarios, mut models) = (Vec::new(), Vec::new());
    for (name, structure, frontier) in STRUCTURES {
        for load in LOADS {
            for (beginning, from, precondition) in INITIAL_STATES {
                let course = format!(
                    "[precondition]\n{precondition}\n[measure]\nwarm_up = 0.0\n\
                     drive_writes = {drive_writes:?}\nwindow = {WINDOW:?}\n"
                );
                scenarios.push(setting(load.1).scenario_with(frontier, BLOCKS, &course)?);
                let policy = Policy::Choices(10);
                let model = Model { structure, pages_per_block: 32, spare_factor: 0.1, policy, load: load.1 };
                models.push((model, from));
                found.push((name, load, beginning));
            }
        }
    }
    let replicas = run_each(session, &scenarios, "windows", windows)?;
    let all_models: Vec<Model> = models.iter().map(|(model, _)| *model).collect();
    let steady = solve_all(&all_models, |model| Ok(model.steady_state()?.write_amplification))?;
    let mut pairs = Vec::new();
    for (at, ((structure, load, beginning), (model, from))) in zip(found, models).enumerate() {
        let path = model.path(from, drive_writes, points)?;
        let simulated = (0..points).map(|point| {
            Interval::from_values(&replicas[at].iter().map(|windows| windows[point]).collect::<Vec<_>>())
        });
        pairs.push(PathPair {
            structure,
            load,
            initial: beginning,
            drive_writes: path.iter().map(|point| point.drive_writes).collect(),
            model: path.iter().map(|point| point.write_amplification).collect(),
            simulated: simulated.collect(),
            steady: steady[at],
        });
    }
    Ok(pairs)
}

impl PathPair {
    /// Returns the percentage by which the simulated window exceeds the window of the model.
    fn difference(&self, point: usize) -> f64 {
        100.0 * (self.simulated[point].mean / self.model[point] - 1.0)
    }

    /// Returns the means over the last quarter of the windows, of the model and of the simulation.
    fn final_means(&self) -> [f64; 2] {
        let from = self.model.len() * 3 / 4;
        let count = (self.model.len() - from) as f64;
        let simulated: f64 = self.simulated[from..].iter().map(|window| window.mean).sum();
        [self.model[from..].iter().sum::<f64>() / count, simulated / count]
    }

    /// Returns the drive writes after which all windows are close to `steady`.
    fn settling_time(
        &self,
        values: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator,
        steady: f64,
    ) -> f64 {
        let is_far = |value: f64| (value / steady - 1.0).abs() > STEADY_TOLERANCE;
        let last_far = values.enumerate().rev().find(|(_, value)| is_far(*value));
        last_far.map_or(0.0, |(point, _)| self.drive_writes[point])
    }

    fn key(&self) -> Fields {
        let (r, f) = self.load.1;
        Fields::default()
            .text("structure", self.structure)
            .number("r", r, 2)
            .number("f", f, 2)
            .text("beginning", self.initial)
    }

    fn summary(&self) -> Fields {
        let points = || 0..self.model.len();
        let largest = |from: f64| {
            let later = points().filter(|&point| self.drive_writes[point] > from);
            let sizes = later.map(|point| (self.difference(point).abs(), point));
            sizes.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, point)| point)
        };
        let (first, later) = (largest(0.0), largest(2.0));
        let [model_end, end] = self.final_means();
        let simulated = self.simulated.iter().map(|window| window.mean);
        self.key()
            .text("largest_difference_percent", format!("{:+.2}", self.difference(first)))
            .number("at_drive_writes", self.drive_writes[first], 1)
            .text("largest_after_two_percent", format!("{:+.2}", self.difference(later)))
            .number("steady", self.steady, 4)
            .number("model_end", model_end, 4)
            .number("simulated_end", end, 4)
            .text("end_difference_percent", format!("{:+.2}", 100.0 * (end / model_end - 1.0)))
            .number("model_arrives", self.settling_time(self.model.iter().copied(), self.steady), 1)
            .number("simulator_arrives", self.settling_time(simulated, end), 1)
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let pairs = pairs(session)?;
    let (mut paths, mut summary) = (Table::default(), Table::default());
    for pair in &pairs {
        for point in 0..pair.model.len() {
            paths.add(
                pair.key()
                    .number("drive_writes", pair.drive_writes[point], 1)
                    .number("model", pair.model[point], 4)
                    .number("simulated", pair.simulated[point].mean, 4)
                    .number("ci", pair.simulated[point].half_width, 4)
                    .text("difference_percent", format!("{:+.2}", pair.difference(point))),
            );
        }
        summary.add(pair.summary());
    }
    paths.write(session, "data")?;
    summary.publish(session, "summary")?;
    pairs.chunks(INITIAL_STATES.len()).try_for_each(|panel| draw(session, panel))?;
    steady_by_size(session)?.publish(session, "sizes")
}

/// Returns a table of the steady state over the number of blocks. It is compared with the model, and with the model
/// without the erased spare space in the internal frontier, which is `(b - 1) / 2` pages on average.
fn steady_by_size(session: &Session) -> Result<Table, Failure> {
    let mut table = Table::default();
    for (name, structure, frontier) in STRUCTURES {
        for (_, load) in LOADS {
            let at = |spare_factor: f64| {
                let policy = Policy::Choices(10);
                let model = Model { structure, pages_per_block: 32, spare_factor, policy, load };
                Ok::<_, Failure>(model.steady_state()?.write_amplification)
            };
            let model = at(0.1)?;
            let course = |length: f64| {
                let (warm_up, measured) = (45.0 * length, 60.0 * length);
                format!("[measure]\nwarm_up = {warm_up:?}\ndrive_writes = {measured:?}\nwindow = 1.0\n")
            };
            let scenarios =
                SIZES.map(|blocks| setting(load).scenario_with(frontier, blocks, &course(session.length)));
            let scenarios = scenarios.into_iter().collect::<Result<Vec<_>, _>>()?;
            for (blocks, replicas) in zip(SIZES, run_all(session, &scenarios)?) {
                let idle =
                    if structure == Structure::Double { 15.5 / (32.0 * f64::from(blocks)) } else { 0.0 };
                let expected = at((0.1 - idle) / (1.0 - idle))?;
                let found = write_amplification(&replicas);
                let (r, f) = load;
                let percent = |value: f64| format!("{:+.3}", 100.0 * (value / model - 1.0));
                table.add(
                    Fields::default()
                        .text("structure", name)
                        .number("r", r, 2)
                        .number("f", f, 2)
                        .text("blocks", blocks)
                        .number("simulated", found.mean, 4)
                        .number("ci", found.half_width, 4)
                        .text("above_model_percent", percent(found.mean))
                        .text("expected_percent", percent(expected)),
                );
            }
        }
    }
    Ok(table)
}

/// Draws the paths from all initial states.
fn draw(session: &Session, panel: &[PathPair]) -> Result<(), Failure> {
    let series = panel.iter().flat_map(|pair| {
        let middles =
            pair.drive_writes.iter().map(|end| end - 0.5 * WINDOW).take_while(|at| *at < DRAWN_LENGTH);
        let middles: Vec<f64> = middles.collect();
        let model = Series::line(
            format!("{}, model", pair.initial),
            zip(middles.iter().copied(), pair.model.iter().copied()),
        );
        let points = zip(middles, pair.simulated.iter().copied()).collect();
        [model, Series { name: format!("{}, simulated", pair.initial), points, has_line: false }]
    });
    let (name, (r, f)) = panel[0].load;
    let structure = panel[0].structure;
    let title = format!("{structure} frontier, b = 32, S_f = 0.1, d = 10, r = {r}, f = {f}");
    let chart = Chart { title: &title, x: "drive writes", y: "write amplification of half a drive write" };
    chart.draw(session, &format!("{structure}_{name}"), &series.collect::<Vec<_>>())
}
