//! FAST: one log block for sequential writes; the other log blocks are shared by all logical blocks.
//!
//! Lee, Park, Chung, Lee, Park and Song: *A Log Buffer-Based Flash Translation Layer Using Fully-Associative Sector
//! Translation*, ACM Transactions on Embedded Computing Systems 6(3), 2007. A write to the first page of a logical
//! block starts a new sequential log block, and a write to the next page continues it. All other writes go to the
//! shared log blocks, which are reclaimed round robin. Unlike in the paper, a write to another page of the same
//! logical block leaves the sequential log unchanged.

use super::blocks::{HybridState, LogBlock};
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
    let (logical, offset) = state.split(page);
    let sequential = state.dedicated_logs.first_key_value();
    if let Some((&owner, log)) = sequential {
        if owner == logical && log.written() == offset && state.has_room(log) {
            return Ok(Some(Destination::DedicatedLog));
        }
        if offset == 0 {
            state.merge_dedicated_log(owner, Cause::Cleaning)?;
            return Ok(None);
        }
    } else if offset == 0 {
        state.open_log(Role::DedicatedLog, logical)?;
        return Ok(Some(Destination::DedicatedLog));
    }
    shared_log(state)?;
    Ok(Some(Destination::SharedLog))
}

/// Ensures that the last of the shared logs has a free page.
fn shared_log<F: Flash>(state: &mut HybridState<F>) -> Result<(), LayerError> {
    let has_room = |log: &LogBlock| state.has_room(log);
    if state.shared_logs.back().is_some_and(has_room) {
        return Ok(());
    }
    state.ensure_free_log()?;
    state.open_log(Role::SharedLog, 0)
}

/// Returns the number of unused log blocks; one log block is always reserved for the sequential log.
pub(super) fn free_logs<F: Flash>(state: &HybridState<F>) -> usize {
    (state.config.log_blocks as usize).saturating_sub(state.shared_logs.len() + 1)
}

/// Merges the oldest of the shared logs. Returns false if there is no shared log.
pub(super) fn merge_oldest<F: Flash>(state: &mut HybridState<F>) -> Result<bool, LayerError> {
    if state.shared_logs.is_empty() {
        return Ok(false);
    }
    state.reclaim_shared(0, Cause::Cleaning).map(|()| true)
}
