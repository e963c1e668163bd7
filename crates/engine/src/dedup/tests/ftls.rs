//! Deduplication over every FTL, compared with plain maps; all counts are consistent.

use super::super::*;
use crate::counters::Operation;
use crate::ftl::Restart;
use crate::ftl::hybrid::{HybridKind, HybridSettings};
use crate::ftl::page::PageConfig;
use crate::ftl::paged::PagedSettings;
use crate::ftl::tests::drives::{
    DESIGNS, PAGES_PER_BLOCK, PowerCutNand, flash, has_battery, hybrid_config, page_config, paged,
    power_cut_nand, reports,
};
use crate::layer::Layer;
use crate::nand::{Faults, PowerCutFlash, PowerSource, SpareStorage};
use crate::seed::{Random, Seed, random_below};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const PAGES: u32 = 44;

/// Blocks in addition to those that an FTL requires.
const SPARE_BLOCKS: u32 = 1;

/// The FTLs, each with true if its cleaning can examine pages.
pub const FTLS: [(&str, bool); 8] = [
    ("log", true),
    ("dftl", true),
    ("mu_ftl", true),
    ("lazyftl", true),
    ("ib_ftl", true),
    ("gecko", true),
    ("bast", false),
    ("fast", false),
];

/// An action on a layer over an FTL of any type.
pub trait LayerVisitor {
    /// Returns the store of the notes in spare areas.
    fn spare_storage(&self, notes: &SpareNotes) -> Box<dyn SpareStorage<ContentId>> {
        Box::new(notes.clone())
    }

    fn visit<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, power: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send;
}

/// Builds an FTL on little more flash than it requires, with the layer over it.
fn build_over<F: Restart<Flash = PowerCutNand>>(
    dedup: &Value,
    (power, visitor): (&PowerSource, &impl LayerVisitor),
    settings: impl Fn(u32) -> F::Settings,
    build: impl Fn(&F::Settings, PowerCutNand) -> Option<F>,
) -> (Dedup<F>, DedupSettings<F::Settings>) {
    let config: DedupConfig = serde_json::from_value(dedup.clone()).unwrap();
    let sharing = SharedTables::new(&config, PAGES, 0).unwrap();
    let settings = settings(sharing.store_pages());
    let fits = |blocks: &u32| build(&settings, power_cut_nand(*blocks, Faults::default(), power)).is_some();
    let blocks = (1..600).find(fits).expect("settings that fit some drive") + SPARE_BLOCKS;
    let notes = SpareNotes::new(blocks, PAGES_PER_BLOCK);
    let nand = flash(blocks).with_spare_storage(visitor.spare_storage(&notes));
    let mut ftl = build(&settings, PowerCutFlash::new(nand, power.clone())).unwrap();
    let needs_references = config.threshold().is_some();
    if let Some(migration) = sharing.migration_policy(None, needs_references) {
        ftl.set_migration_policy(migration).unwrap();
    }
    notes.set_source(Some(&sharing));
    let (logical_pages, journal) = (PAGES, None);
    let settings = DedupSettings { ftl: settings, config, logical_pages, needs_references, notes, journal };
    (Dedup::new(sharing, ftl, None).unwrap(), settings)
}

/// Builds the FTL of that name with the layer over it, and passes both to `visitor`.
pub fn visit_ftl(ftl: &str, dedup: &Value, visitor: &mut impl LayerVisitor) {
    let power = PowerSource::new(has_battery(ftl));
    let placement = if dedup["kind"] == "cagc" { "references" } else { "double" };
    if ftl == "log" {
        let config = |pages| page_config(pages, placement);
        let (layer, settings) =
            build_over(dedup, (&power, &*visitor), config, |config: &PageConfig, flash| {
                config.build(flash).ok()
            });
        visitor.visit(layer, settings, power);
    } else if DESIGNS.contains(&ftl) {
        let settings = |pages| PagedSettings {
            // On such a small drive, the greedy policy would always find blocks without valid pages.
            victim: serde_json::from_value(json!("random")).unwrap(),
            placement: serde_json::from_value(json!(placement)).unwrap(),
            ..paged(ftl, pages, 7)
        };
        let build = |settings: &PagedSettings, flash| settings.build(flash).ok();
        let (layer, settings) = build_over(dedup, (&power, &*visitor), settings, build);
        visitor.visit(layer, settings, power);
    } else {
        let kind = if ftl == "bast" { HybridKind::Bast } else { HybridKind::Fast };
        let settings = |pages| HybridSettings::from(hybrid_config(kind, pages, 3));
        let build = |settings: &HybridSettings, flash| settings.build(flash).ok();
        let (layer, settings) = build_over(dedup, (&power, &*visitor), settings, build);
        visitor.visit(layer, settings, power);
    }
}

