//! GeckoFTL (SIGMOD 2016), Table 1 and the upper two thirds of Figure 13 by calculation: flash operations for page
//! validity, and RAM and recovery of five FTLs (and of a page map) on 2 TiB.

use crate::Failure;
use crate::gecko::{drive, mib, ram_mib, ram_of, recovery_of, recovery_s};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Table, number};
use wearwell_theory::ftl::{
    CounterCoverage, Ftl, FtlDrive, FtlSizes, crossing_log2_blocks, flash_bitmap_write_amplification,
    gecko_write_amplification, query_cost, update_cost,
};

/// Base-2 logarithm of the capacity in bytes, 2 TiB.
const LOG2_BYTES: u32 = 41;

/// Numbers of partitions: 1 for whole entries, as in appendix B, and B / key (section 3.3).
const PARTITIONS: [u32; 2] = [1, 4];

pub fn run(session: &Session) -> Result<(), Failure> {
    let drives = PARTITIONS.iter().map(|parts| drive(LOG2_BYTES, *parts)).collect::<Result<Vec<_>, _>>()?;
    operations(&drives)?.publish(session, "data")?;
    let balanced = &drives[1];
    ram_table(balanced).publish(session, "ram")?;
    recovery_table(balanced).publish(session, "recovery")?;
    section_2(balanced).publish(session, "section_2")?;
    let mut statements = check(&drives)?;
    check_abstract(&mut statements)?;
    statements.publish(session)
}

/// Tests the percentages in the abstract under several interpretations of the text. 51 %: share of the RAM bitmap in
/// the recovery time (section 1). 95 %: share of the bitmap in the RAM of a larger drive, or reduction of RAM by one
/// of the proposals in section 5.3 (larger blocks, a sample of the counters).
fn check_abstract(statements: &mut Statements) -> Result<(), Failure> {
    let percent = |share: f64, min: f64, name: &str| (format!("{name}: {:.1}", 100.0 * share), share >= min);
    let large = drive(LOG2_BYTES + 1, PARTITIONS[1])?;
    let share = mib(large.bitmap_bytes()) / ram_mib(Ftl::LazyFtl, &large);
    statements
        .check("the bitmap is 95 % of LazyFTL's RAM: at 4 TiB", [percent(share, 0.9495, "with the cache")]);
    let mut shorter = Vec::new();
    for partitions in PARTITIONS {
        let drive = drive(LOG2_BYTES, partitions)?;
        let steps = recovery_of(Ftl::LazyFtl, &drive);
        let without_dirty = steps.iter().filter(|step| step.name != "dirty entries");
        let lazy: f64 = without_dirty.map(|step| step.seconds(&drive)).sum();
        let saved = 1.0 - recovery_s(Ftl::GeckoFtl, &drive) / lazy;
        shorter.push(percent(saved, 0.51, &format!("S = {partitions}")));
    }
    statements.check("recovery is 51 % shorter than LazyFTL's without its dirty entries", shorter);
    let saved = |pages_per_block: u32, counters: CounterCoverage| -> Result<f64, Failure> {
        let default = FtlSizes::default();
        let (blocks, partitions) = (
            default.blocks * 128 / u64::from(pages_per_block),
            FtlSizes::balanced_partitions(pages_per_block),
        );
        let drive = FtlDrive::new(FtlSizes { blocks, pages_per_block, partitions, counters, ..default })?;
        let cache = mib(8 * drive.sizes().cache_entries);
        Ok(1.0 - (ram_mib(Ftl::GeckoFtl, &drive) - cache) / (ram_mib(Ftl::LazyFtl, &drive) - cache))
    };
    let sampled = CounterCoverage::Sampled { share: 0.05, choices: 2 };
    for (statement, pages_per_block, counters) in [
        (
            "GeckoFTL needs 95 % less RAM: without the cache; with 1024 pages a block",
            1024,
            CounterCoverage::Full,
        ),
        ("GeckoFTL needs 95 % less RAM: without the cache; with counters of 5 % of the blocks", 128, sampled),
        (
            "GeckoFTL needs 95 % less RAM: without the cache; without counters",
            128,
            CounterCoverage::None { choices: 10 },
        ),
    ] {
        statements.check(statement, [percent(saved(pages_per_block, counters)?, 0.95, "saved")]);
    }
    Ok(())
}

/// Returns Table 1 with numbers in place of orders of growth.
fn operations(drives: &[FtlDrive]) -> Result<Table, Failure> {
    let mut table = Table::new(&[
        "technique",
        "S",
        "V",
        "L",
        "update_reads",
        "update_writes",
        "cleaning_reads",
        "cleaning_writes",
        "write_amplification",
        "crossing_log2_blocks",
    ]);
    let bitmap = flash_bitmap_write_amplification(&drives[0])?;
    let none = String::new;
    let head = ["bitmap in flash".to_owned(), none(), none(), none()];
    let row = [1.0, 1.0, 1.0, 0.0, bitmap].map(|value| number(value, 5));
    table.push(head.into_iter().chain(row).chain([none()]).collect());
    for drive in drives {
        let sizes = drive.sizes();
        let entries = drive.gecko_entries_per_page();
        let update = update_cost(sizes.size_ratio, entries, sizes.blocks, sizes.partitions);
        let query = query_cost(sizes.size_ratio, entries, sizes.blocks, sizes.partitions);
        let head = [
            "Logarithmic Gecko".to_owned(),
            sizes.partitions.to_string(),
            entries.to_string(),
            drive.gecko_levels().to_string(),
        ];
        let row = [update.reads, update.writes, query.reads, query.writes, gecko_write_amplification(drive)?];
        let crossing = number(crossing_log2_blocks(drive)?, 1);
        table.push(head.into_iter().chain(row.map(|value| number(value, 5))).chain([crossing]).collect());
    }
    Ok(table)
}

