//! Logarithmic Gecko compared with a plain implementation of sections 3 and 3.1 of its paper: ordered maps and
//! vectors, without flash.

use std::collections::BTreeMap;
use std::ops::Range;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::{BlockId, Slot};
use wearwell_engine::validity::{Gecko, GeckoConfig, MemoryFlash, PageSet, PageValidity};

/// A Gecko entry: the invalid pages of a part of a block, and a flag that voids all older entries of the block.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    erased: bool,
    invalid: u64,
}

/// A sorted run, and the first key of each page of it.
#[derive(Default)]
struct Run {
    entries: Vec<(u64, Entry)>,
    pages: Vec<u64>,
}

struct PlainGecko {
    config: GeckoConfig,
    buffer: BTreeMap<u64, Entry>,
    /// Runs, the newest first.
    runs: Vec<Run>,
    reads: u64,
    writes: u64,
}

fn level(pages: u64) -> u32 {
    pages.ilog2()
}

impl PlainGecko {
    fn new(config: GeckoConfig) -> Self {
        PlainGecko { config, buffer: BTreeMap::new(), runs: Vec::new(), reads: 0, writes: 0 }
    }

    fn parts(&self) -> u64 {
        u64::from(self.config.parts())
    }

    fn keys(&self, block: u32) -> Range<u64> {
        let first = u64::from(block) * self.parts();
        first..first + self.parts()
    }

    /// Algorithm 1.
    fn invalidate(&mut self, block: u32, page: u32) {
        let key = self.keys(block).start + u64::from(page / self.config.part_pages());
        self.buffer.entry(key).or_default().invalid |= 1 << (page % self.config.part_pages());
        self.flush_if_full();
    }

    /// Algorithm 2, with one flag for all parts of a block.
    fn erase(&mut self, block: u32) {
        let keys = self.keys(block);
        self.buffer.retain(|key, _| !keys.contains(key));
        self.buffer.insert(keys.start, Entry { erased: true, invalid: 0 });
        self.flush_if_full();
    }

    /// Algorithm 3. In the oldest run, erase flags and empty entries have no effect and are dropped.
    fn merge(&self, newer: &[(u64, Entry)], older: &[(u64, Entry)], is_oldest: bool) -> Vec<(u64, Entry)> {
        let mut merged: BTreeMap<u64, Entry> = older.iter().copied().collect();
        for &(key, entry) in newer {
            if entry.erased {
                for part in key..key + self.parts() {
                    merged.remove(&part);
                }
            }
            let old = merged.get(&key).copied().unwrap_or_default();
            let erased = entry.erased || old.erased;
            merged.insert(key, Entry { erased, invalid: entry.invalid | old.invalid });
        }
        if is_oldest {
            merged.values_mut().for_each(|entry| entry.erased = false);
            merged.retain(|_, entry| entry.invalid != 0);
        }
        merged.into_iter().collect()
    }

    /// Returns the first keys of the pages: all parts of a block are on one page.
    fn page_starts(&self, entries: &[(u64, Entry)]) -> Vec<u64> {
        let (mut pages, mut at) = (vec![entries.first().map_or(0, |entry| entry.0)], 0);
        while at + (self.config.page_entries() as usize) < entries.len() {
            at += self.config.page_entries() as usize;
            while entries[at].0 / self.parts() == entries[at - 1].0 / self.parts() {
                at -= 1;
            }
            pages.push(entries[at].0);
        }
        pages
    }

    /// Merges a full buffer with the runs of its level, the result with those of the next level, and so on. In a
    /// cascade of merges, either the final merge is planned in advance (appendix A), or each intermediate result is
    /// written and read again.
    fn flush_if_full(&mut self) {
        if self.buffer.len() < self.config.page_entries() as usize {
            return;
        }
        let mut entries: Vec<_> = std::mem::take(&mut self.buffer).into_iter().collect();
        if self.runs.is_empty() {
            entries = self.merge(&entries, &[], true);
        }
        let (mut pages, mut merged) = (1, 0);
        while let Some(run) = self.runs.get(merged) {
            let run_pages = run.pages.len() as u64;
            if level(run_pages) > level(pages) {
                break;
            }
            if !self.config.multiway && merged > 0 {
                self.writes += pages;
                self.reads += pages;
            }
            self.reads += run_pages;
            entries = self.merge(&entries, &run.entries, merged + 1 == self.runs.len());
            let output_pages = self.page_starts(&entries).len() as u64;
            pages = if self.config.multiway { output_pages.max(pages + run_pages) } else { output_pages };
            merged += 1;
        }
        let run = Run { pages: self.page_starts(&entries), entries };
        self.writes += run.pages.len() as u64;
        self.runs.splice(..merged, [run]);
    }

    /// Returns the invalid pages of a block; reads each run up to the first run with an erase flag for the block.
    fn query(&mut self, block: u32) -> Vec<u32> {
        let (keys, width) = (self.keys(block), self.config.part_pages());
        let mut found = Vec::new();
        let mut collect = |entries: &mut dyn Iterator<Item = (u64, Entry)>| {
            let mut erased = false;
            for (key, entry) in entries {
                let first = (key - keys.start) as u32 * width;
                found.extend((0..width).filter(|bit| entry.invalid >> bit & 1 == 1).map(|bit| first + bit));
                erased |= entry.erased;
            }
            erased
        };
        let mut is_erased = collect(&mut self.buffer.range(keys.clone()).map(|(&key, &entry)| (key, entry)));
        for run in &self.runs {
            if is_erased {
                break;
            }
            self.reads += u64::from(run.pages.partition_point(|first| *first < keys.end) > 0);
            let from = run.entries.partition_point(|entry| entry.0 < keys.start);
            is_erased =
                collect(&mut run.entries[from..].iter().copied().take_while(|entry| entry.0 < keys.end));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The engine's store writes and reads exactly as many pages as the paper describes, and gives the same answers.
#[test]
fn gecko_page_reads_and_writes_match_the_paper() {
    for (blocks, partitions, multiway) in
        [(256, 1, true), (256, 1, false), (300, 2, true), (300, 2, false), (128, 4, true), (509, 4, false)]
    {
        let config = GeckoConfig { partitions, multiway, ..GeckoConfig::new(blocks, 32, 256) };
        let (mut gecko, mut flash) = (Gecko::new(config).unwrap(), MemoryFlash::new());
        let mut plain = PlainGecko::new(config);
        let mut invalid = PageSet::new(32);
        let mut random = Seed(7).derive("plain gecko").random();
        for step in 0..60_000 {
            let block = random_below(&mut random, u64::from(blocks)) as u32;
            if step % 41 == 40 {
                invalid.clear();
                gecko.query(BlockId(block), &mut invalid, &mut flash).unwrap();
                let found: Vec<u32> = (0..32).filter(|&page| invalid.contains(page)).collect();
                assert_eq!(found, plain.query(block));
                gecko.record_erase(BlockId(block), &mut flash).unwrap();
                plain.erase(block);
            } else {
                let page = random_below(&mut random, 32) as u32;
                gecko.invalidate(Slot(block * 32 + page), &mut flash).unwrap();
                plain.invalidate(block, page);
            }
            assert_eq!((flash.reads(), flash.appends()), (plain.reads, plain.writes), "{config:?}");
        }
        let run_pages: Vec<u64> = gecko.runs().map(|(_, pages)| pages).collect();
        assert_eq!(run_pages, plain.runs.iter().map(|run| run.pages.len() as u64).collect::<Vec<_>>());
        assert!(run_pages.len() > 1, "{run_pages:?}");
    }
}
