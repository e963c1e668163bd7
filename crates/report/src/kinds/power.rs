//! Power cuts at every operation of a drive. The power cuts of a single run are part of the run's result.

use super::FieldType::{List, Number, OptionalNumber, Text};
use super::{Kind, check, check_all, has_keys};
use serde_json::Value;

pub const KIND: Kind = Kind {
    name: "power",
    title: "table of power cuts",
    command: "`wearwell power --format json`",
    matches: |value| has_keys(value, &["cuts", "torn_cuts", "pages_verified"]),
    page_data,
    scripts: &[include_str!("../../assets/kinds/power.js")],
};

fn page_data(value: Value) -> Result<Value, String> {
    let counts = ["cuts", "torn_cuts", "cuts_in_recovery", "pages_verified"].map(|name| (name, Number));
    check(&value, "", &counts)?;
    let seconds = ["recovery_seconds_mean", "recovery_seconds_max"].map(|name| (name, OptionalNumber));
    check(&value, "", &seconds)?;
    check(&value, "", &[("steps", List)])?;
    check_all(&value, "steps", &[("name", Text), ("mean", Number), ("max", Number)])?;
    Ok(value)
}
