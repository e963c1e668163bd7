//! Plain language in comments, docstrings, names of functions and tables of documents.
//!
//! CONTRIBUTING.md gives the reasons, under *Style*. Text in backquotes is code and is not checked.

use crate::common::root;
use crate::tidy::{assert_no_complaints, files, sources};
use std::fs;

/// First words that a paragraph of a docstring must not have.
const OPENINGS: &[&str] = &["What", "Who", "Whether", "How", "So many", "The same", "By which", "Such"];

/// Words for persons, which comments must replace by a noun.
const PERSONS: &[&str] = &["who", "whom", "whoever", "whatever", "somebody", "nobody", "others"];

/// First words that the name of a function must not have.
const QUESTIONS: &[&str] = &["what_", "who_", "it_", "how_"];

/// Maximum number of words in a sentence of a comment; text in backquotes counts as one word.
const SENTENCE_WORDS: usize = 35;

/// Maximum number of characters in a cell of a table.
const CELL_CHARS: usize = 200;

/// Folder of generated tables, which is not checked.
const GENERATED: &str = "experiments/results/";

/// Rules of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Opening,
    Persons,
    Sentence,
    Function,
    Cell,
}

/// A case that is allowed to break a rule.
#[derive(Clone, Copy)]
struct Exception {
    rule: Rule,
    /// Path or folder, from the root of the repository.
    path: &'static str,
    /// Words that the case contains.
    words: &'static str,
    reason: &'static str,
}

/// Allowed cases. An exception without a case fails the test, so that this list can only shrink.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: Rule::Function,
        path: "crates/study/src/fleet/",
        words: "what_if",
        reason: "a what-if analysis is a feature of `fleet`",
    },
    Exception {
        rule: Rule::Function,
        path: "crates/cli/src/commands/fleet/",
        words: "what_if",
        reason: "a what-if analysis is a feature of `fleet`",
    },
];

/// A text that breaks a rule.
struct Violation {
    path: String,
    line: usize,
    text: String,
}

/// Returns a complaint for each case without exception, and for each exception without case.
fn complaints(exceptions: &[Exception], rule: Rule, cases: &[Violation], allowed: &str) -> Vec<String> {
    let of_rule: Vec<&Exception> = exceptions.iter().filter(|exception| exception.rule == rule).collect();
    let excepts = |exception: &Exception, case: &Violation| {
        case.path.starts_with(exception.path) && case.text.contains(exception.words)
    };
    let forbidden = cases.iter().filter(|case| !of_rule.iter().any(|exception| excepts(exception, case)));
    let unused = of_rule.iter().filter(|exception| !cases.iter().any(|case| excepts(exception, case)));
    let unused = unused.map(|Exception { path, words, reason, .. }| {
        format!("{path}: remove the exception for \"{words}\" ({reason}) from language.rs: no such case")
    });
    forbidden
        .map(|Violation { path, line, text }| format!("{path}:{line}: \"{text}\": {allowed}"))
        .chain(unused)
        .collect()
}

/// Fails if there are cases without exception, or exceptions without case.
fn require_none(rule: Rule, cases: &[Violation], allowed: &str) {
    assert_no_complaints(&complaints(EXCEPTIONS, rule, cases, allowed));
}

/// A paragraph or list item of a comment.
#[derive(Debug, PartialEq, Eq)]
struct Passage {
    /// Number of the first line, from 1.
    line: usize,
    is_docstring: bool,
    text: String,
}

/// Passages of a file, collected line by line.
#[derive(Default)]
struct Passages {
    done: Vec<Passage>,
    open: Option<Passage>,
    in_example: bool,
}

impl Passages {
    /// Adds a line of a comment, without the comment marker.
    fn add(&mut self, line: usize, is_docstring: bool, body: &str) {
        let body = body.trim();
        if body.starts_with("```") {
            self.in_example = !self.in_example;
            self.end();
            return;
        }
        let begins_item = body.starts_with("- ") || body.starts_with("* ");
        let is_heading = body.starts_with('#');
        let continues = self.open.as_ref().is_some_and(|open| open.is_docstring == is_docstring);
        if body.is_empty() || begins_item || is_heading || body.starts_with('|') || !continues {
            self.end();
        }
        if body.is_empty() || is_heading || body.starts_with('|') || self.in_example {
            return;
        }
        let text = if begins_item { &body[2..] } else { body };
        if let Some(open) = &mut self.open {
            open.text.push(' ');
            open.text.push_str(text);
        } else {
            self.open = Some(Passage { line, is_docstring, text: text.to_owned() });
        }
    }

    /// Ends the passage at a line that does not belong to it.
    fn end(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Ends the comment.
    fn end_comment(&mut self) {
        self.end();
        self.in_example = false;
    }
}

/// Returns the comments of a Rust file that have lines of their own.
fn passages_of_rust(text: &str) -> Vec<Passage> {
    let mut found = Passages::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let docstring = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match docstring.or_else(|| line.strip_prefix("//")) {
            Some(body) => found.add(number + 1, docstring.is_some(), body),
            None => found.end_comment(),
        }
    }
    found.end();
    found.done
}

