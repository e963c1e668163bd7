//! Benefit of merging during cleaning, on 60 random drives and under the synthetic FIU traces, predicted only by
//! theory. The prediction was recorded before anything was simulated.

use crate::Failure;
use crate::merging_benefit::{Point, Prediction, predict_all, random_points, trace_points};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};

pub fn run(session: &Session) -> Result<(), Failure> {
    let points: Vec<Point> = random_points().into_iter().chain(trace_points()).collect();
    let predicted = predict_all(session, &points)?;
    let mut table = Table::default();
    for (point, found) in points.iter().zip(&predicted) {
        let Prediction { none, cagc, equal_space: twin, sharing, .. } = *found;
        table.add(
            Fields::default()
                .text("point", &point.name)
                .number("used", point.used_share, 4)
                .number("watermark", point.watermark, 4)
                .number("r", point.load.0, 4)
                .number("f", point.load.1, 4)
                .text("d", point.choices.map_or("greedy".to_owned(), |choices| choices.to_string()))
                .number("dedup_ratio", point.content.dedup_ratio, 4)
                .number("none", none, 4)
                .number("cagc", cagc, 4)
                .number("twin", twin, 4)
                .number("sharing", sharing, 4)
                .number("saved_percent", found.saved_erases_percent(), 4),
        );
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
