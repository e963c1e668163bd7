//! Merges of BAST, page by page; blocks of 4 pages.

use super::super::Restart;
use super::super::hybrid::{HybridConfig, HybridFtl, HybridKind};
use super::drives::{
    PowerCutNand, count, flash, hybrid, hybrid_config, owners, power_cut_nand, read, reports, trim, write,
};
use crate::counters::{Cause, Operation};
use crate::layer::{Answer, ContentId, Layer, LayerError, Query, RecoveryReport};
use crate::nand::{Faults, Flash, Nand, PowerCut, PowerSource, Wear};
use crate::seed::{Seed, random_below};
use crate::units::{BlockId, Lpn};

type Drive = HybridFtl<Nand<ContentId>>;

/// Returns a configuration with three logical blocks and two logs.
fn config() -> HybridConfig {
    hybrid_config(HybridKind::Bast, 12, 2)
}

/// Returns the numbers of switch, partial and full merges and of padding pages; then the pages that merges wrote and
/// read, and the blocks they erased.
fn merge_counts(drive: &Drive) -> ([u64; 4], [u64; 3]) {
    let (layer, nand) = reports(drive);
    let names = ["switch merges", "partial merges", "full merges", "padding pages"];
    let cleaned = [Operation::Write, Operation::Read, Operation::Erase]
        .map(|operation| layer.counters.outgoing(Cause::Cleaning, operation));
    assert_eq!(layer.cleanings, Some(names[..3].iter().map(|name| count(&layer, name)).sum()));
    assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(layer.counters.outgoing_total(Operation::Read), nand.reads);
    assert_eq!(layer.counters.outgoing_total(Operation::Erase), nand.erases);
    (names.map(|name| count(&layer, name)), cleaned)
}

/// Returns the written pages of each block.
fn rows(drive: &Drive) -> Vec<String> {
    drive.check().unwrap();
    owners(drive.flash())
}

#[test]
fn pages_in_order_fill_data_blocks() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 4, 2, 5]);
    assert_eq!(rows(&drive), ["0 1 2", "4 5", "", "", "", ""]);
    assert_eq!(read(&mut drive, [0, 2, 3, 5, 11]), [100, 102, 0, 105, 0]);
    let (layer, _) = reports(&drive);
    assert_eq!(
        (layer.mapped_pages, layer.logical_pages, layer.physical_pages, layer.directory),
        (5, 12, 24, "bast")
    );
    assert_eq!(layer.counters.incoming(Operation::Write), 5);
    assert_eq!(layer.counters.incoming(Operation::Read), 5);
    assert_eq!(layer.counters.outgoing(Cause::Host, Operation::Read), 3);
    // Three logical blocks with an address and a write pointer of 4 bytes each, two logs of 4 pages, and one bit per
    // page.
    let ram: Vec<(&str, u64)> = layer.ftl.unwrap().ram.iter().map(|part| (part.name, part.bytes)).collect();
    assert_eq!(ram, [("block map", 12), ("write pointers", 12), ("log map", 32), ("trimmed pages", 2)]);
    assert_eq!(layer.map_bytes, Some(12 + 12 + 32 + 2));
    assert_eq!(merge_counts(&drive), ([0; 4], [0; 3]));
}

#[test]
fn log_written_in_order_becomes_data_block() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 0, 1, 2]);
    assert_eq!(rows(&drive), ["0 1 2 3", "0 1 2", "", "", "", ""]);
    write(&mut drive, [3]);
    // This was a switch merge, which copies no page.
    assert_eq!(rows(&drive), ["", "0 1 2 3", "", "", "", ""]);
    assert_eq!(merge_counts(&drive), ([1, 0, 0, 0], [0, 0, 1]));
    assert_eq!(read(&mut drive, 0..4), [100, 101, 102, 103]);
}

