//! Errors of the models.

/// Error of a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TheoryError {
    /// A parameter outside the range that the model allows.
    #[error("{parameter}: {problem}")]
    Parameter {
        /// Name of the parameter, as in the function or type.
        parameter: &'static str,
        /// Given value and the allowed range.
        problem: String,
    },
    /// The equations were not solved; a wrong number would be worse than none.
    #[error(
        "no fixed point found after {evaluations} evaluations (residual {residual:.1e}); please report {parameters}"
    )]
    NotConverged {
        /// Number of evaluations of the equations.
        evaluations: usize,
        /// Largest residual after the last evaluation.
        residual: f64,
        /// Parameters of the failed computation.
        parameters: String,
    },
}

impl TheoryError {
    /// Returns the error of `parameter`, described by `problem`.
    pub fn parameter(parameter: &'static str, problem: impl Into<String>) -> Self {
        TheoryError::Parameter { parameter, problem: problem.into() }
    }
}

/// Returns the value if it is strictly between `low` and `high`, otherwise an error; NaN is always an error.
pub(crate) fn between(parameter: &'static str, value: f64, low: f64, high: f64) -> Result<f64, TheoryError> {
    if value > low && value < high {
        return Ok(value);
    }
    Err(TheoryError::parameter(parameter, format!("{value} is not strictly between {low} and {high}")))
}
