//! Controls of the HTML page: keys of the scenario with their possible values. Each line of this table becomes a slider
//! or a list on the HTML page.

use serde::Serialize;
use serde_json::{Value, json};
use wearwell_base::config::Entry;
use wearwell_base::units::SpareSpace;
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::victim::VICTIMS;
use wearwell_stack::{Draft, FTLS, ResolvedScenario, short_form};
use wearwell_workload::WORKLOADS;

/// Key of the scenario with its possible values.
#[derive(Clone, Debug, Serialize)]
pub struct Control {
    /// Key, as given after `--set`.
    pub key: &'static str,
    /// Label on the HTML page.
    pub label: &'static str,
    /// Unit or meaning, in a few words.
    pub help: &'static str,
    /// Possible values in the order of the slider, including the value of the scenario.
    pub values: Vec<Value>,
    /// True for a number, which has a slider and can be the axis of the curve; false for a name, which has a list.
    pub is_number: bool,
    /// Descriptions of the values, if the values are names.
    pub words: Vec<&'static str>,
    /// Value of the key in the scenario; `None` if the key has no effect in this scenario.
    pub initial: Option<Value>,
    /// Initial position of the slider if `initial` is `None`.
    pub start: Value,
    /// Condition under which the control has an effect.
    pub condition: Option<Condition>,
}

/// Condition that another key has one of these values.
#[derive(Clone, Debug, Serialize)]
pub struct Condition {
    key: &'static str,
    is_one_of: &'static [&'static str],
}

/// FTLs with a victim policy.
const CLEANED_BY_POLICY: Condition =
    Condition { key: "ftl", is_one_of: &["log", "dftl", "lazyftl", "mu_ftl", "ib_ftl", "gecko"] };
const DRAWS_VICTIMS: Condition =
    Condition { key: "ftl.victim.policy", is_one_of: &["d_choices", "completing"] };
const HOT_AND_COLD: Condition = Condition { key: "workload.kind", is_one_of: &["hot_cold"] };
const ZIPF: Condition = Condition { key: "workload.kind", is_one_of: &["zipf"] };

/// Workloads whose settings are all among the controls.
const SHOWN_WORKLOADS: &[&str] = &["uniform", "hot_cold", "zipf", "sequential"];

/// FTLs that the HTML page omits, because they need a log on top of them.
const HIDDEN_FTLS: &[&str] = &["zones"];

/// Returns the controls of a scenario, with its values or the defaults.
pub fn controls_of(draft: &Draft, resolved: &ResolvedScenario) -> Vec<Control> {
    let scenario = serde_json::to_value(&resolved.scenario).expect("scenarios are plain data");
    let filled_in = Draft::from_value(scenario);
    let mut controls = all_controls();
    for control in &mut controls {
        control.initial = match control.key {
            "ftl" => Some(current_value(&filled_in, "ftl.structure").unwrap_or_else(|| json!("log"))),
            "device.spare_factor" => {
                current_value(draft, control.key).or_else(|| Some(spare_factor(resolved)))
            }
            key => current_value(&filled_in, key),
        };
        if let Some(initial) = &control.initial {
            insert_value(&mut control.values, &mut control.words, initial);
        }
    }
    controls
}

fn all_controls() -> Vec<Control> {
    let ftls = entries(FTLS).filter(|(name, _)| !HIDDEN_FTLS.contains(name));
    let workloads = WORKLOADS.iter().map(|entry| (entry.name, entry.help));
    let workloads = workloads.filter(|(name, _)| SHOWN_WORKLOADS.contains(name));
    vec![
        number_control(
            "device.pages_per_block",
            "Pages per block",
            "b",
            (1..=10).map(|power| json!(1 << power)),
        ),
        number_control("device.spare_factor", "Spare factor", "(T - U) / T", hundredths(2..=50)),
        name_control("ftl", "FTL", ftls),
        name_control("ftl.victim.policy", "Victim policy", entries(VICTIMS))
            .with_condition(CLEANED_BY_POLICY),
        number_control("ftl.victim.choices", "Choices", "d, blocks that are looked at", choice_values())
            .with_condition(DRAWS_VICTIMS)
            .with_start(10),
        name_control("ftl.placement", "Write frontiers", entries(PLACEMENTS))
            .with_condition(CLEANED_BY_POLICY),
        name_control("workload.kind", "Workload", workloads),
        number_control("workload.hot_space", "Hot pages", "share of the space", hundredths(1..=50))
            .with_condition(HOT_AND_COLD)
            .with_start(0.2),
        number_control("workload.hot_writes", "Writes to them", "share of the writes", hundredths(50..=99))
            .with_condition(HOT_AND_COLD)
            .with_start(0.8),
        number_control(
            "workload.exponent",
            "Exponent",
            "of Zipf's law",
            (1..=30).map(|tenth| json!(f64::from(tenth) / 20.0)),
        )
        .with_condition(ZIPF)
        .with_start(1.0),
        number_control("seed", "Seed", "of the simulation", (1..=20).map(|seed| json!(seed))),
    ]
}

fn choice_values() -> impl Iterator<Item = Value> {
    (1..=20).chain([25, 30, 40, 50, 75, 100]).map(|choices| json!(choices))
}

