//! Whether merging by cleaning is worth more than the room that it makes, and whether theory foretells it: the simulator beside
//! the prediction.

use crate::Failure;
use crate::cagc::Assumed;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::log_on_log::number;
use crate::replicas::{run_each, scenario};
use crate::session::Session;
use crate::stacks::total;
use crate::statements::Statements;
use crate::table::Table;
use crate::worth::{Point, Predicted, SCHEMES, drawn, predict, stand_ins};

/// Percent by which a predicted amplification may miss, and percentage points by which a saving may.
const NEAR: f64 = 3.0;

/// A point, its prediction, and the amplifications without and with CAGC, and its sharing.
struct Simulated {
    point: Point,
    predicted: Predicted,
    none: Interval,
    cagc: Interval,
    sharing: f64,
}

impl Simulated {
    fn saving(&self) -> f64 {
        100.0 * (1.0 - self.cagc.mean / self.none.mean)
    }

    fn errors(&self) -> [f64; 2] {
        let error = |predicted: f64, found: &Interval| 100.0 * (predicted / found.mean - 1.0);
        [error(self.predicted.none, &self.none), error(self.predicted.cagc, &self.cagc)]
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let points: Vec<Point> = drawn().into_iter().chain(stand_ins()).collect();
    let predicted = predict(session, &points)?;
    let (assumed, mut scenarios) = (Assumed::shipped()?, Vec::new());
    for point in &points {
        for scheme in &SCHEMES {
            scenarios.push(scenario(&point.toml(&assumed, scheme, false, session.length))?);
        }
    }
    let found = run_each(session, &scenarios, "amplification and sharing", |result| {
        Ok((total(result), crate::cagc::sharing(result)))
    })?;
    let interval =
        |runs: &[(f64, f64)]| Interval::of(&runs.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    let simulated: Vec<Simulated> = (points.into_iter().zip(predicted).zip(found.chunks(SCHEMES.len())))
        .map(|((point, predicted), runs)| {
            let (none, cagc) = (interval(&runs[0]), interval(&runs[1]));
            let sharing = runs[1].iter().map(|(_, sharing)| sharing).sum::<f64>() / runs[1].len() as f64;
            Simulated { point, predicted, none, cagc, sharing }
        })
        .collect();
    publish(session, &simulated)?;
    check(session, &simulated)
}

fn publish(session: &Session, simulated: &[Simulated]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "point",
        "predicted_none",
        "none",
        "none_ci",
        "predicted_cagc",
        "cagc",
        "cagc_ci",
        "predicted_sharing",
        "sharing",
        "predicted_saved_percent",
        "saved_percent",
        "cagc_error_percent",
    ]);
    for one in simulated {
        let Predicted { none, cagc, sharing, .. } = one.predicted;
        let row = [
            none,
            one.none.mean,
            one.none.half_width,
            cagc,
            one.cagc.mean,
            one.cagc.half_width,
            sharing,
            one.sharing,
            one.predicted.saving(),
            one.saving(),
            one.errors()[1],
        ];
        table
            .push(std::iter::once(one.point.name.clone()).chain(row.map(|value| number(value, 4))).collect());
    }
    table.write(session, "data")?;
    let mut summary = Table::new(&[
        "points",
        "number",
        "largest_error_percent",
        "mean_error_percent",
        "largest_error_of_saving_points",
    ]);
    for (name, is_drawn) in [("drawn; one page a request", true), ("stand-ins", false)] {
        let of: Vec<&Simulated> =
            simulated.iter().filter(|one| one.point.trace.is_none() == is_drawn).collect();
        let errors: Vec<f64> = of.iter().map(|one| one.errors()[1].abs()).collect();
        let savings = of.iter().map(|one| (one.predicted.saving() - one.saving()).abs());
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let values = [errors.iter().copied().fold(0.0, f64::max), mean, savings.fold(0.0, f64::max)];
        let fields = [name.to_owned(), of.len().to_string()].into_iter();
        summary.push(fields.chain(values.map(|value| number(value, 2))).collect());
    }
    summary.publish(session, "summary")?;
    let series = [("drawn", true), ("stand-ins", false)].map(|(name, is_drawn)| {
        let of = simulated.iter().filter(|one| one.point.trace.is_none() == is_drawn);
        let points = of.map(|one| (one.predicted.saving(), Interval { mean: one.saving(), half_width: 0.0 }));
        Series { name: name.to_owned(), points: points.collect(), joined: false }
    });
    let alike = Series::line("as predicted".to_owned(), [(0.0, 0.0), (90.0, 90.0)]);
    let series: Vec<Series> = series.into_iter().chain([alike]).collect();
    let title = "Erases that CAGC saves, predicted and simulated";
    Chart { title, x: "predicted, percent", y: "simulated, percent" }.draw(session, "plot", &series)
}

fn check(session: &Session, simulated: &[Simulated]) -> Result<(), Failure> {
    let each = |is_drawn: bool, holds: &dyn Fn(&Simulated) -> bool| -> Vec<(String, bool)> {
        let of = simulated.iter().filter(|one| one.point.trace.is_none() == is_drawn);
        of.map(|one| (one.point.name.clone(), holds(one))).collect()
    };
    let mut statements = Statements::default();
    let near = |one: &Simulated| one.errors().iter().all(|error| error.abs() <= NEAR);
    statements
        .check("ours: the prediction is within 3 percent of both amplifications (drawn)", each(true, &near));
    let saving = |one: &Simulated| (one.predicted.saving() - one.saving()).abs() <= NEAR;
    statements.check("ours: the predicted saving is within 3 points (drawn)", each(true, &saving));
    statements.check("ours: the predicted saving is within 3 points (stand-ins)", each(false, &saving));
    let beyond = |one: &Simulated| one.cagc.mean + one.cagc.half_width < one.predicted.twin;
    statements.check("ours: merging is worth more than the room that it makes (drawn)", each(true, &beyond));
    statements.publish(session)
}
