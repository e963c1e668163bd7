//! Distance from the lower bound of each placement without knowledge of the future, for the loads with which our
//! placement was tuned and for other loads.
//!
//! The loads are synthetic loads in the steady state, and one pass through each trace of the folder in
//! `WEARWELL_TRACES` after the drive was filled. Thus a placement cannot benefit from an earlier pass.

use crate::Failure;
use crate::interval::{Interval, closed_percent, mean};
use crate::replicas::{amplification, run_each, scenario};
use crate::session::Session;
use crate::stacks::user_pages;
use crate::statements::Statements;
use crate::table::{Table, number};
use crate::traces;
use serde::{Deserialize, Serialize};
use wearwell_stack::{RunResult, Scenario};

/// Settings of the comparison.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Number of blocks of the drives for synthetic loads.
    blocks: u32,
    spare_factor: f64,
    /// Maximum number of traces, in the order of their list.
    traces: usize,
    /// Number of seeds of each run.
    #[allow(dead_code, reason = "read by the session")]
    runs: u64,
    /// For synthetic loads, drive writes of warm-up; half of this number is measured.
    #[allow(dead_code, reason = "read by the session")]
    length: f64,
}

/// Our placement.
const OUR_PLACEMENT: &str = "learnt_lifetimes";
/// Placement without any knowledge, which is the reference of the comparison.
const BASELINE: &str = "double";
/// Placement with knowledge of the future, and the victim policies with which it is run.
const OFFLINE: (&str, [&str; 2]) = ("death_windows", ["greedy", "foresight"]);
const VICTIMS: [&str; 2] = ["greedy", "cost_benefit"];
/// A placement that determines the sizes of its groups, and the additional victim policy that respects these sizes.
const SELF_SIZING: (&str, &str) = ("age_chain", "stream_queues");

/// All placements that need only the writes: no foresight, hints or references.
const PLACEMENTS: [&str; 14] = [
    "single",
    BASELINE,
    "write_count",
    "bloom",
    "age_classes",
    "promotion",
    "fading_average",
    "interval_clusters",
    "chunk_frequency",
    "multi_queue",
    "extents",
    "multi_log",
    SELF_SIZING.0,
    OUR_PLACEMENT,
];

/// Synthetic loads: name, workload, and true if our placement was tuned with the load.
const SYNTHETIC: [(&str, &str, bool); 6] = [
    ("Zipf 0.99", "kind = \"zipf\"\nexponent = 0.99\nscatter = true", true),
    ("hot and cold 90/10", "kind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\nscatter = true", true),
    (
        "log and Zipf 1.2",
        "kind = \"mixed\"\nparts = [{ weight = 3, space = 0.25, workload = { kind = \"sequential\", request_pages = 4 } }, \
         { weight = 1, space = 0.75, workload = { kind = \"zipf\", exponent = 1.2 } }]",
        true,
    ),
    ("Zipf 0.8", "kind = \"zipf\"\nexponent = 0.8\nscatter = true", false),
    ("hot and cold 70/30", "kind = \"hot_cold\"\nhot_writes = 0.7\nhot_space = 0.3\nscatter = true", false),
    (
        "moving hot spot",
        "kind = \"phases\"\nrepeat = true\nphases = [\
         { writes = 1.0, workload = { kind = \"hot_cold\", hot_writes = 0.9, hot_space = 0.1 } },\
         { writes = 1.0, workload = { kind = \"hot_cold\", hot_writes = 0.9, hot_space = 0.1, shift = 0.5 } }]",
        false,
    ),
];

/// Traces with enough overwrites in one pass to cause cleaning. Each has a name, the pages per block (for about a
/// hundred to a thousand blocks on a drive fitted to the trace), and true if our placement was tuned with it.
const TRACE_LOADS: [(&str, u32, bool); 14] = [
    ("Alibaba", 32, true),
    ("MSR prn_0", 32, true),
    ("MySQL", 64, true),
    ("Financial1", 32, true),
    ("MSR prxy_0", 8, false),
    ("MSR hm_0", 16, false),
    ("web server", 64, false),
    ("CloudPhysics", 128, false),
    ("Tencent", 128, false),
    ("RocksDB on XFS", 64, false),
    ("SQLite on ext4", 8, false),
    ("phone", 8, false),
    ("TPC-C", 32, false),
    ("YCSB on F2FS", 64, false),
];

/// A workload or trace, without placement and victim policy.
struct Load {
    name: &'static str,
    toml: String,
    is_tuned_for: bool,
}

/// Figures of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RunFigures {
    write_amplification: f64,
    memory_bytes: u64,
    logical_pages: f64,
}

impl RunFigures {
    fn from_result(result: &RunResult) -> Result<Self, Failure> {
        Ok(RunFigures {
            write_amplification: amplification(result)?,
            memory_bytes: result.performance.memory_bytes,
            logical_pages: user_pages(result),
        })
    }
}

