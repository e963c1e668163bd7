//! Victim policy that prefers blocks whose erase also empties blocks of the layer below.

use super::search::check_draws;
use super::{Blocks, LowerLayerView, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::{Random, random_below};
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the completing policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks drawn, with replacement, for each victim; 1 or more.
    #[schemars(range(min = 1))]
    pub choices: u32,
    /// Weight of a valid page left below, relative to a page that must be moved here; 0 or more. 0 behaves like
    /// `d_choices`.
    #[schemars(range(min = 0.0))]
    pub weight: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { choices: 10, weight: 1.0 }
    }
}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "completing",
        help: "the lowest cost for a page gained among `choices` drawn: pages to move, and those its trim leaves in blocks below",
        source: "after Yang, Plasson, Gillis, Talagala and Sundararaman, INFLOW 2014, sec. 4.5 and 5: cleaning coordinated across logs",
    };
    const PROPERTIES: Properties = Properties { draws_random: true, looks_below: true, ..Properties::NONE };
    type Policy = Completing;

    fn build(&self, size: &StoreSize) -> Result<Completing, ConfigError> {
        if self.choices == 0 {
            return Err(ConfigError::new("choices", "is 0; at least one block must be drawn"));
        }
        check_draws("choices", self.choices, size)?;
        if !(self.weight >= 0.0 && self.weight.is_finite()) {
            return Err(ConfigError::new("weight", format!("is {}; it must be 0 or more", self.weight)));
        }
        Ok(Completing { config: self.clone(), random: size.seed.derive("victim").random() })
    }

    fn looks_below(&self) -> bool {
        self.weight > 0.0
    }
}

/// Draws `choices` blocks from all and takes the candidate with the lowest cost per gained page,
/// `(valid share + weight * share left valid below) / (1 - valid share)`; among equals the first. A block without
/// invalid pages gains no page, even if it empties blocks below, and is taken only if no drawn block has invalid pages.
///
/// On flash, which has no layer below, the policy equals `d_choices`.
pub struct Completing {
    config: Config,
    random: Random,
}

impl Completing {
    fn cost(&self, block: BlockId, blocks: &Blocks, below: &dyn LowerLayerView) -> f64 {
        let valid = f64::from(blocks.score(block)) / f64::from(blocks.pages_per_block());
        if valid >= 1.0 {
            return f64::INFINITY;
        }
        let left_valid = if self.config.weight == 0.0 { 0.0 } else { below.left_valid(block) };
        (valid + self.config.weight * left_valid) / (1.0 - valid)
    }

    fn pick(&mut self, blocks: &Blocks, below_store: &dyn LowerLayerView) -> BlockId {
        loop {
            let mut best: Option<(f64, BlockId)> = None;
            for _ in 0..self.config.choices {
                let block = BlockId(random_below(&mut self.random, u64::from(blocks.len())) as u32);
                if !blocks.is_candidate(block) {
                    continue;
                }
                let cost = self.cost(block, blocks, below_store);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, block));
                }
            }
            if let Some((_, block)) = best {
                return block;
            }
        }
    }
}

/// Flash, or any medium without information on the layer below.
struct NoLayerBelow;

impl LowerLayerView for NoLayerBelow {
    fn left_valid(&self, _block: BlockId) -> f64 {
        0.0
    }
}

impl VictimPolicy for Completing {
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        self.pick(blocks, &NoLayerBelow)
    }

    fn select_above(&mut self, blocks: &Blocks, below: &dyn LowerLayerView) -> BlockId {
        self.pick(blocks, below)
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    /// Fraction of pages left valid in the layer below, by block.
    struct LeftValid(Vec<f64>);

    impl LowerLayerView for LeftValid {
        fn left_valid(&self, block: BlockId) -> f64 {
            self.0[block.index()]
        }
    }

    fn victim_of(rows: &[(u32, u64, u32)], left: Vec<f64>) -> u32 {
        let size =
            StoreSize { blocks: rows.len() as u32, pages_per_block: 10, logical_pages: 10, seed: Seed(11) };
        let mut policy = Config { choices: 200, weight: 2.0 }.build(&size).unwrap();
        policy.select_above(&Blocks::of_candidates(10, 10, rows), &LeftValid(left)).0
    }

    #[test]
    fn pages_left_valid_below_raise_the_cost() {
        assert_eq!(victim_of(&[(5, 1, 1), (7, 1, 1)], vec![0.5, 0.0]), 1);
        assert_eq!(victim_of(&[(5, 1, 1), (7, 1, 1)], vec![0.1, 0.1]), 0);
    }

    #[test]
    fn full_block_is_not_taken_if_another_block_gains() {
        assert_eq!(victim_of(&[(10, 1, 1), (9, 1, 1)], vec![0.0, 1.0]), 1);
        assert_eq!(victim_of(&[(10, 1, 1)], vec![0.0]), 0);
    }
}
