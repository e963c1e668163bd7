//! GeckoFTL (SIGMOD 2016), Figure 10: write amplification of Logarithmic Gecko by block size B and number of
//! partitions S, on drives of the same capacity.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::session::{Scale, Session};
use crate::statements::Statements;
use crate::validity_cost::{Cost, Drive, Store, measure_all};

/// Base-2 logarithms of the block sizes in pages.
const LOG2_PAGES: std::ops::RangeInclusive<u32> = 5..=10;

const PARTITIONS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Bits per key: S = B / key is the balance in section 3.3.
const KEY_BITS: u32 = 32;

/// Returns a drive with blocks of 2^`log2_pages` pages and the capacity of 2^`log2_blocks` blocks of 128 pages.
fn drive(log2_blocks: u32, log2_pages: u32) -> Drive {
    let log2_blocks = log2_blocks + 7 - log2_pages;
    Drive { pages_per_block: 1 << log2_pages, ..Drive::of_blocks(log2_blocks) }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let scale: Scale = session.settings()?;
    let drives: Vec<Drive> = LOG2_PAGES.map(|log2_pages| drive(scale.swept, log2_pages)).collect();
    let stores = PARTITIONS.map(Store::gecko);
    let points: Vec<_> = drives.iter().map(|drive| (*drive, stores.to_vec())).collect();
    let costs = measure_all(session, &points)?;
    Cost::table(&costs).publish(session, "data")?;
    draw(session, &costs, &drives)?;
    check(&costs, &drives).publish(session)
}

fn balanced(drive: Drive) -> Store {
    Store::gecko(drive.pages_per_block / KEY_BITS)
}

fn draw(session: &Session, costs: &[Cost], drives: &[Drive]) -> Result<(), Failure> {
    let line = |name: String, store: &dyn Fn(Drive) -> Store| {
        let value = |drive: &Drive| {
            let cost = Cost::find(costs, *drive, store(*drive));
            (f64::from(drive.pages_per_block).log2(), cost.write_amplification().log2())
        };
        Series::line(name, drives.iter().map(value))
    };
    let mut series: Vec<Series> = PARTITIONS
        .iter()
        .map(|partitions| line(format!("S = {partitions}"), &|_| Store::gecko(*partitions)))
        .collect();
    series.push(line("S = B / key".to_owned(), &balanced));
    let chart = Chart {
        title: "Figure 10: entry-partitioning, T = 2, one capacity",
        x: "log2 of B, pages",
        y: "log2 of write amplification",
    };
    chart.draw(session, "plot", &series)
}

fn check(costs: &[Cost], drives: &[Drive]) -> Statements {
    let amplification_of =
        |drive: &Drive, store: Store| Cost::find(costs, *drive, store).write_amplification();
    let mut statements = Statements::default();
    let growth = drives.windows(2).map(|pair| {
        let factor =
            amplification_of(&pair[1], Store::gecko(1)) / amplification_of(&pair[0], Store::gecko(1));
        (format!("B = {}: times {factor:.2}", pair[1].pages_per_block), (factor / 2.0 - 1.0).abs() < 0.1)
    });
    statements.check("with S = 1 write amplification doubles as B doubles: within 10 %", growth);
    let default = amplification_of(&drives[0], balanced(drives[0]));
    let relative = |drive: &Drive| {
        let factor = amplification_of(drive, balanced(*drive)) / default;
        (format!("B = {}: times {factor:.2} of B = 32", drive.pages_per_block), factor)
    };
    let cases = drives[1..].iter().map(relative);
    let within = cases.map(|(case, factor)| (case, (factor - 1.0).abs() < 0.1));
    statements.check("with S = B / key it does not depend on B: within 10 %", within);
    let updates = |drive: &Drive| Cost::find(costs, *drive, balanced(*drive)).updates[1];
    let same = drives[1..].iter().map(|drive| {
        let factor = updates(drive) / updates(&drives[0]);
        (format!("B = {}: times {factor:.2}", drive.pages_per_block), (factor - 1.0).abs() < 0.1)
    });
    statements.check("nor do its writes by updates: within 10 %", same);
    let not_dearer = drives[1..].iter().map(relative).map(|(case, factor)| (case, factor < 1.1));
    statements.check("with S = B / key larger blocks do not make it dearer", not_dearer);
    let max_partitions = Store::gecko(PARTITIONS[PARTITIONS.len() - 1]);
    let finer_cases = drives.iter().filter(|drive| balanced(**drive) != max_partitions).map(|drive| {
        let (many, few) =
            (amplification_of(drive, max_partitions), amplification_of(drive, balanced(*drive)));
        (format!("B = {}: {many:.5} compared with {few:.5}", drive.pages_per_block), many > few)
    });
    statements.check("many more parts than B / key make it dearer: S = 32", finer_cases);
    statements
}
