//! Points of a sweep.

use super::Form::{Number, NumberIfAny, Truth};
use super::{Kind, check, has, shortened};
use crate::MOST_BYTES;
use serde_json::{Map, Value, json};

/// List of rows as in `--output`, or an object with `axes`, `rows` and further fields.
pub const KIND: Kind = Kind {
    name: "sweep",
    what: "table of a sweep",
    made_by: "`wearwell sweep --output TABLE.json`",
    is_it: |value| match value {
        Value::Array(rows) => rows.first().is_some_and(|row| has(row, &["replicas", "steady"])),
        other => has(other, &["axes", "rows"]),
    },
    shown,
    scripts: &[include_str!("../../assets/kinds/sweep.js")],
};

/// Maximum length of a text in a row, such as warnings, in characters.
const MOST_LETTERS: usize = 1000;

fn shown(value: Value) -> Result<Value, String> {
    let mut whole = match value {
        Value::Array(_) => json!({ "rows": value }),
        object => object,
    };
    let rows = whole["rows"].as_array().cloned().ok_or("`rows` is no list")?;
    for (at, row) in rows.iter().enumerate() {
        let place = format!("rows[{at}]");
        check(row, &place, &[("replicas", Number), ("write_amplification", NumberIfAny), ("steady", Truth)])?;
    }
    let rows: Vec<&Map<String, Value>> = rows.iter().filter_map(Value::as_object).collect();
    let axes = match whole.get("axes") {
        Some(axes) => named(axes, &rows)?,
        None => guessed(&rows),
    };
    let mut columns = axes.clone();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let mut room = MOST_BYTES;
    let mut kept: Vec<Vec<Value>> = Vec::new();
    for row in &rows {
        let cells: Vec<Value> = columns.iter().map(|name| cell(row.get(name))).collect();
        let size = json!(cells).to_string().len() + 1;
        if size > room {
            break;
        }
        room -= size;
        kept.push(cells);
    }
    whole["left_out"] = json!(rows.len() - kept.len());
    (whole["axes"], whole["columns"], whole["rows"]) = (json!(axes), json!(columns), json!(kept));
    Ok(whole)
}

/// Returns the given axes, which every row must have.
fn named(axes: &Value, rows: &[&Map<String, Value>]) -> Result<Vec<String>, String> {
    let names = axes.as_array().and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let names = names.ok_or_else(|| format!("`axes` is {}, and must be a list of texts", shortened(axes)))?;
    for name in &names {
        if let Some(at) = rows.iter().position(|row| !row.contains_key(*name)) {
            return Err(format!("`rows[{at}].{name}` is missing"));
        }
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Guesses the varied columns of a table without axes. Keys of a scenario contain a dot after their table; of other
/// columns only percentiles contain one. Without any such key, the seed was varied.
pub fn guessed(rows: &[&Map<String, Value>]) -> Vec<String> {
    let Some(first) = rows.first() else { return Vec::new() };
    let is_percentile = |name: &str| {
        let head = name.split(['.', '[']).next().unwrap_or_default();
        head.rsplit_once("_p").is_some_and(|(_, digits)| digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let is_key = |name: &&String| name.contains(['.', '[']) && !is_percentile(name);
    let keys: Vec<String> = first.keys().filter(is_key).cloned().collect();
    if keys.is_empty() && first.contains_key("seed") { vec!["seed".to_owned()] } else { keys }
}

fn cell(value: Option<&Value>) -> Value {
    match value {
        None => Value::Null,
        Some(Value::String(text)) => match text.char_indices().nth(MOST_LETTERS) {
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
        let found = shown(json!([row(&json!({ "ftl.victim": "greedy", "log[0].trim": true }))])).unwrap();
        assert_eq!(found["axes"], json!(["ftl.victim", "log[0].trim"]));
        assert_eq!(found["rows"][0][0], json!("greedy"));
        assert_eq!(shown(json!([row(&json!({}))])).unwrap()["axes"], json!(["seed"]));
    }

    #[test]
    fn omitted_rows_are_counted() {
        let rows: Vec<Value> = (0..40_000).map(|at| row(&json!({ "a.b": at }))).collect();
        let found = shown(json!({ "axes": ["a.b"], "rows": rows })).unwrap();
        let kept = found["rows"].as_array().unwrap().len();
        assert_eq!(kept + found["left_out"].as_u64().unwrap() as usize, 40_000);
        assert!(found.to_string().len() < 2 * MOST_BYTES && kept > 1000);
    }

    #[test]
    fn damaged_sweep_is_refused_by_field() {
        let problem = shown(json!([row(&json!({})), row(&json!({ "steady": 1 }))])).unwrap_err();
        assert!(problem.contains("`rows[1].steady` is 1"), "{problem}");
        let problem = shown(json!({ "axes": ["x"], "rows": [row(&json!({}))] })).unwrap_err();
        assert!(problem.contains("`rows[0].x` is missing"), "{problem}");
    }
}
