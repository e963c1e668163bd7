//! Kinds of documents, one per file.
//!
//! To add a kind, write `kinds/<name>.rs` with a [`Kind`] named `KIND`, and `assets/kinds/<name>.js` with a
//! `KINDS.<name>` that draws a section. Add its `mod` and its line in [`KINDS`]. If a command writes the kind,
//! `Document::read` recognises that command's JSON.

mod advice;
mod limit;
mod power;
pub mod reproduction;
pub mod run;
pub mod sweep;
mod theory;

use serde_json::Value;

/// All kinds; a value is of the first kind that recognises it.
pub static KINDS: &[Kind] =
    &[run::KIND, power::KIND, theory::KIND, limit::KIND, sweep::KIND, advice::KIND, reproduction::KIND];

/// Kind of document.
#[derive(Debug)]
pub struct Kind {
    /// Name of the kind in scripts.
    pub name: &'static str,
    /// Name of the kind in messages.
    pub what: &'static str,
    /// Command that writes it.
    pub made_by: &'static str,
    /// Returns true if a value is of this kind, complete or damaged.
    pub is_it: fn(&Value) -> bool,
    /// Returns the data for the page, or a description of the damage.
    pub shown: fn(Value) -> Result<Value, String>,
    /// Scripts that draw it.
    pub scripts: &'static [&'static str],
}

/// True if `value` is an object with all these keys.
fn has(value: &Value, keys: &[&str]) -> bool {
    value.as_object().is_some_and(|object| keys.iter().all(|key| object.contains_key(*key)))
}

/// Required type of a value.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number,
    Text,
    Truth,
    List,
    Object,
    /// Number, or null for none.
    NumberIfAny,
    /// Text, or null for none.
    TextIfAny,
}

impl Form {
    fn fits(self, value: &Value) -> bool {
        match self {
            Form::Number => value.is_number(),
            Form::Text => value.is_string(),
            Form::Truth => value.is_boolean(),
            Form::List => value.is_array(),
            Form::Object => value.is_object(),
            Form::NumberIfAny => value.is_number() || value.is_null(),
            Form::TextIfAny => value.is_string() || value.is_null(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Form::Number => "a number",
            Form::Text => "a text",
            Form::Truth => "true or false",
            Form::List => "a list",
            Form::Object => "an object",
            Form::NumberIfAny => "a number or null",
            Form::TextIfAny => "a text or null",
        }
    }
}

/// Refuses a value with a field of the wrong type; `place` is the path of the value.
fn check(value: &Value, place: &str, fields: &[(&str, Form)]) -> Result<(), String> {
    for (name, form) in fields {
        let path = if place.is_empty() { (*name).to_owned() } else { format!("{place}.{name}") };
        match value.get(*name) {
            Some(found) if form.fits(found) => {}
            Some(found) => {
                return Err(format!("`{path}` is {}, and must be {}", shortened(found), form.words()));
            }
            None => return Err(format!("`{path}` is missing")),
        }
    }
    Ok(())
}

/// Checks the fields of every item in a list of `value`.
fn check_all(value: &Value, list: &str, fields: &[(&str, Form)]) -> Result<(), String> {
    let items = value[list].as_array().ok_or_else(|| format!("`{list}` is no list"))?;
    items.iter().enumerate().try_for_each(|(at, item)| check(item, &format!("{list}[{at}]"), fields))
}

/// Formats a value for an error.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
