//! Power cuts at every operation of a drive. The result of a single run contains its own power cuts.

use super::Form::{List, Number, NumberIfAny, Text};
use super::{Kind, check, check_all, has};
use serde_json::Value;

pub const KIND: Kind = Kind {
    name: "power",
    what: "table of power cuts",
    made_by: "`wearwell power --format json`",
    is_it: |value| has(value, &["cuts", "torn_cuts", "pages_verified"]),
    shown,
    scripts: &[include_str!("../../assets/kinds/power.js")],
};

fn shown(value: Value) -> Result<Value, String> {
    let counts = ["cuts", "torn_cuts", "cuts_in_recovery", "pages_verified"].map(|name| (name, Number));
    check(&value, "", &counts)?;
    let seconds = ["recovery_seconds_mean", "recovery_seconds_max"].map(|name| (name, NumberIfAny));
    check(&value, "", &seconds)?;
    check(&value, "", &[("steps", List)])?;
    check_all(&value, "steps", &[("name", Text), ("mean", Number), ("max", Number)])?;
    Ok(value)
}
