//! GeckoFTL (SIGMOD 2016), Figures 13 and 14, simulated: RAM, recovery and write amplification of five FTLs, and of
//! three with equal RAM.

use crate::Failure;
use crate::gecko::mib;
use crate::paged::{self, CAUSES, FTLS, Measurement, PAGES_PER_BLOCK, WriteVolume, settings};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table, number};
use wearwell_engine::ftl::paged::PagedSettings;

/// Settings of the program.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Base-2 logarithm of the number of blocks; the paper has 22.
    log2_blocks: u32,
    /// True for figure 14, with equal RAM, instead of figure 13.
    equal_ram: bool,
    /// FTLs to run; if empty, those of the figure.
    #[serde(default)]
    ftls: Vec<String>,
}

/// An FTL to measure: its name, and all settings that determine its behaviour.
#[derive(serde::Serialize)]
struct Point {
    ftl: &'static str,
    log2_blocks: u32,
    equal_ram: bool,
    run: WriteVolume,
}

impl Settings {
    fn points(&self, run: WriteVolume) -> Result<Vec<Point>, Failure> {
        let of_figure = if self.equal_ram { vec!["dftl", "mu_ftl", "gecko"] } else { FTLS.to_vec() };
        let find_ftl = |name: &String| {
            let found = FTLS.into_iter().find(|ftl| name == *ftl);
            found.ok_or_else(|| format!("no FTL is called `{name}`; one of {}", FTLS.join(", ")).into())
        };
        let requested: Vec<&str> = self.ftls.iter().map(find_ftl).collect::<Result<_, Failure>>()?;
        let &Settings { log2_blocks, equal_ram, .. } = self;
        let ftls = if requested.is_empty() { of_figure } else { requested };
        Ok(ftls.into_iter().map(|ftl| Point { ftl, log2_blocks, equal_ram, run }).collect())
    }
}

fn measure(point: &Point) -> Result<Measurement, Failure> {
    let blocks = 1 << point.log2_blocks;
    let ftl_settings = settings(point.ftl, blocks)?;
    let settings = if point.equal_ram { with_equal_ram(ftl_settings) } else { ftl_settings };
    paged::run_on(&settings, (blocks, PAGES_PER_BLOCK), point.run)
}

/// Returns the settings of figure 14: FTLs without a bitmap in RAM get additional cache of the size of the bitmap, and
/// no FTL cleans metadata blocks.
fn with_equal_ram(settings: PagedSettings) -> PagedSettings {
    let mut settings = settings;
    settings.config.cleans_metadata = false;
    if !settings.config.has_ram_bitmap() {
        // In the paper the bitmap takes 64 MiB, and the cache 4 MiB: 2^19 entries of 8 bytes.
        settings.config.cache_entries *= 17;
    }
    settings
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let points = settings.points(WriteVolume::of_figures(session)?)?;
    let mut table = Table::default();
    let mut parts = Table::new(&["ftl", "what", "name", "value"]);
    let found = session.compute_each("FTL of figures 13 and 14", &points, measure)?;
    let found: Vec<(&str, Measurement)> = points.iter().map(|point| point.ftl).zip(found).collect();
    for (ftl, measured) in &found {
        table.add(row(ftl, settings.log2_blocks, measured));
        for (name, bytes) in &measured.ram {
            parts.push([*ftl, "RAM; MiB", name, &number(mib(*bytes), 4)].map(str::to_owned).to_vec());
        }
        for (name, seconds) in &measured.recovery {
            parts.push([*ftl, "recovery; s", name, &number(*seconds, 4)].map(str::to_owned).to_vec());
        }
    }
    table.publish(session, "data")?;
    parts.publish(session, "parts")?;
    check(&found, settings.equal_ram).publish(session)
}

fn row(ftl: &str, log2_blocks: u32, measured: &Measurement) -> Fields {
    let amplification = measured.amplification();
    let plain: f64 = measured.traffic.iter().map(|(writes, _)| writes).sum();
    Fields::default()
        .text("ftl", ftl)
        .text("blocks", format!("2^{log2_blocks}"))
        .number("ram_mib", mib(measured.ram_bytes()), 4)
        .number("recovery_s", measured.recovery_s(), 4)
        .number("wa_user", amplification[0], 4)
        .number("wa_translation", amplification[1], 4)
        .number("wa_validity", amplification[2], 4)
        .number("wa", amplification.iter().sum::<f64>(), 4)
        .number("plain_wa", plain, 4)
        .number("spare_reads", measured.spare_reads, 4)
        .number("million_writes_per_s", measured.rate / 1e6, 3)
        .number("memory_gib", measured.memory_bytes as f64 / f64::from(1 << 30), 3)
}

