//! Benefit of merging by cleaning on 60 random drives and under the synthetic FIU traces, predicted by theory alone:
//! recorded before anything was simulated.

use crate::Failure;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Table, number};
use crate::worth::{Point, Predicted, drawn, predict, stand_ins};

pub fn run(session: &Session) -> Result<(), Failure> {
    let points: Vec<Point> = drawn().into_iter().chain(stand_ins()).collect();
    let predicted = predict(session, &points)?;
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
        let Predicted { none, cagc, twin, sharing, .. } = *found;
        let drive = [point.used, point.watermark, point.load.0, point.load.1].map(|value| number(value, 4));
        let choices = point.choices.map_or("greedy".to_owned(), |choices| choices.to_string());
        let told = [point.content.dedup_ratio, none, cagc, twin, sharing, found.saving()];
        let fields = std::iter::once(point.name.clone()).chain(drive).chain([choices]);
        table.push(fields.chain(told.map(|value| number(value, 4))).collect());
    }
    table.publish(session, "predicted")?;
    let mut statements = Statements::default();
    let beyond =
        points.iter().zip(&predicted).map(|(point, found)| (point.name.clone(), found.cagc < found.twin));
    statements.check("ours: merging is worth more than the room that it makes", beyond.collect::<Vec<_>>());
    statements.publish(session)
}
