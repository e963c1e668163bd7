//! FTLs with flash-resident tables: RAM, recovery and traffic compared with the formulas of the GeckoFTL paper;
//! limits of settings.

use serde_json::{Value, json};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::Restart;
use wearwell_engine::ftl::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use wearwell_engine::layer::{ContentId, Layer, Reports};
use wearwell_engine::nand::{Geometry, Nand, Wear};

type Flash = Nand<ContentId>;

const BLOCKS: u32 = 256;
const PAGES_PER_BLOCK: u32 = 32;
const PAGE_BYTES: u32 = 256;

fn nand(blocks: u32) -> Flash {
    let geometry = Geometry::flat(blocks, PAGES_PER_BLOCK, PAGE_BYTES);
    Nand::new(geometry, Wear::default(), Seed(1)).with_spare_area()
}

fn gecko(validity: Value) -> PagedSettings {
    let config = PagedConfig {
        kind: "gecko",
        logical_pages: BLOCKS * PAGES_PER_BLOCK * 7 / 10,
        page_bytes: PAGE_BYTES,
        cache_entries: 128,
        dirty_entries: None,
        eager: false,
        directory: DirectoryConfig::Global,
        validity: serde_json::from_value(validity).expect("settings of the table"),
        cleans_metadata: false,
        checkpoints: true,
        durability: Durability::Deferred { skips_older_pages: true },
        free_blocks: Default::default(),
        counters: Default::default(),
        wear: Default::default(),
        seed: Seed(1),
    };
    PagedSettings {
        config,
        victim: serde_json::from_value(json!("greedy")).expect("a policy"),
        placement: serde_json::from_value(json!("single")).expect("a placement"),
    }
}

fn gecko_with(change: impl FnOnce(&mut PagedConfig)) -> PagedSettings {
    let mut settings = gecko(json!("gecko"));
    change(&mut settings.config);
    settings
}

/// A drive, and the expected content of each page.
struct Rig {
    ftl: PagedFtl<Flash>,
    settings: PagedSettings,
    expected: Vec<u64>,
    versions: u64,
}

impl Rig {
    fn new(settings: PagedSettings) -> Self {
        let ftl = settings.build(nand(BLOCKS)).expect("settings that fit");
        let expected = vec![0; ftl.logical_pages() as usize];
        Rig { ftl, settings, expected, versions: 0 }
    }

    fn write(&mut self, page: u32) {
        self.versions += 1;
        let written = self.ftl.write(&[Lpn(page)], &[ContentId(self.versions)], 0);
        assert!(written.is_ok(), "{written:?} at write {} of {:?}", self.versions, self.settings);
        self.expected[page as usize] = self.versions;
    }

    /// Fills the drive, if it is new, and overwrites it at random.
    fn age(&mut self, seed: u64, writes: u64) {
        if self.versions == 0 {
            (0..self.expected.len() as u32).for_each(|page| self.write(page));
        }
        let mut random = Seed(seed).random();
        for _ in 0..writes {
            self.write(random_below(&mut random, self.expected.len() as u64) as u32);
        }
    }

    fn power_cycle(mut self) -> Self {
        self.ftl.save().expect("the battery lasts");
        let (ftl, _) = PagedFtl::restart(&self.settings, self.ftl.into_flash())
            .map_err(|(error, _)| error)
            .expect("power");
        Rig { ftl, ..self }
    }

    fn verify(&mut self) {
        let pages: Vec<Lpn> = (0..self.expected.len() as u32).map(Lpn).collect();
        let mut found = Vec::new();
        self.ftl.read(&pages, &mut found).expect("readable");
        let found: Vec<u64> = found.into_iter().map(|content| content.0).collect();
        assert_eq!(found, self.expected);
        self.ftl.check().unwrap();
    }

    fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        self.ftl.describe(&mut reports);
        reports
    }

    fn count(&self, name: &str) -> u64 {
        let reports = self.reports();
        let counts = &reports.layers[0].ftl.as_ref().expect("an FTL").counts;
        counts.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no count {name}")).1
    }

    fn ram(&self, name: &str) -> u64 {
        let parts = self.ftl.ram();
        parts
            .iter()
            .find(|part| part.name == name)
            .unwrap_or_else(|| panic!("no part {name}: {parts:?}"))
            .bytes
    }
}

#[test]
fn ram_matches_the_papers_formulas() {
    let mut rig = Rig::new(gecko(json!("gecko")));
    rig.age(1, 20_000);
    let logical_pages = u64::from(rig.settings.config.logical_pages);
    assert_eq!(rig.ram("mapping cache"), 8 * 128);
    // (4 TT) / P for TT = 4 bytes per logical page, section 2, in whole pages.
    let (table, page) = (4 * logical_pages, u64::from(PAGE_BYTES));
    assert_eq!(rig.ram("global mapping directory"), 4 * table.div_ceil(page));
    assert_eq!(rig.ram("block validity counters"), 2 * u64::from(BLOCKS));
    let bitmap =
        Rig::new(gecko_with(|config| config.validity = serde_json::from_value(json!("ram_bitmap")).unwrap()));
    assert_eq!(bitmap.ram("validity bitmap"), u64::from(BLOCKS * PAGES_PER_BLOCK) / 8);
}

