//! What a layer is, where it is not the one log-structured store.

mod direct;
mod ftls;
mod hybrids;
mod lsm;
mod own_flash;
mod zones;

use super::scenario::LogConfig;
use super::size::ByteSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use wearwell_base::config::{ConfigError, Entry, named_config};
use wearwell_engine::layer::Payload;
use wearwell_engine::log::BoxedLayer;

pub(super) use own_flash::{Cutting, Plain, build as build_on_flash};
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
    #[serde(alias = "page")] Log: Log;
    Lsm: lsm::Lsm;
    Silt: lsm::Silt;
    PassThrough: direct::PassThroughConfig;
    Sparse: direct::SparseConfig;
    Objects: direct::ObjectsConfig;
    Zones: zones::ZonesSettings;
    Dftl: ftls::Dftl;
    Lazyftl: ftls::LazyFtl;
    #[serde(alias = "mu-ftl")] MuFtl: ftls::MuFtl;
    #[serde(alias = "ib-ftl")] IbFtl: ftls::IbFtl;
    #[serde(alias = "geckoftl")] Gecko: ftls::GeckoFtl;
    Fast: hybrids::Fast;
    Bast: hybrids::Bast;
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
    pub fn other_structure(&self) -> Option<&StructureConfig> {
        self.structure.as_ref().filter(|structure| !matches!(structure, StructureConfig::Log(_)))
    }

    /// The structure, if it is an FTL that stands on flash itself, other than the log and the zoned drive.
    pub fn own_flash(&self) -> Option<&StructureConfig> {
        self.structure.as_ref().filter(|structure| structure.has_own_flash())
    }

    /// Whether this is a zoned drive.
    pub(super) fn zones(&self) -> Option<&zones::ZonesSettings> {
        match &self.structure {
            Some(StructureConfig::Zones(zones)) => Some(zones),
            _ => None,
        }
    }
}

/// Reads the FTL in either form: a table, or the name of its structure alone.
pub(super) fn ftl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LogConfig, D::Error> {
    struct Form;

    impl<'de> Visitor<'de> for Form {
        type Value = LogConfig;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "the name of an FTL's structure, or a table with the name as `structure` and other keys",
            )
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<LogConfig, E> {
            let structure = StructureConfig::deserialize(name.into_deserializer())?;
            Ok(LogConfig { structure: Some(structure), ..LogConfig::default() })
        }

        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<LogConfig, A::Error> {
            LogConfig::deserialize(MapAccessDeserializer::new(table))
        }
    }

    deserializer.deserialize_any(Form)
}

/// The schema of both forms.
pub(super) fn ftl_schema(generator: &mut SchemaGenerator) -> Schema {
    let names = STRUCTURES.iter().map(|entry| entry.name);
    let names = names.chain(STRUCTURE_ALIASES.iter().map(|&(alias, _)| alias)).filter(|name| is_ftl(name));
    json_schema!({
        "anyOf": [
            generator.subschema_for::<LogConfig>(),
            {
                "description": "the name of a structure alone: every setting at its default",
                "type": "string",
                "enum": names.collect::<Vec<_>>(),
            },
        ]
    })
}

/// Whether the structure of that name can be an FTL.
fn is_ftl(name: &str) -> bool {
    let structure = serde_json::from_value::<StructureConfig>(name.into()).expect("a name of the table");
    let own = matches!(structure, StructureConfig::Log(_) | StructureConfig::Zones(_));
    own || structure.has_own_flash()
}

/// The structures that an FTL can have.
pub fn ftl_entries() -> impl Iterator<Item = &'static Entry> {
    STRUCTURES.iter().filter(|entry| is_ftl(entry.name))
}

/// What the structure of `log` shows above when it stands on `ground`.
pub(super) fn size(log: &mut LogConfig, ground: &Ground) -> Result<Shown, ConfigError> {
    let structure = log.other_structure().cloned().expect("asked only of other structures");
    let name = structure.entry().name;
    let keeps: &[&str] = match structure {
        StructureConfig::Lsm(_) | StructureConfig::Silt(_) => &["spare_factor", "trim"],
        _ => &[],
    };
    refuse_keys(log, name, keeps)?;
    match structure {
        StructureConfig::Lsm(tree) => lsm::size(log, &tree.layout(ground)?, ground),
        StructureConfig::Silt(tree) => lsm::size(log, &tree.layout(ground)?, ground),
        StructureConfig::PassThrough(_) | StructureConfig::Objects(_) => {
            Ok(Shown { logical_pages: ground.pages, block: ground.block })
        }
        StructureConfig::Sparse(sparse) => sparse.size(ground),
        StructureConfig::Log(_) => unreachable!("filtered out above"),
        _ => Err(ConfigError::new(
            "structure",
            format!("is \"{name}\", which only the FTL can be; see docs/scenario.md"),
        )),
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
        StructureConfig::PassThrough(_) => {
            Ok(Box::new(wearwell_engine::log::PassThrough::new(lower, logical_pages)))
        }
        StructureConfig::Objects(objects) => objects.build(lower, ground),
        StructureConfig::Sparse(sparse) => sparse.build(lower, ground),
        _ => unreachable!("refused with its size"),
    }
}

/// Refuses keys that only mean something in a log-structured store, but for those that this structure has, too.
pub(super) fn refuse_keys(log: &LogConfig, name: &str, keeps: &[&str]) -> Result<(), ConfigError> {
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
        ("free_blocks_idle", log.free_blocks_idle.is_some()),
        ("segment_size", log.segment_size.is_some()),
        ("segment_blocks", log.segment_blocks.is_some()),
        ("first_hint", log.first_hint.is_some()),
        ("metadata", log.metadata.is_some()),
        ("spare_factor", log.spare_factor.is_some()),
        ("trim", log.trim.is_some()),
    ];
    match given.iter().find(|(key, given)| *given && !keeps.contains(key)) {
        Some((key, _)) => {
            Err(ConfigError::new(*key, format!("means nothing with structure = \"{name}\"; leave it out")))
        }
        None => Ok(()),
    }
}
