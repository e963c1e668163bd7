//! Generator of the contents of written pages, in constant time per page.

use super::config::ContentConfig;
use crate::PageBatch;
use crate::alias::threshold;
use crate::error::require;
use crate::stream::Addresses;
use crate::zipf::ZipfLaw;
use rand::RngCore;
use wearwell_base::config::ConfigError;
use wearwell_base::content::Content;
use wearwell_base::seed::{Random, Seed, below};
use wearwell_base::units::Lpn;

/// Largest number of contents that were written once and may get a second copy; the next to be copied is drawn from them.
pub const SINGLES: usize = 1024;

/// Generator of contents by a [`ContentConfig`].
///
/// The content of a page depends only on the pages written before, not on the division into batches.
pub struct Contents {
    random: Random,
    names: Names,
    /// Draws below this threshold repeat the content at the address.
    same: u64,
    /// Draws from `same` up to this threshold make the second copy of a content.
    same_and_pairs: u64,
    /// Share of `same` and pairs together.
    before_popular: f64,
    /// Share of the writes with a popular content.
    popular: f64,
    cold_duplicates: f64,
    /// Popular contents by rank; 0 for a rank that was not drawn yet.
    pool: Vec<Content>,
    popularity: ZipfLaw,
    /// Draws below this threshold replace a popular content.
    renewal: u64,
    singles: Vec<Content>,
    addresses: Vec<Address>,
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
    pub fn build(&self, logical_pages: u32, seed: Seed) -> Result<Contents, ConfigError> {
        self.check()?;
        require(logical_pages > 0, "logical_pages", logical_pages, "must be at least 1")?;
        Ok(Contents::new(self, logical_pages, seed))
    }
}

/// State of a logical page.
#[derive(Clone, Copy)]
struct Address {
    /// Current content; unknown before the first write.
    held: Content,
    /// Number of its last write, from 1.
    written_at: u64,
}

/// Generator of unique identifiers.
struct Names {
    seed: u64,
    next: u64,
}

impl Names {
    /// Returns a new identifier, scrambled so that generators with different seeds do not overlap.
    fn fresh(&mut self) -> Content {
        loop {
            self.next += 1;
            // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which is a bijection.
            let mut name = self.seed.wrapping_add(self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            name = (name ^ (name >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            name = (name ^ (name >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            name ^= name >> 31;
            if name != Content::UNKNOWN.0 {
                return Content(name);
            }
        }
    }
}

impl Contents {
    /// Builds the generator from checked settings.
    pub(super) fn new(config: &ContentConfig, logical_pages: u32, seed: Seed) -> Self {
        let seed = seed.of("content");
        let mut random = seed.random();
        let pool = ((f64::from(logical_pages) * config.popular_contents).round() as u32).max(1);
        let before_popular = config.same_content_ratio + config.pair_ratio;
        let renewals = f64::from(pool) / (config.popular_lifetime * f64::from(logical_pages));
        Contents {
            names: Names { seed: random.next_u64(), next: 0 },
            random,
            same: threshold(config.same_content_ratio),
            same_and_pairs: threshold(before_popular),
            before_popular,
            popular: (config.dedup_ratio - before_popular).max(0.0),
            cold_duplicates: config.cold_duplicates,
            pool: vec![Content::UNKNOWN; pool as usize],
            popularity: ZipfLaw::new(config.exponent, pool),
            renewal: threshold(renewals),
            singles: Vec::with_capacity(SINGLES),
            addresses: vec![Address { held: Content::UNKNOWN, written_at: 0 }; logical_pages as usize],
            writes: 0,
            warm_share: 0.0,
        }
    }

    /// Returns the content of the next written page, at `page` of the space; never unknown.
    pub fn next(&mut self, page: Lpn) -> Content {
        let Address { held, written_at } = self.addresses[page.0 as usize];
        self.writes += 1;
        let is_warm = self.note_warmth(written_at);
        if self.random.next_u64() < self.renewal {
            let rank = below(&mut self.random, self.pool.len() as u64) as usize;
            self.pool[rank] = Content::UNKNOWN;
        }
        let draw = self.random.next_u64();
        let content = if draw < self.same && held != Content::UNKNOWN {
            held
        } else if draw >= self.same && draw < self.same_and_pairs && !self.singles.is_empty() {
            let single = below(&mut self.random, self.singles.len() as u64) as usize;
            self.singles.swap_remove(single)
        } else if draw < self.same_and_pairs
            || draw < threshold(self.before_popular + self.popular_at(is_warm))
        {
            self.popular_content()
        } else {
            self.single()
        };
        self.addresses[page.0 as usize] = Address { held: content, written_at: self.writes };
        content
    }

    /// Adds contents for the pages of `batch` that have none.
    pub fn dress(&mut self, batch: &mut PageBatch) {
        batch.dress(|page| self.next(page));
    }

    /// Makes the last draw and ends the generator.
    pub fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// Returns whether an address last written at `written_at` is warm (written less than a drive write ago), and
    /// updates the warm share.
    fn note_warmth(&mut self, written_at: u64) -> bool {
        let drive_write = self.addresses.len() as u64;
        let is_warm = written_at > 0 && self.writes - written_at < drive_write;
        let recent = self.writes.min(drive_write) as f64;
        self.warm_share += (f64::from(u8::from(is_warm)) - self.warm_share) / recent;
        is_warm
    }

    /// Returns the share of popular contents among the writes to warm or to cold addresses. The mean over both is
    /// `popular`, unless this share would be too high for cold addresses.
    fn popular_at(&self, is_warm: bool) -> f64 {
        if self.cold_duplicates == 0.0 || self.popular == 0.0 {
            return self.popular;
        }
        let warm = self.warm_share;
        let room = 1.0 - self.before_popular;
        let at_cold = (self.popular / (1.0 - self.cold_duplicates * warm)).min(room);
        if is_warm { ((self.popular - (1.0 - warm) * at_cold) / warm).max(0.0) } else { at_cold }
    }

    fn popular_content(&mut self) -> Content {
        let rank = self.popularity.draw(&mut self.random, 1) as usize;
        if self.pool[rank] == Content::UNKNOWN {
            self.pool[rank] = self.names.fresh();
        }
        self.pool[rank]
    }

    /// Returns a new content, which may later get a second copy.
    fn single(&mut self) -> Content {
        let content = self.names.fresh();
        if self.same_and_pairs > self.same {
            if self.singles.len() < SINGLES {
                self.singles.push(content);
            } else {
                let old = below(&mut self.random, SINGLES as u64) as usize;
                self.singles[old] = content;
            }
        }
        content
    }
}
