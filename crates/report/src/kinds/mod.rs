//! What a page can show, one kind a file.
//!
//! To add a kind: write `kinds/<name>.rs` with a [`Kind`] named `KIND`, `assets/kinds/<name>.js` with a `KINDS.<name>` that makes a
//! section of it, and add its `mod` and its line in [`KINDS`]; where a command writes it, `Document::read` takes what that command
//! gives as JSON.

mod advice;
mod limit;
mod power;
pub mod reproduction;
pub mod run;
pub mod sweep;
mod theory;

use serde_json::Value;

/// Every kind; a value is the first that it looks like.
pub static KINDS: &[Kind] =
    &[run::KIND, power::KIND, theory::KIND, limit::KIND, sweep::KIND, advice::KIND, reproduction::KIND];

/// A kind of document.
#[derive(Debug)]
pub struct Kind {
    /// What the script calls it.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// The command that gives it.
    pub made_by: &'static str,
    /// Whether a value looks like one, whole or damaged.
    pub is_it: fn(&Value) -> bool,
    /// What of it is shown, or what is wrong with it.
    pub shown: fn(Value) -> Result<Value, String>,
    /// What draws it.
    pub scripts: &'static [&'static str],
}

/// Whether an object has all these keys.
fn has(value: &Value, keys: &[&str]) -> bool {
    value.as_object().is_some_and(|object| keys.iter().all(|key| object.contains_key(*key)))
}

/// What a value must be.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number,
    Text,
    Truth,
    List,
    Object,
    /// A number, or null where there is none.
    NumberIfAny,
    /// A text, or null where there is none.
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

/// Refuses a value whose field is of another form; `place` is what the value is called.
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

/// The items of a list within a value, each of whose fields is checked.
fn check_all(value: &Value, list: &str, fields: &[(&str, Form)]) -> Result<(), String> {
    let items = value[list].as_array().ok_or_else(|| format!("`{list}` is no list"))?;
    items.iter().enumerate().try_for_each(|(at, item)| check(item, &format!("{list}[{at}]"), fields))
}

/// A value in an error.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
