//! Victim policy that prefers cheap, old and little worn blocks.

use super::search::CostSearch;
use super::{Blocks, Needs, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the cost-age-times policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Candidates drawn, with replacement, for each victim, 1 or more. Default: all candidates are examined, in time
    /// proportional to the number of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub sample: Option<u32>,
}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "cost_age_time",
        help: "smallest u / (1 - u) * erases / age, with u the share of valid pages (CAT)",
        source: "Chiang and Chang, Journal of Systems and Software 48(3), 1999",
    };
    const PROPERTIES: Properties = Properties {
        draws_random: true,
        needs: Needs { age: true, erases: true, ..Needs::NONE },
        ..Properties::NONE
    };
    type Policy = CostAgeTime;

    fn build(&self, size: &StoreSize) -> Result<CostAgeTime, ConfigError> {
        Ok(CostAgeTime { search: CostSearch::new(self.sample, size)? })
    }
}

/// Minimises `u / (1 - u) * erases / age`.
///
/// `u` is [`Blocks::valid_pages`] over [`Blocks::pages_per_block`]. `age` is [`Blocks::age`] in host pages written
/// since the block was closed, plus one. `erases` is [`Blocks::erases`] plus one, because the erase of this cleaning
/// counts, too. Without adding one, blocks that were never erased or have age 0 would all be equal. A block without
/// valid pages costs nothing and is taken at any age and wear. A block full of valid pages (`u = 1`) has
/// infinite cost and is the last choice.
pub struct CostAgeTime {
    search: CostSearch,
}

impl VictimPolicy for CostAgeTime {
    fn needs(&self) -> Needs {
        Config::PROPERTIES.needs
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let whole = f64::from(blocks.pages_per_block());
        self.search.cheapest(blocks, |block| {
            let valid = f64::from(blocks.valid_pages(block));
            let erases = f64::from(blocks.erases(block)) + 1.0;
            let age = (blocks.age(block) + 1) as f64;
            valid / (whole - valid) * erases / age
        })
    }

    fn final_draw(&mut self) -> u64 {
        self.search.random.next_u64()
    }
}
