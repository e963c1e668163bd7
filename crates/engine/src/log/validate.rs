//! Validation of a store's settings.

use super::config::Reclaim;
use super::directory::Directory;
use super::store::LogStore;
use crate::config::ConfigError;
use crate::layer::{Medium, MediumExt};
use crate::placement::Placement;
use crate::victim::VictimPolicy;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Rejects settings that cannot work together.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let streams = self.streams();
        let fixed = self.placement.host_stream().is_some() && self.placement.cleaning_stream().is_some();
        match self.config.reclaim {
            Reclaim::InPlace if streams > 2 || !fixed => {
                return Err(ConfigError::new(
                    "reclaim",
                    "in_place is defined for the single and the double frontier only; use free_pool",
                ));
            }
            Reclaim::FreePool { low, high } if low == 0 || high < low => {
                return Err(ConfigError::new(
                    "reclaim",
                    format!("free_pool needs 0 < low <= high, not low = {low}, high = {high}"),
                ));
            }
            _ => {}
        }
        self.check_deferral()?;
        self.check_idle()?;
        let has_metadata = self.pool.medium.metadata_pages() > 0;
        if self.config.evicts && (!D::PAGE_EXACT || has_metadata || self.config.reclaim == Reclaim::InPlace) {
            let problem = "needs reclaim = \"free_pool\", a directory of pages, and no metadata in the log, which must not be lost";
            return Err(ConfigError::new("evict", problem));
        }
        if !D::PAGE_EXACT && (streams > 1 || self.config.reclaim != Reclaim::InPlace) {
            return Err(ConfigError::new(
                "directory",
                "block counts are exact only for a single frontier reclaimed in place; use page",
            ));
        }
        if !D::PAGE_EXACT && self.pool.medium.pages_until_checkpoint() != u64::MAX {
            return Err(ConfigError::new(
                "directory",
                "block counts do not tell which map pages change; use page",
            ));
        }
        if self.config.logical_pages == 0 {
            return Err(ConfigError::new("logical_pages", "is 0; at least one page is needed"));
        }
        if self.pool.usable_blocks < self.pool.needed_blocks {
            return Err(ConfigError::new(
                "logical_pages",
                format!(
                    "{} logical pages with {streams} streams need at least {} blocks of {} pages, there are {}; \
                     more flash, smaller blocks, more spare space, fewer streams or lower watermarks",
                    self.config.logical_pages,
                    self.pool.needed_blocks,
                    self.pool.pages_per_block(),
                    self.pool.usable_blocks
                ),
            ));
        }
        Ok(())
    }

    fn check_deferral(&self) -> Result<(), ConfigError> {
        let error = |problem: String| Err(ConfigError::new("free_blocks_deferred", problem));
        match (self.config.deferred_low, self.config.reclaim) {
            (None, _) => Ok(()),
            (Some(_), Reclaim::InPlace) => {
                error("means nothing with in_place, which keeps no erased blocks to live on meanwhile".into())
            }
            (Some(deferred), Reclaim::FreePool { low, .. }) if deferred == 0 || deferred >= low => error(
                format!("is {deferred}; it must be at least 1 and below free_blocks_low, which is {low}"),
            ),
            _ => Ok(()),
        }
    }

    fn check_idle(&self) -> Result<(), ConfigError> {
        let Some(idle) = self.config.idle_high else { return Ok(()) };
        let error = |problem: String| Err(ConfigError::new("free_blocks_idle", problem));
        let Reclaim::FreePool { low, high } = self.config.reclaim else {
            return error("means nothing with in_place, which keeps no erased blocks".into());
        };
        let max_erased = self.pool.usable_blocks - self.pool.needed_blocks.min(self.pool.usable_blocks)
            + high.max(low + 1);
        if !(high.max(low + 1)..=max_erased).contains(&idle) {
            return error(format!(
                "is {idle}; it must be from {} to {max_erased}, or it would never be reached",
                high.max(low + 1)
            ));
        }
        Ok(())
    }
}
