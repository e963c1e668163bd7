//! FAST: one log block for sequential writes; the other log blocks are shared by all logical blocks.
//!
//! Lee, Park, Chung, Lee, Park and Song: *A Log Buffer-Based Flash Translation Layer Using Fully-Associative Sector
//! Translation*, ACM Transactions on Embedded Computing Systems 6(3), 2007. A write to the first page of a logical
//! block starts a new sequential log block, and a write to the next page continues it. All other writes go to the
//! shared log blocks, which are reclaimed round robin. Unlike in the paper, a write to another page of the same
//! logical block leaves the sequential log unchanged.

use super::blocks::{Blocks, LogBlock};
use super::note::Role;
use super::write::Place;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::Lpn;

/// Returns the log block for `page`; `None` if a merge may have changed the choice, so that it must be repeated.
pub(super) fn log_for<F: Flash>(blocks: &mut Blocks<F>, page: Lpn) -> Result<Option<Place>, LayerError> {
    let (logical, offset) = blocks.split(page);
    let sequential = blocks.own.first_key_value();
    if let Some((&owner, log)) = sequential {
        if owner == logical && log.written() == offset && blocks.has_room(log) {
            return Ok(Some(Place::OwnLog));
        }
        if offset == 0 {
            blocks.merge_own(owner, Cause::Cleaning)?;
            return Ok(None);
        }
    } else if offset == 0 {
        blocks.open_log(Role::OwnLog, logical)?;
        return Ok(Some(Place::OwnLog));
    }
    shared_log(blocks)?;
    Ok(Some(Place::SharedLog))
}

/// Ensures that the last of the shared logs has room.
fn shared_log<F: Flash>(blocks: &mut Blocks<F>) -> Result<(), LayerError> {
    let has_room = |log: &LogBlock| blocks.has_room(log);
    if blocks.shared.back().is_some_and(has_room) {
        return Ok(());
    }
    blocks.free_a_log()?;
    blocks.open_log(Role::SharedLog, 0)
}

/// Returns the number of unused log blocks; one is always counted as the sequential log.
pub(super) fn free_logs<F: Flash>(blocks: &Blocks<F>) -> usize {
    (blocks.config.log_blocks as usize).saturating_sub(blocks.shared.len() + 1)
}

/// Merges the oldest of the shared logs. Returns false if there is none.
pub(super) fn merge_oldest<F: Flash>(blocks: &mut Blocks<F>) -> Result<bool, LayerError> {
    if blocks.shared.is_empty() {
        return Ok(false);
    }
    blocks.reclaim_shared(0, Cause::Cleaning).map(|()| true)
}