/// Returns the docstrings of a Python file, and the comments that have lines of their own.
fn passages_of_python(text: &str) -> Vec<Passage> {
    let mut found = Passages::default();
    // `Some(true)` inside a docstring, `Some(false)` inside any other string of several lines.
    let mut string = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let opens = string.is_none() && line.contains("\"\"\"");
        if opens {
            string = Some(line.trim_start_matches('r').starts_with("\"\"\""));
        }
        match (string, line.strip_prefix('#')) {
            (Some(true), _) => found.add(number + 1, true, &line.replace("\"\"\"", "")),
            (None, Some(body)) => found.add(number + 1, false, body),
            _ => found.end_comment(),
        }
        let marks = line.matches("\"\"\"").count();
        if marks == 2 || (marks == 1 && !opens) {
            found.end_comment();
            string = None;
        }
    }
    found.end();
    found.done
}

/// Returns the paths and texts of all files whose names end in `.EXTENSION`.
fn texts(extension: &str) -> Vec<(String, String)> {
    let of_kind = files().into_iter().filter(|path| path.extension().is_some_and(|end| end == extension));
    of_kind
        .map(|path| (path.display().to_string(), fs::read_to_string(root().join(&path)).unwrap()))
        .collect()
}

/// Returns the passages of all Rust files.
fn rust() -> Vec<(String, Passage)> {
    let of_file = |(path, text): (String, String)| {
        passages_of_rust(&text).into_iter().map(move |passage| (path.clone(), passage))
    };
    sources().into_iter().flat_map(of_file).collect()
}

/// Returns the passages of all Rust and Python files.
fn all() -> Vec<(String, Passage)> {
    let of_file = |(path, text): (String, String)| {
        passages_of_python(&text).into_iter().map(move |passage| (path.clone(), passage))
    };
    rust().into_iter().chain(texts("py").into_iter().chain(texts("pyi")).flat_map(of_file)).collect()
}

/// Replaces each text between two characters `mark` by one word.
fn without_quoted(text: &str, mark: char) -> String {
    let pieces: Vec<&str> = text.split(mark).collect();
    let last = pieces.len() - 1;
    let is_quoted = |number: usize| number % 2 == 1 && number < last;
    pieces.iter().enumerate().map(|(number, piece)| if is_quoted(number) { "X" } else { piece }).collect()
}

/// Returns the first words of a docstring that it must not begin with.
fn forbidden_opening(passage: &Passage) -> Option<&'static str> {
    let begins = |words: &str| {
        let rest = passage.text.strip_prefix(words);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    OPENINGS.iter().copied().filter(|_| passage.is_docstring).find(|words| begins(words))
}

/// Returns the words for persons in a text, with up to three words before and after them.
fn persons(text: &str) -> Vec<String> {
    let text = without_quoted(&without_quoted(text, '`'), '"');
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_person = |word: &str| {
        let mut parts = word.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        parts.any(|part| PERSONS.contains(&part.to_lowercase().as_str()))
    };
    let around = |at: usize| words[at.saturating_sub(3)..words.len().min(at + 4)].join(" ");
    (0..words.len()).filter(|at| is_person(words[*at])).map(around).collect()
}

/// Returns the number of words and the beginning of each sentence.
///
/// A sentence ends at a full stop, colon, semicolon, question or exclamation mark before a capital or code. A full
/// stop before a digit also ends it.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let text = without_quoted(text, '`');
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = |pair: &[&str]| {
        let end = pair[0].trim_end_matches([')', '"', '*', '\'']);
        let next = pair[1].trim_start_matches(['(', '[', '"', '*']);
        let is_capital = next.starts_with(char::is_uppercase);
        end.ends_with(['.', ':', ';', '!', '?']) && is_capital
            || end.ends_with('.') && next.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let mut found = Vec::new();
    let mut start = 0;
    for at in 0..words.len() {
        if at + 1 == words.len() || ends(&words[at..at + 2]) {
            let sentence = &words[start..=at];
            let length = sentence.iter().filter(|word| word.contains(char::is_alphanumeric)).count();
            found.push((length, sentence[..sentence.len().min(8)].join(" ")));
            start = at + 1;
        }
    }
    found
}

/// Returns the cells of a table's row; a pipe after a backslash belongs to its cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().replace("\\|", "\u{0}");
    row.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

#[test]
fn docstrings_begin_with_noun_or_verb() {
    let cases: Vec<Violation> = all()
        .into_iter()
        .filter_map(|(path, passage)| {
            let text = forbidden_opening(&passage)?.to_owned();
            Some(Violation { path, line: passage.line, text })
        })
        .collect();
    let allowed =
        "begin a docstring with a verb (functions), a noun phrase (types and fields) or \"True if\"";
    require_none(Rule::Opening, &cases, allowed);
}

