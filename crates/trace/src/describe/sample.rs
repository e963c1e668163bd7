//! Spatially hashed sampling of pages: Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015.

use std::str::FromStr;

use super::sampling_error::GROUPS;

/// Fraction of all pages that is sampled, above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRate(f64);

impl SampleRate {
    /// Returns `rate` as the rate of a sample.
    ///
    /// # Errors
    /// Returns a message with the allowed range for a number that is not above 0 and at most 1.
    pub fn new(rate: f64) -> Result<Self, String> {
        match rate {
            rate if rate > 0.0 && rate <= 1.0 => Ok(SampleRate(rate)),
            _ => Err(format!("a sampling rate of {rate}; it must be above 0 and at most 1")),
        }
    }

    /// Returns the fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the estimate for all pages, from `count` over the sampled pages.
    pub fn scale_up(self, count: f64) -> u64 {
        (count / self.0).round() as u64
    }

    /// Returns the relative standard error of an estimated number of pages, of which `count` were sampled. Each page is
    /// sampled independently, so their number is binomially distributed. `None` without a sampled page.
    pub fn relative_error(self, count: u64) -> Option<f64> {
        (count > 0).then(|| ((1.0 - self.0) / count as f64).sqrt())
    }
}

impl FromStr for SampleRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate: f64 = text.parse().map_err(|_| "write a number above 0 and at most 1".to_owned())?;
        SampleRate::new(rate)
    }
}

/// Chooses pages by a hash of volume and page number, so that all requests for a page are sampled, or none.
#[derive(Clone, Copy)]
pub struct Sampler {
    /// Greatest hash of a sampled page.
    limit: u64,
    /// Hash of the volume.
    volume: u64,
}

impl Sampler {
    /// Returns the sampler of the volume `number`.
    pub fn new(rate: SampleRate, number: u32) -> Self {
        // 2^64 times the rate. At a rate of 1, the conversion saturates at `u64::MAX`, the greatest hash.
        Sampler { limit: (rate.0 * 2f64.powi(64)) as u64, volume: mix(u64::from(number)) }
    }

    /// Returns the group of a sampled page, by which errors are estimated; `None` for pages that are not sampled.
    #[inline]
    pub fn group(self, page: u64) -> Option<usize> {
        let hash = mix(page ^ self.volume);
        (hash <= self.limit).then_some(hash as usize % GROUPS)
    }
}

/// Mixes the bits of a number: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) after its increment.
#[inline]
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_out_of_range_is_refused() {
        for rate in [0.0, -0.1, 1.000_001, f64::NAN, f64::INFINITY] {
            let error = SampleRate::new(rate).unwrap_err();
            assert!(error.contains("above 0 and at most 1"), "{error}");
        }
        assert_eq!("0.25".parse(), SampleRate::new(0.25));
        assert!("a tenth".parse::<SampleRate>().is_err());
    }

    #[test]
    fn sampler_selects_configured_fraction_of_pages() {
        for rate in [1.0, 0.5, 0.01] {
            let sampler = Sampler::new(SampleRate(rate), 7);
            let mut groups = [0u64; GROUPS];
            (0..1 << 20).filter_map(|page| sampler.group(page)).for_each(|group| groups[group] += 1);
            let expected = rate * f64::from(1 << 20);
            let sampled = groups.iter().sum::<u64>() as f64;
            assert!(
                (sampled - expected).abs() <= 4.0 * (expected * (1.0 - rate)).sqrt(),
                "{sampled} of {expected}"
            );
            let expected_per_group = expected / GROUPS as f64;
            assert!(groups.iter().all(|&pages| (pages as f64 - expected_per_group).abs() < 5.0 * expected_per_group.sqrt()));
        }
    }

    #[test]
    fn volumes_are_sampled_independently() {
        let rate = SampleRate(0.5);
        let (first, second) = (Sampler::new(rate, 0), Sampler::new(rate, 1));
        let both =
            (0..10_000).filter(|&page| first.group(page).is_some() && second.group(page).is_some()).count();
        assert!((2_300..2_700).contains(&both), "{both}");
    }
}
