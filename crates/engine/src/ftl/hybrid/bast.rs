//! BAST: each logical block that receives writes has a log block of its own.
//!
//! Kim, Kim, Noh, Min and Cho: *A Space-Efficient Flash Translation Layer for CompactFlash Systems*, IEEE
//! Transactions on Consumer Electronics 48(2), 2002. The least recently written log block is merged first.

use super::blocks::Blocks;
use super::note::Role;
use super::write::Place;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::Lpn;

/// Returns the log block for `page`; `None` if a merge may have changed the choice, so that it must be repeated.
pub(super) fn log_for<F: Flash>(blocks: &mut Blocks<F>, page: Lpn) -> Result<Option<Place>, LayerError> {
    let logical = blocks.split(page).0;
    if let Some(log) = blocks.own.get(&logical) {
        if blocks.has_room(log) {
            return Ok(Some(Place::OwnLog));
        }
        blocks.merge_own(logical, Cause::Cleaning)?;
        return Ok(None);
    }
    blocks.free_a_log()?;
    blocks.open_log(Role::OwnLog, logical)?;
    Ok(Some(Place::OwnLog))
}

/// Returns the number of unused log blocks.
pub(super) fn free_logs<F: Flash>(blocks: &Blocks<F>) -> usize {
    (blocks.config.log_blocks as usize).saturating_sub(blocks.own.len())
}

/// Merges the least recently written log. Returns false if there is no log.
pub(super) fn merge_oldest<F: Flash>(blocks: &mut Blocks<F>) -> Result<bool, LayerError> {
    let oldest = blocks.own.iter().min_by_key(|(_, log)| log.used).map(|(&logical, _)| logical);
    let Some(logical) = oldest else { return Ok(false) };
    blocks.merge_own(logical, Cause::Cleaning).map(|()| true)
}
