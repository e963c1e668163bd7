//! Host writes: a page goes to its data block if it is the next page there, otherwise to a log.

use super::blocks::{DataBlock, HybridState};
use super::note::{BlockNote, Role};
use super::{HybridKind, bast, fast};
use crate::counters::{Cause, Operation};
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};

/// Destination of a page written by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The data block of the page's logical block; the page is the next one there.
    Data,
    /// The log of the page's logical block.
    DedicatedLog,
    /// The last of the shared logs.
    SharedLog,
}

impl<F: Flash> HybridState<F> {
    /// Writes a page of the host.
    pub fn write(&mut self, page: Lpn, data: &F::Payload) -> Result<(), LayerError> {
        loop {
            let Some(destination) = self.choose_destination(page)? else { continue };
            let (block, at, note) = self.next_page(destination, page);
            let content = std::slice::from_ref(data);
            if self.program((block, at), &[page], content, Cause::Host, note)? {
                self.pool.counters.add_incoming(Operation::Write, 1);
                return self.record_write(destination, page, self.slot(block, at), note);
            }
            self.close_block(destination, page);
            self.empty_block(block, Cause::Cleaning)?;
        }
    }

    /// Returns the destination of `page`; `None` if a merge may have changed the choice, so that the caller must repeat
    /// the call.
    fn choose_destination(&mut self, page: Lpn) -> Result<Option<Destination>, LayerError> {
        let (logical, offset) = self.split(page);
        // While a logical block has a dedicated log, its data block accepts no more pages, so that copies in the log
        // are always newer.
        if !self.dedicated_logs.contains_key(&logical) {
            match self.logical_blocks[logical as usize].data {
                Some(data) if !data.closed && data.written == offset => return Ok(Some(Destination::Data)),
                None if offset == 0 => {
                    let block = self.take_erased(Cause::Host)?;
                    let note = BlockNote::new(Role::Data, logical);
                    let data = DataBlock { block, written: 0, closed: false, note };
                    self.logical_blocks[logical as usize].data = Some(data);
                    return Ok(Some(Destination::Data));
                }
                _ => {}
            }
        }
        match self.config.kind {
            HybridKind::Bast => bast::log_for(self, page),
            HybridKind::Fast => fast::log_for(self, page),
        }
    }

    /// Returns the next free page at `destination` (block and index), and the block's note after the write of `page`.
    fn next_page(&self, destination: Destination, page: Lpn) -> (BlockId, u32, BlockNote) {
        let (logical, offset) = self.split(page);
        let log = match destination {
            Destination::Data => {
                let data = self.logical_blocks[logical as usize].data.expect("there is a data block");
                return (data.block, data.written, data.note);
            }
            Destination::DedicatedLog => &self.dedicated_logs[&logical],
            Destination::SharedLog => self.shared_logs.back().expect("there is a shared log"),
        };
        let in_place = log.note.in_place && log.written() == offset;
        (log.block, log.written(), BlockNote { in_place, ..log.note })
    }

    /// Records that the page was programmed at `slot`.
    fn record_write(
        &mut self,
        destination: Destination,
        page: Lpn,
        slot: Slot,
        note: BlockNote,
    ) -> Result<(), LayerError> {
        let logical = self.split(page).0;
        self.set_present(page, true);
        let log = match destination {
            Destination::Data => {
                self.log_map[page.index()] = Slot::NONE;
                let data = self.logical_blocks[logical as usize].data.as_mut().expect("it was written to");
                data.written += 1;
                return Ok(());
            }
            Destination::DedicatedLog => self.dedicated_logs.get_mut(&logical).expect("it was written to"),
            Destination::SharedLog => self.shared_logs.back_mut().expect("it was written to"),
        };
        (log.note, log.last_write) = (note, self.pool.sequence);
        log.owners.push(page);
        self.log_map[page.index()] = slot;
        let full = log.written() == self.pages_per_block;
        if full && note.in_place { self.merge_dedicated_log(logical, Cause::Cleaning) } else { Ok(()) }
    }

    /// Closes the block at `destination`, in which a program failed.
    fn close_block(&mut self, destination: Destination, page: Lpn) {
        let logical = self.split(page).0;
        let closed = match destination {
            Destination::Data => {
                self.logical_blocks[logical as usize].data.as_mut().map(|data| &mut data.closed)
            }
            Destination::DedicatedLog => self.dedicated_logs.get_mut(&logical).map(|log| &mut log.closed),
            Destination::SharedLog => self.shared_logs.back_mut().map(|log| &mut log.closed),
        };
        *closed.expect("it was written to") = true;
    }
}
