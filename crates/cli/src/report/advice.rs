//! Advice as a table, as JSON and as rows.

use super::grid;
use super::table::short;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_study::advise::{
    Advice, Change, Figures, Method, Price, TrialResult, TrialVerdict, as_diff, caveats,
};

/// Number of changes whose command the table repeats.
const MAX_COMMANDS: usize = 3;

/// Smallest number of replicas that gives narrow intervals.
const MIN_NARROW_REPLICAS: u32 = 5;

/// Command that runs the unchanged scenario; changes are appended.
pub struct RepeatCommand(Vec<String>);

impl RepeatCommand {
    /// Returns a command of these words.
    pub fn new(words: Vec<String>) -> Self {
        RepeatCommand(words)
    }

    /// Returns the command with `change`, to be pasted into a shell.
    fn with_change(&self, change: &Change) -> String {
        let mut words = self.0.clone();
        words.extend(change.settings.iter().flat_map(|setting| ["--set".to_owned(), setting.argument()]));
        words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Returns a word, quoted for a shell if necessary.
fn quote(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+%@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the complete advice as a JSON value, with the commands.
pub fn as_value(advice: &Advice, repeat: &RepeatCommand) -> Value {
    let mut value = serde_json::to_value(advice).expect("plain data");
    let mut add = |list: &str, trials: &[TrialResult]| {
        for (at, trial) in trials.iter().enumerate() {
            value[list][at]["command"] = json!(repeat.with_change(&trial.change));
        }
    };
    add("changes", &advice.changes);
    add("combinations", &advice.combinations);
    value
}

/// Returns a row for each change, with its command.
pub fn as_rows(advice: &Advice, repeat: &RepeatCommand) -> Vec<Row> {
    let trials = advice.changes.iter().chain(&advice.combinations);
    let commands =
        std::iter::once(Value::Null).chain(trials.map(|trial| json!(repeat.with_change(&trial.change))));
    let mut rows = advice.rows();
    rows.iter_mut().zip(commands).for_each(|(row, command)| row.push(("command".to_owned(), command)));
    rows
}

/// Returns the advice as text for people.
pub fn as_table(advice: &Advice, repeat: &RepeatCommand) -> String {
    let base = &advice.base;
    let mut text = format!("as it is: {}\n", figures_line(base));
    text += &main_layer(base);
    text += &headroom(advice);
    if let Some(problem) = &base.problem {
        text += &format!("warning: as it is, {problem}; {}\n", remedy(base));
    }
    if base.write_amplification.is_none() {
        return text + "Nothing can be compared with that, so nothing was tried.\n";
    }
    let (insignificant, significant): (Vec<&TrialResult>, Vec<&TrialResult>) =
        advice.changes.iter().partition(|trial| trial.verdict == TrialVerdict::Insignificant);
    if !significant.is_empty() {
        text += &table(&significant, base);
    }
    if !advice.combinations.is_empty() {
        text += "together:\n";
        text += &table(&advice.combinations.iter().collect::<Vec<_>>(), base);
    }
    text += &insignificant_table(&insignificant);
    text += &notes(advice);
    text += &conclusion(advice);
    text + &commands(advice, repeat)
}

/// Describes the improvement that placement and cleaning could achieve on the unchanged drive.
fn headroom(advice: &Advice) -> String {
    let Some(limit) = &advice.lower_bound else { return String::new() };
    let best = limit.offline.as_ref();
    let best = best.map_or(String::new(), |best| {
        format!(" what knows the future writes {:.4}, and", best.write_amplification)
    });
    let prefix = if limit.is_small() { "little is left to win by placement and cleaning: " } else { "" };
    format!("{prefix}on this flash{best} nothing gets below {:.4}\n", limit.lower_bound)
}

/// Names the layer with the highest write amplification, if several layers amplify writes.
fn main_layer(base: &Figures) -> String {
    let amplified = base.layers.iter().filter_map(|layer| Some((&layer.name, layer.write_amplification?)));
    let largest = amplified.filter(|(_, value)| *value > 1.0).max_by(|one, other| one.1.total_cmp(&other.1));
    match (largest, base.write_amplification) {
        (Some((name, value)), Some(all)) if base.layers.len() > 1 => {
            format!(
                "most of it: `{name}` writes {value:.3} pages for each that it is given, of {all:.4} in all\n"
            )
        }
        _ => String::new(),
    }
}

/// Lists the changes without a significant difference, in a short form.
fn insignificant_table(insignificant: &[&TrialResult]) -> String {
    if insignificant.is_empty() {
        return String::new();
    }
    let row = |trial: &&TrialResult| {
        let saving = trial.saving;
        vec![
            trial.change.description.clone(),
            percent(saving.map(|saving| saving.mean)),
            percent(saving.and_then(|saving| saving.family_half_width)),
        ]
    };
    let rows = insignificant.iter().map(row).collect();
    grid(&["no difference that can be told", "saving", "±"], rows, &[1, 2]) + "\n"
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".into(), |share| format!("{:.2} %", share * 100.0))
}

fn remedy(base: &Figures) -> &'static str {
    match base.write_amplification {
        None => "measure for longer: measure.drive_writes",
        Some(_) => "no saving is to be trusted; warm up for longer: measure.warm_up, measure.max_warm_up",
    }
}

fn figures_line(figures: &Figures) -> String {
    let mut text = format!("write amplification {}", amplification(figures.write_amplification));
    if figures.layers.len() > 1 {
        text += &format!(" ({})", by_layer(figures).join(", "));
    }
    if let Some(tbw) = figures.tbw {
        text += &format!(", TBW {}", short(tbw));
    }
    text
}

fn amplification(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.4}"))
}

fn by_layer(figures: &Figures) -> Vec<String> {
    let layer = |layer: &wearwell_study::advise::LayerFigure| {
        let value = layer.write_amplification.map_or_else(|| "–".into(), |value| format!("{value:.3}"));
        format!("{} {value}", layer.name)
    };
    figures.layers.iter().map(layer).collect()
}

fn table(trials: &[&TrialResult], base: &Figures) -> String {
    let mut head = vec!["", "change", "WA", "saving", "±", "verdict", "at the price of", "WA by layer"];
    let has_life = base.tbw.is_some();
    if has_life {
        head.push("TBW");
    }
    let rows = trials.iter().map(|trial| row(trial, has_life)).collect();
    grid(&head, rows, &[0, 2, 3, 4, 8][..if has_life { 5 } else { 4 }]) + "\n"
}

fn row(trial: &TrialResult, has_life: bool) -> Vec<String> {
    let mut cells = vec![
        trial.rank.map_or_else(String::new, |rank| rank.to_string()),
        trial.change.description.clone(),
        amplification(trial.figures.write_amplification),
        percent(trial.saving.map(|saving| saving.mean)),
        percent(trial.saving.and_then(|saving| saving.family_half_width)),
        trial.verdict.text().into(),
        trial.prices.iter().map(Price::text).collect::<Vec<_>>().join(", "),
        by_layer(&trial.figures).join(", "),
    ];
    if has_life {
        cells.push(trial.tbw_ratio.map_or_else(|| "–".into(), |ratio| format!("× {ratio:.3}")));
    }
    cells
}

/// Explains the intervals, and lists changes that could not be compared.
fn notes(advice: &Advice) -> String {
    let changes = &advice.changes;
    let batches =
        changes.iter().filter_map(|trial| trial.saving).any(|saving| saving.method == Method::BatchMeans);
    let basis = match (batches, advice.replicas) {
        (true, 1) => "the batch means of a single run each".to_owned(),
        (true, _) => "batch means where all seeds agree exactly, else paired seeds".to_owned(),
        (false, replicas) => format!("{replicas} seeds, the same for all"),
    };
    let mut text = format!(
        "±: half-widths of 95 % intervals that hold for all {} changes at once, by {basis}.\n",
        changes.len()
    );
    if !advice.combinations.is_empty() {
        text += "A combination saves if it wears less than the best of the step before it.\n";
    }
    if changes.iter().chain(&advice.combinations).any(|trial| trial.reference.is_some()) {
        text +=
            "A change at the price of capacity is held against the stack as it is with no more capacity.\n";
    }
    if changes.iter().any(|trial| !trial.prices.is_empty()) {
        text += "Not known, and so no price here: time, stalls, hit ratios and the processor's work.\n";
    }
    let of = |verdict: TrialVerdict| changes.iter().filter(move |trial| trial.verdict == verdict).count();
    if advice.base.steady && of(TrialVerdict::Unsteady) > 0 {
        text += &format!(
            "{} did not become steady and are not ranked; warm up for longer: measure.max_warm_up.\n",
            of(TrialVerdict::Unsteady)
        );
    }
    for trial in changes.iter().filter(|tried| tried.verdict == TrialVerdict::Failed) {
        let problem = trial.figures.problem.as_deref().unwrap_or_default();
        text += &format!("failed: {}: {problem}\n", trial.change.description);
    }
    if of(TrialVerdict::Insignificant) > 0 && advice.replicas < MIN_NARROW_REPLICAS {
        text += "With so few seeds only large savings can be told; --replicas 5 tells more.\n";
    }
    match advice.skipped.len() {
        0 => {}
        1 => text += "1 change does not fit this stack; --format json says why.\n",
        count => text += &format!("{count} changes do not fit this stack; --format json says why.\n"),
    }
    text
}

fn conclusion(advice: &Advice) -> String {
    let Some(best) = advice.best() else {
        return "Nothing that was tried can be told to save wear.\n".into();
    };
    let saving = best.saving.expect("what saves has a saving");
    let half_width = saving.family_half_width.expect("what saves has an interval");
    let (mean, half_width) = (saving.mean * 100.0, half_width * 100.0);
    let prices = price_clause(best);
    let mut text =
        format!("Best, saving {mean:.2} % ± {half_width:.2} %: {}{prices}.\n", best.change.description);
    let keeps_capacity =
        |trial: &&TrialResult| trial.verdict == TrialVerdict::Saves && trial.reference.is_none();
    if let Some(best_at_capacity) =
        advice.changes.iter().find(keeps_capacity).filter(|_| best.reference.is_some())
    {
        let prices = price_clause(best_at_capacity);
        let saving = percent(best_at_capacity.saving.map(|saving| saving.mean));
        text += &format!(
            "Best that keeps the capacity, saving {saving}: {}{prices}.\n",
            best_at_capacity.change.description
        );
    }
    text
}

fn price_clause(trial: &TrialResult) -> String {
    let prices: Vec<String> = trial.prices.iter().map(Price::text).collect();
    if prices.is_empty() { String::new() } else { format!(", at the price of {}", prices.join(", ")) }
}

/// Returns the commands of the best combination and the best changes, with their write amplification.
fn commands(advice: &Advice, repeat: &RepeatCommand) -> String {
    let Some(best) = advice.best() else { return String::new() };
    let ranked = advice.changes.iter().filter(|trial| trial.rank.is_some() && *trial != best);
    let mut text = "To repeat, with the first seed and the write amplification that it gives:\n".to_owned();
    let shown: Vec<&TrialResult> = std::iter::once(best).chain(ranked.take(MAX_COMMANDS - 1)).collect();
    for trial in &shown {
        let first = trial.figures.write_amplifications.first().copied().flatten();
        text += &format!("  {}    # {}\n", repeat.with_change(&trial.change), amplification(first));
    }
    text + &software_options(&shown)
}

/// Returns the changes in `shown` as options of the software, where the software has such options.
fn software_options(shown: &[&TrialResult]) -> String {
    let mut text = String::new();
    for trial in shown.iter().filter(|tried| !tried.options.is_empty()) {
        text += &format!(
            "In the software's own words, {}:\n{}",
            trial.change.description,
            as_diff(&trial.options)
        );
    }
    let all: Vec<_> = shown.iter().flat_map(|trial| trial.options.clone()).collect();
    text.extend(caveats(&all).iter().map(|caveat| format!("{caveat}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_are_quoted_if_the_shell_requires_it() {
        for (word, expected) in [
            ("ftl.victim=greedy", "ftl.victim=greedy"),
            ("log[0].trim=true", "'log[0].trim=true'"),
            ("a=4 MiB", "'a=4 MiB'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quote(word), expected);
        }
    }
}
