//! Generator of the contents of written pages, in constant time per page.

use super::config::ContentConfig;
use crate::PageBatch;
use crate::alias::threshold;
use crate::error::require;
use crate::request_stream::AddressDistribution;
use crate::zipf::ZipfDistribution;
use rand::RngCore;
use wearwell_base::config::ConfigError;
use wearwell_base::content::ContentId;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;

/// Maximum number of contents that were written once and may get a second copy; the next content to be copied is drawn
/// from these contents.
pub const MAX_SINGLES: usize = 1024;

/// Generator of contents by a [`ContentConfig`].
///
/// The content of a page depends only on the pages written before, not on the division into batches.
pub struct ContentGenerator {
    random: Random,
    ids: IdGenerator,
    /// Draws below this threshold repeat the content at the address.
    same_threshold: u64,
    /// Draws from `same_threshold` up to this threshold make the second copy of a content.
    pair_threshold: u64,
    /// Share of the writes that repeat the content at the address or make the second copy of a content.
    same_and_pair_share: f64,
    /// Share of the writes with a popular content.
    popular_share: f64,
    cold_duplicates: f64,
    /// Popular contents by rank; 0 for a rank that was not drawn yet.
    pool: Vec<ContentId>,
    popularity: ZipfDistribution,
    /// Draws below this threshold replace a popular content.
    renewal_threshold: u64,
    singles: Vec<ContentId>,
    addresses: Vec<PageState>,
    /// Number of pages written so far.
    writes: u64,
    /// Recent share of the writes to warm addresses.
    warm_share: f64,
}

impl ContentConfig {
    /// Builds the generator for a space of `logical_pages` pages.
    ///
    /// Equal configurations, sizes and seeds give equal contents for equal pages; generators with different seeds have
    /// no content in common. Errors: a setting that is out of range.
    pub fn build(&self, logical_pages: u32, seed: Seed) -> Result<ContentGenerator, ConfigError> {
        self.check()?;
        require(logical_pages > 0, "logical_pages", logical_pages, "must be at least 1")?;
        Ok(ContentGenerator::new(self, logical_pages, seed))
    }
}

/// State of a logical page.
#[derive(Clone, Copy)]
struct PageState {
    /// Current content of the page; unknown before the first write.
    content: ContentId,
    /// Number of the last write of the page, from 1.
    written_at: u64,
}

/// Generator of unique identifiers.
struct IdGenerator {
    seed: u64,
    next: u64,
}

impl IdGenerator {
    /// Returns a new identifier, scrambled so that generators with different seeds do not overlap.
    fn next_id(&mut self) -> ContentId {
        loop {
            self.next += 1;
            // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which is a bijection.
            let mut id = self.seed.wrapping_add(self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            id = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            id = (id ^ (id >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            id ^= id >> 31;
            if id != ContentId::UNKNOWN.0 {
                return ContentId(id);
            }
        }
    }
}

impl ContentGenerator {
    /// Builds the generator from checked settings.
    pub(super) fn new(config: &ContentConfig, logical_pages: u32, seed: Seed) -> Self {
        let seed = seed.derive("content");
        let mut random = seed.random();
        let pool = ((f64::from(logical_pages) * config.popular_contents).round() as u32).max(1);
        let same_and_pair_share = config.same_content_ratio + config.pair_ratio;
        let renewals = f64::from(pool) / (config.popular_lifetime * f64::from(logical_pages));
        ContentGenerator {
            ids: IdGenerator { seed: random.next_u64(), next: 0 },
            random,
            same_threshold: threshold(config.same_content_ratio),
            pair_threshold: threshold(same_and_pair_share),
            same_and_pair_share,
            popular_share: (config.dedup_ratio - same_and_pair_share).max(0.0),
            cold_duplicates: config.cold_duplicates,
            pool: vec![ContentId::UNKNOWN; pool as usize],
            popularity: ZipfDistribution::new(config.exponent, pool),
            renewal_threshold: threshold(renewals),
            singles: Vec::with_capacity(MAX_SINGLES),
            addresses: vec![PageState { content: ContentId::UNKNOWN, written_at: 0 }; logical_pages as usize],
            writes: 0,
            warm_share: 0.0,
        }
    }

    /// Returns the content of the next written page, at `page` of the space; never unknown.
    pub fn next(&mut self, page: Lpn) -> ContentId {
        let PageState { content: current, written_at } = self.addresses[page.0 as usize];
        self.writes += 1;
        let is_warm = self.record_warmth(written_at);
        if self.random.next_u64() < self.renewal_threshold {
            let rank = random_below(&mut self.random, self.pool.len() as u64) as usize;
            self.pool[rank] = ContentId::UNKNOWN;
        }
        let draw = self.random.next_u64();
        let content = if draw < self.same_threshold && current != ContentId::UNKNOWN {
            current
        } else if draw >= self.same_threshold && draw < self.pair_threshold && !self.singles.is_empty() {
            let single = random_below(&mut self.random, self.singles.len() as u64) as usize;
            self.singles.swap_remove(single)
        } else if draw < self.pair_threshold
            || draw < threshold(self.same_and_pair_share + self.popular_share_at(is_warm))
        {
            self.popular_content()
        } else {
            self.single_copy_content()
        };
        self.addresses[page.0 as usize] = PageState { content, written_at: self.writes };
        content
    }

    /// Adds contents for the pages of `batch` that have none.
    pub fn add_contents(&mut self, batch: &mut PageBatch) {
        batch.add_contents(|page| self.next(page));
    }

    /// Makes the last draw and ends the generator.
    pub fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// Returns true if an address last written at `written_at` is warm (written less than a drive write ago), and
    /// updates the warm share.
    fn record_warmth(&mut self, written_at: u64) -> bool {
        let drive_write = self.addresses.len() as u64;
        let is_warm = written_at > 0 && self.writes - written_at < drive_write;
        let recent = self.writes.min(drive_write) as f64;
        self.warm_share += (f64::from(u8::from(is_warm)) - self.warm_share) / recent;
        is_warm
    }

    /// Returns the share of popular contents among the writes to warm or to cold addresses. The mean over both is
    /// `popular_share`, unless this share would be too high for cold addresses.
    fn popular_share_at(&self, is_warm: bool) -> f64 {
        if self.cold_duplicates == 0.0 || self.popular_share == 0.0 {
            return self.popular_share;
        }
        let warm = self.warm_share;
        let max_share = 1.0 - self.same_and_pair_share;
        let cold_share = (self.popular_share / (1.0 - self.cold_duplicates * warm)).min(max_share);
        if is_warm { ((self.popular_share - (1.0 - warm) * cold_share) / warm).max(0.0) } else { cold_share }
    }

    fn popular_content(&mut self) -> ContentId {
        let rank = self.popularity.draw(&mut self.random, 1) as usize;
        if self.pool[rank] == ContentId::UNKNOWN {
            self.pool[rank] = self.ids.next_id();
        }
        self.pool[rank]
    }

    /// Returns a new content, which may later get a second copy.
    fn single_copy_content(&mut self) -> ContentId {
        let content = self.ids.next_id();
        if self.pair_threshold > self.same_threshold {
            if self.singles.len() < MAX_SINGLES {
                self.singles.push(content);
            } else {
                let old = random_below(&mut self.random, MAX_SINGLES as u64) as usize;
                self.singles[old] = content;
            }
        }
        content
    }
}
