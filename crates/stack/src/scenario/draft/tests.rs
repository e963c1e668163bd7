use super::*;
use proptest::prelude::*;
use serde_json::json;

const TOML: &str = r#"seed = 7

[device]
capacity = "8 MiB"
pages_per_block = 32
spare_factor = 0.2

[ftl.victim]
policy = "d_choices"
choices = 4

[[log]]
segment_size = "1 MiB"

[workload]
kind = "uniform"
"#;

fn draft() -> Draft {
    Draft::from_toml(TOML, "a.toml").unwrap()
}

fn error(text: &str) -> String {
    Draft::from_toml(text, "a.toml").and_then(|draft| draft.scenario()).unwrap_err().to_string()
}

#[test]
fn errors_name_file_line_column_key_and_choices() {
    let unknown = error(&TOML.replace("capacity", "capcity"));
    assert!(
        unknown.starts_with("a.toml:4:1: device.capcity: unknown field `capcity`, expected one of"),
        "{unknown}"
    );
    assert!(unknown.contains("`raw_capacity`"), "{unknown}");
    let kind = error(&TOML.replace("seed = 7", "seed = \"x\""));
    assert!(kind.starts_with("a.toml:1:1: seed: invalid type: string \"x\""), "{kind}");
    let policy = error(&TOML.replace("d_choices", "greddy"));
    assert!(policy.starts_with("a.toml:"), "{policy}");
    assert!(policy.contains("greddy") && policy.contains("fifo"), "{policy}");
    let syntax = error(&TOML.replace("\"8 MiB\"", "8 MiB"));
    assert!(syntax.starts_with("a.toml:4:"), "{syntax}");
}

#[test]
fn error_found_later_is_explained_with_its_line() {
    let error = draft().explain(&ConfigError::new("ftl.victim.choices", "is bad"));
    assert_eq!(error.to_string(), "a.toml:10:1: ftl.victim.choices: is bad");
    assert_eq!(error.excerpt.unwrap(), "   |\n10 | choices = 4\n   | ^^^^^^^");
    let inside = draft().explain(&ConfigError::new("log[0].placement", "is bad"));
    assert_eq!(inside.to_string(), "a.toml:12:1: log[0].placement: is bad");
}

#[test]
fn key_set_by_hand_replaces_equivalent_keys() {
    let mut draft = draft();
    draft.set("device.load", json!(0.7)).unwrap();
    assert_eq!(draft.get("device.spare_factor"), None);
    draft.set("trace", json!({"path": "x"})).unwrap();
    assert_eq!(draft.get("workload"), None);
    draft.set("trace.format", json!("msr")).unwrap();
    draft.set("device.alpha", json!(1.5)).unwrap();
    assert_eq!(draft.get("device.load"), Some(&json!(0.7)), "two by hand stay a contradiction");
}

#[test]
fn setting_writer_of_tenant_replaces_its_other_writer() {
    let text = "[device]\ncapacity = 1\n[[tenant]]\nworkload = { kind = \"zipf\", exponent = 0.9 }\n[[tenant]]\n[tenant.trace]\npath = \"t\"\n";
    let mut draft = Draft::from_toml(text, "s.toml").unwrap();
    draft.set("tenant[0].trace.path", json!("u")).unwrap();
    assert_eq!(draft.value()["tenant"][0], json!({ "trace": { "path": "u" } }));
    draft.set("tenant[1].workload", json!("uniform")).unwrap();
    assert_eq!(draft.value()["tenant"][1], json!({ "workload": { "kind": "uniform" } }));
    draft.set("workload", json!("uniform")).unwrap();
    assert_eq!(draft.get("tenant").map(|tenants| tenants.as_array().unwrap().len()), Some(2), "set by hand");
    let mut draft = Draft::from_toml(text, "s.toml").unwrap();
    draft.set("workload", json!("uniform")).unwrap();
    assert_eq!(draft.get("tenant"), None);
}

#[test]
fn setting_another_kind_removes_settings_of_the_former() {
    let mut draft = draft();
    draft.set("ftl.victim.policy", json!("greedy")).unwrap();
    assert_eq!(draft.get("ftl.victim"), Some(&json!({"policy": "greedy"})));
    draft.set("ftl.victim", json!("d_choices")).unwrap();
    draft.set("ftl.victim.choices", json!(3)).unwrap();
    assert_eq!(draft.get("ftl.victim"), Some(&json!({"policy": "d_choices", "choices": 3})));
    draft.set("log.0.trim", json!(false)).unwrap();
    assert_eq!(draft.get("log[0].trim"), Some(&json!(false)));
}

