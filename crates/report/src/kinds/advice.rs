//! Advice: changes to a stack, and their savings.

use super::Form::{List, Number, NumberIfAny, Object, Text, TextIfAny, Truth};
use super::{Kind, check, check_all, has, shortened};
use crate::MOST_BYTES;
use serde_json::{Value, json};

pub const KIND: Kind = Kind {
    name: "advice",
    what: "advice",
    made_by: "`wearwell advise --output ADVICE.json`",
    is_it: |value| has(value, &["base", "changes", "combinations"]),
    shown,
    scripts: &[include_str!("../../assets/kinds/advice.js")],
};

fn shown(mut value: Value) -> Result<Value, String> {
    check(&value, "", &[("version", Text), ("replicas", Number), ("base", Object), ("skipped", List)])?;
    figures(&value["base"], "base")?;
    for list in ["changes", "combinations"] {
        check_all(
            &value,
            list,
            &[("description", Text), ("verdict", Text), ("prices", List), ("options", List)],
        )?;
        for (at, tried) in value[list].as_array().into_iter().flatten().enumerate() {
            let place = format!("{list}[{at}]");
            figures(tried, &place)?;
            saving(&tried["saving"], &format!("{place}.saving"))?;
        }
    }
    check_all(&value, "skipped", &[("description", Text), ("reason", Text)])?;
    // Skipped changes are the longest list and the least informative.
    let size = value.to_string().len();
    if size > MOST_BYTES {
        let skipped = value["skipped"].take();
        value["skipped"] = json!([]);
        value["skipped_left_out"] = json!(skipped.as_array().map_or(0, Vec::len));
    }
    Ok(value)
}

fn figures(value: &Value, place: &str) -> Result<(), String> {
    let fields =
        [("write_amplification", NumberIfAny), ("steady", Truth), ("problem", TextIfAny), ("layers", List)];
    check(value, place, &fields)
}

fn saving(value: &Value, place: &str) -> Result<(), String> {
    match value {
        Value::Null => Ok(()),
        Value::Object(_) => check(value, place, &[("mean", Number), ("family_half_width", NumberIfAny)]),
        other => Err(format!("`{place}` is {}, and must be an object or null", shortened(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_advice_is_refused_by_field() {
        let base = json!({ "write_amplification": 2.0, "steady": true, "problem": null, "layers": [] });
        let good = json!({
            "version": "0.1.0", "replicas": 5, "base": base, "skipped": [], "combinations": [],
            "changes": [{
                "description": "a", "verdict": "saves", "prices": [], "options": [], "write_amplification": 1.0, "steady": true,
                "problem": null, "layers": [], "saving": { "mean": 0.5, "family_half_width": 0.1 },
            }],
        });
        assert!(shown(good.clone()).is_ok());
        for (place, value, expected) in [
            ("/base/steady", json!(3), "`base.steady` is 3, and must be true or false"),
            ("/changes/0/saving", json!("x"), "`changes[0].saving` is \"x\""),
            ("/changes/0/saving/mean", json!(null), "`changes[0].saving.mean` is null"),
            ("/skipped", json!({}), "`skipped` is {}, and must be a list"),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(place).unwrap() = value;
            let problem = shown(bad).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
