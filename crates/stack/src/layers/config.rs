//! Configuration of a layer: a name, keys for the layer below, and the keys of its kind.

use super::conflicts;
use super::keys::{DEFAULT_KIND, Keys, keys_of};
use super::kinds::Kinds;
use super::store_keys::StoreKeys;
use super::tables::{FtlKind, LayerKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::DedupConfig;
use wearwell_engine::wear::WearConfig;

/// Keys that every FTL has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FtlKeys {
    /// Name of the layer in results; default `ftl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Deduplication, which stores pages with equal contents once: a name (see `wearwell list dedups`), or a table with `kind`
    /// and its settings. Needs `content`, or a trace with digests.
    #[serde(skip_serializing_if = "DedupConfig::is_none")]
    pub dedup: DedupConfig,
    /// Wear levelling: a name (see docs/wear-levelling.md), or a table with `kind` and its settings; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearConfig>,
}

impl FtlKeys {
    /// True if wear is levelled.
    pub fn levels_wear(&self) -> bool {
        self.wear.as_ref().is_some_and(|wear| !matches!(wear, WearConfig::None(_)))
    }
}

/// Keys of every layer that is on another layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LayerKeys {
    /// Name of the layer in results; default `log0`, `log1`, … from the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the layer below; default the next one in the list, for the last one the FTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Fraction of that layer's logical pages that it gets, as a partition; by default all pages, if the layer has no other
    /// user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// True to end the partition on a whole block (segment) of the layer below, if the partition is at least that large; default
    /// true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<bool>,
}

/// Keys that all layers on one base share, independent of their kind.
pub trait CommonKeys: Keys {
    /// Kinds of layers on this base.
    type Kinds: Kinds;
    /// Name in the schema, and description.
    const SCHEMA_NAME_AND_HELP: (&'static str, &'static str);
    /// True if a layer may be given by the name of its structure alone.
    const ALLOWS_SHORT_FORM: bool;

    /// Returns the error for `name`, a kind of another base.
    fn wrong_base_error(name: &str) -> String;
    /// Error for `key` if only layers on another base have the key.
    const FOREIGN_KEY_ERROR: &'static str;
    /// Returns the names of the kinds on the other base, and all their keys.
    fn other_base() -> (Vec<&'static str>, Vec<String>);
}

impl CommonKeys for FtlKeys {
    type Kinds = FtlKind;
    const SCHEMA_NAME_AND_HELP: (&'static str, &'static str) =
        ("FtlConfig", "The flash translation layer: one of several kinds, each with its keys.");
    const ALLOWS_SHORT_FORM: bool = true;

    fn wrong_base_error(name: &str) -> String {
        let kinds: Vec<_> = FtlKind::entries().iter().map(|entry| entry.name).collect();
        format!("is \"{name}\"; an FTL can be {}", kinds.join(", "))
    }

    const FOREIGN_KEY_ERROR: &'static str =
        "belongs to stacked logs; the FTL's blocks and spare space are those of `device`";

    fn other_base() -> (Vec<&'static str>, Vec<String>) {
        (names::<LayerKind>(), all_keys::<LayerKeys>())
    }
}

impl CommonKeys for LayerKeys {
    type Kinds = LayerKind;
    const SCHEMA_NAME_AND_HELP: (&'static str, &'static str) =
        ("LayerConfig", "A layer on another: one of several kinds, each with its keys.");
    const ALLOWS_SHORT_FORM: bool = false;

    fn wrong_base_error(name: &str) -> String {
        format!("is \"{name}\", which only the FTL can be; see docs/scenario.md")
    }

    const FOREIGN_KEY_ERROR: &'static str = "belongs to the FTL, where pages are stored at all; leave it out";

    fn other_base() -> (Vec<&'static str>, Vec<String>) {
        (names::<FtlKind>(), all_keys::<FtlKeys>())
    }
}

/// Configuration of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerDescription<C: CommonKeys> {
    /// Keys independent of the kind.
    pub common: C,
    /// Kind of the layer, with its own keys.
    pub kind: C::Kinds,
}

/// Configuration of the FTL.
pub type FtlConfig = LayerDescription<FtlKeys>;

