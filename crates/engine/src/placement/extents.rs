//! Placement by write counters of extents of the address space, to separate hot and cold data.

use super::classes::require_nonzero;
use super::runs::{Run, Runs};
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the extents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of extents, 1 or more.
    #[schemars(range(min = 1))]
    pub extents: u32,
    /// Number of writes from which an extent is hot, 1 to 15.
    #[schemars(range(min = 1, max = 15))]
    pub threshold: u8,
    /// Number of runs of pages after which all counters are halved, 1 or more.
    #[schemars(range(min = 1))]
    pub decay_runs: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { extents: 1024, threshold: 4, decay_runs: 4096 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "extents",
        help: "hot and cold extents, cut where writes begin and end, cleaned pages apart (ETI)",
        source: "Shafaei, Desnoyers and Fitzpatrick, HotStorage 2016",
    };
    type Placement = Extents;

    fn build(&self, context: PlacementContext<'_>) -> Result<Extents, ConfigError> {
        require_nonzero(self.extents.into(), "extents")?;
        require_nonzero(self.decay_runs.into(), "decay_runs")?;
        if !(1..=MAX_WRITES).contains(&self.threshold) {
            let problem = format!("is {}; 1 to {MAX_WRITES} are allowed", self.threshold);
            return Err(ConfigError::new("threshold", problem));
        }
        let max_extents = self.extents.min(context.size.logical_pages) as usize;
        let mut extents = Vec::with_capacity(max_extents);
        extents.push(Extent { first: 0, writes: 0 });
        Ok(Extents {
            max_extents,
            threshold: self.threshold,
            decay_runs: self.decay_runs,
            logical_pages: context.size.logical_pages,
            runs: Runs::default(),
            counted_runs: 0,
            extents,
        })
    }
}

const HOT: StreamId = StreamId(0);
const COLD: StreamId = StreamId(1);
const CLEANED: StreamId = StreamId(2);

/// Largest value of the four-bit counters.
const MAX_WRITES: u8 = 15;

/// Pages from `first` up to the next extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    first: u32,
    writes: u8,
}

/// Extent-based temperature identification. The address space begins as one extent. A write splits extents where it
/// begins and ends, up to the maximum number, and increments the counters of all extents that it covers completely.
/// After a number of writes all counters are halved, and neighbours that have equal counters or are both cold are
/// merged.
///
/// A run of consecutive pages stands for one write and is counted when it ends, so its pages are placed by the earlier
/// state. The numbers are those of the simulator of Wang et al. (FAST 2022). A trim does not affect its extent.
pub struct Extents {
    max_extents: usize,
    threshold: u8,
    decay_runs: u32,
    logical_pages: u32,
    runs: Runs,
    /// Runs since counters were last halved.
    counted_runs: u32,
    /// Extents in page order; the list is allocated completely at the beginning.
    extents: Vec<Extent>,
}

impl Extents {
    /// Returns the index of the extent that holds the page.
    fn find(&self, page: u32) -> usize {
        self.extents.partition_point(|extent| extent.first <= page) - 1
    }

    /// Splits the extent that holds `page` in front of the page, unless the extent begins there or the maximum number
    /// of extents is reached.
    fn split(&mut self, page: u32) {
        if page >= self.logical_pages || self.extents.len() == self.max_extents {
            return;
        }
        let at = self.find(page);
        if self.extents[at].first < page && self.extents[at].writes < MAX_WRITES {
            self.extents.insert(at + 1, Extent { first: page, ..self.extents[at] });
        }
    }

    fn count(&mut self, run: Run) {
        let end = run.first + run.pages;
        self.split(run.first);
        self.split(end);
        let first = self.extents.partition_point(|extent| extent.first < run.first);
        for at in first..self.extents.len() {
            let next = self.extents.get(at + 1).map_or(self.logical_pages, |extent| extent.first);
            if next > end {
                break;
            }
            let writes = &mut self.extents[at].writes;
            *writes = (*writes + 1).min(MAX_WRITES);
        }
        self.counted_runs += 1;
        if self.counted_runs == self.decay_runs {
            self.counted_runs = 0;
            self.decay();
        }
    }

    fn decay(&mut self) {
        self.extents.iter_mut().for_each(|extent| extent.writes /= 2);
        let threshold = self.threshold;
        self.extents.dedup_by(|next, extent| {
            next.writes == extent.writes || (next.writes < threshold && extent.writes < threshold)
        });
    }
}

impl Placement for Extents {
    fn streams(&self) -> u8 {
        3
    }

    fn cleaning_stream(&self) -> Option<StreamId> {
        Some(CLEANED)
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause != Cause::Host {
            return CLEANED;
        }
        if let Some(run) = self.runs.add(context.page) {
            self.count(run);
        }
        let extent = self.extents[self.find(context.page.0)];
        if extent.writes >= self.threshold { HOT } else { COLD }
    }

    fn memory_bytes(&self) -> usize {
        self.max_extents * size_of::<Extent>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use crate::config::StoreSize;
    use crate::seed::Seed;
    use serde_json::json;

    fn extents(config: &Config) -> Extents {
        let size = StoreSize { blocks: 20, pages_per_block: 8, logical_pages: 100, seed: Seed(1) };
        config.build(PlacementContext { size: &size, temperature: None, foresight: None }).unwrap()
    }

    fn pairs(extents: &Extents) -> Vec<(u32, u8)> {
        extents.extents.iter().map(|extent| (extent.first, extent.writes)).collect()
    }

    #[test]
    fn writes_cut_extents_and_count_in_those_they_cover() {
        let mut extents = extents(&Config { extents: 5, threshold: 2, decay_runs: 4 });
        extents.count(Run { first: 10, pages: 20 });
        assert_eq!(pairs(&extents), [(0, 0), (10, 1), (30, 0)]);
        extents.count(Run { first: 20, pages: 80 });
        assert_eq!(pairs(&extents), [(0, 0), (10, 1), (20, 2), (30, 1)]);
        // One more split is possible: in front of page 12 but not after the run. The extent that begins at 12 is not
        // covered completely.
        extents.count(Run { first: 12, pages: 3 });
        assert_eq!(pairs(&extents), [(0, 0), (10, 1), (12, 1), (20, 2), (30, 1)]);
        // The fourth run halves all counters to 0, 0, 1, 1 and 0; all extents are cold and merged to one.
        extents.count(Run { first: 12, pages: 8 });
        assert_eq!(pairs(&extents), [(0, 0)]);
    }

    #[test]
    fn run_counts_only_after_its_end() {
        let mut placement = try_build(json!({"kind": "eti", "threshold": 1}), 100).unwrap();
        let streams: Vec<u8> = [3, 4, 3, 50, 4].map(|page| placement.place(&host(page, 0)).0).into();
        // Pages 3 and 4 are cold until the run that contains them has ended; page 50 was never written before.
        assert_eq!(streams, [1, 1, 0, 1, 0]);
        assert_eq!(placement.place(&cleaned(3, 0, 0)), StreamId(2));
        assert_eq!((placement.streams(), placement.memory_bytes()), (3, 800));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for (key, value) in [("extents", 0), ("decay_runs", 0), ("threshold", 0), ("threshold", 16)] {
            let mut table = json!({"kind": "extents"});
            table[key] = json!(value);
            assert_eq!(try_build(table, 10).err().unwrap().key, key);
        }
    }
}
