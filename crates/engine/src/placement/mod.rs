//! Which append stream a page goes to.
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
use crate::foresight::{Foresight, unforeseen};
use crate::temperature::Temperature;
use crate::units::{Lpn, StreamId};

/// What a placement is told about a page that is about to be appended.
#[derive(Clone, Copy, Debug)]
pub struct PageContext {
    /// The page.
    pub page: Lpn,
    /// Host write, or moved by cleaning.
    pub cause: Cause,
    /// Host pages written to the layer before this one.
    pub now: u64,
    /// The stream of the block it is moved from; `None` for a host write.
    pub from: Option<StreamId>,
    /// The host's stream hint; 0 where it gives none.
    pub hint: u16,
    /// How many logical pages of a deduplicating layer share the page; 1 for all others and for host writes.
    pub references: u32,
}

/// Maps pages to append streams. It decides; the engine appends.
///
/// The same calls give the same streams; a placement that draws at random takes its seed from the store's.
pub trait Placement: Send {
    /// Number of streams; stream ids are below it.
    fn streams(&self) -> u8;

    /// The stream that every host write goes to, if it is always the same one.
    ///
    /// A constant answer for the lifetime of the store; `Some` lets the engine append in long runs.
    fn host_stream(&self) -> Option<StreamId> {
        None
    }

    /// The stream that every cleaned page goes to, if it is always the same one.
    fn cleaning_stream(&self) -> Option<StreamId> {
        None
    }

    /// The stream for one page. Called once for every page appended, unless the stream is fixed.
    fn place(&mut self, context: &PageContext) -> StreamId;

    /// A victim was taken: the block belonged to `stream`, was opened at host write `opened_at` and holds
    /// `valid_pages` valid pages.
    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        let _ = (stream, opened_at, now, valid_pages);
    }

    /// Whether [`Placement::reclaimed`] and [`PageContext::from`] are of interest; if not, the engine
    /// keeps neither a block's stream nor its opening time.
    fn wants_block_history(&self) -> bool {
        false
    }

    /// Whether [`PageContext::references`] is of interest.
    fn wants_references(&self) -> bool {
        false
    }

    /// How many blocks each of the first streams shall have, in their order, the others sharing what is left; empty if any
    /// number will do. Of use to victim policies that go by it.
    fn wanted_blocks(&self) -> &[u32] {
        &[]
    }

    /// A page was trimmed.
    fn trimmed(&mut self, page: Lpn) {
        let _ = page;
    }

    /// Bytes of memory a device would need for the placement's own tables.
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
    fn wants_block_history(&self) -> bool {
        (**self).wants_block_history()
    }
    fn wants_references(&self) -> bool {
        (**self).wants_references()
    }
    fn wanted_blocks(&self) -> &[u32] {
        (**self).wanted_blocks()
    }
    fn trimmed(&mut self, page: Lpn) {
        (**self).trimmed(page);
    }
    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}

/// What a placement is built for.
pub struct PlacementContext<'a> {
    /// The sizes of the store.
    pub size: &'a StoreSize,
    /// What is known of the workload; `None` where all its pages are alike or change with time.
    pub temperature: Option<Box<dyn Temperature>>,
    /// What will be written; `None` where nobody can say.
    pub foresight: Option<Foresight>,
}

impl PlacementContext<'_> {
    /// What will be written, for the placement `name`, which sees `reach` host writes ahead.
    ///
    /// # Errors
    /// Nobody can say.
    fn foresight(&self, name: &str, reach: u64) -> Result<Foresight, ConfigError> {
        let foresight = self.foresight.as_ref().map(|foresight| foresight.within(reach));
        foresight.ok_or_else(|| unforeseen("kind", name))
    }
}

/// The configuration of a placement.
pub trait PlacementKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// What it builds.
    type Placement: Placement + 'static;
    /// Host writes that it has to see ahead, in a store of that size; `None` for all that do without.
    fn reach(&self, size: &StoreSize) -> Option<u64> {
        let _ = size;
        None
    }
    /// The placement for a store, or the setting that does not fit.
    fn build(&self, context: PlacementContext<'_>) -> Result<Self::Placement, ConfigError>;
}

macro_rules! placement_table {
    ($($(#[serde(alias = $alias:literal)])? $Variant:ident: $Settings:ty;)*) => {
        named_config! {
            /// Which placement a layer uses, with its settings: a name, or a table with the name as `kind`.
            enum PlacementConfig, list PLACEMENTS, aliases PLACEMENT_ALIASES,
            of PlacementKind, called "placement", tag "kind";
            $($(#[serde(alias = $alias)])? $Variant: $Settings;)*
        }

        impl PlacementConfig {
            /// Builds the placement behind a pointer.
            pub fn build_boxed(&self, context: PlacementContext<'_>) -> Result<Box<dyn Placement>, ConfigError> {
                match self { $(Self::$Variant(config) => Ok(Box::new(config.build(context)?)),)* }
            }

            /// Host writes that it has to see ahead, in a store of that size; `None` for all that do without. Such a placement has more
            /// streams than a device could afford, which share the blocks that wait erased.
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
    /// The double frontier, which separates data without knowing anything about it.
    fn default() -> Self {
        PlacementConfig::Double(frontiers::Double::default())
    }
}

impl PlacementConfig {
    /// References that a page may have without being cold; only of the placement by references.
    pub fn reference_threshold(&self) -> Option<u32> {
        match self {
            Self::References(config) => Some(config.threshold),
            _ => None,
        }
    }

    /// The blind placements as their own type, for stores compiled for them; `None` for all others, which are
    /// asked page by page and lose little by being boxed.
    pub fn frontiers(&self) -> Option<Frontiers> {
        match self {
            Self::Single(_) => Some(Frontiers::single()),
            Self::Double(_) => Some(Frontiers::double()),
            _ => None,
        }
    }
}
