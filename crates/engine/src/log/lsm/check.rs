//! Consistency check of a tree: all extents are accounted for, all runs are sorted, and all locations are those of
//! the newest versions.

use super::memtable::{LogLocation, NewestVersion};
use super::tree::LsmTree;
use crate::layer::Payload;
use crate::units::Slot;

impl<P: Payload> LsmTree<P> {
    pub(super) fn check_all(&self) -> Result<(), String> {
        self.check_extents()?;
        self.levels.iter().flatten().try_for_each(|run| self.check_run(run))?;
        self.check_locations()?;
        let mapped = (0..self.config.logical_pages).filter(|&key| self.is_mapped(key)).count();
        let tombstones =
            self.memtable.entries.values().filter(|newest| matches!(newest, NewestVersion::Deleted)).count();
        if (mapped, tombstones) != (self.mapped_pages as usize, self.memtable.tombstones) {
            return Err(format!(
                "lsm: {mapped} pages mapped and {tombstones} fresh tombstones, not {} and {}",
                self.mapped_pages, self.memtable.tombstones
            ));
        }
        Ok(())
    }

    /// Checks that each extent is free, or a table of exactly one run, or part of the log store.
    fn check_extents(&self) -> Result<(), String> {
        let logged: &[u32] =
            if let LogLocation::Store { tables, .. } = &self.log.location { tables } else { &[] };
        let mut uses = vec![0; self.tables.tables.len()];
        let listed = self.levels.iter().flatten().flatten().chain(logged).chain(&self.tables.free);
        listed.for_each(|&id| uses[id as usize] += 1);
        if let Some(id) = uses.iter().position(|&uses| uses != 1) {
            return Err(format!("lsm: extent {id} has {} uses", uses[id]));
        }
        match self.tables.free.iter().find(|&&id| self.tables.tables[id as usize].is_some()) {
            Some(id) => Err(format!("lsm: extent {id} is free and holds a table")),
            None => Ok(()),
        }
    }

    /// Checks that the tables of a run are sorted, do not overlap, and fit on their extents.
    fn check_run(&self, run: &[u32]) -> Result<(), String> {
        let tables: Vec<_> = run.iter().map(|&id| self.tables.table(id)).collect();
        let sorted = tables.windows(2).all(|pair| pair[0].range().1 < pair[1].range().0)
            && tables.iter().all(|table| {
                [&table.keys, &table.tombstones].iter().all(|keys| keys.windows(2).all(|k| k[0] < k[1]))
            });
        let fit = tables
            .iter()
            .all(|table| table.pages <= self.config.table_pages && table.written <= self.tables.extent_pages);
        if sorted && fit { Ok(()) } else { Err(format!("lsm: the run {run:?} is not sorted or too large")) }
    }

    /// Compares the locations of all pages with the locations found by a scan from the oldest run to the memtable.
    fn check_locations(&self) -> Result<(), String> {
        let mut locations = vec![Slot::NONE; self.tables.locations.len()];
        for &id in self.levels.iter().rev().flatten().flatten() {
            let table = self.tables.table(id);
            for (at, &key) in table.keys.iter().enumerate() {
                locations[key as usize] = self.tables.slot(id, at);
            }
            table.tombstones.iter().for_each(|&key| locations[key as usize] = Slot::NONE);
        }
        for (&key, newest) in &self.memtable.entries {
            locations[key as usize] = match newest {
                // The log store is not sorted; only the map knows the locations of its pages.
                NewestVersion::Logged => self.tables.locations[key as usize],
                _ => Slot::NONE,
            };
        }
        if let Some(key) = (0..locations.len()).find(|&key| locations[key] != self.tables.locations[key]) {
            return Err(format!(
                "lsm: the newest version of page {key} is at {:?}, not at {:?}",
                locations[key], self.tables.locations[key]
            ));
        }
        let mut live = vec![0; self.tables.live.len()];
        let stored = locations.iter().filter(|&&slot| slot != Slot::NONE);
        stored.for_each(|slot| live[(slot.0 / self.tables.extent_pages) as usize] += 1);
        match (0..live.len()).find(|&extent| live[extent] != self.tables.live[extent]) {
            Some(extent) => Err(format!(
                "lsm: extent {extent} has {} pages that are newest, {} were counted",
                live[extent], self.tables.live[extent]
            )),
            None => Ok(()),
        }
    }
}
