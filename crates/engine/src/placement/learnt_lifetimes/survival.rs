//! How long pages live, by their past and age.

/// Pasts that a page may have.
pub(super) const STATES: usize = 256;
/// Octaves of age.
pub(super) const AGES: usize = 20;

/// Deaths with which a rate is believed half: what is seen of a past and age counts beside what is seen of all pasts
/// with the same last interval, and this beside what is seen of all pages of the age.
const BELIEF: f64 = 4.0;

/// Expected deaths of a page until the time that counts as its lifetime: a third of such pages is dead by then, `1 -
/// exp(-0.4)`.
const DEATHS_OF_A_LIFE: f64 = 0.4;

/// Counts of pages by past and age, fading from epoch to epoch.
///
/// The rate at which pages of a past and age die is their deaths over their exposure, the pages that live there times
/// the time they are watched (an occurrence-exposure rate). A page that lives on counts as much as one that dies,
/// which a mean over intervals seen would leave out.
pub(super) struct Survival {
    memory: f64,
    pages: f64,
    deaths: Vec<f32>,
    living: Vec<f32>,
    traffic: Vec<f32>,
}

impl Survival {
    /// Nothing is known of the pages of a drive of so many.
    pub(super) fn new(memory: f64, pages: f64) -> Self {
        let table = || vec![0.0; STATES * AGES];
        Survival { memory, pages, deaths: table(), living: table(), traffic: table() }
    }

    /// Where the tables hold a past and age.
    #[inline]
    pub(super) fn at(state: u8, age: usize) -> usize {
        usize::from(state) * AGES + age
    }

    /// A page of this past and age died.
    #[inline]
    pub(super) fn died(&mut self, state: u8, age: usize) {
        self.deaths[Self::at(state, age)] += 1.0;
    }

    /// A page of this past and age was found alive at the end of the epoch.
    #[inline]
    pub(super) fn lives(&mut self, state: u8, age: usize) {
        self.living[Self::at(state, age)] += 1.0;
    }

    /// A page was written by host or cleaning while it had the past and age of this place.
    #[inline]
    pub(super) fn written(&mut self, at: usize) {
        self.traffic[at] += 1.0;
    }

    /// Pages written by past and age.
    pub(super) fn traffic(&self) -> &[f32] {
        &self.traffic
    }

    /// What was seen loses weight.
    pub(super) fn fade(&mut self) {
        let memory = self.memory as f32;
        for table in [&mut self.deaths, &mut self.living, &mut self.traffic] {
            table.iter_mut().for_each(|count| *count *= memory);
        }
    }

    /// The remaining lifetime of each past and age, host pages. Octave 0 is `unit` long; each page found alive stands for an
    /// exposure of `exposure` pages times host pages.
    pub(super) fn lifetimes(&self, unit: f64, exposure: f64) -> Vec<f32> {
        let deaths_and_exposure =
            |at: usize| (f64::from(self.deaths[at]), f64::from(self.living[at]) * exposure);
        let mut of_age = [(0.0, 0.0); AGES];
        let mut of_interval = [[(0.0, 0.0); AGES]; 16];
        for state in 0..STATES {
            for age in 0..AGES {
                let (deaths, exposed) = deaths_and_exposure(state * AGES + age);
                for sum in [&mut of_age[age], &mut of_interval[state >> 4][age]] {
                    *sum = (sum.0 + deaths, sum.1 + exposed);
                }
            }
        }
        // Before anything is seen, a page dies once in four drive writes.
        let rate_of_age = of_age.map(|(deaths, exposed)| (deaths + 1.0) / (exposed + 4.0 * self.pages));
        let mut lifetimes = vec![0.0; STATES * AGES];
        for (interval, seen) in of_interval.iter().enumerate() {
            let rates: [f64; AGES] = std::array::from_fn(|age| believed(seen[age], rate_of_age[age]));
            let unseen = remaining(&rates, unit);
            for state in 16 * interval..16 * (interval + 1) {
                let places = state * AGES..(state + 1) * AGES;
                let is_seen = places.clone().any(|at| deaths_and_exposure(at) != (0.0, 0.0));
                let own = is_seen.then(|| {
                    let rates = std::array::from_fn(|age| {
                        believed(deaths_and_exposure(state * AGES + age), rates[age])
                    });
                    remaining(&rates, unit)
                });
                lifetimes[places].copy_from_slice(own.as_ref().unwrap_or(&unseen));
            }
        }
        lifetimes
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.deaths) + size_of_val(&*self.living) + size_of_val(&*self.traffic)
    }
}

