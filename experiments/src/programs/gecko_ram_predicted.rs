//! Cost of less RAM than in GeckoFTL, predicted only by theory. The prediction was recorded before anything was
//! simulated.

use crate::Failure;
use crate::gecko_ram::{Point, predict};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;

pub fn run(session: &Session) -> Result<(), Failure> {
    let points = Point::all(session)?;
    let predicted = points.iter().map(predict).collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::default();
    for (point, predicted) in points.iter().zip(&predicted) {
        let [user, translation, reports, queries] = predicted.costs;
        table.add(
            point
                .fields()
                .number("ram_mib_at_2_tib", predicted.ram_mib[0], 3)
                .number("without_cache_mib", predicted.ram_mib[1], 3)
                .number("saved_percent", predicted.saved_percent, 2)
                .number("user", user, 4)
                .number("translation", translation, 4)
                .number("reports", reports, 4)
                .number("queries", queries, 4)
                .number("wa", predicted.total[0], 4)
                .number("wa_at_2_tib", predicted.total[1], 4),
        );
    }
    table.publish(session, "predicted")?;
    let base = (&points[0], &predicted[0]);
    let other_points =
        || points.iter().zip(&predicted).filter(|(point, _)| point.log2_blocks == base.0.log2_blocks);
    let mut statements = Statements::default();
    let no_more = other_points().filter(|(point, _)| point.cache == 3.0 && point.counter_share == 0.0);
    statements.check(
        "ours: what the counters take is better spent on the cache",
        no_more.map(|(point, prediction)| {
            let holds =
                prediction.ram_mib[0] <= 1.01 * base.1.ram_mib[0] && prediction.total[1] < base.1.total[1];
            (
                format!("{}: {:.3} compared with {:.3}", point.name(), prediction.total[1], base.1.total[1]),
                holds,
            )
        }),
    );
    let ten = other_points().filter(|(point, _)| {
        (point.counter_share, point.choices) == (0.0, 10) && point.differs_only_in_counters(base.0)
    });
    statements.check(
        "ours: without counters ten draws a victim cost less than a tenth of all writes at 2 TiB",
        ten.map(|(point, prediction)| {
            let holds = prediction.total[1] <= 1.1 * base.1.total[1];
            (
                format!("{}: {:.3} compared with {:.3}", point.name(), prediction.total[1], base.1.total[1]),
                holds,
            )
        }),
    );
    statements.publish(session)
}
