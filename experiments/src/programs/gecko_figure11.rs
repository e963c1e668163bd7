//! GeckoFTL (SIGMOD 2016), Figure 11: write amplification of Logarithmic Gecko and of a bitmap in flash as drives grow,
//! and the extrapolated crossing of the curves.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::session::{Scale, Session};
use crate::statements::{Statements, is_rising};
use crate::table::{Table, number};
use crate::validity_cost::{Cost, Drive, Store, measure_all};
use wearwell_theory::ftl::{FtlDrive, FtlSizes, crossing_log2_blocks};

/// Numbers of partitions: 1 for whole entries, and B / key (section 3.3).
const PARTITIONS: [u32; 2] = [1, 4];

/// Base-2 logarithm of the minimum number of blocks.
const FIRST: u32 = 10;
/// Step between two values of the logarithm.
const STEP: usize = 2;

/// Base-2 logarithm of the number of blocks from which on a line is fitted: with more blocks, runs have so many pages
/// that the number of levels dominates.
const FIT_FROM: u32 = 14;

/// Crossing of the curves: by a line through the measured values, and by table 1 with a factor of 1.
struct Crossing {
    partitions: u32,
    /// Slope of the line per doubling of the blocks.
    slope: f64,
    /// Value of the line at 2^0 blocks.
    intercept: f64,
    measured_log2: f64,
    calculated_log2: f64,
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let scale: Scale = session.settings()?;
    let stores: Vec<Store> = [Store::Bitmap].into_iter().chain(PARTITIONS.map(Store::gecko)).collect();
    let sizes = (FIRST..=scale.largest).step_by(STEP);
    let points: Vec<_> = sizes
        .map(|log2_blocks| {
            // The bitmap's cost does not depend on the size of the drive, so the bitmap is not measured on the largest
            // drives, on which a measurement takes long.
            let stores = if log2_blocks <= scale.swept { &stores } else { &stores[1..] };
            (Drive::of_blocks(log2_blocks), stores.to_vec())
        })
        .collect();
    let costs = measure_all(session, &points)?;
    Cost::table(&costs).publish(session, "data")?;
    let crossings = PARTITIONS.iter().map(|parts| crossing(&costs, *parts)).collect::<Result<Vec<_>, _>>()?;
    crossing_table(&crossings).publish(session, "crossings")?;
    draw(session, &costs, &crossings)?;
    check(&costs, &crossings, scale).publish(session)
}

/// Returns the base-2 logarithm of the number of blocks, and the write amplification, in ascending order of blocks.
fn points(costs: &[Cost], store: Store) -> impl Iterator<Item = (f64, f64)> {
    let of_store = costs.iter().filter(move |cost| cost.store == store);
    of_store.map(|cost| (f64::from(cost.drive.log2_blocks), cost.write_amplification()))
}

/// Returns the bitmap's cost on the largest drive on which it was measured.
fn bitmap(costs: &[Cost]) -> f64 {
    points(costs, Store::Bitmap).last().expect("the bitmap is measured").1
}

fn crossing(costs: &[Cost], partitions: u32) -> Result<Crossing, Failure> {
    let large = points(costs, Store::gecko(partitions)).filter(|point| point.0 >= f64::from(FIT_FROM));
    let large: Vec<(f64, f64)> = large.collect();
    let mean = |value: &dyn Fn(&(f64, f64)) -> f64| large.iter().map(value).sum::<f64>() / large.len() as f64;
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let slope = mean(&|point| (point.0 - x) * (point.1 - y)) / mean(&|point| (point.0 - x).powi(2));
    let intercept = y - slope * x;
    let drive = FtlDrive::new(FtlSizes { partitions, ..FtlSizes::default() })?;
    Ok(Crossing {
        partitions,
        slope,
        intercept,
        measured_log2: (bitmap(costs) - intercept) / slope,
        calculated_log2: crossing_log2_blocks(&drive)?,
    })
}

