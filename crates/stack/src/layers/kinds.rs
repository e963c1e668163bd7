//! Interface of every kind of layer, and the enumerations of all kinds.

use super::features::{Feature, Features, RequiredFeature};
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

/// Base of a layer: flash, or another layer.
pub trait Base {
    /// Properties of the base that are known before it is built.
    type Sizes<'a>;
    /// The base, ready to be built on.
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

/// Location of the map of logical pages of an FTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageMap {
    /// In RAM, page by page.
    #[default]
    InRam,
    /// In flash, with a cache in RAM.
    InFlash,
    /// In RAM, block by block; log blocks have maps of pages.
    OfBlocks,
    /// Nowhere: the layer above writes zones in order.
    Absent,
}

/// Properties of an FTL of one kind with its default settings. Tests of all FTLs rely on these properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlProperties {
    /// Location of the map.
    pub map: PageMap,
    /// True if the validity of pages is stored in flash.
    pub validity_in_flash: bool,
    /// True if the FTL relies on a battery in a power cut.
    pub has_battery: bool,
}

/// A kind of layer. The type holds the settings of its table `structure`.
pub trait Kind: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Base of the layer.
    type On: Base;
    /// Keys next to `structure`.
    type Keys: Keys;
    /// Settings with every default filled in.
    type Resolved: Clone + Debug;

    /// Returns the properties of an FTL with default settings.
    fn properties() -> FtlProperties {
        FtlProperties::default()
    }

    /// Returns the blocks of a zone, for a drive that shows all its pages in zones.
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

/// A layer with every default filled in.
#[derive(Clone, Debug)]
pub struct LayerPlan<S> {
    /// Pages that the layer shows above.
    pub logical_pages: u32,
    /// Pages of the layer below that this layer has, without those that it cannot use.
    pub physical_pages: u64,
    /// Pages that the layer keeps for itself in addition to those it shows, for example the map of a log.
    pub internal_pages: u32,
    /// Pages of a block (segment), to which a layer above may match its own segments.
    pub block_pages: u32,
    /// Blocks (segments) of the layer below that the layer holds open at a time.
    pub streams: u8,
    /// Number of stream hints that the layer distinguishes, from 0 on; 0 if it ignores hints.
    pub placement_handles: u8,
    /// Blocks that may be open at a time, for a zoned drive.
    pub max_open_blocks: Option<u32>,
    /// True if the layer cleans and reports cleaning to the layer below.
    pub reports_cleaning: bool,
    /// Features that the settings require.
    pub features: Features,
    /// Abilities that the layer below must have, each with the key that requires it.
    pub needs: Vec<(Ability, &'static str)>,
    /// Bytes of memory that the simulation of the layer takes in addition to the tables of a log.
    pub memory_bytes: u64,
    /// Future host writes that the policies need; `None` if they need none.
    pub horizon: Option<u64>,
    /// Theoretical model of the layer, if there is one.
    pub model: Option<FtlModel>,
    /// Warning about a victim policy that equals another policy on a layer of this kind.
    pub equal_victim: Option<&'static str>,
    /// Settings of the kind.
    pub settings: S,
}

impl<S> LayerPlan<S> {
    /// Returns the plan of a layer that forwards `logical_pages` pages, in blocks of the layer below.
    pub fn new(logical_pages: u32, physical_pages: u64, block_pages: u32, settings: S) -> Self {
        LayerPlan {
            logical_pages,
            physical_pages,
            internal_pages: 0,
            block_pages,
            streams: 0,
            placement_handles: 0,
            max_open_blocks: None,
            reports_cleaning: false,
            features: Features::default(),
            needs: Vec::new(),
            memory_bytes: 0,
            horizon: None,
            model: None,
            equal_victim: None,
            settings,
        }
    }

