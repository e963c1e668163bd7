//! The mapping cache and the synchronisation of its entries to flash, entry by entry; a translation page has eight
//! entries.

use super::super::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use super::drives::{DESIGNS, PowerCutNand, build_paged, count, paged, read, reports, trim, write};
use crate::counters::{Cause, Operation};
use crate::layer::{Command, ContentId, Layer, LayerError, Medium};
use crate::nand::{Faults, PowerSource};
use crate::seed::{Seed, random_below};
use crate::units::Lpn;

fn build(settings: &PagedSettings) -> PagedFtl<PowerCutNand> {
    build_paged(settings, 3, Faults::default(), &PowerSource::new(false))
}

/// Returns the hits and misses of the cache; then the numbers of synchronisations, of entries they wrote, and of
/// synchronisations without changes.
fn events(ftl: &PagedFtl<PowerCutNand>) -> ([u64; 2], [u64; 3]) {
    ftl.check().unwrap();
    let (layer, _) = reports(ftl);
    let synchronised = ["synchronisations", "entries synchronised", "synchronisations aborted"];
    (
        ["cache hits", "cache misses"].map(|name| count(&layer, name)),
        synchronised.map(|name| count(&layer, name)),
    )
}

/// Returns the pages written and read for the map.
fn translation_io(ftl: &PagedFtl<PowerCutNand>) -> (u64, u64) {
    let counters = reports(ftl).0.counters;
    let of = |operation| counters.outgoing(Cause::Translation, operation);
    (of(Operation::Write), of(Operation::Read))
}

#[test]
fn dftl_writes_evicted_dirty_entries() {
    let mut ftl = build(&paged("dftl", 40, 2));
    write(&mut ftl, [0, 0, 1]);
    assert_eq!(
        (events(&ftl), translation_io(&ftl)),
        (([1, 2], [0; 3]), (0, 0)),
        "no translation page is in flash yet"
    );
    // Page 8 belongs to another translation page. Page 0 must be evicted, and page 1 is written with it; both are
    // then clean.
    write(&mut ftl, [8]);
    assert_eq!((events(&ftl), translation_io(&ftl)), (([1, 3], [1, 2, 0]), (1, 0)));
    // Page 0 is read from flash again; page 1, which is clean, is evicted.
    assert_eq!(read(&mut ftl, [0, 8, 0]), [100, 108, 100]);
    assert_eq!((events(&ftl), translation_io(&ftl)), (([3, 4], [1, 2, 0]), (1, 1)));
    // Page 9 has no data. Entry 8 is evicted, because it was used before entry 0; it is dirty.
    assert_eq!(read(&mut ftl, [9]), [0]);
    assert_eq!((events(&ftl), translation_io(&ftl)), (([3, 5], [2, 3, 0]), (2, 2)));
    // After another write, page 0 is dirty, and its translation page is read to be rewritten.
    write(&mut ftl, [0]);
    assert_eq!(events(&ftl).0, [4, 5]);
    write(&mut ftl, [16, 17]);
    assert_eq!((events(&ftl), translation_io(&ftl)), (([4, 7], [3, 4, 0]), (3, 3)));
    let (layer, nand) = reports(&ftl);
    assert_eq!((layer.counters.incoming(Operation::Write), layer.counters.incoming(Operation::Read)), (7, 4));
    assert_eq!(layer.counters.outgoing(Cause::Host, Operation::Read), 3, "page 9 is nowhere");
    assert_eq!((nand.programs, nand.reads, nand.erases), (7 + 3, 3 + 3, 0));
    assert_eq!((layer.mapped_pages, layer.directory), (5, "test"));
}

