//! Reduction of a time series to the number of points that fit into a figure.

use wearwell_stack::{CauseSeries, RunResult, Window};

/// Maximum number of windows on an HTML page, not counting one more for each change of phase.
const MAX_WINDOWS: usize = 1000;

/// Merges neighbouring windows of the same phase if there are many windows, and sums their counts.
pub fn merge_windows(result: &RunResult) -> RunResult {
    let length = result.windows.len().div_ceil(MAX_WINDOWS).max(1);
    let groups = phase_ranges(&result.windows, length);
    let causes = result.causes.iter().map(|series| CauseSeries {
        pages: groups.iter().map(|group| series.pages[group.clone()].iter().sum()).collect(),
        ..series.clone()
    });
    RunResult {
        windows: groups.iter().map(|group| merge(&result.windows[group.clone()])).collect(),
        causes: causes.collect(),
        ..result.clone()
    }
}

/// Returns ranges of at most `length` windows of the same phase.
fn phase_ranges(windows: &[Window], length: usize) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, window) in windows.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if group.len() < length && windows[group.start].phase == window.phase => {
                group.end = at + 1
            }
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Merges windows into one.
fn merge(windows: &[Window]) -> Window {
    let last = windows[windows.len() - 1];
    let window_host_pages = windows.iter().map(|window| window.window_host_pages).sum();
    let programs = windows.iter().map(|window| window.programs).sum();
    Window {
        window_host_pages,
        programs,
        erases: windows.iter().map(|window| window.erases).sum(),
        write_amplification: programs as f64 / window_host_pages as f64,
        ..last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_stack::Phase;

    fn window(phase: Phase, at: u64) -> Window {
        Window {
            phase,
            host_pages: 10 * at,
            window_host_pages: 10,
            programs: 10 + at,
            erases: at,
            write_amplification: 1.0 + at as f64 / 10.0,
            mapped_share: 1.0,
        }
    }

    #[test]
    fn windows_are_merged_within_their_phase() {
        let phases = [Phase::Fill, Phase::WarmUp, Phase::WarmUp, Phase::WarmUp, Phase::Measure];
        let windows: Vec<Window> = (1..).zip(phases).map(|(at, phase)| window(phase, at)).collect();
        assert_eq!(phase_ranges(&windows, 2), [0..1, 1..3, 3..4, 4..5]);
        let both = merge(&windows[1..3]);
        assert_eq!((both.host_pages, both.window_host_pages, both.programs, both.erases), (30, 20, 25, 5));
        assert_eq!(both.write_amplification, 1.25);
    }
}
