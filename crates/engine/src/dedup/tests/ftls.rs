//! Deduplication over every FTL, compared with plain maps; all counts are consistent.

use super::super::*;
use crate::counters::Operation;
use crate::ftl::Restart;
use crate::ftl::hybrid::{HybridKind, HybridSettings};
use crate::ftl::page::PageConfig;
use crate::ftl::paged::PagedSettings;
use crate::ftl::tests::drives::{
    Chips, DESIGNS, PAGES_PER_BLOCK, chips, flash, has_battery, hybrid_config, page_config, paged, reports,
};
use crate::layer::Layer;
use crate::nand::{Faults, Fragile, SpareKeeper, Supply};
use crate::seed::{Random, Seed, below};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const PAGES: u32 = 44;

/// Blocks in addition to those that an FTL requires.
const ROOM: u32 = 1;

/// The FTLs, with true if cleaning can examine pages there.
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
pub trait Use {
    /// Returns the keeper of the notes in spare areas.
    fn keeper(&self, notes: &SpareNotes) -> Box<dyn SpareKeeper<Content>> {
        Box::new(notes.clone())
    }

    fn on<F>(&mut self, layer: Dedup<F>, settings: DedupSettings<F::Settings>, supply: Supply)
    where
        F: Restart<Flash = Chips>,
        F::Settings: Send;
}

/// Builds an FTL on little more flash than it requires, with the layer over it.
fn over<F: Restart<Flash = Chips>>(
    dedup: &Value,
    (supply, seen): (&Supply, &impl Use),
    settings: impl Fn(u32) -> F::Settings,
    build: impl Fn(&F::Settings, Chips) -> Option<F>,
) -> (Dedup<F>, DedupSettings<F::Settings>) {
    let config: DedupConfig = serde_json::from_value(dedup.clone()).unwrap();
    let sharing = Sharing::new(&config, PAGES, 0).unwrap();
    let settings = settings(sharing.store_pages());
    let fits = |blocks: &u32| build(&settings, chips(*blocks, Faults::default(), supply)).is_some();
    let blocks = (1..600).find(fits).expect("settings that fit some drive") + ROOM;
    let notes = SpareNotes::new(blocks, PAGES_PER_BLOCK);
    let nand = flash(blocks).with_spare_keeper(seen.keeper(&notes));
    let mut ftl = build(&settings, Fragile::new(nand, supply.clone())).unwrap();
    let wants_references = config.threshold().is_some();
    if let Some(migration) = sharing.migration(None, wants_references) {
        ftl.ask(migration).unwrap();
    }
    notes.follow(Some(&sharing));
    let (logical_pages, journal) = (PAGES, None);
    let settings = DedupSettings { ftl: settings, config, logical_pages, wants_references, notes, journal };
    (Dedup::new(sharing, ftl, None).unwrap(), settings)
}

/// Builds the FTL of that name with the layer over it, and passes both to `seen`.
pub fn with(ftl: &str, dedup: &Value, seen: &mut impl Use) {
    let supply = Supply::new(has_battery(ftl));
    let placement = if dedup["kind"] == "cagc" { "references" } else { "double" };
    if ftl == "log" {
        let config = |pages| page_config(pages, placement);
        let (layer, settings) =
            over(dedup, (&supply, &*seen), config, |config: &PageConfig, flash| config.build(flash).ok());
        seen.on(layer, settings, supply);
    } else if DESIGNS.contains(&ftl) {
        let settings = |pages| PagedSettings {
            // On such a small drive, greedy would always find empty blocks.
            victim: serde_json::from_value(json!("random")).unwrap(),
            placement: serde_json::from_value(json!(placement)).unwrap(),
            ..paged(ftl, pages, 7)
        };
        let build = |settings: &PagedSettings, flash| settings.build(flash).ok();
        let (layer, settings) = over(dedup, (&supply, &*seen), settings, build);
        seen.on(layer, settings, supply);
    } else {
        let kind = if ftl == "bast" { HybridKind::Bast } else { HybridKind::Fast };
        let settings = |pages| HybridSettings::from(hybrid_config(kind, pages, 3));
        let build = |settings: &HybridSettings, flash| settings.build(flash).ok();
        let (layer, settings) = over(dedup, (&supply, &*seen), settings, build);
        seen.on(layer, settings, supply);
    }
}

/// Returns the kinds that are possible on an FTL, each with these additional settings.
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
struct Beside {
    name: String,
    merged: u64,
    promoted: u64,
}