#[test]
fn partial_merge_appends_missing_pages() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 0, 1]);
    write(&mut drive, 4..8);
    write(&mut drive, [5]);
    write(&mut drive, 8..12);
    assert_eq!(rows(&drive), ["0 1 2 3", "0 1", "4 5 6 7", "5", "8 9 10 11", ""]);
    // A third log is needed: the least recently written log, whose pages are in order, is merged.
    write(&mut drive, [9]);
    assert_eq!(rows(&drive), ["", "0 1 2 3", "4 5 6 7", "5", "8 9 10 11", "9"]);
    assert_eq!(merge_counts(&drive), ([0, 1, 0, 0], [2, 2, 1]));
    // Next, the log of page 5, whose pages are not in order, is merged in a full merge into the most recently erased
    // block.
    write(&mut drive, [1]);
    assert_eq!(rows(&drive), ["4 5 6 7", "0 1 2 3", "1", "", "8 9 10 11", "9"]);
    assert_eq!(merge_counts(&drive), ([0, 1, 1, 0], [6, 6, 3]));
    assert_eq!(read(&mut drive, 0..12), (100..112).collect::<Vec<u64>>());
}

/// Pages of a data block are valid if no log block holds a newer copy. In a log block, the newest copy of each page
/// is valid.
#[test]
fn left_valid_counts_data_blocks_and_logs() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 1, 4, 1]);
    assert_eq!(rows(&drive)[..3], ["0 1 2 3", "1 1", "4"]);
    for (pages, valid_pages, block_pages) in [
        (&[0][..], 2, 4),
        (&[1], 0, 4),
        (&[0, 1], 2, 8),
        (&[0, 2, 3], 0, 4),
        (&[3, 4], 2, 8),
        (&[5, 8], 0, 0),
    ] {
        let pages: Vec<Lpn> = pages.iter().copied().map(Lpn).collect();
        let answer = drive.query(Query::LeftValid(&pages));
        assert_eq!(answer, Answer::LeftValid { valid_pages, block_pages }, "{pages:?}");
    }
}

#[test]
fn full_log_is_merged_before_next_page() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 2, 1, 0]);
    write(&mut drive, [1]);
    assert_eq!(rows(&drive), ["0 1 2 3", "2 1 0 1", "", "", "", ""]);
    write(&mut drive, [3]);
    assert_eq!(rows(&drive), ["", "", "0 1 2 3", "3", "", ""]);
    assert_eq!(merge_counts(&drive), ([0, 0, 1, 0], [4, 4, 2]));
    assert_eq!(read(&mut drive, 0..4), [100, 101, 102, 103]);
}

#[test]
fn page_out_of_order_goes_to_log_despite_room_in_data_block() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 2]);
    assert_eq!(rows(&drive), ["0", "2", "", "", "", ""]);
    // While the logical block has a dedicated log, its data block accepts no more pages.
    write(&mut drive, [1, 3, 1]);
    assert_eq!(rows(&drive), ["0", "2 1 3 1", "", "", "", ""]);
    write(&mut drive, [3]);
    assert_eq!(rows(&drive), ["", "", "0 1 2 3", "3", "", ""]);
    // A logical block whose first written page is not its first page starts with a log.
    write(&mut drive, [6]);
    assert_eq!(rows(&drive)[4], "6");
    assert_eq!(read(&mut drive, 0..8), [100, 101, 102, 103, 0, 0, 106, 0]);
}

#[test]
fn pages_without_data_are_padding() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3]);
    trim(&mut drive, [2]);
    write(&mut drive, [0, 4, 5, 8, 9, 6, 7]);
    write(&mut drive, [5]);
    // Page 1, padding for page 2, and page 3 are written behind page 0.
    write(&mut drive, [8]);
    assert_eq!(rows(&drive)[1], "0 1 ~ 3");
    assert_eq!(merge_counts(&drive), ([0, 1, 0, 1], [3, 2, 1]));
    assert_eq!(read(&mut drive, 0..4), [100, 101, 0, 103]);
    // Behind the last page that holds data, only one page is written, to record the merge.
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3]);
    trim(&mut drive, [1, 2, 3]);
    write(&mut drive, [0, 5, 9]);
    write(&mut drive, [4]);
    assert_eq!(
        rows(&drive),
        ["0 1 2 3", "0", "5 4", "9", "", ""].map(str::to_owned).map(|row| match row.as_str() {
            // The third log caused a merge of the first.
            "0 1 2 3" => String::new(),
            "0" => "0 ~".to_owned(),
            _ => row,
        })
    );
    assert_eq!(merge_counts(&drive), ([0, 1, 0, 1], [1, 0, 1]));
}

