//! Numbers printed in the paper, compared with the model.

use super::*;

fn drive(sizes: FtlSizes) -> FtlDrive {
    FtlDrive::new(sizes).unwrap()
}

/// Returns the default configuration (section 5) without partitions, as in appendix B.
fn drive_without_partitions() -> FtlDrive {
    drive(FtlSizes { partitions: 1, ..FtlSizes::default() })
}

fn ram_of(ftl: Ftl, drive: &FtlDrive) -> u64 {
    ram(&ftl.design(drive.sizes().battery), drive).iter().map(|part| part.bytes).sum()
}

fn part_of(ftl: Ftl, drive: &FtlDrive, name: &str) -> u64 {
    let parts = ram(&ftl.design(drive.sizes().battery), drive);
    parts.iter().find(|part| part.name == name).unwrap_or_else(|| panic!("no {name}")).bytes
}

fn steps_of(ftl: Ftl, drive: &FtlDrive) -> Vec<RecoveryStepCost> {
    recovery(&ftl.design(drive.sizes().battery), drive)
}

fn step_of(ftl: Ftl, drive: &FtlDrive, name: &str) -> RecoveryStepCost {
    let steps = steps_of(ftl, drive);
    *steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn seconds_of(ftl: Ftl, drive: &FtlDrive) -> f64 {
    steps_of(ftl, drive).iter().map(|step| step.seconds(drive)).sum()
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn assert_close(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual / expected - 1.0).abs() <= tolerance, "{actual} instead of {expected}");
}

/// Section 2: a table of 1.4 GB, a directory of 1.4 MB, and a bitmap of 64 MB, 45 times the directory.
#[test]
fn sizes_of_section_2() {
    let drive = drive_without_partitions();
    assert_close(mib(drive.table_bytes()), 1.4 * 1024.0, 1e-6);
    assert_close(mib(part_of(Ftl::GeckoFtl, &drive, "global mapping directory")), 1.4, 1e-5);
    assert_eq!(part_of(Ftl::Dftl, &drive, "validity bitmap"), 64 << 20);
    assert_close(64.0 / 1.4, 45.0, 0.02);
}

/// Section 2: 26 minutes to read all spare areas, 7 minutes to write all translation pages, 36 s to read them.
///
/// The 26 minutes are 2^29 times 3 us, 26.8 minutes. Footnote 4 derives the 3 us from 100 / 32 us, with which the
/// result is 28 minutes.
#[test]
fn times_of_section_2() {
    let rounded = drive(FtlSizes { spare_read_us: 3.0, ..FtlSizes::default() });
    assert_close(seconds_of(Ftl::Page, &rounded) / 60.0, 26.0, 0.04);
    assert_close(seconds_of(Ftl::Page, &drive_without_partitions()) / 60.0, 27.96, 1e-3);
    let all_dirty = drive(FtlSizes { dirty_share: 1.0, ..FtlSizes::default() });
    let step = step_of(Ftl::LazyFtl, &all_dirty, "dirty entries");
    assert_eq!(step.page_writes, all_dirty.translation_pages(), "C is above TT / P");
    let synchronising = RecoveryStepCost { spare_reads: 0, ..step };
    assert_close(synchronising.seconds(&all_dirty) / 60.0, 7.0, 0.04);
    assert_close(step_of(Ftl::LazyFtl, &all_dirty, "validity bitmap").seconds(&all_dirty), 36.0, 0.02);
}

/// Appendix B: counters of valid pages, and the levels, directories and buffers of Logarithmic Gecko.
#[test]
fn structures_of_appendix_b() {
    let drive = drive_without_partitions();
    assert_eq!(part_of(Ftl::GeckoFtl, &drive, "block validity counters"), 8 << 20);
    // 2 * 4 * (2 K) / (P / (4 + B / 8)); the paper divides by 204.8, but only 204 entries fit into a page.
    assert_close(
        part_of(Ftl::GeckoFtl, &drive, "run directories") as f64,
        16.0 * f64::from(1 << 22) / 204.8,
        0.004,
    );
    assert_eq!(drive.gecko_levels(), 15);
    assert_eq!(part_of(Ftl::GeckoFtl, &drive, "gecko buffers"), 4096 * 17);
}

