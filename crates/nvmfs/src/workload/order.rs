//! In what order things are drawn: each once, all equally likely, or some more often than others.

use super::size::require;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Zipf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// In what order records, or files, are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each once, in an order shuffled anew for each pass, as IOzone does (`iozone.c`, `random_perf_test`).
    #[default]
    Permuted,
    /// Any at any time with equal chances.
    Uniform,
    /// By Zipf's law with the exponent `skew`.
    Zipf,
}

/// The law of an order, and of a `skew` given beside it; without an order, uniform or, with a skew, Zipf's.
///
/// Errors: a skew without Zipf's law, or the other way round, or none that can be.
pub(super) fn law(order: Option<Order>, skew: Option<f64>) -> Result<(Order, f64), ConfigError> {
    let unsaid = if skew.is_some() { Order::Zipf } else { Order::Uniform };
    match (order.unwrap_or(unsaid), skew) {
        (Order::Zipf, Some(skew)) => {
            require(skew > 0.0 && skew.is_finite(), "skew", skew, "must be a finite number above 0")?;
            Ok((Order::Zipf, skew))
        }
        (Order::Zipf, None) => Err(ConfigError::new("skew", "is missing; `order = \"zipf\"` needs it")),
        (_, Some(_)) => Err(ConfigError::new("skew", "is given, and `order` is not `zipf`")),
        (order, None) => Ok((order, 0.0)),
    }
}

/// Draws numbers below a fixed count.
pub(super) struct Draws {
    count: u32,
    order: Order,
    /// Of this pass, still to come.
    left: Vec<u32>,
    zipf: Option<(Zipf<f64>, Vec<u32>)>,
}

impl Draws {
    /// Of numbers below `count`, at least 1; which of them are drawn often comes from `seed`.
    pub fn new(count: u32, (order, skew): (Order, f64), seed: Seed) -> Self {
        let zipf = (order == Order::Zipf).then(|| {
            let mut ranks: Vec<u32> = (0..count).collect();
            // Else neighbours would be equally hot.
            ranks.shuffle(&mut seed.of("ranks").random());
            (Zipf::new(f64::from(count), skew).expect("checked by `law`"), ranks)
        });
        Draws { count, order, left: Vec::new(), zipf }
    }

    /// The next one.
    pub fn next(&mut self, random: &mut Random) -> u32 {
        match (&self.zipf, self.order) {
            (Some((zipf, ranks)), _) => ranks[zipf.sample(random) as usize - 1],
            (None, Order::Permuted) => {
                if self.left.is_empty() {
                    self.left.extend(0..self.count);
                    self.left.shuffle(random);
                }
                self.left.pop().expect("a pass has at least one")
            }
            (None, _) => random.random_range(0..self.count),
        }
    }
}