#[test]
fn key_without_target_is_error() {
    for key in ["", ".", "log[1].trim", "seed.x", "[[", "log[x", "device..x"] {
        assert!(
            draft().set(key, json!(1)).is_err()
                || draft().set(key, json!(1)).is_ok_and(|()| {
                    let mut draft = draft();
                    draft.set(key, json!(1)).unwrap();
                    draft.scenario().is_err()
                }),
            "{key}"
        );
    }
    let mut draft = draft();
    draft.set("device.capcity", json!(1)).unwrap();
    let error = draft.scenario().unwrap_err();
    assert!(error.location.is_none() && error.to_string().contains("device.capcity"), "{error}");
    assert!(draft.unset("device.channels").is_err());
}

#[test]
fn result_file_reads_as_its_scenario() {
    let scenario = draft().scenario().unwrap();
    let json = json!({"version": "0", "scenario": scenario}).to_string();
    assert_eq!(Draft::from_json(&json, "r.json").unwrap().scenario().unwrap(), scenario);
    let broken = Draft::from_json("{\"a\":", "r.json").unwrap_err().to_string();
    assert!(broken.starts_with("r.json:1:5: this is no JSON"), "{broken}");
}

#[test]
fn value_text_is_toml_or_bare_word() {
    assert_eq!(parse_value("4"), Ok(json!(4)));
    assert_eq!(parse_value("18446744073709551615"), Ok(json!(u64::MAX)));
    assert_eq!(parse_value("greedy"), Ok(json!("greedy")));
    assert_eq!(parse_value("8 GiB"), Ok(json!("8 GiB")));
    assert_eq!(parse_value("1\nother = 2"), Ok(json!("1\nother = 2")));
    assert!(parse_value("[1,").is_err());
    assert!(parse_value("").is_err());
}

proptest! {
    /// Any damaged file gives a scenario or an error, never a panic.
    #[test]
    fn mutated_files_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, ".{0,4}"), 1..4)) {
        let mut text = TOML.to_owned();
        for (at, removed, inserted) in edits {
            let start = floor_char_boundary(&text, at.index(text.len() + 1));
            let end = floor_char_boundary(&text, start + removed).max(start);
            text.replace_range(start..end, &inserted);
        }
        let _ = Draft::from_toml(&text, "a.toml").and_then(|draft| draft.scenario());
        let _ = Draft::from_json(&text, "a.json");
    }

    #[test]
    fn keys_and_values_set_by_hand_never_panic(key in "[a-z.\\[\\]0-9]{0,12}|device\\.[a-z_]{0,8}|log\\[[0-9]{0,2}\\]?\\.?[a-z]{0,3}", value in ".{0,12}") {
        let mut draft = draft();
        if let Ok(value) = parse_value(&value) {
            let _ = draft.set(&key, value);
        }
        let _ = draft.unset(&key);
        let _ = draft.scenario();
    }
}

#[test]
fn replacing_writer_removes_name_that_describes_it() {
    let text = "name = \"hot pages\"\n[workload]\nkind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\n";
    let name_after = |changes: &[(&str, Value)]| {
        let mut draft = Draft::from_toml(text, "s.toml").unwrap();
        changes.iter().for_each(|(key, value)| draft.set(key, value.clone()).unwrap());
        draft.get("name").cloned()
    };
    let named = Some(json!("hot pages"));
    assert_eq!(name_after(&[("seed", json!(2))]), named);
    assert_eq!(name_after(&[("workload.hot_writes", json!(0.8))]), named);
    assert_eq!(name_after(&[("workload.kind", json!("hot_cold"))]), named);
    assert_eq!(name_after(&[("workload.kind", json!("uniform"))]), None);
    assert_eq!(name_after(&[("workload", json!({ "kind": "uniform" }))]), None);
    assert_eq!(name_after(&[("trace.path", json!("t.csv"))]), None);
    assert_eq!(name_after(&[("name", json!("mine")), ("trace.path", json!("t.csv"))]), Some(json!("mine")));
}
