//! Drive compared with its lower bound, with all placements and victim policies.

use super::Form::{List, Number, NumberIfAny, Text, TextIfAny};
use super::{Kind, check, check_all, has, shortened};
use serde_json::Value;

pub const KIND: Kind = Kind {
    name: "limit",
    what: "drive beside its limit",
    made_by: "`wearwell limit --output LIMIT.json`",
    is_it: |value| has(value, &["lower_bound", "least_rewrites", "rows"]),
    shown,
    scripts: &[include_str!("../../assets/kinds/limit.js")],
};

fn shown(value: Value) -> Result<Value, String> {
    let figures = [
        ("version", Text),
        ("replicas", Number),
        ("write_amplification", NumberIfAny),
        ("lower_bound", Number),
        ("host_pages", Number),
        ("least_rewrites", Number),
        ("open_share", NumberIfAny),
        ("warnings", List),
    ];
    check(&value, "", &figures)?;
    match &value["foreseeing"] {
        Value::Null => {}
        best @ Value::Object(_) => {
            let fields = [("placement", Text), ("victim", Text), ("write_amplification", Number)];
            check(best, "foreseeing", &fields)?;
        }
        other => return Err(format!("`foreseeing` is {}, and must be an object or null", shortened(other))),
    }
    let fields = [
        ("placement", Text),
        ("victim", Text),
        ("write_amplification", NumberIfAny),
        ("write_amplification_ci95", NumberIfAny),
        ("above_lower_bound", NumberIfAny),
        ("above_foreseeing", NumberIfAny),
        ("lost_by_placement", NumberIfAny),
        ("lost_by_victim", NumberIfAny),
        ("lost_by_block_size", NumberIfAny),
        ("problem", TextIfAny),
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
            "above_lower_bound": 1.0, "above_foreseeing": 0.5, "lost_by_placement": 0.4, "lost_by_victim": 0.1,
            "lost_by_block_size": 0.5, "problem": null,
        });
        let good = json!({
            "version": "0.1.0", "replicas": 3, "write_amplification": 2.0, "lower_bound": 1.0, "host_pages": 100,
            "least_rewrites": 0, "open_share": 1.0, "warnings": [], "rows": [row], "scenario": {},
            "foreseeing": { "placement": "death_windows", "victim": "greedy", "write_amplification": 1.5 },
        });
        assert!((KIND.is_it)(&good) && shown(good.clone()).is_ok());
        for (place, value, expected) in [
            ("/lower_bound", json!(null), "`lower_bound` is null, and must be a number"),
            ("/foreseeing", json!(3), "`foreseeing` is 3, and must be an object or null"),
            ("/foreseeing/victim", json!(3), "`foreseeing.victim` is 3, and must be a text"),
            ("/rows/0/lost_by_victim", json!("x"), "`rows[0].lost_by_victim` is \"x\""),
            ("/rows", json!({}), "`rows` is no list"),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(place).unwrap() = value;
            let problem = shown(bad).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
