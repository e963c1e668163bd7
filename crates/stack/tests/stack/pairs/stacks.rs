//! The scenario that requests two features, and its outcome.

use super::requests::FeatureRequest;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wearwell_engine::config::StoreSize;
use wearwell_engine::layer::Bytes;
use wearwell_engine::placement::Frontiers;
use wearwell_engine::seed::Seed;
use wearwell_engine::units::Lpn;
use wearwell_engine::victim::VictimConfig;
use wearwell_stack::layers::FEATURE_CONFLICTS;
use wearwell_stack::{CustomParts, CustomPlacement, RunError, RunResult, Scenario, build, run_with};

/// Layers to which the features of any log are applied.
pub const TARGET_LAYERS: [&str; 2] = ["ftl", "log"];

/// Outcome of a pair.
#[derive(Debug)]
pub enum Outcome {
    /// The scenario ran to the end, or held data if the calling program supplies it.
    Works(Option<Box<RunResult>>),
    /// A row of the table of refusals applies.
    Refused(usize),
    /// A layer lacks an ability that another layer needs.
    MissingAbility,
    /// One feature is a kind of layer without a setting for the other.
    NoSetting,
    /// Both features are values of one setting.
    Same,
    /// Neither feature applies to this layer.
    NotApplicable,
    /// Any other outcome.
    Failed(String),
}

/// Leaves of nested tables by their paths.
type Leaves = BTreeMap<String, Value>;

fn leaves(text: &str, target: &str) -> Leaves {
    fn add_leaves(path: &str, value: Value, found: &mut Leaves) {
        match value {
            Value::Object(table) => table.into_iter().for_each(|(key, value)| {
                add_leaves(&if path.is_empty() { key } else { format!("{path}.{key}") }, value, found);
            }),
            leaf => drop(found.insert(path.to_owned(), leaf)),
        }
    }
    let upper = if target == "ftl" { "log" } else { "upper" };
    let text = text.replace("AT", target).replace("OVER", upper);
    let mut found = Leaves::new();
    add_leaves("", toml::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}")), &mut found);
    found
}

/// Combines two variants; `None` if they set one key to different values.
fn combine(a: (&FeatureRequest, &str), b: (&FeatureRequest, &str), target: &str) -> Option<Leaves> {
    let mut all = leaves(a.1, target);
    for (key, value) in leaves(b.1, target) {
        if *all.entry(key).or_insert_with(|| value.clone()) != value {
            return None;
        }
    }
    let has_no_cleaning_reports = all.contains_key("unheard");
    for companion in [a.0.companion, b.0.companion] {
        for (key, value) in leaves(companion, target) {
            let is_above = key.starts_with("log.") || key.starts_with("upper.");
            if !(has_no_cleaning_reports && is_above) {
                all.entry(key).or_insert(value);
            }
        }
    }
    Some(all)
}

fn table<'a>(root: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    root.entry(key).or_insert_with(|| json!({})).as_object_mut().expect("a table")
}

fn or_insert(table: &mut Map<String, Value>, key: &str, value: Value) {
    table.entry(key).or_insert(value);
}

