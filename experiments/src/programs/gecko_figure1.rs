//! GeckoFTL (SIGMOD 2016), Figure 1: RAM and recovery of LazyFTL as drives grow, with those of GeckoFTL for comparison.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::gecko::{drive, ram_mib, recovery_s};
use crate::session::Session;
use crate::statements::{Statements, is_rising};
use crate::table::{Table, number};
use wearwell_theory::ftl::Ftl;

const FTLS: [Ftl; 2] = [Ftl::LazyFtl, Ftl::GeckoFtl];

/// Base-2 logarithms of the capacities in bytes: 1 GiB to 16 TiB.
const CAPACITIES: std::ops::RangeInclusive<u32> = 30..=44;

/// Number of partitions, B / key (section 3.3).
const PARTITIONS: u32 = 4;

/// Size of the mapping cache in MiB, which is constant.
const CACHE_MIB: f64 = 4.0;

struct Point {
    log2_bytes: u32,
    ram_mib: [f64; 2],
    recovery_s: [f64; 2],
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let points: Vec<Point> = CAPACITIES.map(point).collect::<Result<_, _>>()?;
    let mut table = Table::new(&[
        "capacity_gib",
        "lazyftl_ram_mib",
        "geckoftl_ram_mib",
        "lazyftl_recovery_s",
        "geckoftl_recovery_s",
    ]);
    for point in &points {
        let values = point.ram_mib.iter().chain(&point.recovery_s).map(|value| number(*value, 3));
        table.push([(1u64 << (point.log2_bytes - 30)).to_string()].into_iter().chain(values).collect());
    }
    table.publish(session, "data")?;
    draw(session, "ram", "log2 of RAM, MiB", &points, |point| point.ram_mib.map(f64::log2))?;
    let title = "log10 of recovery, s";
    draw(session, "recovery", title, &points, |point| point.recovery_s.map(f64::log10))?;
    check(&points).publish(session)
}

fn point(log2_bytes: u32) -> Result<Point, Failure> {
    let drive = drive(log2_bytes, PARTITIONS)?;
    let ram_mib = FTLS.map(|ftl| ram_mib(ftl, &drive));
    Ok(Point { log2_bytes, ram_mib, recovery_s: FTLS.map(|ftl| recovery_s(ftl, &drive)) })
}

fn draw(
    session: &Session,
    name: &str,
    y: &str,
    points: &[Point],
    values: impl Fn(&Point) -> [f64; 2],
) -> Result<(), Failure> {
    let line = |(at, ftl): (usize, &Ftl)| {
        let of_ftl = points.iter().map(|point| (f64::from(point.log2_bytes), values(point)[at]));
        Series::line(ftl.title().to_owned(), of_ftl)
    };
    let series: Vec<Series> = FTLS.iter().enumerate().map(line).collect();
    let chart = Chart { title: "Figure 1: what an FTL needs", x: "log2 of capacity, bytes", y };
    chart.draw(session, name, &series)
}

fn check(points: &[Point]) -> Statements {
    let at = |log2_bytes: u32| points.iter().find(|point| point.log2_bytes == log2_bytes).expect("in range");
    let one = |case: &str, holds: bool| [(case.to_owned(), holds)];
    let mut statements = Statements::default();
    let lazy_ram = at(37).ram_mib[0];
    statements.check("LazyFTL's RAM grows", one("", is_rising(points.iter().map(|point| point.ram_mib[0]))));
    statements
        .check("its recovery grows", one("", is_rising(points.iter().map(|point| point.recovery_s[0]))));
    statements.check(
        "4 MB of RAM at 128 GB",
        [
            (format!("with the cache: {lazy_ram:.2} MiB"), (lazy_ram / 4.0 - 1.0).abs() < 0.1),
            ("without it".to_owned(), ((lazy_ram - CACHE_MIB) / 4.0 - 1.0).abs() < 0.1),
        ],
    );
    let seconds = at(41).recovery_s[0];
    let tens = (10.0..100.0).contains(&seconds);
    statements.check("recovery takes tens of seconds at 2 TB", one(&format!("{seconds:.0} s"), tens));
    let shorter = points.iter().map(|point| {
        (format!("2^{} bytes", point.log2_bytes), point.recovery_s[1] <= 0.49 * point.recovery_s[0])
    });
    statements.check("GeckoFTL's recovery is 51 % shorter at least", shorter);
    statements
}