    /// Returns the plan with the given settings in place of the present ones.
    pub fn map<T>(self, settings: impl FnOnce(S) -> T) -> LayerPlan<T> {
        LayerPlan {
            logical_pages: self.logical_pages,
            physical_pages: self.physical_pages,
            internal_pages: self.internal_pages,
            block_pages: self.block_pages,
            streams: self.streams,
            placement_handles: self.placement_handles,
            max_open_blocks: self.max_open_blocks,
            reports_cleaning: self.reports_cleaning,
            features: self.features,
            needs: self.needs,
            memory_bytes: self.memory_bytes,
            horizon: self.horizon,
            model: self.model,
            equal_victim: self.equal_victim,
            settings: settings(self.settings),
        }
    }

    /// Adds the kind as a feature.
    pub fn of_kind(mut self, kind: &'static Entry) -> Self {
        self.features.add(RequiredFeature::new(Feature::Kind(kind), "structure"));
        self
    }
}

/// Returns the number of stream hints that a placement distinguishes, from 0 on; 0 if it ignores hints.
pub(super) fn placement_handles(placement: &PlacementConfig) -> u8 {
    match placement {
        PlacementConfig::HostHint(config) => config.streams,
        _ => 0,
    }
}

/// Configuration of the given kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindConfig<K: Kind> {
    /// Settings of the table `structure`.
    pub settings: K,
    /// Keys next to `structure`.
    pub keys: K::Keys,
}

/// All kinds of layers on one base.
pub trait Kinds: Clone + Debug + Default + PartialEq {
    /// Returns the entry of each kind, in order.
    fn entries() -> &'static [Entry];
    /// Returns the aliases, each with the name that it stands for.
    fn aliases() -> &'static [(&'static str, &'static str)];
    /// Returns the keys next to `structure` of each kind, by its name.
    fn keys() -> Vec<(&'static str, Vec<String>)>;
    /// Reads the kind called `name`, which takes its own keys out of `table`; `None` if there is no such kind.
    fn read(
        name: &str,
        structure: Map<String, Value>,
        table: &mut Map<String, Value>,
    ) -> Option<Result<Self, ConfigError>>;
    /// Writes the kind between the keys `before` and `after`.
    fn write<S: Serializer>(
        &self,
        before: impl Serialize,
        after: impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error>;
    /// Returns the schema of each kind's own keys, and of its settings.
    fn schemas(generator: &mut SchemaGenerator) -> Vec<(Schema, Schema)>;
    /// Returns the properties of each kind with default settings, in order.
    fn properties() -> Vec<FtlProperties>;
    /// Returns the entry of this kind.
    fn entry(&self) -> &'static Entry;
    /// Returns the blocks of a zone, for a drive that shows all its pages in zones.
    fn zone_blocks(&self) -> Option<u32>;
}

/// Defines the enumerations of all kinds of layers on one base. A line has a variant and the type of its settings.
macro_rules! kinds {
    (
        $(#[$attribute:meta])*
        enum $Kinds:ident, resolved $Resolved:ident, on $Base:ty, list $ENTRIES:ident, aliases $ALIASES:ident;
        $($(#[alias($alias:literal)])? $Variant:ident: $Settings:ty;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        // A scenario has only a few layers, so the sizes of the variants do not matter.
        #[allow(clippy::large_enum_variant)]
        pub enum $Kinds {
            $(
                #[allow(missing_docs)]
                $Variant(kinds::KindConfig<$Settings>),
            )*
        }

        #[doc = concat!("[`", stringify!($Kinds), "`] with nothing left open.")]
        #[derive(Clone, Debug)]
        // A scenario has only a few layers, so the sizes of the variants do not matter.
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
                Ok(plan.of_kind(kinds::Kinds::entry(self)))
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
            /// Returns the log-structured store.
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
                    return Some(table::read(structure, table).map($Kinds::$Variant));
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

            fn properties() -> Vec<kinds::FtlProperties> {
                vec![$(<$Settings as Kind>::properties()),*]
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
