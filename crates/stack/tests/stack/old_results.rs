//! Results that earlier versions wrote under old field names.

use serde_json::Value;
use wearwell_stack::RunResult;

/// Result with the old names of all renamed fields.
const OLD: &str = include_str!("../golden/old_field_names.json");

/// Old and new names of the renamed fields.
const RENAMED_FIELDS: &[(&str, &str)] = &[
    ("course", "phases"),
    ("limit", "lower_bound"),
    ("least_rewrites", "min_rewrites"),
    ("foreseeing", "offline"),
    ("worn_out", "measured_life"),
    ("heat", "erase_heat_map"),
    ("windows_in_stretch", "windows_per_interval"),
    ("died_by_references", "invalidated_by_references"),
];

#[test]
fn result_with_old_field_names_equals_the_one_with_new_names() {
    let mut text = OLD.to_owned();
    for (old, new) in RENAMED_FIELDS {
        let (old, new) = (format!("\"{old}\":"), format!("\"{new}\":"));
        assert_eq!(text.matches(&old).count(), 1, "{old}");
        text = text.replace(&old, &new);
    }
    let [old, mut new]: [Value; 2] = [OLD, &text].map(|text| serde_json::from_str(text).unwrap());
    let read = RunResult::read(old).unwrap();
    assert_eq!(read, RunResult::read(new.clone()).unwrap());
    // A key that the earlier version did not have gets its default.
    new["scenario"]["precondition"]["request_pages"] = 1.into();
    assert_eq!(serde_json::to_value(&read).unwrap(), new);

    let bound = read.lower_bound.unwrap();
    assert_eq!(bound.offline.unwrap().victim, "foresight");
    assert_eq!(read.measured_life.unwrap().blocks, 1);
    assert_eq!(read.phases.measured_host_pages, 568);
    assert_eq!(read.erase_heat_map.unwrap().windows_per_interval, 1);
    assert_eq!(read.layers[0].dedup.unwrap().invalidated_by_references, [184, 0, 0, 0]);
}
