//! TOML as values, together with their positions in the text.

use super::key::{Key, Segment};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Position of each key in a text, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans(BTreeMap<String, Range<usize>>);

impl Spans {
    /// Returns the position of `key`, or else of the nearest table or list around it.
    pub fn nearest(&self, key: &Key) -> Option<Range<usize>> {
        (1..=key.segments.len())
            .rev()
            .find_map(|length| self.0.get(&canonical(&key.segments[..length])).cloned())
    }
}

fn canonical(segments: &[Segment]) -> String {
    let names = segments.iter().map(|segment| match segment {
        Segment::Name(name) => name.clone(),
        Segment::Index(index) => index.to_string(),
    });
    names.collect::<Vec<_>>().join(".")
}

/// Error for a text that is not TOML, or holds a value that no setting can have.
pub(crate) struct TomlError {
    pub span: Option<Range<usize>>,
    pub problem: String,
}

/// Parses `text`.
pub(crate) fn parse(text: &str) -> Result<(Value, Spans), TomlError> {
    let table = DeTable::parse(text)
        .map_err(|error| TomlError { span: error.span(), problem: error.message().to_owned() })?;
    let mut spans = Spans::default();
    let value = table_value(table.get_ref(), "", &mut spans)?;
    Ok((value, spans))
}

fn table_value(table: &DeTable<'_>, path: &str, spans: &mut Spans) -> Result<Value, TomlError> {
    let mut map = Map::new();
    for (key, value) in table {
        let path = join(path, key.get_ref());
        spans.0.insert(path.clone(), key.span());
        map.insert(key.get_ref().to_string(), plain_value(value, &path, spans)?);
    }
    Ok(Value::Object(map))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn plain_value(value: &Spanned<DeValue<'_>>, path: &str, spans: &mut Spans) -> Result<Value, TomlError> {
    let refuse =
        |problem: &str| TomlError { span: Some(value.span()), problem: format!("{path}: {problem}") };
    Ok(match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Integer(integer) => {
            let (digits, radix) = (integer.as_str().replace('_', ""), integer.radix());
            // Seeds use all 64 bits, one more than TOML promises.
            let number = i64::from_str_radix(&digits, radix).map(Number::from);
            let number = number.or_else(|_| u64::from_str_radix(&digits, radix).map(Number::from));
            Value::Number(number.map_err(|_| refuse("this number needs more than 64 bits"))?)
        }
        DeValue::Float(float) => {
            let number = float.as_str().replace('_', "").parse().ok().and_then(Number::from_f64);
            Value::Number(number.ok_or_else(|| refuse("settings are finite numbers"))?)
        }
        DeValue::Datetime(_) => return Err(refuse("no setting is a date or a time")),
        DeValue::Array(array) => {
            let mut list = Vec::with_capacity(array.len());
            for (index, item) in array.iter().enumerate() {
                let path = join(path, &index.to_string());
                spans.0.insert(path.clone(), item.span());
                list.push(plain_value(item, &path, spans)?);
            }
            Value::Array(list)
        }
        DeValue::Table(table) => table_value(table, path, spans)?,
    })
}
