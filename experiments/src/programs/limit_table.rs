//! Distance of every placement and every victim policy from the lower bound, and from policies that know the future.
//!
//! The workloads are synthetic workloads and the traces of the folder in `WEARWELL_TRACES`, on drives with several
//! spare factors. Each policy is shown with the proven lower bound for the measured writes and, where available, the
//! mean field's value and the bound in closed form.

use crate::Failure;
use crate::interval::{Interval, closed_percent};
use crate::replicas::scenario;
use crate::session::{Interrupted, Session};
use crate::statements::Statements;
use crate::table::{Fields, Table};
use crate::traces;
use serde::{Deserialize, Serialize};
use wearwell_engine::placement::{PLACEMENTS, PlacementConfig};
use wearwell_engine::victim::{VICTIMS, VictimConfig};
use wearwell_stack::{RunError, RunResult, Scenario, run as simulate};
use wearwell_study::add_prediction;
use wearwell_study::limit::{LowerBoundRun, RewriteLoss};
use wearwell_theory::closed_forms::offline_bound;
use wearwell_theory::{Classes, Drive};

/// Settings of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Capacity in MiB of a drive for synthetic workloads; for a trace, the drive is fitted to the trace.
    drive_mib: u32,
    /// Number of pages per block.
    pages_per_block: u32,
    spare_factors: Vec<f64>,
    /// Maximum number of traces, in the order of their list.
    traces: usize,
    /// True if each placement runs with each victim policy. Otherwise, placements run with greedy, and victim policies
    /// run with the double frontier.
    all_pairs: bool,
    /// Number of seeds of random numbers.
    #[allow(dead_code, reason = "read by the session")]
    runs: u64,
    /// Number of seeds for a trace. Its requests do not depend on the seed; only some policies draw random numbers.
    trace_runs: u64,
    /// Drive writes of warm-up, and of measurement.
    #[allow(dead_code, reason = "read by the session")]
    length: f64,
    /// Drive writes for a trace; they may have to be whole passes on a large drive.
    trace_length: f64,
}

/// A workload or trace: its name, and its part of a scenario.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    toml: String,
    seeds: u64,
    /// Drive writes of warm-up, and of measurement.
    length: f64,
}

const SYNTHETIC: [(&str, &str); 6] = [
    ("uniform", "kind = \"uniform\""),
    ("uniform, trims", "kind = \"uniform\"\ntrim_ratio = 0.1"),
    ("hot and cold 80/20", "kind = \"hot_cold\"\nhot_writes = 0.8\nhot_space = 0.2\nhint = \"temperature\""),
    ("hot and cold 95/5", "kind = \"hot_cold\"\nhot_writes = 0.95\nhot_space = 0.05\nhint = \"temperature\""),
    ("Zipf 0.99", "kind = \"zipf\"\nexponent = 0.99\nscatter = true\nhint = \"temperature\""),
    (
        "moving hot spot",
        "kind = \"phases\"\nrepeat = true\nphases = [\
         { writes = 1.0, workload = { kind = \"hot_cold\", hot_writes = 0.9, hot_space = 0.1 } },\
         { writes = 1.0, workload = { kind = \"hot_cold\", hot_writes = 0.9, hot_space = 0.1, shift = 0.5 } }]",
    ),
];

/// Placement and victim policy without any knowledge, which are the reference of the comparison.
const BASELINE: (&str, &str) = ("double", "greedy");
/// Placement and victim policy with knowledge of the future, by which losses are attributed to their causes.
const OFFLINE: (&str, &str) = ("death_windows", "foresight");

/// A run, optionally with the lower bound for its measured writes.
#[derive(Clone, Debug, Serialize)]
struct Point {
    scenario: Scenario,
    #[serde(rename = "bounded")]
    with_bound: bool,
}

/// Figures of a run; empty if the run is impossible.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RunFigures {
    write_amplification: Option<f64>,
    lower_bound: Option<f64>,
    /// Write amplification by the mean field.
    theory: Option<f64>,
}

impl RunFigures {
    fn from_result(mut result: RunResult, bounded: bool, session: &Session) -> Result<Self, Failure> {
        add_prediction(&mut result);
        let theory = result.theory.as_ref().map(|theory| theory.write_amplification);
        let write_amplification = result.write_amplification;
        let limit = bounded.then(|| LowerBoundRun::of(result, &mut || session.flow())).transpose()?;
        let lower_bound = limit.map(|limit| limit.lower_bound());
        Ok(RunFigures { write_amplification, lower_bound, theory })
    }
}