#[test]
fn lazy_write_identifies_before_image_later() {
    // Like DFTL, but the entry of an uncached page is not read before a write.
    let lazy = PagedSettings {
        config: PagedConfig { eager: false, ..paged("dftl", 40, 2).config },
        ..paged("dftl", 40, 2)
    };
    let mut ftl = build(&lazy);
    write(&mut ftl, [0, 1, 8, 9]);
    // When page 8 arrived, one translation page was written: the first one, with entries 0 and 1. No other page was
    // written since.
    assert_eq!((events(&ftl), translation_io(&ftl)), (([0, 4], [1, 2, 0]), (1, 0)));
    write(&mut ftl, [0]);
    // Entries 8 and 9 are written together. The first translation page was not read for the write of page 0.
    assert_eq!((events(&ftl), translation_io(&ftl)), (([0, 5], [2, 4, 0]), (2, 0)));
    write(&mut ftl, [16]);
    write(&mut ftl, [17]);
    // Now the first translation page was read, to be rewritten.
    assert_eq!((events(&ftl), translation_io(&ftl)), (([0, 7], [3, 5, 0]), (3, 1)));
    assert_eq!(read(&mut ftl, [0, 1, 8, 9, 16, 17, 2]), [100, 101, 108, 109, 116, 117, 0]);
}

#[test]
fn limit_of_dirty_entries_synchronises_the_oldest() {
    // Four entries, two of which may be dirty.
    let mut ftl = build(&paged("lazyftl", 40, 4));
    write(&mut ftl, [0, 8]);
    assert_eq!((events(&ftl).1, translation_io(&ftl)), ([0; 3], (0, 0)));
    write(&mut ftl, [16]);
    assert_eq!((events(&ftl).1, translation_io(&ftl)), ([1, 1, 0], (1, 0)), "page 0 was written longest ago");
    // Reading an entry does not change its age as a dirty entry.
    assert_eq!(read(&mut ftl, [8]), [108]);
    write(&mut ftl, [17]);
    assert_eq!((events(&ftl).1, translation_io(&ftl)), ([2, 2, 0], (2, 0)));
    write(&mut ftl, [24]);
    assert_eq!((events(&ftl).1, translation_io(&ftl)), ([3, 4, 0], (3, 0)), "16 and 17 together");
}

#[test]
fn trims_are_durable_once_flushed() {
    let mut ftl = build(&paged("gecko", 40, 6));
    write(&mut ftl, [0, 1, 2]);
    trim(&mut ftl, [1, 5]);
    assert_eq!(reports(&ftl).0.mapped_pages, 2);
    assert_eq!((read(&mut ftl, [0, 1, 2, 5]), events(&ftl).1), (vec![100, 0, 102, 0], [0; 3]));
    ftl.flush().unwrap();
    // All four entries belong to one translation page. For pages 1 and 5, it already contained no location.
    assert_eq!((events(&ftl).1, translation_io(&ftl)), ([1, 2, 0], (1, 0)));
    ftl.flush().unwrap();
    assert_eq!(translation_io(&ftl), (1, 0), "nothing was trimmed since");
    trim(&mut ftl, [0]);
    ftl.flush().unwrap();
    assert_eq!((events(&ftl).1, translation_io(&ftl)), ([2, 3, 0], (2, 1)));
    // With a battery, trims stay in RAM.
    let mut ftl = build(&paged("dftl", 40, 6));
    write(&mut ftl, [0, 1]);
    trim(&mut ftl, [0]);
    ftl.flush().unwrap();
    assert_eq!((events(&ftl).1, reports(&ftl).0.counters.incoming(Operation::Flush)), ([0; 3], 1));
}

#[test]
fn ram_equals_sum_of_tables() {
    let parts = |design: &str| {
        let ftl = build(&paged(design, 40, 6));
        let blocks = u64::from(crate::layer::Medium::blocks(ftl.flash()));
        let ram: Vec<(&str, u64)> = ftl.ram().iter().map(|part| (part.name, part.bytes)).collect();
        (ram, blocks)
    };
    // 8 bytes per cache entry, 4 per translation page, and one bit per flash page.
    let (dftl, blocks) = parts("dftl");
    assert_eq!(dftl[..2], [("mapping cache", 48), ("global mapping directory", 4 * 5)]);
    assert_eq!(dftl[2].1, (4 * blocks).div_ceil(8));
    assert_eq!(dftl.len(), 3, "what is valid in a block is counted from the bitmap");
    // Five leaves under nodes of four children: two nodes, both of which are cached, and the root.
    let (mu_ftl, blocks) = parts("mu_ftl");
    assert_eq!(mu_ftl[1..3], [("b-tree root", 32), ("b-tree nodes", 64)]);
    assert_eq!(mu_ftl[3], ("block validity counters", 2 * blocks));
}

