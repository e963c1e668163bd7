//! Orders in which items are drawn: each item once per pass, uniformly, or by Zipf's law.

use super::size::require;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Zipf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// Order in which records or files are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each once per pass, in an order that is shuffled for each pass, as in IOzone (`iozone.c`,
    /// `random_perf_test`).
    #[default]
    Permuted,
    /// All equally likely at any time.
    Uniform,
    /// By Zipf's law with the exponent `skew`.
    Zipf,
}

/// Combines an order and a `skew`; without an order, the default is uniform, or Zipf's law if a skew is given.
///
/// Errors: a skew without Zipf's law, Zipf's law without a skew, or an invalid skew.
pub(super) fn order_and_skew(order: Option<Order>, skew: Option<f64>) -> Result<(Order, f64), ConfigError> {
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
pub(super) struct NumberSource {
    count: u32,
    order: Order,
    /// Remaining numbers of the current pass.
    remaining: Vec<u32>,
    zipf: Option<(Zipf<f64>, Vec<u32>)>,
}

impl NumberSource {
    /// Creates a source of numbers below `count`, which must be at least 1. With Zipf's law, `seed` decides which
    /// numbers are drawn often.
    pub fn new(count: u32, (order, skew): (Order, f64), seed: Seed) -> Self {
        let zipf = (order == Order::Zipf).then(|| {
            let mut ranks: Vec<u32> = (0..count).collect();
            // Without the shuffle, neighbouring numbers would have similar update frequencies.
            ranks.shuffle(&mut seed.derive("ranks").random());
            (Zipf::new(f64::from(count), skew).expect("checked by `law`"), ranks)
        });
        NumberSource { count, order, remaining: Vec::new(), zipf }
    }

    /// Draws the next number.
    pub fn next(&mut self, random: &mut Random) -> u32 {
        match (&self.zipf, self.order) {
            (Some((zipf, ranks)), _) => ranks[zipf.sample(random) as usize - 1],
            (None, Order::Permuted) => {
                if self.remaining.is_empty() {
                    self.remaining.extend(0..self.count);
                    self.remaining.shuffle(random);
                }
                self.remaining.pop().expect("a pass has at least one")
            }
            (None, _) => random.random_range(0..self.count),
        }
    }
}
