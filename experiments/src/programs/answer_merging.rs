//! Tests whether merging during cleaning saves more than the space that it frees, and whether theory predicts the
//! savings. The simulation runs with cleaning that keeps the watermark of erased blocks, as the theory assumes, and
//! with cleaning that does not.

use crate::Failure;
use crate::cagc::AssumedValues;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::merging_benefit::{Point, Prediction, SCHEMES, predict_all, random_points, trace_points};
use crate::replicas::{run_each, scenario};
use crate::session::Session;
use crate::stacks::total_amplification;
use crate::statements::Statements;
use crate::table::{Table, number};

/// Maximum error of a predicted amplification in per cent, and of a predicted saving in percentage points.
const MAX_ERROR: f64 = 3.0;

/// Modes of cleaning: true if the watermark is kept, with the name of the mode.
const MODES: [(bool, &str); 2] = [(true, "kept"), (false, "not kept")];

/// Kinds of points: true for random drives, false for synthetic substitutes of a trace.
const POINT_KINDS: [(bool, &str); 2] = [(true, "drawn"), (false, "stand-ins")];

/// A point, its prediction, the amplification without and with CAGC, and its sharing ratio.
struct SimulatedPoint {
    keeps_watermark: bool,
    point: Point,
    predicted: Prediction,
    none: Interval,
    cagc: Interval,
    sharing: f64,
}

impl SimulatedPoint {
    fn is_kind(&self, keeps_watermark: bool, is_random: bool) -> bool {
        self.keeps_watermark == keeps_watermark && self.point.trace.is_none() == is_random
    }

    fn saved_erases_percent(&self) -> f64 {
        100.0 * (1.0 - self.cagc.mean / self.none.mean)
    }

    fn errors(&self) -> [f64; 2] {
        let error = |predicted: f64, found: &Interval| 100.0 * (predicted / found.mean - 1.0);
        [error(self.predicted.none, &self.none), error(self.predicted.cagc, &self.cagc)]
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let points: Vec<Point> = random_points().into_iter().chain(trace_points()).collect();
    let predicted = predict_all(session, &points)?;
    let (assumed, mut scenarios) = (AssumedValues::shipped()?, Vec::new());
    for (keeps_watermark, _) in MODES {
        for point in &points {
            for scheme in &SCHEMES {
                scenarios.push(scenario(&point.toml(&assumed, scheme, keeps_watermark, session.length))?);
            }
        }
    }
    let found = run_each(session, &scenarios, "amplification and sharing", |result| {
        Ok((total_amplification(result), crate::cagc::sharing_ratio(result)))
    })?;
    let interval = |runs: &[(f64, f64)]| {
        Interval::from_values(&runs.iter().map(|(value, _)| *value).collect::<Vec<_>>())
    };
    let of_modes = MODES.iter().flat_map(|(keeps_watermark, _)| {
        points.iter().zip(&predicted).map(|(point, predicted)| (*keeps_watermark, point.clone(), *predicted))
    });
    let simulated: Vec<SimulatedPoint> = (of_modes.zip(found.chunks(SCHEMES.len())))
        .map(|((keeps_watermark, point, predicted), runs)| {
            let (none, cagc) = (interval(&runs[0]), interval(&runs[1]));
            let sharing = runs[1].iter().map(|(_, sharing)| sharing).sum::<f64>() / runs[1].len() as f64;
            SimulatedPoint { keeps_watermark, point, predicted, none, cagc, sharing }
        })
        .collect();
    publish(session, &simulated)?;
    check(session, &simulated)
}

fn publish(session: &Session, simulated: &[SimulatedPoint]) -> Result<(), Failure> {
    data(session, simulated)?;
    summary(session, simulated)?;
    plot(session, simulated)
}

fn data(session: &Session, simulated: &[SimulatedPoint]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "watermark_kept",
        "point",
        "predicted_none",
        "none",
        "none_ci",
        "none_on_two_frontiers",
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
        let Prediction { none, none_separate: none_apart, cagc, sharing, .. } = one.predicted;
        let row = [
            none,
            one.none.mean,
            one.none.half_width,
            none_apart,
            cagc,
            one.cagc.mean,
            one.cagc.half_width,
            sharing,
            one.sharing,
            one.predicted.saved_erases_percent(),
            one.saved_erases_percent(),
            one.errors()[1],
        ];
        let fields = [one.keeps_watermark.to_string(), one.point.name.clone()].into_iter();
        table.push(fields.chain(row.map(|value| number(value, 4))).collect());
    }
    table.write(session, "data")
}

