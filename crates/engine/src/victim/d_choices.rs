//! Victim policy that takes the fewest valid pages among `d` blocks drawn at random.

use super::search::check_draws;
use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::{Random, random_below};
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

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "d_choices",
        help: "fewest valid pages among `choices` blocks drawn at random",
        source: "Van Houdt, Performance Evaluation 70 (2013), sec. 2.2; Li, Lee and Lui, SIGMETRICS 2013",
    };
    const PROPERTIES: Properties = Properties { draws_random: true, ..Properties::NONE };
    type Policy = DChoices;

    fn build(&self, size: &StoreSize) -> Result<DChoices, ConfigError> {
        if self.choices == 0 {
            return Err(ConfigError::new("choices", "is 0; at least one block must be drawn"));
        }
        check_draws("choices", self.choices, size)?;
        let drawn = [Vec::new(), Vec::new()];
        Ok(DChoices { choices: self.choices, random: size.seed.derive("victim").random(), drawn, next: 0 })
    }
}

/// Draws `choices` blocks with replacement from all blocks and takes the first with the fewest valid pages.
///
/// Drawing from *all* blocks is the paper's convention (eq. 3). The few open blocks lose against any candidate; if
/// only such blocks were drawn, the draw is repeated.
///
/// The draws for two selections are made in advance, in the order of the selections. This changes no result, but
/// leaves time to prefetch the scores and to predict the next victim.
pub struct DChoices {
    choices: u32,
    random: Random,
    /// Draws for the next two selections; empty before the first selection.
    drawn: [Vec<BlockId>; 2],
    /// Index of the draws for the next selection.
    next: usize,
}

impl DChoices {
    /// Returns the first block in `drawn` with the fewest valid pages, if `drawn` contains a candidate.
    #[inline]
    fn fewest(drawn: &[BlockId], blocks: &Blocks) -> Option<BlockId> {
        // Score and position form one key, whose minimum is found without a branch on the score, which would be
        // unpredictable.
        let key = |(at, &block): (usize, &BlockId)| u64::from(blocks.score(block)) << 32 | at as u64;
        let lowest = drawn.iter().enumerate().map(key).fold(u64::MAX, u64::min);
        Blocks::is_candidate_score((lowest >> 32) as u32).then(|| drawn[lowest as u32 as usize])
    }
}

impl VictimPolicy for DChoices {
    #[inline]
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        loop {
            let drawn = &mut self.drawn[self.next];
            let fewest = Self::fewest(drawn, blocks);
            drawn.resize(self.choices as usize, BlockId(0));
            for block in drawn {
                *block = BlockId(random_below(&mut self.random, u64::from(blocks.len())) as u32);
                blocks.prefetch_score(*block);
            }
            self.next ^= 1;
            if let Some(block) = fewest {
                return block;
            }
        }
    }

    #[inline]
    fn likely_victim(&self, blocks: &Blocks) -> Option<BlockId> {
        Self::fewest(&self.drawn[self.next], blocks)
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}
