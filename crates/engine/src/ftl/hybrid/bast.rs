//! BAST: each logical block that is written to has a log block of its own.
//!
//! Kim, Kim, Noh, Min and Cho: *A Space-Efficient Flash Translation Layer for CompactFlash Systems*, IEEE Transactions on
//! Consumer Electronics 48(2), 2002. The log block that was written to longest ago gives way.

use super::blocks::Blocks;
use super::note::Role;
use super::write::Place;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::Lpn;

/// The log for `page`; `None` if merging changed where it belongs.
pub(super) fn log_for<F: Flash>(blocks: &mut Blocks<F>, page: Lpn) -> Result<Option<Place>, LayerError> {
    let logical = blocks.split(page).0;
    if let Some(log) = blocks.own.get(&logical) {
        if blocks.has_room(log) {
            return Ok(Some(Place::OwnLog));
        }
        blocks.merge_own(logical, Cause::Cleaning)?;
        return Ok(None);
    }
    if blocks.own.len() >= blocks.config.log_blocks as usize {
        let oldest = blocks.own.iter().min_by_key(|(_, log)| log.used);
        let (&victim, _) = oldest.expect("there is at least one log block");
        blocks.merge_own(victim, Cause::Cleaning)?;
    }
    blocks.open_log(Role::OwnLog, logical)?;
    Ok(Some(Place::OwnLog))
}
