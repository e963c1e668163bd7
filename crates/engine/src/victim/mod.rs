//! Which block to clean next.
//!
//! To add a policy: write `victim/<name>.rs` with a configuration that implements [`Victim`] and a policy
//! that implements [`VictimPolicy`], and add its line to the table at the end of this file.

mod blocks;
mod completing;
mod cost_age_time;
mod cost_benefit;
mod d_choices;
mod fifo;
mod foresight;
mod greedy;
mod learnt_choices;
mod random;
mod random_not_full;
mod random_plus_plus;
mod search;
mod stream_queues;
#[cfg(test)]
mod tests;
mod windowed_greedy;

pub use blocks::{Blocks, Needs};
pub(crate) use search::draw_block;

use crate::config::{ConfigError, Entry, StoreSize, named_config};
use crate::counters::Cause;
use crate::foresight::Foresight;
use crate::units::{BlockId, Lpn};

/// Decides which closed block is cleaned next; the engine does the moving.
///
/// The engine reports every block that closes and every page that dies. A block that `select` returned is
/// no candidate until it is closed again.
pub trait VictimPolicy: Send {
    /// What the policy wants the block table to keep.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// `block` is full and a candidate from now on.
    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        let _ = (block, blocks);
    }

    /// A page of `block` died and left it with `score` (see [`Blocks::score`]); called for open blocks, too.
    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        let _ = (block, score, blocks);
    }

    /// `pages` were programmed in `block`, from its page `first` on, before host write [`Blocks::now`] was done; called only where
    /// the policy [`Needs`] to know.
    fn programmed(&mut self, block: BlockId, first: u32, pages: &[Lpn], cause: Cause, blocks: &Blocks) {
        let _ = (block, first, pages, cause, blocks);
    }

    /// The engine took `block` for a reason of its own, such as a failure of it: it is no candidate until it is closed again.
    fn taken(&mut self, block: BlockId) {
        let _ = block;
    }

    /// The victim, a candidate; only called while there is one.
    fn select(&mut self, blocks: &Blocks) -> BlockId;

    /// The victim, by a policy that also looks at what lies below; all others only see their own blocks.
    #[inline(always)]
    fn select_above(&mut self, blocks: &Blocks, below: &dyn Below) -> BlockId {
        let _ = below;
        self.select(blocks)
    }

    /// The block that the coming `select` will probably name, so that the engine can bring its tables into the cache.
    ///
    /// A hint that must not change what any `select` names; most policies know it in passing.
    fn upcoming(&self, blocks: &Blocks) -> Option<BlockId> {
        let _ = blocks;
        None
    }

    /// A number drawn from the policy's generator; ends its use.
    fn final_draw(&mut self) -> u64 {
        0
    }

    /// Bytes of memory the policy keeps.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// What a policy may ask about the layer below.
pub trait Below {
    /// If `block` were erased now: share of valid pages in the blocks below that hold its pages, 0 to 1.
    fn left_valid(&self, block: BlockId) -> f64;
}

impl VictimPolicy for Box<dyn VictimPolicy> {
    fn needs(&self) -> Needs {
        (**self).needs()
    }
    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        (**self).closed(block, blocks);
    }
    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        (**self).invalidated(block, score, blocks);
    }
    fn programmed(&mut self, block: BlockId, first: u32, pages: &[Lpn], cause: Cause, blocks: &Blocks) {
        (**self).programmed(block, first, pages, cause, blocks);
    }
    fn taken(&mut self, block: BlockId) {
        (**self).taken(block);
    }
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        (**self).select(blocks)
    }
    fn select_above(&mut self, blocks: &Blocks, below: &dyn Below) -> BlockId {
        (**self).select_above(blocks, below)
    }
    fn upcoming(&self, blocks: &Blocks) -> Option<BlockId> {
        (**self).upcoming(blocks)
    }
    fn final_draw(&mut self) -> u64 {
        (**self).final_draw()
    }
    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}

