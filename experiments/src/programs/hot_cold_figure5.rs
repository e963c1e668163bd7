//! Van Houdt (2013), Figure 5: the double frontier with the best number of choices, b = 32, over r and f.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::figures::load_name;
use crate::heat_map::{Cell, HeatMap};
use crate::session::Session;
use crate::statements::{Statements, is_rising};
use crate::table::Table;
use crate::theory::{Load, Model, Policy, solve_all};
use std::cmp::Ordering;
use wearwell_theory::OptimalChoices;
use wearwell_theory::mean_field::Structure;

const SPARES: [f64; 2] = [0.08, 0.12];

/// Values of `r` and `f` in hundredths, which we chose because the text names no range.
const HOT_WRITES: [u32; 10] = [50, 55, 60, 65, 70, 75, 80, 85, 90, 95];
const HOT_SPACES: [u32; 10] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/// Largest number of choices in the search for the optimum.
const MAX_CHOICES: u32 = 150;

/// Optima over `(r, f)`, with one row per `f`.
struct OptimaPlane {
    spare_factor: f64,
    optima: Vec<OptimalChoices>,
}

fn load_at(at: usize) -> Load {
    let (row, column) = (at / HOT_WRITES.len(), at % HOT_WRITES.len());
    (f64::from(HOT_WRITES[column]) / 100.0, f64::from(HOT_SPACES[row]) / 100.0)
}

impl OptimaPlane {
    fn solve(spare_factor: f64) -> Result<Self, Failure> {
        let models: Vec<Model> = (0..HOT_WRITES.len() * HOT_SPACES.len())
            .map(|at| Model {
                structure: Structure::Double,
                pages_per_block: 32,
                spare_factor,
                policy: Policy::Limit,
                load: load_at(at),
            })
            .collect();
        Ok(OptimaPlane { spare_factor, optima: solve_all(&models, |model| model.scan(MAX_CHOICES))? })
    }

    /// Returns the lines of the plane, along `r` for each `f` and along `f` for each `r`, as indices of the grid
    /// points, in the order of increasing skew.
    fn lines(&self) -> Vec<(String, Vec<usize>)> {
        let (width, height) = (HOT_WRITES.len(), HOT_SPACES.len());
        let along_r = (0..height).map(|row| {
            let f = load_at(row * width).1;
            (format!("S_f = {}, f = {f}", self.spare_factor), (row * width..(row + 1) * width).collect())
        });
        let along_f = (0..width).map(|column| {
            let line = (0..height).rev().map(|row| row * width + column).collect();
            (format!("S_f = {}, r = {}", self.spare_factor, load_at(column).0), line)
        });
        along_r.chain(along_f).collect()
    }

    fn amplification(&self, at: usize) -> f64 {
        self.optima[at].best.write_amplification
    }

