//! Survival statistics of pages, by their past and age.

/// Number of possible pasts.
pub(super) const STATES: usize = 256;
/// Number of octaves of age.
pub(super) const AGES: usize = 20;

/// Weight of the prior in deaths. The prior of a past and age is the rate of all pasts with the same last interval;
/// the prior of that rate is the rate of all pages of the age.
const PRIOR_WEIGHT: f64 = 4.0;

/// Expected deaths of a page within its lifetime: a third of such pages is dead by then, `1 - exp(-0.4)`.
const INVALIDATIONS_PER_LIFETIME: f64 = 0.4;

/// Counts of pages by past and age, which decay from epoch to epoch.
///
/// Death means invalidation of a page (rewrite or trim). The death rate for a past and age is the number of deaths
/// divided by the exposure: the pages that live there times the observation time (an occurrence-exposure rate).
/// Surviving pages count as much as those that die; a mean over observed intervals would leave them out.
pub(super) struct Survival {
    memory: f64,
    pages: f64,
    invalidations: Vec<f32>,
    survivors: Vec<f32>,
    traffic: Vec<f32>,
}

impl Survival {
    /// Creates empty statistics for a drive of `pages` pages.
    pub(super) fn new(memory: f64, pages: f64) -> Self {
        let table = || vec![0.0; STATES * AGES];
        Survival { memory, pages, invalidations: table(), survivors: table(), traffic: table() }
    }

    /// Returns the table index of a past and age.
    #[inline]
    pub(super) fn at(state: u8, age: usize) -> usize {
        usize::from(state) * AGES + age
    }

    /// Counts the death of a page of this past and age.
    #[inline]
    pub(super) fn record_invalidation(&mut self, state: u8, age: usize) {
        self.invalidations[Self::at(state, age)] += 1.0;
    }

    /// Counts a page of this past and age that is alive at the end of the epoch.
    #[inline]
    pub(super) fn record_survivor(&mut self, state: u8, age: usize) {
        self.survivors[Self::at(state, age)] += 1.0;
    }

    /// Counts a write, by host or cleaning, of a page with the past and age of index `at`.
    #[inline]
    pub(super) fn written(&mut self, at: usize) {
        self.traffic[at] += 1.0;
    }

    /// Returns the number of pages written, by past and age.
    pub(super) fn traffic(&self) -> &[f32] {
        &self.traffic
    }

    /// Decays all counts.
    pub(super) fn decay(&mut self) {
        let memory = self.memory as f32;
        for table in [&mut self.invalidations, &mut self.survivors, &mut self.traffic] {
            table.iter_mut().for_each(|count| *count *= memory);
        }
    }

    /// Returns the remaining lifetime of a page of each past and age, in host pages. The length of octave 0 is `unit`;
    /// each page found alive stands for an exposure of `exposure`, in pages times host pages.
    pub(super) fn lifetimes(&self, unit: f64, exposure: f64) -> Vec<f32> {
        let invalidations_and_exposure =
            |at: usize| (f64::from(self.invalidations[at]), f64::from(self.survivors[at]) * exposure);
        let mut of_age = [(0.0, 0.0); AGES];
        let mut of_interval = [[(0.0, 0.0); AGES]; 16];
        for state in 0..STATES {
            for age in 0..AGES {
                let (invalidations, exposure_here) = invalidations_and_exposure(state * AGES + age);
                for sum in [&mut of_age[age], &mut of_interval[state >> 4][age]] {
                    *sum = (sum.0 + invalidations, sum.1 + exposure_here);
                }
            }
        }
        // Prior without observations: a page dies once in four drive writes.
        let rate_of_age = of_age.map(|(deaths, exposed)| (deaths + 1.0) / (exposed + 4.0 * self.pages));
        let mut lifetimes = vec![0.0; STATES * AGES];
        for (interval, observed) in of_interval.iter().enumerate() {
            let rates: [f64; AGES] = std::array::from_fn(|age| shrunk_rate(observed[age], rate_of_age[age]));
            let prior_lifetimes = remaining_lifetimes(&rates, unit);
            for state in 16 * interval..16 * (interval + 1) {
                let range = state * AGES..(state + 1) * AGES;
                let is_observed = range.clone().any(|at| invalidations_and_exposure(at) != (0.0, 0.0));
                let observed_lifetimes = is_observed.then(|| {
                    let rates = std::array::from_fn(|age| {
                        shrunk_rate(invalidations_and_exposure(state * AGES + age), rates[age])
                    });
                    remaining_lifetimes(&rates, unit)
                });
                lifetimes[range].copy_from_slice(observed_lifetimes.as_ref().unwrap_or(&prior_lifetimes));
            }
        }
        lifetimes
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.invalidations) + size_of_val(&*self.survivors) + size_of_val(&*self.traffic)
    }
}