/// The configuration of a victim policy.
pub trait Victim {
    /// Name, help and source.
    const ENTRY: Entry;
    /// What it builds.
    type Policy: VictimPolicy + 'static;
    /// The policy for a store of the given size, or the setting that does not fit.
    fn build(&self, size: &StoreSize) -> Result<Self::Policy, ConfigError>;
    /// The same where it is known what will be written.
    fn build_foreseeing(&self, size: &StoreSize, foresight: &Foresight) -> Result<Self::Policy, ConfigError> {
        let _ = foresight;
        self.build(size)
    }
    /// Host writes that it has to see ahead, in a store of that size; `None` for all that do without.
    fn reach(&self, size: &StoreSize) -> Option<u64> {
        let _ = size;
        None
    }
}

/// Takes a policy of whatever type, so that hot combinations can be compiled for theirs.
pub trait VictimVisitor {
    /// What the visit gives.
    type Output;
    /// Takes the policy.
    fn visit<V: VictimPolicy + 'static>(self, policy: V) -> Self::Output;
}

macro_rules! victim_table {
    ($($(#[serde(alias = $alias:literal)])? $Variant:ident: $Settings:ty, $dispatch:ident;)*) => {
        named_config! {
            /// Which victim policy a layer uses, with its settings: a name, or a table with the name as
            /// `policy`.
            enum VictimConfig, list VICTIMS, aliases VICTIM_ALIASES,
            of Victim, called "victim policy", tag "policy";
            $($(#[serde(alias = $alias)])? $Variant: $Settings;)*
        }

        impl VictimConfig {
            /// Builds the policy and hands it to `visitor`: as its own type where the table says
            /// `specialised`, else boxed. Both ways give equal results.
            pub fn visit<X: VictimVisitor>(&self, size: &StoreSize, visitor: X) -> Result<X::Output, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(dispatch!($dispatch, visitor, config.build(size)?)),)* }
            }

            /// Builds the policy behind a pointer.
            pub fn build_boxed(&self, size: &StoreSize) -> Result<Box<dyn VictimPolicy>, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(Box::new(config.build(size)?)),)* }
            }

            /// Builds the policy behind a pointer where it is known what will be written.
            pub fn build_foreseeing(
                &self,
                size: &StoreSize,
                foresight: &Foresight,
            ) -> Result<Box<dyn VictimPolicy>, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(Box::new(config.build_foreseeing(size, foresight)?)),)* }
            }

            /// Host writes that it has to see ahead, in a store of that size; `None` for all that do without.
            pub fn reach(&self, size: &StoreSize) -> Option<u64> {
                match self { $(Self::$Variant(config) => config.reach(size),)* }
            }

            /// Whether it must know what will be written.
            pub fn foresees(&self) -> bool {
                self.reach(&StoreSize::LEAST).is_some()
            }
        }
    };
}

macro_rules! dispatch {
    (specialised, $visitor:expr, $policy:expr) => {
        $visitor.visit($policy)
    };
    (boxed, $visitor:expr, $policy:expr) => {
        $visitor.visit(Box::new($policy) as Box<dyn VictimPolicy>)
    };
}

victim_table! {
    Greedy: greedy::Config, specialised;
    DChoices: d_choices::Config, specialised;
    Fifo: fifo::Config, specialised;
    Random: random::Config, boxed;
    #[serde(alias = "random++")] RandomPlusPlus: random_plus_plus::Config, boxed;
    RandomNotFull: random_not_full::Config, boxed;
    #[serde(alias = "windowed")] WindowedGreedy: windowed_greedy::Config, boxed;
    CostBenefit: cost_benefit::Config, boxed;
    CostAgeTime: cost_age_time::Config, boxed;
    Completing: completing::Config, boxed;
    LearntChoices: learnt_choices::Config, boxed;
    StreamQueues: stream_queues::Config, boxed;
    Foresight: foresight::Config, boxed;
}

impl VictimConfig {
    /// Whether what the layer below would keep weighs in the choice.
    pub fn looks_below(&self) -> bool {
        matches!(self, VictimConfig::Completing(config) if config.weight > 0.0)
    }
}

impl Default for VictimConfig {
    /// Greedy, which most drives approximate.
    fn default() -> Self {
        VictimConfig::Greedy(greedy::Config::default())
    }
}
