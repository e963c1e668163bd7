//! Cost of the cache of mapping entries, in nanoseconds per page: `cargo bench --bench mapping [-- --quick]`.
//!
//! The drive of GeckoFTL's section 5: 375 million logical pages, 1,024 entries per translation page, 2^19 cached
//! entries (2^16 with `--quick`). `insert` is the cost of a write (goal: 100 ns): it looks up a uniformly random page
//! and, if the page is not cached, removes the oldest entry and inserts the page as dirty. `ahead` does the same with
//! pages prefetched 16 lookups ahead, and `bounded` with at most a tenth of the entries dirty. `synchronise` makes
//! all dirty entries of the removed entry's translation page clean. `hit` finds and touches a cached page. Times are
//! CPU time of the thread: the best of the chunks and their median. `state` is a hash of the cached pages by age: an
//! optimisation that changes it is a defect.

use cpu_time::ThreadTime;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::{Lpn, Slot};
use wearwell_engine::mapping::{CacheConfig, Handle, MapCache, Mapping};

const LOGICAL_PAGES: u32 = 375_809_638;
const CHUNK: usize = 1 << 16;
const PREFETCH_DISTANCE: usize = 16;
const KINDS: [&str; 5] = ["insert", "ahead", "bounded", "synchronise", "hit"];

struct CacheBench {
    cache: MapCache,
    kind: &'static str,
    random: Random,
    pages: Vec<Lpn>,
    found: Vec<Handle>,
}

impl CacheBench {
    fn new(kind: &'static str, entries: u32) -> Self {
        let config = CacheConfig {
            entries,
            logical_pages: LOGICAL_PAGES,
            entries_per_translation_page: 1024,
            dirty_entries: (kind == "bounded").then_some(entries / 10),
        };
        let cache = MapCache::new(config).expect("sizes that fit");
        CacheBench { cache, kind, random: Seed(1).random(), pages: Vec::new(), found: Vec::new() }
    }

    /// Draws the pages of the next chunk, outside the measured time. Hits use few pages.
    fn draw(&mut self) {
        let pages = if self.kind == "hit" { self.cache_pages() } else { LOGICAL_PAGES };
        let random = &mut self.random;
        self.pages.clear();
        self.pages.extend((0..CHUNK + PREFETCH_DISTANCE).map(|_| {
            // These pages are spread over the drive, like the pages of a working set.
            let page = random_below(random, u64::from(pages)) as u32;
            Lpn(page * (LOGICAL_PAGES / pages))
        }));
    }

    fn cache_pages(&self) -> u32 {
        (self.cache.ram() / wearwell_engine::mapping::ENTRY_BYTES) as u32
    }

    fn write(&mut self) {
        for at in 0..CHUNK {
            if self.kind == "ahead" {
                self.cache.prefetch(self.pages[at + PREFETCH_DISTANCE]);
            }
            let page = self.pages[at];
            let mapping = Mapping {
                slot: Slot(at as u32),
                before_image: Slot::NONE,
                dirty: true,
                unidentified: true,
                uncertain: false,
            };
            match self.cache.find(page) {
                Some(handle) => {
                    self.cache.set(handle, mapping);
                    self.cache.touch(handle);
                }
                None => {
                    if self.cache.is_full() {
                        self.evict();
                    }
                    self.cache.insert(page, mapping);
                }
            }
            while self.cache.is_over_dirty_limit() {
                let handle = self.cache.oldest_dirty().expect("a dirty entry");
                self.clean(handle);
            }
        }
    }

    fn clean(&mut self, handle: Handle) {
        let mapping = self.cache.get(handle);
        self.cache.set(handle, Mapping { dirty: false, unidentified: false, ..mapping });
    }

    fn evict(&mut self) {
        let oldest = self.cache.oldest().expect("a full cache");
        if self.kind == "synchronise" && self.cache.get(oldest).dirty {
            let mut found = std::mem::take(&mut self.found);
            self.cache.dirty_of_translation_page(self.cache.page(oldest).0 / 1024, &mut found);
            for &handle in &found {
                self.clean(handle);
            }
            self.found = found;
        }
        self.cache.remove(oldest);
    }

    /// Returns a hash (FNV-1a) of the pages, the oldest first; empties the cache.
    fn state(mut self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        while let Some(oldest) = self.cache.oldest() {
            hash = (hash ^ u64::from(self.cache.page(oldest).0)).wrapping_mul(0x0100_0000_01b3);
            self.cache.remove(oldest);
        }
        hash
    }
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let entries = if quick { 1 << 16 } else { 1 << 19 };
    println!(
        "{:12} {:>8} {:>8} {:>8} {:>12} {:>16}",
        "kind", "best", "median", "goal", "bytes/entry", "state"
    );
    for kind in KINDS {
        let mut bench = CacheBench::new(kind, entries);
        for _ in 0..2 * (entries as usize).div_ceil(CHUNK) {
            bench.draw();
            bench.write();
        }
        let chunks = if quick { 8 } else { 100 };
        let mut times: Vec<f64> = (0..chunks)
            .map(|_| {
                bench.draw();
                let begin = ThreadTime::now();
                bench.write();
                begin.elapsed().as_nanos() as f64 / CHUNK as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let (best, median) = (times[0], times[times.len() / 2]);
        let bytes = bench.cache.memory_bytes() as f64 / f64::from(entries);
        println!("{kind:12} {best:8.1} {median:8.1} {:>8} {bytes:12.1} {:016x}", 100, bench.state());
    }
}
