//! Paths of keys in a scenario, such as `log[0].victim.choices`.

use serde_json::{Map, Value};

/// A parsed path.
#[derive(Clone, Debug)]
pub struct Key {
    /// The path as it was written.
    pub text: String,
    /// Steps of the path, at least one.
    pub segments: Vec<Segment>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Key of a table.
    Name(String),
    /// Index into a list.
    Index(usize),
}

impl Key {
    /// Parses `a.b[0].c`; `a.b.0.c` is equivalent.
    pub fn parse(text: &str) -> Result<Key, String> {
        let dotted = text.replace('[', ".").replace(']', "");
        let segments: Vec<Segment> = dotted.split('.').map(Segment::parse).collect();
        if segments.iter().any(|segment| matches!(segment, Segment::Name(name) if name.is_empty())) {
            return Err("is no key; write for example device.capacity or log[0].victim".into());
        }
        Ok(Key { text: text.into(), segments })
    }

    /// True if this key is `other` or a key inside it.
    pub fn is_within(&self, other: &Key) -> bool {
        self.segments.starts_with(&other.segments)
    }

    /// True if the last step is the name `last`.
    pub fn ends_with(&self, last: &str) -> bool {
        matches!(self.segments.last(), Some(Segment::Name(name)) if name == last)
    }

    /// Returns the key of the table or list that holds this key.
    pub fn parent(&self) -> Option<Key> {
        let (_, parents) = self.segments.split_last()?;
        let text = self.text.trim_end_matches(|c| c != '.' && c != '[');
        let text = text.trim_end_matches(['.', '[']).to_owned();
        (!parents.is_empty()).then(|| Key { text, segments: parents.to_vec() })
    }
}

impl Segment {
    fn parse(text: &str) -> Segment {
        text.parse().map_or_else(|_| Segment::Name(text.trim().into()), Segment::Index)
    }

    /// Returns the value that this step leads to.
    pub fn value_in<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Segment::Name(name) => value.get(name),
            Segment::Index(index) => value.get(index),
        }
    }

    /// Returns a mutable reference to the value that this step leads to.
    pub fn value_in_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
        match self {
            Segment::Name(name) => value.get_mut(name),
            Segment::Index(index) => value.get_mut(index),
        }
    }

    /// Returns the value that this step leads to, adding it to a table that lacks it.
    pub fn value_or_insert<'a>(&self, value: &'a mut Value) -> Result<&'a mut Value, String> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        match (self, value) {
            (Segment::Name(name), Value::Object(table)) => {
                Ok(table.entry(name.as_str()).or_insert(Value::Null))
            }
            (Segment::Index(index), Value::Array(list)) => {
                let length = list.len();
                list.get_mut(*index).ok_or_else(|| {
                    format!("there is no entry {index}; the list has {length}, counted from 0")
                })
            }
            (Segment::Index(_), _) => Err("a number follows what is no list".into()),
            (Segment::Name(name), other) => {
                Err(format!("`{name}` cannot be set inside of {other}, which is no table"))
            }
        }
    }
}