#[test]
fn logical_block_without_data_frees_its_blocks() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 2, 6]);
    trim(&mut drive, [0, 1, 3]);
    assert_eq!(rows(&drive), ["0 1 2 3", "2", "6", "", "", ""]);
    trim(&mut drive, [2, 2, 7]);
    assert_eq!(rows(&drive), ["", "", "6", "", "", ""]);
    trim(&mut drive, [6]);
    assert_eq!(rows(&drive), [""; 6]);
    assert_eq!(merge_counts(&drive), ([0; 4], [0, 0, 3]));
    let (layer, _) = reports(&drive);
    assert_eq!((layer.mapped_pages, layer.counters.incoming(Operation::Trim)), (0, 7));
    assert_eq!(read(&mut drive, [0, 6]), [0, 0]);
}

fn restart(drive: Drive) -> (Drive, RecoveryReport) {
    HybridFtl::restart(&config().into(), drive.into_flash()).map_err(|(error, _)| error).unwrap()
}

/// Returns the costs of the steps of a recovery: spare areas read, and blocks erased.
fn cost(report: &RecoveryReport) -> Vec<(&'static str, u64, u64)> {
    report.steps.iter().map(|step| (step.name, step.spare_reads, step.erases)).collect()
}

#[test]
fn recovery_finds_data_blocks_and_logs() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 4, 5, 1, 3, 1]);
    let before = rows(&drive);
    assert_eq!(before, ["0 1 2 3", "4 5", "1 3 1", "", "", ""]);
    let (mut drive, report) = restart(drive);
    assert_eq!(rows(&drive), before);
    assert_eq!(read(&mut drive, 0..8), [100, 101, 102, 103, 104, 105, 0, 0]);
    // The first step reads the first page of each block.
    assert_eq!(cost(&report)[0], ("first pages", 6, 0));
    assert_eq!(cost(&report).last().unwrap(), &("left over blocks", 0, 0));
    assert_eq!(reports(&drive).0.ftl.unwrap().recovery, Some(report));
    // Work continues as before: page 6 goes to the data block, page 0 to the log, which is then full.
    write(&mut drive, [6, 0]);
    assert_eq!(rows(&drive), ["0 1 2 3", "4 5 6", "1 3 1 0", "", "", ""]);
    write(&mut drive, [0]);
    assert_eq!(rows(&drive), ["", "4 5 6", "", "0 1 2 3", "0", ""]);
    assert_eq!(read(&mut drive, 0..8), [100, 101, 102, 103, 104, 105, 106, 0]);
}

#[test]
fn recovery_erases_leftovers_of_interrupted_merge() {
    // The new data block is complete, and power is lost before the old ones are erased.
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 0, 1, 2, 3]);
    let mut flash = drive.into_flash().flash;
    assert_eq!(owners(&flash)[..2], ["", "0 1 2 3"]);
    // The flash looks as if the erase had only been started.
    flash.tear_erase(BlockId(0));
    let (mut drive, report) =
        restart(HybridFtl::recover(config(), flash.into(), None).map_err(|(error, _)| error).unwrap().0);
    assert_eq!(rows(&drive), ["", "0 1 2 3", "", "", "", ""]);
    assert_eq!(cost(&report).last().unwrap(), &("left over blocks", 0, 0), "the first recovery erased it");
    assert_eq!(read(&mut drive, 0..4), [100, 101, 102, 103]);
}

