//! What a layer is, where it is not the one log-structured store.

mod direct;
mod lsm;
mod zones;

use super::scenario::LogConfig;
use super::size::ByteSize;
use crate::config::{ConfigError, Entry, named_config};
use crate::layer::Payload;
use crate::log::BoxedLayer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use zones::{build as build_zones, refuse_user};

/// The configuration of a structure.
pub trait StructureKind {
    /// Name, help and source.
    const ENTRY: Entry;
}

named_config! {
    /// What a layer is, with its settings: a name, or a table with the name as `kind`.
    enum StructureConfig, list STRUCTURES, aliases STRUCTURE_ALIASES,
    of StructureKind, called "structure", tag "kind";
    Log: Log;
    Lsm: lsm::Lsm;
    Silt: lsm::Silt;
    PassThrough: direct::PassThroughConfig;
    Sparse: direct::SparseConfig;
    Objects: direct::ObjectsConfig;
    Zones: zones::ZonesSettings;
}

/// The log-structured store, which the other keys of its layer describe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {}

impl StructureKind for Log {
    const ENTRY: Entry = Entry {
        name: "log",
        help: "appends, maps pages, cleans segments by a victim policy",
        source: "Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
    };
}

/// What a structure is built on.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    /// Pages of the layer below that it has.
    pub pages: u32,
    /// Pages of a block (segment) of that layer.
    pub block: u32,
    pub page_bytes: u32,
}

impl Ground {
    /// A size in whole pages, at least one.
    fn pages_of(&self, key: &str, size: ByteSize) -> Result<u32, ConfigError> {
        let page = u64::from(self.page_bytes);
        let pages =
            u32::try_from(size.0 / page).ok().filter(|pages| *pages > 0 && size.0.is_multiple_of(page));
        pages.ok_or_else(|| {
            let problem =
                format!("is {size}; it must be a multiple of the page of {page} bytes, below 2^32 pages");
            ConfigError::new(format!("structure.{key}"), problem)
        })
    }
}

/// What a structure shows above.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub logical_pages: u32,
    /// Pages of what a log above may match its segments to.
    pub block: u32,
}

impl LogConfig {
    /// The structure, if it is not the log-structured store.
    pub(super) fn other_structure(&self) -> Option<&StructureConfig> {
        self.structure.as_ref().filter(|structure| !matches!(structure, StructureConfig::Log(_)))
    }

    /// Whether this is a zoned drive.
    pub(super) fn zones(&self) -> Option<&zones::ZonesSettings> {
        match &self.structure {
            Some(StructureConfig::Zones(zones)) => Some(zones),
            _ => None,
        }
    }
}

/// What the structure of `log` shows above when it stands on `ground`.
pub(super) fn size(log: &mut LogConfig, ground: &Ground) -> Result<Shown, ConfigError> {
    let structure = log.other_structure().cloned().expect("asked only of other structures");
    let name = structure.entry().name;
    let is_tree = matches!(structure, StructureConfig::Lsm(_) | StructureConfig::Silt(_));
    refuse_keys(log, name, is_tree)?;
    match structure {
        StructureConfig::Lsm(tree) => lsm::size(log, &tree.layout(ground)?, ground),
        StructureConfig::Silt(tree) => lsm::size(log, &tree.layout(ground)?, ground),
        StructureConfig::PassThrough(_) | StructureConfig::Objects(_) => {
            Ok(Shown { logical_pages: ground.pages, block: ground.block })
        }
        StructureConfig::Sparse(sparse) => sparse.size(ground),
        StructureConfig::Zones(_) => Err(ConfigError::new(
            "structure",
            "is \"zones\", which only the FTL can be; see docs/scenario.md",
        )),
        StructureConfig::Log(_) => unreachable!("filtered out above"),
    }
}

/// Builds the structure of `log`, sized before, on `lower`.
pub(super) fn build<P: Payload>(
    log: &LogConfig,
    lower: BoxedLayer<P>,
    logical_pages: u32,
    ground: &Ground,
) -> Result<BoxedLayer<P>, ConfigError> {
    match log.other_structure().expect("asked only of other structures") {
        StructureConfig::Lsm(tree) => lsm::build(log, tree.layout(ground)?, lower, logical_pages),
        StructureConfig::Silt(tree) => lsm::build(log, tree.layout(ground)?, lower, logical_pages),
        StructureConfig::PassThrough(_) => Ok(Box::new(crate::log::PassThrough::new(lower, logical_pages))),
        StructureConfig::Objects(objects) => objects.build(lower, ground),
        StructureConfig::Sparse(sparse) => sparse.build(lower, ground),
        StructureConfig::Zones(_) | StructureConfig::Log(_) => unreachable!("refused with its size"),
    }
}

/// Refuses keys that only mean something in a log-structured store; a tree has a reserve and trims, too.
pub(super) fn refuse_keys(log: &LogConfig, name: &str, is_tree: bool) -> Result<(), ConfigError> {
    let plain = LogConfig::default();
    let given = [
        ("victim", log.victim != plain.victim),
        ("placement", log.placement != plain.placement),
        ("reclaim", log.reclaim != plain.reclaim),
        ("copy_order", log.copy_order != plain.copy_order),
        ("evict", log.evict),
        ("directory", log.directory != plain.directory),
        ("free_blocks_low", log.free_blocks_low.is_some()),
        ("free_blocks_high", log.free_blocks_high.is_some()),
        ("free_blocks_deferred", log.free_blocks_deferred.is_some()),
        ("segment_size", log.segment_size.is_some()),
        ("segment_blocks", log.segment_blocks.is_some()),
        ("first_hint", log.first_hint.is_some()),
        ("metadata", log.metadata.is_some()),
        ("spare_factor", log.spare_factor.is_some() && !is_tree),
        ("trim", log.trim.is_some() && !is_tree),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) => {
            Err(ConfigError::new(*key, format!("means nothing with structure = \"{name}\"; leave it out")))
        }
        None => Ok(()),
    }
}
