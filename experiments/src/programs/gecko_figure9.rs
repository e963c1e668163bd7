//! GeckoFTL (SIGMOD 2016), Figure 9: flash operations of Logarithmic Gecko for several size ratios T, and of a bitmap in
//! flash, under uniformly random writes.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::session::{Scale, Session};
use crate::statements::Statements;
use crate::validity_cost::{Cost, Drive, Store, measure_all};

const SIZE_RATIOS: [u32; 7] = [2, 3, 4, 5, 6, 8, 10];

/// Number of partitions, B / key (section 3.3).
const PARTITIONS: u32 = 4;

fn gecko(size_ratio: u32) -> Store {
    Store::Gecko { size_ratio, partitions: PARTITIONS, multiway: true }
}

/// Returns the stores with T = 2 without partitions, and without multi-way merges (appendix A).
fn variants() -> [Store; 2] {
    [Store::gecko(1), Store::Gecko { size_ratio: 2, partitions: PARTITIONS, multiway: false }]
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let scale: Scale = session.settings()?;
    let (swept, largest) = (Drive::of_blocks(scale.swept), Drive::of_blocks(scale.largest));
    let all: Vec<Store> =
        [Store::Bitmap].into_iter().chain(SIZE_RATIOS.map(gecko)).chain(variants()).collect();
    let mut points = vec![(swept, all)];
    if largest != swept {
        points.push((largest, vec![Store::Bitmap, gecko(2), gecko(3), Store::gecko(1)]));
    }
    let costs = measure_all(session, &points)?;
    Cost::table(&costs).publish(session, "data")?;
    draw(session, &costs, swept)?;
    check(&costs, swept, largest).publish(session)
}

fn draw(session: &Session, costs: &[Cost], swept: Drive) -> Result<(), Failure> {
    let line = |name: &str, value: &dyn Fn(&Cost) -> f64| {
        let at = |ratio: &u32| (f64::from(*ratio), value(Cost::find(costs, swept, gecko(*ratio))));
        Series::line(name.to_owned(), SIZE_RATIOS.iter().map(at))
    };
    let io = [
        line("update reads", &|cost| cost.updates[0]),
        line("update writes", &|cost| cost.updates[1]),
        line("GC query reads", &|cost| cost.queries[0]),
    ];
    let title = format!("Figure 9: Logarithmic Gecko on 2^{} blocks", swept.log2_blocks);
    let y = "flash operations in 10000 application writes";
    Chart { title: &title, x: "T", y }.draw(session, "io", &io)?;
    let bitmap = Cost::find(costs, swept, Store::Bitmap).write_amplification().log10();
    let stores = [
        line("Logarithmic Gecko", &|cost| cost.write_amplification().log10()),
        Series::line("bitmap in flash".to_owned(), SIZE_RATIOS.map(|ratio| (f64::from(ratio), bitmap))),
    ];
    let chart = Chart { title: &title, x: "T", y: "log10 of write amplification" };
    chart.draw(session, "wa", &stores)
}

fn check(costs: &[Cost], swept: Drive, largest: Drive) -> Statements {
    let mut statements = Statements::default();
    let mut drives = vec![swept, largest];
    drives.dedup();
    let case = |cost: &Cost| format!("{} on 2^{} blocks", cost.store.name(), cost.drive.log2_blocks);
    let amplification_of = |cost: &Cost| cost.write_amplification();
    let all_of = |drive: Drive| costs.iter().filter(move |cost| cost.drive == drive);
    let rivals = drives.iter().flat_map(|drive| {
        let best = amplification_of(Cost::find(costs, *drive, gecko(2)));
        let other_ratios = SIZE_RATIOS[1..].iter().map(|ratio| gecko(*ratio));
        let rivals = all_of(*drive).filter(move |cost| other_ratios.clone().any(|other| other == cost.store));
        rivals.map(move |cost| {
            (format!("{}: {:.5}", case(cost), amplification_of(cost)), best < amplification_of(cost))
        })
    });
    statements.check("T = 2 is the best of all T", rivals);
    let bitmaps = drives.iter().map(|drive| Cost::find(costs, *drive, Store::Bitmap));
    statements.check(
        "the bitmap's write amplification is about 1.1: within 2 %",
        bitmaps.map(|cost| {
            (
                format!("{}: {:.4}", case(cost), amplification_of(cost)),
                (amplification_of(cost) / 1.1 - 1.0).abs() < 0.02,
            )
        }),
    );
    let shares = |keep: fn(&Store) -> bool| {
        let geckos = costs.iter().filter(move |cost| cost.store != Store::Bitmap && keep(&cost.store));
        geckos.map(|cost| {
            (
                case(cost),
                1.0 - amplification_of(cost) / amplification_of(Cost::find(costs, cost.drive, Store::Bitmap)),
            )
        })
    };
    let below = shares(|_| true).map(|(place, saved)| (format!("{place}: {saved:.4}"), saved > 0.0));
    statements.check("Gecko's write amplification is lower for all T", below);
    let saved = shares(|store| *store == gecko(2));
    let saved = saved.map(|(place, saved)| (format!("{place}: {:.2} %", 100.0 * saved), saved >= 0.98));
    statements.check("it is 98 % lower for T = 2", saved);
    let swept_costs = SIZE_RATIOS.map(|ratio| Cost::find(costs, swept, gecko(ratio)));
    let pairs = || swept_costs.windows(2);
    let cheaper = pairs().map(|pair| (case(pair[1]), pair[1].queries[0] < pair[0].queries[0]));
    statements.check("queries get cheaper as T increases", cheaper);
    let cases = pairs().map(|pair| (case(pair[1]), pair[1].updates[1] > pair[0].updates[1]));
    statements.check("updates get dearer as T increases", cases);
    let rare = drives.iter().map(|drive| Cost::find(costs, *drive, gecko(2)).cleanings);
    let rare = rare.map(|cleanings| {
        (format!("{cleanings:.0} cleanings in 10000 writes"), (100.0..1000.0).contains(&cleanings))
    });
    statements.check("updates are one to two orders more frequent than queries", rare);
    statements
}
