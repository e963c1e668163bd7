//! The time series of a run: what happened from one look at the stack to the next.

use super::causes::Causes;
use super::heat::Heat;
use super::snapshot::Snapshot;
use super::window::{Phase, Window};

/// The windows that have ended, and the look at the stack with which the one in hand began.
pub(crate) struct Series {
    pub windows: Vec<Window>,
    pub causes: Causes,
    pub heat: Heat,
    pub start: Snapshot,
}

impl Series {
    /// Of a stack that looks like this, of which no window has ended.
    pub fn begin(start: Snapshot) -> Self {
        let heat = Heat::of(start.nand().erase_counts.len());
        Series { windows: Vec::new(), causes: Causes::default(), heat, start }
    }

    /// A window ends in which the host wrote `window_host_pages`, at least one, of `host_pages` since the drive was new, and the
    /// next begins.
    pub fn end_window(
        &mut self,
        phase: Phase,
        (host_pages, window_host_pages): (u64, u64),
        now: Snapshot,
    ) -> Window {
        let programs = now.programs() - self.start.programs();
        let window = Window {
            phase,
            host_pages,
            window_host_pages,
            programs,
            erases: now.erases() - self.start.erases(),
            write_amplification: programs as f64 / window_host_pages as f64,
            mapped_share: now.mapped_share(),
        };
        self.windows.push(window);
        self.causes.end_window(&self.start, &now);
        self.heat.end_window(&self.start, &now, host_pages);
        self.start = now;
        window
    }

    /// Write amplification of the windows of a phase.
    pub fn of_phase(&self, phase: Phase) -> Vec<f64> {
        let windows = self.windows.iter().filter(|window| window.phase == phase);
        windows.map(|window| window.write_amplification).collect()
    }
}
