//! What the page asks: settings that replace those of the scenario, and a control along which answers are wanted.

use super::controls::{Control, is_equal};
use serde::Deserialize;
use serde_json::Value;
use wearwell_stack::{Draft, DraftError, Scenario};

/// Points of a curve in one question; more are asked for one part after the other.
pub const MOST_POINTS: usize = 64;

/// Settings, in the order of the controls, and points along one of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    settings: Vec<(String, Value)>,
    #[serde(default)]
    along: Option<Along>,
}

/// A control, and its values for which answers are wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    key: String,
    values: Vec<Value>,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// No such control, or not that value of it: the page never asks this.
    #[error("{0}")]
    Unknown(String),
    /// The scenario cannot be.
    #[error("{0}")]
    Scenario(#[from] DraftError),
}

/// A scenario that is asked about, and the value along the curve.
pub struct Asked {
    /// The value of the control along which is asked; null where there is none.
    pub value: Value,
    /// The scenario as its file would be.
    pub draft: Draft,
}

impl Question {
    /// The scenarios that are asked about: one for each point, in their order.
    ///
    /// Nothing but the values of controls gets into a scenario, so that whoever asks reads no file and builds no huge drive.
    ///
    /// # Errors
    /// Keys or values that no control has, and too many points.
    pub fn asked(&self, base: &Draft, controls: &[Control]) -> Result<Vec<Asked>, QuestionError> {
        let mut draft = base.clone();
        for (key, value) in &self.settings {
            set(&mut draft, controls, key, value)?;
        }
        let Some(along) = &self.along else { return Ok(vec![Asked { value: Value::Null, draft }]) };
        if along.values.len() > MOST_POINTS {
            let problem = format!("{} points are more than {MOST_POINTS}", along.values.len());
            return Err(QuestionError::Unknown(problem));
        }
        let point = |value: &Value| {
            let mut draft = draft.clone();
            set(&mut draft, controls, &along.key, value)?;
            Ok(Asked { value: value.clone(), draft })
        };
        along.values.iter().map(point).collect()
    }
}

fn set(draft: &mut Draft, controls: &[Control], key: &str, value: &Value) -> Result<(), QuestionError> {
    let control = controls.iter().find(|control| control.key == key);
    let control =
        control.ok_or_else(|| QuestionError::Unknown(format!("`{key}` is no control of this page")))?;
    let known = control.values.iter().find(|known| is_equal(known, value));
    let known =
        known.ok_or_else(|| QuestionError::Unknown(format!("{key}: {value} is none of its values")))?;
    Ok(draft.set(key, known.clone())?)
}

impl Asked {
    /// The scenario, checked.
    ///
    /// # Errors
    /// Keys or values that do not go together.
    pub fn scenario(&self) -> Result<Scenario, QuestionError> {
        Ok(self.draft.scenario()?)
    }

    /// The scenario as a file.
    pub fn toml(&self) -> Result<String, String> {
        // What is null in JSON does not stand in TOML.
        let text = toml::to_string_pretty(&without_nulls(self.draft.value()));
        text.map_err(|error| format!("cannot write the scenario: {error}"))
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        Value::Array(values) => values.iter().map(without_nulls).collect(),
        value => value.clone(),
    }
}
