//! Cost of less RAM than in GeckoFTL: write amplification with counters of valid pages for only some blocks, compared
//! with the prediction of theory.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::gecko_ram::{Point, Prediction, predict};
use crate::paged::Measurement;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;

/// A point, its prediction, and its measurement.
struct MeasuredPoint<'a> {
    point: &'a Point,
    prediction: &'a Prediction,
    measured: &'a Measurement,
}

impl MeasuredPoint<'_> {
    fn user(&self) -> f64 {
        self.measured.amplification()[0]
    }

    fn total(&self) -> f64 {
        self.measured.amplification().iter().sum()
    }

    /// Returns the cost of validity on 2 TiB: the measured cost, plus the cost of the additional runs according to
    /// theory.
    fn at_2_tib(&self) -> f64 {
        self.total() + self.prediction.total[1] - self.prediction.total[0]
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let points = Point::all(session)?;
    let predicted = points.iter().map(predict).collect::<Result<Vec<_>, _>>()?;
    let measured = session.compute_each("GeckoFTL with less RAM", &points, Point::measure)?;
    let all: Vec<MeasuredPoint> = points
        .iter()
        .zip(&predicted)
        .zip(&measured)
        .map(|((point, said), measured)| MeasuredPoint { point, prediction: said, measured })
        .collect();
    table(&all).publish(session, "data")?;
    draw(session, &all)?;
    check(&all).publish(session)
}

fn table(all: &[MeasuredPoint]) -> Table {
    let mut table = Table::default();
    for found in all {
        let [user, translation, validity] = found.measured.amplification();
        let [said_user, said_translation, reports, queries] = found.prediction.costs;
        let error = 100.0 * (found.total() / found.prediction.total[0] - 1.0);
        table.add(
            found
                .point
                .fields()
                .number("ram_mib_at_2_tib", found.prediction.ram_mib[0], 3)
                .number("saved_percent", found.prediction.saved_percent, 2)
                .number("predicted_user", said_user, 4)
                .number("wa_user", user, 4)
                .number("predicted_translation", said_translation, 4)
                .number("wa_translation", translation, 4)
                .number("predicted_validity", reports + queries, 4)
                .number("wa_validity", validity, 4)
                .number("predicted_wa", found.prediction.total[0], 4)
                .number("wa", found.total(), 4)
                .number("error_percent", error, 2)
                .number("wa_at_2_tib", found.at_2_tib(), 4),
        );
    }
    table
}

/// Draws write amplification over RAM on 2 TiB, for points that differ from the paper's drive only in counters and
/// cache.
fn draw(session: &Session, all: &[MeasuredPoint]) -> Result<(), Failure> {
    let base = all[0].point;
    type IsSelected = fn(&Point) -> bool;
    let kinds: [(&str, IsSelected); 3] = [
        ("all counters", |point| point.counter_share == 1.0),
        ("a sample", Point::is_sampled),
        ("no counters", |point| point.counter_share == 0.0),
    ];
    let alike = |point: &Point| (Point { cache: base.cache, ..point.clone() }).differs_only_in_counters(base);
    let series = kinds.map(|(name, is_meant)| {
        let of_kind = all.iter().filter(|found| is_meant(found.point) && alike(found.point));
        let mut points: Vec<(f64, f64)> =
            of_kind.map(|found| (found.prediction.ram_mib[0], found.at_2_tib())).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Series { has_line: false, ..Series::line(name.to_owned(), points) }
    });
    let title = "What RAM costs on 2 TiB: counters, draws and cache";
    Chart { title, x: "RAM, MiB", y: "write amplification" }.draw(session, "plot", &series)
}

fn check(all: &[MeasuredPoint]) -> Statements {
    let mut statements = Statements::default();
    check_theory(&mut statements, all);
    check_costs(&mut statements, all);
    check_ram(&mut statements, all);
    statements
}

fn check_theory(statements: &mut Statements, all: &[MeasuredPoint]) {
    let mut check_near = |statement: &str, is_selected: &dyn Fn(&Point) -> bool, percent: f64, user: bool| {
        let selected = all.iter().filter(|found| is_selected(found.point));
        statements.check(
            statement,
            selected.map(|found| {
                let (measured, predicted) = match user {
                    true => (found.user(), found.prediction.costs[0]),
                    false => (found.total(), found.prediction.total[0]),
                };
                let holds = (measured / predicted - 1.0).abs() <= percent / 100.0;
                (format!("{}: {measured:.3} compared with {predicted:.3}", found.point.name()), holds)
            }),
        );
    };
    check_near(
        "ours: theory predicts what cleaning costs: within 3 percent where all counters are held or none",
        &|point| !point.is_sampled(),
        3.0,
        true,
    );
    check_near("ours: within 3 percent where a sample is", &Point::is_sampled, 3.0, true);
    check_near("ours: theory predicts all write amplification within 5 percent", &|_| true, 5.0, false);
}

