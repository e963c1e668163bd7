//! Host writes: a page goes to its data block if it is the next there, else to a log.

use super::blocks::{Blocks, Filled};
use super::note::{Note, Role};
use super::{HybridKind, bast, fast};
use crate::counters::{Cause, Operation};
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};

/// Where a page of the host goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The data block of its logical block, of which it is the next page.
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

    /// Where `page` goes; `None` if merging changed that.
    fn place_for(&mut self, page: Lpn) -> Result<Option<Place>, LayerError> {
        let (logical, offset) = self.split(page);
        // With a log of its own a data block takes no more pages, so that what is in the log is always the newer copy.
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

    /// The page that `place` takes next, and the note of its block from then on.
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

    /// The page was programmed at `slot`.
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

    /// The block at `place` failed and takes no more pages.
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