#[test]
fn invalid_settings_are_rejected() {
    let key = |change: fn(&mut PagedConfig)| {
        let mut settings = paged("lazyftl", 40, 6);
        change(&mut settings.config);
        settings.config.validate().err().map(|error| error.key)
    };
    assert_eq!(key(|_| ()), None);
    assert_eq!(key(|config| config.cache_entries = 0).as_deref(), Some("cache_entries"));
    assert_eq!(key(|config| config.page_bytes = 15).as_deref(), Some("page_bytes"));
    assert_eq!(key(|config| config.page_bytes = 16), None);
    assert_eq!(key(|config| config.dirty_entries = Some(0)).as_deref(), Some("dirty_entries"));
    assert_eq!(key(|config| config.dirty_entries = Some(7)).as_deref(), Some("dirty_entries"));
    assert_eq!(
        (key(|config| config.dirty_entries = Some(6)), key(|config| config.dirty_entries = None)),
        (None, None)
    );
    let config = paged("gecko", 40, 6).config;
    assert_eq!(config.entries_per_translation_page(), 32);
    assert!(config.protects_versions() && !config.has_ram_bitmap());
    assert!(!PagedConfig { durability: Durability::Battery, ..config }.protects_versions());
    let lazyftl = paged("lazyftl", 40, 6).config;
    assert!(lazyftl.has_ram_bitmap() && !lazyftl.protects_versions());
    let mut ftl = build(&paged("dftl", 40, 6));
    let outside = LayerError::OutOfRange { page: 40, pages: 40 };
    assert_eq!(ftl.write(&[Lpn(40)], &[ContentId(1)], 0), Err(outside.clone()));
    assert_eq!(ftl.read(&[Lpn(40)], &mut Vec::new()), Err(outside.clone()));
    assert_eq!(ftl.trim(&[Lpn(40)]), Err(outside));
}

/// Every design, on the smallest possible flash and on failing flash, until the end of life.
#[test]
fn pages_read_back_as_written_until_end_of_life() {
    for design in DESIGNS {
        for (cache_entries, faulty) in [(1, false), (4, true), (30, false)] {
            let settings = paged(design, 40, cache_entries);
            let rate = if faulty { 0.01 } else { 0.0 };
            let faults = Faults { program_failure_rate: rate, read_disturb_limit: faulty.then_some(40) };
            let mut ftl =
                build_paged(&settings, if faulty { 12 } else { 0 }, faults, &PowerSource::new(false));
            let mut expected = vec![0; 40];
            let mut random = Seed(u64::from(cache_entries)).random();
            let mut ended = false;
            for version in 1..1500 {
                let page = random_below(&mut random, 40) as u32;
                let result = match random_below(&mut random, 12) {
                    0 => ftl.trim(&[Lpn(page)]).map(|()| 0),
                    _ => ftl.write(&[Lpn(page)], &[ContentId(version)], 0).map(|()| version),
                };
                match result {
                    Ok(version) => expected[page as usize] = version,
                    Err(error) => {
                        assert!(faulty && error.is_end_of_life(), "{design}: {error}");
                        ended = true;
                        break;
                    }
                }
                let page = random_below(&mut random, 40) as u32;
                assert_eq!(read(&mut ftl, [page]), [expected[page as usize]], "{design}: page {page}");
                if version % 20 == 0 {
                    ftl.check().unwrap_or_else(|error| panic!("{design}: {error}"));
                }
            }
            assert_eq!(ended, faulty, "{design}");
            let (layer, nand) = reports(&ftl);
            assert_eq!(
                layer.mapped_pages as usize,
                expected.iter().filter(|version| **version > 0).count(),
                "{design}"
            );
            assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs, "{design}");
            assert_eq!(layer.counters.outgoing_total(Operation::Read), nand.reads, "{design}");
            assert_eq!(layer.counters.outgoing_total(Operation::Erase), nand.erases, "{design}");
            let spare: u64 = layer.ftl.as_ref().unwrap().spare_reads.iter().sum();
            assert_eq!(spare, nand.spare_reads, "{design}");
            assert_eq!(count(&layer, "failed programs") > 0, faulty, "{design}");
            assert!(nand.erases > 100, "{design}");
        }
    }
}

