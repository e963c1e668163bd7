//! Victim policy with the best ratio of benefit to cost, where space that stays free for longer is worth more.

use super::search::CostSearch;
use super::{Blocks, Needs, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the cost-benefit policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// True if cleaning reads the whole victim, as LFS does, at a cost of `1 + u`; false if it reads only the moved
    /// pages, at a cost of `2u`.
    #[serde(default = "yes")]
    pub read_whole_block: bool,
    /// Candidates drawn, with replacement, for each victim, 1 or more. Default: all candidates are examined, in time
    /// proportional to the number of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub sample: Option<u32>,
}

fn yes() -> bool {
    true
}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "cost_benefit",
        help: "largest (1 - u) * age / (1 + u), with u the share of valid pages",
        source: "Rosenblum and Ousterhout, ACM TOCS 10(1), 1992, sec. 3.5",
    };
    const PROPERTIES: Properties =
        Properties { draws_random: true, needs: Needs { age: true, ..Needs::NONE }, ..Properties::NONE };
    type Policy = CostBenefit;

    fn build(&self, size: &StoreSize) -> Result<CostBenefit, ConfigError> {
        Ok(CostBenefit {
            read_whole_block: self.read_whole_block,
            search: CostSearch::new(self.sample, size)?,
        })
    }
}

/// Maximises `(1 - u) * age / (1 + u)`.
///
/// `u` is [`Blocks::valid_pages`] over [`Blocks::pages_per_block`], `age` is [`Blocks::age`] in host pages written. The
/// age counts from the closing of the block; LFS uses the age of the segment's youngest data, which it maintains across
/// cleaning. One is added to every age, so that blocks that were just closed are still compared by `u`. A block full of
/// valid pages is the last choice at any age.
pub struct CostBenefit {
    read_whole_block: bool,
    search: CostSearch,
}

impl VictimPolicy for CostBenefit {
    fn needs(&self) -> Needs {
        Config::PROPERTIES.needs
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let whole = f64::from(blocks.pages_per_block());
        let read_whole_block = self.read_whole_block;
        self.search.cheapest(blocks, |block| {
            let valid = f64::from(blocks.valid_pages(block));
            let cost = if read_whole_block { whole + valid } else { 2.0 * valid };
            // The ratio of cost to benefit is infinite if no page is gained, because the benefit is then 0.
            cost / ((whole - valid) * (blocks.age(block) + 1) as f64)
        })
    }

    fn final_draw(&mut self) -> u64 {
        self.search.random.next_u64()
    }
}
