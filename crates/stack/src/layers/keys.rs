//! Keys of a layer's table: their names, and reading them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Debug;
use wearwell_base::config::ConfigError;

/// Keys of the table of a layer.
pub trait Keys: Clone + Debug + Default + PartialEq + Serialize + JsonSchema {
    /// Takes these keys out of `table`, which may have other keys.
    fn take(table: &mut Map<String, Value>) -> Result<Self, ConfigError>;
}

impl<T> Keys for T
where
    T: Clone + Debug + Default + PartialEq + Serialize + JsonSchema + DeserializeOwned,
{
    fn take(table: &mut Map<String, Value>) -> Result<Self, ConfigError> {
        let taken = keys_of::<T>().into_iter().filter_map(|key| table.remove_entry(&key));
        from_value(Value::Object(taken.collect()))
    }
}

/// Empty set of keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoKeys {}

/// Returns the names of the keys in the schema.
pub(super) fn keys_of<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

/// Reads a value; an error names the key within.
///
/// # Errors
/// Returns an error for an unknown key, or for a value of the wrong type.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let key = path.trim_end_matches(".?").trim_matches('.').to_owned();
        ConfigError::new(key, error.inner().to_string())
    })
}

/// Default kind of a layer.
pub(super) const DEFAULT_KIND: &str = "log";
