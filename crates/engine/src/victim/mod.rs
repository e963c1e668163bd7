//! Victim policies, which select the next block to clean.
//!
//! To add a policy: write `victim/<name>.rs` with a configuration that implements [`VictimKind`] and a policy
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

/// Policy that selects the closed block to clean next; the engine moves the pages.
///
/// The engine reports every block that closes and every page that becomes invalid. A block that `select` returned is
/// not a candidate until it is closed again.
pub trait VictimPolicy: Send {
    /// Returns the optional data that the block table must store for the policy.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Notifies the policy that `block` is full and now a candidate.
    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        let _ = (block, blocks);
    }

    /// Notifies the policy that a page of `block` became invalid, leaving `score` (see [`Blocks::score`]); also
    /// called for open blocks.
    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        let _ = (block, score, blocks);
    }

    /// Notifies the policy that `pages` were programmed in `block` from its page `first`, before host write
    /// [`Blocks::now`] was done. Called only if [`Needs::programs`] is set.
    fn programmed(&mut self, block: BlockId, first: u32, pages: &[Lpn], cause: Cause, blocks: &Blocks) {
        let _ = (block, first, pages, cause, blocks);
    }

    /// Notifies the policy that the engine took `block` itself, for example after a failure: it is not a candidate
    /// until it is closed again.
    fn taken(&mut self, block: BlockId) {
        let _ = block;
    }

    /// Selects the victim among the candidates; called only if there is a candidate.
    fn select(&mut self, blocks: &Blocks) -> BlockId;

    /// Selects the victim with knowledge of the layer below; most policies only use their own blocks.
    #[inline(always)]
    fn select_above(&mut self, blocks: &Blocks, below: &dyn LowerLayerView) -> BlockId {
        let _ = below;
        self.select(blocks)
    }

    /// Returns the block that the next `select` will probably return, so that the engine can prefetch its tables.
    ///
    /// Must not change the result of any `select`; most policies know the block as a by-product.
    fn likely_victim(&self, blocks: &Blocks) -> Option<BlockId> {
        let _ = blocks;
        None
    }

    /// Returns a number drawn from the policy's generator, for comparisons after its last use.
    fn final_draw(&mut self) -> u64 {
        0
    }

    /// Returns the memory used by the policy, in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// Queries of a policy to the layer below.
pub trait LowerLayerView {
    /// Returns the fraction of pages, 0 to 1, that would stay valid in the blocks below that hold pages of `block` if
    /// `block` were erased now.
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
    fn select_above(&mut self, blocks: &Blocks, below: &dyn LowerLayerView) -> BlockId {
        (**self).select_above(blocks, below)
    }
    fn likely_victim(&self, blocks: &Blocks) -> Option<BlockId> {
        (**self).likely_victim(blocks)
    }
    fn final_draw(&mut self) -> u64 {
        (**self).final_draw()
    }
    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}

/// Properties of a policy with default settings. Tests of all policies in the table rely on these properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// True if the policy has a generator of random numbers, for any of its settings.
    pub draws_random: bool,
    /// True if the policy keeps lists of blocks, which occupy memory in proportion to the blocks.
    pub keeps_lists: bool,
    /// True if the choice depends on pages left valid in the layer below.
    pub looks_below: bool,
    /// Optional data of the block table that the policy uses.
    pub needs: Needs,
}

impl Properties {
    /// Properties of a policy that only uses the numbers of valid pages and has no state.
    pub const NONE: Properties =
        Properties { draws_random: false, keeps_lists: false, looks_below: false, needs: Needs::NONE };
}

/// The configuration of a victim policy.
pub trait VictimKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Properties with default settings.
    const PROPERTIES: Properties;
    /// Type of the policy.
    type Policy: VictimPolicy + 'static;
    /// Builds the policy for a store of the given size; an error names the invalid setting.
    fn build(&self, size: &StoreSize) -> Result<Self::Policy, ConfigError>;
    /// Builds the policy for a workload with known future writes.
    fn build_with_foresight(
        &self,
        size: &StoreSize,
        foresight: &Foresight,
    ) -> Result<Self::Policy, ConfigError> {
        let _ = foresight;
        self.build(size)
    }
    /// Returns the look-ahead in host writes for a store of this size; `None` for policies without look-ahead.
    fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
        let _ = size;
        None
    }
    /// True if the choice depends on pages left valid in the layer below, with these settings.
    fn looks_below(&self) -> bool {
        Self::PROPERTIES.looks_below
    }
}

/// Visitor for a policy of any type, so that frequent combinations can be monomorphised.
pub trait VictimVisitor {
    /// Result of the visit.
    type Output;
    /// Visits the policy.
    fn visit<V: VictimPolicy + 'static>(self, policy: V) -> Self::Output;
}

macro_rules! victim_table {
    ($($(#[serde(alias = $alias:literal)])? $Variant:ident: $Settings:ty, $dispatch:ident;)*) => {
        named_config! {
            /// Victim policy of a layer, with its settings: a name, or a table with the name as `policy`.
            enum VictimConfig, list VICTIMS, aliases VICTIM_ALIASES,
            of VictimKind, called "victim policy", tag "policy";
            $($(#[serde(alias = $alias)])? $Variant: $Settings;)*
        }

        impl VictimConfig {
            /// Builds the policy and passes it to `visitor`: as its own type if the table marks it as `specialised`,
            /// otherwise boxed. Both ways give equal results.
            pub fn visit<X: VictimVisitor>(&self, size: &StoreSize, visitor: X) -> Result<X::Output, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(dispatch!($dispatch, visitor, config.build(size)?)),)* }
            }

            /// Builds the policy as a trait object.
            pub fn build_boxed(&self, size: &StoreSize) -> Result<Box<dyn VictimPolicy>, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(Box::new(config.build(size)?)),)* }
            }

            /// Builds the policy as a trait object, for a workload with known future writes.
            pub fn build_with_foresight(
                &self,
                size: &StoreSize,
                foresight: &Foresight,
            ) -> Result<Box<dyn VictimPolicy>, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(Box::new(config.build_with_foresight(size, foresight)?)),)* }
            }

            /// Returns the look-ahead in host writes for a store of this size; `None` for policies without look-ahead.
            pub fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
                match self { $(Self::$Variant(config) => config.look_ahead_pages(size),)* }
            }

            /// Returns the properties that the policy has with default settings.
            pub fn properties(&self) -> Properties {
                match self { $(Self::$Variant(_) => <$Settings as VictimKind>::PROPERTIES,)* }
            }

            /// True if the choice depends on pages left valid in the layer below.
            pub fn looks_below(&self) -> bool {
                match self { $(Self::$Variant(config) => config.looks_below(),)* }
            }

            /// True if the policy must know future writes.
            pub fn needs_foresight(&self) -> bool {
                self.look_ahead_pages(&StoreSize::MIN).is_some()
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

impl Default for VictimConfig {
    /// Returns the greedy policy, which most drives approximate.
    fn default() -> Self {
        VictimConfig::Greedy(greedy::Config::default())
    }
}
