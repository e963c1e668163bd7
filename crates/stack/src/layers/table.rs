//! Reading and writing one kind of layer within a layer's table.

use super::keys::{DEFAULT_KIND, Keys, from_value};
use super::kinds::{Kind, KindConfig};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use wearwell_base::config::ConfigError;

/// Reads a kind: `structure` has the settings of its own table, and its keys are taken out of `table`.
pub(super) fn read<K: Kind>(
    structure: Map<String, Value>,
    table: &mut Map<String, Value>,
) -> Result<KindConfig<K>, ConfigError> {
    let settings = from_value(Value::Object(structure)).map_err(|error| match error.key.as_str() {
        "" => ConfigError { key: "structure".into(), ..error },
        _ => error.within("structure"),
    })?;
    Ok(KindConfig { settings, keys: K::Keys::take(table)? })
}

/// A kind, between the keys before and after its own keys.
#[derive(Serialize)]
struct LayerTable<'a, B: Serialize, K: Kind, A: Serialize> {
    #[serde(flatten)]
    before: B,
    #[serde(skip_serializing_if = "Option::is_none")]
    structure: Option<NamedSettings<'a, K>>,
    #[serde(flatten)]
    keys: &'a K::Keys,
    #[serde(flatten)]
    after: A,
}

/// The settings of a kind, with the name of the kind.
#[derive(Serialize)]
struct NamedSettings<'a, K: Serialize> {
    kind: &'static str,
    #[serde(flatten)]
    settings: &'a K,
}

/// Writes a layer: the keys before those of its kind, the keys of its kind, and the keys after them. The name of the
/// log-structured store, the default, is left out.
pub(super) fn write<K: Kind, S: Serializer>(
    before: impl Serialize,
    kind: &KindConfig<K>,
    after: impl Serialize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let KindConfig { settings, keys } = kind;
    let name = K::ENTRY.name;
    let structure = (name != DEFAULT_KIND).then_some(NamedSettings { kind: name, settings });
    LayerTable::<_, K, _> { before, structure, keys, after }.serialize(serializer)
}
