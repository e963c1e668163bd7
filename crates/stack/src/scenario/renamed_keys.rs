//! Keys of scenarios that have a new name. The older name is an alias of the field.

use serde_json::{Map, Value};

/// A key with a new name.
struct RenamedKey {
    /// Name of the table that has the key, such as `trace`.
    table: &'static str,
    /// Kind of policy or placement that has the key; `None` if all tables of this name have it.
    kind: Option<&'static str>,
    older: &'static str,
    name: &'static str,
}

const RENAMED_KEYS: &[RenamedKey] = &[
    RenamedKey { table: "trace", kind: None, older: "backwards", name: "decreasing_times" },
    RenamedKey { table: "structure", kind: None, older: "dated", name: "skips_older_pages" },
    RenamedKey { table: "victim", kind: Some("learnt_choices"), older: "sureness", name: "confidence" },
    RenamedKey { table: "placement", kind: Some("host_hint"), older: "beyond", name: "excess_hints" },
    RenamedKey {
        table: "placement",
        kind: Some("references"),
        older: "cleaned_apart",
        name: "separate_cleaned",
    },
];

/// Returns a warning for each key in `scenario` that is given by its older name.
pub fn renamed_keys(scenario: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    visit("", "", scenario, &mut warnings);
    warnings
}

fn visit(path: &str, table: &str, value: &Value, warnings: &mut Vec<String>) {
    match value {
        Value::Object(keys) => {
            warn(path, table, keys, warnings);
            for (key, value) in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                visit(&path, key, value, warnings);
            }
        }
        Value::Array(entries) => {
            for (index, value) in entries.iter().enumerate() {
                visit(&format!("{path}[{index}]"), table, value, warnings);
            }
        }
        _ => {}
    }
}

fn warn(path: &str, table: &str, keys: &Map<String, Value>, warnings: &mut Vec<String>) {
    let is_of_kind =
        |kind| ["kind", "policy"].iter().any(|tag| keys.get(*tag).and_then(Value::as_str) == Some(kind));
    for RenamedKey { table: of, kind, older, name } in RENAMED_KEYS {
        if *of == table && kind.is_none_or(is_of_kind) && keys.contains_key(*older) {
            warnings.push(format!("{path}.{older} is the older name of {path}.{name}; use the new name"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::draft::Draft;
    use serde_json::json;

    /// Returns the scenario that `change` makes of a small drive, with the given name of the key.
    fn scenario(key: &str, change: impl Fn(&str) -> Value) -> Value {
        let mut scenario = json!({ "device": { "capacity": "16 MiB", "spare_factor": 0.2 } });
        for (table, value) in change(key).as_object().expect("tables") {
            scenario[table] = value.clone();
        }
        scenario
    }

    fn check_row(older: &str, name: &str, change: impl Fn(&str) -> Value) {
        let [old, new] = [older, name].map(|key| scenario(key, &change));
        let read = |value: &Value| Draft::from_value(value.clone()).scenario().unwrap();
        assert_eq!(read(&old), read(&new));
        assert!(renamed_keys(&new).is_empty(), "{:?}", renamed_keys(&new));
        let warnings = renamed_keys(&old);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(older) && warnings[0].contains(name), "{warnings:?}");
        // A result contains the new name.
        let written = serde_json::to_value(read(&old)).unwrap();
        assert!(renamed_keys(&written).is_empty());
    }

    #[test]
    fn older_keys_mean_the_same_and_are_reported() {
        check_row(
            "backwards",
            "decreasing_times",
            |key| json!({ "trace": { "path": "a.csv", key: "sort" } }),
        );
        check_row(
            "dated",
            "skips_older_pages",
            |key| json!({ "ftl": { "structure": { "kind": "lazyftl", key: false } } }),
        );
        check_row(
            "sureness",
            "confidence",
            |key| json!({ "ftl": { "victim": { "policy": "learnt_choices", key: 2.0 } } }),
        );
        check_row(
            "beyond",
            "excess_hints",
            |key| json!({ "ftl": { "placement": { "kind": "host_hint", key: "last" } } }),
        );
        check_row(
            "cleaned_apart",
            "separate_cleaned",
            |key| json!({ "ftl": { "placement": { "kind": "references", key: true } } }),
        );
    }

    #[test]
    fn older_keys_are_found_in_lists() {
        let trace = json!({ "path": "a.csv", "backwards": "sort" });
        let scenario = json!({ "tenant": [{ "workload": "uniform" }, { "trace": trace }] });
        let expected = "tenant[1].trace.backwards is the older name of tenant[1].trace.decreasing_times; use the new name";
        assert_eq!(renamed_keys(&scenario), [expected]);
    }
}
