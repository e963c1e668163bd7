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
use worker::{Answer, Worker};

/// A command, its files, and its expected outcome.
pub struct Case {
    /// Description for the report of a failure.
    name: String,
    arguments: Vec<OsString>,
    /// Files in the working directory of the command.
    files: Vec<(String, Vec<u8>)>,
    /// Words of which the error message must contain at least one; if empty, the message is not checked.
    named: Vec<String>,
    /// True if the command must fail.
    must_fail: bool,
}

impl Case {
    /// Returns a case of the command with these arguments.
    fn new<A: Into<OsString>>(name: impl Into<String>, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Case { name: name.into(), arguments, files: Vec::new(), named: Vec::new(), must_fail: false }
    }

    /// Adds a file.
    fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// Requires that an error contains one of these words.
    fn named<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.named.extend(words.into_iter().map(Into::into));
        self
    }

    /// Requires that the command fails.
    fn fails(mut self) -> Self {
        self.must_fail = true;
        self
    }

    /// Returns the problem with the answer, if there is one.
    fn complaint(&self, answer: &Answer) -> Option<String> {
        let Answer { code, out, err, left } = answer;
        let is_of_fsck = self.arguments.iter().any(|word| word == "fsck");
        let is_named = self.named.is_empty() || self.named.iter().any(|word| err.contains(word.as_str()));
        // Exempt are a directory that was asked for, and the finished runs that let a sweep continue.
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
                None if !is_named => format!("the error names none of {:?}", self.named),
                None => return None,
            },
            4 | 8 if is_of_fsck => return None,
            other => format!("it ends with {other}"),
        })
    }
}

/// Pseudorandom numbers from a fixed seed: the test and its worker draw the same cases.
struct Draws(u64);

impl Draws {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        // Constants of Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }

    /// Returns one of `choices`.
    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// A class of cases: its name, least number of cases, and generator.
type Class = (&'static str, usize, fn() -> Vec<Case>);

/// All classes of cases.
const CLASSES: &[Class] = &[
    ("traces", 3000, traces::cases),
    ("options", 11_000, options::cases),
    ("settings", 10_000, settings::cases),
    ("scenarios", 2_500, files::cases),
    ("results", 1_400, results::cases),
];

/// Environment variable that runs every case. By default one in three is drawn, independently for each, so that each
/// option and key meets some values and each value some options.
const ALL: &str = "WEARWELL_HOSTILE_ALL";

/// Returns the indices of the cases to run, out of `cases`.
fn drawn(cases: usize) -> Vec<usize> {
    let is_all = std::env::var_os(ALL).is_some();
    let mut draws = Draws(3);
    (0..cases).filter(|_| draws.below(3) == 0 || is_all).collect()
}

/// A case that takes longer is reported.
const SLOW: Duration = Duration::from_secs(1);

/// Largest number of failed cases that are shown.
const SHOWN: usize = 40;

/// Runs the cases of a class in a worker.
fn run(class: &str) {
    let &(_, least, cases) = CLASSES.iter().find(|(name, ..)| *name == class).expect("a class");
    let cases = cases();
    let mut worker = Worker::start(class);
    let mut complaints = Vec::new();
    let drawn = drawn(cases.len());
    for &number in &drawn {
        let case = &cases[number];
        let begin = Instant::now();
        let answer = worker.ask(number);
        if begin.elapsed() > SLOW {
            println!("{:.1} s  {}", begin.elapsed().as_secs_f64(), case.name);
        }
        let told = match answer {
            Ok(answer) => case.complaint(&answer).map(|text| format!("{text}\n{}{}", answer.out, answer.err)),
            Err(end) => {
                worker = Worker::start(class);
                Some(end)
            }
        };
        if let Some(told) = told {
            let told: String = told.chars().take(1500).collect();
            complaints.push(format!("{number}: {}: {told}\n    {:?}", case.name, case.arguments));
        }
    }
    println!("{class}: {} of {} hostile cases ({ALL}=1 runs all)", drawn.len(), cases.len());
    assert!(cases.len() >= least, "only {} cases of {class}", cases.len());
    let count = complaints.len();
    complaints.truncate(SHOWN);
    assert!(count == 0, "{count} of {} cases of {class}:\n{}\n", cases.len(), complaints.join("\n"));
}

#[test]
fn traces_of_every_format_and_kind_of_damage() {
    run("traces");
}

#[test]
fn every_option_of_every_command() {
    run("options");
}

#[test]
fn every_key_of_the_schema() {
    run("settings");
}

#[test]
fn scenarios_cut_anywhere_and_damaged() {
    run("scenarios");
}

#[test]
fn results_and_journals_cut_and_damaged() {
    run("results");
}

#[test]
fn there_are_more_than_four_thousand() {
    let least: usize = CLASSES.iter().map(|(_, least, _)| drawn(*least).len()).sum();
    assert!(least + processes::LEAST >= 4000, "{least}");
}
