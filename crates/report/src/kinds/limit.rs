//! Drive compared with its lower bound, with all placements and victim policies.

use super::FieldType::{List, Number, OptionalNumber, OptionalText, Text};
use super::{Kind, check, check_all, excerpt, has_keys};
use serde_json::Value;

pub const KIND: Kind = Kind {
    name: "limit",
    title: "drive beside its limit",
    command: "`wearwell limit --output LIMIT.json`",
    matches: |value| has_keys(value, &["lower_bound", "min_rewrites", "rows"]),
    page_data,
    scripts: &[include_str!("../../assets/kinds/limit.js")],
};

fn page_data(value: Value) -> Result<Value, String> {
    let figures = [
        ("version", Text),
        ("replicas", Number),
        ("write_amplification", OptionalNumber),
        ("lower_bound", Number),
        ("host_pages", Number),
        ("min_rewrites", Number),
        ("open_share", OptionalNumber),
        ("warnings", List),
    ];
    check(&value, "", &figures)?;
    match &value["offline"] {
        Value::Null => {}
        best @ Value::Object(_) => {
            let fields = [("placement", Text), ("victim", Text), ("write_amplification", Number)];
            check(best, "offline", &fields)?;
        }
        other => return Err(format!("`offline` is {}, and must be an object or null", excerpt(other))),
    }
    let fields = [
        ("placement", Text),
        ("victim", Text),
        ("write_amplification", OptionalNumber),
        ("write_amplification_ci95", OptionalNumber),
        ("above_lower_bound", OptionalNumber),
        ("above_offline", OptionalNumber),
        ("lost_by_placement", OptionalNumber),
        ("lost_by_victim", OptionalNumber),
        ("lost_by_block_size", OptionalNumber),
        ("problem", OptionalText),
    ];
    check_all(&value, "rows", &fields)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn damaged_limit_is_refused_by_field() {
        let row = json!({
            "placement": "double", "victim": "greedy", "write_amplification": 2.0, "write_amplification_ci95": null,
            "above_lower_bound": 1.0, "above_offline": 0.5, "lost_by_placement": 0.4, "lost_by_victim": 0.1,
            "lost_by_block_size": 0.5, "problem": null,
        });
        let good = json!({
            "version": "0.1.0", "replicas": 3, "write_amplification": 2.0, "lower_bound": 1.0, "host_pages": 100,
            "min_rewrites": 0, "open_share": 1.0, "warnings": [], "rows": [row], "scenario": {},
            "offline": { "placement": "death_windows", "victim": "greedy", "write_amplification": 1.5 },
        });
        assert!((KIND.matches)(&good) && page_data(good.clone()).is_ok());
        for (path, value, expected) in [
            ("/lower_bound", json!(null), "`lower_bound` is null, and must be a number"),
            ("/offline", json!(3), "`offline` is 3, and must be an object or null"),
            ("/offline/victim", json!(3), "`offline.victim` is 3, and must be a text"),
            ("/rows/0/lost_by_victim", json!("x"), "`rows[0].lost_by_victim` is \"x\""),
            ("/rows", json!({}), "`rows` is no list"),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(path).unwrap() = value;
            let problem = page_data(bad).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
