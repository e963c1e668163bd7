//! Every feature with every other: each pair runs, or is refused by a row of the table of refusals. The matrix in the
//! documentation shows the outcomes.

mod requests;
mod stacks;

use crate::common::assert_file_equals;
use requests::{FeatureRequest, help, requests};
use stacks::{Outcome, TARGET_LAYERS, pair};
use std::fmt::Write;
use wearwell_stack::RunResult;
use wearwell_stack::layers::FEATURE_CONFLICTS;

/// Pairs that neither run nor are refused by the table, each with the actual message. Remove a pair from this list once
/// the pair works or is refused.
const KNOWN_FAILURES: &[(&str, &str, &str)] = &[];

const NO_SETTING: &str = "no layer has a setting for both";

/// Outcome of a pair; the documentation explains its symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatrixCell {
    /// The pair works.
    Works,
    /// The pair works in one stack, with each feature in a separate layer.
    SeparateLayers,
    /// Both features are values of one setting.
    Same,
    /// A layer lacks an ability.
    MissingAbility,
    /// A row of the table of refusals applies.
    Refused(usize),
    /// The pair is in [`KNOWN_FAILURES`].
    KnownFailure,
}

/// Returns the row that names both features and refuses one of them.
fn direct_conflict(a: &str, b: &str) -> Option<usize> {
    FEATURE_CONFLICTS.iter().position(|row| {
        let between = |one: &str, other: &str| {
            row.feature.name() == one && row.with.iter().any(|feature| feature.name() == other)
        };
        between(a, b) || between(b, a)
    })
}

fn known_failure(a: &str, b: &str) -> Option<&'static str> {
    let found =
        KNOWN_FAILURES.iter().find(|(one, other, _)| (*one, *other) == (a, b) || (*one, *other) == (b, a));
    found.map(|(.., message)| *message)
}

/// Combines the outcomes of a pair; an error describes an unexpected outcome.
fn combine_outcomes(a: &str, b: &str, outcomes: &[(&str, Outcome)]) -> Result<MatrixCell, String> {
    let named = |problem: &str| Err(format!("{a} with {b}: {problem}"));
    let failed = outcomes.iter().find_map(|(target, outcome)| match outcome {
        Outcome::Failed(message) => Some(format!("on {target}: {message}")),
        _ => None,
    });
    let has = |wanted: fn(&Outcome) -> bool| outcomes.iter().any(|(_, outcome)| wanted(outcome));
    let works = has(|outcome| matches!(outcome, Outcome::Works(_)));
    let has_separate_layers = has(|outcome| matches!(outcome, Outcome::NoSetting));
    let refused = outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Refused(row) => Some(*row),
        _ => None,
    });
    let no_setting = (has_separate_layers && !works && refused.is_none()).then(|| NO_SETTING.to_owned());
    match (failed.or(no_setting), known_failure(a, b)) {
        (Some(message), Some(part)) if message.contains(part) => return Ok(MatrixCell::KnownFailure),
        (Some(message), _) => return named(&message),
        (None, Some(_)) => return named("does not fail any more: strike it from `KNOWN`"),
        (None, None) => {}
    }
    if let Some(row) = direct_conflict(a, b) {
        return match refused {
            Some(_) => Ok(MatrixCell::Refused(row)),
            None => named(&format!("runs, against a row of the table: {}", FEATURE_CONFLICTS[row].reason)),
        };
    }
    if let Some(row) = refused {
        return Ok(MatrixCell::Refused(row));
    }
    match (works, has_separate_layers) {
        (true, true) => Ok(MatrixCell::SeparateLayers),
        (true, false) => Ok(MatrixCell::Works),
        _ if has(|outcome| matches!(outcome, Outcome::MissingAbility)) => Ok(MatrixCell::MissingAbility),
        _ => Ok(MatrixCell::Same),
    }
}

/// Returns the outcomes of all pairs, by row and column.
fn matrix(requests: &[FeatureRequest]) -> Vec<Vec<MatrixCell>> {
    let mut problems = Vec::new();
    let mut marks = vec![vec![MatrixCell::Same; requests.len()]; requests.len()];
    for (at, a) in requests.iter().enumerate() {
        for (other, b) in requests.iter().enumerate().take(at + 1) {
            let outcomes = TARGET_LAYERS.map(|target| (target, pair(a, b, target)));
            match combine_outcomes(a.name, b.name, &outcomes) {
                Ok(mark) => (marks[at][other], marks[other][at]) = (mark, mark),
                Err(problem) => problems.push(problem),
            }
        }
    }
    assert!(problems.is_empty(), "{} pairs:\n{}", problems.len(), problems.join("\n"));
    marks
}

