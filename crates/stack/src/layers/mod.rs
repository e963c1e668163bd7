//! Kinds of layers, one per file: FTLs, which are on flash, and layers on another layer.
//!
//! To add one: write `layers/<name>.rs` with its settings and its `kinds::Kind`, and add its `mod` here and its line to
//! one of the two tables in `tables.rs`. A kind has only the keys that it names; other conflicts are listed in
//! `conflicts`.

mod bast;
mod config;
mod conflicts;
mod dedup;
mod dftl;
mod fast;
mod features;
mod flash;
mod gecko;
mod hybrid;
mod ib_ftl;
mod keys;
mod kinds;
mod lazyftl;
mod log;
mod log_layouts;
mod lsm;
mod merge_tree;
mod metadata;
mod metadata_keys;
mod model;
mod mu_ftl;
mod objects;
mod page;
mod paged;
mod pass_through;
mod payload;
mod silt;
mod sparse;
mod spec;
mod store;
mod store_keys;
mod table;
mod tables;
mod trim;
mod watermark;
mod zones;

pub use config::{FtlConfig, FtlKeys, LayerConfig, LayerDescription, LayerKeys};
pub(crate) use conflicts::{BAST, FAST, ZONES, conflict_reason};
pub use conflicts::{FEATURE_CONFLICTS, FeatureConflict};
pub(crate) use dedup::features_of;
pub use features::{FEATURES, Feature, Features};
pub(crate) use flash::{FlashParts, PowerPlan};
pub use keys::from_value;
pub(crate) use kinds::LayerPlan;
pub use kinds::{FtlProperties, Kinds, PageMap};
pub use log::{LogKeys, SegmentKeys};
pub use log_layouts::{LOG_LAYOUTS, LogLayout};
pub use metadata::MetadataConfig;
pub(crate) use model::FtlModel;
pub(crate) use payload::StackPayload;
pub(crate) use spec::{BuiltLayer, CustomPolicies, Drive, LayerContext, LayerSpec, LowerLayer, WholeLayer};
pub use spec::{CustomPlacement, PlacementFactory};
pub use store_keys::{DirectoryKind, ReclaimKind, StoreKeys};
pub use tables::{
    FTL_ALIASES, FTLS, FtlKind, LAYER_ALIASES, LAYERS, LayerKind, ResolvedFtl, ResolvedLayer, ftls,
    structures,
};
pub use trim::{TrimConfig, TrimTable, TrimUnitKind};