#[test]
fn recovery_cost_is_within_the_bounds_of_appendix_c() {
    let mut rig = Rig::new(gecko(json!("gecko")));
    rig.age(1, 20_000);
    let live_pages = u64::from(rig.settings.config.logical_pages);
    let mut rig = rig.power_cycle();
    let recovery = rig.ftl.recovery().unwrap().clone();
    let step = |name: &str| *recovery.steps.iter().find(|step| step.name == name).unwrap();
    let all = |count: fn(&wearwell_engine::layer::RecoveryStep) -> u64| {
        recovery.steps.iter().map(count).sum::<u64>()
    };
    assert_eq!(all(|step| step.page_writes) + all(|step| step.erases), 0, "GeckoRec writes nothing");
    // Step 1: one spare area per block, and those of the newest block of each of the three groups.
    let scan = step("block scan");
    assert!(scan.spare_reads >= u64::from(BLOCKS));
    assert!(scan.spare_reads <= u64::from(BLOCKS + 3 * PAGES_PER_BLOCK));
    // Step 6: at most two checkpoints' worth of pages, plus the rest of the blocks at both ends and the span of the
    // validity store's buffer.
    let dirty = step("dirty entries");
    assert!(dirty.spare_reads <= 4 * 128 + 4 * u64::from(PAGES_PER_BLOCK), "{dirty:?}");
    assert!(all(|step| step.spare_reads) < live_pages / 2, "far from a scan of all pages: {recovery:?}");
    rig.verify();
}

#[test]
fn entries_restored_as_in_the_paper_are_corrected_later() {
    let mut rig =
        Rig::new(gecko_with(|config| config.durability = Durability::Deferred { skips_older_pages: false }));
    for round in 0..4 {
        rig.age(round, 3000);
        rig = rig.power_cycle();
        rig.verify();
        rig.age(10 + round, 1000);
        rig.verify();
    }
    // Appendix C.3.1: entries that turn out to be clean are not written.
    assert!(rig.count("synchronisations aborted") > 0);
}

#[test]
fn cleaning_finds_unreported_invalid_pages() {
    let mut rig = Rig::new(gecko(json!("gecko")));
    rig.age(1, 20_000);
    assert!(rig.count("invalid pages found while cleaning") > 0);
    assert!(rig.count("checkpoints") > 100);
    assert_eq!(rig.count("metadata blocks cleaned"), 0);
    assert!(rig.count("metadata blocks erased whole") > 0);
    rig.verify();
}

/// With all four validity stores, the traffic of user pages and of the table is equal; only the pages written by the
/// stores differ.
#[test]
fn validity_stores_differ_only_in_their_own_traffic() {
    let traffic = |validity: Value| {
        let mut rig = Rig::new(gecko(validity));
        rig.age(1, 20_000);
        rig.verify();
        let reports = rig.reports();
        let counters = reports.layers[0].counters;
        assert_eq!(counters.outgoing_total(Operation::Write), reports.nand.unwrap().programs);
        counters.outgoing(Cause::Validity, Operation::Write)
    };
    let [ram, flash, log, gecko] =
        ["ram_bitmap", "flash_bitmap", "log", "gecko"].map(|validity| traffic(json!(validity)));
    assert_eq!(ram, 0);
    assert!(gecko > 0 && gecko * 4 < flash, "{gecko} and {flash}");
    assert!(log > 0 && log < flash);
}

#[test]
fn invalid_settings_are_refused_by_key() {
    let error_of = |settings: PagedSettings, blocks: u32| -> ConfigError {
        settings.build(nand(blocks)).err().expect("refused")
    };
    assert_eq!(error_of(gecko_with(|config| config.cache_entries = 0), BLOCKS).key, "cache_entries");
    assert_eq!(error_of(gecko_with(|config| config.dirty_entries = Some(129)), BLOCKS).key, "dirty_entries");
    assert_eq!(error_of(gecko_with(|config| config.page_bytes = 8), BLOCKS).key, "page_bytes");
    let ratio = gecko(json!({ "kind": "gecko", "size_ratio": 1 }));
    assert_eq!(error_of(ratio, BLOCKS).key, "validity.size_ratio");
    let parts = gecko(json!({ "kind": "gecko", "partitions": 33 }));
    assert_eq!(error_of(parts, BLOCKS).key, "validity.partitions");
    // The first drive has no spare space, and the second one has too few blocks.
    let full = gecko_with(|config| config.logical_pages = BLOCKS * PAGES_PER_BLOCK);
    let error = error_of(full, BLOCKS);
    assert!(error.key == "device" && error.problem.contains("needs"), "{error}");
    assert_eq!(error_of(gecko_with(|config| config.logical_pages = 8), 4).key, "device");
    // Partitions of different length are allowed, and so is a cache of a single entry.
    for settings in
        [gecko(json!({ "kind": "gecko", "partitions": 3 })), gecko_with(|config| config.cache_entries = 1)]
    {
        let mut rig = Rig::new(settings);
        rig.age(1, 3000);
        let mut rig = rig.power_cycle();
        rig.verify();
    }
}