fn ram_table(drive: &FtlDrive) -> Table {
    let mut table = Table::new(&["ftl", "structure", "mib"]);
    for ftl in Ftl::ALL {
        let parts = ram_of(ftl, drive).into_iter().map(|part| (part.name, mib(part.bytes)));
        for (name, mib) in parts.chain([("sum", ram_mib(ftl, drive))]) {
            table.push([ftl.title(), name, &number(mib, 3)].map(str::to_owned).to_vec());
        }
    }
    table
}

fn recovery_table(drive: &FtlDrive) -> Table {
    let mut table = Table::new(&["ftl", "step", "spare_reads", "page_reads", "page_writes", "seconds"]);
    for ftl in Ftl::ALL {
        let mut sums = [0; 3];
        for step in recovery_of(ftl, drive) {
            let counts = [step.spare_reads, step.page_reads, step.page_writes];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            table.push(row(ftl, step.name, counts, step.seconds(drive)));
        }
        table.push(row(ftl, "sum", sums, recovery_s(ftl, drive)));
    }
    table
}

/// Returns the values for the paper's drive that are printed in the text of section 2 and in footnote 7. The times
/// are those of section 5.3: 3 us per spare area, 100 us per page read, 1 ms per page written.
fn section_2(drive: &FtlDrive) -> Table {
    let (pages, translation) = (drive.physical_pages() as f64, drive.translation_pages() as f64);
    let directory = mib(4 * drive.translation_pages());
    let rows = [
        ("translation table; GiB", 1.4, mib(drive.table_bytes()) / 1024.0),
        ("global mapping directory; MiB", 1.4, directory),
        ("validity bitmap; MiB", 64.0, mib(drive.bitmap_bytes())),
        ("validity bitmap over global mapping directory", 45.0, mib(drive.bitmap_bytes()) / directory),
        ("reading all spare areas; min", 26.0, pages * 3e-6 / 60.0),
        ("synchronising all translation pages; min", 7.0, translation * 1.1e-3 / 60.0),
        ("reading all translation pages; s", 36.0, translation * 1e-4),
        ("translation pages of all; percent", 0.1, 100.0 * translation / pages),
        ("Gecko pages of all; percent", 0.01, 100.0 * drive.gecko_pages() as f64 / pages),
    ];
    let mut table = Table::new(&["what", "printed", "ours"]);
    for (what, printed, ours) in rows {
        table.push(vec![what.to_owned(), printed.to_string(), number(ours, 4)]);
    }
    table
}

fn row(ftl: Ftl, name: &str, counts: [u64; 3], seconds: f64) -> Vec<String> {
    let counts = counts.map(|count| count.to_string());
    let head = [ftl.title(), name].map(str::to_owned);
    head.into_iter().chain(counts).chain([number(seconds, 3)]).collect()
}

fn check(drives: &[FtlDrive]) -> Result<Statements, Failure> {
    let mut statements = Statements::default();
    let mut tell = |statement: &str, value: &dyn Fn(&FtlDrive) -> Result<f64, Failure>, least: f64| {
        let cases = drives.iter().map(|drive| {
            let value = value(drive)?;
            Ok((format!("S = {}: {value:.3}", drive.sizes().partitions), value >= least))
        });
        let cases: Vec<(String, bool)> = cases.collect::<Result<_, Failure>>()?;
        statements.check(statement, cases);
        Ok::<(), Failure>(())
    };
    let bitmap_share = |drive: &FtlDrive| mib(drive.bitmap_bytes()) / ram_mib(Ftl::LazyFtl, drive);
    tell("the bitmap is 95 % of LazyFTL's RAM", &|drive| Ok(bitmap_share(drive)), 0.95)?;
    let ram_saved = |drive: &FtlDrive| 1.0 - ram_mib(Ftl::GeckoFtl, drive) / ram_mib(Ftl::LazyFtl, drive);
    tell("GeckoFTL needs 95 % less RAM", &|drive| Ok(ram_saved(drive)), 0.95)?;
    let time_saved =
        |drive: &FtlDrive| 1.0 - recovery_s(Ftl::GeckoFtl, drive) / recovery_s(Ftl::LazyFtl, drive);
    tell("recovery is 51 % shorter at least", &|drive| Ok(time_saved(drive)), 0.51)?;
    let writes_saved = |drive: &FtlDrive| {
        Ok(1.0 - gecko_write_amplification(drive)? / flash_bitmap_write_amplification(drive)?)
    };
    tell("98 % less write amplification than a bitmap in flash", &writes_saved, 0.98)?;
    let factor = |drive: &FtlDrive| Ok(crossing_log2_blocks(drive)? - (drive.blocks() as f64).log2());
    tell("the curves of figure 11 cross at 2^100 times the blocks", &factor, 100.0)?;
    Ok(statements)
}
