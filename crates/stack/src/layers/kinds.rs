//! What every kind of layer must say of itself, and the enumerations over all kinds.

use super::features::{Features, Used};
use super::flash::FlashParts;
use super::keys::Keys;
use super::model::FtlModel;
use super::payload::StackPayload;
use super::spec::{BuiltLayer, Drive, LayerContext, LayerSpec, LowerLayer};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt::Debug;
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::layer::Ability;
use wearwell_engine::log::BoxedLayer;
use wearwell_engine::placement::PlacementConfig;

/// What a layer can stand on.
pub trait Base {
    /// What is known of it before it is built.
    type Sizes<'a>;
    /// It, ready to be built on.
    type Parts<P: StackPayload>;
}

/// The base of an FTL.
#[derive(Debug)]
pub enum OnFlash {}

impl Base for OnFlash {
    type Sizes<'a> = Drive<'a>;
    type Parts<P: StackPayload> = FlashParts;
}

/// The base of every other layer.
#[derive(Debug)]
pub enum OnLayer {}

impl Base for OnLayer {
    type Sizes<'a> = LowerLayer;
    type Parts<P: StackPayload> = BoxedLayer<P>;
}

/// A kind of layer. The type holds the settings of its table `structure`.
pub trait Kind: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema {
    /// Name, help and source.
    const ENTRY: Entry;
    /// What it stands on.
    type On: Base;
    /// The keys that stand beside `structure`.
    type Keys: Keys;
    /// The settings with nothing left open.
    type Resolved: Clone + Debug;

    /// Blocks of a zone, for a drive that shows all its pages in zones.
    fn zone_blocks(&self) -> Option<u32> {
        None
    }

    /// Fills in every default for a layer on `below`. Errors name the key within the layer's table.
    fn resolve(
        &mut self,
        keys: &mut Self::Keys,
        below: &<Self::On as Base>::Sizes<'_>,
        context: &LayerContext<'_>,
    ) -> Result<LayerPlan<Self::Resolved>, ConfigError>;

    /// Builds the layer on `below`.
    fn build<P: StackPayload>(
        settings: Self::Resolved,
        spec: LayerSpec,
        below: <Self::On as Base>::Parts<P>,
    ) -> Result<BuiltLayer<P>, ConfigError>;
}

/// A layer with nothing left open.
#[derive(Clone, Debug)]
pub struct LayerPlan<S> {
    /// Pages that it shows above.
    pub logical_pages: u32,
    /// Pages that it has below, those left out that it cannot use.
    pub physical_pages: u64,
    /// Pages that it keeps for itself beside those that it shows: a log's map, say.
    pub own_pages: u32,
    /// Pages of its block (segment), to which a layer above may match its own.
    pub block_pages: u32,
    /// Blocks (segments) that it holds open below at a time.
    pub streams: u8,
    /// Stream hints that it keeps apart, from 0 on; 0 where it looks at none.
    pub handles: u8,
    /// A zoned drive: blocks that may be open at a time.
    pub most_open: Option<u32>,
    /// Whether it cleans, and tells the layer below when.
    pub cleans: bool,
    /// What its settings ask for.
    pub features: Features,
    /// What it needs of the layer below, and the key for whose sake.
    pub needs: Vec<(Ability, &'static str)>,
    /// Memory that simulating it takes besides the tables of a log, bytes.
    pub memory_bytes: u64,
    /// Host writes that its policies have to see ahead; `None` where they do without.
    pub reach: Option<u64>,
    /// What the theory knows of it.
    pub model: Option<FtlModel>,
    /// The settings of its kind.
    pub settings: S,
}

impl<S> LayerPlan<S> {
    /// A layer that passes `logical_pages` pages on, in blocks of the layer below.
    pub fn new(logical_pages: u32, physical_pages: u64, block_pages: u32, settings: S) -> Self {
        LayerPlan {
            logical_pages,
            physical_pages,
            own_pages: 0,
            block_pages,
            streams: 0,
            handles: 0,
            most_open: None,
            cleans: false,
            features: Features::default(),
            needs: Vec::new(),
            memory_bytes: 0,
            reach: None,
            model: None,
            settings,
        }
    }

    /// The same with other settings.
    pub fn map<T>(self, settings: impl FnOnce(S) -> T) -> LayerPlan<T> {
        LayerPlan {
            logical_pages: self.logical_pages,
            physical_pages: self.physical_pages,
            own_pages: self.own_pages,
            block_pages: self.block_pages,
            streams: self.streams,
            handles: self.handles,
            most_open: self.most_open,
            cleans: self.cleans,
            features: self.features,
            needs: self.needs,
            memory_bytes: self.memory_bytes,
            reach: self.reach,
            model: self.model,
            settings: settings(self.settings),
        }
    }

    /// The same, of a kind whose name is a feature, too.
    pub fn of_kind(mut self, name: &'static str) -> Self {
        self.features.add(Used::new(name, "structure"));
        self
    }
}

/// Stream hints that a placement keeps apart, from 0 on; 0 where it looks at none.
pub(super) fn handles(placement: &PlacementConfig) -> u8 {
    match placement {
        PlacementConfig::HostHint(config) => config.streams,
        _ => 0,
    }
}

/// A kind as a person writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindConfig<K: Kind> {
    /// Its table `structure`.
    pub settings: K,
    /// Its keys beside it.
    pub keys: K::Keys,
}

