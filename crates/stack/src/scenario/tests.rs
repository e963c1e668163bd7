//! Invariants of all kinds of layers, and refused combinations.

use super::Scenario;
use super::resolve::ResolvedScenario;
use crate::layers::{
    self, FEATURE_CONFLICTS, FEATURES, FTL_ALIASES, FTLS, Feature, FeatureConflict, FtlConfig, LAYER_ALIASES,
    LAYERS, LayerConfig, PageMap, structures,
};
use schemars::JsonSchema;
use serde_json::{Value, json};
use wearwell_base::config::{ConfigError, Entry};

/// Builds a scenario with this FTL and these layers on it.
fn scenario(ftl: &Value, layers: &Value) -> Result<Scenario, ConfigError> {
    Scenario::read(&json!({
        "device": { "blocks_per_plane": 4000, "pages_per_block": 64, "spare_factor": 0.3 },
        "ftl": ftl,
        "log": layers,
        "workload": { "kind": "uniform" },
    }))
}

/// Resolves a scenario and returns its FTL as results contain it.
fn resolve_ftl(ftl: Value) -> Result<Value, ConfigError> {
    let resolved = ResolvedScenario::of(scenario(&ftl, &json!([]))?)?;
    Ok(serde_json::to_value(&resolved.scenario.ftl).unwrap())
}

/// Resolves a scenario with one layer on a plain FTL and returns the layer as results contain it.
fn resolve_layer(layer: Value) -> Result<Value, ConfigError> {
    let resolved = ResolvedScenario::of(scenario(&json!({}), &json!([layer]))?)?;
    Ok(serde_json::to_value(&resolved.scenario.log[0]).unwrap())
}

fn error_text(outcome: Result<Value, ConfigError>) -> String {
    outcome.expect_err("a refusal").to_string()
}

/// Returns the FTLs that a workload can write to.
fn ftls() -> impl Iterator<Item = &'static Entry> {
    let writable = layers::ftls().filter(|(_, properties)| properties.map != PageMap::Absent);
    writable.map(|(entry, _)| entry)
}

fn smallest_layer(name: &str) -> Value {
    let mut layer = json!({ "structure": name });
    if name == "log" {
        layer["segment_size"] = json!("1 MiB");
    }
    layer
}

#[test]
fn resolved_scenario_resolves_to_itself() {
    for entry in ftls() {
        let first = resolve_ftl(json!(entry.name)).unwrap();
        assert_eq!(resolve_ftl(first.clone()).unwrap(), first);
        assert_eq!(resolve_ftl(json!({ "structure": entry.name })).unwrap(), first);
        assert_eq!(resolve_ftl(json!({ "structure": { "kind": entry.name } })).unwrap(), first);
    }
    for entry in LAYERS {
        let first = resolve_layer(smallest_layer(entry.name)).unwrap();
        assert_eq!(resolve_layer(first.clone()).unwrap(), first);
        let mut table = smallest_layer(entry.name);
        table["structure"] = json!({ "kind": entry.name });
        assert_eq!(resolve_layer(table).unwrap(), first);
    }
}

#[test]
fn alias_is_read_and_written_as_main_name() {
    for (alias, name) in FTL_ALIASES {
        assert_eq!(resolve_ftl(json!(alias)).unwrap(), resolve_ftl(json!(name)).unwrap());
    }
    for (alias, name) in LAYER_ALIASES {
        let of = |name: &str| LayerConfig::read(json!({ "structure": name })).unwrap();
        assert_eq!(of(alias), of(name));
    }
    assert_eq!(resolve_ftl(json!("mu-ftl")).unwrap()["structure"]["kind"], "mu_ftl");
}

#[test]
fn ftls_with_map_in_flash_differ_only_in_settings() {
    let settings = |ftl: Value| {
        let mut structure = resolve_ftl(ftl).unwrap()["structure"].take();
        structure["kind"] = Value::Null;
        structure
    };
    let gecko = json!({
        "kind": "dftl", "eager": false, "validity": "gecko", "durability": "deferred",
        "cleans_metadata": false, "checkpoints": true, "cache_size": "1992 B",
    });
    assert_eq!(settings(json!({ "structure": gecko })), settings(json!("gecko")));
    assert_eq!(settings(json!("gecko"))["cache_entries"], 249, "a 717th of 179 200");
    assert_eq!(settings(json!("ib_ftl"))["dirty_share"], 0.1);
}

