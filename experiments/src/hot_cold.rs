//! Code that the two tables of the hot/cold paper share: rows, scenarios and comparison.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::replicas::{phases, scenario};
use crate::session::Session;
use crate::table::{Fields, Table};
use wearwell_stack::Scenario;

/// Parameters of a row: pages per block `b`, spare factor `S_f`, choices `d`, and hot shares of the writes `r` and of
/// the space `f`.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Pages per block, `b`.
    pub pages_per_block: u32,
    /// Spare factor, `S_f`.
    pub spare_factor: f64,
    /// Number of choices, `d`.
    pub choices: u32,
    /// Hot share of the writes, `r`.
    pub hot_writes: f64,
    /// Hot share of the space, `f`.
    pub hot_space: f64,
}

/// A row of one of the paper's tables, with `S` simulated columns.
#[derive(Clone, Copy, Debug)]
pub struct PaperRow<const S: usize> {
    /// Parameters of the row.
    pub setting: Setting,
    /// Write amplification by the mean field.
    pub ode: f64,
    /// Write amplification by simulation.
    pub simulated: [Interval; S],
}

/// Returns a row; the arguments are in the order of the printed table.
pub const fn row<const S: usize>(
    pages_per_block: u32,
    spare_factor: f64,
    choices: u32,
    hot_writes: f64,
    hot_space: f64,
    ode: f64,
    printed: [(f64, f64); S],
) -> PaperRow<S> {
    let setting = Setting { pages_per_block, spare_factor, choices, hot_writes, hot_space };
    let mut simulated = [Interval { mean: 0.0, half_width: 0.0 }; S];
    let mut at = 0;
    while at < S {
        simulated[at] = Interval { mean: printed[at].0, half_width: printed[at].1 };
        at += 1;
    }
    PaperRow { setting, ode, simulated }
}

/// Structure of the log (sec. 2.3), and the order in which live pages fill the internal frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontier {
    /// One frontier for host writes and moved pages.
    Single,
    /// Two frontiers; live pages are chosen at random (RND).
    DoubleRandom,
    /// Two frontiers; live pages are chosen in the order in which they were written (OLDEST).
    DoubleOldest,
}

/// Initial phase of runs, which the paper does not describe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitialPhase {
    /// Drive writes of uniform overwrites before the workload. They mix hot and cold pages, so that the run starts in
    /// the steady state of uniform writes, as the paper's mean field does.
    pub mixing: f64,
    /// Minimum drive writes of warm-up.
    pub min_warm_up: f64,
    /// Length of the warm-up in turnovers of the cold data.
    pub turnovers: f64,
}

impl InitialPhase {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Self, Failure> {
        let value_of = |name: &str| session.assumed_value(&format!("hot_cold/{name}"));
        Ok(InitialPhase {
            mixing: value_of("mixing")?,
            min_warm_up: value_of("fewest")?,
            turnovers: value_of("turnovers")?,
        })
    }
}

impl Setting {
    /// Returns the drive writes after which each cold page was overwritten once on average: `(1 - f) / (1 - r)`.
    ///
    /// The distribution of cold pages over the blocks is the last to become steady. The effect of the initial state
    /// decreases at least as fast as the number of cold pages that were never overwritten, `exp(-time / turnover)`.
    pub fn cold_turnover(&self) -> f64 {
        (1.0 - self.hot_space) / (1.0 - self.hot_writes)
    }

    /// Returns the drive writes of warm-up: a number of turnovers of the cold data (five leave less than 1 % of the
    /// initial state), but at least the minimum.
    pub fn warm_up(&self, initial: &InitialPhase) -> f64 {
        (initial.turnovers * self.cold_turnover()).max(initial.min_warm_up)
    }

    /// Returns the scenario on `blocks` blocks. Warm-up and measurement have the same length, which is `length` times
    /// the rule for the warm-up.
    pub fn scenario(
        &self,
        frontier: Frontier,
        blocks: u32,
        initial: &InitialPhase,
        length: f64,
    ) -> Result<Scenario, Failure> {
        self.scenario_with(frontier, blocks, &phases(initial.mixing, length * self.warm_up(initial)))
    }