/// The bitmap is 92 % of LazyFTL's RAM with the mapping cache and 98 % without it; the paper's 95 % is between the two.
///
/// The paper's formulas do not give its saving of 95 %. With the cache GeckoFTL needs 80 % less RAM, without it 85 %
/// less, because its block counters alone (8 MiB) are an eighth of the bitmap. The RAM of Logarithmic Gecko itself is
/// 99 % smaller than the bitmap.
#[test]
fn ram_of_figure_13() {
    let drive = drive_without_partitions();
    let bitmap = mib(part_of(Ftl::LazyFtl, &drive, "validity bitmap"));
    let (lazy, gecko) = (mib(ram_of(Ftl::LazyFtl, &drive)), mib(ram_of(Ftl::GeckoFtl, &drive)));
    assert_close(bitmap / lazy, 0.922, 1e-3);
    assert_close(bitmap / (lazy - 4.0), 0.979, 1e-3);
    assert_close(1.0 - gecko / lazy, 0.801, 1e-3);
    assert_close(1.0 - (gecko - 4.0) / (lazy - 4.0), 0.850, 1e-3);
    let names = ["run directories", "gecko buffers"];
    let own: u64 = names.iter().map(|name| part_of(Ftl::GeckoFtl, &drive, name)).sum();
    assert!(mib(own) < 0.01 * bitmap);
    // Ranking in the text: DFTL and LazyFTL need the most RAM; mu-FTL slightly less than GeckoFTL; IB-FTL more than
    // both.
    assert_eq!(ram_of(Ftl::Dftl, &drive), ram_of(Ftl::LazyFtl, &drive));
    let [mu, ib] = [Ftl::MuFtl, Ftl::IbFtl].map(|ftl| mib(ram_of(ftl, &drive)));
    assert!(0.8 * gecko < mu && mu < gecko && gecko < ib && ib < lazy, "{mu} {gecko} {ib} {lazy}");
    // Section 5.4: "2 MB for the remaining" of DFTL's 70.
    assert_close(lazy, 70.0, 0.01);
}

/// "At least a 51 % reduction": 78 % against LazyFTL's whole recovery, and 52 % against its recovery without dirty
/// entries, both with entries in four parts.
#[test]
fn recovery_of_figure_13() {
    for (partitions, of_all, without_dirty) in [(4, 0.776, 0.521), (1, 0.800, 0.572)] {
        let drive = drive(FtlSizes { partitions, ..FtlSizes::default() });
        let (lazy, gecko) = (seconds_of(Ftl::LazyFtl, &drive), seconds_of(Ftl::GeckoFtl, &drive));
        assert_close(1.0 - gecko / lazy, of_all, 1e-3);
        let dirty = step_of(Ftl::LazyFtl, &drive, "dirty entries").seconds(&drive);
        assert_close(1.0 - gecko / (lazy - dirty), without_dirty, 1e-3);
        // FTLs with a battery recover fast; IB-FTL's log makes it the slowest, except for the scan of all pages.
        let [page, dftl, mu, ib] =
            [Ftl::Page, Ftl::Dftl, Ftl::MuFtl, Ftl::IbFtl].map(|ftl| seconds_of(ftl, &drive));
        assert!(
            dftl < gecko && mu < gecko && lazy < ib && ib < page,
            "{dftl} {mu} {gecko} {lazy} {ib} {page}"
        );
        // The first scan is the largest step where no table has to be read.
        let first = steps_of(Ftl::GeckoFtl, &drive)[0];
        assert_eq!((first.name, first.spare_reads), ("block scan", 1 << 22));
        assert!(first.seconds(&drive) > 0.5 * gecko);
    }
}