#[test]
fn setting_without_effect_is_refused_by_name() {
    for (key, value) in [
        ("cached_nodes", json!({ "kind": "dftl", "cached_nodes": 3 })),
        ("skips_older_pages", json!({ "kind": "lazyftl", "skips_older_pages": false })),
        ("dirty_share", json!({ "kind": "lazyftl", "dirty_share": 0.0 })),
        ("cache_size", json!({ "kind": "gecko", "cache_size": "1 MiB", "cache_entries": 7 })),
        ("cache_size", json!({ "kind": "gecko", "cache_size": "4 B" })),
        ("log_share", json!({ "kind": "fast", "log_share": 1.5 })),
        ("cach_entries", json!({ "kind": "gecko", "cach_entries": 3 })),
        ("zone_blocks", json!({ "kind": "gecko", "zone_blocks": 3 })),
    ] {
        let refused = error_text(resolve_ftl(json!({ "structure": value })));
        assert!(refused.starts_with(&format!("ftl.structure.{key}: ")), "{refused}");
    }
}

/// Returns the keys of every kind, from its schema.
fn keys_of_kinds<T: JsonSchema>() -> Vec<Vec<String>> {
    let schema = schemars::schema_for!(T).to_value();
    let forms = schema["anyOf"].as_array().unwrap().iter();
    let tables = forms.filter_map(|form| form["properties"].as_object());
    tables.map(|properties| properties.keys().cloned().collect()).collect()
}

/// Returns a value that is the default of no kind.
fn non_default_value(key: &str) -> Value {
    match key {
        "victim" => json!("fifo"),
        "placement" => json!("single"),
        "reclaim" => json!("in_place"),
        "copy_order" => json!("random"),
        "directory" => json!("page"),
        "evict" => json!(true),
        "dedup" => json!("inline"),
        "metadata" => json!("f2fs"),
        "align" => json!(false),
        "segment_size" => json!("1 MiB"),
        "on" | "name" => json!("x"),
        "share" | "spare_factor" => json!(0.2),
        _ => json!(7),
    }
}

/// Every kind refuses all keys that it does not have; the error gives the kind's name and its keys.
#[test]
fn every_kind_accepts_its_keys_and_refuses_others() {
    let mut known: Vec<String> = keys_of_kinds::<FtlConfig>().concat();
    known.extend(keys_of_kinds::<LayerConfig>().concat());
    known.sort();
    known.dedup();
    let check_refusals = |own_keys: &[String],
                          name: &str,
                          read: &dyn Fn(Value) -> Result<(), ConfigError>| {
        for key in known.iter().filter(|key| *key != "structure") {
            let mut table = json!({ "structure": name });
            table[key] = non_default_value(key);
            let outcome = read(table);
            if own_keys.contains(key) {
                assert!(!outcome.is_err_and(|error| error.problem.contains("means nothing")), "{name} {key}");
                continue;
            }
            let error = outcome.expect_err("a key of others");
            assert_eq!(error.key, *key, "{name}: {error}");
            let names_both =
                error.problem.contains(&format!("structure = \"{name}\"; leave it out (its keys are"))
                    && own_keys.iter().all(|key| error.problem.contains(key.as_str()));
            assert!(names_both || error.problem.starts_with("belongs to"), "{error}");
        }
    };
    for (own_keys, entry) in keys_of_kinds::<FtlConfig>().iter().zip(FTLS) {
        check_refusals(own_keys, entry.name, &|table| FtlConfig::read(table).map(drop));
    }
    for (own_keys, entry) in keys_of_kinds::<LayerConfig>().iter().zip(LAYERS) {
        check_refusals(own_keys, entry.name, &|table| LayerConfig::read(table).map(drop));
    }
}

