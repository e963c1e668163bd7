//! Popular contents: how many of them are stored, and how many logical pages share them.
//!
//! The addresses that hold a content come and go independently of each other, so that their number is Poisson's. Its mean is what
//! was drawn while the content was popular and is still there.

use super::EqualPages;
use crate::{Classes, TheoryError};

/// Points at which the age of contents, and the time since they were popular, are averaged over.
const AGES: usize = 24;
const ENDS: usize = 96;

/// Contents of the pool of now and of before, in shares of the logical pages.
pub(super) struct Popular {
    /// Stored contents that two or more logical pages share.
    pub shared_pages: f64,
    /// Of the logical pages that hold popular contents and were looked at, those that share them.
    pub shared_share: f64,
    /// Contents that come to be shared, for each page that the host writes.
    pub promoted: f64,
}

/// How long the addresses that take popular contents hold them.
struct Holding {
    /// Share of the draws, with what of them is looked at, and rate per drive write at which it goes.
    classes: Vec<(f64, f64)>,
    slowest: f64,
}

impl Holding {
    /// Expected time for which a draw made in the last `age` drive writes is there.
    fn until(&self, age: f64) -> f64 {
        self.classes.iter().map(|(share, rate)| share * (1.0 - (-rate * age).exp()) / rate).sum()
    }
}

impl Popular {
    /// Of the writes of each class `at` are popular contents, and of the pages of each class `survival` are looked at.
    pub fn of(model: &EqualPages<'_>, at: &[f64], survival: &[f64]) -> Result<Self, TheoryError> {
        let contents = &model.contents;
        if contents.popular == 0.0 {
            return Ok(Popular { shared_pages: 0.0, shared_share: 0.0, promoted: 0.0 });
        }
        let classes = model.classes.as_slice();
        let stays = 1.0 - contents.same;
        let held: Vec<(f64, f64)> = (classes.iter().zip(at).zip(survival))
            .map(|((class, at), survival)| (class.write_share * at * survival, class.heat() * stays))
            .collect();
        let slowest = held.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
        // Mean rate at which a shared page loses a sharer, those written as they were included: they are looked at anew.
        let members: f64 = held.iter().map(|(share, rate)| share / rate).sum();
        let loss = held.iter().map(|(share, _)| share).sum::<f64>() / members / stays;
        let holding = Holding { classes: held, slowest };
        let ranks = Classes::zipf(contents.exponent, contents.popular_contents)?;
        let pages = model.logical_pages as f64;
        let mut sums = Sums::default();
        for rank in ranks.as_slice() {
            let count = rank.space_share * contents.popular_contents as f64;
            let draws = pages * rank.write_share / count;
            holding.sum(contents.lifetime, draws, count, &mut sums);
        }
        Ok(Popular {
            shared_pages: sums.shared / pages,
            shared_share: 1.0 - sums.alone / sums.members,
            promoted: loss * 2.0 * sums.twos / pages,
        })
    }
}

/// Over all contents of now and before: logical pages, and contents with one, with two and with more than one.
#[derive(Default)]
struct Sums {
    members: f64,
    alone: f64,
    twos: f64,
    shared: f64,
}

impl Sums {
    fn add(&mut self, mean: f64, weight: f64) {
        let none = (-mean).exp();
        self.members += weight * mean;
        self.alone += weight * mean * none;
        self.twos += weight * 0.5 * mean * mean * none;
        self.shared += weight * -((-mean).exp_m1() + mean * none);
    }
}

impl Holding {
    /// Adds `count` places in the pool, each drawn `draws` times a drive write: the content there, which leaves the pool once in
    /// `lifetime`, and those before it, which left it at the same rate.
    fn sum(&self, lifetime: f64, draws: f64, count: f64, sums: &mut Sums) {
        // Contents are forgotten some times slower than the slowest address, as the last of many holders is.
        let scale = 4.0 / self.slowest;
        let middle = |at: usize, of: usize| (at as f64 + 0.5) / of as f64;
        for age in (0..AGES).map(|at| -lifetime * middle(at, AGES).ln()) {
            let share = count / AGES as f64;
            sums.add(draws * self.until(age), share);
            for part in (0..ENDS).map(|at| middle(at, ENDS)) {
                let end = -scale * part.ln();
                let mean = draws * (self.until(age + end) - self.until(end));
                sums.add(mean, share * scale / (lifetime * part * ENDS as f64));
            }
        }
    }
}
