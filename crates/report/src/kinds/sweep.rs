//! Points of a sweep.

use super::FieldType::{Bool, Number, OptionalNumber};
use super::{Kind, check, excerpt, has_keys};
use crate::MAX_KIND_BYTES;
use serde_json::{Map, Value, json};

/// Kind of these values: a list of rows as in `--output`, or an object with `axes`, `rows` and further fields.
pub const KIND: Kind = Kind {
    name: "sweep",
    title: "table of a sweep",
    command: "`wearwell sweep --output TABLE.json`",
    matches: |value| match value {
        Value::Array(rows) => rows.first().is_some_and(|row| has_keys(row, &["replicas", "steady"])),
        other => has_keys(other, &["axes", "rows"]),
    },
    page_data,
    scripts: &[include_str!("../../assets/kinds/sweep.js")],
};

/// Maximum number of characters of a text in a row, such as a warning.
const MAX_CHARS: usize = 1000;

fn page_data(value: Value) -> Result<Value, String> {
    let mut data = match value {
        Value::Array(_) => json!({ "rows": value }),
        object => object,
    };
    let rows = data["rows"].as_array().cloned().ok_or("`rows` is no list")?;
    for (at, row) in rows.iter().enumerate() {
        let path = format!("rows[{at}]");
        check(
            row,
            &path,
            &[("replicas", Number), ("write_amplification", OptionalNumber), ("steady", Bool)],
        )?;
    }
    let rows: Vec<&Map<String, Value>> = rows.iter().filter_map(Value::as_object).collect();
    let axes = match data.get("axes") {
        Some(axes) => checked_axes(axes, &rows)?,
        None => guess_axes(&rows),
    };
    let mut columns = axes.clone();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let mut remaining_bytes = MAX_KIND_BYTES;
    let mut included: Vec<Vec<Value>> = Vec::new();
    for row in &rows {
        let cells: Vec<Value> = columns.iter().map(|name| cell(row.get(name))).collect();
        let size = json!(cells).to_string().len() + 1;
        if size > remaining_bytes {
            break;
        }
        remaining_bytes -= size;
        included.push(cells);
    }
    data["left_out"] = json!(rows.len() - included.len());
    (data["axes"], data["columns"], data["rows"]) = (json!(axes), json!(columns), json!(included));
    Ok(data)
}

/// Returns the given axes, which every row must have.
fn checked_axes(axes: &Value, rows: &[&Map<String, Value>]) -> Result<Vec<String>, String> {
    let names = axes.as_array().and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let names = names.ok_or_else(|| format!("`axes` is {}, and must be a list of texts", excerpt(axes)))?;
    for name in &names {
        if let Some(at) = rows.iter().position(|row| !row.contains_key(*name)) {
            return Err(format!("`rows[{at}].{name}` is missing"));
        }
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Guesses the varied columns of a table without axes. Keys of a scenario contain a dot after the name of their
/// table; among other columns, only percentiles contain a dot. If there is no such key, the seed was varied.
pub fn guess_axes(rows: &[&Map<String, Value>]) -> Vec<String> {
    let Some(first) = rows.first() else { return Vec::new() };
    let is_percentile = |name: &str| {
        let prefix = name.split(['.', '[']).next().unwrap_or_default();
        prefix.rsplit_once("_p").is_some_and(|(_, digits)| digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let is_key = |name: &&String| name.contains(['.', '[']) && !is_percentile(name);
    let keys: Vec<String> = first.keys().filter(is_key).cloned().collect();
    if keys.is_empty() && first.contains_key("seed") { vec!["seed".to_owned()] } else { keys }
}

fn cell(value: Option<&Value>) -> Value {
    match value {
        None => Value::Null,
        Some(Value::String(text)) => match text.char_indices().nth(MAX_CHARS) {
            Some((at, _)) => json!(format!("{}…", &text[..at])),
            None => json!(text),
        },
        Some(other) => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(more: &Value) -> Value {
        let mut row = json!({ "replicas": 1, "write_amplification": 2.0, "steady": true, "read_p99.9_us": 3.0, "seed": 1 });
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    }

    #[test]
    fn axes_are_recognised_by_their_dots() {
        let found = page_data(json!([row(&json!({ "ftl.victim": "greedy", "log[0].trim": true }))])).unwrap();
        assert_eq!(found["axes"], json!(["ftl.victim", "log[0].trim"]));
        assert_eq!(found["rows"][0][0], json!("greedy"));
        assert_eq!(page_data(json!([row(&json!({}))])).unwrap()["axes"], json!(["seed"]));
    }

    #[test]
    fn omitted_rows_are_counted() {
        let rows: Vec<Value> = (0..40_000).map(|at| row(&json!({ "a.b": at }))).collect();
        let found = page_data(json!({ "axes": ["a.b"], "rows": rows })).unwrap();
        let included = found["rows"].as_array().unwrap().len();
        assert_eq!(included + found["left_out"].as_u64().unwrap() as usize, 40_000);
        assert!(found.to_string().len() < 2 * MAX_KIND_BYTES && included > 1000);
    }

    #[test]
    fn damaged_sweep_is_refused_by_field() {
        let problem = page_data(json!([row(&json!({})), row(&json!({ "steady": 1 }))])).unwrap_err();
        assert!(problem.contains("`rows[1].steady` is 1"), "{problem}");
        let problem = page_data(json!({ "axes": ["x"], "rows": [row(&json!({}))] })).unwrap_err();
        assert!(problem.contains("`rows[0].x` is missing"), "{problem}");
    }
}
