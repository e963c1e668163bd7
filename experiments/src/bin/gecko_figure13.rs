//! GeckoFTL (SIGMOD 2016), Figures 13 and 14, simulated: RAM, recovery and write amplification of five FTLs, and of three that
//! have the same RAM.

use lexopt::prelude::*;
use std::path::PathBuf;
use wearwell_engine::ftl::paged::PagedSettings;
use wearwell_experiments::Failure;
use wearwell_experiments::args::Args;
use wearwell_experiments::gecko::mib;
use wearwell_experiments::log_on_log::number;
use wearwell_experiments::paged::{CAUSES, FTLS, Measured, run, seconds, settings};
use wearwell_experiments::statements::Statements;
use wearwell_experiments::table::Table;

/// Times that the logical pages are written at random before, and while, it is measured.
const WARM_UP: f64 = 1.0;
const MEASURED: f64 = 0.25;

struct Asked {
    log2_blocks: u32,
    ftls: Vec<&'static str>,
    equal_ram: bool,
    args: Args,
}

fn parse() -> Result<Asked, Failure> {
    let mut parser = lexopt::Parser::from_env();
    let (mut log2_blocks, mut ftls, mut equal_ram) = (20, Vec::new(), false);
    let mut out = PathBuf::from("experiments/results");
    while let Some(arg) = parser.next()? {
        match arg {
            Long("blocks") => log2_blocks = parser.value()?.parse()?,
            Long("equal-ram") => equal_ram = true,
            Long("out") => out = parser.value()?.into(),
            Value(name) => {
                let known = FTLS.into_iter().find(|ftl| name == *ftl);
                ftls.push(known.ok_or_else(|| format!("no such FTL; one of {}", FTLS.join(", ")))?);
            }
            _ => return Err(arg.unexpected().into()),
        }
    }
    let mut command =
        format!("cargo run --release -p wearwell-experiments --bin gecko_figure13 -- --blocks {log2_blocks}");
    if equal_ram {
        command += " --equal-ram";
    }
    ftls.iter().for_each(|ftl| command += &format!(" {ftl}"));
    if ftls.is_empty() {
        ftls = if equal_ram { vec!["dftl", "mu_ftl", "gecko"] } else { FTLS.to_vec() };
    }
    Ok(Asked { log2_blocks, ftls, equal_ram, args: Args { runs: 0, length: 1.0, out, command } })
}

/// Figure 14: what a bitmap in RAM would take goes to the cache of those who have none, and all leave metadata blocks alone.
fn with_equal_ram(settings: PagedSettings) -> PagedSettings {
    let mut settings = settings;
    settings.config.cleans_metadata = false;
    if !settings.config.bitmap_in_ram() {
        // 64 MiB for 2^19 entries of 8 bytes.
        settings.config.cache_entries *= 17;
    }
    settings
}

fn main() -> Result<(), Failure> {
    let Asked { log2_blocks, ftls, equal_ram, args } = parse()?;
    let name = format!("gecko_figure{}_{log2_blocks}", if equal_ram { 14 } else { 13 });
    let mut table = Table::new(&[
        "ftl",
        "blocks",
        "ram_mib",
        "recovery_s",
        "wa_user",
        "wa_translation",
        "wa_validity",
        "wa",
        "plain_wa",
        "spare_reads",
        "million_writes_per_s",
        "memory_gib",
    ]);
    let mut parts = Table::new(&["ftl", "what", "name", "value"]);
    let mut found = Vec::new();
    for ftl in ftls {
        let usual = settings(ftl, 1 << log2_blocks)?;
        let settings = if equal_ram { with_equal_ram(usual) } else { usual };
        let measured = run(&settings, 1 << log2_blocks, WARM_UP, MEASURED)?;
        table.push(row(ftl, log2_blocks, &measured));
        for part in &measured.ram {
            parts.push([ftl, "RAM, MiB", part.name, &number(mib(part.bytes), 4)].map(str::to_owned).to_vec());
        }
        for step in &measured.recovery {
            let value = number(seconds(step), 4);
            parts.push([ftl, "recovery, s", step.name, &value].map(str::to_owned).to_vec());
        }
        found.push((ftl, measured));
        // Written after each, so that nothing is lost of hours of work.
        table.write(&args.out.join(format!("{name}.csv")), &args.command)?;
        parts.write(&args.out.join(format!("{name}_parts.csv")), &args.command)?;
    }
    table.publish(&args.out.join(format!("{name}.csv")), &args.command)?;
    parts.publish(&args.out.join(format!("{name}_parts.csv")), &args.command)?;
    check(&found, equal_ram).publish(&args, &name)
}