/// Returns the point that has all counters, and that agrees with `point` in all other parameters.
fn with_all_counters<'a>(all: &'a [MeasuredPoint], point: &Point) -> &'a MeasuredPoint<'a> {
    let found = all
        .iter()
        .find(|other| other.point.counter_share == 1.0 && other.point.differs_only_in_counters(point));
    found.expect("each kind of drive is tried with all counters")
}

fn check_costs(statements: &mut Statements, all: &[MeasuredPoint]) {
    let queries = |found: &MeasuredPoint| found.measured.amplification()[2];
    let none = || all.iter().filter(|found| found.point.counter_share == 0.0);
    statements.check(
        "ours: draws cost the queries that theory says: within 10 percent of what they add",
        none().map(|found| {
            let with = with_all_counters(all, found.point);
            let added = queries(found) - queries(with);
            let predicted = found.prediction.costs[2] + found.prediction.costs[3]
                - with.prediction.costs[2]
                - with.prediction.costs[3];
            (
                format!("{}: {added:.4} compared with {predicted:.4}", found.point.name()),
                (added / predicted - 1.0).abs() <= 0.1,
            )
        }),
    );
    let four = || all.iter().filter(|found| (found.point.counter_share, found.point.choices) == (0.05, 4));
    statements.check(
        "ours: a sample of 5 percent with four draws a victim costs less than none with ten",
        four().map(|found| {
            let ten = none()
                .find(|other| other.point.choices == 10 && other.point.differs_only_in_counters(found.point));
            let ten = ten.expect("each kind of drive is tried without counters").total();
            (
                format!("{}: {:.3} compared with {ten:.3}", found.point.name(), found.total()),
                found.total() < ten,
            )
        }),
    );
    let base = all[0].point;
    let (with, best) = none()
        .filter(|found| found.point.differs_only_in_counters(base))
        .fold((all[0].at_2_tib(), f64::INFINITY), |(with, best), found| (with, best.min(found.at_2_tib())));
    statements.check(
        "ours: without counters the best number of draws costs less than a tenth of all writes at 2 TiB",
        [(format!("{best:.3} compared with {with:.3}"), best <= 1.1 * with)],
    );
    let larger = all.iter().filter(|found| found.point.cache == 3.0 && found.point.counter_share == 0.0);
    statements.check(
        "ours: what the counters take is better spent on the cache",
        larger.map(|found| {
            let less = found.prediction.ram_mib[0] <= 1.01 * all[0].prediction.ram_mib[0];
            let (cost, base_cost) = (found.at_2_tib(), all[0].at_2_tib());
            (
                format!("{}: {cost:.3} compared with {base_cost:.3}", found.point.name()),
                less && cost < base_cost,
            )
        }),
    );
}

fn check_ram(statements: &mut Statements, all: &[MeasuredPoint]) {
    let base = all[0].point;
    let mut saved = |statement: &str, is_meant: &dyn Fn(&Point) -> bool| {
        let of_size = all.iter().filter(|found| {
            let Point { log2_blocks, page_bytes, load, .. } = *found.point;
            (log2_blocks, page_bytes, load) == (base.log2_blocks, base.page_bytes, base.load)
        });
        let of_kind = of_size.filter(|found| {
            let Point { partitions, pages_per_block, cache, .. } = *found.point;
            partitions == pages_per_block / 32 && cache == base.cache && is_meant(found.point)
        });
        statements.check(
            statement,
            of_kind.map(|found| {
                let percent = found.prediction.saved_percent;
                (format!("{}: {percent:.1}", found.point.name()), percent >= 95.0)
            }),
        );
    };
    saved("ours: 95 percent less RAM without counters", &|point| point.counter_share == 0.0);
    saved("ours: 95 percent less RAM with counters of 5 percent of the blocks", &|point| {
        point.counter_share == 0.05
    });
    saved("ours: 95 percent less RAM with all counters and 1024 pages a block", &|point| {
        point.counter_share == 1.0 && point.pages_per_block == 1024
    });
    saved("ours: 95 percent less RAM with all counters and 128 pages a block", &|point| {
        point.counter_share == 1.0 && point.pages_per_block == 128
    });
}