/// Writes the prediction errors of the amplification with CAGC in per cent, and those of its savings in percentage
/// points.
fn summary(session: &Session, simulated: &[SimulatedPoint]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "watermark",
        "points",
        "number",
        "within_3_percent",
        "largest_error_percent",
        "mean_error_percent",
        "largest_error_of_saving_points",
    ]);
    for (keeps_watermark, mode) in MODES {
        for (drawn, kind) in POINT_KINDS {
            let selected: Vec<&SimulatedPoint> =
                simulated.iter().filter(|one| one.is_kind(keeps_watermark, drawn)).collect();
            let errors: Vec<f64> = selected.iter().map(|one| one.errors()[1].abs()).collect();
            let accurate = errors.iter().filter(|error| **error <= MAX_ERROR).count();
            let savings = selected
                .iter()
                .map(|one| (one.predicted.saved_erases_percent() - one.saved_erases_percent()).abs());
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let values = [errors.iter().copied().fold(0.0, f64::max), mean, savings.fold(0.0, f64::max)];
            let fields = [mode.to_owned(), kind.to_owned(), selected.len().to_string(), accurate.to_string()];
            table.push(fields.into_iter().chain(values.map(|value| number(value, 2))).collect());
        }
    }
    table.publish(session, "summary")
}

fn plot(session: &Session, simulated: &[SimulatedPoint]) -> Result<(), Failure> {
    let of_mode = |(keeps_watermark, mode): (bool, &'static str)| {
        POINT_KINDS.map(|(drawn, kind)| {
            let selected = simulated.iter().filter(|one| one.is_kind(keeps_watermark, drawn));
            let points = selected.map(|one| {
                (
                    one.predicted.saved_erases_percent(),
                    Interval { mean: one.saved_erases_percent(), half_width: 0.0 },
                )
            });
            Series { name: format!("{kind}, watermark {mode}"), points: points.collect(), has_line: false }
        })
    };
    let alike = Series::line("as predicted".to_owned(), [(0.0, 0.0), (90.0, 90.0)]);
    let series: Vec<Series> = MODES.into_iter().flat_map(of_mode).chain([alike]).collect();
    let title = "Erases that CAGC saves, predicted and simulated";
    Chart { title, x: "predicted, percent", y: "simulated, percent" }.draw(session, "plot", &series)
}

fn check(session: &Session, simulated: &[SimulatedPoint]) -> Result<(), Failure> {
    let is_accurate = |one: &SimulatedPoint| one.errors().iter().all(|error| error.abs() <= MAX_ERROR);
    let saving = |one: &SimulatedPoint| {
        (one.predicted.saved_erases_percent() - one.saved_erases_percent()).abs() <= MAX_ERROR
    };
    let beyond = |one: &SimulatedPoint| {
        let Prediction { equal_space: twin, equal_space_separate: twin_apart, .. } = one.predicted;
        one.cagc.mean + one.cagc.half_width < if one.keeps_watermark { twin_apart } else { twin }
    };
    let mut statements = Statements::default();
    let [drawn, stand_ins] = POINT_KINDS;
    for (keeps_watermark, mode) in MODES {
        let mut ask =
            |says: &str, (is_drawn, kind): (bool, &str), holds: &dyn Fn(&SimulatedPoint) -> bool| {
                let selected = simulated.iter().filter(|one| one.is_kind(keeps_watermark, is_drawn));
                let cases: Vec<(String, bool)> =
                    selected.map(|one| (one.point.name.clone(), holds(one))).collect();
                statements.check(&format!("ours: {says} ({kind}, watermark {mode})"), cases);
            };
        ask("the prediction is within 3 percent of both amplifications", drawn, &is_accurate);
        ask("the predicted saving is within 3 points", drawn, &saving);
        ask("the predicted saving is within 3 points", stand_ins, &saving);
        ask("merging is worth more than the room that it makes", drawn, &beyond);
    }
    let told_apart = |one: &&SimulatedPoint| {
        let Prediction { none, none_separate: none_apart, .. } = one.predicted;
        one.is_kind(true, true) && (none / none_apart - 1.0).abs() > MAX_ERROR / 100.0
    };
    let nearer = |one: &SimulatedPoint| {
        let Prediction { none, none_separate: none_apart, .. } = one.predicted;
        (one.none.mean - none_apart).abs() < (one.none.mean - none).abs()
    };
    let cases = simulated.iter().filter(told_apart).map(|one| (one.point.name.clone(), nearer(one)));
    statements.check("ours: a kept watermark makes nearly two frontiers of one (drawn)", cases);
    statements.publish(session)
}
