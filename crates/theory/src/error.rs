//! What a model refuses.

/// A question that a model cannot answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TheoryError {
    /// A parameter outside what the model allows.
    #[error("{parameter}: {problem}")]
    Parameter {
        /// Name of the parameter, as the functions of this module spell it.
        parameter: &'static str,
        /// The value given and what is allowed.
        problem: String,
    },
    /// The equations were not solved: no number is better than a wrong one.
    #[error(
        "no fixed point found after {evaluations} evaluations (residual {residual:.1e}); please report {parameters}"
    )]
    NotConverged {
        /// Evaluations of the map.
        evaluations: usize,
        /// Largest residual left.
        residual: f64,
        /// What was asked.
        parameters: String,
    },
}

impl TheoryError {
    /// `parameter` has `problem`.
    pub fn parameter(parameter: &'static str, problem: impl Into<String>) -> Self {
        TheoryError::Parameter { parameter, problem: problem.into() }
    }
}

/// Refuses a value that is not strictly between `low` and `high`; NaN is never between.
pub(crate) fn between(parameter: &'static str, value: f64, low: f64, high: f64) -> Result<f64, TheoryError> {
    if value > low && value < high {
        return Ok(value);
    }
    Err(TheoryError::parameter(parameter, format!("{value} is not strictly between {low} and {high}")))
}
