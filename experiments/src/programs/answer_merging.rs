//! Tests if merging during cleaning saves more than the space that it frees, and if theory predicts the savings. The
//! simulation runs with cleaning that keeps the watermark of erased blocks, as the theory assumes, and with cleaning
//! that does not keep this watermark.

use crate::Failure;
use crate::cagc::AssumedValues;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::merging_benefit::{Point, Prediction, SCHEMES, predict_all, random_points, trace_points};
use crate::replicas::{run_each, scenario};
use crate::session::Session;
use crate::stacks::total_amplification;
use crate::statements::Statements;
use crate::table::{Fields, Table};

/// Maximum error of a predicted amplification in per cent, and of a predicted saving in percentage points.
const MAX_ERROR: f64 = 3.0;

/// Modes of cleaning; the boolean is true if the watermark is kept, and the text is the name of the mode.
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
    let mut table = Table::default();
    for one in simulated {
        let Prediction { none, none_separate: none_apart, cagc, sharing, .. } = one.predicted;
        table.add(
            Fields::default()
                .text("watermark_kept", one.keeps_watermark)
                .text("point", &one.point.name)
                .number("predicted_none", none, 4)
                .number("none", one.none.mean, 4)
                .number("none_ci", one.none.half_width, 4)
                .number("none_on_two_frontiers", none_apart, 4)
                .number("predicted_cagc", cagc, 4)
                .number("cagc", one.cagc.mean, 4)
                .number("cagc_ci", one.cagc.half_width, 4)
                .number("predicted_sharing", sharing, 4)
                .number("sharing", one.sharing, 4)
                .number("predicted_saved_percent", one.predicted.saved_erases_percent(), 4)
                .number("saved_percent", one.saved_erases_percent(), 4)
                .number("cagc_error_percent", one.errors()[1], 4),
        );
    }
    table.write(session, "data")
}

/// Writes the prediction errors of the amplification with CAGC in per cent, and those of its savings in percentage
/// points.
fn summary(session: &Session, simulated: &[SimulatedPoint]) -> Result<(), Failure> {
    let mut table = Table::default();
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
            table.add(
                Fields::default()
                    .text("watermark", mode)
                    .text("points", kind)
                    .text("number", selected.len())
                    .text("within_3_percent", accurate)
                    .number("largest_error_percent", errors.iter().copied().fold(0.0, f64::max), 2)
                    .number("mean_error_percent", mean, 2)
                    .number("largest_error_of_saving_points", savings.fold(0.0, f64::max), 2),
            );
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