fn loads(session: &Session, settings: &Settings) -> Vec<Load> {
    let Settings { blocks, spare_factor, .. } = settings;
    let (warm_up, measured) = (session.length, session.length / 2.0);
    let synthetic = SYNTHETIC.iter().map(|(name, workload, chosen_on)| Load {
        name,
        toml: format!(
            "[device]\nblocks_per_plane = {blocks}\npages_per_block = 32\nspare_factor = {spare_factor:?}\n[workload]\n{workload}\n\
             [measure]\nwarm_up = {warm_up:?}\ndrive_writes = {measured:?}\n"
        ),
        is_tuned_for: *chosen_on,
    });
    let traces = traces::available(session);
    let replayed = TRACE_LOADS.iter().take(settings.traces).filter_map(|(name, pages_per_block, chosen_on)| {
        let trace = traces.iter().find(|trace| trace.name == *name)?;
        let toml = format!(
            "[device]\nfit = true\npages_per_block = {pages_per_block}\nspare_factor = {spare_factor:?}\n{}\
             [measure]\nwarm_up = 0.0\ndrive_writes = 0.1\npasses = 1\n",
            trace.toml
        );
        Some(Load { name, toml, is_tuned_for: *chosen_on })
    });
    synthetic.chain(replayed).collect()
}

/// Returns the pairs of placement and victim policy to run.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let without = PLACEMENTS.iter().flat_map(|placement| VICTIMS.map(|victim| (*placement, victim)));
    without.chain([SELF_SIZING]).chain(OFFLINE.1.map(|victim| (OFFLINE.0, victim))).collect()
}

/// The better victim policy for a placement, with its result.
struct Best {
    victim: &'static str,
    amplification: Interval,
}

/// Results of a load.
struct LoadResults<'a> {
    load: &'a Load,
    /// Figures by pair, and then by seed.
    figures: &'a [Vec<RunFigures>],
}

impl LoadResults<'_> {
    /// Returns the memory in bytes of the simulated drive with a placement. The runs of all placements have an equal
    /// victim policy, which may need memory, too.
    fn memory_bytes(&self, placement: &str) -> Option<f64> {
        let at = pairs().iter().position(|pair| *pair == (placement, VICTIMS[0]))?;
        Some(mean(&self.figures[at], |kept| kept.memory_bytes as f64))
    }

    fn logical_pages(&self) -> f64 {
        self.figures[0][0].logical_pages
    }

    /// Returns the memory that a placement needs in addition to that of the drive, in bytes per logical page.
    fn placement_bytes(&self, placement: &str) -> Option<f64> {
        Some((self.memory_bytes(placement)? - self.memory_bytes(BASELINE)?) / self.logical_pages())
    }

    fn best(&self, placement: &str) -> Option<Best> {
        let pairs = pairs();
        let figures = pairs.iter().enumerate().filter(|(_, pair)| pair.0 == placement);
        let measured = figures.map(|(at, pair)| {
            let values: Vec<f64> = self.figures[at].iter().map(|kept| kept.write_amplification).collect();
            Best { victim: pair.1, amplification: Interval::from_values(&values) }
        });
        measured.min_by(|one, other| one.amplification.mean.total_cmp(&other.amplification.mean))
    }

    /// Returns the published placement without knowledge of the future that has the least write amplification.
    fn best_published(&self) -> Option<(&'static str, Best)> {
        let published = PLACEMENTS.iter().filter(|name| **name != OUR_PLACEMENT);
        let measured = published.filter_map(|name| Some((*name, self.best(name)?)));
        measured.min_by(|(_, one), (_, other)| one.amplification.mean.total_cmp(&other.amplification.mean))
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let loads = loads(session, &session.settings()?);
    let mut scenarios: Vec<Scenario> = Vec::new();
    for load in &loads {
        for (placement, victim) in pairs() {
            let toml = &load.toml;
            scenarios.push(scenario(&format!(
                "{toml}[ftl]\nplacement = \"{placement}\"\nvictim = \"{victim}\"\ndirectory = \"page\"\n"
            ))?);
        }
    }
    let figures = run_each(session, &scenarios, "placements", RunFigures::from_result)?;
    let by_load = loads.iter().zip(figures.chunks(pairs().len()));
    let results: Vec<LoadResults<'_>> =
        by_load.map(|(load, kept)| LoadResults { load, figures: kept }).collect();
    all_placements(&results).write(session, "data")?;
    distances(&results).publish(session, "nearest")?;
    means(&results).publish(session, "means")?;
    let held_out = || results.iter().filter(|found| !found.load.is_tuned_for);
    let mut statements = Statements::default();
    let nearer = held_out().filter_map(|found| {
        let (ours, (_, published)) = (found.best(OUR_PLACEMENT)?, found.best_published()?);
        let amplifications = (ours.amplification.mean, published.amplification.mean);
        Some((found.load.name.to_owned(), amplifications.0 <= amplifications.1 + 1e-9))
    });
    statements.check("ours: nearer to the limit than every published one on loads held out", nearer);
    let baseline = held_out().filter_map(|found| {
        let (ours, blind) = (found.best(OUR_PLACEMENT)?, found.best(BASELINE)?);
        Some((found.load.name.to_owned(), ours.amplification.mean <= blind.amplification.mean + 1e-9))
    });
    statements.check("ours: no worse than a double frontier on loads held out", baseline);
    let best_rival = PLACEMENTS.iter().filter(|name| **name != OUR_PLACEMENT).filter_map(|name| {
        let [ours, other] = [OUR_PLACEMENT, *name].map(|name| geometric_mean(&results, name, false));
        Some(((*name).to_owned(), ours? <= other?))
    });
    statements.check("ours: the least geometric mean over loads held out", best_rival);
    statements.publish(session)
}

