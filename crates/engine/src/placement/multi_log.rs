//! Placement in logs by update frequency: cleaning moves a page to the next colder log, and an early rewrite to the
//! next hotter log.

use super::clock::LastWrites;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::seed::{Random, random_below};
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of logs, and thus streams, 1 or more.
    #[schemars(range(min = 1))]
    pub logs: u8,
}

impl Default for Config {
    fn default() -> Self {
        Config { logs: 6 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "multi_log",
        help: "logs by update frequency: colder by cleaning, hotter at random by an early rewrite (ML)",
        source: "Stoica and Ailamaki, PVLDB 6(9), 2013",
    };
    type Placement = MultiLog;

    fn build(&self, context: PlacementContext<'_>) -> Result<MultiLog, ConfigError> {
        if self.logs == 0 {
            return Err(ConfigError::new("logs", "is 0; there must be 1 or more"));
        }
        Ok(MultiLog {
            random: context.size.seed.derive("multi log").random(),
            block_pages: context.size.pages_per_block,
            coldest: 0,
            logs: vec![Log::default(); usize::from(self.logs)],
            last_writes: LastWrites::new(context.size.logical_pages),
            log_of: vec![NONE; context.size.logical_pages as usize],
        })
    }
}

/// Log of a page without data.
const NONE: u8 = u8::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Log {
    /// Number of pages whose current version is in the log.
    valid: u64,
    /// Number of pages in the reclaimed blocks of the log.
    reclaimed: u64,
    /// Number of valid pages in these blocks when they were reclaimed.
    still_valid: u64,
}

/// Log 0 is the hottest and takes first writes. A cleaned page goes to the next colder log; a new log begins when the
/// coldest log holds as many pages as a block. A page that is rewritten after a shorter interval than expected for its
/// log goes to the next hotter log, with a probability of `(expected - interval) / expected`.
///
/// The expected interval of a log is half of its valid pages, times the fraction of valid pages in its reclaimed
/// blocks. Before the first reclaimed block, no page goes to a hotter log. This follows the simulator of Wang et al.
/// (FAST 2022), which compares it with SepBIT. A trimmed page restarts in log 0.
pub struct MultiLog {
    random: Random,
    block_pages: u32,
    /// Coldest log in use.
    coldest: u8,
    logs: Vec<Log>,
    last_writes: LastWrites,
    log_of: Vec<u8>,
}

impl MultiLog {
    fn after_write(&mut self, at: u8, interval: Option<u64>) -> u8 {
        let log = &self.logs[usize::from(at)];
        if at == 0 || log.reclaimed == 0 {
            return at;
        }
        let expected = log.valid as f64 * log.still_valid as f64 / log.reclaimed as f64 / 2.0;
        let Some(interval) = interval.map(|pages| pages as f64).filter(|&pages| pages < expected) else {
            return at;
        };
        let drawn = random_below(&mut self.random, 1 << 32) as f64 / (1_u64 << 32) as f64;
        at - u8::from(drawn < (expected - interval) / expected)
    }

    fn after_cleaning(&mut self, at: u8) -> u8 {
        if at < self.coldest {
            return at + 1;
        }
        let is_full = self.logs[usize::from(at)].valid >= u64::from(self.block_pages);
        if is_full && usize::from(at) + 1 < self.logs.len() {
            self.coldest = at + 1;
            return at + 1;
        }
        at
    }
}

impl Placement for MultiLog {
    fn streams(&self) -> u8 {
        self.logs.len() as u8
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let PageContext { page, now, .. } = *context;
        let at = self.log_of[page.index()];
        let to = match (context.cause, at) {
            (Cause::Host, _) => {
                let interval = self.last_writes.record_write(page, now);
                if at == NONE { 0 } else { self.after_write(at, interval) }
            }
            (_, NONE) => 0,
            (_, at) => self.after_cleaning(at),
        };
        if at != NONE {
            self.logs[usize::from(at)].valid -= 1;
        }
        self.logs[usize::from(to)].valid += 1;
        self.log_of[page.index()] = to;
        StreamId(to)
    }

    fn reclaimed(&mut self, stream: StreamId, _opened_at: u64, _now: u64, valid_pages: u32) {
        let log = &mut self.logs[stream.index()];
        log.reclaimed += u64::from(self.block_pages);
        log.still_valid += u64::from(valid_pages);
    }

    fn needs_block_history(&self) -> bool {
        true
    }

    fn trimmed(&mut self, page: Lpn) {
        let at = std::mem::replace(&mut self.log_of[page.index()], NONE);
        if at != NONE {
            self.logs[usize::from(at)].valid -= 1;
        }
        self.last_writes.clear(page);
    }

    fn memory_bytes(&self) -> usize {
        self.last_writes.memory_bytes() + size_of_val(&*self.log_of)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use serde_json::json;

    #[test]
    fn cleaning_makes_colder_and_early_rewrites_hotter() {
        // Blocks have 32 pages, and 40 pages are in log 0.
        let mut placement = try_build(json!({"kind": "ml", "logs": 2}), 100).unwrap();
        for page in 0..40 {
            assert_eq!(placement.place(&host(page, u64::from(page))), StreamId(0));
        }
        // Log 0 holds more pages than a block: cleaned pages begin log 1, the coldest allowed log.
        for page in 0..20 {
            assert_eq!(placement.place(&cleaned(page, 40, 0)), StreamId(1));
            assert_eq!(placement.place(&cleaned(page, 40, 1)), StreamId(1));
        }
        // No block of log 1 was reclaimed, so that it has no expected interval.
        assert_eq!(placement.place(&host(0, 41)), StreamId(1));
        // Half of the reclaimed pages are valid: the expected interval is 20 / 2 / 2 = 5 pages. After longer intervals,
        // a page is not promoted.
        placement.reclaimed(StreamId(1), 0, 50, 16);
        assert_eq!(placement.place(&host(0, 46)), StreamId(1));
        assert_eq!(placement.place(&host(0, 146)), StreamId(1));
        // An immediate rewrite always promotes.
        assert_eq!(placement.place(&host(0, 146)), StreamId(0));
        assert_eq!(placement.place(&host(0, 146)), StreamId(0));
        placement.trimmed(Lpn(1));
        assert_eq!(placement.place(&host(1, 147)), StreamId(0));
        assert_eq!((placement.streams(), placement.memory_bytes()), (2, 500));
    }

    #[test]
    fn coldest_log_waits_until_it_holds_a_block() {
        let mut placement = try_build(json!({"kind": "multi_log"}), 100).unwrap();
        placement.place(&host(0, 0));
        assert_eq!(placement.place(&cleaned(0, 1, 0)), StreamId(0));
        assert_eq!(try_build(json!({"kind": "multi_log", "logs": 0}), 10).err().unwrap().key, "logs");
    }
}