#[test]
fn battery_replaces_the_search_for_dirty_entries() {
    let (with_battery, without_battery) = (Some(true), Some(false));
    let [with, without] =
        [with_battery, without_battery].map(|battery| drive(FtlSizes { battery, ..FtlSizes::default() }));
    for ftl in Ftl::ALL.into_iter().filter(|ftl| *ftl != Ftl::Page) {
        assert!(
            steps_of(ftl, &with).iter().all(|step| step.name != "dirty entries" && step.page_writes == 0)
        );
        assert!(seconds_of(ftl, &with) < seconds_of(ftl, &without), "{}", ftl.name());
        assert_eq!(ram_of(ftl, &with), ram_of(ftl, &without));
    }
    // Without a battery, FTLs designed for one read all spare areas and write all translation pages; DFTL also reads
    // the table.
    let step = step_of(Ftl::Dftl, &without, "dirty entries");
    assert_eq!((step.spare_reads, step.page_writes), (1 << 29, without.translation_pages()));
    assert_eq!(step_of(Ftl::Dftl, &without, "validity bitmap").page_reads, without.translation_pages());
    assert_eq!(steps_of(Ftl::GeckoFtl, &without), steps_of(Ftl::GeckoFtl, &drive(FtlSizes::default())));
}

/// Figure 1: RAM and recovery time grow with capacity. 128 GB need about 4 MB beyond the cache; the paper says 4 MB
/// with a cache of unstated size. 2 TB take "tens of seconds".
#[test]
fn growth_of_figure_1() {
    let of = |log2: u32| drive(FtlSizes { blocks: 1 << (log2 - 19), ..FtlSizes::default() });
    assert_close(mib(ram_of(Ftl::LazyFtl, &of(37)) - (4 << 20)), 4.0, 0.03);
    assert!((20.0..200.0).contains(&seconds_of(Ftl::LazyFtl, &of(41))));
    let [mut ram_before, mut seconds_before] = [0.0, 0.0];
    for log2 in 30..=44 {
        let (ram, seconds) = (mib(ram_of(Ftl::LazyFtl, &of(log2))), seconds_of(Ftl::LazyFtl, &of(log2)));
        assert!(ram > ram_before && seconds > seconds_before);
        [ram_before, seconds_before] = [ram, seconds];
    }
}

/// Section 5.1: a bitmap in flash costs 1 + 1/delta = 1.1. Figure 11: the curves cross when capacity is 2^100 times as
/// large.
///
/// Without partitions the model's curves cross at 2^97 blocks, 2^75 times as many; with four parts at 2^197. The
/// paper's simulation cuts the bitmap's write amplification by 98 %. The orders of table 1 give less: 84 % without
/// partitions, 92 % with four. Reasons: entries merge before they are written at every level, merges of several runs at
/// once save writes (appendix A: a factor of 1 / T), and queries end at the first erase flag.
#[test]
fn write_amplification_of_figures_9_and_11() {
    for (partitions, saved, crossing) in [(1, 0.839, 96.6), (4, 0.921, 196.6)] {
        let drive = drive(FtlSizes { partitions, ..FtlSizes::default() });
        let bitmap = flash_bitmap_write_amplification(&drive).unwrap();
        let gecko = gecko_write_amplification(&drive).unwrap();
        assert_close(bitmap, 1.1, 0.002);
        assert_close(1.0 - gecko / bitmap, saved, 0.001);
        assert_close(crossing_log2_blocks(&drive).unwrap(), crossing, 0.001);
    }
    // In figure 9 a size ratio of 2 is the best. T / log T is lowest near T = 3. By the orders of table 1, ratios of 2
    // to 4 are therefore within 15 % of each other, and the cost of queries decides. Beyond 4 the cost grows, as in the
    // figure.
    let of = |size_ratio| drive(FtlSizes { size_ratio, ..FtlSizes::default() });
    let cost = |size_ratio| gecko_write_amplification(&of(size_ratio)).unwrap();
    assert_close(cost(4), cost(2), 0.15);
    assert!(cost(2) < cost(8) && cost(8) < cost(16) && cost(16) < cost(32));
    // Figure 12: more cleaning barely increases the cost.
    let full = drive(FtlSizes { load: 0.9, ..FtlSizes::default() });
    assert!(gecko_write_amplification(&full).unwrap() < 2.0 * cost(2));
}