#[test]
fn equal_runs_give_equal_reports() {
    let run = || {
        let mut rig = Rig::new(gecko(json!("gecko")));
        rig.age(3, 5000);
        (rig.reports().layers[0].counters, rig.ftl.final_draw())
    };
    assert_eq!(run(), run());
}

/// Counters of valid pages for only some of the blocks.
mod counters {
    use super::*;
    use wearwell_engine::ftl::paged::BlockCounters;
    use wearwell_theory::ftl::{CounterCoverage, FtlDrive, FtlSizes, cleaning_write_amplification};

    const PARTIAL: [BlockCounters; 4] = [
        BlockCounters::None { choices: 3 },
        BlockCounters::None { choices: 7 },
        BlockCounters::Sampled { fraction: 0.04, choices: 2 },
        BlockCounters::Sampled { fraction: 1.0, choices: 3 },
    ];

    fn settings_with(counters: BlockCounters, validity: &str, victim: &str) -> PagedSettings {
        let mut settings = gecko(json!(validity));
        settings.config.counters = counters;
        settings.victim = serde_json::from_value(json!(victim)).expect("a policy");
        settings
    }

    fn validity_io(rig: &Rig) -> [u64; 2] {
        let reports = rig.reports();
        [Operation::Read, Operation::Write]
            .map(|operation| reports.layers[0].counters.outgoing(Cause::Validity, operation))
    }

    #[test]
    fn every_store_and_policy_works_and_recovers_without_counters() {
        let policies = ["greedy", "d_choices", "fifo", "random_plus_plus", "windowed_greedy", "cost_benefit"];
        for (at, counters) in PARTIAL.into_iter().enumerate() {
            for validity in ["flash_bitmap", "log", "gecko"] {
                for cleans_metadata in [false, true] {
                    let mut settings =
                        settings_with(counters, validity, policies[at + usize::from(cleans_metadata)]);
                    settings.config.cleans_metadata = cleans_metadata;
                    let mut rig = Rig::new(settings);
                    rig.age(1, 4000);
                    rig.verify();
                    assert!(rig.count("blocks asked about") > 0);
                    let mut rig = rig.power_cycle();
                    let steps = &rig.ftl.recovery().expect("a cut").steps;
                    let counting = steps.iter().find(|step| step.name == "block validity counters").unwrap();
                    assert_eq!(counting.page_reads, 0, "nothing is counted");
                    rig.verify();
                    rig.age(2, 2000);
                    rig.verify();
                }
            }
        }
    }

    /// A bitmap in flash reads a page per query, and reads and writes one per update. Reads minus writes are
    /// therefore queries: those of the drawn blocks, and of remembered victims.
    #[test]
    fn each_queried_block_costs_a_bitmap_read() {
        for counters in [BlockCounters::Full].into_iter().chain(PARTIAL) {
            let mut rig = Rig::new(settings_with(counters, "flash_bitmap", "greedy"));
            // After these writes, every page of the bitmap exists.
            rig.age(1, 6000);
            let queried_blocks =
                |rig: &Rig| if counters == BlockCounters::Full { 0 } else { rig.count("blocks asked about") };
            let cleaned = |rig: &Rig| -> u64 { rig.reports().layers[0].victim_valid_pages.iter().sum() };
            let before = (validity_io(&rig), queried_blocks(&rig), cleaned(&rig));
            rig.age(2, 6000);
            let [reads, writes] = [0, 1].map(|at| validity_io(&rig)[at] - before.0[at]);
            let (queries, queried, cleaned) =
                (reads - writes, queried_blocks(&rig) - before.1, cleaned(&rig) - before.2);
            match counters {
                BlockCounters::Full => assert_eq!(queries, cleaned),
                BlockCounters::None { choices } => {
                    assert_eq!(queries, queried);
                    // Victims that turn out to be full are queried and skipped; a block drawn twice is queried once.
                    let ratio = queried as f64 / (u64::from(choices) * cleaned) as f64;
                    assert!((0.9..1.3).contains(&ratio), "{choices}: {queried} {cleaned}");
                }
                BlockCounters::Sampled { .. } => {
                    assert!(
                        queried < queries && queries <= queried + cleaned,
                        "{queried} {queries} {cleaned}"
                    );
                }
            }
        }
    }

