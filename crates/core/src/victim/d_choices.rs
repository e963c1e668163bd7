//! The fewest valid pages among `d` blocks drawn at random.

use super::{Blocks, Victim, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::{Random, below};
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the d-choices policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Blocks drawn, with replacement, for each victim (`d`); 1 or more.
    #[serde(default = "ten")]
    #[schemars(range(min = 1))]
    pub choices: u32,
}

fn ten() -> u32 {
    10
}

impl Victim for Config {
    const ENTRY: Entry = Entry {
        name: "d_choices",
        help: "fewest valid pages among `choices` blocks drawn at random",
        source: "Van Houdt, Performance Evaluation 70 (2013), sec. 2.2; Li, Lee and Lui, SIGMETRICS 2013",
    };
    type Policy = DChoices;

    fn build(&self, size: &StoreSize) -> Result<DChoices, ConfigError> {
        if self.choices == 0 {
            return Err(ConfigError::new("choices", "is 0; at least one block must be drawn"));
        }
        Ok(DChoices { choices: self.choices, random: size.seed.of("victim").random() })
    }
}

/// Draws `choices` blocks with replacement from all blocks and takes the first with the fewest valid pages.
///
/// Drawing from *all* blocks is the paper's convention (eq. 3); the few that are open lose against
/// any candidate, and when only such were drawn the draw is repeated.
pub struct DChoices {
    choices: u32,
    random: Random,
}

impl VictimPolicy for DChoices {
    #[inline]
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let count = u64::from(blocks.len());
        loop {
            let mut best = BlockId(0);
            let mut best_score = u32::MAX;
            for _ in 0..self.choices {
                let block = BlockId(below(&mut self.random, count) as u32);
                let score = blocks.score(block);
                if score < best_score {
                    (best, best_score) = (block, score);
                }
            }
            if Blocks::is_candidate_score(best_score) {
                return best;
            }
        }
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}
