//! Accuracy of a few merged classes as a model of Zipf's law: mean fields with one to four classes and their
//! extrapolation are compared with the simulator.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::hot_cold::{Frontier, stack};
use crate::interval::Interval;
use crate::replicas::{phases, run_all, scenario, write_amplification};
use crate::session::Session;
use crate::table::{Fields, Table};
use rayon::prelude::*;
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Class, Classes, Drive, ManyClasses};

const BLOCKS: u32 = 2000;
const SPARE_FACTOR: f64 = 0.1;
const CHOICES: u32 = 10;
const STRUCTURES: [(&str, Structure, Frontier); 2] =
    [("single", Structure::Single, Frontier::Single), ("double", Structure::Double, Frontier::DoubleRandom)];
const PAGES: [u32; 2] = [16, 32];
const EXPONENTS: [f64; 4] = [0.6, 0.8, 0.99, 1.2];

/// Numbers of classes to solve.
const CLASS_COUNTS: [usize; 4] = [1, 2, 3, 4];

/// Minimum drive writes of warm-up, and length of the warm-up in turnovers of the coldest pages.
const MIN_WARM_UP: f64 = 100.0;
const TURNOVERS: f64 = 5.0;

/// A drive under Zipf's law.
#[derive(Clone)]
struct Case {
    name: &'static str,
    structure: Structure,
    frontier: Frontier,
    drive: Drive,
    exponent: f64,
    classes: Classes,
}

/// Solutions of the models, with each of [`CLASS_COUNTS`] and extrapolated.
struct Solutions {
    merged: [f64; CLASS_COUNTS.len()],
    extrapolated: f64,
}

fn cases() -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (name, structure, frontier) in STRUCTURES {
        for pages in PAGES {
            let drive = Drive::new(pages, SPARE_FACTOR)?;
            let logical_pages = (f64::from(BLOCKS) * drive.mean_valid_pages()).round() as u64;
            for exponent in EXPONENTS {
                let classes = Classes::zipf(exponent, logical_pages)?;
                cases.push(Case { name, structure, frontier, drive, exponent, classes });
            }
        }
    }
    Ok(cases)
}

impl Case {
    /// Returns the drive writes of warm-up: five times the number after which the coldest page was overwritten once on
    /// average, but at least 100 drive writes.
    fn warm_up(&self, length: f64) -> f64 {
        let coldest = self.classes.as_slice().last().map_or(1.0, Class::relative_rate);
        length * (TURNOVERS / coldest).max(MIN_WARM_UP)
    }

    fn scenario(&self, length: f64) -> Result<wearwell_stack::Scenario, Failure> {
        let stack = stack(self.frontier, BLOCKS, self.drive.pages_per_block(), SPARE_FACTOR, CHOICES);
        let (exponent, phases) = (self.exponent, phases(2.0, self.warm_up(length)));
        scenario(&format!(
            r#"
            {stack}
            [workload]
            kind = "zipf"
            exponent = {exponent:?}
            {phases}
            "#
        ))
    }

    fn solve(&self) -> Result<Solutions, Failure> {
        let selection = DChoices::new(f64::from(CHOICES))?;
        let mut merged = [0.0; CLASS_COUNTS.len()];
        for (found, count) in merged.iter_mut().zip(CLASS_COUNTS) {
            let few = self.classes.merged(count, &self.drive)?;
            let state = MeanField::new(self.drive, few, self.structure, &selection)?.steady_state()?;
            *found = state.write_amplification;
        }
        let many = ManyClasses::solve(self.drive, &self.classes, self.structure, &selection)?;
        Ok(Solutions { merged, extrapolated: many.write_amplification })
    }
}

fn percent(value: f64, simulated: &Interval) -> f64 {
    100.0 * (value / simulated.mean - 1.0)
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let cases = cases()?;
    let answers: Vec<Solutions> =
        cases.par_iter().with_max_len(1).map(Case::solve).collect::<Result<_, _>>()?;
    let scenarios: Vec<_> =
        cases.iter().map(|case| case.scenario(session.length)).collect::<Result<_, _>>()?;
    let replicas = run_all(session, &scenarios)?;
    let simulated: Vec<Interval> = replicas.iter().map(|runs| write_amplification(runs)).collect();
    let mut table = Table::default();
    for ((case, answer), simulated) in cases.iter().zip(&answers).zip(&simulated) {
        let error = |value: f64| format!("{:+.2}", percent(value, simulated));
        table.add(
            Fields::default()
                .text("structure", case.name)
                .text("b", case.drive.pages_per_block())
                .number("exponent", case.exponent, 2)
                .number("warm_up", case.warm_up(session.length), 0)
                .number("simulated", simulated.mean, 4)
                .number("ci", simulated.half_width, 4)
                .number("extrapolated", answer.extrapolated, 4)
                .text("error_of_1_percent", error(answer.merged[0]))
                .text("error_of_2_percent", error(answer.merged[1]))
                .text("error_of_3_percent", error(answer.merged[2]))
                .text("error_of_4_percent", error(answer.merged[3]))
                .text("error_extrapolated_percent", error(answer.extrapolated)),
        );
    }
    table.publish(session, "data")?;
    largest_errors(&cases, &answers, &simulated).publish(session, "largest")?;
    draw(session, &answers, &simulated)
}

/// Returns a table of the largest error for each number of classes and each structure.
fn largest_errors(cases: &[Case], answers: &[Solutions], simulated: &[Interval]) -> Table {
    let mut table = Table::new(&["structure", "classes", "largest_error_percent"]);
    for (name, ..) in STRUCTURES {
        let largest = |value: &dyn Fn(&Solutions) -> f64| -> String {
            let all = cases.iter().zip(answers).zip(simulated).filter(|((case, _), _)| case.name == name);
            let errors = all.map(|((_, answer), simulated)| percent(value(answer), simulated).abs());
            format!("{:.2}", errors.fold(0.0, f64::max))
        };
        for (at, count) in CLASS_COUNTS.iter().enumerate() {
            table.push(vec![name.to_owned(), count.to_string(), largest(&|answer| answer.merged[at])]);
        }
        let extrapolated = largest(&|answer| answer.extrapolated);
        table.push(vec![name.to_owned(), "extrapolated".to_owned(), extrapolated]);
    }
    table
}

fn draw(session: &Session, answers: &[Solutions], simulated: &[Interval]) -> Result<(), Failure> {
    let points = |value: &dyn Fn(&Solutions) -> f64| -> Vec<(f64, f64)> {
        let errors = answers.iter().zip(simulated).enumerate();
        errors.map(|(at, (answer, simulated))| ((at + 1) as f64, percent(value(answer), simulated))).collect()
    };
    // The error with one class is too large for the scale of the chart.
    let mut series: Vec<Series> = (1..CLASS_COUNTS.len())
        .map(|at| Series::line(format!("{} classes", CLASS_COUNTS[at]), points(&|answer| answer.merged[at])))
        .collect();
    series.push(Series::line("extrapolated".to_owned(), points(&|answer| answer.extrapolated)));
    let series: Vec<Series> = series.into_iter().map(|series| Series { has_line: false, ..series }).collect();
    let title = "Merged classes for Zipf's law, S_f = 0.1, d = 10";
    let chart = Chart { title, x: "row of the table", y: "difference from the simulation, %" };
    chart.draw(session, "plot", &series)
}
