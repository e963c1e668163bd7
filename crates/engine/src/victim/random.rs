//! Victim policy that takes any closed block with equal probability.

use super::search::draw_candidate;
use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::Random;
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the random policy: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "random",
        help: "any closed block, each with the same chance",
        source: "Van Houdt, SIGMETRICS 2013 (Random)",
    };
    const PROPERTIES: Properties = Properties { draws_random: true, ..Properties::NONE };
    type Policy = RandomBlock;

    fn build(&self, size: &StoreSize) -> Result<RandomBlock, ConfigError> {
        Ok(RandomBlock { random: size.seed.derive("victim").random() })
    }
}

/// Draws blocks until one is a candidate.
pub struct RandomBlock {
    random: Random,
}

impl VictimPolicy for RandomBlock {
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        draw_candidate(&mut self.random, blocks)
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}
