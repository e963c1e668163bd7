//! Kinds of documents, one per file.
//!
//! To add a kind, write `kinds/<name>.rs` with a [`Kind`] named `KIND`, and `assets/kinds/<name>.js` with a
//! `KINDS.<name>` that draws a section. Add its `mod` line, and its line in [`KINDS`]. If a command writes documents
//! of the kind, `Document::read` recognises the JSON of that command.

mod advice;
mod limit;
mod power;
pub mod reproduction;
pub mod run;
pub mod sweep;
mod theory;

use serde_json::Value;

/// All kinds. The kind of a value is the first one that recognises it.
pub static KINDS: &[Kind] =
    &[run::KIND, power::KIND, theory::KIND, limit::KIND, sweep::KIND, advice::KIND, reproduction::KIND];

/// Kind of document.
#[derive(Debug)]
pub struct Kind {
    /// Name of the kind in scripts.
    pub name: &'static str,
    /// Name of the kind in messages.
    pub title: &'static str,
    /// Command that writes documents of this kind.
    pub command: &'static str,
    /// Returns true if a value is a document of this kind, complete or damaged.
    pub matches: fn(&Value) -> bool,
    /// Returns the data for the HTML page, or a description of the damage.
    pub page_data: fn(Value) -> Result<Value, String>,
    /// Scripts that draw documents of this kind.
    pub scripts: &'static [&'static str],
}

/// True if `value` is an object with all these keys.
fn has_keys(value: &Value, keys: &[&str]) -> bool {
    value.as_object().is_some_and(|object| keys.iter().all(|key| object.contains_key(*key)))
}

/// Required type of a value.
#[derive(Clone, Copy, Debug)]
enum FieldType {
    Number,
    Text,
    Bool,
    List,
    Object,
    /// Number, or null if there is no value.
    OptionalNumber,
    /// Text, or null if there is no value.
    OptionalText,
}

impl FieldType {
    fn accepts(self, value: &Value) -> bool {
        match self {
            FieldType::Number => value.is_number(),
            FieldType::Text => value.is_string(),
            FieldType::Bool => value.is_boolean(),
            FieldType::List => value.is_array(),
            FieldType::Object => value.is_object(),
            FieldType::OptionalNumber => value.is_number() || value.is_null(),
            FieldType::OptionalText => value.is_string() || value.is_null(),
        }
    }

    fn description(self) -> &'static str {
        match self {
            FieldType::Number => "a number",
            FieldType::Text => "a text",
            FieldType::Bool => "true or false",
            FieldType::List => "a list",
            FieldType::Object => "an object",
            FieldType::OptionalNumber => "a number or null",
            FieldType::OptionalText => "a text or null",
        }
    }
}

/// Returns an error if a field of `value` has the wrong type; `parent_path` is the path of the value.
fn check(value: &Value, parent_path: &str, fields: &[(&str, FieldType)]) -> Result<(), String> {
    for (name, form) in fields {
        let path = if parent_path.is_empty() { (*name).to_owned() } else { format!("{parent_path}.{name}") };
        match value.get(*name) {
            Some(found) if form.accepts(found) => {}
            Some(found) => {
                return Err(format!("`{path}` is {}, and must be {}", excerpt(found), form.description()));
            }
            None => return Err(format!("`{path}` is missing")),
        }
    }
    Ok(())
}

/// Checks the fields of every item in a list of `value`.
fn check_all(value: &Value, list: &str, fields: &[(&str, FieldType)]) -> Result<(), String> {
    let items = value[list].as_array().ok_or_else(|| format!("`{list}` is no list"))?;
    items.iter().enumerate().try_for_each(|(at, item)| check(item, &format!("{list}[{at}]"), fields))
}

/// Formats a value for an error message.
fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
