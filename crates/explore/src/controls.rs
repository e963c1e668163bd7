//! What can be turned on the page: keys of the scenario, each with the values that it may take there. A line here is a slider or a
//! list there.

use serde::Serialize;
use serde_json::{Value, json};
use wearwell_base::config::Entry;
use wearwell_base::units::OverProvisioning;
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::victim::VICTIMS;
use wearwell_stack::{Draft, FTLS, ResolvedScenario, short_form};
use wearwell_workload::WORKLOADS;

/// A key of the scenario and the values that it can be given.
#[derive(Clone, Debug, Serialize)]
pub struct Control {
    /// The key, as `--set` has it.
    pub key: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// Its unit or meaning, in a few words.
    pub help: &'static str,
    /// What it may be, in the order of the slider; the scenario's own value is among them.
    pub values: Vec<Value>,
    /// Numbers have a slider and can be the axis of the curve; names have a list.
    pub is_number: bool,
    /// The values in words, where they are names.
    pub words: Vec<&'static str>,
    /// What the scenario says; none where its key means nothing yet.
    pub initial: Option<Value>,
    /// Where the slider stands then.
    pub start: Value,
    /// Means something only while another key has one of these values.
    pub when: Option<Condition>,
}

/// Another key, and the values with which a control means something.
#[derive(Clone, Debug, Serialize)]
pub struct Condition {
    key: &'static str,
    is_one_of: &'static [&'static str],
}

/// FTLs whose blocks a victim policy chooses among.
const CLEANED_BY_POLICY: Condition =
    Condition { key: "ftl", is_one_of: &["log", "dftl", "lazyftl", "mu_ftl", "ib_ftl", "gecko"] };
const DRAWN: Condition = Condition { key: "ftl.victim.policy", is_one_of: &["d_choices", "completing"] };
const HOT_AND_COLD: Condition = Condition { key: "workload.kind", is_one_of: &["hot_cold"] };
const ZIPF: Condition = Condition { key: "workload.kind", is_one_of: &["zipf"] };

/// Workloads that need no more than the sliders give.
const WORKLOADS_HERE: &[&str] = &["uniform", "hot_cold", "zipf", "sequential"];

/// FTLs that hold a log and take any workload.
const NOT_HERE: &[&str] = &["zones"];

/// The controls of a scenario, each where the scenario has it, or where its defaults do.
pub fn of(written: &Draft, resolved: &ResolvedScenario) -> Vec<Control> {
    let scenario = serde_json::to_value(&resolved.scenario).expect("scenarios are plain data");
    let filled_in = Draft::from_value(scenario);
    let mut controls = all();
    for control in &mut controls {
        control.initial = match control.key {
            "ftl" => Some(standing(&filled_in, "ftl.structure").unwrap_or_else(|| json!("log"))),
            "device.spare_factor" => standing(written, control.key).or_else(|| Some(spare_factor(resolved))),
            key => standing(&filled_in, key),
        };
        if let Some(initial) = &control.initial {
            admit(&mut control.values, &mut control.words, initial);
        }
    }
    controls
}

fn all() -> Vec<Control> {
    let ftls = entries(FTLS).filter(|(name, _)| !NOT_HERE.contains(name));
    let workloads = WORKLOADS.iter().map(|entry| (entry.name, entry.help));
    let workloads = workloads.filter(|(name, _)| WORKLOADS_HERE.contains(name));
    vec![
        numbers("device.pages_per_block", "Pages per block", "b", (1..=10).map(|power| json!(1 << power))),
        numbers("device.spare_factor", "Spare factor", "(T - U) / T", hundredths(2..=50)),
        names("ftl", "FTL", ftls),
        names("ftl.victim.policy", "Victim policy", entries(VICTIMS)).when(CLEANED_BY_POLICY),
        numbers("ftl.victim.choices", "Choices", "d, blocks that are looked at", choices())
            .when(DRAWN)
            .starting(10),
        names("ftl.placement", "Write frontiers", entries(PLACEMENTS)).when(CLEANED_BY_POLICY),
        names("workload.kind", "Workload", workloads),
        numbers("workload.hot_space", "Hot pages", "share of the space", hundredths(1..=50))
            .when(HOT_AND_COLD)
            .starting(0.2),
        numbers("workload.hot_writes", "Writes to them", "share of the writes", hundredths(50..=99))
            .when(HOT_AND_COLD)
            .starting(0.8),
        numbers(
            "workload.exponent",
            "Exponent",
            "of Zipf's law",
            (1..=30).map(|tenth| json!(f64::from(tenth) / 20.0)),
        )
        .when(ZIPF)
        .starting(1.0),
        numbers("seed", "Seed", "of the simulation", (1..=20).map(|seed| json!(seed))),
    ]
}

fn choices() -> impl Iterator<Item = Value> {
    (1..=20).chain([25, 30, 40, 50, 75, 100]).map(|choices| json!(choices))
}

