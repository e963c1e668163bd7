//! Placements: policies that select the append stream of a page.
//!
//! To add a placement: write `placement/<name>.rs` with a configuration that implements [`PlacementKind`] and a
//! type that implements [`Placement`], and add its line to the table at the end of this file.

mod age_chain;
mod age_classes;
mod bloom;
mod chunk_frequency;
mod classes;
mod clock;
mod death_windows;
mod extents;
mod fading_average;
mod frontiers;
mod future_knowledge;
mod host_hint;
mod interval_clusters;
mod learnt_lifetimes;
mod multi_log;
mod multi_queue;
mod oracle;
mod period;
mod predicted_windows;
mod promotion;
mod references;
mod runs;
#[cfg(test)]
mod tests;
mod windows;
mod write_count;

pub use frontiers::Frontiers;

use crate::config::{ConfigError, Entry, StoreSize, named_config};
use crate::counters::Cause;
use crate::foresight::{Foresight, unknown_future_error};
use crate::temperature::Temperature;
use crate::units::{Lpn, StreamId};

/// Properties of a page that is about to be appended.
#[derive(Clone, Copy, Debug)]
pub struct PageContext {
    /// The page.
    pub page: Lpn,
    /// Cause of the write: the host, or a move by cleaning.
    pub cause: Cause,
    /// Host pages written to the layer before this one.
    pub now: u64,
    /// Stream of the block that the page is moved from; `None` for a host write.
    pub from: Option<StreamId>,
    /// The host's stream hint; 0 without a hint.
    pub hint: u16,
    /// Number of logical pages of a deduplicating layer that share the page; 1 for all other layers and for host
    /// writes.
    pub references: u32,
}

/// Maps pages to append streams. The placement decides; the engine appends.
///
/// Equal sequences of calls give equal streams; a placement with random decisions derives its seed from the seed of the
/// store.
pub trait Placement: Send {
    /// Returns the number of streams; stream identifiers are below this number.
    fn streams(&self) -> u8;

    /// Returns the stream of every host write, if it is constant.
    ///
    /// The answer is constant for the lifetime of the store; `Some` lets the engine append in long runs.
    fn host_stream(&self) -> Option<StreamId> {
        None
    }

    /// Returns the stream of every cleaned page, if it is constant.
    fn cleaning_stream(&self) -> Option<StreamId> {
        None
    }

    /// Returns the stream of one page. Called once for every appended page, unless the stream is constant.
    fn place(&mut self, context: &PageContext) -> StreamId;

    /// Notifies the placement of a victim: the block belonged to `stream`, was opened at host write `opened_at` and
    /// holds `valid_pages` valid pages.
    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        let _ = (stream, opened_at, now, valid_pages);
    }

    /// True if the placement uses [`Placement::reclaimed`] and [`PageContext::from`]; otherwise the engine stores
    /// neither the stream nor the opening time of a block.
    fn needs_block_history(&self) -> bool {
        false
    }

    /// True if the placement uses [`PageContext::references`].
    fn needs_references(&self) -> bool {
        false
    }

    /// Returns the target number of blocks of each of the first streams; the other streams share the remaining
    /// blocks. Empty without targets. Used by victim policies that follow such targets.
    fn target_blocks(&self) -> &[u32] {
        &[]
    }

    /// Notifies the placement of a trimmed page.
    fn trimmed(&mut self, page: Lpn) {
        let _ = page;
    }

    /// Returns the bytes of memory that a device would need for the placement's own tables.
    fn memory_bytes(&self) -> usize {
        0
    }
}

impl Placement for Box<dyn Placement> {
    fn streams(&self) -> u8 {
        (**self).streams()
    }
    fn host_stream(&self) -> Option<StreamId> {
        (**self).host_stream()
    }
    fn cleaning_stream(&self) -> Option<StreamId> {
        (**self).cleaning_stream()
    }
    fn place(&mut self, context: &PageContext) -> StreamId {
        (**self).place(context)
    }
    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        (**self).reclaimed(stream, opened_at, now, valid_pages);
    }
    fn needs_block_history(&self) -> bool {
        (**self).needs_block_history()
    }
    fn needs_references(&self) -> bool {
        (**self).needs_references()
    }
    fn target_blocks(&self) -> &[u32] {
        (**self).target_blocks()
    }
    fn trimmed(&mut self, page: Lpn) {
        (**self).trimmed(page);
    }
    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}