fn load() -> Value {
    json!({ "kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2, "read_ratio": 0.2, "trim_ratio": 0.02 })
}

/// Takes the layers above the FTL, from the top, with their defaults.
fn layers(all: &mut Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut found: Vec<Map<String, Value>> = Vec::new();
    for name in ["upper", "log"] {
        let Some(Value::Object(mut layer)) = all.remove(name) else { continue };
        layer.insert("name".into(), name.into());
        let kind = layer.get("structure").and_then(|structure| structure["kind"].as_str()).unwrap_or("log");
        if kind == "log" {
            or_insert(&mut layer, "segment_blocks", 1.into());
            or_insert(&mut layer, "spare_factor", 0.3.into());
        }
        found.push(layer);
    }
    let names: Vec<Value> = found.iter().map(|layer| layer["name"].clone()).chain(["ftl".into()]).collect();
    for (layer, below) in found.iter_mut().zip(names.into_iter().skip(1)) {
        layer.insert("on".into(), below);
    }
    found
}

/// Divides layers between their users and an additional tenant.
fn divide_layers(
    all: &mut Map<String, Value>,
    layers: &mut Vec<Map<String, Value>>,
    shares: &Map<String, Value>,
) {
    let content = all.remove("content");
    let top = layers.first().map_or(json!("ftl"), |layer| layer["name"].clone());
    let tenant = |name: &str, on: Value| {
        let mut tenant = Map::new();
        tenant.extend([("name".into(), name.into()), ("on".into(), on), ("workload".into(), load())]);
        tenant.extend(content.clone().map(|content| ("content".into(), content)));
        tenant
    };
    let mut tenants = vec![tenant("main", top.clone())];
    for (shared, how) in shares {
        let lower = layers.iter_mut().find(|layer| layer["on"] == **shared);
        let lower = lower.unwrap_or(&mut tenants[0]);
        lower.insert("share".into(), 0.5.into());
        let other_name = format!("beside_{shared}");
        if how == "tenant" {
            let mut other = tenant(&other_name, shared.as_str().into());
            other.insert("share".into(), 0.5.into());
            tenants.push(other);
        } else {
            let log = json!({ "name": other_name, "on": shared, "share": 0.5, "segment_blocks": 1, "spare_factor": 0.3 });
            layers.push(log.as_object().expect("a table").clone());
            tenants.push(tenant(&format!("on_{other_name}"), other_name.into()));
        }
    }
    all.insert("tenant".into(), tenants.into_iter().map(Value::Object).collect());
}

/// Returns the scenario with `leaves`.
pub fn scenario(leaves: Leaves, target: &str) -> Value {
    let mut all = Map::new();
    for (path, value) in leaves {
        let keys: Vec<&str> = path.split('.').collect();
        let (last, folders) = keys.split_last().expect("a key");
        let at = folders.iter().fold(&mut all, |at, key| table(at, key));
        at.insert((*last).to_owned(), value);
    }
    let mut shares = all.remove("share").and_then(|shares| shares.as_object().cloned()).unwrap_or_default();
    let (has_no_cleaning_reports, tenant_below) =
        (all.remove("unheard").is_some(), all.remove("tenant_below").is_some());
    let zoned = all.get("ftl").is_some_and(|ftl| ftl["structure"]["kind"] == "zones");
    let has_no_log = !all.contains_key("log") && !all.contains_key("upper");
    if target == "log"
        || shares.contains_key("log")
        || (zoned && has_no_log && !has_no_cleaning_reports && !tenant_below)
    {
        table(&mut all, "log");
    }
    let device = table(&mut all, "device");
    or_insert(device, "blocks_per_plane", 160.into());
    or_insert(device, "pages_per_block", 16.into());
    if !zoned {
        or_insert(device, "spare_factor", 0.3.into());
    }
    let measure = table(&mut all, "measure");
    for (key, drive_writes) in [("warm_up", 0.0), ("drive_writes", 1.0), ("window", 0.5)] {
        or_insert(measure, key, drive_writes.into());
    }
    let mut layers = layers(&mut all);
    if tenant_below && !layers.is_empty() {
        or_insert(&mut shares, "ftl", "tenant".into());
    }
    if shares.is_empty() {
        all.insert("workload".into(), load());
    } else {
        divide_layers(&mut all, &mut layers, &shares);
    }
    all.insert("log".into(), layers.into_iter().map(Value::Object).collect());
    Value::Object(all)
}

/// Runs a scenario, with the parts that the calling program supplies.
pub fn outcome(mut value: Value) -> Outcome {
    let table = value.as_object_mut().expect("a table");
    let holds_data = table.remove("holds_data").is_some();
    let mut ftl = table.get_mut("ftl").and_then(Value::as_object_mut);
    let mut remove_custom = |key: &str, tag: &str| {
        ftl.as_mut().is_some_and(|ftl| {
            let is_custom = ftl.get(key).is_some_and(|part| part[tag] == "own");
            is_custom && ftl.remove(key).is_some()
        })
    };
    let (custom_victim, custom_placement) =
        (remove_custom("victim", "policy"), remove_custom("placement", "kind"));
    if holds_data
        && (custom_victim || custom_placement || table.get("ftl").is_some_and(|ftl| !ftl["dedup"].is_null()))
    {
        return Outcome::Same;
    }
    let scenario = match Scenario::read(&value) {
        Ok(scenario) => scenario,
        Err(error) => return classify_refusal(&error.to_string(), &error.problem),
    };
    let done = catch_unwind(AssertUnwindSafe(|| match holds_data {
        true => run_with_data(scenario).map(|()| None),
        false => {
            run_scenario(&scenario, custom_victim, custom_placement).map(|result| Some(Box::new(result)))
        }
    }));
    match done {
        Ok(Ok(result)) => Outcome::Works(result),
        Ok(Err(RunError::Config(error))) => classify_refusal(&error.to_string(), &error.problem),
        Ok(Err(error)) => Outcome::Failed(error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Outcome::Failed(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

fn classify_refusal(message: &str, problem: &str) -> Outcome {
    if let Some(row) = FEATURE_CONFLICTS.iter().position(|row| row.reason == problem) {
        return Outcome::Refused(row);
    }
    if problem.starts_with("needs ") && problem.contains(" does not have: a layer that ") {
        return Outcome::MissingAbility;
    }
    let has_no_setting =
        problem.starts_with("means nothing with structure") || problem.contains("unknown field");
    if has_no_setting { Outcome::NoSetting } else { Outcome::Failed(message.to_owned()) }
}

/// Writes data of the calling program, and reads it back.
fn run_with_data(mut scenario: Scenario) -> Result<(), RunError> {
    let mut stack = build::<Bytes<8>>(&mut scenario)?;
    let layer = &mut stack.targets[0].layer;
    let count = layer.logical_pages();
    for at in 0..2 * count {
        let page = at.wrapping_mul(7) % count;
        layer.write(&[Lpn(page)], &[Bytes(u64::from(page).to_le_bytes())], 0)?;
    }
    let mut out = Vec::new();
    layer.read(&[Lpn(7)], &mut out)?;
    // A page dropped by a cache reads as if it had never been written.
    assert!(
        out[0] == Bytes(7_u64.to_le_bytes()) || out[0] == Bytes::default(),
        "a page holds something else"
    );
    Ok(())
}

fn run_scenario(
    scenario: &Scenario,
    custom_victim: bool,
    custom_placement: bool,
) -> Result<RunResult, RunError> {
    let size = StoreSize { blocks: 160, pages_per_block: 16, logical_pages: 1792, seed: Seed(3) };
    let random: VictimConfig = serde_json::from_value("random".into()).expect("a policy");
    let victim = custom_victim.then(|| random.build_boxed(&size).expect("a policy without settings"));
    let placement = custom_placement
        .then(|| CustomPlacement { streams: 2, make: Box::new(|_| Box::new(Frontiers::double()) as Box<_>) });
    run_with(scenario, CustomParts { victim, placement, workload: None }, &mut |_: &_| {
        ControlFlow::Continue(())
    })
}

/// Returns the outcome of two features on a layer: the first combination of variants that works, or else the first
/// refusal.
pub fn pair(a: &FeatureRequest, b: &FeatureRequest, target: &str) -> Outcome {
    if target == "log" && !(applies_to_any_layer(a) || applies_to_any_layer(b)) {
        return Outcome::NotApplicable;
    }
    let variants = a.variants.iter().flat_map(|way| b.variants.iter().map(move |other| (*way, *other)));
    let mut found = Outcome::Same;
    for (variant, other) in variants {
        let Some(leaves) = combine((a, variant), (b, other), target) else { continue };
        let outcome = outcome(scenario(leaves, target));
        match outcome {
            Outcome::Works(_) => return outcome,
            _ if matches!(found, Outcome::Same) => found = outcome,
            _ => {}
        }
    }
    found
}

/// True if the feature applies to a layer that may be the FTL or another layer.
pub fn applies_to_any_layer(ask: &FeatureRequest) -> bool {
    let names_layer = |way: &&str| way.contains("AT.") || way.contains(".AT");
    ask.variants.iter().any(names_layer)
        || ["log.", "upper."].iter().any(|layer| ask.variants[0].starts_with(layer))
}
