//! Section 5 of the hot/cold paper mentions simulations of traces, "not reported here", in which a second write
//! frontier lowers write amplification "significantly" under real workloads, too. This program makes such
//! simulations.
//!
//! Every trace of the folder in `WEARWELL_TRACES` is replayed in a loop on a drive fitted to its extent.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::replicas::{amplification, scenario};
use crate::session::{Interrupted, Session};
use crate::stacks::user_pages;
use crate::statements::Statements;
use crate::table::{Fields, Table};
use crate::traces::{self, Trace};
use serde::{Deserialize, Serialize};
use wearwell_stack::{RunResult, Scenario, run as simulate};

/// The paper's policy with its recommended number of choices, and greedy.
const VICTIMS: [(&str, &str); 2] =
    [("d = 10", "{ policy = \"d_choices\", choices = 10 }"), ("greedy", "\"greedy\"")];

const PLACEMENTS: [&str; 2] = ["single", "double"];

/// Minimum ratio of written pages to the extent of a trace; a trace with a smaller ratio has hardly any overwrites.
const MIN_OVERWRITE_RATIO: f64 = 1.5;

/// Figures of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RunFigures {
    write_amplification: f64,
    touched_pages: f64,
    /// Ratio of the pages written in a pass to the pages accessed.
    pass_drive_writes: f64,
    #[serde(rename = "steady")]
    is_steady: bool,
}

impl RunFigures {
    fn from_result(result: &RunResult) -> Result<Self, Failure> {
        let written = result.phases.warm_up_drive_writes + result.phases.measured_drive_writes;
        let passes = result.phases.trace_passes.ok_or("a trace is replayed in whole passes")?;
        Ok(RunFigures {
            write_amplification: amplification(result)?,
            touched_pages: user_pages(result),
            pass_drive_writes: written / passes as f64,
            is_steady: result.phases.steady,
        })
    }
}

/// Parameters of the drive, which the paper does not give.
struct Drive {
    spare_factor: f64,
    /// Drive writes of warm-up, and of measurement; both are a number of passes through the trace.
    drive_writes: f64,
}

fn scenario_of(trace: &Trace, victim: &str, placement: &str, drive: &Drive) -> Result<Scenario, Failure> {
    let toml = &trace.toml;
    let Drive { spare_factor, drive_writes } = *drive;
    scenario(&format!(
        r#"
        [device]
        pages_per_block = 32
        spare_factor = {spare_factor:?}
        fit = true
        [ftl]
        victim = {victim}
        placement = "{placement}"
        reclaim = "in_place"
        copy_order = "random"
        {toml}
        [measure]
        warm_up = {drive_writes:?}
        drive_writes = {drive_writes:?}
        "#
    ))
}

/// A point, which is defined by trace, policy, placement and seed.
#[derive(Clone, Debug, Serialize)]
struct Point {
    scenario: Scenario,
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let folder = session.traces().ok_or("WEARWELL_TRACES does not name a folder of traces")?;
    let traces = traces::available(session);
    if traces.is_empty() {
        return Err(format!("{} holds none of the traces", folder.display()).into());
    }
    let drive = Drive {
        spare_factor: session.assumed_value("hot_cold/traces-spare-factor")?,
        drive_writes: session.length * session.assumed_value("hot_cold/traces-drive-writes")?,
    };
    let mut points = Vec::new();
    for trace in &traces {
        for (_, victim) in VICTIMS {
            for placement in PLACEMENTS {
                let scenario = scenario_of(trace, victim, placement, &drive)?;
                points.extend(
                    (1..=session.runs).map(|seed| Point { scenario: Scenario { seed, ..scenario.clone() } }),
                );
            }
        }
    }
    let figures = session.compute_each("trace", &points, |point| {
        match simulate(&point.scenario, &mut |_: &_| session.flow()) {
            Err(_) if session.flow().is_break() => Err(Interrupted.into()),
            Err(error) => Err(format!("{error}, of {:?}", point.scenario.trace).into()),
            Ok(result) => RunFigures::from_result(&result),
        }
    })?;
    publish(session, &traces, &figures)
}

fn mean_over_seeds(kept: &[RunFigures]) -> Interval {
    Interval::from_values(&kept.iter().map(|kept| kept.write_amplification).collect::<Vec<_>>())
}

fn publish(session: &Session, traces: &[Trace], kept: &[RunFigures]) -> Result<(), Failure> {
    let mut table = Table::default();
    let (mut lower, mut much, mut overwriting) = (Vec::new(), Vec::new(), Vec::new());
    let mut series: Vec<Series> = VICTIMS
        .map(|(policy, _)| Series { name: policy.to_owned(), points: Vec::new(), has_line: false })
        .into();
    let mut runs = kept.chunks(session.runs as usize);
    for (at, Trace { name: trace, .. }) in traces.iter().enumerate() {
        for (curve, (policy, _)) in series.iter_mut().zip(VICTIMS) {
            let [single, double] = [(); 2].map(|()| runs.next().expect("runs of every point"));
            let (first, steady) = (&single[0], single.iter().chain(double).all(|kept| kept.is_steady));
            let [one, two] = [single, double].map(mean_over_seeds);
            let change = 100.0 * (two.mean / one.mean - 1.0);
            table.add(
                Fields::default()
                    .text("trace", trace)
                    .text("policy", policy)
                    .number("touched_mib", first.touched_pages / 256.0, 3)
                    .number("written_per_pass", first.pass_drive_writes, 3)
                    .number("single", one.mean, 3)
                    .number("single_ci", one.half_width, 3)
                    .number("double", two.mean, 3)
                    .number("double_ci", two.half_width, 3)
                    .number("change_percent", change, 3)
                    .text("steady", if steady { "yes" } else { "no" }),
            );
            let case = format!("{trace}: {policy}");
            let is_lower = one.mean - two.mean > one.half_width.hypot(two.half_width);
            lower.push((case.clone(), is_lower));
            if first.pass_drive_writes >= MIN_OVERWRITE_RATIO {
                overwriting.push((case.clone(), is_lower));
            }
            much.push((case, change < -10.0));
            curve.points.push(((at + 1) as f64, Interval { mean: change, half_width: 0.0 }));
        }
    }
    table.publish(session, "data")?;
    let title = "What a second write frontier changes, traces in the order of the table";
    Chart { title, x: "trace", y: "change of write amplification, %" }.draw(session, "plot", &series)?;
    let mut statements = Statements::default();
    statements.check("a second frontier lowers write amplification", lower);
    statements.check("by a tenth or more", much);
    statements.check("ours: it does where a pass writes one and a half drives or more", overwriting);
    statements.publish(session)
}
