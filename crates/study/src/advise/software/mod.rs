//! Settings in the words of the software that a layer is modelled on.
//!
//! To add a software: write `software/<name>.rs` with a [`Software`] named `SOFTWARE`, and add its `mod` and its line in
//! [`ALL`]. It says only what the model simulates: a setting that the software has no option for has no line.

mod drive;
mod f2fs;
mod fatcache;
mod nilfs2;
mod rocksdb;

use serde::Serialize;
use serde_json::Value;
use wearwell_stack::scenario::Scenario;

/// Every software, in the order of the documentation.
pub static ALL: &[Software] =
    &[rocksdb::SOFTWARE, f2fs::SOFTWARE, nilfs2::SOFTWARE, fatcache::SOFTWARE, drive::SOFTWARE];

/// Software that a layer may be.
pub struct Software {
    /// What it is called.
    pub name: &'static str,
    /// What its options do that the model does not, or otherwise; a sentence.
    pub caveat: &'static str,
    /// Whether a layer or the drive, by its values with all defaults filled in, is this.
    is: fn(&Value) -> bool,
    /// Its options as the layer has them.
    options: fn(&Value) -> Vec<OptionLine>,
}

/// An option and its value.
struct OptionLine {
    /// Where it is given: a section of a file, or a command.
    place: &'static str,
    /// Its name.
    key: &'static str,
    /// How it is written.
    text: String,
}

/// An option that a change makes another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionChange {
    /// The layer.
    pub layer: String,
    /// What it is taken for.
    pub software: &'static str,
    /// Where the option is given: a section of a file, or a command.
    pub place: &'static str,
    /// Its name.
    pub key: &'static str,
    /// How it is written without the change; none if it is not needed there.
    pub before: Option<String>,
    /// How it is written with it.
    pub after: String,
}

impl OptionLine {
    fn new(place: &'static str, key: &'static str, text: String) -> Self {
        OptionLine { place, key, text }
    }
}

/// The options in which two scenarios differ that have the same layers; what is only in the former no longer matters.
pub(super) fn changed(before: &Scenario, after: &Scenario) -> Vec<OptionChange> {
    let [before, after] = [before, after].map(|scenario| serde_json::to_value(scenario).expect("plain data"));
    let logs = |scenario: &Value| scenario["log"].as_array().cloned().unwrap_or_default();
    let drive = (before["device"].clone(), after["device"].clone());
    let pairs: Vec<_> = logs(&before).into_iter().zip(logs(&after)).chain([drive]).collect();
    let of_layer = |(before, after): &(Value, Value)| {
        let software = ALL.iter().find(|software| (software.is)(before))?;
        let (old, new) = ((software.options)(before), (software.options)(after));
        let layer = before["name"].as_str().unwrap_or("drive").to_owned();
        let change = |line: OptionLine| {
            let same = old.iter().find(|old| (old.place, old.key) == (line.place, line.key));
            let present = same.map(|old| old.text.clone());
            (present.as_ref() != Some(&line.text)).then(|| OptionChange {
                layer: layer.clone(),
                software: software.name,
                place: line.place,
                key: line.key,
                before: present,
                after: line.text,
            })
        };
        Some(new.into_iter().filter_map(change).collect::<Vec<_>>())
    };
    pairs.iter().filter_map(of_layer).flatten().collect()
}

/// Changes of options as lines of a diff, each place under its name.
pub fn as_diff(changes: &[OptionChange]) -> String {
    let mut text = String::new();
    let mut place = None;
    for change in changes {
        let here = (&change.layer, change.place);
        if place != Some(here) {
            let of = if change.software == change.layer {
                String::new()
            } else {
                format!(" (`{}`)", change.layer)
            };
            text += &format!("@@ {}{of}: {}\n", change.software, change.place);
            place = Some(here);
        }
        text.extend(change.before.iter().map(|before| format!("-{before}\n")));
        text += &format!("+{}\n", change.after);
    }
    text
}

/// What is to be known of the software in `changes`.
pub fn caveats(changes: &[OptionChange]) -> Vec<&'static str> {
    let named = |software: &&Software| changes.iter().any(|change| change.software == software.name);
    ALL.iter().filter(named).map(|software| software.caveat).collect()
}

fn preset(layer: &Value) -> &str {
    layer["metadata"]["preset"].as_str().unwrap_or_default()
}