/// Recovery searches spare areas for padding only in blocks whose notes record padding.
#[test]
fn recovery_reads_padding_only_where_noted() {
    for (trimmed, expected_reads, found) in [(None, 0, 102), (Some(2), 4, 0)] {
        let mut drive = hybrid(config());
        write(&mut drive, 0..4);
        trim(&mut drive, trimmed);
        write(&mut drive, [0, 4, 5, 8, 9, 6, 7, 5]);
        // A third log causes a merge of the first: pages 1 to 3 are copied behind page 0.
        write(&mut drive, [8]);
        assert_eq!(merge_counts(&drive).0[..2], [0, 1]);
        let (mut drive, report) = restart(drive);
        assert_eq!(cost(&report)[2], ("padding", expected_reads, 0));
        assert_eq!(read(&mut drive, 0..4), [100, 101, found, 103]);
    }
}

/// A partial merge interrupted by a power cut leaves a log with some copies in it. The log is then an ordinary log,
/// even if the host fills it as far as the merge would have.
#[test]
fn recovery_ignores_interrupted_merge() {
    let power_source = PowerSource::new(false);
    let mut drive = HybridFtl::new(config(), power_cut_nand(6, Faults::default(), &power_source)).unwrap();
    write(&mut drive, 0..4);
    trim(&mut drive, [3]);
    write(&mut drive, [0, 4, 5, 4, 8, 9]);
    // A third log causes a merge of the first: pages 1 and 2 must be copied behind page 0.
    power_source.schedule_cut(Some(PowerCut { after: power_source.operations() + 1, torn: false }));
    assert!(drive.write(&[Lpn(8)], &[ContentId(108)], 0).unwrap_err().is_power_loss());
    let restart = |drive: HybridFtl<PowerCutNand>| {
        power_source.restore();
        HybridFtl::restart(&config().into(), drive.into_flash()).map_err(|(error, _)| error).unwrap().0
    };
    let mut drive = restart(drive);
    assert_eq!(owners(drive.flash())[..2], ["0 1 2 3", "0 1"]);
    let found = read(&mut drive, 0..12);
    write(&mut drive, [2]);
    drive.flush().unwrap();
    assert_eq!(owners(drive.flash())[..2], ["0 1 2 3", "0 1 2"]);
    let mut drive = restart(drive);
    assert_eq!(owners(drive.flash())[..2], ["0 1 2 3", "0 1 2"], "the data block is needed still");
    assert_eq!(read(&mut drive, 0..12), found);
    drive.check().unwrap();
}

#[test]
fn torn_page_closes_its_block() {
    let mut drive = hybrid(config());
    write(&mut drive, [0, 1, 2, 3, 4, 5, 1]);
    let mut flash = drive.into_flash().flash;
    flash.tear_program(BlockId(1), 2);
    flash.tear_program(BlockId(2), 1);
    let (mut drive, _) =
        HybridFtl::recover(config(), flash.into(), None).map_err(|(error, _)| error).unwrap();
    assert_eq!(rows(&drive)[..3], ["0 1 2 3", "4 5 x", "1 x"]);
    assert_eq!(read(&mut drive, 0..8), [100, 101, 102, 103, 104, 105, 0, 0]);
    // Neither block accepts more pages: page 6 goes to a separate log, and page 2 causes a merge of the closed log.
    write(&mut drive, [6]);
    assert_eq!(rows(&drive), ["0 1 2 3", "4 5 x", "1 x", "6", "", ""]);
    write(&mut drive, [2]);
    assert_eq!(rows(&drive), ["", "4 5 x", "", "6", "0 1 2 3", "2"]);
    assert_eq!(read(&mut drive, 0..8), [100, 101, 102, 103, 104, 105, 106, 0]);
}