    /// Van Houdt's mean field of d choices does not model Gecko: taking the emptiest of d queried blocks must have
    /// the cost that it predicts.
    #[test]
    fn cleaning_without_counters_matches_the_mean_field_of_d_choices() {
        let blocks = 1024;
        let cleaned = |counters: BlockCounters| {
            let mut settings = settings_with(counters, "gecko", "greedy");
            settings.config.logical_pages = blocks * PAGES_PER_BLOCK * 7 / 10;
            // With these settings, there are few metadata blocks.
            settings.config.page_bytes = 4096;
            let geometry = Geometry::flat(blocks, PAGES_PER_BLOCK, 4096);
            let flash = Nand::new(geometry, Wear::default(), Seed(1)).with_spare_area();
            let ftl = settings.build(flash).expect("settings that fit");
            let expected = vec![0; ftl.logical_pages() as usize];
            let mut rig = Rig { ftl, settings, expected, versions: 0 };
            rig.age(1, 60_000);
            let moved =
                |rig: &Rig| rig.reports().layers[0].counters.outgoing(Cause::Cleaning, Operation::Write);
            let before = moved(&rig);
            rig.age(2, 30_000);
            (moved(&rig) - before) as f64 / 30_000.0 + 1.0
        };
        let theory = |counters: CounterCoverage| {
            let sizes =
                FtlSizes { counters, pages_per_block: PAGES_PER_BLOCK, partitions: 1, ..FtlSizes::default() };
            cleaning_write_amplification(&FtlDrive::new(sizes).unwrap()).unwrap()
        };
        for choices in [2, 5, 20] {
            let (found, expected) =
                (cleaned(BlockCounters::None { choices }), theory(CounterCoverage::None { choices }));
            println!("{choices}: {found} {expected}");
            // The blocks with metadata take a small part of the spare space.
            assert!((0.985..1.08).contains(&(found / expected)), "{choices}: {found} instead of {expected}");
        }
        let (full, sampled) =
            (cleaned(BlockCounters::Full), cleaned(BlockCounters::Sampled { fraction: 0.1, choices: 2 }));
        println!("full {full}, sampled {sampled}");
        let two_choices = cleaned(BlockCounters::None { choices: 2 });
        assert!(full < sampled && sampled < two_choices, "{full} {sampled} {two_choices}");
    }

    #[test]
    fn ram_of_counters_matches_the_theory() {
        for (counters, theory_counters) in [
            (BlockCounters::Full, CounterCoverage::Full),
            (BlockCounters::None { choices: 9 }, CounterCoverage::None { choices: 9 }),
            (
                BlockCounters::Sampled { fraction: 0.1, choices: 3 },
                CounterCoverage::Sampled { share: 0.1, choices: 3 },
            ),
        ] {
            let settings = settings_with(counters, "gecko", "greedy");
            let (load, entries) =
                (f64::from(settings.config.logical_pages) / f64::from(BLOCKS * PAGES_PER_BLOCK), 128);
            let rig = Rig::new(settings);
            let sizes = FtlSizes {
                blocks: BLOCKS.into(),
                pages_per_block: PAGES_PER_BLOCK,
                page_bytes: PAGE_BYTES,
                load,
                cache_entries: entries,
                partitions: 1,
                counters: theory_counters,
                ..FtlSizes::default()
            };
            let drive = FtlDrive::new(sizes).unwrap();
            let design = wearwell_theory::ftl::Ftl::GeckoFtl.design(None);
            let parts = wearwell_theory::ftl::ram(&design, &drive);
            let counted = parts.iter().find(|part| part.name == "block validity counters").unwrap();
            assert_eq!(rig.ram("block validity counters"), counted.bytes, "{counters:?}");
        }
    }

    #[test]
    fn invalid_counter_settings_are_refused() {
        let rejected_key = |counters: BlockCounters, validity: &str| -> String {
            settings_with(counters, validity, "greedy").build(nand(BLOCKS)).err().expect("refused").key
        };
        assert_eq!(rejected_key(BlockCounters::None { choices: 0 }, "gecko"), "counter_choices");
        assert_eq!(
            rejected_key(BlockCounters::Sampled { fraction: 0.1, choices: 1 }, "gecko"),
            "counter_choices"
        );
        assert_eq!(
            rejected_key(BlockCounters::Sampled { fraction: 1.1, choices: 2 }, "gecko"),
            "counter_share"
        );
        assert_eq!(rejected_key(BlockCounters::None { choices: 3 }, "ram_bitmap"), "counters");
    }
}