fn tuned_or_held_out(load: &Load) -> String {
    if load.is_tuned_for { "no" } else { "yes" }.to_owned()
}

/// Returns the results of every placement under every load, with the better victim policy.
fn all_placements(found: &[LoadResults<'_>]) -> Table {
    let columns =
        ["load", "held_out", "placement", "victim", "write_amplification", "ci", "remembers_bytes_a_page"];
    let mut table = Table::new(&columns);
    for drive in found {
        for placement in PLACEMENTS.iter().chain([&OFFLINE.0]) {
            let Some(best) = drive.best(placement) else { continue };
            let bytes = number(drive.placement_bytes(placement), 4);
            let head = [drive.load.name.to_owned(), tuned_or_held_out(drive.load)];
            let names = [(*placement).to_owned(), best.victim.to_owned()];
            let numbers = best.amplification.numbers(4);
            table.push(head.into_iter().chain(names).chain(numbers).chain([bytes]).collect());
        }
    }
    table
}

/// Returns for each load the best published placement and ours, and the share of the distance to foresight by which
/// each is better than the reference.
fn distances(found: &[LoadResults<'_>]) -> Table {
    let mut table = Table::new(&[
        "load",
        "held_out",
        "double",
        "best_published",
        "write_amplification",
        "ci",
        "ours",
        "ours_ci",
        "knowing",
        "closed_by_published_percent",
        "closed_by_ours_percent",
    ]);
    for drive in found {
        let amplification_of = |placement| drive.best(placement).map(|best| best.amplification);
        let Some((name, published)) = drive.best_published() else { continue };
        let (Some(blind), Some(ours), Some(knowing)) =
            (amplification_of(BASELINE), amplification_of(OUR_PLACEMENT), amplification_of(OFFLINE.0))
        else {
            continue;
        };
        let closed = |found: Interval| number(closed_percent(blind.mean, knowing.mean, found.mean), 1);
        let head = [drive.load.name.to_owned(), tuned_or_held_out(drive.load), number(blind.mean, 4)];
        let names = [format!("{name}, {}", published.victim)];
        let shares = [published.amplification, ours].map(closed);
        let fields = published.amplification.numbers(4).into_iter().chain(ours.numbers(4));
        let cells = head.into_iter().chain(names).chain(fields);
        table.push(cells.chain([number(knowing.mean, 4)]).chain(shares).collect());
    }
    table
}

fn geometric_mean(found: &[LoadResults<'_>], placement: &str, chosen_on: bool) -> Option<f64> {
    let selected = found.iter().filter(|drive| drive.load.is_tuned_for == chosen_on);
    let logs: Option<Vec<f64>> =
        selected.map(|drive| Some(drive.best(placement)?.amplification.mean.ln())).collect();
    logs.filter(|logs| !logs.is_empty()).map(|logs| mean(&logs, |log| *log).exp())
}

/// Returns for each placement the geometric means over the loads, the number of held-out loads on which it is best, and
/// its memory on the largest drive.
fn means(found: &[LoadResults<'_>]) -> Table {
    let mut table =
        Table::new(&["placement", "mean_where_chosen", "mean_held_out", "best_on", "remembers_bytes_a_page"]);
    // On the largest drive, memory that does not depend on the size matters least.
    let largest = found.iter().max_by(|one, other| one.logical_pages().total_cmp(&other.logical_pages()));
    for placement in PLACEMENTS.iter().chain([&OFFLINE.0]) {
        let [chosen, held_out] =
            [true, false].map(|chosen_on| number(geometric_mean(found, placement, chosen_on), 4));
        let is_best = |drive: &&LoadResults<'_>| {
            let all = PLACEMENTS.iter().filter_map(|name| drive.best(name));
            let lowest = all.map(|best| best.amplification.mean).fold(f64::INFINITY, f64::min);
            drive.best(placement).is_some_and(|best| best.amplification.mean <= lowest + 1e-9)
        };
        let best_on = found.iter().filter(|drive| !drive.load.is_tuned_for).filter(is_best).count();
        let bytes = number(largest.and_then(|drive| drive.placement_bytes(placement)), 2);
        table.push(vec![(*placement).to_owned(), chosen, held_out, best_on.to_string(), bytes]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_is_in_the_list_of_traces() {
        for (name, ..) in TRACE_LOADS {
            assert!(traces::TRACES.iter().any(|(known, ..)| *known == name), "{name}");
        }
    }
}