/// A rate seen, drawn towards one that is expected.
fn believed((deaths, exposed): (f64, f64), expected: f64) -> f64 {
    (deaths + BELIEF) / (exposed + BELIEF / expected)
}

/// For each age, the time in which as many deaths are expected as make a lifetime, for a page that dies at these rates.
///
/// A page is taken to be in the middle of its octave, but at the beginning of the first one; it stays in the last for good.
fn remaining(rates: &[f64; AGES], unit: f64) -> [f32; AGES] {
    let width = |age: usize| if age == 0 { unit } else { unit * (1_u64 << (age - 1)) as f64 };
    std::array::from_fn(|from| {
        let (mut expected, mut time) = (0.0, 0.0);
        for (age, rate) in rates.iter().enumerate().skip(from) {
            let stay = if age == from && age > 0 { width(age) / 2.0 } else { width(age) };
            let deaths = rate * stay;
            if age + 1 == AGES || expected + deaths >= DEATHS_OF_A_LIFE {
                return (time + (DEATHS_OF_A_LIFE - expected) / rate) as f32;
            }
            expected += deaths;
            time += stay;
        }
        time as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_leaves_the_same_life_at_every_age() {
        let lives = remaining(&[0.001; AGES], 10.0);
        assert!(lives.iter().all(|life| (life - 400.0).abs() < 0.01), "{lives:?}");
    }

    #[test]
    fn what_outlived_a_mortal_age_lives_longer() {
        // Of a unit of 10 pages: 0.03 deaths a page in the first unit, 0.001 from there on.
        let mut rates = [0.001; AGES];
        rates[0] = 0.03;
        let lives = remaining(&rates, 10.0);
        // 0.3 deaths in the first 10 pages, and 0.1 in 100 more; later 400.
        assert!((lives[0] - 110.0).abs() < 0.01, "{lives:?}");
        assert!((lives[1] - 400.0).abs() < 0.01, "{lives:?}");
        // The other way round: a page in the middle of the second octave, 10 to 20, has 5 pages left of the safe time.
        let mut rates = [0.04; AGES];
        (rates[0], rates[1]) = (0.0001, 0.0001);
        let lives = remaining(&rates, 10.0);
        assert!((lives[0] - (20.0 + (0.4 - 0.002) / 0.04)).abs() < 0.01, "{lives:?}");
        assert!((lives[1] - (5.0 + (0.4 - 0.0005) / 0.04)).abs() < 0.01, "{lives:?}");
    }

    #[test]
    fn rates_are_deaths_over_exposure_and_fade_to_what_is_expected() {
        let mut survival = Survival::new(0.5, 1000.0);
        // Of past 0x20 and age 3: 900 pages found alive, of which each stands for 40, and 3,600 deaths: one in ten.
        (0..900).for_each(|_| survival.lives(0x20, 3));
        (0..3600).for_each(|_| survival.died(0x20, 3));
        let at = Survival::at(0x20, 3);
        let life = |survival: &Survival, at: usize| f64::from(survival.lifetimes(1.0, 40.0)[at]);
        // 0.2 deaths in the rest of the octave, 2 pages; the other 0.2 are in octaves where one in 4,000 dies.
        let expected = 2.0 + 0.2 / (1.0 / 4000.0);
        assert!((life(&survival, at) / expected - 1.0).abs() < 0.02, "{}", life(&survival, at));
        // Of another past with the same last interval nothing was seen: it is expected to live as long.
        assert!((life(&survival, Survival::at(0x2f, 3)) / life(&survival, at) - 1.0).abs() < 0.02);
        survival.fade();
        assert!((life(&survival, at) / expected - 1.0).abs() < 0.02, "half of both");
        assert_eq!(survival.memory_bytes(), 3 * 4 * STATES * AGES);
    }
}
