//! Immediate theoretical results, point by point.

use super::request::ScenarioPoint;
use serde_json::{Value, json};
use wearwell_stack::TheoryResult;
use wearwell_study::{PredictionEffort, PredictionError, predict};

/// Returns the result at a point: the value of the control, and the write amplification or the reason why theory has
/// no result.
pub fn prediction(point: &ScenarioPoint) -> Value {
    let found = point.scenario().map_err(|error| error.to_string()).and_then(|scenario| {
        predict(&scenario, PredictionEffort::Minimal).map_err(|error| match error {
            PredictionError::Scenario(error) => point.draft.explain(&error).to_string(),
            other => other.to_string(),
        })
    });
    match found {
        Ok(TheoryResult { model, write_amplification, write_amplification_limit, notes, .. }) => json!({
            "value": point.value,
            "write_amplification": write_amplification,
            "write_amplification_limit": write_amplification_limit,
            "model": model,
            "notes": notes,
        }),
        Err(reason) => json!({ "value": point.value, "refused": reason }),
    }
}
