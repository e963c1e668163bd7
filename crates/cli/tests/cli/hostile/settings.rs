//! Tests `--set` with invalid values for every key of the scenario schema, in every form of its table.

use super::{Case, Draws};
use crate::common::{SMALL, schema};
use serde_json::Value;
use std::collections::BTreeSet;

/// A key and its path in the schema.
struct Key {
    /// Key for `--set`: the path through tables that have a single form.
    path: String,
    /// TOML before and behind the value, for tables with several forms.
    before: String,
    behind: String,
    /// Words that an error may use for the key.
    words: Vec<String>,
    /// Name of the definition and of the key, independent of its position.
    own: (String, String),
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
struct Way {
    path: String,
    before: String,
    behind: String,
    words: Vec<String>,
    definition: String,
    /// Definitions on the path; ends recursion in tables that contain tables of the same kind.
    seen: BTreeSet<String>,
}

impl Way {
    /// Extends the path to a key of this table; `form` is the TOML that selects the form with this key.
    fn to(&self, key: &str, form: Option<&str>) -> Way {
        let mut way = self.clone();
        way.words.push(key.to_owned());
        if form.is_none() && way.before.is_empty() {
            way.path = if way.path.is_empty() { key.to_owned() } else { format!("{}.{key}", way.path) };
        } else {
            let form = form.map(|form| format!("{form}, ")).unwrap_or_default();
            way.before += &format!("{{ {form}{key} = ");
            way.behind = format!(" }}{}", way.behind);
        }
        way
    }
}

/// Collects the keys of the schema below `node`.
fn walk(schema: &Value, node: &Value, mut way: Way, keys: &mut Vec<Key>) {
    if let Some(reference) = node["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        if way.seen.insert(name.to_owned()) {
            way.definition = name.to_owned();
            walk(schema, &schema["$defs"][name], way, keys);
        }
        return;
    }
    for list in ["anyOf", "oneOf", "allOf"] {
        for form in node[list].as_array().into_iter().flatten() {
            walk(schema, form, way.clone(), keys);
        }
    }
    if !node["items"].is_null() && way.before.is_empty() {
        let path = format!("{}[0]", way.path);
        walk(schema, &node["items"], Way { path, ..way.clone() }, keys);
    }
    let Some(properties) = node["properties"].as_object() else { return };
    // A key with a constant value identifies the form of a table.
    let form = properties.iter().find_map(|(key, value)| Some((key, value["const"].as_str()?)));
    let form_text = form.map(|(key, value)| format!("{key} = '{value}'"));
    for (key, value) in properties.iter().filter(|(key, _)| form.is_none_or(|(own, _)| own != *key)) {
        let to = way.to(key, form_text.as_deref());
        let own = (format!("{} {}", way.definition, form.map_or("", |(_, value)| value)), key.clone());
        let Way { path, before, behind, words, .. } = to.clone();
        keys.push(Key { path, before, behind, words, own });
        walk(schema, value, to, keys);
    }
}

/// Returns the scenario in which a key is tested.
fn base(key: &Key) -> String {
    let plain = SMALL.to_owned();
    let table = key.words.first().map_or("", String::as_str);
    match table {
        "trace" | "timing" => plain.replace(
            "[device]",
            "[device]\npreset = \"z_nand\"\nchannels = 1\nways = 1\ndies = 1\nplanes = 1",
        ),
        "power" => plain.replace("name = \"small\"", "ftl = \"gecko\"").replace("load = 0.8", "load = 0.7"),
        _ => plain,
    }
}

/// Returns a case: a command on the base scenario with the key set.
fn case(command: &[&str], key: &Key, value: &str) -> Case {
    let setting = format!("{}={}{value}{}", key.path, key.before, key.behind);
    let words = command.iter().copied().chain(["base.toml", "--set", &setting]);
    Case::new(&setting, words).file("base.toml", base(key)).named(key.words.clone()).named(["--set"])
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let schema = schema(&["scenario", "schema"]);
    let mut keys = Vec::new();
    walk(&schema, &schema, Way::default(), &mut keys);
    assert!(keys.len() > 300, "{}", keys.len());
    let (mut cases, mut seen, mut draws) = (Vec::new(), BTreeSet::new(), Draws(7));
    for key in &keys {
        if seen.insert(key.own.clone()) {
            // The first position of a key gets all values, other positions get one value.
            cases.extend(VALUES.iter().map(|value| case(&["scenario", "check"], key, value)));
            // A power cut at each operation legitimately takes long.
            let numbers = NUMBERS.iter().filter(|value| (key.path.as_str(), **value) != ("power.every", "1"));
            cases.extend(numbers.map(|value| case(&["run", "--quiet"], key, value)));
        } else {
            let value = *draws.of(VALUES);
            cases.push(case(&["scenario", "check"], key, value));
        }
    }
    cases
}
