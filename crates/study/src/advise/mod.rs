//! Advice that reduces wear: changes to the scenario of a stack, tried first alone and then together.
//!
//! To add a family of changes, write `advise/<name>.rs` with a [`Family`] named `FAMILY`, and add its `mod` and its
//! line in [`FAMILIES`]. A family only proposes changes. `candidate.rs` checks for all families that a change fits the
//! stack and that the comparison is fair.

mod advice;
mod candidate;
mod capacity;
mod coordination;
mod layout;
mod map_cache;
mod merge_tree;
mod price;
mod resolved_stack;
mod rounds;
mod rows;
mod saving;
mod segments;
mod software;
mod streams;
mod trees;
mod trim;
mod victim;

pub use advice::{Advice, Figures, LayerFigure, Reference, SkippedChange, TrialResult, TrialVerdict};
pub use price::{CAPACITY, Cost, Price};
pub use rounds::{AdviseError, AdviseOptions, advise};
pub use saving::{Method, Saving};
pub use software::{ALL as SOFTWARE, OptionChange, Software, as_diff, caveats};

use resolved_stack::ResolvedStack;
use serde::Serialize;
use serde_json::Value;
use wearwell_stack::{Draft, DraftError, parse_value};

/// All families, in the order in which they are tried and listed.
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

/// Family of similar changes.
pub struct Family {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// One-line description of the changes.
    pub help: &'static str,
    /// Proposes changes for a stack; they need not fit.
    changes: fn(&ResolvedStack<'_>) -> Vec<Change>,
}

/// Change of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Name of the family, or several names joined by ` + `.
    pub family: String,
    /// One-line description.
    pub description: String,
    /// Settings that make the change, in order.
    pub settings: Vec<Setting>,
}

/// Key of the scenario with its new value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Key, such as `log[0].segment_size`.
    pub key: String,
    /// New value.
    pub value: Value,
}

impl Family {
    /// Returns the family called `name`, or an error that lists all families.
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

    /// Combines both changes.
    fn combined_with(&self, other: &Change) -> Change {
        Change {
            family: format!("{} + {}", self.family, other.family),
            description: format!("{}; {}", self.description, other.description),
            settings: self.settings.iter().chain(&other.settings).cloned().collect(),
        }
    }

    /// Applies the change to `draft`.
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

    /// Returns `KEY=VALUE` as written after `--set`.
    pub fn argument(&self) -> String {
        let value = match &self.value {
            // Writes a bare word if it parses back to the same text.
            Value::String(text) if parse_value(text).as_ref() == Ok(&self.value) => text.clone(),
            other => format_inline(other),
        };
        format!("{}={value}", self.key)
    }
}

/// Formats a value as TOML on a single line.
fn format_inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries: Vec<_> =
                table.iter().map(|(key, value)| format!("{key}={}", format_inline(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(format_inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Measured drive writes of a shortened run.
const SHORT_MEASURE: f64 = 2.0;
/// Maximum warm-up of a shortened run, in drive writes.
const SHORT_WARM_UP: f64 = 12.0;
/// Tolerance of a shortened run: a short warm-up rarely reaches the usual tolerance.
const SHORT_TOLERANCE: f64 = 0.03;

/// Makes the runs of a scenario shorter and less accurate; values that are already shorter remain. Returns the applied
/// settings.
///
/// # Errors
/// Returns an error for an invalid scenario.
pub fn shorten_runs(draft: &mut Draft) -> Result<Vec<Setting>, DraftError> {
    let settings = short_run_settings(draft)?;
    settings.iter().try_for_each(|setting| setting.apply(draft))?;
    Ok(settings)
}

/// Returns the settings that shorten the runs.
fn short_run_settings(draft: &Draft) -> Result<Vec<Setting>, DraftError> {
    let measure = draft.scenario()?.measure;
    let mut settings = Vec::new();
    let mut limit_to = |key: &str, default: f64, limit: f64| {
        if default > limit {
            settings.push(Setting::new(key, limit));
        }
    };
    // A fixed warm-up was chosen on purpose; a shorter one would leave the stack unsteady.
    if measure.warm_up.is_none() {
        limit_to("measure.max_warm_up", measure.max_warm_up, SHORT_WARM_UP);
    }
    limit_to("measure.drive_writes", measure.drive_writes, SHORT_MEASURE);
    if measure.tolerance < SHORT_TOLERANCE {
        settings.push(Setting::new("measure.tolerance", SHORT_TOLERANCE));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests;
