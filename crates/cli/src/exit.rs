//! How a command ends when it does not end well.

use crate::interrupt::EXIT_CODE;
use crate::tell::tell;
use std::fmt::Display;
use wearwell_stack::{Draft, DraftError, RunError};
use wearwell_study::limit::LimitError;
use wearwell_study::{MeasureError, SweepError};
use wearwell_theory::TheoryError;

/// Why a command failed; decides the exit code.
#[derive(Debug)]
pub enum Failure {
    /// The run failed: 1.
    Run(String),
    /// The command line or the scenario is wrong: 2.
    Usage(String),
    /// The result would mean nothing or is not steady, and `--strict` was given: 3.
    NotMeaningful(String),
    /// What a check found, or why it could not be made: a code of its own, as fsck(8) has them.
    #[cfg_attr(
        not(any(feature = "nvmfs", feature = "serve")),
        expect(dead_code, reason = "only file systems and images are checked so")
    )]
    Checked(u8, String),
    /// Ctrl-C: 130.
    Interrupted,
    /// Whoever read our output has gone, as `head` does: nothing to say, and no fault.
    ReaderLeft,
}

impl Failure {
    /// The run failed with `error`.
    pub fn run(error: impl Display) -> Self {
        Failure::Run(error.to_string())
    }

    /// The command line or the scenario is wrong, as `error` says.
    pub fn usage(error: impl Display) -> Self {
        Failure::Usage(error.to_string())
    }

    /// A failed run of what `draft` describes.
    pub fn of_run(error: RunError, draft: &Draft) -> Self {
        match error {
            RunError::Config(error) => draft.explain(&error).into(),
            RunError::Interrupted => Failure::Interrupted,
            other => Failure::run(other),
        }
    }

    /// What `draft` describes has no limit, or the runs beside it cannot go on.
    pub fn of_limit(error: LimitError, draft: &Draft) -> Self {
        match error {
            LimitError::Draft(error) => (*error).into(),
            LimitError::Run(error) => Failure::of_run(error, draft),
            LimitError::Options(problem) => Failure::Usage(format!("--{problem}")),
            LimitError::Sweep(SweepError::Interrupted { .. }) => Failure::Interrupted,
            other => Failure::run(other),
        }
    }

    /// Tells the user and gives the exit code.
    pub fn report(self) -> u8 {
        let (code, message) = match self {
            Failure::Run(message) => (1, message),
            Failure::Usage(message) => (2, message),
            Failure::NotMeaningful(message) => (3, message),
            Failure::Checked(code, message) => {
                tell(message);
                return code;
            }
            Failure::Interrupted => (EXIT_CODE, "interrupted; nothing was left half written".into()),
            Failure::ReaderLeft => return 0,
        };
        tell(format_args!("error: {message}"));
        code
    }
}

impl From<DraftError> for Failure {
    fn from(error: DraftError) -> Self {
        match &error.excerpt {
            Some(excerpt) => Failure::Usage(format!("{error}\n{excerpt}")),
            None => Failure::usage(error),
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Interrupted => Failure::Interrupted,
            other => Failure::run(other),
        }
    }
}

impl From<TheoryError> for Failure {
    /// A parameter is shown as the option that gives it.
    fn from(error: TheoryError) -> Self {
        match error {
            // The library's advice is for programs.
            TheoryError::Parameter { parameter: "classes", problem } => {
                let problem = problem.split(';').next().unwrap_or_default();
                Failure::Usage(format!("--class, --zipf-classes: {problem}; give fewer"))
            }
            TheoryError::Parameter { parameter, problem } => {
                Failure::Usage(format!("{}: {problem}", option_of(parameter)))
            }
            other => Failure::run(other),
        }
    }
}

/// The option that gives a parameter of the theory.
fn option_of(parameter: &str) -> String {
    match parameter {
        "write_share" | "space_share" => format!("--class, {}", parameter.replace('_', " ")),
        "exponent" => "--zipf".into(),
        "page_bytes" => "--page-size".into(),
        other => format!("--{}", other.replace('_', "-")),
    }
}
