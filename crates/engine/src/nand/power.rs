//! Power that fails: in the middle of an operation, at a number that can be named.

use super::{FillPage, Flash, PageState};
use crate::counters::Cause;
use crate::layer::{Group, LayerBelow, Medium, MediumError, Pages, Reports, Run};
use crate::units::BlockId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When and how power is lost.
///
/// Operations are the programs of single pages and the erases; reads change nothing, so that a cut during a read leaves the
/// same flash as one before the next program or erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Operations done before it, since the supply was made.
    pub after: u64,
    /// Whether the next operation is begun: a page is left torn, a block half erased.
    pub torn: bool,
}

#[derive(Debug, Default)]
struct State {
    operations: u64,
    cut: Option<Cut>,
    off: bool,
    /// A battery carries the drive on, and only tells that power is failing.
    battery: bool,
    failing: bool,
}

/// The power of a drive: shared between the flash, which loses it, and whoever cuts and restores it.
#[derive(Clone, Debug, Default)]
pub struct Supply(Arc<Mutex<State>>);

impl Supply {
    /// Steady power, of a drive with a battery (or capacitors) or without.
    pub fn new(battery: bool) -> Self {
        Supply(Arc::new(Mutex::new(State { battery, ..State::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Programs and erases done so far.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Power will be lost there, instead of where was said before; `None`: it stays on.
    pub fn cut(&self, cut: Option<Cut>) {
        self.lock().cut = cut;
    }

    /// Whether power is off.
    pub fn is_off(&self) -> bool {
        self.lock().off
    }

    /// Whether a battery is all that is left.
    pub fn is_failing(&self) -> bool {
        self.lock().failing
    }

    /// Power is back.
    pub fn restore(&self) {
        let mut state = self.lock();
        (state.off, state.failing, state.cut) = (false, false, None);
    }

    /// How many of `wanted` operations are done before power is lost, and whether another one is begun.
    fn draw(&self, wanted: u64) -> (u64, bool) {
        let mut state = self.lock();
        if state.off {
            return (0, false);
        }
        let left = state.cut.map_or(u64::MAX, |cut| cut.after.saturating_sub(state.operations));
        if left >= wanted || state.battery {
            state.operations += wanted;
            state.failing |= left < wanted;
            return (wanted, false);
        }
        state.off = true;
        state.operations += left;
        (left, state.cut.is_some_and(|cut| cut.torn))
    }
}

/// Flash on a supply that may be cut: from then on every operation is refused with [`MediumError::PowerLost`].
pub struct Fragile<F> {
    flash: F,
    supply: Supply,
}

impl<F: Flash> Fragile<F> {
    /// `flash` on `supply`.
    pub fn new(flash: F, supply: Supply) -> Self {
        Fragile { flash, supply }
    }

    /// The flash, as tests look at it.
    #[cfg(test)]
    pub(crate) fn within(&mut self) -> &mut F {
        &mut self.flash
    }

    fn check_power(&self) -> Result<(), MediumError> {
        if self.supply.is_off() { Err(MediumError::PowerLost) } else { Ok(()) }
    }
}

impl<F: Flash> Medium for Fragile<F> {
    type Payload = F::Payload;

    const KEEPS_GROUPS: bool = F::KEEPS_GROUPS;
    const READS_BY_PAGE: bool = F::READS_BY_PAGE;

    fn blocks(&self) -> u32 {
        self.flash.blocks()
    }

    fn pages_per_block(&self) -> u32 {
        self.flash.pages_per_block()
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, F::Payload>) -> Result<(), MediumError> {
        let wanted = run.data.len();
        let (done, torn) = self.supply.draw(wanted as u64);
        let done = done as usize;
        if done == wanted && !self.supply.is_off() {
            return self.flash.program(block, page, run);
        }
        if done > 0 {
            // What was not written is not known to the pages before.
            let group = if run.group == Group::None { Group::None } else { Group::GoesOn };
            let owners = run.owners.map(|owners| &owners[..done]);
            self.flash.program(block, page, Run { owners, data: &run.data[..done], group, ..run })?;
        }
        if torn {
            self.flash.tear_program(block, page + done as u32);
        }
        Err(MediumError::PowerLost)
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        match self.supply.draw(1) {
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

    fn count_reads(&mut self, pages: u64) {
        self.flash.count_reads(pages);
    }

    fn prefetch_block(&self, block: BlockId) {
        self.flash.prefetch_block(block);
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.check_power()?;
        self.flash.flush()
    }

    fn retire(&mut self, block: BlockId) {
        self.flash.retire(block);
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        self.flash.take_disturbed()
    }

    fn read_wear(&mut self, block: BlockId) {
        self.flash.read_wear(block);
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.flash.is_bad(block)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.flash.erases(block)
    }

    #[inline(always)]
    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        self.flash.layer_below()
    }

    #[inline(always)]
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        self.flash.layer_below_mut()
    }

    fn describe(&self, reports: &mut Reports) {
        self.flash.describe(reports);
    }

    fn check(&self) -> Result<(), String> {
        self.flash.check()
    }
}

impl<F: Flash> Flash for Fragile<F> {
    fn spare(&self, block: BlockId, page: u32) -> PageState {
        self.flash.spare(block, page)
    }

    fn read_spare(&mut self, block: BlockId, page: u32, cause: Cause) -> PageState {
        self.flash.read_spare(block, page, cause)
    }

    fn prefetch_spares(&self, block: BlockId) {
        self.flash.prefetch_spares(block);
    }

    fn note(&self, block: BlockId) -> u64 {
        self.flash.note(block)
    }

    fn keeps_bytes(&self) -> bool {
        self.flash.keeps_bytes()
    }

    fn hold(&mut self, block: BlockId, page: u32, fill: &mut FillPage<'_>) -> Result<(), MediumError> {
        self.flash.hold(block, page, fill)
    }

    fn tear_program(&mut self, block: BlockId, page: u32) {
        self.flash.tear_program(block, page);
    }

    fn tear_erase(&mut self, block: BlockId) {
        self.flash.tear_erase(block);
    }

    fn recovery_step_ended(&mut self) {
        self.flash.recovery_step_ended();
    }

    fn next_page(&self, block: BlockId) -> Option<u32> {
        self.flash.next_page(block)
    }
}
