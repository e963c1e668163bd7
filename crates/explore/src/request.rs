//! Requests of the HTML page: settings that replace those of the scenario, and the control along which results are
//! requested.

use super::controls::{Control, is_equal};
use serde::Deserialize;
use serde_json::Value;
use wearwell_stack::{Draft, DraftError, Scenario};

/// Maximum number of points per request; a longer curve is requested in parts.
pub const MAX_POINTS: usize = 64;

/// Values of all controls, in the order of the controls, and the points along one control.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointsRequest {
    settings: Vec<(String, Value)>,
    #[serde(default)]
    #[serde(alias = "along")]
    axis: Option<CurveAxis>,
}

/// Control along which results are requested, and the values of this control.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveAxis {
    key: String,
    values: Vec<Value>,
}

/// Reason why a request cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// A control or a value is unknown; the HTML page never requests this.
    #[error("{0}")]
    Unknown(String),
    /// The scenario is invalid.
    #[error("{0}")]
    Scenario(#[from] DraftError),
}

/// Requested scenario, and the position of its point on the curve.
pub struct ScenarioPoint {
    /// Value of the control along the curve; null if there is no curve.
    pub value: Value,
    /// Scenario in the form of a file.
    pub draft: Draft,
}

impl PointsRequest {
    /// Returns the requested scenarios: one per point, in order.
    ///
    /// Only values of controls are inserted into a scenario, so a request can neither read files nor build huge
    /// drives.
    ///
    /// # Errors
    /// Returns an error for a key or value without a control, and for too many points.
    pub fn points(&self, base: &Draft, controls: &[Control]) -> Result<Vec<ScenarioPoint>, RequestError> {
        let mut draft = base.clone();
        for (key, value) in &self.settings {
            set(&mut draft, controls, key, value)?;
        }
        let Some(along) = &self.axis else { return Ok(vec![ScenarioPoint { value: Value::Null, draft }]) };
        if along.values.len() > MAX_POINTS {
            let problem = format!("{} points are more than {MAX_POINTS}", along.values.len());
            return Err(RequestError::Unknown(problem));
        }
        let point = |value: &Value| {
            let mut draft = draft.clone();
            set(&mut draft, controls, &along.key, value)?;
            Ok(ScenarioPoint { value: value.clone(), draft })
        };
        along.values.iter().map(point).collect()
    }
}

fn set(draft: &mut Draft, controls: &[Control], key: &str, value: &Value) -> Result<(), RequestError> {
    let control = controls.iter().find(|control| control.key == key);
    let control =
        control.ok_or_else(|| RequestError::Unknown(format!("`{key}` is no control of this page")))?;
    let control_value = control.values.iter().find(|known| is_equal(known, value));
    let control_value = control_value
        .ok_or_else(|| RequestError::Unknown(format!("{key}: {value} is none of its values")))?;
    Ok(draft.set(key, control_value.clone())?)
}

impl ScenarioPoint {
    /// Returns the scenario after validation.
    ///
    /// # Errors
    /// Returns an error for keys or values that are incompatible.
    pub fn scenario(&self) -> Result<Scenario, RequestError> {
        Ok(self.draft.scenario()?)
    }

    /// Returns the scenario as a TOML file.
    pub fn toml(&self) -> Result<String, String> {
        // TOML has no null.
        let text = toml::to_string_pretty(&without_nulls(self.draft.value()));
        text.map_err(|error| format!("cannot write the scenario: {error}"))
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let non_null = fields.iter().filter(|(_, value)| !value.is_null());
            non_null.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        Value::Array(values) => values.iter().map(without_nulls).collect(),
        value => value.clone(),
    }
}