fn hundredths(range: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = Value> {
    range.map(|hundredth| json!(f64::from(hundredth) / 100.0))
}

fn number_control(
    key: &'static str,
    label: &'static str,
    help: &'static str,
    values: impl Iterator<Item = Value>,
) -> Control {
    let values: Vec<Value> = values.collect();
    let start = values[values.len() / 2].clone();
    Control {
        key,
        label,
        help,
        values,
        is_number: true,
        words: Vec::new(),
        initial: None,
        start,
        condition: None,
    }
}

/// Returns a control for names, each with a description.
fn name_control(
    key: &'static str,
    label: &'static str,
    entries: impl Iterator<Item = (&'static str, &'static str)>,
) -> Control {
    let (values, words): (Vec<Value>, _) = entries.map(|(name, help)| (json!(name), help)).unzip();
    let start = values[0].clone();
    Control { key, label, help: "", values, is_number: false, words, initial: None, start, condition: None }
}

fn entries(entries: &'static [Entry]) -> impl Iterator<Item = (&'static str, &'static str)> {
    entries.iter().map(|entry| (entry.name, entry.help))
}

impl Control {
    fn with_condition(self, condition: Condition) -> Self {
        Control { condition: Some(condition), ..self }
    }

    fn with_start(self, start: impl Into<Value>) -> Self {
        Control { start: start.into(), ..self }
    }
}

/// Returns the spare factor that the sizes of the device give, whichever measure of spare space the scenario uses.
fn spare_factor(resolved: &ResolvedScenario) -> Value {
    let device = &resolved.device;
    json!(SpareSpace::from_pages(device.geometry.pages(), device.logical_pages.into()).spare_factor)
}

/// Returns the value of a key; if the value is a table, the name of the part.
fn current_value(draft: &Draft, key: &str) -> Option<Value> {
    match draft.get(key)? {
        Value::Object(table) => table.get(short_form(key)?).cloned(),
        value => Some(value.clone()),
    }
}

/// Inserts the value of the scenario among the values of the slider.
fn insert_value(values: &mut Vec<Value>, words: &mut Vec<&'static str>, initial: &Value) {
    if values.iter().any(|value| is_equal(value, initial)) {
        return;
    }
    let index = match initial.as_f64() {
        Some(own) => {
            values.iter().take_while(|value| value.as_f64().is_some_and(|value| value < own)).count()
        }
        None => values.len(),
    };
    values.insert(index, initial.clone());
    if !words.is_empty() {
        words.insert(index, "as the scenario has it");
    }
}

/// True if two values are equal; numbers are compared by value, so 1 equals 1.0.
pub fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "
        [device]
        capacity = '64 MiB'
        over_provisioning = 0.25
        pages_per_block = 48
        [workload]
        kind = 'uniform'
    ";

    fn controls(text: &str) -> Vec<Control> {
        let draft = Draft::from_toml(text, "test").unwrap();
        controls_of(&draft, &ResolvedScenario::of(draft.scenario().unwrap()).unwrap())
    }

    fn control<'a>(controls: &'a [Control], key: &str) -> &'a Control {
        controls.iter().find(|control| control.key == key).unwrap()
    }

    #[test]
    fn controls_start_at_the_values_of_the_scenario() {
        let controls = controls(WRITTEN);
        let block = control(&controls, "device.pages_per_block");
        assert_eq!(block.initial, Some(json!(48)));
        // The scenario's value is inserted between 32 and 64, so that the slider's values ascend.
        let at = block.values.iter().position(|value| *value == json!(48)).unwrap();
        assert_eq!([&block.values[at - 1], &block.values[at + 1]], [&json!(32), &json!(64)]);
        let spare = control(&controls, "device.spare_factor").initial.as_ref().unwrap().as_f64().unwrap();
        assert!((spare - 0.2).abs() < 0.01, "{spare}");
        assert_eq!(control(&controls, "ftl").initial, Some(json!("log")));
        assert_eq!(control(&controls, "workload.kind").initial, Some(json!("uniform")));
        assert_eq!(control(&controls, "workload.hot_space").initial, None);
    }

    #[test]
    fn spare_factor_of_the_scenario_keeps_its_digits() {
        let written = WRITTEN.replace("over_provisioning = 0.25", "spare_factor = 0.1");
        assert_eq!(control(&controls(&written), "device.spare_factor").initial, Some(json!(0.1)));
    }

    #[test]
    fn every_control_has_a_valid_start_and_key() {
        for control in all_controls() {
            assert!(control.values.contains(&control.start), "{}: {}", control.key, control.start);
            assert!(control.is_number || control.words.len() == control.values.len(), "{}", control.key);
            let known = all_controls();
            let condition = control
                .condition
                .as_ref()
                .map(|required| known.iter().find(|one| one.key == required.key).unwrap());
            let names = control.condition.iter().flat_map(|required| required.is_one_of);
            for name in names {
                assert!(condition.unwrap().values.contains(&json!(name)), "{}: {name}", control.key);
            }
            let mut draft = Draft::from_toml(WRITTEN, "test").unwrap();
            // The other key must have a value with which the control has an effect.
            if let Some((parent, when)) = condition.zip(control.condition.as_ref()) {
                draft.set(parent.key, json!(when.is_one_of[0])).unwrap();
            }
            draft.set(control.key, control.start.clone()).unwrap();
            let refused = draft.scenario().err().map(|error| error.problem).unwrap_or_default();
            assert!(!refused.contains("unknown field"), "{}: {refused}", control.key);
        }
    }
}
