//! Power cuts in the middle of an operation, at a chosen operation number.

use super::{Flash, forward_flash};
use crate::counters::Cause;
use crate::layer::{Group, Medium, MediumError, Pages, Run, forward_medium};
use crate::units::BlockId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Time and kind of a power cut.
///
/// The counted operations are programs of single pages and erases. Reads do not change the flash, so a cut during a
/// read has the same effect as a cut before the next program or erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Operations before the cut, since the power source was created.
    pub after: u64,
    /// True if the cut interrupts the next operation: a page is torn, or a block is partly erased.
    pub torn: bool,
}

#[derive(Debug, Default)]
struct State {
    operations: u64,
    cut: Option<PowerCut>,
    off: bool,
    /// True if a battery keeps the drive running and only reports the failure.
    battery: bool,
    failing: bool,
}

/// Power source of a drive, shared by the flash, which loses power, and the code that cuts and restores it.
#[derive(Clone, Debug, Default)]
pub struct PowerSource(Arc<Mutex<State>>);

impl PowerSource {
    /// Creates a power source without a cut, with or without a battery (or capacitors).
    pub fn new(battery: bool) -> Self {
        PowerSource(Arc::new(Mutex::new(State { battery, ..State::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of programs and erases since the power source was created.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Schedules a power cut, in place of the previous one; `None` cancels it.
    pub fn schedule_cut(&self, cut: Option<PowerCut>) {
        self.lock().cut = cut;
    }

    /// True if power is off.
    pub fn is_off(&self) -> bool {
        self.lock().off
    }

    /// True if the drive runs on its battery.
    pub fn is_failing(&self) -> bool {
        self.lock().failing
    }

    /// Restores power.
    pub fn restore(&self) {
        let mut state = self.lock();
        (state.off, state.failing, state.cut) = (false, false, None);
    }

    /// Returns the number of the `requested` operations that complete before the cut; and true if the cut interrupts
    /// another operation.
    fn take_operations(&self, requested: u64) -> (u64, bool) {
        let mut state = self.lock();
        if state.off {
            return (0, false);
        }
        let left = state.cut.map_or(u64::MAX, |cut| cut.after.saturating_sub(state.operations));
        if left >= requested || state.battery {
            state.operations += requested;
            state.failing |= left < requested;
            return (requested, false);
        }
        state.off = true;
        state.operations += left;
        (left, state.cut.is_some_and(|cut| cut.torn))
    }
}

/// Flash on a power source that may be cut; after the cut, every operation fails with [`MediumError::PowerLost`].
pub struct PowerCutFlash<F> {
    flash: F,
    power: PowerSource,
}

impl<F: Flash> PowerCutFlash<F> {
    /// Connects `flash` to `power`.
    pub fn new(flash: F, power: PowerSource) -> Self {
        PowerCutFlash { flash, power }
    }

    /// Returns the flash, for tests.
    #[cfg(test)]
    pub(crate) fn inner_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    fn check_power(&self) -> Result<(), MediumError> {
        if self.power.is_off() { Err(MediumError::PowerLost) } else { Ok(()) }
    }
}

impl<F: Flash> Medium for PowerCutFlash<F> {
    type Payload = F::Payload;

    const STORES_GROUPS: bool = F::STORES_GROUPS;
    const READS_BY_PAGE: bool = F::READS_BY_PAGE;

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, F::Payload>) -> Result<(), MediumError> {
        let requested = run.data.len();
        let (done, torn) = self.power.take_operations(requested as u64);
        let done = done as usize;
        if done == requested && !self.power.is_off() {
            return self.flash.program(block, page, run);
        }
        if done > 0 {
            // The written pages of an interrupted group must not look complete.
            let group = if run.group == Group::None { Group::None } else { Group::Continues };
            let owners = run.owners.map(|owners| &owners[..done]);
            self.flash.program(block, page, Run { owners, data: &run.data[..done], group, ..run })?;
        }
        if torn {
            self.flash.tear_program(block, page + done as u32);
        }
        Err(MediumError::PowerLost)
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        match self.power.take_operations(1) {
            (1, _) => return self.flash.erase(block, cause),
            (_, true) => self.flash.tear_erase(block),
            _ => {}
        }
        Err(MediumError::PowerLost)
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<F::Payload>,
    ) -> Result<(), MediumError> {
        self.check_power()?;
        self.flash.read(block, pages, cause, out)
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.check_power()?;
        self.flash.flush()
    }

    forward_medium! {
        flash:
        blocks, pages_per_block, count_reads, prefetch_block, retire, take_disturbed,
        reads_before_refresh, read_wear, is_bad, erases, invalidation_listener, layer_below, layer_below_mut, describe,
        check,
    }
}

impl<F: Flash> Flash for PowerCutFlash<F> {
    forward_flash! {
        flash:
        spare, read_spare, prefetch_spares, note, needs_page_bytes, store_page_bytes, tear_program,
        tear_erase, recovery_step_ended, next_page,
    }
}