    /// Returns the steps to the next more skewed load for which `within` is true for both loads. The boolean of a step
    /// is true if the write amplification decreases.
    fn steps(&self, within: fn(Load) -> bool) -> Vec<(String, bool)> {
        let mut steps = Vec::new();
        for (name, line) in self.lines() {
            for pair in line.windows(2).filter(|pair| pair.iter().all(|at| within(load_at(*at)))) {
                let falls = self.amplification(pair[1]) < self.amplification(pair[0]);
                steps.push((format!("{name}, from {}", load_name(load_at(pair[0]))), falls));
            }
        }
        steps
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let planes: Vec<OptimaPlane> = SPARES.into_iter().map(OptimaPlane::solve).collect::<Result<_, _>>()?;
    let mut table = Table::new(&["S_f", "r", "f", "optimal_d", "write_amplification", "at_d_150"]);
    for plane in &planes {
        for (at, found) in plane.optima.iter().enumerate() {
            let (r, f) = load_at(at);
            table.push(vec![
                format!("{:.2}", plane.spare_factor),
                format!("{r:.2}"),
                format!("{f:.2}"),
                found.best.choices.to_string(),
                format!("{:.4}", found.best.write_amplification),
                format!("{:.4}", found.scan[MAX_CHOICES as usize - 1].write_amplification),
            ]);
        }
        draw(session, plane)?;
    }
    table.publish(session, "data")?;
    check(&planes).publish(session)
}

fn check(planes: &[OptimaPlane]) -> Statements {
    let mut statements = Statements::default();
    let steps = |within: fn(Load) -> bool| planes.iter().flat_map(move |plane| plane.steps(within));
    statements
        .check("a step to hotter data (larger r or smaller f) lowers WA with the optimal d", steps(|_| true));
    // In the tables of the paper, r is 0.74 to 0.94 and f is 0.06 to 0.28.
    let in_tables = |(r, f): Load| r >= 0.75 && f <= 0.25;
    statements.check("the same where r >= 0.75 and f <= 0.25", steps(in_tables));
    let changes_direction = |plane: &OptimaPlane, line: &[usize]| {
        let choices = |at: usize| plane.optima[at].best.choices;
        let steps = || line.windows(2).map(|pair| choices(pair[1]).cmp(&choices(pair[0])));
        steps().any(Ordering::is_gt) && steps().any(Ordering::is_lt)
    };
    let monotone = planes.iter().flat_map(|plane| {
        plane
            .lines()
            .into_iter()
            .map(|(name, line)| (name, !changes_direction(plane, &line)))
            .collect::<Vec<_>>()
    });
    statements.check("the optimal d is monotone along a line of constant f or r", monotone);
    let ends = planes.iter().flat_map(|plane| {
        let name = |at: usize| format!("S_f = {}, {}", plane.spare_factor, load_name(load_at(at)));
        plane.optima.iter().enumerate().map(move |(at, found)| (name(at), !found.is_at_scan_limit()))
    });
    statements.check("the optimal d lies below 150", ends);
    let [small, large] = [&planes[0].optima, &planes[1].optima];
    let pairs = || small.iter().zip(large).enumerate();
    let amplified = pairs().map(|(at, (small, large))| {
        let values = [large.best.write_amplification, small.best.write_amplification];
        (load_name(load_at(at)), is_rising(values))
    });
    statements.check("less spare space means a larger WA with the optimal d", amplified);
    let more = pairs()
        .map(|(at, (small, large))| (load_name(load_at(at)), small.best.choices >= large.best.choices));
    statements.check("less spare space means no smaller optimal d", more);
    statements
}

fn draw(session: &Session, plane: &OptimaPlane) -> Result<(), Failure> {
    let hundredths = |values: &[u32]| values.iter().map(|value| format!("0.{value:02}")).collect::<Vec<_>>();
    let cells = |value: fn(&OptimalChoices) -> (f64, String)| plane.optima.iter().map(value).collect();
    let maps: [(&str, &str, Vec<Cell>); 2] = [
        (
            "optimal_d",
            "optimal d",
            cells(|found| {
                let bound = if found.is_at_scan_limit() { "≥ " } else { "" };
                (f64::from(found.best.choices).ln(), format!("{bound}{}", found.best.choices))
            }),
        ),
        (
            "wa",
            "write amplification with the optimal d",
            cells(|found| {
                (found.best.write_amplification.ln(), format!("{:.3}", found.best.write_amplification))
            }),
        ),
    ];
    let spare = format!("{:02.0}", 100.0 * plane.spare_factor);
    for (file, what, cells) in maps {
        let title = format!("Figure 5: {what}, b = 32, S_f = 0.{spare}");
        let (x, y) = (("r", hundredths(&HOT_WRITES)), ("f", hundredths(&HOT_SPACES)));
        let map = HeatMap { title: &title, x, y, cells };
        crate::heat_map::draw(&map, session, &format!("{file}_{spare}"))?;
    }
    let width = HOT_WRITES.len();
    let lines = plane.optima.chunks(width).enumerate().step_by(3).map(|(row, found)| {
        let points = found.iter().enumerate();
        let points = points.map(|(column, found)| (load_at(column).0, found.best.write_amplification));
        Series::line(format!("f = {}", load_at(row * width).1), points)
    });
    let title = format!("Figure 5 (left): double frontier, optimal d, b = 32, S_f = 0.{spare}");
    let chart = Chart { title: &title, x: "r", y: "write amplification" };
    chart.draw(session, &format!("curves_{spare}"), &lines.collect::<Vec<_>>())
}