fn row(ftl: &str, log2_blocks: u32, measured: &Measured) -> Vec<String> {
    let amplification = measured.amplification();
    let plain: f64 = measured.traffic.iter().map(|(writes, _)| writes).sum();
    let ram: u64 = measured.ram.iter().map(|part| part.bytes).sum();
    let numbers = [
        number(mib(ram), 4),
        number(measured.recovery_s(), 4),
        number(amplification[0], 4),
        number(amplification[1], 4),
        number(amplification[2], 4),
        number(amplification.iter().sum(), 4),
        number(plain, 4),
        number(measured.spare_reads, 4),
        number(measured.rate / 1e6, 3),
        number(measured.memory_bytes as f64 / f64::from(1 << 30), 3),
    ];
    [ftl.to_owned(), format!("2^{log2_blocks}")].into_iter().chain(numbers).collect()
}

/// The paper's sections 5.3 and 5.4.
fn check(found: &[(&str, Measured)], equal_ram: bool) -> Statements {
    let mut statements = Statements::default();
    let Some((_, gecko)) = found.iter().find(|(ftl, _)| *ftl == "gecko") else { return statements };
    let total = |measured: &Measured| measured.amplification().iter().sum::<f64>();
    let others: Vec<_> = found.iter().filter(|(ftl, _)| *ftl != "gecko").collect();
    let case = |ftl: &str, holds: bool| (ftl.to_owned(), holds);
    statements.check(
        "GeckoFTL has the lowest write amplification",
        others.iter().map(|(ftl, other)| case(ftl, total(gecko) < total(other))),
    );
    let amplification = |measured: &Measured, cause: &str| {
        let at = CAUSES.iter().position(|known| *known == cause).expect("a cause of the table");
        measured.amplification()[at]
    };
    statements.check(
        "its amplification for translation is the lowest",
        others.iter().map(|(ftl, other)| {
            case(ftl, amplification(gecko, "translation") <= amplification(other, "translation"))
        }),
    );
    let in_flash = others.iter().filter(|(ftl, _)| ["mu_ftl", "ib_ftl"].contains(ftl));
    statements.check(
        "its amplification for validity is below that of FTLs that keep validity in flash, too",
        in_flash.map(|(ftl, other)| {
            case(ftl, amplification(gecko, "validity") < amplification(other, "validity"))
        }),
    );
    let bitmap = others.iter().filter(|(ftl, _)| *ftl == "mu_ftl");
    statements.check(
        "its amplification for validity is 98 percent below that of a bitmap in flash",
        bitmap.map(|(ftl, other)| case(ftl, gecko.amplification()[2] <= 0.02 * other.amplification()[2])),
    );
    if !equal_ram {
        let ram = |measured: &Measured| measured.ram.iter().map(|part| part.bytes).sum::<u64>() as f64;
        let in_ram = others.iter().filter(|(ftl, _)| ["dftl", "lazyftl"].contains(ftl));
        statements.check(
            "its RAM without the cache is 95 percent below that of FTLs with the bitmap in RAM",
            in_ram.map(|(ftl, other)| {
                let cache = other.ram[0].bytes as f64;
                case(ftl, ram(gecko) - cache <= 0.05 * (ram(other) - cache))
            }),
        );
        let without_battery = others.iter().filter(|(ftl, _)| ["lazyftl", "ib_ftl"].contains(ftl));
        statements.check(
            "its recovery is at least 51 percent shorter than that of FTLs without a battery",
            without_battery.map(|(ftl, other)| case(ftl, gecko.recovery_s() <= 0.49 * other.recovery_s())),
        );
    }
    statements
}