fn sources(session: &Session, settings: &Settings) -> Vec<Source> {
    let synthetic = SYNTHETIC.iter().map(|(name, workload)| Source {
        name: (*name).to_owned(),
        toml: format!("[device]\ncapacity = \"{} MiB\"\n[workload]\n{workload}\n", settings.drive_mib),
        seeds: session.runs,
        length: session.length,
    });
    let traces = traces::available(session).into_iter().take(settings.traces).map(|trace| Source {
        name: trace.name.to_owned(),
        toml: format!("[device]\nfit = true\n{}", trace.toml),
        seeds: settings.trace_runs.max(1),
        length: settings.trace_length,
    });
    synthetic.chain(traces).collect()
}

/// Returns the pairs of placement and victim policy to run.
fn pairs(all: bool) -> Vec<(&'static str, &'static str)> {
    let every =
        || PLACEMENTS.iter().flat_map(|placement| VICTIMS.iter().map(|victim| (placement.name, victim.name)));
    let is_reference = |name: &str, blind: &str, knowing: &str| name == blind || name == knowing;
    every()
        .filter(|(placement, victim)| {
            all || is_reference(placement, BASELINE.0, OFFLINE.0)
                || is_reference(victim, BASELINE.1, OFFLINE.1)
        })
        .collect()
}

fn scenario_of(
    source: &Source,
    settings: &Settings,
    spare_factor: f64,
    (placement, victim): (&str, &str),
) -> Result<Scenario, Failure> {
    let length = source.length;
    let mut text: toml::Table = source.toml.parse()?;
    let device = text["device"].as_table_mut().ok_or("a source describes its drive")?;
    device.insert("spare_factor".into(), spare_factor.into());
    device.insert("pages_per_block".into(), i64::from(settings.pages_per_block).into());
    let added: toml::Table = format!(
        "ftl = {{ placement = \"{placement}\", victim = \"{victim}\" }}\n\
         measure = {{ warm_up = {length:?}, drive_writes = {length:?} }}\n"
    )
    .parse()?;
    text.extend(added);
    scenario(&toml::to_string(&text)?)
}

/// Results of a source on a drive: figures for each pair and seed.
struct DriveResults<'a> {
    source: &'a Source,
    spare_factor: f64,
    pairs: &'a [(&'static str, &'static str)],
    /// Figures by pair, and then by seed.
    figures: &'a [&'a [RunFigures]],
}