#[test]
fn key_with_default_value_is_accepted_by_every_kind() {
    let plain = json!({
        "victim": { "policy": "greedy" }, "placement": "double", "reclaim": "free_pool", "copy_order": "oldest",
        "directory": "auto", "evict": false, "free_blocks_low": null, "dedup": "none",
    });
    let with = |name: &str| {
        let mut table = plain.clone();
        table["structure"] = json!(name);
        table
    };
    for entry in ftls().filter(|entry| entry.name != "log") {
        assert_eq!(resolve_ftl(with(entry.name)).unwrap(), resolve_ftl(json!(entry.name)).unwrap());
    }
    assert_eq!(resolve_layer(with("lsm")).unwrap(), resolve_layer(json!({ "structure": "lsm" })).unwrap());
}

#[test]
fn kind_on_wrong_base_is_refused() {
    let ftl = error_text(resolve_ftl(json!("lsm")));
    let kinds: Vec<&str> = FTLS.iter().map(|entry| entry.name).collect();
    assert_eq!(ftl, format!("ftl.structure: is \"lsm\"; an FTL can be {}", kinds.join(", ")));
    let layer = error_text(resolve_layer(json!({ "structure": "gecko" })));
    assert_eq!(layer, "log[0].structure: is \"gecko\", which only the FTL can be; see docs/scenario.md");
    for (value, part) in [
        (json!("gekko"), "unknown variant `gekko`, expected one of `log`, `zones`, `dftl`"),
        (json!({ "kind": 3 }), "invalid type: 3, expected the name of a structure as `kind`"),
        (json!({ "size": 3 }), "missing field `kind`"),
        (json!(3), "invalid type: 3, expected the name of a structure, or a table"),
    ] {
        let error = error_text(resolve_ftl(json!({ "structure": value })));
        assert!(error.starts_with("ftl.structure: ") && error.contains(part), "{error}");
    }
    assert!(error_text(resolve_ftl(json!(3))).starts_with("ftl: invalid type: 3"));
    assert!(error_text(resolve_layer(json!("lsm"))).starts_with("log[0]: invalid type: \"lsm\""));
    let typo = error_text(resolve_layer(json!({ "segmnt_size": 3 })));
    assert!(typo.starts_with("log[0].segmnt_size: unknown field `segmnt_size`"), "{typo}");
}

#[test]
fn refusals_are_between_different_features_and_give_reasons() {
    for FeatureConflict { feature, with, reason } in FEATURE_CONFLICTS {
        let name = feature.name();
        assert!(!with.is_empty() && with.iter().all(|other| other != feature), "{name} with {with:?}");
        assert!(reason.split(' ').count() > 4, "{name}: {reason}");
    }
}

#[test]
fn feature_names_are_distinct() {
    for (at, feature) in FEATURES.iter().enumerate() {
        let name = feature.name();
        assert!(FEATURES[..at].iter().all(|other| other.name() != name), "{name} twice");
        assert!(structures().all(|entry| entry.name != name), "{name} is a kind, too");
    }
}

/// Documents use the names, and the code uses the variants.
#[test]
fn feature_variant_is_its_name_in_camel_case() {
    for feature in FEATURES {
        assert_eq!(format!("{feature:?}").to_lowercase(), feature.name().replace('_', ""));
    }
}

#[test]
fn conflict_drops_optional_feature_and_refuses_required_feature() {
    let store = |keys: &str| {
        let text = format!(
            "device = {{ capacity = '64 MiB', spare_factor = 0.2, pages_per_block = 32 }}\nworkload = {{ kind = 'uniform' }}\n[ftl]\n{keys}"
        );
        let scenario: Scenario = toml::from_str(&text).unwrap();
        ResolvedScenario::of(scenario).map(|resolved| resolved.ftl.features.has(Feature::BlockDirectory))
    };
    let exact = "placement = 'single'\nreclaim = 'in_place'\n";
    assert_eq!(store(exact), Ok(true));
    assert_eq!(store(&format!("{exact}directory = 'block'")), Ok(true));
    assert_eq!(store(&format!("{exact}directory = 'page'")), Ok(false));
    assert_eq!(store("placement = 'single'"), Ok(false));
    let refused = store("placement = 'single'\ndirectory = 'block'").unwrap_err();
    assert_eq!(
        (refused.key.as_str(), refused.problem.ends_with("the reclaim needs page")),
        ("ftl.directory", true)
    );
}