#[test]
fn comments_do_not_treat_code_as_persons() {
    let mut cases = Vec::new();
    for (path, passage) in all() {
        let found = persons(&passage.text).into_iter();
        cases.extend(found.map(|text| Violation { path: path.clone(), line: passage.line, text }));
    }
    let allowed = format!("name the thing (the caller, other pages) instead of {}", PERSONS.join(", "));
    require_none(Rule::Persons, &cases, &allowed);
}

#[test]
fn sentences_of_comments_are_short() {
    let mut cases = Vec::new();
    for (path, passage) in rust() {
        let long = sentences(&passage.text).into_iter().filter(|(words, _)| *words > SENTENCE_WORDS);
        cases.extend(long.map(|(words, start)| {
            let text = format!("{start} ... ({words} words)");
            Violation { path: path.clone(), line: passage.line, text }
        }));
    }
    let allowed = format!("at most {SENTENCE_WORDS} words a sentence, make two of it");
    require_none(Rule::Sentence, &cases, &allowed);
}

#[test]
fn function_names_are_not_questions() {
    let mut cases = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let name = line.trim_start().split_once("fn ").map_or("", |(before, name)| {
                if before.contains("//") || before.contains('"') { "" } else { name }
            });
            let name = name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap();
            if QUESTIONS.iter().any(|words| name.starts_with(words)) {
                cases.push(Violation { path: path.clone(), line: number + 1, text: name.to_owned() });
            }
        }
    }
    require_none(Rule::Function, &cases, "name a test by subject, condition and result");
}

#[test]
fn cells_of_tables_are_phrases() {
    let mut cases = Vec::new();
    for (path, text) in texts("md").into_iter().filter(|(path, _)| !path.starts_with(GENERATED)) {
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            in_code ^= line.starts_with("```");
            let row = Some(line).filter(|line| !in_code && line.starts_with('|'));
            let long = row.into_iter().flat_map(cells).filter(|cell| cell.chars().count() > CELL_CHARS);
            cases.extend(long.map(|cell| {
                let start: String = cell.chars().take(60).collect();
                let text = format!("{start} ... ({} characters)", cell.chars().count());
                Violation { path: path.clone(), line: number + 1, text }
            }));
        }
    }
    let allowed = format!("at most {CELL_CHARS} characters a cell, move the rest below the table");
    require_none(Rule::Cell, &cases, &allowed);
}

fn passage(line: usize, is_docstring: bool, text: &str) -> Passage {
    Passage { line, is_docstring, text: text.to_owned() }
}

#[test]
fn passages_are_found() {
    let rust =
        "//! One\n//! passage.\n//!\n//! - An item.\n//! ```\n//! code\n//! ```\nfn f() {}\n    // Two.\n";
    let expected =
        [passage(1, true, "One passage."), passage(4, true, "An item."), passage(9, false, "Two.")];
    assert_eq!(passages_of_rust(rust), expected);
    let python = "\"\"\"One\npassage.\"\"\"\n# Two.\nx = \"\"\"\n# no comment\n\"\"\"\ndef f():\n    \"\"\"Three.\"\"\"\n";
    let expected = [passage(1, true, "One passage."), passage(3, false, "Two."), passage(8, true, "Three.")];
    assert_eq!(passages_of_python(python), expected);
}

#[test]
fn rules_find_violations() {
    assert_eq!(forbidden_opening(&passage(1, true, "How it is")), Some("How"));
    assert_eq!(forbidden_opening(&passage(1, true, "However")), None);
    assert_eq!(forbidden_opening(&passage(1, false, "How it is")), None);
    assert_eq!(persons("a b c d Others, e"), ["b c d Others, e"]);
    assert_eq!(persons("`others` and \"who\", without"), [""; 0]);
    let lengths = |text| sentences(text).into_iter().map(|(words, _)| words).collect::<Vec<_>>();
    assert_eq!(lengths("One, two: three (at 1.5). `a b` + four; five. 0 if none."), [5, 3, 3]);
    assert_eq!(cells("| a | `b \\| c` |"), ["a", "`b | c`"]);
}

#[test]
fn unused_exceptions_are_reported() {
    let exception = Exception { rule: Rule::Function, path: "a/", words: "what_if", reason: "a name" };
    let case = |path: &str, text: &str| Violation { path: path.to_owned(), line: 7, text: text.to_owned() };
    let found = |cases: &[Violation]| complaints(&[exception], Rule::Function, cases, "rename it");
    assert_eq!(found(&[case("a/b.rs", "what_if_free")]), [""; 0]);
    let expected = [
        "b.rs:7: \"what_if\": rename it",
        "a/: remove the exception for \"what_if\" (a name) from language.rs: no such case",
    ];
    assert_eq!(found(&[case("b.rs", "what_if")]), expected);
}
