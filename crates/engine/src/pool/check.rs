//! Consistency check: every block that is not bad has exactly one state.

use super::Pool;
use crate::layer::Medium;
use crate::victim::VictimPolicy;

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Compares the numbers of erased, open, closed and other blocks with the number of usable blocks. `owner_blocks`
    /// is the number of blocks that the FTL or log above manages itself. An error is a bug.
    pub(crate) fn check(&self, owner_blocks: u32) -> Result<(), String> {
        let candidates = self.blocks.iter_candidates().count() as u32;
        let open = self.frontiers.iter().flatten().count() as u32;
        let (erased, pending) = (self.erased.len() as u32, self.pending_blocks.len() as u32 + owner_blocks);
        if candidates != self.blocks.candidates()
            || candidates + open + erased + pending != self.usable_blocks
        {
            return Err(format!(
                "{candidates} candidates ({} counted), {open} open, {erased} erased and {pending} other blocks are not all of {}",
                self.blocks.candidates(),
                self.usable_blocks
            ));
        }
        Ok(())
    }
}