/// Returns the kinds of deduplication that are possible on an FTL, each with the additional settings `more`.
pub fn kinds(cleaning: bool, more: &Value) -> Vec<Value> {
    let names = ["inline", "sampled", "pre_hashed", "cagc"];
    let names = names.iter().filter(|name| cleaning || **name != "cagc");
    let kind = |name: &&str| {
        let mut kind = json!({ "kind": *name });
        kind.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        kind
    };
    names.map(kind).collect()
}

/// Expected contents of pages, in plain maps. Content 0 is unique.
struct Naive {
    pages: Vec<Option<u64>>,
    hits: u64,
    writes: u64,
}

impl Naive {
    fn write(&mut self, page: u32, content: u64) {
        self.hits += u64::from(content != 0 && self.pages.contains(&Some(content)));
        self.pages[page as usize] = Some(content);
        self.writes += 1;
    }

    fn mapped(&self) -> u64 {
        self.pages.iter().flatten().count() as u64
    }

    /// Returns the number of contents that must be stored.
    fn stored(&self) -> u64 {
        let known: BTreeSet<u64> =
            self.pages.iter().flatten().copied().filter(|&content| content != 0).collect();
        known.len() as u64 + self.pages.iter().filter(|page| **page == Some(0)).count() as u64
    }
}

/// A random run compared with plain maps.
struct NaiveComparison {
    name: String,
    merged: u64,
    promoted: u64,
}

impl NaiveComparison {
    fn compare<F: Restart<Flash = PowerCutNand>>(&mut self, layer: &mut Dedup<F>, naive: &Naive) {
        let name = &self.name;
        layer.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        let all: Vec<Lpn> = (0..PAGES).map(Lpn).collect();
        let mut read = Vec::new();
        layer.read(&all, &mut read).unwrap();
        let expected: Vec<u64> = naive.pages.iter().map(|page| page.unwrap_or(0)).collect();
        assert_eq!(read.iter().map(|content| content.0).collect::<Vec<_>>(), expected, "{name}");
        let (layer_report, nand) = reports(layer);
        let dedup = layer_report.dedup.unwrap();
        let counters = &layer_report.counters;
        assert_eq!(dedup.hits + dedup.misses, naive.writes, "{name}");
        assert_eq!(counters.incoming(Operation::Write), naive.writes, "{name}");
        assert_eq!(counters.outgoing(Cause::Host, Operation::Write), dedup.misses, "{name}");
        let own_writes = dedup.index_writes + dedup.map_log_pages + dedup.map_checkpoint_pages;
        assert_eq!(counters.outgoing(Cause::Dedup, Operation::Write), own_writes, "{name}");
        let done = [nand.programs, nand.reads, nand.erases];
        let counted =
            [Operation::Write, Operation::Read, Operation::Erase].map(|op| counters.outgoing_total(op));
        assert_eq!(counted, done, "{name}");
        assert_eq!(
            (u64::from(layer_report.mapped_pages), layer_report.logical_pages),
            (naive.mapped(), PAGES),
            "{name}"
        );
        let stored: u64 = dedup.live_by_references.iter().sum();
        if name.contains("cagc") {
            assert_eq!(dedup.hits, 0, "{name}");
            assert!((naive.stored()..=naive.mapped()).contains(&stored), "{name}: {stored}");
        } else {
            assert_eq!((dedup.hits, stored), (naive.hits, naive.stored()), "{name}");
        }
        (self.merged, self.promoted) = (dedup.merged_pages, dedup.promoted_pages);
    }
}

/// Returns a write of one page, sometimes of several, with contents of which a few are frequent.
pub fn draw(random: &mut Random) -> (Vec<Lpn>, Vec<ContentId>) {
    let count = if random_below(random, 6) == 0 { 1 + random_below(random, 5) } else { 1 };
    let draw = |_| {
        let page = Lpn(random_below(random, PAGES.into()) as u32);
        let content = if random_below(random, 3) == 0 {
            random_below(random, 1 << 40)
        } else {
            random_below(random, 20)
        };
        (page, ContentId(content))
    };
    (0..count).map(draw).unzip()
}

