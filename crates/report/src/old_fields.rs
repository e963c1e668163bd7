//! Old names of fields in the JSON of earlier versions, and their renaming for readers of plain JSON.
//!
//! Results of runs are read into [`wearwell_stack::RunResult`], whose fields have their own aliases. Of the fields of
//! runs, the table has only the fields by which a document is recognised.

use serde_json::{Map, Value};

/// Renamed field.
struct RenamedField {
    /// Path of the objects with the field: keys, and `*` for each item of a list.
    objects: &'static [&'static str],
    /// Name in earlier versions.
    old: &'static str,
    /// Name in this version.
    new: &'static str,
}

const fn renamed(objects: &'static [&'static str], old: &'static str, new: &'static str) -> RenamedField {
    RenamedField { objects, old, new }
}

/// Path of the rows of a table that is a list.
const LISTED: &[&str] = &["*"];
/// Path of the rows of a table with a description.
const ROWS: &[&str] = &["rows", "*"];

/// All renamed fields. A field of a renamed object follows the renaming of that object.
const RENAMED_FIELDS: &[RenamedField] = &[
    renamed(&[], "course", "phases"),
    renamed(&[], "least_rewrites", "min_rewrites"),
    renamed(&[], "foreseeing", "offline"),
    renamed(&[], "limit", "lower_bound"),
    renamed(&["lower_bound"], "foreseeing", "offline"),
    renamed(LISTED, "worn_out_tbw", "measured_life_tbw"),
    renamed(LISTED, "foreseeing_write_amplification", "offline_write_amplification"),
    renamed(ROWS, "worn_out_tbw", "measured_life_tbw"),
    renamed(ROWS, "foreseeing_write_amplification", "offline_write_amplification"),
    renamed(ROWS, "above_foreseeing", "above_offline"),
    renamed(ROWS, "above_foreseeing_ci95", "above_offline_ci95"),
    renamed(&["base", "costs", "*"], "what", "resource"),
    renamed(&["changes", "*", "costs", "*"], "what", "resource"),
    renamed(&["changes", "*", "prices", "*"], "what", "resource"),
    renamed(&["changes", "*", "options", "*"], "place", "location"),
    renamed(&["combinations", "*", "costs", "*"], "what", "resource"),
    renamed(&["combinations", "*", "prices", "*"], "what", "resource"),
    renamed(&["combinations", "*", "options", "*"], "place", "location"),
];

/// Lists in the document of an advice whose items have a verdict.
const WITH_VERDICT: [&[&str]; 2] = [&["changes", "*"], &["combinations", "*"]];

/// Gives the fields of a document of an earlier version their present names, and its verdicts too.
pub fn rename_old_fields(document: &mut Value) {
    for RenamedField { objects, old, new } in RENAMED_FIELDS {
        for_each_object(document, objects, &mut |object| rename(object, old, new));
    }
    for objects in WITH_VERDICT {
        for_each_object(document, objects, &mut |object| {
            if let Some(verdict) = object.get_mut("verdict").filter(|verdict| **verdict == "untold") {
                *verdict = "insignificant".into();
            }
        });
    }
}

fn for_each_object(value: &mut Value, path: &[&str], change: &mut impl FnMut(&mut Map<String, Value>)) {
    match (path, value) {
        ([], Value::Object(object)) => change(object),
        (["*", rest @ ..], Value::Array(items)) => {
            items.iter_mut().for_each(|item| for_each_object(item, rest, change));
        }
        ([key, rest @ ..], Value::Object(object)) => {
            if let Some(value) = object.get_mut(*key) {
                for_each_object(value, rest, change);
            }
        }
        _ => {}
    }
}

/// Renames a field, unless the object has the new name already.
fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if object.contains_key(new) {
        return;
    }
    if let Some(value) = object.remove(old) {
        object.insert(new.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn renamed(mut value: Value) -> Value {
        rename_old_fields(&mut value);
        value
    }

    #[test]
    fn old_limit_equals_the_new_one() {
        let old = json!({
            "lower_bound": 1.0, "least_rewrites": 7, "foreseeing": { "write_amplification": 1.5 },
            "rows": [{ "victim": "fifo", "above_foreseeing": 0.5, "above_foreseeing_ci95": null }],
        });
        let new = json!({
            "lower_bound": 1.0, "min_rewrites": 7, "offline": { "write_amplification": 1.5 },
            "rows": [{ "victim": "fifo", "above_offline": 0.5, "above_offline_ci95": null }],
        });
        assert_eq!(renamed(old), new);
        assert_eq!(renamed(new.clone()), new);
    }

    #[test]
    fn old_advice_equals_the_new_one() {
        let advice = |[bound, best, resource, location, verdict]: [&str; 5]| {
            let costs = json!([{ resource: "capacity" }]);
            let change = json!({
                "verdict": verdict, "costs": costs, "prices": [{ resource: "capacity" }],
                "options": [{ location: "fs" }],
            });
            json!({
                "base": { "costs": costs }, bound: { best: null }, "changes": [change], "combinations": [change],
            })
        };
        let new = advice(["lower_bound", "offline", "resource", "location", "insignificant"]);
        assert_eq!(renamed(advice(["limit", "foreseeing", "what", "place", "untold"])), new);
        assert_eq!(renamed(new.clone()), new);
    }

    #[test]
    fn both_forms_of_a_table_are_renamed() {
        let row = |name: &str| json!({ "replicas": 1, name: 3.0 });
        assert_eq!(renamed(json!([row("worn_out_tbw")])), json!([row("measured_life_tbw")]));
        let table = |name: &str| json!({ "axes": [], "rows": [row(name)] });
        assert_eq!(renamed(table("worn_out_tbw")), table("measured_life_tbw"));
    }
}
