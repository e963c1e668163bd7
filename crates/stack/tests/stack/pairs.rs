//! Every feature with every other: each pair runs, or is refused by a row of the table of refusals. The matrix in the
//! documentation shows the outcomes.

mod asks;
mod stacks;

use crate::common::assert_holds;
use asks::{Ask, asks, help};
use stacks::{Outcome, PLACES, pair};
use std::fmt::Write;
use wearwell_stack::RunResult;
use wearwell_stack::layers::REFUSALS;

/// Pairs that neither run nor are refused by the table, each with the actual message. Remove a pair from here once it is fixed.
const KNOWN: &[(&str, &str, &str)] = &[];

const NO_SETTING: &str = "no layer has a setting for both";

/// Outcome of a pair; the documentation explains the marks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// The pair works.
    Works,
    /// The pair works in one stack, with each feature in a layer of its own.
    Apart,
    /// Both are values of one setting.
    Same,
    /// A layer lacks an ability.
    Lacks,
    /// A row of the table of refusals applies.
    Refused(usize),
    /// The pair is in [`KNOWN`].
    Known,
}

/// Returns the row that names both features and refuses one of them.
fn direct(a: &str, b: &str) -> Option<usize> {
    REFUSALS.iter().position(|row| {
        let between = |one: &str, other: &str| {
            row.feature.name() == one && row.with.iter().any(|feature| feature.name() == other)
        };
        between(a, b) || between(b, a)
    })
}

fn known(a: &str, b: &str) -> Option<&'static str> {
    let found = KNOWN.iter().find(|(one, other, _)| (*one, *other) == (a, b) || (*one, *other) == (b, a));
    found.map(|(.., message)| *message)
}

/// Combines the outcomes of a pair; an error describes an unexpected outcome.
fn mark(a: &str, b: &str, outcomes: &[(&str, Outcome)]) -> Result<Mark, String> {
    let named = |problem: &str| Err(format!("{a} with {b}: {problem}"));
    let failed = outcomes.iter().find_map(|(place, outcome)| match outcome {
        Outcome::Failed(message) => Some(format!("on {place}: {message}")),
        _ => None,
    });
    let has = |wanted: fn(&Outcome) -> bool| outcomes.iter().any(|(_, outcome)| wanted(outcome));
    let works = has(|outcome| matches!(outcome, Outcome::Works(_)));
    let apart = has(|outcome| matches!(outcome, Outcome::NoSetting));
    let refused = outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Refused(row) => Some(*row),
        _ => None,
    });
    let nowhere = (apart && !works && refused.is_none()).then(|| NO_SETTING.to_owned());
    match (failed.or(nowhere), known(a, b)) {
        (Some(message), Some(part)) if message.contains(part) => return Ok(Mark::Known),
        (Some(message), _) => return named(&message),
        (None, Some(_)) => return named("does not fail any more: strike it from `KNOWN`"),
        (None, None) => {}
    }
    if let Some(row) = direct(a, b) {
        return match refused {
            Some(_) => Ok(Mark::Refused(row)),
            None => named(&format!("runs, against a row of the table: {}", REFUSALS[row].reason)),
        };
    }
    if let Some(row) = refused {
        return Ok(Mark::Refused(row));
    }
    match (works, apart) {
        (true, true) => Ok(Mark::Apart),
        (true, false) => Ok(Mark::Works),
        _ if has(|outcome| matches!(outcome, Outcome::Lacks)) => Ok(Mark::Lacks),
        _ => Ok(Mark::Same),
    }
}

/// Returns the marks of all pairs, by row and column.
fn matrix(asks: &[Ask]) -> Vec<Vec<Mark>> {
    let mut wrong = Vec::new();
    let mut marks = vec![vec![Mark::Same; asks.len()]; asks.len()];
    for (at, a) in asks.iter().enumerate() {
        for (other, b) in asks.iter().enumerate().take(at + 1) {
            let outcomes = PLACES.map(|place| (place, pair(a, b, place)));
            match mark(a.name, b.name, &outcomes) {
                Ok(mark) => (marks[at][other], marks[other][at]) = (mark, mark),
                Err(problem) => wrong.push(problem),
            }
        }
    }
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), wrong.join("\n"));
    marks
}

