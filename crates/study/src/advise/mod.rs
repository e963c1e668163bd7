//! What would make a stack wear well: changes to its scenario, tried one at a time and then together.
//!
//! To add a family of changes: write `advise/<name>.rs` with a [`Family`] named `FAMILY`, and add its `mod` and its line
//! in [`FAMILIES`]. A family only proposes; whether a change fits the stack and is fair is checked for all of them in
//! `candidate.rs`.

mod advice;
mod candidate;
mod capacity;
mod coordination;
mod layout;
mod map_cache;
mod merge_tree;
mod price;
mod rounds;
mod rows;
mod saving;
mod segments;
mod situation;
mod software;
mod streams;
mod trees;
mod trim;
mod victim;

pub use advice::{Advice, Figures, LayerFigure, Reference, Skipped, Tried, Verdict};
pub use price::{CAPACITY, Cost, Price};
pub use rounds::{AdviseError, AdviseOptions, advise};
pub use saving::{Method, Saving};
pub use software::{ALL as SOFTWARE, OptionChange, Software, as_diff, caveats};

use serde::Serialize;
use serde_json::Value;
use situation::Situation;
use wearwell_stack::{Draft, DraftError, parse_value};

/// Every family, in the order in which they are tried and listed.
pub static FAMILIES: &[Family] = &[
    segments::FAMILY,
    capacity::FAMILY,
    streams::FAMILY,
    trim::FAMILY,
    coordination::FAMILY,
    victim::FAMILY,
    merge_tree::FAMILY,
    layout::FAMILY,
    map_cache::FAMILY,
];

/// Changes of one kind.
pub struct Family {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// A line on what it tries.
    pub help: &'static str,
    /// What it proposes for a stack; it need not fit.
    changes: fn(&Situation<'_>) -> Vec<Change>,
}

/// Something to change in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The family, or several with ` + ` between them.
    pub family: String,
    /// What changes, in a line.
    pub description: String,
    /// The settings that do it, in order.
    pub settings: Vec<Setting>,
}

/// One key of the scenario with its new value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The key, such as `log[0].segment_size`.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl Family {
    /// The family called `name`, or which ones there are.
    pub fn named(name: &str) -> Result<&'static Family, String> {
        FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| {
            let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
            format!("\"{name}\" is no family of changes; one of {}", names.join(", "))
        })
    }
}

impl Change {
    fn new(family: &Family, description: String, settings: Vec<Setting>) -> Change {
        Change { family: family.name.into(), description, settings }
    }

    /// Both changes in one.
    fn and(&self, other: &Change) -> Change {
        Change {
            family: format!("{} + {}", self.family, other.family),
            description: format!("{}; {}", self.description, other.description),
            settings: self.settings.iter().chain(&other.settings).cloned().collect(),
        }
    }

    /// Makes the change in `draft`.
    pub fn apply(&self, draft: &mut Draft) -> Result<(), DraftError> {
        self.settings.iter().try_for_each(|setting| setting.apply(draft))
    }
}

impl Setting {
    fn new(key: impl Into<String>, value: impl Into<Value>) -> Setting {
        Setting { key: key.into(), value: value.into() }
    }

    /// Sets the key in `draft`.
    pub fn apply(&self, draft: &mut Draft) -> Result<(), DraftError> {
        draft.set(&self.key, self.value.clone())
    }

    /// `KEY=VALUE` as it is written after `--set`.
    pub fn argument(&self) -> String {
        let value = match &self.value {
            // A bare word where that is read back as the same text.
            Value::String(text) if parse_value(text).as_ref() == Ok(&self.value) => text.clone(),
            other => inline(other),
        };
        format!("{}={value}", self.key)
    }
}

/// A value as TOML within a line.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries: Vec<_> =
                table.iter().map(|(key, value)| format!("{key}={}", inline(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Drive writes measured, and the limit to an open warm-up, of a shortened run.
const SHORT_MEASURE: f64 = 2.0;
const SHORT_WARM_UP: f64 = 12.0;
/// A short warm-up is seldom steady to the usual tolerance.
const SHORT_TOLERANCE: f64 = 0.03;

/// Settings that make runs shorter and their answers rougher; what is shorter already stays.
pub fn shortened(draft: &Draft) -> Result<Vec<Setting>, DraftError> {
    let measure = draft.scenario()?.measure;
    let mut settings = Vec::new();
    let mut lower = |key: &str, present: f64, most: f64| {
        if present > most {
            settings.push(Setting::new(key, most));
        }
    };
    // A warm-up of a given length has its reason: shortened, it would leave the stack unsteady.
    if measure.warm_up.is_none() {
        lower("measure.max_warm_up", measure.max_warm_up, SHORT_WARM_UP);
    }
    lower("measure.drive_writes", measure.drive_writes, SHORT_MEASURE);
    if measure.tolerance < SHORT_TOLERANCE {
        settings.push(Setting::new("measure.tolerance", SHORT_TOLERANCE));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests;
