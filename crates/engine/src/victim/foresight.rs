//! The block whose dead pages would wait longest for each page that has to be moved, where it is known when pages die.

use super::search::CostSearch;
use super::{Blocks, Needs, Victim, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::counters::Cause;
use crate::foresight::{Foresight, look_ahead, pages_ahead, unforeseen};
use crate::units::{BlockId, Lpn};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Drive writes that are seen ahead, above 0; each takes 4 bytes of memory a logical page. What dies later counts as if it died
    /// then.
    pub look_ahead: f64,
    /// Candidates drawn, with replacement, for each victim, 1 or more; all are looked at where it is left out, which takes time in
    /// proportion to the blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub sample: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Config { look_ahead: 4.0, sample: None }
    }
}

impl Victim for Config {
    const ENTRY: Entry = Entry {
        name: "foresight",
        help: "largest (1 - u) * t^(2/3) / u, with t the time after which all pages of the block will be dead, which is known",
        source: "our own: cost-benefit (Rosenblum and Ousterhout, ACM TOCS 10(1), 1992) with the future in place of age",
    };
    type Policy = ForesightedVictim;

    fn build(&self, _size: &StoreSize) -> Result<ForesightedVictim, ConfigError> {
        Err(unforeseen("policy", Self::ENTRY.name))
    }

    fn build_foreseeing(
        &self,
        size: &StoreSize,
        foresight: &Foresight,
    ) -> Result<ForesightedVictim, ConfigError> {
        let reach = look_ahead(self.look_ahead, size)?;
        Ok(ForesightedVictim {
            foresight: foresight.within(reach),
            reach,
            last_deaths: vec![0; size.blocks as usize],
            cubes: (0..=size.pages_per_block).map(|valid| cube(valid, size.pages_per_block)).collect(),
            search: CostSearch::new(self.sample, size)?,
        })
    }

    fn reach(&self, size: &StoreSize) -> Option<u64> {
        Some(pages_ahead(self.look_ahead, size))
    }
}

/// The third power of valid pages over dead ones; infinite where nothing is gained.
fn cube(valid: u32, pages_per_block: u32) -> f64 {
    (f64::from(valid) / f64::from(pages_per_block - valid)).powi(3)
}

/// Minimises `u / ((1 - u) t^(2/3))`, by its third power.
///
/// `t` is how many host writes it takes until the last page of the block is dead, as far as that is seen when the page is written: then
/// the block is had for nothing. Until then its dead pages wait, and `u` is what it costs to have them at once. With `t` itself blocks are
/// cleaned early that would have got cheaper meanwhile; of the powers 1/2, 2/3 and 1, tried with uniform, hot and cold and Zipf's
/// writes, 2/3 was the best or next to it everywhere. A block without valid pages costs nothing; one that is full of them is the last
/// choice.
pub struct ForesightedVictim {
    foresight: Foresight,
    reach: u64,
    /// By block: the write with which the last of its pages dies.
    last_deaths: Vec<u64>,
    /// By valid pages: [`cube`].
    cubes: Vec<f64>,
    search: CostSearch,
}

impl VictimPolicy for ForesightedVictim {
    fn needs(&self) -> Needs {
        Needs { programs: true, ..Needs::default() }
    }

    fn programmed(&mut self, block: BlockId, first: u32, pages: &[Lpn], cause: Cause, blocks: &Blocks) {
        let last_death = &mut self.last_deaths[block.index()];
        if first == 0 {
            *last_death = 0;
        }
        for (write, &page) in (blocks.now()..).zip(pages) {
            let death = match cause {
                Cause::Host => self.foresight.write(page, write),
                _ => self.foresight.death(page, blocks.now()),
            };
            *last_death = death.unwrap_or(u64::MAX).max(*last_death);
        }
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let now = blocks.now();
        let (last_deaths, cubes, reach) = (&self.last_deaths, &self.cubes, self.reach);
        self.search.cheapest(blocks, |block| {
            let wait = last_deaths[block.index()].saturating_sub(now).clamp(1, reach) as f64;
            cubes[blocks.valid_pages(block) as usize] / (wait * wait)
        })
    }

    fn final_draw(&mut self) -> u64 {
        self.search.random.next_u64()
    }
}
