//! Tests `--set` with invalid values for every key of the scenario schema, in every form of its table.

use super::{Case, CaseRandom};
use crate::common::{SMALL, schema};
use serde_json::Value;
use std::collections::BTreeSet;

/// A key and its path in the schema.
struct SchemaKey {
    /// Key for `--set`: the path through tables that have a single form.
    path: String,
    /// TOML before the value, for tables with several forms.
    before: String,
    /// TOML after the value.
    after: String,
    /// Words that an error may use for the key.
    words: Vec<String>,
    /// Name of the definition and of the key, independent of its position.
    definition_and_key: (String, String),
}

/// Values that are invalid for any key, in TOML.
const VALUES: &[&str] = &[
    "-1",
    "0",
    "0.0",
    "1",
    "1e300",
    "1e-300",
    "nan",
    "inf",
    "-inf",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "''",
    "'nonsense'",
    "'1 EiB'",
    "'-1'",
    "true",
    "[]",
    "[[1], 'x']",
    "{}",
    "{ kind = 'nonsense' }",
    "1979-05-27",
];

/// Values that a run may accept as numbers.
const NUMBERS: &[&str] = &["0", "1", "1e300", "1e-300", "9223372036854775807"];

/// Path to a table while the schema is walked.
#[derive(Clone, Default)]
struct SchemaPath {
    path: String,
    before: String,
    after: String,
    words: Vec<String>,
    definition: String,
    /// Definitions on the path; ends recursion in tables that contain tables of the same kind.
    seen: BTreeSet<String>,
}

impl SchemaPath {
    /// Extends the path to a key of this table; `form` is the TOML that selects the form with this key.
    fn child(&self, key: &str, form: Option<&str>) -> SchemaPath {
        let mut child = self.clone();
        child.words.push(key.to_owned());
        if form.is_none() && child.before.is_empty() {
            child.path = if child.path.is_empty() { key.to_owned() } else { format!("{}.{key}", child.path) };
        } else {
            let form = form.map(|form| format!("{form}, ")).unwrap_or_default();
            child.before += &format!("{{ {form}{key} = ");
            child.after = format!(" }}{}", child.after);
        }
        child
    }
}

/// Collects the keys of the schema below `node`.
fn walk(schema: &Value, node: &Value, mut node_path: SchemaPath, keys: &mut Vec<SchemaKey>) {
    if let Some(reference) = node["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        if node_path.seen.insert(name.to_owned()) {
            node_path.definition = name.to_owned();
            walk(schema, &schema["$defs"][name], node_path, keys);
        }
        return;
    }
    for list in ["anyOf", "oneOf", "allOf"] {
        for form in node[list].as_array().into_iter().flatten() {
            walk(schema, form, node_path.clone(), keys);
        }
    }
    if !node["items"].is_null() && node_path.before.is_empty() {
        let path = format!("{}[0]", node_path.path);
        walk(schema, &node["items"], SchemaPath { path, ..node_path.clone() }, keys);
    }
    let Some(properties) = node["properties"].as_object() else { return };
    // A key with a constant value identifies the form of a table.
    let form = properties.iter().find_map(|(key, value)| Some((key, value["const"].as_str()?)));
    let form_text = form.map(|(key, value)| format!("{key} = '{value}'"));
    for (key, value) in properties.iter().filter(|(key, _)| form.is_none_or(|(own, _)| own != *key)) {
        let to = node_path.child(key, form_text.as_deref());
        let definition_and_key =
            (format!("{} {}", node_path.definition, form.map_or("", |(_, value)| value)), key.clone());
        let SchemaPath { path, before, after: behind, words, .. } = to.clone();
        keys.push(SchemaKey { path, before, after: behind, words, definition_and_key });
        walk(schema, value, to, keys);
    }
}

/// Returns the scenario in which a key is tested.
fn base(key: &SchemaKey) -> String {
    let scenario = SMALL.to_owned();
    let table = key.words.first().map_or("", String::as_str);
    match table {
        "trace" | "timing" => scenario.replace(
            "[device]",
            "[device]\npreset = \"z_nand\"\nchannels = 1\nways = 1\ndies = 1\nplanes = 1",
        ),
        "power" => {
            scenario.replace("name = \"small\"", "ftl = \"gecko\"").replace("load = 0.8", "load = 0.7")
        }
        _ => scenario,
    }
}

/// Returns a case: a command on the base scenario with the key set.
fn case(command: &[&str], key: &SchemaKey, value: &str) -> Case {
    let setting = format!("{}={}{value}{}", key.path, key.before, key.after);
    let words = command.iter().copied().chain(["base.toml", "--set", &setting]);
    Case::new(&setting, words)
        .file("base.toml", base(key))
        .expect_words(key.words.clone())
        .expect_words(["--set"])
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let schema = schema(&["scenario", "schema"]);
    let mut keys = Vec::new();
    walk(&schema, &schema, SchemaPath::default(), &mut keys);
    assert!(keys.len() > 300, "{}", keys.len());
    let (mut cases, mut definitions, mut draws) = (Vec::new(), BTreeSet::new(), CaseRandom(7));
    for key in &keys {
        if definitions.insert(key.definition_and_key.clone()) {
            // The first position of a key gets all values, other positions get one value.
            cases.extend(VALUES.iter().map(|value| case(&["scenario", "check"], key, value)));
            // A run with a power cut at each operation is slow by nature, so this value is left out.
            let numbers = NUMBERS.iter().filter(|value| (key.path.as_str(), **value) != ("power.every", "1"));
            cases.extend(numbers.map(|value| case(&["run", "--quiet"], key, value)));
        } else {
            let value = *draws.choose(VALUES);
            cases.push(case(&["scenario", "check"], key, value));
        }
    }
    cases
}