#[test]
fn invalid_settings_are_rejected() {
    let key = |config: HybridConfig, blocks: u32| {
        HybridFtl::new(config, flash(blocks)).err().map(|error| error.key)
    };
    // Three logical blocks, two logs, and one block as destination of merges.
    assert_eq!((key(config(), 6), key(config(), 5).as_deref()), (None, Some("logical_pages")));
    let longer = HybridConfig { logical_pages: 13, ..config() };
    assert_eq!((key(longer, 7), key(longer, 6).as_deref()), (None, Some("logical_pages")));
    assert_eq!(key(HybridConfig { log_blocks: 1, ..config() }, 9).as_deref(), Some("log_blocks"));
    assert_eq!(key(HybridConfig { logical_pages: 0, ..config() }, 9).as_deref(), Some("logical_pages"));
    assert_eq!([10, 66, 67, 100, 1000].map(HybridConfig::default_log_blocks), [2, 2, 2, 3, 30]);
    let mut drive = hybrid(config());
    let outside = LayerError::OutOfRange { page: 12, pages: 12 };
    assert_eq!(drive.write(&[Lpn(12)], &[ContentId(1)], 0), Err(outside.clone()));
    assert_eq!(drive.read(&[Lpn(12)], &mut Vec::new()), Err(outside.clone()));
    assert_eq!(drive.trim(&[Lpn(12)]), Err(outside));
    drive.flush().unwrap();
    assert_eq!(reports(&drive).0.counters.incoming(Operation::Flush), 1);
}

/// Both kinds of hybrid FTL on flash with program failures, wear and read disturb, until the end of life.
#[test]
fn failing_flash_loses_no_data() {
    for kind in [HybridKind::Bast, HybridKind::Fast] {
        let config = hybrid_config(kind, 22, 3);
        let faults = Faults { program_failure_rate: 0.01, read_disturb_limit: Some(8) };
        let wear = Wear { endurance_cycles: Some(60), endurance_spread: 0.2, factory_bad_blocks: 1 };
        let geometry = crate::nand::Geometry::flat(30, 4, 4096);
        let nand = Nand::new(geometry, wear, Seed(3)).with_spare_area().with_faults(faults, Seed(3));
        let mut drive = HybridFtl::new(config, nand).unwrap();
        let mut expected = [0; 22];
        let mut random = Seed(8).random();
        let error = loop {
            let page = random_below(&mut random, 22) as u32;
            let version = 1 + random_below(&mut random, 1 << 40);
            if random_below(&mut random, 12) == 0 {
                drive.trim(&[Lpn(page)]).unwrap();
                expected[page as usize] = 0;
            } else if let Err(error) = drive.write(&[Lpn(page)], &[ContentId(version)], 0) {
                break error;
            } else {
                expected[page as usize] = version;
            }
            drive.check().unwrap();
            let page = random_below(&mut random, 22) as u32;
            assert_eq!(read(&mut drive, [page]), [expected[page as usize]]);
        };
        assert!(error.is_end_of_life(), "{error}");
        let (layer, nand) = reports(&drive);
        assert!(count(&layer, "refreshes") > 0 && count(&layer, "program failures") > 0, "{layer:?}");
        assert!(layer.counters.outgoing(Cause::WearLevelling, Operation::Write) > 0);
        assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
        assert_eq!(layer.counters.outgoing_total(Operation::Erase), nand.erases);
        assert!(nand.bad_blocks > 5, "{}", nand.bad_blocks);
    }
}

/// A block is rewritten after the read that reaches the limit, whether reads come alone or together.
#[test]
fn reads_alone_rewrite_blocks_that_are_read_too_often() {
    let faults = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(50) };
    for kind in [HybridKind::Bast, HybridKind::Fast] {
        let run = |batch: usize| {
            let nand = flash(20).with_faults(faults, Seed(3));
            let mut drive = HybridFtl::new(hybrid_config(kind, 12, 2), nand).unwrap();
            write(&mut drive, 0..12);
            for pages in [5; 2000].chunks(batch) {
                read(&mut drive, pages.iter().copied());
            }
            drive.check().unwrap();
            let (layer, nand) = reports(&drive);
            (count(&layer, "refreshes"), nand.programs, nand.erases, nand.reads)
        };
        let alone = run(1);
        // 2,000 reads reach the limit of 50 forty times.
        assert!(alone.0 >= 40, "{kind:?}: {alone:?}");
        assert_eq!(run(7), alone, "{kind:?}");
    }
}