impl LayerVisitor for NaiveComparison {
    fn visit<F>(&mut self, mut layer: Dedup<F>, _: DedupSettings<F::Settings>, _: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send,
    {
        let mut random = Seed(7).random();
        let mut naive = Naive { pages: vec![None; PAGES as usize], hits: 0, writes: 0 };
        for step in 0..500 {
            let (pages, data) = draw(&mut random);
            match step % 16 {
                15 => layer.flush().unwrap(),
                11 => {
                    layer.trim(&pages).unwrap();
                    pages.iter().for_each(|page| naive.pages[page.index()] = None);
                }
                // With one page per request, that page is the sample.
                _ if self.name.contains("sampled") => {
                    layer.write(&pages[..1], &data[..1], 0).unwrap();
                    naive.write(pages[0].0, data[0].0);
                }
                _ => {
                    layer.write(&pages, &data, 0).unwrap();
                    pages.iter().zip(&data).for_each(|(page, content)| naive.write(page.0, content.0));
                }
            }
            self.compare(&mut layer, &naive);
        }
    }
}

#[test]
fn every_kind_on_every_ftl_matches_plain_maps() {
    let indexes = [
        json!({}),
        json!({ "map_log": true, "map_log_page_records": 5 }),
        json!({ "index": { "verify": true, "paged": { "page_entries": 5, "cached_pages": 2 } } }),
    ];
    let mut promoted = 0;
    for (ftl, cleaning) in FTLS {
        for index in &indexes {
            for kind in kinds(cleaning, index) {
                let mut comparison =
                    NaiveComparison { name: format!("{ftl} {kind}"), merged: 0, promoted: 0 };
                visit_ftl(ftl, &kind, &mut comparison);
                let merges = kind["kind"] == "cagc";
                assert_eq!(comparison.merged > 0, merges, "{ftl} {kind}");
                assert!(merges || comparison.promoted == 0, "{ftl} {kind}");
                promoted += comparison.promoted;
            }
        }
    }
    assert!(promoted > 20, "{promoted}");
}

/// Writes pages with unique contents, and records the work of the flash.
struct UniqueWrites {
    programs_and_erases: (u64, Vec<u32>),
}

fn write_unique(layer: &mut impl Layer<ContentId>) -> (u64, Vec<u32>) {
    let mut random = Seed(9).random();
    for version in 0..700 {
        let page = if version < PAGES { version } else { random_below(&mut random, PAGES.into()) as u32 };
        layer.write(&[Lpn(page)], &[ContentId(1000 + u64::from(version))], 0).unwrap();
    }
    let (_, nand) = reports(layer);
    (nand.programs, nand.erase_counts)
}

impl LayerVisitor for UniqueWrites {
    fn visit<F>(&mut self, mut layer: Dedup<F>, _: DedupSettings<F::Settings>, _: PowerSource)
    where
        F: Restart<Flash = PowerCutNand>,
        F::Settings: Send,
    {
        self.programs_and_erases = write_unique(&mut layer);
    }
}

/// Without equal pages, all kinds behave alike, because each page keeps its own slot.
#[test]
fn all_kinds_behave_alike_without_equal_pages() {
    for (ftl, cleaning) in FTLS {
        let done = |kind: &Value| {
            let mut unique = UniqueWrites { programs_and_erases: (0, Vec::new()) };
            visit_ftl(ftl, kind, &mut unique);
            unique.programs_and_erases
        };
        let expected = done(&json!({ "kind": "none" }));
        // With placement by references, each page has one reference.
        for kind in kinds(cleaning, &json!({})).into_iter().filter(|kind| kind["kind"] != "cagc") {
            assert_eq!(done(&kind), expected, "{ftl} {kind}");
        }
    }
}

#[test]
fn hybrid_ftls_do_not_support_merging() {
    let config = serde_json::from_value(json!("cagc")).unwrap();
    let sharing = SharedTables::new(&config, PAGES, 0).unwrap();
    let migration = sharing.migration_policy(None, false).unwrap();
    let settings = HybridSettings::from(hybrid_config(HybridKind::Bast, sharing.store_pages(), 3));
    let mut ftl = settings.build(power_cut_nand(40, Faults::default(), &PowerSource::new(false))).unwrap();
    let refused = ftl.set_migration_policy(migration).unwrap_err();
    assert!(refused.key == "dedup" && refused.problem.contains("padding"), "{refused}");
}