impl Beside {
    fn compare<F: Restart<Flash = Chips>>(&mut self, layer: &mut Dedup<F>, naive: &Naive) {
        let name = &self.name;
        layer.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        let all: Vec<Lpn> = (0..PAGES).map(Lpn).collect();
        let mut read = Vec::new();
        layer.read(&all, &mut read).unwrap();
        let held: Vec<u64> = naive.pages.iter().map(|page| page.unwrap_or(0)).collect();
        assert_eq!(read.iter().map(|content| content.0).collect::<Vec<_>>(), held, "{name}");
        let (own, nand) = reports(layer);
        let dedup = own.dedup.unwrap();
        let counters = &own.counters;
        assert_eq!(dedup.hits + dedup.misses, naive.writes, "{name}");
        assert_eq!(counters.incoming(Operation::Write), naive.writes, "{name}");
        assert_eq!(counters.outgoing(Cause::Host, Operation::Write), dedup.misses, "{name}");
        let own_writes = dedup.index_writes + dedup.map_log_pages + dedup.map_checkpoint_pages;
        assert_eq!(counters.outgoing(Cause::Dedup, Operation::Write), own_writes, "{name}");
        let done = [nand.programs, nand.reads, nand.erases];
        let sent =
            [Operation::Write, Operation::Read, Operation::Erase].map(|op| counters.outgoing_total(op));
        assert_eq!(sent, done, "{name}");
        assert_eq!((u64::from(own.mapped_pages), own.logical_pages), (naive.mapped(), PAGES), "{name}");
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
pub fn draw(random: &mut Random) -> (Vec<Lpn>, Vec<Content>) {
    let count = if below(random, 6) == 0 { 1 + below(random, 5) } else { 1 };
    let draw = |_| {
        let page = Lpn(below(random, PAGES.into()) as u32);
        let content = if below(random, 3) == 0 { below(random, 1 << 40) } else { below(random, 20) };
        (page, Content(content))
    };
    (0..count).map(draw).unzip()
}

impl Use for Beside {
    fn on<F>(&mut self, mut layer: Dedup<F>, _: DedupSettings<F::Settings>, _: Supply)
    where
        F: Restart<Flash = Chips>,
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
                let mut beside = Beside { name: format!("{ftl} {kind}"), merged: 0, promoted: 0 };
                with(ftl, &kind, &mut beside);
                let merges = kind["kind"] == "cagc";
                assert_eq!(beside.merged > 0, merges, "{ftl} {kind}");
                assert!(merges || beside.promoted == 0, "{ftl} {kind}");
                promoted += beside.promoted;
            }
        }
    }
    assert!(promoted > 20, "{promoted}");
}

/// Writes pages with unique contents, and records the work of the flash.
struct Unique {
    programs_and_erases: (u64, Vec<u32>),
}

fn write_unique(layer: &mut impl Layer<Content>) -> (u64, Vec<u32>) {
    let mut random = Seed(9).random();
    for version in 0..700 {
        let page = if version < PAGES { version } else { below(&mut random, PAGES.into()) as u32 };
        layer.write(&[Lpn(page)], &[Content(1000 + u64::from(version))], 0).unwrap();
    }
    let (_, nand) = reports(layer);
    (nand.programs, nand.erase_counts)
}

impl Use for Unique {
    fn on<F>(&mut self, mut layer: Dedup<F>, _: DedupSettings<F::Settings>, _: Supply)
    where
        F: Restart<Flash = Chips>,
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
            let mut unique = Unique { programs_and_erases: (0, Vec::new()) };
            with(ftl, kind, &mut unique);
            unique.programs_and_erases
        };
        let expected = done(&json!({ "kind": "none" }));
        // Placement by references: each page has one.
        for kind in kinds(cleaning, &json!({})).into_iter().filter(|kind| kind["kind"] != "cagc") {
            assert_eq!(done(&kind), expected, "{ftl} {kind}");
        }
    }
}

#[test]
fn hybrid_ftls_do_not_support_merging() {
    let config = serde_json::from_value(json!("cagc")).unwrap();
    let sharing = Sharing::new(&config, PAGES, 0).unwrap();
    let migration = sharing.migration(None, false).unwrap();
    let settings = HybridSettings::from(hybrid_config(HybridKind::Bast, sharing.store_pages(), 3));
    let mut ftl = settings.build(chips(40, Faults::default(), &Supply::new(false))).unwrap();
    let refused = ftl.ask(migration).unwrap_err();
    assert!(refused.key == "dedup" && refused.problem.contains("padding"), "{refused}");
}