const HEAD: &str = "# Every feature with every other

Written by a test that runs every pair on a small drive; to renew it, run
`WEARWELL_BLESS=1 cargo test -p wearwell-stack --test stack pairs`. Kinds of layers are features as well.

What goes together is said nowhere else: a pair runs, or one table refuses it and says why.

## Features

| | feature | asked for by |
|--:|---|---|
";

const MARKS: &str = "
## Pairs

- `+`: both at once, in one layer where both belong to one.
- `o`: both in one stack, each in a layer of its own: this kind of layer has no setting for the other.
- `=`: two values of one setting, or two kinds of one layer.
- `a`: one needs an ability of the layer below it that this does not have with the other; the error names the ability and who has it.
- A number: refused within one layer, for the [reason](#reasons) of that number; where a companion of a feature is what is refused,
  the reason is the companion's.
";

/// Returns the page of the documentation.
fn page(asks: &[Ask], marks: &[Vec<Mark>]) -> String {
    let mut used: Vec<usize> = marks
        .iter()
        .flatten()
        .filter_map(|mark| match mark {
            Mark::Refused(row) => Some(*row),
            _ => None,
        })
        .collect();
    used.sort_unstable();
    used.dedup();
    let shown = |mark: &Mark| match mark {
        Mark::Works => "+".to_owned(),
        Mark::Apart => "o".to_owned(),
        Mark::Same => "=".to_owned(),
        Mark::Lacks => "a".to_owned(),
        Mark::Known => "?".to_owned(),
        Mark::Refused(row) => (used.iter().position(|other| other == row).expect("a row") + 1).to_string(),
    };
    let mut text = HEAD.to_owned();
    for (at, ask) in asks.iter().enumerate() {
        let _ = writeln!(text, "| {} | `{}` | {} |", at + 1, ask.name, help(ask.name));
    }
    text += MARKS;
    if !KNOWN.is_empty() {
        text += "- `?`: does not run, and no row of the table says why yet.\n";
    }
    let columns: Vec<String> = (1..=asks.len()).map(|at| at.to_string()).collect();
    let _ = write!(text, "\n| | | {} |\n|--:|---|{}\n", columns.join(" | "), ":-:|".repeat(asks.len()));
    for (at, (ask, marks)) in asks.iter().zip(marks).enumerate() {
        let cells = marks.iter().enumerate().map(|(other, mark)| match other == at {
            true => String::new(),
            false => shown(mark),
        });
        let _ = writeln!(text, "| {} | `{}` | {} |", at + 1, ask.name, cells.collect::<Vec<_>>().join(" | "));
    }
    text += "\n## Reasons\n\n";
    for (at, row) in used.iter().enumerate() {
        let row = &REFUSALS[*row];
        let with: Vec<String> = row.with.iter().map(|feature| format!("`{}`", feature.name())).collect();
        let _ =
            writeln!(text, "{}. `{}` with {}: {}.", at + 1, row.feature.name(), with.join(", "), row.reason);
    }
    text
}

#[test]
fn every_pair_runs_or_is_refused_by_the_table() {
    let asks = asks();
    let marks = matrix(&asks);
    assert_holds("docs/features.md", &page(&asks, &marks));
}

/// Returns the counts of the flash and of every layer as text, which both runs of a pair must share.
fn counts(mut result: RunResult) -> String {
    for layer in &mut result.layers {
        if let Some(ftl) = &mut layer.ftl {
            // The cost of a read relative to a write comes from the timing settings, if there are any.
            (ftl.delta, ftl.write_amplification_with_reads, ftl.recovery) = (0.0, None, None);
            ftl.delta_source.clear();
            if ftl.kind == "log" {
                layer.ftl = None;
            }
        }
    }
    format!("{:?} {:?} {:?}", result.layers, result.nand, result.wear)
}

fn worked(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Works(result) => result.map(|result| counts(*result)),
        _ => None,
    }
}

