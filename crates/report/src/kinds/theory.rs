//! Results of theory.

use super::FieldType::{Number, Object, OptionalNumber, Text};
use super::{Kind, check, check_all, has_keys};
use serde_json::{Value, json};

pub const KIND: Kind = Kind {
    name: "theory",
    title: "answer",
    command: "`wearwell theory ... --format json`",
    matches: |value| has_keys(value, &["model", "parameters"]) && value["mode"] == "theory",
    page_data,
    scripts: &[include_str!("../../assets/kinds/theory.js")],
};

/// Maximum number of points in a figure.
const MAX_POINTS: usize = 1000;

/// Lists with one element per number of valid pages, or per class.
const DISTRIBUTIONS: [&str; 3] = ["valid_pages", "victim_valid_pages", "moved_shares"];

fn page_data(mut value: Value) -> Result<Value, String> {
    check(&value, "", &[("version", Text), ("model", Text), ("parameters", Object)])?;
    if value.get("write_amplification").is_some() {
        check(&value, "", &[("write_amplification", OptionalNumber)])?;
    }
    for name in DISTRIBUTIONS.iter().chain(&["scan"]) {
        let Some(list) = value.get(*name) else { continue };
        let numbers = list.as_array().filter(|list| list.iter().all(Value::is_number));
        numbers.ok_or_else(|| format!("`{name}` is no list of numbers"))?;
    }
    for (name, abscissa) in [("path", "drive_writes"), ("curve", "spare_factor")] {
        if value.get(name).is_some() {
            check_all(&value, name, &[(abscissa, Number), ("write_amplification", OptionalNumber)])?;
            thin(&mut value[name]);
        }
    }
    if value.get("classes").is_some() {
        check_all(&value, "classes", &[("write_amplification", OptionalNumber)])?;
    }
    for name in DISTRIBUTIONS {
        merge_fractions(&mut value, name);
    }
    Ok(value)
}

/// Thins out a list to the maximum number of points.
fn thin(list: &mut Value) {
    let Some(points) = list.as_array_mut() else { return };
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let mut at = 0;
    points.retain(|_| {
        at += 1;
        (at - 1) % step == 0 || at - 1 == last
    });
}

/// Sums groups of neighbouring fractions if there are many fractions; `<name>_width` is the size of a group.
fn merge_fractions(value: &mut Value, name: &str) {
    let Some(shares) = value.get(name).and_then(Value::as_array) else { return };
    let width = shares.len().div_ceil(MAX_POINTS).max(1);
    let sum = |group: &[Value]| group.iter().filter_map(Value::as_f64).sum::<f64>();
    let sums: Vec<f64> = shares.chunks(width).map(sum).collect();
    value[name] = json!(sums);
    value[format!("{name}_width")] = json!(width);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(more: &Value) -> Value {
        let mut value = json!({ "version": "0.1.0", "mode": "theory", "model": "single", "parameters": {} });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    }

    #[test]
    fn distributions_are_merged_without_loss() {
        let shares = vec![1.0 / 2048.0; 2048];
        let found = page_data(answer(&json!({ "valid_pages": shares }))).unwrap();
        let list = found["valid_pages"].as_array().unwrap();
        assert_eq!((list.len(), found["valid_pages_width"].as_u64()), (683, Some(3)));
        let sum: f64 = list.iter().filter_map(Value::as_f64).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn long_paths_keep_their_ends() {
        let path: Vec<Value> =
            (0..2500).map(|at| json!({ "drive_writes": at, "write_amplification": 1.0 })).collect();
        let found = page_data(answer(&json!({ "path": path }))).unwrap();
        let path = found["path"].as_array().unwrap();
        assert!(
            path.len() <= 1001
                && path[0]["drive_writes"] == 0
                && path[path.len() - 1]["drive_writes"] == 2499
        );
    }

    #[test]
    fn damaged_theory_is_refused_by_field() {
        let damaged = [
            (json!({ "parameters": [] }), "`parameters` is []"),
            (json!({ "valid_pages": [1, "x"] }), "`valid_pages` is no list of numbers"),
            (json!({ "path": [{ "drive_writes": null }] }), "`path[0].drive_writes` is null"),
            (json!({ "write_amplification": "x" }), "`write_amplification` is \"x\""),
        ];
        for (more, expected) in damaged {
            let problem = page_data(answer(&more)).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
