//! What nobody in his senses would ask for: thousands of hostile cases, from one seed, of which none may end in a panic, an
//! abort, a hang, an exit code that is not documented, an error that does not say what is wrong, or half a file.
//!
//! Most are commands that a worker process calls within itself (`worker.rs`). What needs a process of its own, because it is about
//! its surroundings or its signals, is in `processes.rs`.

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

/// One command with whatever it is about, and what is expected of it.
pub struct Case {
    /// What is wrong, for whoever reads of a failure.
    name: String,
    arguments: Vec<OsString>,
    /// Files of the folder that the command runs in.
    files: Vec<(String, Vec<u8>)>,
    /// One of these words is in the message of an error; none: the message is not looked at.
    named: Vec<String>,
    /// It may not succeed.
    must_fail: bool,
}

impl Case {
    /// A case of the command with these arguments.
    fn new<A: Into<OsString>>(name: impl Into<String>, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Case { name: name.into(), arguments, files: Vec::new(), named: Vec::new(), must_fail: false }
    }

    /// With a file.
    fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// An error has one of these words.
    fn named<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.named.extend(words.into_iter().map(Into::into));
        self
    }

    /// It is wrong beyond doubt.
    fn fails(mut self) -> Self {
        self.must_fail = true;
        self
    }

    /// What is wrong with the answer, if anything is.
    fn complaint(&self, answer: &Answer) -> Option<String> {
        let Answer { code, out, err, left } = answer;
        let is_of_fsck = self.arguments.iter().any(|word| word == "fsck");
        let is_named = self.named.is_empty() || self.named.iter().any(|word| err.contains(word.as_str()));
        // A directory that was asked for, and the finished runs of a sweep, from which it goes on.
        let is_half = |name: &&String| {
            let is_temporary = name.contains(".wearwell-") || name.ends_with(".tmp");
            is_temporary || (*code != 0 && !name.ends_with('/') && !name.contains("runs"))
        };
        // What the case itself gave, as a name or in a file, may be repeated.
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

/// Numbers from a seed, for what is drawn: the same in the test and in its worker.
struct Draws(u64);

impl Draws {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        // Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }

    /// One of `choices`.
    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// A name, how many cases there are at least, and what makes them.
type Class = (&'static str, usize, fn() -> Vec<Case>);

/// All classes of cases.
const CLASSES: &[Class] = &[
    ("traces", 3000, traces::cases),
    ("options", 11_000, options::cases),
    ("settings", 10_000, settings::cases),
    ("scenarios", 2_500, files::cases),
    ("results", 1_400, results::cases),
];

/// Runs every case: usually one in three is drawn, with another draw for each, so that every option and key meets some values and every
/// value some options.
const ALL: &str = "WEARWELL_HOSTILE_ALL";

/// Numbers of the cases that are run, of so many.
fn drawn(cases: usize) -> Vec<usize> {
    let is_all = std::env::var_os(ALL).is_some();
    let mut draws = Draws(3);
    (0..cases).filter(|_| draws.below(3) == 0 || is_all).collect()
}

/// A case that takes longer is told.
const SLOW: Duration = Duration::from_secs(1);

/// Cases of which at most so many go wrong are shown.
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