/// Tests the statements of sections 5.3 and 5.4.
fn check(found: &[(&str, Measurement)], equal_ram: bool) -> Statements {
    let mut statements = Statements::default();
    let Some((_, gecko)) = found.iter().find(|(ftl, _)| *ftl == "gecko") else { return statements };
    let total = |measured: &Measurement| measured.amplification().iter().sum::<f64>();
    let other_ftls: Vec<_> = found.iter().filter(|(ftl, _)| *ftl != "gecko").collect();
    let case = |ftl: &str, holds: bool| (ftl.to_owned(), holds);
    statements.check(
        "GeckoFTL has the lowest write amplification",
        other_ftls.iter().map(|(ftl, other)| case(ftl, total(gecko) < total(other))),
    );
    let amplification = |measured: &Measurement, cause: &str| {
        let at = CAUSES.iter().position(|known| *known == cause).expect("a cause of the table");
        measured.amplification()[at]
    };
    statements.check(
        "its amplification for translation is the lowest",
        other_ftls.iter().map(|(ftl, other)| {
            case(ftl, amplification(gecko, "translation") <= amplification(other, "translation"))
        }),
    );
    let in_flash = other_ftls.iter().filter(|(ftl, _)| ["mu_ftl", "ib_ftl"].contains(ftl));
    statements.check(
        "its amplification for validity is below that of FTLs that keep validity in flash too",
        in_flash.map(|(ftl, other)| {
            case(ftl, amplification(gecko, "validity") < amplification(other, "validity"))
        }),
    );
    let bitmap = other_ftls.iter().filter(|(ftl, _)| *ftl == "mu_ftl");
    statements.check(
        "its amplification for validity is 98 percent below that of a bitmap in flash",
        bitmap.map(|(ftl, other)| case(ftl, gecko.amplification()[2] <= 0.02 * other.amplification()[2])),
    );
    if equal_ram {
        statements.check(
            "a larger cache leaves less than a quarter of what the translation table costs DFTL",
            translation_shares_with_larger_cache(found)
                .map(|(ftl, share)| (format!("{ftl}: {share:.2}"), share < 0.25)),
        );
    } else {
        check_unequal_ram(&mut statements, found, gecko);
        check_order(&mut statements, found);
    }
    statements
}

/// Returns the cost of the translation table of FTLs with a larger cache, as a share of its cost in DFTL.
fn translation_shares_with_larger_cache<'a>(
    found: &'a [(&'a str, Measurement)],
) -> impl Iterator<Item = (&'a str, f64)> {
    let dftl = found.iter().find(|(ftl, _)| *ftl == "dftl").map(|(_, measured)| measured.amplification()[1]);
    let other_ftls = found.iter().filter(|(ftl, _)| *ftl != "dftl");
    other_ftls.filter_map(move |(ftl, measured)| Some((*ftl, measured.amplification()[1] / dftl?)))
}

fn check_unequal_ram(statements: &mut Statements, found: &[(&str, Measurement)], gecko: &Measurement) {
    let select = |names: [&'static str; 2]| found.iter().filter(move |(ftl, _)| names.contains(ftl));
    let case = |ftl: &str, holds: bool| (ftl.to_owned(), holds);
    let ram = |measured: &Measurement| measured.ram_bytes() as f64;
    statements.check(
        "its RAM without the cache is 95 percent below that of FTLs with the bitmap in RAM",
        select(["dftl", "lazyftl"]).map(|(ftl, other)| {
            let cache = other.ram[0].1 as f64;
            case(ftl, ram(gecko) - cache <= 0.05 * (ram(other) - cache))
        }),
    );
    statements.check(
        "its recovery is at least 51 percent shorter than that of FTLs without a battery",
        select(["lazyftl", "ib_ftl"])
            .map(|(ftl, other)| case(ftl, gecko.recovery_s() <= 0.49 * other.recovery_s())),
    );
}

/// Tests the order of the FTLs: section 5.3 names the best or the worst of five FTLs, so all five must have been run.
fn check_order(statements: &mut Statements, found: &[(&str, Measurement)]) {
    if found.len() < FTLS.len() {
        return;
    }
    let mut first = |statement: &str, names: &[&str], value: &dyn Fn(&Measurement) -> f64| {
        let (named, rest): (Vec<_>, Vec<_>) = found.iter().partition(|(ftl, _)| names.contains(ftl));
        let most_of_rest = rest.iter().map(|(_, measured)| value(measured)).fold(f64::NEG_INFINITY, f64::max);
        let case = |(ftl, measured): &&(&str, Measurement)| {
            (format!("{ftl}: {:.4}", value(measured).abs()), value(measured) > most_of_rest)
        };
        statements.check(statement, named.iter().map(case));
    };
    let counters = |measured: &Measurement| {
        let part = |wanted: bool| {
            let parts = measured.ram.iter();
            parts
                .filter(|(name, _)| (name == "block validity counters") == wanted)
                .map(|(_, bytes)| *bytes)
                .max()
        };
        part(true) > part(false)
    };
    first("DFTL and LazyFTL need the most RAM", &["dftl", "lazyftl"], &|one| one.ram_bytes() as f64);
    first("GeckoFTL and mu-FTL need the least RAM", &["gecko", "mu_ftl"], &|one| -(one.ram_bytes() as f64));
    first("LazyFTL and IB-FTL take the longest to recover", &["lazyftl", "ib_ftl"], &Measurement::recovery_s);
    first("the translation table costs LazyFTL and IB-FTL the most", &["lazyftl", "ib_ftl"], &|one| {
        one.amplification()[1]
    });
    first("validity costs mu-FTL the most", &["mu_ftl"], &|one| one.amplification()[2]);
    let lowest = found.iter().filter(|(ftl, _)| ["gecko", "mu_ftl"].contains(ftl));
    statements.check(
        "counters of valid pages are the largest part of the RAM of GeckoFTL and of mu-FTL",
        lowest.map(|(ftl, measured)| ((*ftl).to_owned(), counters(measured))),
    );
}