/// Configuration of a layer on another layer.
pub type LayerConfig = LayerDescription<LayerKeys>;

/// Returns the names of all kinds, including aliases.
fn names<K: Kinds>() -> Vec<&'static str> {
    let kind_names = K::entries().iter().map(|entry| entry.name);
    kind_names.chain(K::aliases().iter().map(|(alias, _)| *alias)).collect()
}

/// Returns every key that some kind on this base has.
fn all_keys<C: CommonKeys>() -> Vec<String> {
    let kind_keys = C::Kinds::keys().into_iter().flat_map(|(_, keys)| keys);
    keys_of::<C>().into_iter().chain(kind_keys).collect()
}

/// Returns the sorted keys of a table with that structure.
fn keys_with<C: CommonKeys>(structure: &str) -> Vec<String> {
    let kind_keys =
        C::Kinds::keys().into_iter().filter(|(name, _)| *name == structure).flat_map(|(_, keys)| keys);
    let mut keys: Vec<String> =
        keys_of::<C>().into_iter().chain(kind_keys).chain(["structure".into()]).collect();
    keys.sort();
    keys
}

impl<C: CommonKeys> LayerDescription<C> {
    /// Reads the layer; an error names the key within the table.
    pub(crate) fn read(value: Value) -> Result<Self, ConfigError> {
        let mut table = match value {
            Value::Object(table) => table,
            Value::String(name) if C::ALLOWS_SHORT_FORM => {
                Map::from_iter([("structure".to_owned(), name.into())])
            }
            other => {
                let short_form = if C::ALLOWS_SHORT_FORM { "the name of a structure, or " } else { "" };
                let problem = format!(
                    "invalid type: {other}, expected {short_form}a table with `structure` and other keys"
                );
                return Err(ConfigError::new("", problem));
            }
        };
        let common = C::take(&mut table)?;
        let (name, structure) = structure(table.remove("structure"))?;
        let Some(kind) = C::Kinds::read(&name, structure, &mut table) else {
            return Err(unknown_structure::<C>(&name));
        };
        let kind = kind?;
        let foreign = table.into_iter().find(|(key, value)| !repeats_default(key, value));
        match foreign {
            Some((key, value)) => Err(foreign_key_error::<C>(&key, &value, kind.entry().name)),
            None => Ok(LayerDescription { common, kind }),
        }
    }
}

/// Returns the name of a structure, and the settings in its table.
fn structure(value: Option<Value>) -> Result<(String, Map<String, Value>), ConfigError> {
    let error = |problem: String| Err(ConfigError::new("structure", problem));
    match value {
        None | Some(Value::Null) => Ok((DEFAULT_KIND.into(), Map::new())),
        Some(Value::String(name)) => Ok((name, Map::new())),
        Some(Value::Object(mut table)) => match table.remove("kind") {
            Some(Value::String(name)) => Ok((name, table)),
            Some(other) => {
                error(format!("invalid type: {other}, expected the name of a structure as `kind`"))
            }
            None => error("missing field `kind`, the name of a structure".into()),
        },
        Some(other) => error(format!(
            "invalid type: {other}, expected the name of a structure, or a table with the name as `kind` and its settings"
        )),
    }
}

fn unknown_structure<C: CommonKeys>(name: &str) -> ConfigError {
    if C::other_base().0.contains(&name) {
        return ConfigError::new("structure", C::wrong_base_error(name));
    }
    let known: Vec<_> = names::<C::Kinds>().into_iter().map(|name| format!("`{name}`")).collect();
    ConfigError::new("structure", format!("unknown variant `{name}`, expected one of {}", known.join(", ")))
}

/// True if a key only repeats a default. Results of other versions, and programs that write out every setting, have the
/// store's keys in all layers.
fn repeats_default(key: &str, value: &Value) -> bool {
    fn is_default<T: Keys>(key: &str, value: &Value) -> bool {
        let mut table = Map::from_iter([(key.to_owned(), value.clone())]);
        T::take(&mut table).is_ok_and(|keys| keys == T::default()) && table.is_empty()
    }
    value.is_null() || is_default::<StoreKeys>(key, value) || is_default::<FtlKeys>(key, value)
}

