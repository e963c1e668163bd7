//! A small deduplicating drive, and its expected contents.

use super::super::*;
use crate::config::StoreSize;
use crate::layer::{DedupReport, Layer, LayerError, LayerExt, LayerReport, NandReport, Reports};
use crate::log::{BoxedLayer, LogStore, PageTable, Reclaim, StoreConfig};
use crate::nand::{Geometry, Nand, Wear};
use crate::placement::{PlacementConfig, PlacementContext};
use crate::seed::Seed;
use crate::timing::Step;
use crate::victim::VictimConfig;
use serde_json::{Value, json};

/// Configuration of a drive with blocks of 4 pages.
#[derive(Clone, Debug)]
pub struct DriveConfig {
    pub dedup: Value,
    pub placement: &'static str,
    pub victim: &'static str,
    pub logical_pages: u32,
    /// Pages of the longest atomic group.
    pub atomic_pages: u32,
    /// Blocks in addition to those that the store requires.
    pub spare_blocks: u32,
}

pub const PAGES_PER_BLOCK: u32 = 4;

/// Returns a drive with so much free space that a short test never cleans.
pub fn roomy(dedup: Value, logical_pages: u32) -> DriveConfig {
    DriveConfig {
        dedup,
        placement: "single",
        victim: "greedy",
        logical_pages,
        atomic_pages: 0,
        spare_blocks: 200,
    }
}

pub struct Drive {
    pub layer: Dedup,
    pub journal: Journal,
    pub shadow: Vec<ContentId>,
}

impl DriveConfig {
    pub fn config(&self) -> DedupConfig {
        serde_json::from_value(self.dedup.clone()).unwrap()
    }

    pub fn build(&self) -> Drive {
        let sharing = SharedTables::new(&self.config(), self.logical_pages, self.atomic_pages).unwrap();
        let (journal, pages) = (Journal::default(), sharing.store_pages());
        let placement: PlacementConfig = serde_json::from_value(json!(self.placement)).unwrap();
        let victim: VictimConfig = serde_json::from_value(json!(self.victim)).unwrap();
        let reclaim = Reclaim::FreePool { low: 2, high: 3 };
        let blocks = pages.div_ceil(PAGES_PER_BLOCK) + reclaim.reserved_blocks(3) + self.spare_blocks;
        let (pages_per_block, seed) = (PAGES_PER_BLOCK, Seed(1));
        let size = StoreSize { blocks, pages_per_block, logical_pages: pages, seed };
        let streams = placement
            .build_boxed(PlacementContext { size: &size, temperature: None, foresight: None })
            .unwrap();
        let store = LogStore::new(
            StoreConfig::new(pages, reclaim, seed),
            Nand::new(Geometry::flat(blocks, pages_per_block, 4096), Wear::default(), seed),
            PageTable::new(pages, blocks, pages_per_block),
            victim.build_boxed(&size).unwrap(),
            streams,
        );
        let store = match sharing.migration_policy(Some(journal.clone()), self.placement == "references") {
            Some(migration) => store.unwrap().with_migration_policy(migration),
            None => store,
        };
        let store: BoxedLayer<ContentId> = Box::new(store.unwrap());
        let layer = Dedup::new(sharing, store, Some(journal.clone())).unwrap();
        Drive { layer, journal, shadow: vec![ContentId::UNKNOWN; self.logical_pages as usize] }
    }
}

pub fn lpns(pages: &[u32]) -> Vec<Lpn> {
    pages.iter().map(|&page| Lpn(page)).collect()
}

pub fn contents(names: &[u64]) -> Vec<ContentId> {
    names.iter().map(|&name| ContentId(name)).collect()
}

impl Drive {
    pub fn write(&mut self, pages: &[u32], names: &[u64]) {
        self.layer.write(&lpns(pages), &contents(names), 0).unwrap();
        self.update_shadow(pages, names);
    }

    pub fn write_group(&mut self, pages: &[u32], names: &[u64]) -> Result<(), LayerError> {
        self.layer.write_atomic(&lpns(pages), &contents(names), 0)?;
        self.update_shadow(pages, names);
        Ok(())
    }

    fn update_shadow(&mut self, pages: &[u32], names: &[u64]) {
        pages.iter().zip(names).for_each(|(&page, &name)| self.shadow[page as usize] = ContentId(name));
    }

    pub fn trim(&mut self, pages: &[u32]) {
        self.layer.trim(&lpns(pages)).unwrap();
        self.update_shadow(pages, &vec![0; pages.len()]);
    }

    pub fn read(&mut self, pages: &[u32]) -> Vec<u64> {
        let mut read = Vec::new();
        self.layer.read(&lpns(pages), &mut read).unwrap();
        read.iter().map(|content| content.0).collect()
    }

    pub fn reports(&self) -> (LayerReport, NandReport) {
        let mut reports = Reports::default();
        self.layer.describe(&mut reports);
        assert_eq!(reports.layers.len(), 1, "the layer and its store are one");
        (reports.layers.remove(0), reports.nand.unwrap())
    }

    pub fn dedup(&self) -> DedupReport {
        self.reports().0.dedup.unwrap()
    }

    /// Returns slot and reference count of the page.
    pub fn slot(&self, page: u32) -> Option<(u32, u32)> {
        self.layer.sharing().slot_of(Lpn(page)).map(|(slot, references, _)| (slot, references))
    }

    /// Returns the steps recorded since the last call.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.journal.take(&mut steps);
        steps
    }

    /// Recounts all tables, and reads all pages back.
    pub fn check(&mut self) {
        self.layer.check().unwrap();
        let all: Vec<u32> = (0..self.shadow.len() as u32).collect();
        let shadow: Vec<u64> = self.shadow.iter().map(|content| content.0).collect();
        assert_eq!(self.read(&all), shadow);
    }
}
