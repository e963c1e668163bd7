//! Benefit of merging during cleaning, on 60 random drives and under the synthetic FIU traces, predicted only by
//! theory. The prediction was recorded before anything was simulated.

use crate::Failure;
use crate::merging_benefit::{Point, Prediction, predict_all, random_points, trace_points};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Table, number};

pub fn run(session: &Session) -> Result<(), Failure> {
    let points: Vec<Point> = random_points().into_iter().chain(trace_points()).collect();
    let predicted = predict_all(session, &points)?;
    let mut table = Table::new(&[
        "point",
        "used",
        "watermark",
        "r",
        "f",
        "d",
        "dedup_ratio",
        "none",
        "cagc",
        "twin",
        "sharing",
        "saved_percent",
    ]);
    for (point, found) in points.iter().zip(&predicted) {
        let Prediction { none, cagc, equal_space: twin, sharing, .. } = *found;
        let drive =
            [point.used_share, point.watermark, point.load.0, point.load.1].map(|value| number(value, 4));
        let choices = point.choices.map_or("greedy".to_owned(), |choices| choices.to_string());
        let values = [point.content.dedup_ratio, none, cagc, twin, sharing, found.saved_erases_percent()];
        let fields = std::iter::once(point.name.clone()).chain(drive).chain([choices]);
        table.push(fields.chain(values.map(|value| number(value, 4))).collect());
    }
    table.publish(session, "predicted")?;
    let mut statements = Statements::default();
    let beyond = points
        .iter()
        .zip(&predicted)
        .map(|(point, found)| (point.name.clone(), found.cagc < found.equal_space));
    statements.check("ours: merging is worth more than the room that it makes", beyond.collect::<Vec<_>>());
    statements.publish(session)
}
