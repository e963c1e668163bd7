//! GeckoFTL (SIGMOD 2016), Figure 12: write amplification of Logarithmic Gecko by the ratio R of logical to physical
//! pages.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::session::{Scale, Session};
use crate::statements::{Statements, is_rising};
use crate::validity_cost::{Cost, Drive, Store, measure_all};

const LOADS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];

/// Number of partitions, S = B / key (section 3.3), with T = 2.
const PARTITIONS: u32 = 4;

pub fn run(session: &Session) -> Result<(), Failure> {
    let scale: Scale = session.settings()?;
    let gecko = Store::gecko(PARTITIONS);
    let swept = LOADS.map(|load| Drive { load, ..Drive::of_blocks(scale.swept) });
    let mut points = swept.map(|drive| (drive, vec![Store::Bitmap, gecko])).to_vec();
    if scale.largest > scale.swept {
        points.push((Drive::of_blocks(scale.largest), vec![gecko]));
    }
    let costs = measure_all(session, &points)?;
    Cost::table(&costs).publish(session, "data")?;
    let costs_of = |store: Store| swept.map(|drive| Cost::find(&costs, drive, store));
    draw(session, &costs_of(gecko), scale)?;
    check(&costs_of(gecko), &costs_of(Store::Bitmap)).publish(session)
}

fn draw(session: &Session, geckos: &[&Cost], scale: Scale) -> Result<(), Failure> {
    let line = |name: &str, value: &dyn Fn(&Cost) -> f64| {
        Series::line(name.to_owned(), geckos.iter().map(|cost| (cost.drive.load, value(cost))))
    };
    let title = format!("Figure 12: Logarithmic Gecko on 2^{} blocks", scale.swept);
    let y = "flash operations in 10000 application writes";
    let io = [
        line("GC query reads", &|cost| cost.queries[0]),
        line("update reads", &|cost| cost.updates[0] + cost.erases[0]),
        line("update writes", &|cost| cost.updates[1] + cost.erases[1]),
    ];
    Chart { title: &title, x: "R", y }.draw(session, "io", &io)?;
    let amplification =
        [line("measured", &Cost::write_amplification), line("calculated", &|cost| cost.calculated)];
    let chart = Chart { title: &title, x: "R", y: "write amplification" };
    chart.draw(session, "wa", &amplification)
}

fn check(geckos: &[&Cost], bitmaps: &[&Cost]) -> Statements {
    let mut statements = Statements::default();
    let one = |case: String, holds: bool| [(case, holds)];
    let amplification_of = |cost: &Cost| cost.write_amplification();
    let reads = || geckos.iter().map(|cost| cost.queries[0]);
    statements.check("reads by queries increase with R", one(String::new(), is_rising(reads())));
    let (first, last) = (amplification_of(geckos[0]), amplification_of(geckos[geckos.len() - 1]));
    let grows = format!("from {first:.4} to {last:.4} with R from 0.5 to 0.9");
    let absolute = last - first < 0.05;
    statements.check("the increase is low: less than 0.05 of a write", one(grows.clone(), absolute));
    statements.check("less than a half of what it is", one(grows, last < 1.5 * first));
    let pairs = geckos.iter().zip(bitmaps);
    let saved = pairs.map(|(gecko, bitmap)| {
        let saved = 1.0 - amplification_of(gecko) / amplification_of(bitmap);
        (format!("R = {}: {:.1} % below the bitmap", gecko.drive.load, 100.0 * saved), saved > 0.95)
    });
    statements.check("Gecko works well for any R: 95 % below the bitmap at least", saved);
    statements
}
