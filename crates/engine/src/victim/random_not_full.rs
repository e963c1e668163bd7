//! Victim policy that takes any closed block with at least one invalid page.

use super::search::{draw_candidate, draw_suitable};
use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::Random;
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the random-not-full policy: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "random_not_full",
        help: "a closed block with at least one invalid page, each equally likely",
        source: "in the class of Van Houdt, SIGMETRICS 2013; under uniform writes 1/WA = S_f + rho/b",
    };
    const PROPERTIES: Properties = Properties { draws_random: true, ..Properties::NONE };
    type Policy = RandomNotFull;

    fn build(&self, size: &StoreSize) -> Result<RandomNotFull, ConfigError> {
        Ok(RandomNotFull { random: size.seed.derive("victim").random() })
    }
}

/// Draws blocks until one has at least one invalid page.
///
/// In the mean field, `p_j = m_j / (1 - m_b)` for `j < b`, otherwise 0, where `m_j` is the share of blocks with `j`
/// valid pages and `b` = [`Blocks::pages_per_block`]. If every candidate is full of valid pages, any candidate is
/// taken.
pub struct RandomNotFull {
    random: Random,
}

impl VictimPolicy for RandomNotFull {
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        draw_suitable(&mut self.random, blocks, |valid| valid < blocks.pages_per_block())
            .unwrap_or_else(|| draw_candidate(&mut self.random, blocks))
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}
