//! Placement by the recent write frequency of chunks of the address space; sequential writes stay together.

use super::classes::{require_nonzero, separate_cleaning_stream};
use super::runs::Runs;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the chunks' frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Classes of host writes, 1 or more; cleaned pages have one more stream.
    #[schemars(range(min = 1))]
    pub classes: u8,
    /// Pages of a chunk, 1 or more.
    #[schemars(range(min = 1))]
    pub chunk_pages: u32,
    /// Host pages after which the count of an unwritten chunk is halved, 1 or more.
    #[schemars(range(min = 1))]
    pub half_life_pages: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config { classes: 5, chunk_pages: 512, half_life_pages: 16_384 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "chunk_frequency",
        help: "chunks by sequentiality, frequency and recency of their writes, cleaned pages apart (SFR)",
        source: "Yang, Pandurangan, Choi and Balakrishnan, AutoStream, SYSTOR 2017",
    };
    type Placement = ChunkFrequency;

    fn build(&self, context: PlacementContext<'_>) -> Result<ChunkFrequency, ConfigError> {
        require_nonzero(self.chunk_pages.into(), "chunk_pages")?;
        require_nonzero(self.half_life_pages, "half_life_pages")?;
        let chunks = context.size.logical_pages.div_ceil(self.chunk_pages) as usize;
        Ok(ChunkFrequency {
            cleaned_stream: separate_cleaning_stream(self.classes, "classes")?,
            chunk_pages: self.chunk_pages,
            half_life_pages: self.half_life_pages,
            runs: Runs::default(),
            previous: StreamId(0),
            chunks: vec![Chunk { writes: 0, last_run: 0 }; chunks],
        })
    }
}

/// State of a chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Number of runs that touched the chunk, with decay.
    writes: u32,
    /// Time of the last run, in host pages.
    last_run: u64,
}

/// AutoStream's SFR. A chunk counts the runs of pages that touch it; the count is halved for each whole half-life
/// between the last run and the next. A page goes to stream `ln(count)` of its chunk, but a page that continues a sequential run goes to the
/// stream of the previous page. The stream above these takes cleaned pages.
///
/// Chunks of 2 MiB, a half-life of 64 MiB of 4 KiB pages and the natural logarithm are those of the simulator of Wang
/// et al. (FAST 2022); they suit volumes of many gigabytes. A run increments the count of each chunk that it touches
/// once, as a request would. A trim does not affect its chunk.
pub struct ChunkFrequency {
    cleaned_stream: StreamId,
    chunk_pages: u32,
    half_life_pages: u64,
    runs: Runs,
    previous: StreamId,
    chunks: Vec<Chunk>,
}

/// Returns `ln(count)` rounded down, for a count of 1 or more.
pub(super) fn log_class(count: u32, classes: u8) -> u8 {
    (f64::from(count.max(1)).ln() as u8).min(classes - 1)
}

impl ChunkFrequency {
    fn touch(&mut self, chunk: usize, now: u64) -> u32 {
        let entry = &mut self.chunks[chunk];
        let halvings = (now.saturating_sub(entry.last_run) / self.half_life_pages).min(31);
        *entry = Chunk { writes: (entry.writes >> halvings).saturating_add(1), last_run: now };
        entry.writes
    }
}

impl Placement for ChunkFrequency {
    fn streams(&self) -> u8 {
        self.cleaned_stream.0 + 1
    }

    fn cleaning_stream(&self) -> Option<StreamId> {
        Some(self.cleaned_stream)
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause != Cause::Host {
            return self.cleaned_stream;
        }
        self.runs.add(context.page);
        let chunk = (context.page.0 / self.chunk_pages) as usize;
        if !self.runs.continues_run() {
            let writes = self.touch(chunk, context.now);
            self.previous = StreamId(log_class(writes, self.cleaned_stream.0));
        } else if context.page.0.is_multiple_of(self.chunk_pages) {
            self.touch(chunk, context.now);
        }
        self.previous
    }

    fn trimmed(&mut self, page: Lpn) {
        let _ = page;
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use serde_json::json;

    #[test]
    fn chunk_class_is_logarithm_of_decayed_count() {
        let value = json!({"kind": "sfr", "classes": 3, "chunk_pages": 10, "half_life_pages": 100});
        let mut placement = try_build(value, 95).unwrap();
        // Nine writes of chunk 0, none of them sequential. The logarithms of the counts 1 and 2 are below 1, those of 3
        // to 7 are below 2, and those of 8 and 9 are above 2.
        let pages = [5, 3, 5, 3, 5, 3, 5, 3, 5];
        let streams: Vec<u8> = pages.iter().map(|&page| placement.place(&host(page, 0)).0).collect();
        assert_eq!(streams, [0, 0, 1, 1, 1, 1, 1, 2, 2]);
        // Two half-lives later, the 9 writes count as 2, and the new write increases the count to 3.
        assert_eq!(placement.place(&host(3, 299)), StreamId(1));
        // A sequential write goes to the stream of the previous page, even if it crosses into another chunk; the run
        // then counts as one access of that chunk.
        assert_eq!(placement.place(&host(9, 299)), StreamId(1));
        assert_eq!(placement.place(&host(10, 299)), StreamId(1));
        assert_eq!(placement.place(&host(11, 299)), StreamId(1));
        assert_eq!(placement.place(&host(11, 299)), StreamId(0), "the second write of chunk 1");
        assert_eq!(placement.place(&host(11, 299)), StreamId(1), "and the third");
        assert_eq!(placement.place(&cleaned(11, 299, 0)), StreamId(3));
        assert_eq!((placement.streams(), placement.memory_bytes()), (4, 160));
    }

    /// The count is halved by the time since the last run, not at multiples of the half-life.
    #[test]
    fn count_is_halved_by_the_time_since_the_last_run() {
        let value = json!({"kind": "sfr", "classes": 3, "chunk_pages": 10, "half_life_pages": 100});
        let mut placement = try_build(value, 95).unwrap();
        let times = [90, 91, 92, 110, 209, 309];
        let pages = [5, 3, 5, 3, 5, 3];
        let writes = pages.iter().zip(times).map(|(&page, now)| placement.place(&host(page, now)).0);
        // The counts are 1, 2, 3, 4 (18 pages after the third), 5 (99 pages after the fourth) and, after 100 pages,
        // 5 / 2 + 1 = 3.
        assert_eq!(writes.collect::<Vec<_>>(), [0, 0, 1, 1, 1, 1]);
        // 1,000 pages later only the new run counts.
        assert_eq!(placement.place(&host(5, 1309)), StreamId(0));
    }

    #[test]
    fn settings_of_0_are_refused() {
        for key in ["classes", "chunk_pages", "half_life_pages"] {
            let mut value = json!({"kind": "chunk_frequency"});
            value[key] = json!(0);
            assert_eq!(try_build(value, 10).err().unwrap().key, key);
        }
    }
}
