//! Van Houdt (2013), Figure 5: the double frontier with the best number of choices, b = 32, over r and f.

use std::cmp::Ordering;
use wearwell_core::theory::OptimalChoices;
use wearwell_core::theory::mean_field::Structure;
use wearwell_experiments::Failure;
use wearwell_experiments::args::Args;
use wearwell_experiments::chart::{Chart, Series};
use wearwell_experiments::figures::name_of;
use wearwell_experiments::heat_map::{Cell, HeatMap};
use wearwell_experiments::statements::{Statements, falls, rises};
use wearwell_experiments::table::Table;
use wearwell_experiments::theory::{Load, Model, Policy, of_all};

const SPARES: [f64; 2] = [0.08, 0.12];

/// Hundredths. The text names no range; these are ours.
const HOT_WRITES: [u32; 10] = [50, 55, 60, 65, 70, 75, 80, 85, 90, 95];
const HOT_SPACES: [u32; 10] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/// Up to here the optimum is sought.
const MOST: u32 = 150;

/// The optima over `(r, f)`, one row for each `f`.
struct Plane {
    spare_factor: f64,
    found: Vec<OptimalChoices>,
}

fn load_at(at: usize) -> Load {
    let (row, column) = (at / HOT_WRITES.len(), at % HOT_WRITES.len());
    (f64::from(HOT_WRITES[column]) / 100.0, f64::from(HOT_SPACES[row]) / 100.0)
}

impl Plane {
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
        Ok(Plane { spare_factor, found: of_all(&models, |model| model.scan(MOST))? })
    }

    /// The lines of the plane, along `r` for each `f` and along `f` for each `r`, from cold to hot.
    fn lines(&self) -> Vec<(String, Vec<&OptimalChoices>)> {
        let width = HOT_WRITES.len();
        let along_r = HOT_SPACES.iter().zip(self.found.chunks(width)).map(|(f, row)| {
            (format!("S_f = {}, f = {}", self.spare_factor, f64::from(*f) / 100.0), row.iter().collect())
        });
        let along_f = HOT_WRITES.iter().enumerate().map(|(column, r)| {
            let line = self.found.iter().skip(column).step_by(width).rev().collect();
            (format!("S_f = {}, r = {}", self.spare_factor, f64::from(*r) / 100.0), line)
        });
        along_r.chain(along_f).collect()
    }
}

fn main() -> Result<(), Failure> {
    let args = Args::of_calculation("hot_cold_figure5")?;
    let planes: Vec<Plane> = SPARES.into_iter().map(Plane::solve).collect::<Result<_, _>>()?;
    let mut table = Table::new(&["S_f", "r", "f", "optimal_d", "write_amplification", "at_d_150"]);
    for plane in &planes {
        for (at, found) in plane.found.iter().enumerate() {
            let (r, f) = load_at(at);
            table.push(vec![
                format!("{:.2}", plane.spare_factor),
                format!("{r:.2}"),
                format!("{f:.2}"),
                found.best.choices.to_string(),
                format!("{:.4}", found.best.write_amplification),
                format!("{:.4}", found.scan[MOST as usize - 1].write_amplification),
            ]);
        }
        draw(&args, plane)?;
    }
    table.publish(&args.out.join("hot_cold_figure5.csv"), &args.command)?;
    check(&planes).publish(&args, "hot_cold_figure5")
}

fn check(planes: &[Plane]) -> Statements {
    let mut statements = Statements::default();
    let lines: Vec<_> = planes.iter().flat_map(Plane::lines).collect();
    let amplification = |found: &&OptimalChoices| found.best.write_amplification;
    let falling = lines.iter().map(|(name, line)| (name.clone(), falls(line.iter().map(amplification))));
    statements.check("WA with the optimal d falls as r rises or f falls", falling);
    let is_bent = |line: &[&OptimalChoices]| {
        let steps = || line.windows(2).map(|pair| pair[1].best.choices.cmp(&pair[0].best.choices));
        steps().any(Ordering::is_gt) && steps().any(Ordering::is_lt)
    };
    let bent = lines.iter().map(|(name, line)| (name.clone(), is_bent(line)));
    statements.check("the optimal d is not monotone along the line", bent);
    let ends = planes.iter().flat_map(|plane| {
        let name = |at: usize| format!("S_f = {}, {}", plane.spare_factor, name_of(load_at(at)));
        plane.found.iter().enumerate().map(move |(at, found)| (name(at), !found.is_at_the_end()))
    });
    statements.check("the optimal d lies below 150", ends);
    let [small, large] = [&planes[0].found, &planes[1].found];
    let pairs = || small.iter().zip(large).enumerate();
    let amplified = pairs().map(|(at, (small, large))| {
        let values = [large.best.write_amplification, small.best.write_amplification];
        (name_of(load_at(at)), rises(values))
    });
    statements.check("less spare space means a larger WA with the optimal d", amplified);
    let more =
        pairs().map(|(at, (small, large))| (name_of(load_at(at)), small.best.choices >= large.best.choices));
    statements.check("less spare space means no smaller optimal d", more);
    statements
}

fn draw(args: &Args, plane: &Plane) -> Result<(), Failure> {
    let hundredths = |values: &[u32]| values.iter().map(|value| format!("0.{value:02}")).collect::<Vec<_>>();
    let cells = |value: fn(&OptimalChoices) -> (f64, String)| plane.found.iter().map(value).collect();
    let maps: [(&str, &str, Vec<Cell>); 2] = [
        (
            "optimal_d",
            "optimal d",
            cells(|found| (f64::from(found.best.choices).ln(), found.best.choices.to_string())),
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
        map.draw(&args.out.join(format!("hot_cold_figure5_{file}_{spare}.svg")))?;
    }
    let width = HOT_WRITES.len();
    let lines = plane.found.chunks(width).enumerate().step_by(3).map(|(row, found)| {
        let points = found.iter().enumerate();
        let points = points.map(|(column, found)| (load_at(column).0, found.best.write_amplification));
        Series::line(format!("f = {}", load_at(row * width).1), points)
    });
    let title = format!("Figure 5 (left): double frontier, optimal d, b = 32, S_f = 0.{spare}");
    let chart = Chart { title: &title, x: "r", y: "write amplification" };
    chart.draw(&args.out.join(format!("hot_cold_figure5_curves_{spare}.svg")), &lines.collect::<Vec<_>>())
}
