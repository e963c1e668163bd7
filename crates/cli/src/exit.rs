//! Failures of a command and their exit codes.

use crate::interrupt::EXIT_CODE;
use crate::messages::print_message;
use std::fmt::Display;
use wearwell_stack::{Draft, DraftError, RunError};
use wearwell_study::limit::LowerBoundError;
use wearwell_study::{MeasureError, SweepError};
use wearwell_theory::TheoryError;

/// Reason for the failure of a command; determines the exit code.
#[derive(Debug)]
pub enum Failure {
    /// The run failed: 1.
    Run(String),
    /// The command line or the scenario is wrong: 2.
    Usage(String),
    /// The result is meaningless or not steady, and `--strict` was given: 3.
    NotMeaningful(String),
    /// Result of a check that found errors or could not run; has its own exit code, as in fsck(8).
    #[cfg_attr(
        not(any(feature = "nvmfs", feature = "serve")),
        expect(dead_code, reason = "only file systems and images are checked so")
    )]
    CheckFailed(u8, String),
    /// Ctrl-C: 130.
    Interrupted,
    /// The process that reads our output has closed the pipe, as `head` does: ends quietly, without an error.
    BrokenPipe,
}

impl Failure {
    /// Returns the failure of a run with `error`.
    pub fn run(error: impl Display) -> Self {
        Failure::Run(error.to_string())
    }

    /// Returns the failure for a wrong command line or scenario.
    pub fn usage(error: impl Display) -> Self {
        Failure::Usage(error.to_string())
    }

    /// Returns the failure of a run of `draft`.
    pub fn of_run(error: RunError, draft: &Draft) -> Self {
        match error {
            RunError::Config(error) => draft.explain(&error).into(),
            RunError::Interrupted => Failure::Interrupted,
            other => Failure::run(other),
        }
    }

    /// Returns the failure of the lower bound of `draft`, or of the runs for it.
    pub fn of_limit(error: LowerBoundError, draft: &Draft) -> Self {
        match error {
            LowerBoundError::Draft(error) => (*error).into(),
            LowerBoundError::Run(error) => Failure::of_run(error, draft),
            LowerBoundError::Options(problem) => Failure::Usage(format!("--{problem}")),
            LowerBoundError::Sweep(SweepError::Interrupted { .. }) => Failure::Interrupted,
            other => Failure::run(other),
        }
    }

    /// Prints the failure and returns the exit code.
    pub fn report(self) -> u8 {
        let (code, message) = match self {
            Failure::Run(message) => (1, message),
            Failure::Usage(message) => (2, message),
            Failure::NotMeaningful(message) => (3, message),
            Failure::CheckFailed(code, message) => {
                print_message(message);
                return code;
            }
            Failure::Interrupted => (EXIT_CODE, "interrupted; nothing was left half written".into()),
            Failure::BrokenPipe => return 0,
        };
        print_message(format_args!("error: {message}"));
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
    /// Names the option of a parameter in the message.
    fn from(error: TheoryError) -> Self {
        match error {
            // The hint in the library's message is for callers of the library, not for users of the command line.
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

/// Returns the option that sets a parameter of the theory.
fn option_of(parameter: &str) -> String {
    match parameter {
        "write_share" | "space_share" => format!("--class, {}", parameter.replace('_', " ")),
        "exponent" => "--zipf".into(),
        "page_bytes" => "--page-size".into(),
        other => format!("--{}", other.replace('_', "-")),
    }
}
