//! Costs of Logarithmic Gecko compared with the paper. Its correctness is covered by the tests of all stores.

use super::*;
use crate::seed::{Random, Seed, random_below};
use crate::validity::MemoryFlash;

/// Returns a configuration with pages of 64 entries. A block has one entry, with 32 bits of bitmap and a key of 32
/// bits.
fn config(size_ratio: u32, multiway: bool) -> GeckoConfig {
    GeckoConfig { size_ratio, multiway, ..GeckoConfig::new(1 << 13, 32, 512) }
}

/// Invalidates random pages and erases a random block after every 50. Returns the number of updates.
fn update(gecko: &mut Gecko, flash: &mut MemoryFlash, random: &mut Random, rounds: u64) -> u64 {
    let (blocks, pages) = (u64::from(gecko.config.blocks), u64::from(gecko.config.pages_per_block));
    for _ in 0..rounds {
        for _ in 0..50 {
            gecko.invalidate(Slot(random_below(random, blocks * pages) as u32), flash).unwrap();
        }
        gecko.record_erase(BlockId(random_below(random, blocks) as u32), flash).unwrap();
    }
    rounds * 51
}

#[test]
fn update_costs_match_table_1() {
    for (size_ratio, multiway) in [(2, true), (2, false), (3, true), (3, false), (4, true), (5, false)] {
        let config = config(size_ratio, multiway);
        let (mut gecko, mut flash) = (Gecko::new(config).unwrap(), MemoryFlash::new());
        let mut random = Seed(1).derive("gecko").random();
        update(&mut gecko, &mut flash, &mut random, 2000);
        let (writes, reads) = (flash.appends(), flash.reads());
        let updates = update(&mut gecko, &mut flash, &mut random, 4000) as f64;
        let (writes, reads) = ((flash.appends() - writes) as f64, (flash.reads() - reads) as f64);
        let entries = f64::from(config.page_entries());
        let levels = (f64::from(config.blocks) / entries).ln() / f64::from(size_ratio).ln();
        let bound = f64::from(size_ratio) / entries * levels;
        // The bound assumes a constant factor below 1; the cost is at least one write per full buffer.
        assert!(writes / updates < bound, "T = {size_ratio}: {} > {bound}", writes / updates);
        assert!(reads / updates < bound, "T = {size_ratio}: {} > {bound}", reads / updates);
        assert!(writes / updates > 0.9 / entries, "T = {size_ratio}: {}", writes / updates);
    }
}

#[test]
fn multiway_merge_saves_writes_and_changes_no_answer() {
    let mut answers = Vec::new();
    for multiway in [true, false] {
        let (mut gecko, mut flash) = (Gecko::new(config(2, multiway)).unwrap(), MemoryFlash::new());
        update(&mut gecko, &mut flash, &mut Seed(2).derive("gecko").random(), 4000);
        let mut counts = Vec::new();
        let appends = flash.appends();
        gecko.count_invalid(&mut flash, &mut |block, count| counts.push((block, count))).unwrap();
        answers.push((appends, counts));
    }
    let (multiway, two_way) = (&answers[0], &answers[1]);
    assert_eq!(multiway.1, two_way.1);
    assert!(3 * multiway.0 < 2 * two_way.0, "{} and {} writes", multiway.0, two_way.0);
}

#[test]
fn query_reads_one_page_per_run() {
    for partitions in [1, 5, 32] {
        let config = GeckoConfig { partitions, ..config(2, true) };
        let (mut gecko, mut flash) = (Gecko::new(config).unwrap(), MemoryFlash::new());
        let mut random = Seed(3).derive("gecko").random();
        let mut invalid = PageSet::new(config.pages_per_block);
        for _ in 0..60 {
            update(&mut gecko, &mut flash, &mut random, 40);
            let runs = gecko.runs().count() as u64;
            assert!(runs <= u64::from(config.levels()) + 1, "{runs} runs, {} levels", config.levels());
            assert!(
                gecko.flash_pages() <= 2 * config.largest_run_pages() + 2,
                "{} pages",
                gecko.flash_pages()
            );
            let reads = flash.reads();
            let block = BlockId(random_below(&mut random, u64::from(config.blocks)) as u32);
            gecko.query(block, &mut invalid, &mut flash).unwrap();
            assert!(flash.reads() - reads <= runs);
        }
    }
}

#[test]
fn query_ends_at_erase_flag() {
    let (mut gecko, mut flash) = (Gecko::new(config(2, true)).unwrap(), MemoryFlash::new());
    update(&mut gecko, &mut flash, &mut Seed(4).derive("gecko").random(), 400);
    let mut invalid = PageSet::new(32);
    gecko.record_erase(BlockId(77), &mut flash).unwrap();
    let reads = flash.reads();
    gecko.query(BlockId(77), &mut invalid, &mut flash).unwrap();
    assert_eq!((flash.reads() - reads, invalid.count()), (0, 0), "the buffer knows");
    // After the buffer has been written, the flag is in the newest run.
    gecko.save(&mut flash).unwrap();
    assert!(gecko.runs().count() > 1, "{:?}", gecko.runs().collect::<Vec<_>>());
    let reads = flash.reads();
    gecko.query(BlockId(77), &mut invalid, &mut flash).unwrap();
    assert_eq!((flash.reads() - reads, invalid.count()), (1, 0));
}