/// Passive features change no count: timed mode, and a cut at the end.
#[test]
fn passive_features_change_no_count() {
    let asks = asks();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for looks_on in ["timing", "power_at_end"] {
        let looks_on = asks.iter().find(|ask| ask.name == looks_on).expect("a feature");
        for ask in asks.iter().filter(|ask| ask.name != "content") {
            for place in PLACES {
                // One variant at a time, so that both runs use the same.
                for way in ask.ways.chunks(1) {
                    let ask = Ask { ways: way, ..*ask };
                    let both = [pair(&ask, &ask, place), pair(&ask, looks_on, place)].map(worked);
                    let [Some(plain), Some(watched)] = both else { continue };
                    compared += 1;
                    if plain != watched {
                        wrong.push(format!("{} with {} on {place}", ask.name, looks_on.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 100, "{compared}");
}

/// A `completing` policy with weight 0 equals the policy that ignores the layer below.
#[test]
fn completing_with_weight_0_equals_the_plain_policy() {
    let victim = |ways| Ask { name: "a victim", ways, companion: "" };
    let plain = victim(&["AT.victim = { policy = 'd_choices', choices = 10 }"]);
    let weighing = victim(&["AT.victim = { policy = 'completing', choices = 10, weight = 0.0 }"]);
    let mut compared = 0;
    // `d_choices` draws a victim early; the set of blocks with known counters may have grown by the time it is used.
    let draw_alike = |ask: &&Ask| !["content", "partial_counters"].contains(&ask.name);
    for ask in asks().iter().filter(draw_alike) {
        for place in PLACES {
            for way in ask.ways.chunks(1) {
                let ask = Ask { ways: way, ..*ask };
                let both = [pair(&ask, &plain, place), pair(&ask, &weighing, place)].map(worked);
                let [Some(plain), Some(weighing)] = both else { continue };
                assert_eq!(plain, weighing, "{} on {place}", ask.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// The length of windows changes no count, if both runs end at the same page.
#[test]
fn windows_change_no_count() {
    let windows = |ways| Ask { name: "windows", ways, companion: "" };
    let [wide, narrow] = [windows(&["measure.window = 1.0"]), windows(&["measure.window = 0.5"])];
    let mut compared = 0;
    for ask in asks().iter().filter(|ask| ask.name != "content") {
        for place in PLACES {
            let [Outcome::Works(Some(one)), Outcome::Works(Some(other))] =
                [&wide, &narrow].map(|window| pair(ask, window, place))
            else {
                continue;
            };
            if one.course.measured_host_pages == other.course.measured_host_pages {
                assert_eq!(counts(*one), counts(*other), "{} on {place}", ask.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
}

/// Features without an effect on results: defaults, features only for the calling program, and features that only save memory.
const UNSEEN: &[&str] = &["free_pool", "unheard", "log", "held_data", "block_directory"];

/// Every feature changes the result of some scenario here; otherwise its pairs would test nothing.
#[test]
fn every_feature_changes_some_result() {
    let all = |outcome: Outcome| {
        let Outcome::Works(Some(result)) = outcome else { return None };
        let mut value = serde_json::to_value(&*result).expect("a result");
        let table = value.as_object_mut().expect("a table");
        for key in ["scenario", "performance"] {
            table.remove(key);
        }
        Some(value)
    };
    let shows = |ask: &Ask, (place, neutral): (&str, &'static [&'static str])| {
        let beside = Ask { name: "nothing", ways: neutral, companion: "" };
        let plain = all(pair(&Ask { ways: neutral, ..*ask }, &beside, place));
        plain.is_some()
            && ask.ways.chunks(1).any(|way| {
                let with = all(pair(&Ask { ways: way, ..*ask }, &beside, place));
                with.is_some() && with != plain
            })
    };
    let places: [(&str, &[&str]); 2] =
        [("ftl", &["measure.warm_up = 0.0"]), ("log", &["log.structure.kind = 'log'"])];
    let asks = asks();
    let silent = asks.iter().filter(|ask| !places.iter().any(|place| shows(ask, *place)));
    let mut silent: Vec<&str> = silent.map(|ask| ask.name).collect();
    let mut unseen = UNSEEN.to_vec();
    silent.sort_unstable();
    unseen.sort_unstable();
    assert_eq!(silent, unseen);
}