/// Returns the reason why the part named by `value` cannot be combined with this structure, if the table of refusals
/// has one.
fn conflict_reason(value: &Value, structure: &str) -> Option<&'static str> {
    let part = ["kind", "policy"].iter().find_map(|key| value.get(key)).unwrap_or(value).as_str()?;
    conflicts::between_names(part, structure).map(|row| row.reason)
}

/// Returns the error for a `key` with this value that a table of this structure does not have, with a list of the
/// allowed keys.
fn foreign_key_error<C: CommonKeys>(key: &str, value: &Value, structure: &str) -> ConfigError {
    if let Some(reason) = conflict_reason(value, structure) {
        return ConfigError::new(key, reason);
    }
    let allowed = keys_with::<C>(structure).join(", ");
    let contains = |keys: Vec<String>| keys.iter().any(|other| other == key);
    let problem = if contains(all_keys::<C>()) {
        format!("means nothing with structure = \"{structure}\"; leave it out (its keys are {allowed})")
    } else if contains(C::other_base().1) {
        C::FOREIGN_KEY_ERROR.into()
    } else {
        format!("unknown field `{key}`; with structure = \"{structure}\" there are {allowed}")
    };
    ConfigError::new(key, problem)
}

impl<'de, C: CommonKeys> Deserialize<'de> for LayerDescription<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(|error| match error.key.as_str() {
            "" => de::Error::custom(error.problem),
            _ => de::Error::custom(error),
        })
    }
}

impl<C: CommonKeys> Serialize for LayerDescription<C> {
    /// Writes the name first, then the structure with its keys, then the other common keys.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(mut common) =
            serde_json::to_value(&self.common).map_err(serde::ser::Error::custom)?
        else {
            unreachable!("keys are a table");
        };
        let name: Map<String, Value> = common.remove_entry("name").into_iter().collect();
        self.kind.write(name, common, serializer)
    }
}

impl<C: CommonKeys> JsonSchema for LayerDescription<C> {
    fn schema_name() -> Cow<'static, str> {
        C::SCHEMA_NAME_AND_HELP.0.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let common = C::json_schema(generator);
        let kinds = C::Kinds::schemas(generator).into_iter().zip(C::Kinds::entries());
        let mut variants: Vec<Value> = kinds
            .map(|((keys, settings), entry)| {
                let names = names::<C::Kinds>();
                let is_name_of_kind = |name: &&&str| {
                    let aliases = C::Kinds::aliases().iter();
                    **name == entry.name
                        || aliases.clone().any(|(alias, of)| alias == *name && *of == entry.name)
                };
                let names: Vec<_> = names.iter().filter(is_name_of_kind).collect();
                let mut properties = properties_of(&common);
                properties.extend(properties_of(&keys));
                properties.insert("structure".into(), structure_schema(&names, &settings, entry.help));
                json!({
                    "type": "object",
                    "description": entry.help,
                    "properties": properties,
                    "required": if entry.name == DEFAULT_KIND { &[][..] } else { &["structure"][..] },
                    "additionalProperties": false,
                })
            })
            .collect();
        if C::ALLOWS_SHORT_FORM {
            variants.push(json!({
                "description": "the name of a structure alone: every setting at its default",
                "type": "string",
                "enum": names::<C::Kinds>(),
                "x-short-for": "structure",
            }));
        }
        json_schema!({ "description": C::SCHEMA_NAME_AND_HELP.1, "anyOf": variants })
    }
}

fn properties_of(schema: &Schema) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns the schema of the key `structure` of a kind: one of its names, or a table.
fn structure_schema(names: &[&&'static str], settings: &Schema, help: &str) -> Value {
    let mut properties = properties_of(settings);
    properties.insert("kind".into(), json!({ "type": "string", "enum": names }));
    json!({
        "description": help,
        "anyOf": [
            { "type": "string", "enum": names },
            {
                "type": "object",
                "properties": properties,
                "required": ["kind"],
                "additionalProperties": false,
            },
        ],
    })
}
