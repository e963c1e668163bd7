//! Popular contents: the number stored, and the number of logical pages that share them.
//!
//! Addresses gain and lose a content independently, so the number of addresses that hold it has a Poisson distribution.
//! Its mean counts the draws made while the content was popular, minus those overwritten since.

use super::DedupModel;
use crate::{Classes, TheoryError};

/// Number of sampling points for the age of contents.
const AGE_SAMPLES: usize = 24;
/// Number of sampling points for the time since contents were popular.
const END_SAMPLES: usize = 96;

/// Current and former contents of the pool, in fractions of the logical pages.
pub(super) struct PopularContents {
    /// Stored contents shared by two or more logical pages.
    pub shared_pages: f64,
    /// Fraction of the examined logical pages with popular contents that share their stored page.
    pub shared_share: f64,
    /// Contents that become shared, per page written by the host.
    pub promoted: f64,
}

/// Holding times of popular contents at the addresses that take them.
struct HoldingTimes {
    /// For each class: the fraction of its draws of popular contents that are examined, and the rate per drive write at
    /// which the drawn contents are overwritten.
    classes: Vec<(f64, f64)>,
    min_rate: f64,
}

impl HoldingTimes {
    /// Returns the probability that a draw is still stored, integrated over the ages of draws from 0 to `age`.
    fn stored_probability(&self, age: f64) -> f64 {
        self.classes.iter().map(|(share, rate)| share * (1.0 - (-rate * age).exp()) / rate).sum()
    }
}

impl PopularContents {
    /// Computes the popular contents. `popular_shares` are the fractions of popular contents among the writes of each
    /// class, and `survival` are the fractions of the written pages that are examined.
    pub fn of(model: &DedupModel<'_>, popular_shares: &[f64], survival: &[f64]) -> Result<Self, TheoryError> {
        let contents = &model.contents;
        if contents.popular == 0.0 {
            return Ok(PopularContents { shared_pages: 0.0, shared_share: 0.0, promoted: 0.0 });
        }
        let classes = model.classes.as_slice();
        let change_rate = 1.0 - contents.same;
        let draws_and_rates: Vec<(f64, f64)> = (classes.iter().zip(popular_shares).zip(survival))
            .map(|((class, at), survival)| {
                (class.write_share * at * survival, class.relative_rate() * change_rate)
            })
            .collect();
        let slowest = draws_and_rates.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
        // Mean rate at which a shared page loses a sharer. Rewrites of equal content count, because they are examined
        // anew.
        let members: f64 = draws_and_rates.iter().map(|(share, rate)| share / rate).sum();
        let loss = draws_and_rates.iter().map(|(share, _)| share).sum::<f64>() / members / change_rate;
        let holding_times = HoldingTimes { classes: draws_and_rates, min_rate: slowest };
        let ranks = Classes::zipf(contents.exponent, contents.popular_contents)?;
        let pages = model.logical_pages as f64;
        let mut sums = SharerSums::default();
        for rank in ranks.as_slice() {
            let count = rank.space_share * contents.popular_contents as f64;
            let draws = pages * rank.write_share / count;
            holding_times.sum(contents.lifetime, draws, count, &mut sums);
        }
        Ok(PopularContents {
            shared_pages: sums.shared / pages,
            shared_share: 1.0 - sums.single_sharer / sums.members,
            promoted: loss * 2.0 * sums.two_sharers / pages,
        })
    }
}

/// Sums over current and former contents: number of logical pages, and numbers of contents that one, two, and more
/// than one logical page share.
#[derive(Default)]
struct SharerSums {
    members: f64,
    single_sharer: f64,
    two_sharers: f64,
    shared: f64,
}

impl SharerSums {
    fn add(&mut self, mean: f64, weight: f64) {
        let none = (-mean).exp();
        self.members += weight * mean;
        self.single_sharer += weight * mean * none;
        self.two_sharers += weight * 0.5 * mean * mean * none;
        self.shared += weight * -((-mean).exp_m1() + mean * none);
    }
}

impl HoldingTimes {
    /// Adds `count` slots of the pool, each drawn `draws` times per drive write. A slot has its current content,
    /// replaced once per `lifetime` on average, and its former contents, which were replaced at the same rate.
    fn sum(&self, lifetime: f64, draws: f64, count: f64, sums: &mut SharerSums) {
        // The last of many sharers is overwritten late, so contents disappear several times more slowly than the
        // content of a single address.
        let scale = 4.0 / self.min_rate;
        let middle = |at: usize, of: usize| (at as f64 + 0.5) / of as f64;
        for age in (0..AGE_SAMPLES).map(|at| -lifetime * middle(at, AGE_SAMPLES).ln()) {
            let share = count / AGE_SAMPLES as f64;
            sums.add(draws * self.stored_probability(age), share);
            for part in (0..END_SAMPLES).map(|at| middle(at, END_SAMPLES)) {
                let end = -scale * part.ln();
                let mean = draws * (self.stored_probability(age + end) - self.stored_probability(end));
                sums.add(mean, share * scale / (lifetime * part * END_SAMPLES as f64));
            }
        }
    }
}