/// The report of a design agrees with the operations performed.
#[test]
fn report_matches_performed_operations() {
    for design in DESIGNS {
        let mut ftl = build(&paged(design, 40, 6));
        ftl.command(Command::CountMoves).unwrap();
        let mut random = Seed(3).random();
        for _ in 0..600 {
            write(&mut ftl, [random_below(&mut random, 40) as u32]);
        }
        trim(&mut ftl, [3]);
        write(&mut ftl, (0..40).filter(|page| *page != 3));
        let (layer, nand) = reports(&ftl);
        let blocks = u64::from(Medium::blocks(ftl.flash()));
        assert_eq!(
            (layer.logical_pages, layer.mapped_pages, layer.physical_pages),
            (40, 39, 4 * blocks),
            "{design}"
        );
        assert_eq!(layer.map_bytes, Some(ftl.ram().iter().map(|part| part.bytes).sum()), "{design}");
        // Each victim is erased, and so are blocks without needed pages.
        let victims: u64 = layer.victim_valid_pages.iter().sum();
        assert!(victims > 100 && victims <= nand.erases, "{design}: {victims} of {}", nand.erases);
        assert_eq!((layer.cleanings, layer.deferrals), (Some(victims), None), "{design}");
        assert!(layer.moved_again_pages > 0 && layer.memory_bytes > 0, "{design}");
        let sent = layer.counters.outgoing_total(Operation::Write);
        assert_eq!(
            (sent, layer.counters.outgoing_total(Operation::Erase)),
            (nand.programs, nand.erases),
            "{design}"
        );
        let ftl = layer.ftl.unwrap();
        assert_eq!((ftl.kind, ftl.recovery), ("test", None));
        assert_eq!(ftl.spare_reads.iter().sum::<u64>(), nand.spare_reads, "{design}");
    }
}

/// Ten nodes of four translation pages each, three nodes above these, and the root. The cache holds one path or a few
/// nodes more; other nodes are written at eviction and read when needed.
#[test]
fn tree_larger_than_its_cache_keeps_all_locations() {
    for cached_nodes in [2, 5] {
        let mut settings = paged("mu_ftl", 320, 4);
        settings.config.directory = DirectoryConfig::Tree { cached_nodes: Some(cached_nodes) };
        let mut ftl = build(&settings);
        let mut expected = vec![0; 320];
        let mut random = Seed(6).random();
        for step in 0..3000 {
            let page = random_below(&mut random, 320) as u32;
            if random_below(&mut random, 10) == 0 {
                trim(&mut ftl, [page]);
                expected[page as usize] = 0;
            } else {
                write(&mut ftl, [page]);
                expected[page as usize] = u64::from(page) + 100;
            }
            if step % 100 == 0 {
                ftl.check().unwrap();
            }
        }
        assert_eq!(read(&mut ftl, 0..320), expected);
        ftl.check().unwrap();
    }
}

/// A phase of reads rewrites blocks that are read too often, whether reads come alone or together.
#[test]
fn reads_alone_rewrite_blocks_that_are_read_too_often() {
    let faults = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(50) };
    for design in DESIGNS {
        for page in [0, 20, 39] {
            let run = |batch: usize| {
                let mut ftl = build_paged(&paged(design, 40, 30), 12, faults, &PowerSource::new(false));
                write(&mut ftl, 0..40);
                for pages in [page; 2000].chunks(batch) {
                    read(&mut ftl, pages.iter().copied());
                }
                ftl.check().unwrap_or_else(|error| panic!("{design}: {error}"));
                let (layer, nand) = reports(&ftl);
                (count(&layer, "blocks refreshed"), nand.programs, nand.erases, nand.reads)
            };
            let alone = run(1);
            // 2,000 reads reach a limit of 50 forty times, unless cleaning moves the page before.
            assert!(alone.0 >= 20, "{design}, page {page}: {alone:?}");
            assert_eq!(run(7), alone, "{design}, page {page}");
        }
    }
}
