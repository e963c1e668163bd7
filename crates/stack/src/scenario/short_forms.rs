//! Keys of a scenario that may be given by a name alone, derived from its schema.

use super::key::{Key, Segment};
use super::types::Scenario;
use serde_json::Value;
use std::sync::LazyLock;

/// A table that may be written as a name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortForm {
    /// Key of the table whose value is the name.
    pub tag: &'static str,
    /// True if the name selects one of several kinds of the table, which differ in their other keys.
    pub is_kind: bool,
}

/// Returns the JSON Schema of scenarios, with any value allowed at `top`.
pub fn schema() -> &'static Value {
    &SCHEMA
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| schemars::schema_for!(Scenario).to_value());

/// Returns the key inside the table at `key` that a bare name sets: `policy` for `ftl.victim`. `None` if the table
/// cannot be given by a name.
pub fn short_form(key: &str) -> Option<&'static str> {
    short_form_at(&Key::parse(key).ok()?.segments).map(|form| form.tag)
}

/// Returns the short form of the table at this path, if it has one.
pub(super) fn short_form_at(path: &[Segment]) -> Option<ShortForm> {
    let mut forms = expand_references(vec![&SCHEMA]);
    for segment in path {
        let inner = forms.iter().filter_map(|form| match segment {
            Segment::Name(name) => form.get("properties")?.get(name),
            Segment::Index(_) => form.get("items"),
        });
        forms = expand_references(inner.collect());
    }
    let kind = forms.iter().find_map(|form| kind_tag(form)).map(|tag| ShortForm { tag, is_kind: true });
    let named = |form: &&'static Value| form.get("x-short-for")?.as_str();
    kind.or_else(|| {
        let tag = forms.iter().find_map(named)?;
        Some(ShortForm { tag, is_kind: false })
    })
}

/// Returns all forms that a value may have, with references and choices expanded.
fn expand_references(schemas: Vec<&'static Value>) -> Vec<&'static Value> {
    let mut forms = Vec::new();
    for schema in schemas {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let definition = name.strip_prefix("#").and_then(|pointer| SCHEMA.pointer(pointer));
            forms.extend(expand_references(definition.into_iter().collect()));
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            let inner = schema.get(choice).and_then(Value::as_array).into_iter().flatten();
            forms.extend(expand_references(inner.collect()));
        }
        forms.push(schema);
    }
    forms
}

/// Returns the key of a table that holds the name of its kind: required, and with an enumerated value.
fn kind_tag(form: &'static Value) -> Option<&'static str> {
    let required = form.get("required")?.as_array()?;
    let properties = form.get("properties")?.as_object()?;
    let is_tag = |key: &&'static str| {
        let schema = &properties[*key];
        schema["type"] == "string" && (schema.get("const").is_some() || schema.get("enum").is_some())
    };
    let keys = required.iter().filter_map(Value::as_str).filter(|key| properties.contains_key(*key));
    keys.into_iter().find(|key| is_tag(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag_and_kind(key: &str) -> Option<(&'static str, bool)> {
        short_form_at(&Key::parse(key).unwrap().segments).map(|form| (form.tag, form.is_kind))
    }

    #[test]
    fn every_part_selected_by_name_has_short_form() {
        for (key, tag) in [
            ("ftl.victim", "policy"),
            ("log[0].victim", "policy"),
            ("log[2].placement", "kind"),
            ("ftl.dedup", "kind"),
            ("ftl.structure", "kind"),
            ("ftl.structure.validity", "kind"),
            ("ftl.structure.wear", "kind"),
            ("log[0].structure.compaction", "shape"),
            ("workload", "kind"),
            ("tenant[1].workload", "kind"),
        ] {
            assert_eq!(tag_and_kind(key), Some((tag, true)), "{key}");
        }
        assert_eq!(tag_and_kind("ftl"), Some(("structure", false)));
        assert_eq!(tag_and_kind("log[0].metadata"), Some(("preset", false)));
        assert_eq!(tag_and_kind("content"), Some(("preset", false)));
        for key in ["device", "log[0]", "log", "ftl.dedup.index", "trace", "no.such.key", "timing"] {
            assert_eq!(tag_and_kind(key), None, "{key}");
        }
    }
}
