//! Placement by queues of chunks of the address space, sorted by write count; a chunk that is not written descends
//! after some time.

use super::chunk_frequency::log_class;
use super::classes::{require_nonzero, separate_cleaning_stream};
use super::runs::Runs;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::queues::Queues;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Queues, and thus classes of host writes, 1 or more; cleaned pages have one more stream.
    #[schemars(range(min = 1))]
    pub queues: u8,
    /// Pages of a chunk, 1 or more.
    #[schemars(range(min = 1))]
    pub chunk_pages: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { queues: 5, chunk_pages: 256 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "multi_queue",
        help: "chunks in queues by the logarithm of their writes, down one when not written for long (MQ)",
        source: "Yang, Pandurangan, Choi and Balakrishnan, AutoStream, SYSTOR 2017",
    };
    type Placement = MultiQueue;

    fn build(&self, context: PlacementContext<'_>) -> Result<MultiQueue, ConfigError> {
        require_nonzero(self.chunk_pages.into(), "chunk_pages")?;
        let chunks = context.size.logical_pages.div_ceil(self.chunk_pages);
        let cleaned = separate_cleaning_stream(self.queues, "queues")?;
        Ok(MultiQueue {
            cleaned_stream: cleaned,
            chunk_pages: self.chunk_pages,
            runs: Runs::default(),
            now: 0,
            lifetime: 0,
            hottest: None,
            chunks: vec![Chunk::default(); chunks as usize],
            queues: Queues::new(chunks),
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Chunk {
    writes: u32,
    queue: u8,
    last_write: u64,
    expires_at: u64,
}

/// AutoStream's MQ, after the Multi-Queue replacement policy. A chunk with `n` writes is in queue `ln(n)`, and each
/// write moves the chunk to the end of its queue. Writes to the chunk go to the stream with the queue's number. The
/// first chunk of a queue expires if it was not written for longer than the interval between the last two writes of the
/// hottest chunk. It then descends to the end of the next lower queue. The stream above the queues takes cleaned pages.
///
/// Time is counted in chunks touched by runs of pages, as if each were a request. Chunks of 1 MiB of 4 KiB pages and
/// the natural logarithm are those of the simulator of Wang et al. (FAST 2022). A descending chunk gets at most the
/// smallest count of its new queue: the paper's rule for the count is unknown, and with the old count the next write
/// would undo the descent.
pub struct MultiQueue {
    cleaned_stream: StreamId,
    chunk_pages: u32,
    runs: Runs,
    /// Number of times that runs have touched a chunk.
    now: u64,
    /// Time after which an unwritten chunk descends.
    lifetime: u64,
    /// The chunk with the most writes.
    hottest: Option<u32>,
    chunks: Vec<Chunk>,
    queues: Queues,
}

impl MultiQueue {
    /// Appends the chunk to a queue.
    fn append(&mut self, chunk: u32, queue: u8) {
        self.queues.push(chunk, queue);
        let entry = &mut self.chunks[chunk as usize];
        (entry.queue, entry.expires_at) = (queue, self.now + self.lifetime);
    }

    fn touch(&mut self, chunk: u32) {
        self.now += 1;
        let entry = &mut self.chunks[chunk as usize];
        let interval = self.now - entry.last_write;
        entry.writes = entry.writes.saturating_add(1);
        entry.last_write = self.now;
        let writes = entry.writes;
        let hottest_writes = self.hottest.map_or(0, |hottest| self.chunks[hottest as usize].writes);
        if self.hottest == Some(chunk) || writes > hottest_writes {
            self.hottest = Some(chunk);
            self.lifetime = interval;
        }
        self.append(chunk, log_class(writes, self.cleaned_stream.0));
        for queue in 0..self.cleaned_stream.0 {
            self.descend(queue);
        }
    }

    /// Moves the first chunk of the queue down, if it has expired.
    fn descend(&mut self, queue: u8) {
        let has_expired = |&first: &u32| self.chunks[first as usize].expires_at < self.now;
        let Some(first) = self.queues.first(queue).filter(has_expired) else { return };
        let lower = queue.saturating_sub(1);
        self.append(first, lower);
        let lowest_count = if lower == 0 { 1 } else { f64::from(lower).exp().ceil() as u32 };
        let entry = &mut self.chunks[first as usize];
        entry.writes = entry.writes.min(lowest_count);
    }
}

impl Placement for MultiQueue {
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
        let chunk = context.page.0 / self.chunk_pages;
        if !self.runs.continues_run() || context.page.0.is_multiple_of(self.chunk_pages) {
            self.touch(chunk);
        }
        StreamId(self.chunks[chunk as usize].queue)
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.chunks) + self.queues.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use serde_json::json;

    #[test]
    fn chunks_rise_with_their_writes_and_descend_when_unwritten() {
        // There are ten chunks of one page each, so that each write touches one chunk.
        let mut placement = try_build(json!({"kind": "mq", "queues": 3, "chunk_pages": 1}), 10).unwrap();
        let mut write = |page| placement.place(&host(page, 0)).0;
        // At times 1 to 8, the queue of the chunk is the logarithm of 1 to 8. The hottest chunk is written each time,
        // so the lifetime is 1.
        assert_eq!((0..8).map(|_| write(4)).collect::<Vec<_>>(), [0, 0, 1, 1, 1, 1, 1, 2]);
        // At time 9, chunk 7 is new. At time 10, chunk 4, last written at time 8 and expired at time 9, descends to
        // queue 1 with a count of 3.
        assert_eq!([write(7), write(7)], [0, 0]);
        // At times 11 and 12, chunk 4 is still the hottest, with 3 writes. Chunk 7, also with 3 writes, does not
        // replace it; the fourth write of chunk 4 keeps chunk 4 first.
        assert_eq!([write(7), write(4)], [1, 1]);
        assert_eq!(placement.place(&cleaned(4, 0, 0)), StreamId(3));
        // The sizes are 24 bytes for each of ten chunks; 8 bytes for each of ten items and three heads; and ten queue
        // numbers and three lengths.
        assert_eq!((placement.streams(), placement.memory_bytes()), (4, 240 + 104 + 10 + 12));
    }

    #[test]
    fn run_touches_each_of_its_chunks_once() {
        let mut placement =
            try_build(json!({"kind": "multi_queue", "queues": 2, "chunk_pages": 4}), 16).unwrap();
        let mut write = |page| placement.place(&host(page, 0)).0;
        // Chunks 0 and 1 are touched once by each of three runs.
        assert_eq!((0..8).map(&mut write).collect::<Vec<_>>(), [0; 8]);
        assert_eq!((0..8).map(&mut write).collect::<Vec<_>>(), [0; 8]);
        assert_eq!((0..8).map(&mut write).collect::<Vec<_>>(), [1; 8]);
    }

    #[test]
    fn settings_of_0_are_refused() {
        for key in ["queues", "chunk_pages"] {
            let mut value = json!({"kind": "multi_queue"});
            value[key] = json!(0);
            assert_eq!(try_build(value, 10).err().unwrap().key, key);
        }
    }
}