/// Returns an observed rate, shrunk towards the expected one.
fn shrunk_rate((invalidations, exposure): (f64, f64), expected: f64) -> f64 {
    (invalidations + PRIOR_WEIGHT) / (exposure + PRIOR_WEIGHT / expected)
}

/// Returns, for each age, the time until [`INVALIDATIONS_PER_LIFETIME`] deaths are expected for a page that dies at
/// these rates.
///
/// A page is assumed to be in the middle of its octave, but at the start of the first octave; it stays in the last
/// one for ever.
fn remaining_lifetimes(rates: &[f64; AGES], unit: f64) -> [f32; AGES] {
    let width = |age: usize| if age == 0 { unit } else { unit * (1_u64 << (age - 1)) as f64 };
    std::array::from_fn(|from| {
        let (mut expected, mut time) = (0.0, 0.0);
        for (age, rate) in rates.iter().enumerate().skip(from) {
            let stay = if age == from && age > 0 { width(age) / 2.0 } else { width(age) };
            let invalidations = rate * stay;
            if age + 1 == AGES || expected + invalidations >= INVALIDATIONS_PER_LIFETIME {
                return (time + (INVALIDATIONS_PER_LIFETIME - expected) / rate) as f32;
            }
            expected += invalidations;
            time += stay;
        }
        time as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_rate_gives_equal_remaining_lifetimes() {
        let lifetimes = remaining_lifetimes(&[0.001; AGES], 10.0);
        assert!(lifetimes.iter().all(|life| (life - 400.0).abs() < 0.01), "{lifetimes:?}");
    }

    #[test]
    fn pages_past_an_age_of_high_rate_live_longer() {
        // With a unit of 10 pages, 0.03 deaths per page are expected in the first unit, and 0.001 after it.
        let mut rates = [0.001; AGES];
        rates[0] = 0.03;
        let lifetimes = remaining_lifetimes(&rates, 10.0);
        // With 0.3 deaths in the first 10 pages and 0.1 deaths in the next 100 pages, the lifetime is 110 pages. At
        // higher ages, it takes 400 pages until 0.4 deaths are expected.
        assert!((lifetimes[0] - 110.0).abs() < 0.01, "{lifetimes:?}");
        assert!((lifetimes[1] - 400.0).abs() < 0.01, "{lifetimes:?}");
        // In the reverse case, deaths begin after the second octave. A page in the middle of that octave, 10 to 20,
        // still has 5 pages with hardly any deaths.
        let mut rates = [0.04; AGES];
        (rates[0], rates[1]) = (0.0001, 0.0001);
        let lifetimes = remaining_lifetimes(&rates, 10.0);
        assert!((lifetimes[0] - (20.0 + (0.4 - 0.002) / 0.04)).abs() < 0.01, "{lifetimes:?}");
        assert!((lifetimes[1] - (5.0 + (0.4 - 0.0005) / 0.04)).abs() < 0.01, "{lifetimes:?}");
    }

    #[test]
    fn rates_are_invalidations_over_exposure_shrunk_towards_the_prior() {
        let mut survival = Survival::new(0.5, 1000.0);
        // Past 0x20 at age 3: 900 pages found alive, each with an exposure of 40, and 3,600 deaths: a rate of one in
        // ten.
        (0..900).for_each(|_| survival.record_survivor(0x20, 3));
        (0..3600).for_each(|_| survival.record_invalidation(0x20, 3));
        let at = Survival::at(0x20, 3);
        let lifetime = |survival: &Survival, at: usize| f64::from(survival.lifetimes(1.0, 40.0)[at]);
        // 0.2 deaths fall into the rest of the octave, which is 2 pages; the other 0.2 fall into octaves with a rate of
        // one in 4,000.
        let expected = 2.0 + 0.2 / (1.0 / 4000.0);
        assert!((lifetime(&survival, at) / expected - 1.0).abs() < 0.02, "{}", lifetime(&survival, at));
        // A history with the same last interval but without observations gets the same expected lifetime.
        assert!((lifetime(&survival, Survival::at(0x2f, 3)) / lifetime(&survival, at) - 1.0).abs() < 0.02);
        survival.decay();
        assert!((lifetime(&survival, at) / expected - 1.0).abs() < 0.02, "half of both");
        assert_eq!(survival.memory_bytes(), 3 * 4 * STATES * AGES);
    }
}
