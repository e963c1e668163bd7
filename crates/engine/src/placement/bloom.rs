//! Hot page detection by several Bloom filters, with frequency and recency.

use super::classes::ClassStreams;
use super::period::Period;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the Bloom filters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of filters (`V`), 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub filters: u8,
    /// Bits of each filter (`M`) divided by the logical pages, above 0.
    pub bits_per_page: f64,
    /// Hash functions of each filter (`K`), 1 to 8.
    #[schemars(range(min = 1, max = 8))]
    pub hashes: u8,
    /// Drive writes between two clearings of the oldest filter, above 0.
    pub decay_drive_writes: f64,
    /// Sum of recency weights from which a page is hot, above 0; all filters together weigh `filters + 1`.
    pub threshold: f64,
    /// True if cleaned pages have their own streams, one for hot and one for cold pages.
    pub separate_cleaning: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            filters: 4,
            bits_per_page: 2.0,
            hashes: 2,
            decay_drive_writes: 0.5,
            threshold: 4.0,
            separate_cleaning: false,
        }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "bloom",
        help: "hot and cold pages told apart by several Bloom filters, cleared in turn",
        source: "Park and Du, MSST 2011 (multiple Bloom filters)",
    };
    type Placement = Bloom;

    fn build(&self, context: PlacementContext<'_>) -> Result<Bloom, ConfigError> {
        let require = |allowed: bool, key: &str, problem: String| {
            if allowed { Ok(()) } else { Err(ConfigError::new(key, problem)) }
        };
        let Config { filters, hashes, bits_per_page, threshold, .. } = *self;
        require((1..=64).contains(&filters), "filters", format!("is {filters}; 1 to 64 are allowed"))?;
        require((1..=8).contains(&hashes), "hashes", format!("is {hashes}; 1 to 8 are allowed"))?;
        require(
            bits_per_page > 0.0 && bits_per_page <= 1024.0,
            "bits_per_page",
            format!("is {bits_per_page}; it must be above 0 and at most 1024"),
        )?;
        let weight = f64::from(filters) + 1.0;
        require(
            threshold > 0.0 && threshold <= weight,
            "threshold",
            format!("is {threshold}; it must be above 0 and at most filters + 1 = {weight}"),
        )?;
        let logical_pages = context.size.logical_pages;
        let bits = ((bits_per_page * f64::from(logical_pages)).ceil() as u64).next_multiple_of(64);
        Ok(Bloom {
            streams: ClassStreams::new(2, self.separate_cleaning, "separate_cleaning")?,
            seed: context.size.seed.derive("bloom").0,
            hashes: usize::from(hashes),
            bits,
            filters: vec![vec![0; (bits / 64) as usize]; usize::from(filters)],
            next: 0,
            newest: 0,
            decay: Period::of_drive_writes(self.decay_drive_writes, logical_pages, "decay_drive_writes")?,
            threshold,
        })
    }
}

/// Each host write inserts its page into the next filter, round robin, that does not hold the page yet. A page is hot
/// if many and recently cleared filters hold it.
///
/// At the end of each decay period, the filter cleared longest ago is cleared, which gradually forgets old writes. A
/// filter cleared `i` periods before the newest weighs `2 (V - i) / V`: with four filters, the weights are 2, 1.5, 1
/// and 0.5. The page is hot if the filters that hold it, including this write, weigh `threshold` or more.
///
/// Park and Du use four filters of 2048 bits for the hottest part of a trace; here the filters grow with the drive. A
/// Bloom filter cannot remove a single page, so a trimmed page stays hot until its entries are cleared.
pub struct Bloom {
    streams: ClassStreams,
    seed: u64,
    hashes: usize,
    bits: u64,
    filters: Vec<Vec<u64>>,
    /// Filter that takes the next entry.
    next: usize,
    /// Filter cleared last.
    newest: usize,
    decay: Period,
    threshold: f64,
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the result depends on every bit of
/// `value`.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Bloom {
    /// Returns the page's bits in any filter: double hashing (Kirsch and Mitzenmacher, ESA 2006).
    fn bits_of(&self, page: Lpn) -> impl Iterator<Item = u64> + use<> {
        let first = mix(self.seed ^ u64::from(page.0));
        let step = mix(first) | 1;
        let bits = u128::from(self.bits);
        let hashes = (0..self.hashes as u64).map(move |at| first.wrapping_add(at.wrapping_mul(step)));
        hashes.map(move |hash| ((u128::from(hash) * bits) >> 64) as u64)
    }

    /// Returns a bit set of the filters that hold the page.
    fn filters_holding(&self, page: Lpn) -> u64 {
        let is_set = |filter: &[u64], bit: u64| filter[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
        let holds = |filter: &[u64]| self.bits_of(page).all(|bit| is_set(filter, bit));
        self.filters.iter().enumerate().fold(0, |set, (at, filter)| set | u64::from(holds(filter)) << at)
    }

    /// Inserts the page into the next filter that does not hold it; returns `holders` with this filter added.
    fn insert(&mut self, page: Lpn, holders: u64) -> u64 {
        let count = self.filters.len();
        let mut order = (0..count).map(|at| (self.next + at) % count);
        let Some(at) = order.find(|at| holders >> at & 1 == 0) else { return holders };
        for bit in self.bits_of(page) {
            self.filters[at][(bit / 64) as usize] |= 1 << (bit % 64);
        }
        self.next = (at + 1) % count;
        holders | 1 << at
    }

    fn weight(&self, holders: u64) -> f64 {
        let count = self.filters.len();
        let held = (0..count).filter(|at| holders >> at & 1 == 1);
        let weights = held.map(|at| {
            let older_by = (self.newest + count - at) % count;
            2.0 * (count - older_by) as f64 / count as f64
        });
        weights.sum()
    }
}

impl Placement for Bloom {
    fn streams(&self) -> u8 {
        self.streams.streams()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let is_host = context.cause == Cause::Host;
        if is_host && self.decay.tick() {
            self.newest = (self.newest + 1) % self.filters.len();
            self.filters[self.newest].fill(0);
        }
        let mut holders = self.filters_holding(context.page);
        if is_host {
            holders = self.insert(context.page, holders);
        }
        let cold = self.weight(holders) < self.threshold;
        self.streams.stream(u8::from(cold), context.cause)
    }

    fn memory_bytes(&self) -> usize {
        self.filters.len() * (self.bits / 8) as usize
    }
}
