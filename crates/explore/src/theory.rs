//! Immediate theoretical results, point by point.

use super::question::Asked;
use serde_json::{Value, json};
use wearwell_stack::TheoryResult;
use wearwell_study::{Patience, PredictionError, predict};

/// Returns the result at a point: its value, and the write amplification or the reason why there is none.
pub fn answer(asked: &Asked) -> Value {
    let found = asked.scenario().map_err(|error| error.to_string()).and_then(|scenario| {
        predict(&scenario, Patience::Glance).map_err(|error| match error {
            PredictionError::Scenario(error) => asked.draft.explain(&error).to_string(),
            other => other.to_string(),
        })
    });
    match found {
        Ok(TheoryResult { model, write_amplification, write_amplification_limit, notes, .. }) => json!({
            "value": asked.value,
            "write_amplification": write_amplification,
            "write_amplification_limit": write_amplification_limit,
            "model": model,
            "notes": notes,
        }),
        Err(reason) => json!({ "value": asked.value, "refused": reason }),
    }
}