/// All kinds of layers on one base.
pub trait Kinds: Clone + Debug + Default + PartialEq {
    /// The entry of each, in order.
    fn entries() -> &'static [Entry];
    /// Second names, each with the name that it stands for.
    fn aliases() -> &'static [(&'static str, &'static str)];
    /// The keys beside `structure` of each, by its name.
    fn keys() -> Vec<(&'static str, Vec<String>)>;
    /// Reads the kind called `name`, which takes its own keys out of `table`; `None` if there is none.
    fn read(
        name: &str,
        structure: Map<String, Value>,
        table: &mut Map<String, Value>,
    ) -> Option<Result<Self, ConfigError>>;
    /// Writes it with what stands before its own keys and after them.
    fn write<S: Serializer>(
        &self,
        before: impl Serialize,
        after: impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error>;
    /// The schema of each kind's own keys, and of its settings.
    fn schemas(generator: &mut SchemaGenerator) -> Vec<(Schema, Schema)>;
    /// The entry of this one.
    fn entry(&self) -> &'static Entry;
    /// Blocks of a zone, for a drive that shows all its pages in zones.
    fn zone_blocks(&self) -> Option<u32>;
}

/// Writes the enumerations over all kinds of layers on one base. A line is a variant and the type of its settings.
macro_rules! kinds {
    (
        $(#[$attribute:meta])*
        enum $Kinds:ident, resolved $Resolved:ident, on $Base:ty, list $ENTRIES:ident, aliases $ALIASES:ident;
        $($(#[alias($alias:literal)])? $Variant:ident: $Settings:ty;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        // A scenario has a handful of them, and no table of any.
        #[allow(clippy::large_enum_variant)]
        pub enum $Kinds {
            $(
                #[allow(missing_docs)]
                $Variant(kinds::KindConfig<$Settings>),
            )*
        }

        #[doc = concat!("[`", stringify!($Kinds), "`] with nothing left open.")]
        #[derive(Clone, Debug)]
        // As above.
        #[allow(clippy::large_enum_variant)]
        pub enum $Resolved {
            $(
                #[allow(missing_docs)]
                $Variant(<$Settings as Kind>::Resolved),
            )*
        }

        #[doc = concat!("Every [`", stringify!($Kinds), "`].")]
        pub static $ENTRIES: &[Entry] = &[$(<$Settings as Kind>::ENTRY),*];

        #[doc = concat!("Second names of [`", stringify!($Kinds), "`]s, each with the name that it stands for.")]
        pub static $ALIASES: &[(&str, &str)] =
            &[$($(($alias, <$Settings as Kind>::ENTRY.name),)?)*];

        impl $Kinds {
            /// Fills in every default for a layer on `below`. Errors name the key within the layer's table.
            pub(crate) fn resolve(
                &mut self,
                below: &<$Base as Base>::Sizes<'_>,
                context: &spec::LayerContext<'_>,
            ) -> Result<kinds::LayerPlan<$Resolved>, wearwell_base::config::ConfigError> {
                let plan = match self {
                    $(Self::$Variant(kind) => {
                        kind.settings.resolve(&mut kind.keys, below, context)?.map($Resolved::$Variant)
                    })*
                };
                Ok(plan.of_kind(kinds::Kinds::entry(self).name))
            }
        }

        impl $Resolved {
            /// Builds the layer on `below`.
            pub(crate) fn build<P: payload::StackPayload>(
                self,
                spec: spec::LayerSpec,
                below: <$Base as Base>::Parts<P>,
            ) -> Result<spec::BuiltLayer<P>, wearwell_base::config::ConfigError> {
                match self { $(Self::$Variant(settings) => <$Settings>::build(settings, spec, below),)* }
            }
        }

        impl Default for $Kinds {
            /// The log-structured store.
            fn default() -> Self {
                $Kinds::Log(kinds::KindConfig::default())
            }
        }

        impl kinds::Kinds for $Kinds {
            fn entries() -> &'static [Entry] {
                $ENTRIES
            }

            fn aliases() -> &'static [(&'static str, &'static str)] {
                $ALIASES
            }

            fn keys() -> Vec<(&'static str, Vec<String>)> {
                vec![$((
                    <$Settings as Kind>::ENTRY.name,
                    keys::keys_of::<<$Settings as Kind>::Keys>(),
                )),*]
            }

            fn read(
                name: &str,
                structure: serde_json::Map<String, serde_json::Value>,
                table: &mut serde_json::Map<String, serde_json::Value>,
            ) -> Option<Result<Self, wearwell_base::config::ConfigError>> {
                let name = $ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
                $(if name == <$Settings as Kind>::ENTRY.name {
                    return Some(table::kind(structure, table).map($Kinds::$Variant));
                })*
                None
            }

            fn write<S: serde::Serializer>(
                &self,
                before: impl serde::Serialize,
                after: impl serde::Serialize,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                match self { $(Self::$Variant(kind) => table::write(before, kind, after, serializer),)* }
            }

            fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(schemars::Schema, schemars::Schema)> {
                vec![$((
                    <<$Settings as Kind>::Keys as schemars::JsonSchema>::json_schema(generator),
                    <$Settings as schemars::JsonSchema>::json_schema(generator),
                )),*]
            }

            fn entry(&self) -> &'static Entry {
                match self { $(Self::$Variant(_) => &<$Settings as Kind>::ENTRY,)* }
            }

            fn zone_blocks(&self) -> Option<u32> {
                match self { $(Self::$Variant(kind) => kind.settings.zone_blocks(),)* }
            }
        }
    };
}
pub(super) use kinds;
