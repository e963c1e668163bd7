//! How many levels there are, how large they may grow, and what space that takes at worst.

use super::{LevelSizes, LsmConfig, Shape};
use crate::config::ConfigError;

/// The sizes of a tree's levels, in tables.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub levels: usize,
    /// Tables from which on a level of a leveled tree gives one away; the last level's is never reached.
    pub targets: Vec<u64>,
    /// Extents that must be free before a memtable is flushed: for its tables, and for the merges that follow.
    pub reserve: u64,
    /// Extents that tables may take between two flushes, and the reserve.
    pub extents: u64,
}

impl LsmConfig {
    /// Pages of an extent: a full table and its index.
    pub(super) fn extent_pages(&self) -> u32 {
        self.table_pages.saturating_add(self.index_pages(self.table_pages))
    }

    /// Extents that fit on so many pages beside the write-ahead log.
    pub(super) fn extents_on(&self, lower_pages: u32) -> u32 {
        lower_pages.saturating_sub(self.wal_pages.unwrap_or(0)) / self.extent_pages()
    }

    /// The most tables that a sorted run of so many pages can have. Each but the last is full, but up to a page of it
    /// may be the room left behind its last tombstone.
    fn most_tables(&self, pages: u64) -> u64 {
        pages / u64::from(self.table_pages - 1) + 1
    }

    pub(super) fn plan(&self, logical_pages: u32) -> Plan {
        let flushed = self.most_tables(self.memtable_pages.into());
        // The last run of any shape holds each page once and no tombstones.
        let all = u64::from(logical_pages.div_ceil(self.table_pages));
        let (targets, resident, reserve) = match self.shape {
            Shape::Leveled { level0_runs, ratio, sizes } => {
                let targets = self.leveled_targets(logical_pages, level0_runs, ratio, sizes);
                let upper: u64 = targets[1..targets.len() - 1].iter().sum();
                // Merges leave tables that are not quite full, one in about `ratio` of the last level.
                let resident =
                    u64::from(level0_runs - 1) * flushed + upper + all + all.div_ceil(ratio.into());
                let merging = u64::from(level0_runs) + 2 + self.most_tables(upper);
                (targets, resident, flushed + merging)
            }
            Shape::Tiered { runs } => {
                let sizes = self.tiered_sizes(logical_pages, runs);
                let tables: u64 = sizes.iter().map(|&pages| self.most_tables(pages)).sum();
                let resident = u64::from(runs - 1) * tables + all;
                (vec![0; sizes.len()], resident, flushed + u64::from(runs) + 1)
            }
            Shape::Silt { hash_stores } => {
                let log = u64::from(self.memtable_pages.div_ceil(self.table_pages));
                // Tombstones that had not yet filled a page of the log.
                let flushed = self.most_tables(u64::from(self.memtable_pages) + 1);
                let resident = log + u64::from(hash_stores - 1) * flushed + all;
                (vec![0; 2], resident, flushed + u64::from(hash_stores) + 2)
            }
        };
        Plan { levels: targets.len(), targets, reserve, extents: resident + reserve }
    }

    /// Level 0 has no target in tables; the last level can hold all pages.
    fn leveled_targets(
        &self,
        logical_pages: u32,
        level0_runs: u32,
        ratio: u32,
        sizes: LevelSizes,
    ) -> Vec<u64> {
        let (all, ratio) = (u64::from(logical_pages), u64::from(ratio));
        let mut pages = vec![0, u64::from(level0_runs) * u64::from(self.memtable_pages)];
        while *pages.last().expect("level 1") < all {
            pages.push(pages.last().expect("level 1") * ratio);
        }
        if sizes == LevelSizes::FromBottom {
            let mut size = all;
            for level in pages[1..].iter_mut().rev() {
                *level = size;
                size = size.div_ceil(ratio);
            }
        }
        pages.iter().map(|&pages| pages.div_ceil(self.table_pages.into()).max(1)).collect()
    }

    /// Pages of a run of each level at most.
    fn tiered_sizes(&self, logical_pages: u32, runs: u32) -> Vec<u64> {
        let tombstone_pages = logical_pages / self.tombstones_per_page() as u32 + 1;
        let (all, most) = (u64::from(logical_pages), u64::from(logical_pages) + u64::from(tombstone_pages));
        let mut sizes = vec![u64::from(self.memtable_pages)];
        while sizes.last().expect("level 0") * u64::from(runs) < all {
            sizes.push(sizes.last().expect("level 0") * u64::from(runs));
        }
        sizes.iter().map(|&pages| pages.min(most)).collect()
    }

    /// Refuses what cannot work on a layer of so many pages.
    pub(super) fn validate(&self, lower_pages: u32) -> Result<(), ConfigError> {
        let least = |key: &str, value: u32, least: u32| match value < least {
            true => Err(ConfigError::new(key, format!("is {value}; at least {least} is needed"))),
            false => Ok(()),
        };
        least("logical_pages", self.logical_pages, 1)?;
        least("page_bytes", self.page_bytes, super::TOMBSTONE_BYTES)?;
        least("memtable_pages", self.memtable_pages, 1)?;
        least("table_pages", self.table_pages, 2)?;
        match self.shape {
            Shape::Leveled { level0_runs, ratio, .. } => {
                least("level0_runs", level0_runs, 1)?;
                least("ratio", ratio, 2)?;
            }
            Shape::Tiered { runs } => least("runs", runs, 2)?,
            Shape::Silt { hash_stores } => least("hash_stores", hash_stores, 1)?,
        }
        match (self.wal_pages, self.shape) {
            (Some(_), Shape::Silt { .. }) => {
                return Err(ConfigError::new(
                    "wal_pages",
                    "a silt tree's log store is its log; leave it out",
                ));
            }
            (Some(pages), _) => least("wal_pages", pages, 1)?,
            _ => {}
        }
        self.validate_space(lower_pages)
    }

    /// The most logical pages that a tree of this layout can show on so many pages, whatever its own say; the setting at
    /// fault if that is none.
    pub fn most_logical_pages(&self, lower_pages: u32) -> Result<u32, ConfigError> {
        let config = LsmConfig { logical_pages: 1, ..*self };
        config.validate(lower_pages)?;
        Ok(config.most_up_to(lower_pages, lower_pages))
    }

    /// The most logical pages below `too_many` that fit; 0 if none do.
    fn most_up_to(&self, mut too_many: u32, lower_pages: u32) -> u32 {
        // The need grows with the logical pages.
        let (there, mut fits) = (u64::from(self.extents_on(lower_pages)), 0);
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            if self.plan(middle).extents <= there { fits = middle } else { too_many = middle }
        }
        fits
    }

    fn validate_space(&self, lower_pages: u32) -> Result<(), ConfigError> {
        let there = u64::from(self.extents_on(lower_pages));
        let needed = self.plan(self.logical_pages).extents;
        if needed <= there {
            return Ok(());
        }
        let fits = self.most_up_to(self.logical_pages, lower_pages);
        let advice = match fits {
            0 => "not even one would fit; use smaller memtables or tables".to_owned(),
            _ => format!("at most {fits} would fit"),
        };
        let extent_pages = self.extent_pages();
        Err(ConfigError::new(
            "logical_pages",
            format!(
                "{} logical pages may need {needed} extents of {extent_pages} pages, of which there are {there} on \
                 {lower_pages} pages below; {advice}",
                self.logical_pages
            ),
        ))
    }
}