impl DriveResults<'_> {
    fn amplification(&self, pair: (&str, &str)) -> Option<Interval> {
        let at = self.pairs.iter().position(|&other| other == pair)?;
        let values: Option<Vec<f64>> = self.figures[at].iter().map(|kept| kept.write_amplification).collect();
        values.map(|values| Interval::from_values(&values))
    }

    fn mean(&self, pair: (&str, &str)) -> Option<f64> {
        self.amplification(pair).map(|interval| interval.mean)
    }

    fn bound(&self) -> Option<f64> {
        let values: Vec<f64> =
            self.figures.iter().flat_map(|kept| kept.iter().filter_map(|kept| kept.lower_bound)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn theory(&self, pair: (&str, &str)) -> Option<f64> {
        let at = self.pairs.iter().position(|&other| other == pair)?;
        self.figures[at][0].theory
    }

    fn loss(&self, pair: (&str, &str)) -> Option<RewriteLoss> {
        Some(RewriteLoss::of(
            self.mean(pair)?,
            self.mean((OFFLINE.0, pair.1))?,
            self.mean((pair.0, OFFLINE.1))?,
            self.mean(OFFLINE)?,
        ))
    }

    /// Returns the lower bound in closed form, if the workload has one.
    fn closed_form(&self, settings: &Settings) -> Result<Option<f64>, Failure> {
        let classes = match self.source.name.as_str() {
            "uniform" => Classes::uniform(),
            "hot and cold 80/20" => Classes::hot_cold(0.8, 0.2)?,
            "hot and cold 95/5" => Classes::hot_cold(0.95, 0.05)?,
            _ => return Ok(None),
        };
        let drive = Drive::new(settings.pages_per_block, self.spare_factor)?;
        let pages = f64::from(settings.drive_mib) * 256.0;
        Ok(Some(offline_bound(&drive, &classes, pages)?.write_amplification))
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let (sources, pairs) = (sources(session, &settings), pairs(settings.all_pairs));
    let mut points = Vec::new();
    for source in &sources {
        for &spare_factor in &settings.spare_factors {
            for &pair in &pairs {
                let scenario = scenario_of(source, &settings, spare_factor, pair)?;
                points.extend((1..=source.seeds).map(|seed| Point {
                    scenario: Scenario { seed, ..scenario.clone() },
                    with_bound: pair == BASELINE,
                }));
            }
        }
    }
    let figures = session.compute_each("limit", &points, |point| {
        match simulate(&point.scenario, &mut |_: &_| session.flow()) {
            Err(_) if session.flow().is_break() => Err(Interrupted.into()),
            // Impossible combinations are documented in the tables of refusals.
            Err(RunError::Config(_)) if !point.with_bound => Ok(RunFigures::default()),
            Err(error) => Err(format!("{error}, of {:?}", point.scenario.trace).into()),
            Ok(result) => RunFigures::from_result(result, point.with_bound, session),
        }
    })?;
    let (mut by_pair, mut left) = (Vec::new(), &figures[..]);
    for source in &sources {
        for _ in 0..settings.spare_factors.len() * pairs.len() {
            let (seeds, after) = left.split_at(source.seeds as usize);
            by_pair.push(seeds);
            left = after;
        }
    }
    let drives =
        sources.iter().flat_map(|source| settings.spare_factors.iter().map(move |spare| (source, *spare)));
    let found: Vec<DriveResults<'_>> = drives
        .zip(by_pair.chunks(pairs.len()))
        .map(|((source, spare_factor), kept)| DriveResults {
            source,
            spare_factor,
            pairs: &pairs,
            figures: kept,
        })
        .collect();
    publish(session, &settings, &found)
}

fn publish(session: &Session, settings: &Settings, found: &[DriveResults<'_>]) -> Result<(), Failure> {
    let (mut data, mut best) = (Table::default(), Table::default());
    let (mut above, mut beaten) = (Vec::new(), Vec::new());
    for drive in found {
        let (bound, best_offline) = (drive.bound(), best_of(drive, true));
        let (source, spare_factor) = (&drive.source.name, drive.spare_factor);
        let head = || Fields::default().text("source", source).text("spare_factor", spare_factor);
        let case = |pair: (&str, &str)| format!("{source}, {spare_factor}: {} with {}", pair.0, pair.1);
        for &pair in drive.pairs {
            let Some(interval) = drive.amplification(pair) else { continue };
            let (level, loss) = (best_offline.map(|(_, level)| level), drive.loss(pair));
            data.add(
                head()
                    .text("placement", pair.0)
                    .text("victim", pair.1)
                    .number("write_amplification", interval.mean, 4)
                    .number("ci", Some(interval.half_width).filter(|_| drive.source.seeds > 1), 4)
                    .number("lower_bound", bound, 4)
                    .number("foresight", level, 4)
                    .number("above_foresight", level.map(|level| interval.mean - level), 4)
                    .number("lost_by_placement", loss.map(|loss| loss.placement), 4)
                    .number("lost_by_victim", loss.map(|loss| loss.victim), 4)
                    .number("lost_by_block_size", loss.map(|loss| loss.block_size), 4)
                    .number("mean_field", drive.theory(pair), 4),
            );
            above.push((case(pair), bound.is_some_and(|bound| bound <= interval.mean + 1e-9)));
            if let Some(level) = level.filter(|_| !needs_foresight(pair)) {
                beaten.push((case(pair), level <= interval.mean));
            }
        }
        let (baseline, best_online) = (drive.mean(BASELINE), best_of(drive, false));
        let closed = baseline.zip(best_offline).zip(best_online);
        let closed = closed.map(|((blind, (_, best)), (_, found))| closed_percent(blind, best, found));
        let name =
            best_online.map_or_else(String::new, |((placement, victim), _)| format!("{placement}, {victim}"));
        best.add(
            head()
                .number("lower_bound", bound, 4)
                .number("closed_form", drive.closed_form(settings)?, 4)
                .number("foresight", best_offline.map(|(_, level)| level), 4)
                .number("double_greedy", baseline, 4)
                .text("best_without", name)
                .number("write_amplification", best_online.map(|(_, level)| level), 4)
                .number("part_of_the_distance_closed_percent", closed, 4),
        );
    }
    data.write(session, "data")?;
    best.publish(session, "best")?;
    let mut statements = Statements::default();
    statements.check("ours: nothing is below the bound", above);
    statements.check("ours: nothing is below the best that knows the future", beaten);
    statements.publish(session)
}

/// True if either the placement or the victim policy knows the future.
fn needs_foresight((placement, victim): (&str, &str)) -> bool {
    let placement: PlacementConfig = serde_json::from_value(placement.into()).expect("it is of the table");
    let victim: VictimConfig = serde_json::from_value(victim.into()).expect("it is of the table");
    placement.needs_foresight() || victim.needs_foresight()
}

/// Returns the pair with the smallest write amplification: among those that know the future if `offline` is true,
/// otherwise among the other pairs.
fn best_of(drive: &DriveResults<'_>, offline: bool) -> Option<((&'static str, &'static str), f64)> {
    let candidates = drive.pairs.iter().filter(|&&pair| needs_foresight(pair) == offline);
    let measured = candidates.filter_map(|&pair| Some((pair, drive.mean(pair)?)));
    measured.min_by(|(_, one), (_, other)| one.total_cmp(other))
}
