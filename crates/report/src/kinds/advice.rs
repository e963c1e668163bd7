//! Advice: changes to a stack, and their savings.

use super::FieldType::{Bool, List, Number, Object, OptionalNumber, OptionalText, Text};
use super::{Kind, check, check_all, excerpt, has_keys};
use crate::MAX_KIND_BYTES;
use serde_json::{Value, json};

pub const KIND: Kind = Kind {
    name: "advice",
    title: "advice",
    command: "`wearwell advise --output ADVICE.json`",
    matches: |value| has_keys(value, &["base", "changes", "combinations"]),
    page_data,
    scripts: &[include_str!("../../assets/kinds/advice.js")],
};

fn page_data(mut value: Value) -> Result<Value, String> {
    check(&value, "", &[("version", Text), ("replicas", Number), ("base", Object), ("skipped", List)])?;
    figures(&value["base"], "base")?;
    for list in ["changes", "combinations"] {
        check_all(
            &value,
            list,
            &[("description", Text), ("verdict", Text), ("prices", List), ("options", List)],
        )?;
        for (at, trial) in value[list].as_array().into_iter().flatten().enumerate() {
            let path = format!("{list}[{at}]");
            figures(trial, &path)?;
            saving(&trial["saving"], &format!("{path}.saving"))?;
        }
    }
    check_all(&value, "skipped", &[("description", Text), ("reason", Text)])?;
    // The list of skipped changes is the longest and the least informative.
    let size = value.to_string().len();
    if size > MAX_KIND_BYTES {
        let skipped = value["skipped"].take();
        value["skipped"] = json!([]);
        value["skipped_left_out"] = json!(skipped.as_array().map_or(0, Vec::len));
    }
    Ok(value)
}

fn figures(value: &Value, path: &str) -> Result<(), String> {
    let fields = [
        ("write_amplification", OptionalNumber),
        ("steady", Bool),
        ("problem", OptionalText),
        ("layers", List),
    ];
    check(value, path, &fields)
}

fn saving(value: &Value, path: &str) -> Result<(), String> {
    match value {
        Value::Null => Ok(()),
        Value::Object(_) => check(value, path, &[("mean", Number), ("family_half_width", OptionalNumber)]),
        other => Err(format!("`{path}` is {}, and must be an object or null", excerpt(other))),
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
        assert!(page_data(good.clone()).is_ok());
        for (path, value, expected) in [
            ("/base/steady", json!(3), "`base.steady` is 3, and must be true or false"),
            ("/changes/0/saving", json!("x"), "`changes[0].saving` is \"x\""),
            ("/changes/0/saving/mean", json!(null), "`changes[0].saving.mean` is null"),
            ("/skipped", json!({}), "`skipped` is {}, and must be a list"),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(path).unwrap() = value;
            let problem = page_data(bad).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