#[test]
fn erase_takes_one_entry_for_any_number_of_parts() {
    let config = GeckoConfig { partitions: 8, ..config(2, true) };
    let (mut gecko, mut flash) = (Gecko::new(config).unwrap(), MemoryFlash::new());
    for part in 0..8 {
        gecko.invalidate(Slot(5 * 32 + part * 4), &mut flash).unwrap();
    }
    assert_eq!(gecko.buffered(), 8);
    gecko.record_erase(BlockId(5), &mut flash).unwrap();
    assert_eq!(gecko.buffered(), 1);
}

#[test]
fn recovery_ignores_runs_merged_into_smaller_one() {
    let config = GeckoConfig::new(256, 32, 64);
    assert_eq!(config.page_entries(), 8);
    let (mut gecko, mut flash) = (Gecko::new(config).unwrap(), MemoryFlash::retaining_discarded());
    for block in 0..32 {
        gecko.invalidate(Slot(block * 32), &mut flash).unwrap();
    }
    assert_eq!(gecko.runs().collect::<Vec<_>>(), [(2, 4)]);
    for block in 0..32 {
        gecko.record_erase(BlockId(block), &mut flash).unwrap();
    }
    // No entry is left: the result is a run of one page. The run of four pages is still in flash, and no other run is
    // in its level.
    assert_eq!(gecko.runs().collect::<Vec<_>>(), [(0, 1)]);
    let found = flash.scan();
    let mut gecko = Gecko::recover(config, &found, &mut flash).unwrap();
    assert_eq!(gecko.runs().collect::<Vec<_>>(), [(0, 1)]);
    gecko.count_invalid(&mut flash, &mut |block, count| panic!("{count} pages of {block:?}")).unwrap();
    assert_eq!(flash.live_pages(), 1);
}

#[test]
fn limited_buffer_is_flushed_after_updates() {
    for (buffer_inserts_limited, flushes) in [(false, 0), (true, 2)] {
        let config = GeckoConfig { buffer_inserts_limited, ..config(2, true) };
        let (mut gecko, mut flash) = (Gecko::new(config).unwrap(), MemoryFlash::new());
        for _ in 0..2 * config.page_entries() {
            gecko.invalidate(Slot(3), &mut flash).unwrap();
        }
        assert_eq!(gecko.report().flushes, flushes);
    }
}

#[test]
fn sizes_match_paper() {
    // Figure 2: 2 TB in blocks of 128 pages of 4 KiB.
    let config = GeckoConfig::new(1 << 22, 128, 4096);
    assert_eq!((config.partitions, config.page_entries(), config.levels()), (4, 512, 15));
    // Appendix B assumes entries of whole blocks: 4 bytes of key and 16 of bits.
    let whole = GeckoConfig { partitions: 1, ..config };
    let formula = 2.0 * 4.0 * 2.0 * f64::from(1 << 22) / (4096.0 / (4.0 + 128.0 / 8.0));
    let ram = Gecko::new(whole).unwrap().ram();
    assert_eq!(ram[0].name, "run directories");
    assert!((ram[0].bytes as f64 / formula - 1.0).abs() < 0.005, "{} for {formula}", ram[0].bytes);
    assert_eq!(ram[1], RamPart { name: "gecko buffers", bytes: 4096 * (2 + 15) });
}

#[test]
fn invalid_settings_are_rejected_by_key() {
    let good = config(2, true);
    assert!(Gecko::new(good).is_ok());
    let rejections = [
        (GeckoConfig { size_ratio: 1, ..good }, "size_ratio: is 1; it must be at least 2"),
        (
            GeckoConfig { partitions: 0, ..good },
            "partitions: is 0; it must be from 1 to the 32 pages of a block",
        ),
        (
            GeckoConfig { partitions: 33, ..good },
            "partitions: is 33; it must be from 1 to the 32 pages of a block",
        ),
        (
            GeckoConfig { page_bytes: 15, ..good },
            "page_bytes: is 15; it must be at least 16, for two entries",
        ),
        (
            GeckoConfig { key_bits: 14, ..good },
            "key_bits: is 14; it must be from 15, for all keys and the erase flag, to 64",
        ),
        (GeckoConfig { blocks: 0, ..good }, "blocks: is 0; it must be at least 1"),
    ];
    for (config, message) in rejections {
        assert_eq!(Gecko::new(config).unwrap_err().to_string(), message);
    }
}
