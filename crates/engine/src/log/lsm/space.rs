//! Number of levels, their maximum sizes, and the space they need in the worst case.

use super::{LevelSizes, LsmConfig, Shape};
use crate::config::ConfigError;

/// The sizes of a tree's levels, in tables.
#[derive(Clone, Debug)]
pub(super) struct SpacePlan {
    pub levels: usize,
    /// For a leveled tree, size in tables at which a table of the level is merged into the next level. The last
    /// level never reaches its size.
    pub targets: Vec<u64>,
    /// Extents that must be free before a memtable is flushed: for its tables and for the merges that follow.
    pub reserve: u64,
    /// Total number of extents needed: the maximum that tables occupy between two flushes, plus the reserve.
    pub extents: u64,
}

impl LsmConfig {
    /// Returns the number of pages of an extent, which holds a full table and its index.
    pub(super) fn extent_pages(&self) -> u32 {
        self.table_pages.saturating_add(self.index_pages(self.table_pages))
    }

    /// Returns the number of extents that fit on `lower_pages` pages next to the write-ahead log.
    pub(super) fn extents_on(&self, lower_pages: u32) -> u32 {
        lower_pages.saturating_sub(self.wal_pages.unwrap_or(0)) / self.extent_pages()
    }

    /// Returns the maximum number of tables of a sorted run with `pages` pages. All tables except the last are full,
    /// but up to one page of each may be wasted behind its last tombstone.
    fn max_tables(&self, pages: u64) -> u64 {
        pages / u64::from(self.table_pages - 1) + 1
    }

    pub(super) fn plan(&self, logical_pages: u32) -> SpacePlan {
        let flushed = self.max_tables(self.memtable_pages.into());
        // In all styles, the last run holds each page once and no tombstones.
        let all = u64::from(logical_pages.div_ceil(self.table_pages));
        let (targets, resident, reserve) = match self.shape {
            Shape::Leveled { level0_runs, ratio, sizes } => {
                let targets = self.leveled_targets(logical_pages, level0_runs, ratio, sizes);
                let upper: u64 = targets[1..targets.len() - 1].iter().sum();
                // Merges leave tables that are not completely filled: about one in `ratio` of the last level.
                let resident =
                    u64::from(level0_runs - 1) * flushed + upper + all + all.div_ceil(ratio.into());
                let merging = u64::from(level0_runs) + 2 + self.max_tables(upper);
                (targets, resident, flushed + merging)
            }
            Shape::Tiered { runs } => {
                let sizes = self.tiered_sizes(logical_pages, runs);
                let tables: u64 = sizes.iter().map(|&pages| self.max_tables(pages)).sum();
                let resident = u64::from(runs - 1) * tables + all;
                (vec![0; sizes.len()], resident, flushed + u64::from(runs) + 1)
            }
            Shape::Silt { hash_stores } => {
                let log = u64::from(self.memtable_pages.div_ceil(self.table_pages));
                // One more page is for tombstones that had not yet filled a page of the log.
                let flushed = self.max_tables(u64::from(self.memtable_pages) + 1);
                let resident = log + u64::from(hash_stores - 1) * flushed + all;
                (vec![0; 2], resident, flushed + u64::from(hash_stores) + 2)
            }
        };
        SpacePlan { levels: targets.len(), targets, reserve, extents: resident + reserve }
    }

    /// Returns the target size of each level in tables. Level 0 has none; the last level can hold all pages.
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

    /// Returns, for each level, the maximum number of pages of a run.
    fn tiered_sizes(&self, logical_pages: u32, runs: u32) -> Vec<u64> {
        let tombstone_pages = logical_pages / self.tombstones_per_page() as u32 + 1;
        let (all, max_pages) =
            (u64::from(logical_pages), u64::from(logical_pages) + u64::from(tombstone_pages));
        let mut sizes = vec![u64::from(self.memtable_pages)];
        while sizes.last().expect("level 0") * u64::from(runs) < all {
            sizes.push(sizes.last().expect("level 0") * u64::from(runs));
        }
        sizes.iter().map(|&pages| pages.min(max_pages)).collect()
    }

    /// Rejects settings that cannot work on a layer of `lower_pages` pages.
    pub(super) fn validate(&self, lower_pages: u32) -> Result<(), ConfigError> {
        let require_min = |key: &str, value: u32, min: u32| match value < min {
            true => Err(ConfigError::new(key, format!("is {value}; at least {min} is needed"))),
            false => Ok(()),
        };
        require_min("logical_pages", self.logical_pages, 1)?;
        require_min("page_bytes", self.page_bytes, super::TOMBSTONE_BYTES)?;
        require_min("memtable_pages", self.memtable_pages, 1)?;
        require_min("table_pages", self.table_pages, 2)?;
        match self.shape {
            Shape::Leveled { level0_runs, ratio, .. } => {
                require_min("level0_runs", level0_runs, 1)?;
                require_min("ratio", ratio, 2)?;
            }
            Shape::Tiered { runs } => require_min("runs", runs, 2)?,
            Shape::Silt { hash_stores } => require_min("hash_stores", hash_stores, 1)?,
        }
        match (self.wal_pages, self.shape) {
            (Some(_), Shape::Silt { .. }) => {
                return Err(ConfigError::new(
                    "wal_pages",
                    "a silt tree's log store is its log; leave it out",
                ));
            }
            (Some(pages), _) => require_min("wal_pages", pages, 1)?,
            _ => {}
        }
        self.validate_space(lower_pages)
    }

    /// Returns the maximum number of logical pages that a tree with these settings can expose on `lower_pages` pages,
    /// regardless of `logical_pages`. If no number is possible, returns an error with the invalid setting.
    pub fn max_logical_pages(&self, lower_pages: u32) -> Result<u32, ConfigError> {
        let config = LsmConfig { logical_pages: 1, ..*self };
        config.validate(lower_pages)?;
        Ok(config.max_fitting_pages(lower_pages, lower_pages))
    }

    /// Returns the maximum number of logical pages below `too_many` that fits; 0 if no number fits.
    fn max_fitting_pages(&self, mut too_many: u32, lower_pages: u32) -> u32 {
        // The required number of extents grows with the number of logical pages, so a binary search works.
        let (available, mut fits) = (u64::from(self.extents_on(lower_pages)), 0);
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            if self.plan(middle).extents <= available { fits = middle } else { too_many = middle }
        }
        fits
    }

    fn validate_space(&self, lower_pages: u32) -> Result<(), ConfigError> {
        let available = u64::from(self.extents_on(lower_pages));
        let needed = self.plan(self.logical_pages).extents;
        if needed <= available {
            return Ok(());
        }
        let fits = self.max_fitting_pages(self.logical_pages, lower_pages);
        let advice = match fits {
            0 => "not even one would fit; use smaller memtables or tables".to_owned(),
            _ => format!("at most {fits} would fit"),
        };
        let extent_pages = self.extent_pages();
        Err(ConfigError::new(
            "logical_pages",
            format!(
                "{} logical pages may need {needed} extents of {extent_pages} pages, of which there are {available} on \
                 {lower_pages} pages below; {advice}",
                self.logical_pages
            ),
        ))
    }
}
