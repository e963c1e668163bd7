//! Host writes: a page goes to its data block if it is the next page there, otherwise to a log.

use super::blocks::{Blocks, Filled};
use super::note::{Note, Role};
use super::{HybridKind, bast, fast};
use crate::counters::{Cause, Operation};
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};

/// Destination of a page written by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The data block of its logical block; the page is the next one there.
    Data,
    /// The log of its logical block.
    OwnLog,
    /// The last of the shared logs.
    SharedLog,
}

impl<F: Flash> Blocks<F> {
    /// Writes a page of the host.
    pub fn write(&mut self, page: Lpn, data: &F::Payload) -> Result<(), LayerError> {
        loop {
            let Some(place) = self.place_for(page)? else { continue };
            let (block, at, note) = self.target(place, page);
            let content = std::slice::from_ref(data);
            if self.program((block, at), &[page], content, Cause::Host, note)? {
                self.pool.counters.add_incoming(Operation::Write, 1);
                return self.note_written(place, page, self.slot(block, at), note);
            }
            self.close(place, page);
            self.vacate(block, Cause::Cleaning)?;
        }
    }

    /// Returns the destination of `page`; `None` if a merge may have changed it, so that the choice must be repeated.
    fn place_for(&mut self, page: Lpn) -> Result<Option<Place>, LayerError> {
        let (logical, offset) = self.split(page);
        // While a logical block has its own log, its data block accepts no more pages, so that copies in the log are
        // always newer.
        if !self.own.contains_key(&logical) {
            match self.logical[logical as usize].data {
                Some(data) if !data.closed && data.written == offset => return Ok(Some(Place::Data)),
                None if offset == 0 => {
                    let block = self.take_erased(Cause::Host)?;
                    let note = Note::new(Role::Data, logical);
                    let data = Filled { block, written: 0, closed: false, note };
                    self.logical[logical as usize].data = Some(data);
                    return Ok(Some(Place::Data));
                }
                _ => {}
            }
        }
        match self.config.kind {
            HybridKind::Bast => bast::log_for(self, page),
            HybridKind::Fast => fast::log_for(self, page),
        }
    }

    /// Returns the page of `place` that is written next, and the block's note after this write.
    fn target(&self, place: Place, page: Lpn) -> (BlockId, u32, Note) {
        let (logical, offset) = self.split(page);
        let log = match place {
            Place::Data => {
                let data = self.logical[logical as usize].data.expect("there is a data block");
                return (data.block, data.written, data.note);
            }
            Place::OwnLog => &self.own[&logical],
            Place::SharedLog => self.shared.back().expect("there is a shared log"),
        };
        let in_place = log.note.in_place && log.written() == offset;
        (log.block, log.written(), Note { in_place, ..log.note })
    }

    /// Records that the page was programmed at `slot`.
    fn note_written(&mut self, place: Place, page: Lpn, slot: Slot, note: Note) -> Result<(), LayerError> {
        let logical = self.split(page).0;
        self.set_present(page, true);
        let log = match place {
            Place::Data => {
                self.log_map[page.index()] = Slot::NONE;
                let data = self.logical[logical as usize].data.as_mut().expect("it was written to");
                data.written += 1;
                return Ok(());
            }
            Place::OwnLog => self.own.get_mut(&logical).expect("it was written to"),
            Place::SharedLog => self.shared.back_mut().expect("it was written to"),
        };
        (log.note, log.used) = (note, self.pool.sequence);
        log.owners.push(page);
        self.log_map[page.index()] = slot;
        let full = log.written() == self.pages_per_block;
        if full && note.in_place { self.merge_own(logical, Cause::Cleaning) } else { Ok(()) }
    }

    /// Closes the block at `place`, which failed.
    fn close(&mut self, place: Place, page: Lpn) {
        let logical = self.split(page).0;
        let closed = match place {
            Place::Data => self.logical[logical as usize].data.as_mut().map(|data| &mut data.closed),
            Place::OwnLog => self.own.get_mut(&logical).map(|log| &mut log.closed),
            Place::SharedLog => self.shared.back_mut().map(|log| &mut log.closed),
        };
        *closed.expect("it was written to") = true;
    }
}
