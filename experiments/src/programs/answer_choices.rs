//! Best number of choices when the hot set moves: comparison of the simulator with the prediction, with greedy
//! cleaning, and with a number of choices that is learnt during the run.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::moving_hot_set::{LOADS, MovingDrive, Settings, index_of_least, predict, regret_percent};
use crate::replicas::{run_all, write_amplification};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;

/// Policies that are compared with fixed numbers of choices.
const ADAPTIVE_VICTIMS: [(&str, &str); 2] = [("greedy", "\"greedy\""), ("learnt", "\"learnt_choices\"")];

/// Maximum error of the prediction, in per cent.
const MAX_ERROR_PERCENT: f64 = 3.0;

/// A drive, its predictions, and its simulations: those with fixed numbers of choices first, then the other policies.
struct SimulatedDrive {
    drive: MovingDrive,
    predicted: Vec<f64>,
    amplifications: Vec<Interval>,
}

impl SimulatedDrive {
    fn means(&self, count: usize) -> Vec<f64> {
        self.amplifications[..count].iter().map(|found| found.mean).collect()
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let predicted = predict(session, &settings)?;
    let victims: Vec<String> = (settings.choices.iter())
        .map(|choices| format!("{{ policy = \"d_choices\", choices = {choices} }}"))
        .chain(ADAPTIVE_VICTIMS.map(|(_, victim)| victim.to_owned()))
        .collect();
    let mut scenarios = Vec::new();
    for drive in settings.drives() {
        for victim in &victims {
            scenarios.push(drive.scenario(victim, &settings)?);
        }
    }
    let replicas = run_all(session, &scenarios)?;
    let found: Vec<Interval> = replicas.iter().map(|replicas| write_amplification(replicas)).collect();
    let simulated: Vec<SimulatedDrive> = (settings.drives().into_iter().zip(predicted))
        .zip(found.chunks(victims.len()))
        .map(|((place, predicted), found)| SimulatedDrive {
            drive: place,
            predicted,
            amplifications: found.to_vec(),
        })
        .collect();
    publish(session, &settings, &simulated)?;
    draw(session, &settings, &simulated)?;
    check(session, &settings, &simulated)
}

fn publish(session: &Session, settings: &Settings, simulated: &[SimulatedDrive]) -> Result<(), Failure> {
    let (mut data, mut best) = (Table::default(), Table::default());
    let count = settings.choices.len();
    let ten =
        settings.choices.iter().position(|&choices| choices == 10).ok_or("10 choices are not on the grid")?;
    for point in simulated {
        for (at, found) in point.amplifications.iter().enumerate() {
            let (name, predicted) = match settings.choices.get(at) {
                Some(choices) => (format!("d = {choices}"), Some(point.predicted[at])),
                None => (ADAPTIVE_VICTIMS[at - count].0.to_owned(), None),
            };
            let error = predicted.map(|predicted| 100.0 * (predicted / found.mean - 1.0));
            data.add(
                point
                    .drive
                    .fields()
                    .text("policy", name)
                    .number("predicted", predicted, 4)
                    .number("simulated", found.mean, 4)
                    .number("ci", found.half_width, 4)
                    .number("error_percent", error, 4),
            );
        }
        let means = point.means(count);
        let (best_at, predicted_at) = (index_of_least(&means), index_of_least(&point.predicted));
        let regret = |value: f64| regret_percent(value, &means);
        best.add(
            point
                .drive
                .fields()
                .text("predicted_best_d", settings.choices[predicted_at])
                .text("best_d", settings.choices[best_at])
                .number("least", means[best_at], 4)
                .number("regret_of_predicted_percent", regret(means[predicted_at]), 2)
                .number("regret_of_10_percent", regret(means[ten]), 2)
                .number("regret_of_greedy_percent", regret(point.amplifications[count].mean), 2)
                .number("regret_of_learnt_percent", regret(point.amplifications[count + 1].mean), 2),
        );
    }
    data.write(session, "data")?;
    best.publish(session, "best")
}

/// Draws the cost of the fixed number of choices, of greedy and of the learnt number over the period, for the middle
/// spare factor.
fn draw(session: &Session, settings: &Settings, simulated: &[SimulatedDrive]) -> Result<(), Failure> {
    let count = settings.choices.len();
    let ten = settings.choices.iter().position(|&choices| choices == 10).unwrap_or(0);
    let middle = settings.spare_factors[settings.spare_factors.len() / 2];
    let mut series = Vec::new();
    for (name, at) in [("d = 10", ten), ("learnt", count + 1)] {
        for (r, f) in LOADS {
            let selected = simulated.iter().filter(|point| {
                (point.drive.spare_factor, point.drive.hot_writes, point.drive.hot_space) == (middle, r, f)
            });
            let points = selected.map(|point| {
                (
                    point.drive.period.log10(),
                    regret_percent(point.amplifications[at].mean, &point.means(count)),
                )
            });
            series.push(Series::line(format!("{name}, r = {r}, f = {f}"), points.collect::<Vec<_>>()));
        }
    }
    let title = format!("Write amplification beyond that of the best d, S_f = {middle}");
    Chart { title: &title, x: "drive writes from move to move, log10", y: "percent" }
        .draw(session, "plot", &series)
}

fn check(session: &Session, settings: &Settings, simulated: &[SimulatedDrive]) -> Result<(), Failure> {
    let count = settings.choices.len();
    let ten = settings.choices.iter().position(|&choices| choices == 10).unwrap_or(0);
    let mut statements = Statements::default();
    let errors = simulated.iter().flat_map(|point| {
        let pairs = point.predicted.iter().zip(&point.amplifications).zip(&settings.choices);
        pairs.map(|((predicted, found), choices)| {
            let error = 100.0 * (predicted / found.mean - 1.0);
            (format!("{}; d = {choices}", point.drive.name()), error.abs() <= MAX_ERROR_PERCENT)
        })
    });
    statements.check("ours: the mean field is within 3 percent of the simulator", errors.collect::<Vec<_>>());
    let each = |holds: &dyn Fn(&SimulatedDrive, &[f64]) -> bool| -> Vec<(String, bool)> {
        simulated.iter().map(|point| (point.drive.name(), holds(point, &point.means(count)))).collect()
    };
    let by_prediction =
        each(&|point, means| regret_percent(means[index_of_least(&point.predicted)], means) <= 1.0);
    statements.check(
        "ours: the d that the mean field names costs 1 percent or less beyond the best",
        by_prediction,
    );
    statements.check(
        "ours: d = 10 costs 3 percent or less beyond the best d",
        each(&|_, means| regret_percent(means[ten], means) <= 3.0),
    );
    let learnt = each(&|point, means| regret_percent(point.amplifications[count + 1].mean, means) <= 3.0);
    statements.check("ours: the learnt number costs 3 percent or less beyond the best d", learnt);
    let better = each(&|point, means| point.amplifications[count + 1].mean < means[ten]);
    statements.check("ours: the learnt number beats d = 10", better);
    let greedy = each(&|point, means| point.amplifications[count].mean > means[index_of_least(means)]);
    statements.check("ours: greedy costs more than the best d", greedy);
    statements.publish(session)
}
