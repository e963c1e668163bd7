//! Consistency check: every block that is not bad has exactly one state.

use super::Pool;
use crate::layer::Medium;
use crate::victim::VictimPolicy;

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Compares the numbers of erased, open, closed and other blocks; `others` are blocks that the owner manages
    /// outside the pool. An error is a defect.
    pub(crate) fn check(&self, others: u32) -> Result<(), String> {
        let candidates = self.blocks.iter_candidates().count() as u32;
        let open = self.frontiers.iter().flatten().count() as u32;
        let (erased, aside) = (self.erased.len() as u32, self.set_aside.len() as u32 + others);
        if candidates != self.blocks.candidates() || candidates + open + erased + aside != self.usable_blocks
        {
            return Err(format!(
                "{candidates} candidates ({} counted), {open} open, {erased} erased and {aside} other blocks are not all of {}",
                self.blocks.candidates(),
                self.usable_blocks
            ));
        }
        Ok(())
    }
}