/// Inputs for building a placement.
pub struct PlacementContext<'a> {
    /// Sizes of the store.
    pub size: &'a StoreSize,
    /// Temperature of the workload's pages; `None` if all pages have the same temperature or temperatures change with
    /// time.
    pub temperature: Option<Box<dyn Temperature>>,
    /// Future writes of the workload; `None` if unknown.
    pub foresight: Option<Foresight>,
}

impl PlacementContext<'_> {
    /// Returns the future writes for the placement `name`, which looks `look_ahead_pages` host writes ahead.
    ///
    /// # Errors
    /// Fails if the future writes are unknown.
    fn foresight(&self, name: &str, look_ahead_pages: u64) -> Result<Foresight, ConfigError> {
        let foresight = self.foresight.as_ref().map(|foresight| foresight.with_horizon(look_ahead_pages));
        foresight.ok_or_else(|| unknown_future_error("kind", name))
    }
}

/// The configuration of a placement.
pub trait PlacementKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Type of the placement.
    type Placement: Placement + 'static;
    /// Returns the look-ahead in host writes for a store of this size; `None` for placements without look-ahead.
    fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
        let _ = size;
        None
    }
    /// Builds the placement for a store; an error names the invalid setting.
    fn build(&self, context: PlacementContext<'_>) -> Result<Self::Placement, ConfigError>;
}

macro_rules! placement_table {
    ($($(#[serde(alias = $alias:literal)])? $Variant:ident: $Settings:ty;)*) => {
        named_config! {
            /// Placement of a layer, with its settings: a name, or a table with the name as `kind`.
            enum PlacementConfig, list PLACEMENTS, aliases PLACEMENT_ALIASES,
            of PlacementKind, called "placement", tag "kind";
            $($(#[serde(alias = $alias)])? $Variant: $Settings;)*
        }

        impl PlacementConfig {
            /// Builds the placement as a trait object.
            pub fn build_boxed(&self, context: PlacementContext<'_>) -> Result<Box<dyn Placement>, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(Box::new(config.build(context)?)),)* }
            }

            /// Returns the look-ahead in host writes for a store of that size; `None` for placements without one. A
            /// placement with look-ahead has more streams than a device could afford; its streams share the erased
            /// blocks in reserve.
            pub fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
                match self { $(Self::$Variant(config) => config.look_ahead_pages(size),)* }
            }

            /// True if the placement must know future writes.
            pub fn needs_foresight(&self) -> bool {
                self.look_ahead_pages(&StoreSize::MIN).is_some()
            }
        }
    };
}

placement_table! {
    Single: frontiers::Single;
    Double: frontiers::Double;
    Oracle: oracle::Config;
    WriteCount: write_count::Config;
    Bloom: bloom::Config;
    #[serde(alias = "fdp")] HostHint: host_hint::Config;
    #[serde(alias = "sepbit")] AgeClasses: age_classes::Config;
    References: references::Config;
    #[serde(alias = "dac")] Promotion: promotion::Config;
    #[serde(alias = "fadac")] FadingAverage: fading_average::Config;
    #[serde(alias = "warcip")] IntervalClusters: interval_clusters::Config;
    #[serde(alias = "sfr")] ChunkFrequency: chunk_frequency::Config;
    #[serde(alias = "mq")] MultiQueue: multi_queue::Config;
    #[serde(alias = "eti")] Extents: extents::Config;
    #[serde(alias = "ml")] MultiLog: multi_log::Config;
    #[serde(alias = "midas")] AgeChain: age_chain::Config;
    LearntLifetimes: learnt_lifetimes::Config;
    #[serde(alias = "fk")] FutureKnowledge: future_knowledge::Config;
    DeathWindows: death_windows::Config;
    PredictedWindows: predicted_windows::Config;
}

impl Default for PlacementConfig {
    /// Returns the double frontier, which separates data without any knowledge of the data.
    fn default() -> Self {
        PlacementConfig::Double(frontiers::Double::default())
    }
}

impl PlacementConfig {
    /// Returns the number of references up to which a page is not cold; only for the placement by references.
    pub fn reference_threshold(&self) -> Option<u32> {
        match self {
            Self::References(config) => Some(config.threshold),
            _ => None,
        }
    }

    /// Returns the frontier placements as their own type, for stores compiled for them. `None` for all other
    /// placements, which are called for every page, so that dynamic dispatch costs little in comparison.
    pub fn frontiers(&self) -> Option<Frontiers> {
        match self {
            Self::Single(_) => Some(Frontiers::single()),
            Self::Double(_) => Some(Frontiers::double()),
            _ => None,
        }
    }
}