const PAGE_HEAD: &str = "# Every feature with every other

A test runs every pair of features on a small drive and writes this page. To update the page, run
`WEARWELL_BLESS=1 cargo test -p wearwell-stack --test stack pairs`. Kinds of layers are features as well.

Each pair either runs, or is refused with a reason. All refused pairs and their reasons are in one table of the code.

## Features

| | feature | required by |
|--:|---|---|
";

const PAGE_LEGEND: &str = "
## Pairs

- `+`: both features work together, in one layer if both are settings of layers.
- `o`: both features work in one stack, but in different layers, because this kind of layer has no setting for the other feature.
- `=`: the features are two values of one setting, or two kinds of one layer.
- `a`: one feature needs an ability that the layer below does not have with the other feature. The error names the ability and the
  layers that have it.
- A number: the features are refused within one layer, for the [reason](#reasons) with that number. If a feature needs a third feature
  that is refused, the number is that of the third feature's reason.
";

/// Returns the page of the documentation.
fn page(requests: &[FeatureRequest], marks: &[Vec<MatrixCell>]) -> String {
    let mut used: Vec<usize> = marks
        .iter()
        .flatten()
        .filter_map(|mark| match mark {
            MatrixCell::Refused(row) => Some(*row),
            _ => None,
        })
        .collect();
    used.sort_unstable();
    used.dedup();
    let text_of = |mark: &MatrixCell| match mark {
        MatrixCell::Works => "+".to_owned(),
        MatrixCell::SeparateLayers => "o".to_owned(),
        MatrixCell::Same => "=".to_owned(),
        MatrixCell::MissingAbility => "a".to_owned(),
        MatrixCell::KnownFailure => "?".to_owned(),
        MatrixCell::Refused(row) => {
            (used.iter().position(|other| other == row).expect("a row") + 1).to_string()
        }
    };
    let mut text = PAGE_HEAD.to_owned();
    for (at, ask) in requests.iter().enumerate() {
        let _ = writeln!(text, "| {} | `{}` | {} |", at + 1, ask.name, help(ask.name));
    }
    text += PAGE_LEGEND;
    if !KNOWN_FAILURES.is_empty() {
        text += "- `?`: the pair fails, and no row of the table gives a reason yet.\n";
    }
    let columns: Vec<String> = (1..=requests.len()).map(|at| at.to_string()).collect();
    let _ = write!(text, "\n| | | {} |\n|--:|---|{}\n", columns.join(" | "), ":-:|".repeat(requests.len()));
    for (at, (ask, marks)) in requests.iter().zip(marks).enumerate() {
        let cells = marks.iter().enumerate().map(|(other, mark)| match other == at {
            true => String::new(),
            false => text_of(mark),
        });
        let _ = writeln!(text, "| {} | `{}` | {} |", at + 1, ask.name, cells.collect::<Vec<_>>().join(" | "));
    }
    text += "\n## Reasons\n\n";
    for (at, row) in used.iter().enumerate() {
        let row = &FEATURE_CONFLICTS[*row];
        let with: Vec<String> = row.with.iter().map(|feature| format!("`{}`", feature.name())).collect();
        let _ =
            writeln!(text, "{}. `{}` with {}: {}.", at + 1, row.feature.name(), with.join(", "), row.reason);
    }
    text
}

#[test]
fn every_pair_runs_or_is_refused_by_the_table() {
    let requests = requests();
    let marks = matrix(&requests);
    assert_file_equals("docs/features.md", &page(&requests, &marks));
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

fn counts_if_run(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Works(result) => result.map(|result| counts(*result)),
        _ => None,
    }
}

/// Passive features change no count: timed mode, and a cut at the end.
#[test]
fn passive_features_change_no_count() {
    let requests = requests();
    let mut compared = 0;
    let mut mismatches = Vec::new();
    for passive in ["timing", "power_at_end"] {
        let passive = requests.iter().find(|ask| ask.name == passive).expect("a feature");
        for request in requests.iter().filter(|ask| ask.name != "content") {
            for target in TARGET_LAYERS {
                // One variant at a time, so that both runs use the same variant.
                for variant in request.variants.chunks(1) {
                    let request = FeatureRequest { variants: variant, ..*request };
                    let outcomes = [pair(&request, &request, target), pair(&request, passive, target)]
                        .map(counts_if_run);
                    let [Some(plain), Some(watched)] = outcomes else { continue };
                    compared += 1;
                    if plain != watched {
                        mismatches.push(format!("{} with {} on {target}", request.name, passive.name));
                    }
                }
            }
        }
    }
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
    assert!(compared > 100, "{compared}");
}

/// A `completing` policy with weight 0 equals the policy that ignores the layer below.
#[test]
fn completing_with_weight_0_equals_the_plain_policy() {
    let victim = |variants| FeatureRequest { name: "a victim", variants, companion: "" };
    let plain = victim(&["AT.victim = { policy = 'd_choices', choices = 10 }"]);
    let weighing = victim(&["AT.victim = { policy = 'completing', choices = 10, weight = 0.0 }"]);
    let mut compared = 0;
    // `d_choices` draws a victim early; the set of blocks with known counters may have grown by the time the victim is
    // cleaned.
    let draws_equal_victims = |ask: &&FeatureRequest| !["content", "partial_counters"].contains(&ask.name);
    for request in requests().iter().filter(draws_equal_victims) {
        for target in TARGET_LAYERS {
            for variant in request.variants.chunks(1) {
                let request = FeatureRequest { variants: variant, ..*request };
                let outcomes =
                    [pair(&request, &plain, target), pair(&request, &weighing, target)].map(counts_if_run);
                let [Some(plain), Some(weighing)] = outcomes else { continue };
                assert_eq!(plain, weighing, "{} on {target}", request.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// The length of windows changes no count, if both runs end at the same page.
#[test]
fn windows_change_no_count() {
    let windows = |variants| FeatureRequest { name: "windows", variants, companion: "" };
    let [wide, narrow] = [windows(&["measure.window = 1.0"]), windows(&["measure.window = 0.5"])];
    let mut compared = 0;
    for request in requests().iter().filter(|ask| ask.name != "content") {
        for target in TARGET_LAYERS {
            let [Outcome::Works(Some(one)), Outcome::Works(Some(other))] =
                [&wide, &narrow].map(|window| pair(request, window, target))
            else {
                continue;
            };
            if one.phases.measured_host_pages == other.phases.measured_host_pages {
                assert_eq!(counts(*one), counts(*other), "{} on {target}", request.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
}

/// Features without an effect on results: defaults, features only for the calling program, and features that only save
/// memory.
const WITHOUT_EFFECT: &[&str] = &["free_pool", "unheard", "log", "held_data", "block_directory"];

/// Every feature changes the result of some scenario here; otherwise its pairs would test nothing.
#[test]
fn every_feature_changes_some_result() {
    let whole_result = |outcome: Outcome| {
        let Outcome::Works(Some(result)) = outcome else { return None };
        let mut value = serde_json::to_value(&*result).expect("a result");
        let table = value.as_object_mut().expect("a table");
        for key in ["scenario", "performance"] {
            table.remove(key);
        }
        Some(value)
    };
    let changes_result = |ask: &FeatureRequest, (place, neutral): (&str, &'static [&'static str])| {
        let no_request = FeatureRequest { name: "nothing", variants: neutral, companion: "" };
        let plain = whole_result(pair(&FeatureRequest { variants: neutral, ..*ask }, &no_request, place));
        plain.is_some()
            && ask.variants.chunks(1).any(|variant| {
                let with =
                    whole_result(pair(&FeatureRequest { variants: variant, ..*ask }, &no_request, place));
                with.is_some() && with != plain
            })
    };
    let targets: [(&str, &[&str]); 2] =
        [("ftl", &["measure.warm_up = 0.0"]), ("log", &["log.structure.kind = 'log'"])];
    let requests = requests();
    let ineffective = requests.iter().filter(|ask| !targets.iter().any(|place| changes_result(ask, *place)));
    let mut ineffective: Vec<&str> = ineffective.map(|ask| ask.name).collect();
    let mut expected = WITHOUT_EFFECT.to_vec();
    ineffective.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ineffective, expected);
}
