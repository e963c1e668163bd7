//! Pages that each layer wrote below, by cause, window by window.

use super::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use wearwell_engine::counters::{Cause, Operation};

/// Pages that a layer wrote below for one cause, in each window of the time series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseSeries {
    /// Name of the layer.
    pub layer: String,
    /// Cause of the writes.
    pub cause: Cause,
    /// Pages in each window; for the layer on flash, pages programmed.
    pub pages: Vec<u64>,
}

/// Cause counts during a run, by window, layer and cause.
#[derive(Default)]
pub(crate) struct CauseRecorder(Vec<Vec<[u64; Cause::ALL.len()]>>);

impl CauseRecorder {
    /// Records a window that ended.
    pub fn end_window(&mut self, before: &Snapshot, after: &Snapshot) {
        let layers = before.reports.layers.iter().zip(&after.reports.layers).map(|(before, after)| {
            let counters = after.counters.since(&before.counters);
            Cause::ALL.map(|cause| counters.outgoing(cause, Operation::Write))
        });
        self.0.push(layers.collect());
    }

    /// Returns the series of all layers, named `names`, and of all causes that wrote anything.
    pub fn series(&self, names: &[&str]) -> Vec<CauseSeries> {
        let series_of_layer = |(at, layer): (usize, &&str)| {
            Cause::ALL.map(|cause| CauseSeries {
                layer: (*layer).to_owned(),
                cause,
                pages: self.0.iter().map(|window| window[at][cause as usize]).collect(),
            })
        };
        let is_nonzero = |series: &CauseSeries| series.pages.iter().any(|&pages| pages > 0);
        names.iter().enumerate().flat_map(series_of_layer).filter(is_nonzero).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_without_writes_are_omitted() {
        let mut first = [0; Cause::ALL.len()];
        (first[Cause::Host as usize], first[Cause::Cleaning as usize]) = (5, 2);
        let mut second = [0; Cause::ALL.len()];
        second[Cause::Host as usize] = 4;
        let causes = CauseRecorder(vec![vec![first, second], vec![second, second]]);
        let series = |layer: &str, cause, pages: &[u64]| CauseSeries {
            layer: layer.into(),
            cause,
            pages: pages.to_vec(),
        };
        let expected = [
            series("log", Cause::Host, &[5, 4]),
            series("log", Cause::Cleaning, &[2, 0]),
            series("ftl", Cause::Host, &[4, 4]),
        ];
        assert_eq!(causes.series(&["log", "ftl"]), expected);
    }
}