fn crossing_table(crossings: &[Crossing]) -> Table {
    let mut table =
        Table::new(&["S", "slope", "intercept", "measured_log2_blocks", "calculated_log2_blocks"]);
    for crossing in crossings {
        let line = [crossing.slope, crossing.intercept].map(|value| number(value, 6));
        let crossings = [crossing.measured_log2, crossing.calculated_log2].map(|value| number(value, 1));
        let head = [crossing.partitions.to_string()];
        table.push(head.into_iter().chain(line).chain(crossings).collect());
    }
    table
}

fn draw(session: &Session, costs: &[Cost], crossings: &[Crossing]) -> Result<(), Failure> {
    let (x, y) = ("log2 of blocks", "write amplification");
    let measured = |store: Store| Series::line(store.name(), points(costs, store));
    let mut simulated: Vec<Series> = PARTITIONS.iter().map(|parts| measured(Store::gecko(*parts))).collect();
    for parts in PARTITIONS {
        let of_store = costs.iter().filter(|cost| cost.store == Store::gecko(parts));
        let values = of_store.map(|cost| (f64::from(cost.drive.log2_blocks), cost.calculated));
        simulated.push(Series::line(format!("S = {parts}, calculated"), values));
    }
    let chart = Chart { title: "Figure 11: Logarithmic Gecko as drives grow", x, y };
    chart.draw(session, "plot", &simulated)?;
    let top = bitmap(costs);
    let end = crossings.iter().map(|crossing| crossing.measured_log2).fold(0.0, f64::max);
    let mut series = vec![Series::line("bitmap".to_owned(), [(f64::from(FIRST), top), (end, top)])];
    for crossing in crossings {
        let parts = crossing.partitions;
        let line = |at: f64| (at, crossing.intercept + crossing.slope * at);
        let ends = [line(f64::from(FIRST)), line(crossing.measured_log2)];
        series.push(Series::line(format!("S = {parts}, extended"), ends));
        let first = costs.iter().find(|cost| cost.store == Store::gecko(parts)).expect("measured");
        let ends = [(f64::from(FIRST), first.calculated), (crossing.calculated_log2, top)];
        series.push(Series::line(format!("S = {parts}, calculated"), ends));
    }
    let chart = Chart { title: "Figure 11: where the curves would cross", x, y };
    chart.draw(session, "crossing", &series)
}

fn check(costs: &[Cost], crossings: &[Crossing], scale: Scale) -> Statements {
    let mut statements = Statements::default();
    let points_of = |partitions: u32| points(costs, Store::gecko(partitions));
    let grows = PARTITIONS
        .iter()
        .map(|parts| (format!("S = {parts}"), is_rising(points_of(*parts).map(|point| point.1))));
    statements.check("Gecko's write amplification grows with the blocks", grows);
    let slowly = crossings.iter().map(|crossing| {
        let case = format!("S = {}: {:.4} a doubling", crossing.partitions, crossing.slope);
        (case, crossing.slope < 0.005)
    });
    statements.check("slowly: by less than 0.005 for each doubling of the blocks", slowly);
    let top = bitmap(costs);
    let flat = points(costs, Store::Bitmap).map(|(log2_blocks, amplification)| {
        let case = format!("2^{log2_blocks} blocks: {amplification:.4}");
        (case, (amplification / top - 1.0).abs() < 0.005)
    });
    statements.check("the bitmap's does not depend on the blocks: within 0.5 %", flat);
    let crossings = crossings.iter().flat_map(|crossing| {
        let factors = [("extended", crossing.measured_log2), ("calculated", crossing.calculated_log2)];
        factors.map(|(how, log2)| {
            let factor = log2 - f64::from(scale.largest);
            (format!("S = {} {how}: 2^{factor:.0}", crossing.partitions), factor >= 100.0)
        })
    });
    statements.check("capacity must grow by 2^100 at least until the curves cross", crossings);
    statements
}
