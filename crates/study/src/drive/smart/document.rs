//! Access to arbitrary JSON: numbers are looked up by name, and errors state file and key.

use serde_json::{Map, Value};

/// A report cannot be read, or two reports do not belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportError {
    /// Name of the file.
    pub file: String,
    /// Key of the value with the problem; empty if the problem concerns the whole file.
    pub key: String,
    /// Description of the problem.
    pub problem: String,
}

impl std::fmt::Display for ReportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        write!(f, "{}: {key}{}", self.file, self.problem)
    }
}

impl std::error::Error for ReportError {}

/// Value of 2 to the power of 64.
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// Maximum length of text repeated in an error, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Object in a report, with its path.
#[derive(Clone)]
pub struct Document<'a> {
    file: &'a str,
    path: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Document<'a> {
    /// Returns the top-level object of a document.
    pub fn root(file: &'a str, value: &'a Value) -> Result<Self, ReportError> {
        let fields = value.as_object().ok_or_else(|| ReportError {
            file: file.into(),
            key: String::new(),
            problem: format!("holds {}, and a report is an object", kind(value)),
        })?;
        Ok(Document { file, path: String::new(), fields })
    }

    /// Returns an error at `key` of this object, or at the object itself if `key` is empty.
    pub fn error(&self, key: &str, problem: impl Into<String>) -> ReportError {
        ReportError { file: self.file.into(), key: self.at(key), problem: problem.into() }
    }

    fn at(&self, key: &str) -> String {
        match (self.path.is_empty(), key.is_empty()) {
            (true, _) => key.into(),
            (_, true) => self.path.clone(),
            _ => format!("{}.{key}", self.path),
        }
    }

    /// Returns the keys of the object.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.fields.keys().map(String::as_str)
    }

    /// True if any of `keys` exists.
    pub fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.fields.contains_key(*key))
    }

    /// Returns the value at `key`, unless it is null.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    /// Returns the object at `key`, if there is one.
    pub fn object(&self, key: &str) -> Result<Option<Document<'a>>, ReportError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let fields =
            value.as_object().ok_or_else(|| self.error(key, format!("is {}, not an object", kind(value))))?;
        Ok(Some(Document { file: self.file, path: self.at(key), fields }))
    }

    /// Returns the objects of the list at `key`; an empty list if there is none.
    pub fn list(&self, key: &str) -> Result<Vec<Document<'a>>, ReportError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let list =
            value.as_array().ok_or_else(|| self.error(key, format!("is {}, not a list", kind(value))))?;
        let objects = list.iter().enumerate().map(|(at, value)| {
            let path = format!("{}[{at}]", self.at(key));
            let wrong = || ReportError {
                file: self.file.into(),
                key: path.clone(),
                problem: format!("is {}, not an object", kind(value)),
            };
            let fields = value.as_object().ok_or_else(wrong)?;
            Ok(Document { file: self.file, path, fields })
        });
        objects.collect()
    }

    /// Returns the text at `key` without surrounding blanks; `None` if it is empty.
    pub fn text(&self, key: &str) -> Option<String> {
        let text = self.get(key)?.as_str()?.trim();
        (!text.is_empty())
            .then(|| text.chars().filter(|letter| !letter.is_control()).take(MAX_QUOTED_CHARS).collect())
    }

    /// True if `key` exists and is false.
    pub fn is_false(&self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(false))
    }

    /// Returns the name and value of the first of `keys` that exists. The value may be a number, its digits (also with
    /// thousands separators), or its two halves.
    pub fn number(&self, keys: &[&'static str]) -> Result<Option<(&'static str, f64)>, ReportError> {
        for &key in keys {
            // smartctl also prints the digits of numbers that JSON readers may round.
            let exact = self.get(&format!("{key}_s"));
            let Some(value) = exact.or_else(|| self.get(key)) else { continue };
            let number = number(value).ok_or_else(|| {
                let problem = format!("is {}; a count is a whole number, 0 or above", excerpt(value));
                self.error(key, problem)
            })?;
            return Ok(Some((key, number)));
        }
        Ok(None)
    }

    /// Returns the value of the first of `keys` that exists, without the key.
    pub fn value(&self, keys: &[&'static str]) -> Result<Option<f64>, ReportError> {
        Ok(self.number(keys)?.map(|(_, value)| value))
    }
}

/// Parses a count in any of the forms in which tools print numbers of up to 128 bits.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => {
            let digits: String =
                text.trim().chars().filter(|letter| ![',', '_', ' ', '\''].contains(letter)).collect();
            // Neither "inf" nor "nan" starts with a digit.
            digits.starts_with(|letter: char| letter.is_ascii_digit()).then(|| digits.parse().ok())??
        }
        Value::Object(halves) => {
            let half = |key: &str| halves.get(key).filter(|half| !half.is_object()).and_then(number);
            half("hi")? * TWO_64 + half("lo")?
        }
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > MAX_QUOTED_CHARS {
        format!("{} ...", text.chars().take(MAX_QUOTED_CHARS).collect::<String>())
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_in_every_form_that_tools_print() {
        let valid = [
            (json!(33456211), 33_456_211.0),
            (json!(33456211.0), 33_456_211.0),
            (json!("33456211"), 33_456_211.0),
            (json!("33,456,211"), 33_456_211.0),
            (json!(" 33 456 211 "), 33_456_211.0),
            (json!({"hi": 0, "lo": 5}), 5.0),
            (json!({"hi": 2, "lo": 0}), 2.0 * TWO_64),
            (json!("340282366920938463463374607431768211455"), 2f64.powi(128)),
        ];
        for (value, expected) in valid {
            assert_eq!(number(&value), Some(expected), "{value}");
        }
        let bad = [
            json!(-1),
            json!("-1"),
            json!("inf"),
            json!("NaN"),
            json!(""),
            json!("1e999"),
            json!(true),
            json!([1]),
            json!({"hi": 1}),
            json!({"hi": {"hi": 1, "lo": 1}, "lo": 1}),
            json!("0x10"),
            json!({}),
        ];
        for value in bad {
            assert_eq!(number(&value), None, "{value}");
        }
    }

    #[test]
    fn errors_state_file_and_key() {
        let value = json!({"a": {"b": [{"c": "many"}, 7]}, "d": 1});
        let root = Document::root("x.json", &value).unwrap();
        let inner = root.object("a").unwrap().unwrap();
        assert_eq!(inner.list("b").err().unwrap().to_string(), "x.json: a.b[1]: is a number, not an object");
        assert_eq!(root.object("d").err().unwrap().to_string(), "x.json: d: is a number, not an object");
        let value = json!({"a": [{"c": "many"}]});
        let item = &Document::root("x.json", &value).unwrap().list("a").unwrap()[0];
        let error = item.number(&["c"]).unwrap_err();
        assert_eq!(error.to_string(), "x.json: a[0].c: is \"many\"; a count is a whole number, 0 or above");
        assert!(Document::root("x.json", &json!([])).is_err());
    }
}