fn hundredths(range: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = Value> {
    range.map(|hundredth| json!(f64::from(hundredth) / 100.0))
}

fn numbers(
    key: &'static str,
    label: &'static str,
    help: &'static str,
    values: impl Iterator<Item = Value>,
) -> Control {
    let values: Vec<Value> = values.collect();
    let start = values[values.len() / 2].clone();
    Control { key, label, help, values, is_number: true, words: Vec::new(), initial: None, start, when: None }
}

/// Names, each with what it does.
fn names(
    key: &'static str,
    label: &'static str,
    entries: impl Iterator<Item = (&'static str, &'static str)>,
) -> Control {
    let (values, words): (Vec<Value>, _) = entries.map(|(name, help)| (json!(name), help)).unzip();
    let start = values[0].clone();
    Control { key, label, help: "", values, is_number: false, words, initial: None, start, when: None }
}

fn entries(entries: &'static [Entry]) -> impl Iterator<Item = (&'static str, &'static str)> {
    entries.iter().map(|entry| (entry.name, entry.help))
}

impl Control {
    fn when(self, condition: Condition) -> Self {
        Control { when: Some(condition), ..self }
    }

    fn starting(self, start: impl Into<Value>) -> Self {
        Control { start: start.into(), ..self }
    }
}

/// The spare factor as it comes of the sizes, whatever the scenario says of them.
fn spare_factor(resolved: &ResolvedScenario) -> Value {
    let device = &resolved.device;
    json!(OverProvisioning::from_pages(device.geometry.pages(), device.logical_pages.into()).spare_factor)
}

/// The value of a key; the name of a part that is given as a table.
fn standing(draft: &Draft, key: &str) -> Option<Value> {
    match draft.get(key)? {
        Value::Object(table) => table.get(short_form(key)?).cloned(),
        value => Some(value.clone()),
    }
}

/// Puts the scenario's own value among those of the slider.
fn admit(values: &mut Vec<Value>, words: &mut Vec<&'static str>, own: &Value) {
    if values.iter().any(|value| is_equal(value, own)) {
        return;
    }
    let place = match own.as_f64() {
        Some(own) => {
            values.iter().take_while(|value| value.as_f64().is_some_and(|value| value < own)).count()
        }
        None => values.len(),
    };
    values.insert(place, own.clone());
    if !words.is_empty() {
        words.insert(place, "as the scenario has it");
    }
}

/// Whether two values are the same; numbers by their size, so that 1 is 1.0.
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
        of(&draft, &ResolvedScenario::of(draft.scenario().unwrap()).unwrap())
    }

    fn control<'a>(controls: &'a [Control], key: &str) -> &'a Control {
        controls.iter().find(|control| control.key == key).unwrap()
    }

    #[test]
    fn controls_stand_where_the_scenario_has_them() {
        let controls = controls(WRITTEN);
        let block = control(&controls, "device.pages_per_block");
        assert_eq!(block.initial, Some(json!(48)));
        // Between 32 and 64, so that the slider goes up.
        let at = block.values.iter().position(|value| *value == json!(48)).unwrap();
        assert_eq!([&block.values[at - 1], &block.values[at + 1]], [&json!(32), &json!(64)]);
        let spare = control(&controls, "device.spare_factor").initial.as_ref().unwrap().as_f64().unwrap();
        assert!((spare - 0.2).abs() < 0.01, "{spare}");
        assert_eq!(control(&controls, "ftl").initial, Some(json!("log")));
        assert_eq!(control(&controls, "workload.kind").initial, Some(json!("uniform")));
        assert_eq!(control(&controls, "workload.hot_space").initial, None);
    }

    #[test]
    fn what_is_written_is_not_made_less_exact() {
        let written = WRITTEN.replace("over_provisioning = 0.25", "spare_factor = 0.1");
        assert_eq!(control(&controls(&written), "device.spare_factor").initial, Some(json!(0.1)));
    }

    #[test]
    fn every_control_can_stand_where_it_starts_and_is_a_key_of_scenarios() {
        for control in all() {
            assert!(control.values.contains(&control.start), "{}: {}", control.key, control.start);
            assert!(control.is_number || control.words.len() == control.values.len(), "{}", control.key);
            let known = all();
            let condition =
                control.when.as_ref().map(|when| known.iter().find(|one| one.key == when.key).unwrap());
            let names = control.when.iter().flat_map(|when| when.is_one_of);
            for name in names {
                assert!(condition.unwrap().values.contains(&json!(name)), "{}: {name}", control.key);
            }
            let mut draft = Draft::from_toml(WRITTEN, "test").unwrap();
            // With what it needs beside it.
            if let Some((parent, when)) = condition.zip(control.when.as_ref()) {
                draft.set(parent.key, json!(when.is_one_of[0])).unwrap();
            }
            draft.set(control.key, control.start.clone()).unwrap();
            let refused = draft.scenario().err().map(|error| error.problem).unwrap_or_default();
            assert!(!refused.contains("unknown field"), "{}: {refused}", control.key);
        }
    }
}
