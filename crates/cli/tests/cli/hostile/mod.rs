//! Tests with thousands of invalid or hostile inputs, drawn from one seed. No case may end in a panic, an abort, a
//! hang, an undocumented exit code, an error without a reason, or a partial file.
//!
//! Most cases are commands that a worker process runs within itself (`worker.rs`). Cases about the environment or
//! signals need a separate process each and are in `processes.rs`.

mod files;
mod options;
mod processes;
mod results;
mod settings;
mod traces;
mod worker;

use std::ffi::OsString;
use std::time::{Duration, Instant};
use worker::{CommandOutcome, Worker};

/// A command, its files, and its expected outcome.
pub struct Case {
    /// Description for the report of a failure.
    name: String,
    arguments: Vec<OsString>,
    /// Files in the working directory of the command.
    files: Vec<(String, Vec<u8>)>,
    /// Words of which the error message must contain at least one; if empty, the message is not checked.
    expected_words: Vec<String>,
    /// True if the command must fail.
    must_fail: bool,
}

impl Case {
    /// Returns a case of the command with these arguments.
    fn new<A: Into<OsString>>(name: impl Into<String>, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Case { name: name.into(), arguments, files: Vec::new(), expected_words: Vec::new(), must_fail: false }
    }

    /// Adds a file.
    fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// Requires that an error contains one of these words.
    fn expect_words<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.expected_words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Requires that the command fails.
    fn expect_failure(mut self) -> Self {
        self.must_fail = true;
        self
    }

    /// Returns the problem with the answer, if there is one.
    fn problem(&self, answer: &CommandOutcome) -> Option<String> {
        let CommandOutcome { code, out, err, new_files: left } = answer;
        let is_of_fsck = self.arguments.iter().any(|word| word == "fsck");
        let is_named = self.expected_words.is_empty()
            || self.expected_words.iter().any(|word| err.contains(word.as_str()));
        // A requested directory is exempt, and so are the finished runs that let a sweep continue.
        let is_half = |name: &&String| {
            let is_temporary = name.contains(".wearwell-") || name.ends_with(".tmp");
            is_temporary || (*code != 0 && !name.ends_with('/') && !name.contains("runs"))
        };
        // Names and file contents from the case itself may be repeated in the message.
        let is_given = |word: &str| {
            let is_in = |bytes: &[u8]| bytes.windows(word.len()).any(|window| window == word.as_bytes());
            self.arguments.iter().any(|argument| is_in(argument.as_encoded_bytes()))
                || self.files.iter().any(|(_, content)| is_in(content))
        };
        let is_no_number = |word: &str| {
            let word = word.trim_matches(|letter: char| !letter.is_ascii_alphabetic());
            ["NaN", "inf"].contains(&word) && !is_given(word)
        };
        Some(match code {
            _ if err.contains("panicked") => "it panics".into(),
            0 if out.split_whitespace().any(is_no_number) => "it prints what is no number".into(),
            0 if self.must_fail => "it is accepted".into(),
            0..=3 => match left.iter().find(is_half) {
                Some(name) => format!("it leaves {name}"),
                None if *code == 0 => return None,
                None if *code == 2 && !out.is_empty() => "it prints something beside the error".into(),
                None if err.trim().is_empty() => "it says nothing".into(),
                None if err.len() > 6000 => "it says too much".into(),
                None if !is_named => format!("the error names none of {:?}", self.expected_words),
                None => return None,
            },
            4 | 8 if is_of_fsck => return None,
            other => format!("it ends with {other}"),
        })
    }
}

/// Pseudorandom numbers from a fixed seed: the test and its worker draw the same cases.
struct CaseRandom(u64);

impl CaseRandom {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        // Constants of Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }

    /// Returns one of `choices`.
    fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// A class of cases: its name, least number of cases, and generator.
type CaseClass = (&'static str, usize, fn() -> Vec<Case>);

/// All classes of cases.
const CLASSES: &[CaseClass] = &[
    ("traces", 3000, traces::cases),
    ("options", 11_000, options::cases),
    ("settings", 10_000, settings::cases),
    ("scenarios", 2_500, files::cases),
    ("results", 1_400, results::cases),
];

/// Environment variable that runs every case. By default, each case runs with a probability of one third, so that every
/// option and key is combined with some values, and every value with some options.
const ALL_CASES_VARIABLE: &str = "WEARWELL_HOSTILE_ALL";

/// Returns the indices of the cases to run, out of `cases`.
fn drawn_cases(cases: usize) -> Vec<usize> {
    let is_all = std::env::var_os(ALL_CASES_VARIABLE).is_some();
    let mut draws = CaseRandom(3);
    (0..cases).filter(|_| draws.below(3) == 0 || is_all).collect()
}

/// A case that takes longer is reported.
const SLOW: Duration = Duration::from_secs(1);

/// Largest number of failed cases that are shown.
const MAX_SHOWN_FAILURES: usize = 40;

/// Runs the cases of a class in a worker.
fn run(class: &str) {
    let &(_, least, cases) = CLASSES.iter().find(|(name, ..)| *name == class).expect("a class");
    let cases = cases();
    let mut worker = Worker::start(class);
    let mut complaints = Vec::new();
    let drawn = drawn_cases(cases.len());
    for &number in &drawn {
        let case = &cases[number];
        let begin = Instant::now();
        let answer = worker.run_case(number);
        if begin.elapsed() > SLOW {
            println!("{:.1} s  {}", begin.elapsed().as_secs_f64(), case.name);
        }
        let problem = match answer {
            Ok(answer) => case.problem(&answer).map(|text| format!("{text}\n{}{}", answer.out, answer.err)),
            Err(end) => {
                worker = Worker::start(class);
                Some(end)
            }
        };
        if let Some(problem) = problem {
            let problem: String = problem.chars().take(1500).collect();
            complaints.push(format!("{number}: {}: {problem}\n    {:?}", case.name, case.arguments));
        }
    }
    println!("{class}: {} of {} hostile cases ({ALL_CASES_VARIABLE}=1 runs all)", drawn.len(), cases.len());
    assert!(cases.len() >= least, "only {} cases of {class}", cases.len());
    let count = complaints.len();
    complaints.truncate(MAX_SHOWN_FAILURES);
    assert!(count == 0, "{count} of {} cases of {class}:\n{}\n", cases.len(), complaints.join("\n"));
}

#[test]
fn damaged_traces_end_cleanly() {
    run("traces");
}

#[test]
fn invalid_option_values_end_cleanly() {
    run("options");
}

#[test]
fn invalid_settings_end_cleanly() {
    run("settings");
}

#[test]
fn truncated_and_damaged_scenarios_end_cleanly() {
    run("scenarios");
}

#[test]
fn truncated_and_damaged_results_and_journals_end_cleanly() {
    run("results");
}

#[test]
fn case_count_exceeds_four_thousand() {
    let least: usize = CLASSES.iter().map(|(_, least, _)| drawn_cases(*least).len()).sum();
    assert!(least + processes::MIN_CASES >= 4000, "{least}");
}
