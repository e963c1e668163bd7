//! Pages of the gallery: one per paper and an overview, generated from the results on disk.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::manifest::{Found, Item, Kind, Manifest, Verdict};
use crate::runner::reproduce::{Effort, Record, folder_of};
use crate::runner::sensitivity;
use crate::table;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Number of rows of a table that a page shows; the file has all rows.
const ROWS: usize = 24;

/// Returns the pages of the results in `output`, by their relative paths.
///
/// # Errors
///
/// Returns an error if records or tables cannot be read.
pub fn pages(manifests: &[Manifest], output: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let effects = sensitivity::effects(output)?;
    let mut pages = BTreeMap::from([
        ("README.md".to_owned(), overview(manifests, output)?),
        ("assumptions.md".to_owned(), sensitivity::page(&Assumptions::register(), &effects)),
    ]);
    for manifest in manifests {
        pages.insert(format!("{}/README.md", manifest.name), of_paper(manifest, output)?);
    }
    Ok(pages)
}

/// Writes the pages.
///
/// # Errors
///
/// As for [`pages`], and for writing.
pub fn write(manifests: &[Manifest], output: &Path) -> Result<(), Failure> {
    for (name, text) in pages(manifests, output)? {
        let path = output.join(name);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(output)).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns the verdict on an item from its record, or that it is impossible; `None` if it was not reproduced.
fn standing(found: Found, output: &Path) -> Result<Option<Verdict>, Failure> {
    if found.item.impossible.is_some() {
        return Ok(Some(Verdict::Impossible));
    }
    Ok(Record::read(&folder_of(output, found))?.map(|record| record.verdict))
}

fn overview(manifests: &[Manifest], output: &Path) -> Result<String, Failure> {
    let mut text =
        "# What was reproduced\n\nMade by `wearwell reproduce`: a page for each paper, and [one for the numbers that no paper gives](assumptions.md), with data, plots and \
                    verdicts.\n\n| paper | items | reproduced | partly | not | impossible here | not run |\n\
                    |---|---|---|---|---|---|---|\n"
            .to_owned();
    for manifest in manifests {
        let mut counts = [0; 5];
        for item in &manifest.items {
            let place = match standing(Found { manifest, item }, output)? {
                Some(Verdict::Reproduced) => 0,
                Some(Verdict::Partly) => 1,
                Some(Verdict::NotReproduced) => 2,
                Some(Verdict::Impossible) => 3,
                Some(Verdict::Undecided) | None => 4,
            };
            counts[place] += 1;
        }
        let counts = counts.map(|count| count.to_string()).join(" | ");
        let Manifest { name, title, items, .. } = manifest;
        let _ = writeln!(text, "| [{title}]({name}/README.md) | {} | {counts} |", items.len());
    }
    Ok(text)
}

fn of_paper(manifest: &Manifest, output: &Path) -> Result<String, Failure> {
    let mut text = format!("# {}\n\n{}\n", manifest.title, manifest.about);
    for item in &manifest.items {
        text += &of_item(Found { manifest, item }, output)?;
    }
    Ok(text)
}

fn of_item(found: Found, output: &Path) -> Result<String, Failure> {
    let Item { name, kind, title, says, impossible, data_of, text: prose, .. } = found.item;
    let mut text = format!("\n## {name}: {title}\n\n{says}\n\n");
    let folder = folder_of(output, found);
    let prose = prose.as_ref().map_or(String::new(), |prose| format!("{}\n", prose.trim()));
    // For a question, the method is needed before the answer; for a paper's item, the claim is already known.
    let comes_first = *kind == Kind::Question && impossible.is_none() && !prose.is_empty();
    if let Some(reason) = impossible {
        let _ = writeln!(text, "**Impossible here**: {reason}");
    } else if let Some(record) = Record::read(&folder)? {
        let effort = match record.effort {
            Effort::Quick => ", by the quick settings",
            Effort::Full => "",
        };
        let _ = writeln!(text, "**{}**{effort}. `{}`\n", capital(record.verdict.words()), record.command);
        text += &settings(found.item, &record);
        if comes_first {
            let _ = writeln!(text, "{prose}");
        }
        text += &claims(found.item, &record);
        match data_of {
            Some(other) => {
                let _ = writeln!(text, "\nThe data is that of {other}.");
            }
            None => text += &data(found, &folder, &record)?,
        }
    } else {
        let _ = writeln!(text, "Not run. `wearwell reproduce {} --full`", found.name());
        return Ok(if prose.is_empty() { text } else { text + "\n" + &prose });
    }
    Ok(if prose.is_empty() || comes_first { text } else { text + "\n" + &prose })
}

/// Describes the settings of the record, and those of the manifest if they have changed.
fn settings(item: &Item, record: &Record) -> String {
    let (made_with, usual) = (record.settings(item), record.effort.settings(item));
    if item.data_of.is_some() || made_with.is_empty() {
        return String::new();
    }
    let one = |(key, value): (&String, &toml::Value)| match usual.get(key) {
        Some(other) if other != value => format!("`{key} = {value}` (`{}`: {other})", record.effort.option()),
        _ => format!("`{key} = {value}`"),
    };
    let all: Vec<String> = made_with.iter().map(one).collect();
    format!("Settings: {}.\n\n", all.join(", "))
}

fn claims(item: &Item, record: &Record) -> String {
    let mut text =
        "| | printed | ours | cases | holds in | except | verdict |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut reasons = String::new();
    for (claim, decided) in item.claims.iter().zip(&record.claims) {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let whose = if claim.ours { "ours: " } else { "" };
        let _ = writeln!(
            text,
            "| {whose}{} | {} | {} | {} | {} | {} | {} |",
            claim.says,
            number(decided.printed),
            number(decided.measured),
            decided.cases,
            decided.holds_in,
            decided.exceptions,
            decided.verdict.words()
        );
        if let Some(why) = &claim.why {
            let _ = writeln!(reasons, "- *{}*: {}", claim.says, why.trim());
        }
    }
    if reasons.is_empty() { text } else { format!("{text}\n{reasons}") }
}

/// Returns its plots, then its tables.
fn data(found: Found, folder: &Path, record: &Record) -> Result<String, Failure> {
    let mut text = String::new();
    let name = &found.item.name;
    for plot in plots(folder)? {
        let _ = writeln!(text, "\n![{}, {plot}]({name}/{plot})", found.item.title);
    }
    for table in &record.shown {
        let rows = table::read(folder, table)?;
        let Some(first) = rows.first() else { continue };
        let line = |fields: &[&str]| format!("| {} |\n", fields.join(" | "));
        let columns = first.parts().0;
        let _ = writeln!(text, "\n[{table}.csv]({name}/{table}.csv)\n");
        text += &line(&columns);
        text += &line(&vec!["---"; columns.len()]);
        for row in rows.iter().take(ROWS) {
            text += &line(&row.parts().1);
        }
        if rows.len() > ROWS {
            let _ = writeln!(text, "\nand {} rows more.", rows.len() - ROWS);
        }
    }
    Ok(text)
}

/// Returns the names of the plots in a folder.
fn plots(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".svg") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{all, items};
    use crate::runner::judge;
    use std::path::PathBuf;

    fn results() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
    }

    #[test]
    fn pages_equal_those_generated_from_recorded_data() {
        for (name, text) in pages(&all().unwrap(), &results()).unwrap() {
            if std::env::var_os("WEARWELL_BLESS").is_some() {
                fs::write(results().join(&name), &text).unwrap();
            }
            let there = fs::read_to_string(results().join(&name)).unwrap_or_default();
            assert!(
                there == text,
                "{name}: `wearwell reproduce all --judge --output experiments/results` writes it"
            );
        }
    }

    #[test]
    fn recorded_verdicts_are_those_of_the_manifests() {
        let manifests = all().unwrap();
        for found in items(&manifests) {
            let Some(record) = Record::read(&folder_of(&results(), found)).unwrap() else { continue };
            assert_eq!(record.effort, Effort::Full, "{}", record.item);
            assert!(
                record.claims.iter().all(|claim| claim.cases > 0),
                "{}: a claim without a case",
                record.item
            );
            let source =
                found.item.data_of.as_deref().map(|other| crate::manifest::find(&manifests, other).unwrap());
            let decided = judge::judge(found.item, &folder_of(&results(), source.unwrap_or(found))).unwrap();
            assert_eq!(record.claims, decided, "{}", record.item);
            for (claim, decided) in found.item.claims.iter().zip(&decided) {
                assert_eq!(claim.verdict, decided.verdict, "{}: {}", record.item, claim.says);
            }
        }
    }

    #[test]
    fn recorded_assumptions_are_listed_as_used() {
        let register = Assumptions::register();
        for found in items(&all().unwrap()).filter(|found| found.item.data_of.is_none()) {
            let Some(record) = Record::read(&folder_of(&results(), found)).unwrap() else { continue };
            for name in &record.assumes {
                let known = register.all().iter().find(|assumption| assumption.name == *name);
                let is_listed = known.is_some_and(|known| known.used_by.contains(&record.item));
                assert!(is_listed, "{} uses {name}, and the register does not say so", record.item);
            }
        }
    }

    #[test]
    fn recorded_costs_agree_with_known_costs_within_a_half() {
        let (manifests, costs) = (all().unwrap(), crate::manifest::Costs::shipped().unwrap());
        for found in items(&manifests).filter(|found| found.item.data_of.is_none()) {
            let Some(record) = Record::read(&folder_of(&results(), found)).unwrap() else { continue };
            let Some(seconds) = record.core_seconds.filter(|seconds| *seconds > 1.0) else { continue };
            let said = costs.full_core_seconds.get(&record.item);
            let ratio = seconds / said.copied().unwrap_or(f64::NAN);
            assert!((1.0 / 1.5..=1.5).contains(&ratio), "{}: {seconds:.0} s for {said:?}", record.item);
        }
    }

    #[test]
    fn every_recorded_folder_is_an_item() {
        let manifests = all().unwrap();
        let known: Vec<PathBuf> = items(&manifests).map(|found| folder_of(&results(), found)).collect();
        for paper in fs::read_dir(results()).unwrap().map(|entry| entry.unwrap().path()) {
            let folders = fs::read_dir(&paper).into_iter().flatten().map(|entry| entry.unwrap().path());
            for folder in folders.filter(|path| path.is_dir()) {
                assert!(known.contains(&folder), "no item has {}", folder.display());
            }
        }
    }
}