    /// Returns the scenario; `phases` contains the tables `[precondition]` and `[measure]`.
    pub fn scenario_with(&self, frontier: Frontier, blocks: u32, phases: &str) -> Result<Scenario, Failure> {
        let Setting { pages_per_block, spare_factor, choices, hot_writes, hot_space } = *self;
        let stack = stack(frontier, blocks, pages_per_block, spare_factor, choices);
        scenario(&format!(
            r#"
            {stack}
            [workload]
            kind = "hot_cold"
            hot_writes = {hot_writes:?}
            hot_space = {hot_space:?}
            {phases}
            "#
        ))
    }
}

/// Returns the tables `[device]` and `[ftl]` of the paper's drive.
pub fn stack(
    frontier: Frontier,
    blocks: u32,
    pages_per_block: u32,
    spare_factor: f64,
    choices: u32,
) -> String {
    let (placement, copy_order) = match frontier {
        Frontier::Single => ("single", "random"),
        Frontier::DoubleRandom => ("double", "random"),
        Frontier::DoubleOldest => ("double", "oldest"),
    };
    format!(
        r#"
        [device]
        blocks_per_plane = {blocks}
        pages_per_block = {pages_per_block}
        spare_factor = {spare_factor}
        [ftl]
        victim = {{ policy = "d_choices", choices = {choices} }}
        placement = "{placement}"
        reclaim = "in_place"
        copy_order = "{copy_order}"
        "#
    )
}

/// Writes the table with the columns of the paper next to those of this run, and the chart of the differences.
pub fn publish<const S: usize>(
    session: &Session,
    title: &str,
    columns: &[&str; S],
    rows: &[PaperRow<S>],
    ours: &[[Interval; S]],
) -> Result<(), Failure> {
    let (initial, mut table) = (InitialPhase::from_session(session)?, Table::default());
    for (row, ours) in rows.iter().zip(ours) {
        for (at, column) in columns.iter().enumerate() {
            table.add(compare(
                row,
                column,
                [&row.simulated[at], &ours[at]],
                session.length * row.setting.warm_up(&initial),
            ));
        }
    }
    table.publish(session, "data")?;
    let series = columns.iter().enumerate().flat_map(|(at, column)| {
        let series_of = |source: &str, shift: f64, value: &dyn Fn(usize) -> Interval| Series {
            name: format!("{source}, {column}"),
            points: (0..rows.len())
                .map(|row| ((row + 1) as f64 + shift, percent_of(&value(row), rows[row].ode)))
                .collect(),
            has_line: false,
        };
        let shift = 0.2 * at as f64;
        [
            series_of("paper", shift, &|row| rows[row].simulated[at]),
            series_of("ours", shift + 0.1, &|row| ours[row][at]),
        ]
    });
    let chart = Chart { title, x: "row of the table", y: "difference from the mean field, %" };
    chart.draw(session, "plot", &series.collect::<Vec<_>>())
}

/// Returns the difference from `reference` in per cent.
fn percent_of(value: &Interval, reference: f64) -> Interval {
    let percent = 100.0 / reference;
    Interval { mean: (value.mean - reference) * percent, half_width: value.half_width * percent }
}

fn compare<const S: usize>(
    row: &PaperRow<S>,
    column: &str,
    [paper, ours]: [&Interval; 2],
    warm_up: f64,
) -> Fields {
    let Setting { pages_per_block, spare_factor, choices, hot_writes, hot_space } = row.setting;
    Fields::default()
        .text("b", pages_per_block)
        .number("S_f", spare_factor, 2)
        .text("d", choices)
        .number("r", hot_writes, 2)
        .number("f", hot_space, 2)
        .text("column", column)
        .number("paper_ode", row.ode, 4)
        .number("paper_sim", paper.mean, 4)
        .number("paper_ci", paper.half_width, 4)
        .number("ours", ours.mean, 5)
        .number("ours_ci", ours.half_width, 5)
        .text("diff_percent", format!("{:+.4}", percent_of(ours, paper.mean).mean))
        .text("diff_in_ci", format!("{:+.2}", ours.distance(paper)))
        .text("ours_vs_ode_percent", format!("{:+.4}", percent_of(ours, row.ode).mean))
        .number("warm_up", warm_up, 1)
}
