//! Unused log blocks, and the conditions under which merges free log blocks.

use super::blocks::HybridState;
use super::{HybridKind, bast, fast};
use crate::layer::LayerError;
use crate::nand::Flash;

impl<F: Flash> HybridState<F> {
    /// Returns the number of log blocks that could be opened.
    pub fn free_logs(&self) -> usize {
        match self.config.kind {
            HybridKind::Bast => bast::free_logs(self),
            HybridKind::Fast => fast::free_logs(self),
        }
    }

    fn merge_oldest(&mut self) -> Result<bool, LayerError> {
        match self.config.kind {
            HybridKind::Bast => bast::merge_oldest(self),
            HybridKind::Fast => fast::merge_oldest(self),
        }
    }

    /// Prepares for opening a log block: merges until the number of free log blocks is above the low watermark.
    pub fn ensure_free_log(&mut self) -> Result<(), LayerError> {
        self.pool.count_deferral_with(self.free_logs());
        while self.pool.is_low(self.free_logs()) && self.merge_oldest()? {}
        Ok(())
    }

    /// Merges a log in idle time, unless enough log blocks are free. Returns true if a log was merged.
    pub fn merge_while_idle(&mut self) -> Result<bool, LayerError> {
        if !self.pool.is_below_idle_target(self.free_logs()) {
            return Ok(false);
        }
        self.merge_oldest()
    }
}
