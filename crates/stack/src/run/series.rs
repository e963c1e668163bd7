//! Time series of a run: differences between successive snapshots of the stack.

use super::causes::CauseRecorder;
use super::heat_map::HeatMapRecorder;
use super::snapshot::Snapshot;
use super::window::{Phase, Window};

/// The windows that have ended, and the snapshot at the start of the current window.
pub(crate) struct Series {
    pub windows: Vec<Window>,
    pub causes: CauseRecorder,
    pub heat: HeatMapRecorder,
    pub start: Snapshot,
}

impl Series {
    /// Returns an empty series; `start` is the snapshot at its beginning.
    pub fn begin(start: Snapshot) -> Self {
        let heat = HeatMapRecorder::of(start.nand().erase_counts.len());
        Series { windows: Vec::new(), causes: CauseRecorder::default(), heat, start }
    }

    /// Ends the current window and begins the next. In the window the host wrote `window_host_pages`, at least one, out
    /// of `host_pages` since the drive was new.
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

    /// Returns the write amplification of the windows of a phase.
    pub fn of_phase(&self, phase: Phase) -> Vec<f64> {
        let windows = self.windows.iter().filter(|window| window.phase == phase);
        windows.map(|window| window.write_amplification).collect()
    }
}
