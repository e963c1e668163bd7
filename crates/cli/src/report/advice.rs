//! Advice as a table, as JSON and as rows.

use super::table::short;
use super::{grid, pretty};
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_study::advise::{Advice, Change, Figures, Method, Price, Tried, Verdict, as_diff, caveats};

/// Number of changes whose command the table repeats.
const COMMANDS: usize = 3;

/// Smallest number of replicas that gives narrow intervals.
const ENOUGH_REPLICAS: u32 = 5;

/// Command that runs the unchanged scenario; changes are appended.
pub struct Repeat(Vec<String>);

impl Repeat {
    /// Returns a command of these words.
    pub fn new(words: Vec<String>) -> Self {
        Repeat(words)
    }

    /// Returns the command with `change`, to be pasted into a shell.
    fn with(&self, change: &Change) -> String {
        let mut words = self.0.clone();
        words.extend(change.settings.iter().flat_map(|setting| ["--set".to_owned(), setting.argument()]));
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Returns a word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+%@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns everything as JSON text, with the commands.
pub fn as_json(advice: &Advice, repeat: &Repeat) -> String {
    pretty(&as_value(advice, repeat))
}

/// Returns everything as a JSON value, with the commands.
pub fn as_value(advice: &Advice, repeat: &Repeat) -> Value {
    let mut value = serde_json::to_value(advice).expect("plain data");
    let mut add = |list: &str, tried: &[Tried]| {
        for (at, tried) in tried.iter().enumerate() {
            value[list][at]["command"] = json!(repeat.with(&tried.change));
        }
    };
    add("changes", &advice.changes);
    add("combinations", &advice.combinations);
    value
}

/// Returns a row for each change, with its command.
pub fn as_rows(advice: &Advice, repeat: &Repeat) -> Vec<Row> {
    let tried = advice.changes.iter().chain(&advice.combinations);
    let commands = std::iter::once(Value::Null).chain(tried.map(|tried| json!(repeat.with(&tried.change))));
    let mut rows = advice.rows();
    rows.iter_mut().zip(commands).for_each(|(row, command)| row.push(("command".to_owned(), command)));
    rows
}

/// Returns the advice as text for people.
pub fn as_table(advice: &Advice, repeat: &Repeat) -> String {
    let base = &advice.base;
    let mut text = format!("as it is: {}\n", figures_line(base));
    text += &most_of_it(base);
    text += &headroom(advice);
    if let Some(problem) = &base.problem {
        text += &format!("warning: as it is, {problem}; {}\n", remedy(base));
    }
    if base.write_amplification.is_none() {
        return text + "Nothing can be compared with that, so nothing was tried.\n";
    }
    let (untold, told): (Vec<&Tried>, Vec<&Tried>) =
        advice.changes.iter().partition(|tried| tried.verdict == Verdict::Untold);
    if !told.is_empty() {
        text += &table(&told, base);
    }
    if !advice.combinations.is_empty() {
        text += "together:\n";
        text += &table(&advice.combinations.iter().collect::<Vec<_>>(), base);
    }
    text += &without_difference(&untold);
    text += &notes(advice);
    text += &conclusion(advice);
    text + &commands(advice, repeat)
}

/// Describes the improvement that placement and cleaning could achieve on the unchanged drive.
fn headroom(advice: &Advice) -> String {
    let Some(limit) = &advice.limit else { return String::new() };
    let best = limit.foreseeing.as_ref();
    let best = best.map_or(String::new(), |best| {
        format!(" what knows the future writes {:.4}, and", best.write_amplification)
    });
    let little = if limit.is_little() { "little is left to win by placement and cleaning: " } else { "" };
    format!("{little}on this flash{best} nothing gets below {:.4}\n", limit.lower_bound)
}

/// Names the layer with the highest write amplification, if several layers amplify writes.
fn most_of_it(base: &Figures) -> String {
    let amplified = base.layers.iter().filter_map(|layer| Some((&layer.name, layer.write_amplification?)));
    let most = amplified.filter(|(_, value)| *value > 1.0).max_by(|one, other| one.1.total_cmp(&other.1));
    match (most, base.write_amplification) {
        (Some((name, value)), Some(all)) if base.layers.len() > 1 => {
            format!(
                "most of it: `{name}` writes {value:.3} pages for each that it is given, of {all:.4} in all\n"
            )
        }
        _ => String::new(),
    }
}

/// Lists the changes without a significant difference, in short.
fn without_difference(untold: &[&Tried]) -> String {
    if untold.is_empty() {
        return String::new();
    }
    let row = |tried: &&Tried| {
        let saving = tried.saving;
        vec![
            tried.change.description.clone(),
            percent(saving.map(|saving| saving.mean)),
            percent(saving.and_then(|saving| saving.family_half_width)),
        ]
    };
    let rows = untold.iter().map(row).collect();
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

fn table(tried: &[&Tried], base: &Figures) -> String {
    let mut head = vec!["", "change", "WA", "saving", "±", "verdict", "at the price of", "WA by layer"];
    let has_life = base.tbw.is_some();
    if has_life {
        head.push("TBW");
    }
    let rows = tried.iter().map(|tried| row(tried, has_life)).collect();
    grid(&head, rows, &[0, 2, 3, 4, 8][..if has_life { 5 } else { 4 }]) + "\n"
}

fn row(tried: &Tried, has_life: bool) -> Vec<String> {
    let mut cells = vec![
        tried.rank.map_or_else(String::new, |rank| rank.to_string()),
        tried.change.description.clone(),
        amplification(tried.figures.write_amplification),
        percent(tried.saving.map(|saving| saving.mean)),
        percent(tried.saving.and_then(|saving| saving.family_half_width)),
        tried.verdict.text().into(),
        tried.prices.iter().map(Price::text).collect::<Vec<_>>().join(", "),
        by_layer(&tried.figures).join(", "),
    ];
    if has_life {
        cells.push(tried.tbw_ratio.map_or_else(|| "–".into(), |ratio| format!("× {ratio:.3}")));
    }
    cells
}

/// Explains the intervals, and lists changes that could not be compared.
fn notes(advice: &Advice) -> String {
    let changes = &advice.changes;
    let batches =
        changes.iter().filter_map(|tried| tried.saving).any(|saving| saving.method == Method::BatchMeans);
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
    if changes.iter().chain(&advice.combinations).any(|tried| tried.reference.is_some()) {
        text +=
            "A change at the price of capacity is held against the stack as it is with no more capacity.\n";
    }
    if changes.iter().any(|tried| !tried.prices.is_empty()) {
        text += "Not known, and so no price here: time, stalls, hit ratios and the processor's work.\n";
    }
    let of = |verdict: Verdict| changes.iter().filter(move |tried| tried.verdict == verdict).count();
    if advice.base.steady && of(Verdict::Unsteady) > 0 {
        text += &format!(
            "{} did not become steady and are not ranked; warm up for longer: measure.max_warm_up.\n",
            of(Verdict::Unsteady)
        );
    }
    for tried in changes.iter().filter(|tried| tried.verdict == Verdict::Failed) {
        let problem = tried.figures.problem.as_deref().unwrap_or_default();
        text += &format!("failed: {}: {problem}\n", tried.change.description);
    }
    if of(Verdict::Untold) > 0 && advice.replicas < ENOUGH_REPLICAS {
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
    let half = saving.family_half_width.expect("what saves has an interval");
    let (mean, half) = (saving.mean * 100.0, half * 100.0);
    let prices = at_the_price_of(best);
    let mut text = format!("Best, saving {mean:.2} % ± {half:.2} %: {}{prices}.\n", best.change.description);
    let keeps = |tried: &&Tried| tried.verdict == Verdict::Saves && tried.reference.is_none();
    if let Some(other) = advice.changes.iter().find(keeps).filter(|_| best.reference.is_some()) {
        let prices = at_the_price_of(other);
        let saving = percent(other.saving.map(|saving| saving.mean));
        text += &format!(
            "Best that keeps the capacity, saving {saving}: {}{prices}.\n",
            other.change.description
        );
    }
    text
}

fn at_the_price_of(tried: &Tried) -> String {
    let prices: Vec<String> = tried.prices.iter().map(Price::text).collect();
    if prices.is_empty() { String::new() } else { format!(", at the price of {}", prices.join(", ")) }
}

/// Returns the commands of the best combination and the best changes, with their write amplification.
fn commands(advice: &Advice, repeat: &Repeat) -> String {
    let Some(best) = advice.best() else { return String::new() };
    let ranked = advice.changes.iter().filter(|tried| tried.rank.is_some() && *tried != best);
    let mut text = "To repeat, with the first seed and the write amplification that it gives:\n".to_owned();
    let shown: Vec<&Tried> = std::iter::once(best).chain(ranked.take(COMMANDS - 1)).collect();
    for tried in &shown {
        let first = tried.figures.write_amplifications.first().copied().flatten();
        text += &format!("  {}    # {}\n", repeat.with(&tried.change), amplification(first));
    }
    text + &in_their_own_words(&shown)
}

/// Returns the same changes as options of the software, where it has such options.
fn in_their_own_words(shown: &[&Tried]) -> String {
    let mut text = String::new();
    for tried in shown.iter().filter(|tried| !tried.options.is_empty()) {
        text += &format!(
            "In the software's own words, {}:\n{}",
            tried.change.description,
            as_diff(&tried.options)
        );
    }
    let all: Vec<_> = shown.iter().flat_map(|tried| tried.options.clone()).collect();
    text.extend(caveats(&all).iter().map(|caveat| format!("{caveat}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, expected) in [
            ("ftl.victim=greedy", "ftl.victim=greedy"),
            ("log[0].trim=true", "'log[0].trim=true'"),
            ("a=4 MiB", "'a=4 MiB'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
