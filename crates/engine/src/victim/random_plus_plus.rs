//! Victim policy that takes any closed block with fewer valid pages than the average.

use super::search::{draw_candidate, draw_suitable};
use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::Random;
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the random++ policy: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "random_plus_plus",
        help: "any closed block with fewer valid pages than the average, each with the same chance",
        source: "Van Houdt, SIGMETRICS 2013 (Random++)",
    };
    const PROPERTIES: Properties = Properties { draws_random: true, ..Properties::NONE };
    type Policy = RandomPlusPlus;

    fn build(&self, size: &StoreSize) -> Result<RandomPlusPlus, ConfigError> {
        Ok(RandomPlusPlus { random: size.seed.derive("victim").random() })
    }
}

/// Draws blocks until one has fewer than `b * rho` valid pages.
///
/// `b` is [`Blocks::pages_per_block`] and `rho` the utilisation, logical over physical pages. Thus
/// `b * rho = logical_pages / blocks`, the mean number of valid pages once every logical page was written. In the mean
/// field, `p_j = m_j / (sum of m_l over l < b * rho)` for `j < b * rho`, otherwise 0, where `m_j` is the share of
/// blocks with `j` valid pages. The comparison is strict, which matters if `b * rho` is a whole number. If no candidate
/// is below the average, any candidate is taken.
pub struct RandomPlusPlus {
    random: Random,
}

impl VictimPolicy for RandomPlusPlus {
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let below_average =
            |valid: u32| u64::from(valid) * u64::from(blocks.len()) < u64::from(blocks.logical_pages());
        draw_suitable(&mut self.random, blocks, below_average)
            .unwrap_or_else(|| draw_candidate(&mut self.random, blocks))
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}
