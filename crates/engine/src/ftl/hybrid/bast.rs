//! BAST: each logical block that receives writes has a separate log block.
//!
//! Kim, Kim, Noh, Min and Cho: *A Space-Efficient Flash Translation Layer for CompactFlash Systems*, IEEE
//! Transactions on Consumer Electronics 48(2), 2002. The least recently written log block is merged first.

use super::blocks::HybridState;
use super::note::Role;
use super::write::Destination;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::Lpn;

/// Returns the log block for `page`; `None` if a merge may have changed the choice, so that the caller must repeat the
/// call.
pub(super) fn log_for<F: Flash>(
    state: &mut HybridState<F>,
    page: Lpn,
) -> Result<Option<Destination>, LayerError> {
    let logical = state.split(page).0;
    if let Some(log) = state.dedicated_logs.get(&logical) {
        if state.has_room(log) {
            return Ok(Some(Destination::DedicatedLog));
        }
        state.merge_dedicated_log(logical, Cause::Cleaning)?;
        return Ok(None);
    }
    state.ensure_free_log()?;
    state.open_log(Role::DedicatedLog, logical)?;
    Ok(Some(Destination::DedicatedLog))
}

/// Returns the number of unused log blocks.
pub(super) fn free_logs<F: Flash>(state: &HybridState<F>) -> usize {
    (state.config.log_blocks as usize).saturating_sub(state.dedicated_logs.len())
}

/// Merges the least recently written log. Returns false if there is no log.
pub(super) fn merge_oldest<F: Flash>(state: &mut HybridState<F>) -> Result<bool, LayerError> {
    let oldest =
        state.dedicated_logs.iter().min_by_key(|(_, log)| log.last_write).map(|(&logical, _)| logical);
    let Some(logical) = oldest else { return Ok(false) };
    state.merge_dedicated_log(logical, Cause::Cleaning).map(|()| true)
}
