//! Equivalent options of the software that a layer models.
//!
//! To add a software, write `software/<name>.rs` with a [`Software`] named `SOFTWARE`, and add its `mod` and its line
//! in [`ALL`]. List only options that the model simulates; a setting without an equivalent option is omitted.

mod drive;
mod f2fs;
mod fatcache;
mod nilfs2;
mod rocksdb;

use serde::Serialize;
use serde_json::Value;
use wearwell_stack::scenario::Scenario;

/// All software, in the order of the documentation.
pub static ALL: &[Software] =
    &[rocksdb::SOFTWARE, f2fs::SOFTWARE, nilfs2::SOFTWARE, fatcache::SOFTWARE, drive::SOFTWARE];

/// Software that a layer may represent.
pub struct Software {
    /// Name of the software.
    pub name: &'static str,
    /// Differences between the options of the software and the model, in one sentence.
    pub caveat: &'static str,
    /// True if the values of a layer or the drive, with all defaults resolved, represent this software.
    matches: fn(&Value) -> bool,
    /// Returns the options equivalent to the settings of a layer.
    options: fn(&Value) -> Vec<OptionLine>,
}

/// Option with its value.
struct OptionLine {
    /// Location of the option: a section of a file, or a command.
    location: &'static str,
    /// Name of the option.
    key: &'static str,
    /// Text of the option.
    text: String,
}

/// Option that differs after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionChange {
    /// Name of the layer.
    pub layer: String,
    /// Software that the layer represents.
    pub software: &'static str,
    /// Location of the option: a section of a file, or a command.
    pub location: &'static str,
    /// Name of the option.
    pub key: &'static str,
    /// Text without the change; unset if no option is needed.
    pub before: Option<String>,
    /// Text with the change.
    pub after: String,
}

impl OptionLine {
    fn new(location: &'static str, key: &'static str, text: String) -> Self {
        OptionLine { location, key, text }
    }
}

/// Returns the options that differ between two scenarios with the same layers; options only in `before` are omitted.
pub(super) fn changed_options(before: &Scenario, after: &Scenario) -> Vec<OptionChange> {
    let [before, after] = [before, after].map(|scenario| serde_json::to_value(scenario).expect("plain data"));
    let logs = |scenario: &Value| scenario["log"].as_array().cloned().unwrap_or_default();
    let drive = (before["device"].clone(), after["device"].clone());
    let pairs: Vec<_> = logs(&before).into_iter().zip(logs(&after)).chain([drive]).collect();
    let of_layer = |(before, after): &(Value, Value)| {
        let software = ALL.iter().find(|software| (software.matches)(before))?;
        let (old, new) = ((software.options)(before), (software.options)(after));
        let layer = before["name"].as_str().unwrap_or("drive").to_owned();
        let change = |line: OptionLine| {
            let counterpart = old.iter().find(|old| (old.location, old.key) == (line.location, line.key));
            let present = counterpart.map(|old| old.text.clone());
            (present.as_ref() != Some(&line.text)).then(|| OptionChange {
                layer: layer.clone(),
                software: software.name,
                location: line.location,
                key: line.key,
                before: present,
                after: line.text,
            })
        };
        Some(new.into_iter().filter_map(change).collect::<Vec<_>>())
    };
    pairs.iter().filter_map(of_layer).flatten().collect()
}

/// Formats changed options as lines of a diff, grouped by location.
pub fn as_diff(changes: &[OptionChange]) -> String {
    let mut text = String::new();
    let mut location = None;
    for change in changes {
        let option_location = (&change.layer, change.location);
        if location != Some(option_location) {
            let of = if change.software == change.layer {
                String::new()
            } else {
                format!(" (`{}`)", change.layer)
            };
            text += &format!("@@ {}{of}: {}\n", change.software, change.location);
            location = Some(option_location);
        }
        text.extend(change.before.iter().map(|before| format!("-{before}\n")));
        text += &format!("+{}\n", change.after);
    }
    text
}

/// Returns the caveats of the software in `changes`.
pub fn caveats(changes: &[OptionChange]) -> Vec<&'static str> {
    let named = |software: &&Software| changes.iter().any(|change| change.software == software.name);
    ALL.iter().filter(named).map(|software| software.caveat).collect()
}

fn preset(layer: &Value) -> &str {
    layer["metadata"]["preset"].as_str().unwrap_or_default()
}
