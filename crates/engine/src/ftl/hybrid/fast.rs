//! FAST: one log block for sequential writes, the others shared by all logical blocks.
//!
//! Lee, Park, Chung, Lee, Park and Song: *A Log Buffer-Based Flash Translation Layer Using Fully-Associative Sector
//! Translation*, ACM Transactions on Embedded Computing Systems 6(3), 2007. A write to the first page of a logical block
//! begins the sequential log block anew, a write to its next page goes on with it, and all others go to the shared ones,
//! which are reclaimed in turn. Unlike there, a write to another page of its logical block leaves it as it is.

use super::blocks::{Blocks, LogBlock};
use super::note::Role;
use super::write::Place;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::Lpn;

/// The log for `page`; `None` if merging changed where it belongs.
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

/// Makes the last of the shared logs one that has room.
fn shared_log<F: Flash>(blocks: &mut Blocks<F>) -> Result<(), LayerError> {
    let has_room = |log: &LogBlock| blocks.has_room(log);
    if blocks.shared.back().is_some_and(has_room) {
        return Ok(());
    }
    blocks.free_a_log()?;
    blocks.open_log(Role::SharedLog, 0)
}

/// Log blocks not in use; one is the sequential one.
pub(super) fn free_logs<F: Flash>(blocks: &Blocks<F>) -> usize {
    (blocks.config.log_blocks as usize).saturating_sub(blocks.shared.len() + 1)
}

/// Merges the oldest of the shared logs; whether there is one.
pub(super) fn merge_oldest<F: Flash>(blocks: &mut Blocks<F>) -> Result<bool, LayerError> {
    if blocks.shared.is_empty() {
        return Ok(false);
    }
    blocks.reclaim_shared(0, Cause::Cleaning).map(|()| true)
}
