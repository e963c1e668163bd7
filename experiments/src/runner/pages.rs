//! Pages of the gallery, one per paper and an overview, which are generated from the results on disk.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::manifest::{Item, ItemKind, Manifest, ManifestEntry, Verdict};
use crate::runner::reproduce::{Effort, Record, folder_of};
use crate::runner::sensitivity;
use crate::table;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Maximum number of rows of a table that a gallery page shows; the file of the table has all rows.
const ROWS: usize = 24;

/// Returns the pages of the gallery for the results in `output`, by their relative paths.
///
/// # Errors
///
/// Returns an error if records or tables cannot be read.
pub fn pages_of_results(manifests: &[Manifest], output: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let effects = sensitivity::effects(output)?;
    let mut pages = BTreeMap::from([
        ("README.md".to_owned(), overview(manifests, output)?),
        ("assumptions.md".to_owned(), sensitivity::page(&Assumptions::register(), &effects)),
    ]);
    for manifest in manifests {
        pages.insert(format!("{}/README.md", manifest.name), paper_page(manifest, output)?);
    }
    Ok(pages)
}

/// Writes the pages of the gallery.
///
/// # Errors
///
/// The errors of [`pages_of_results`], and of writing.
pub fn write(manifests: &[Manifest], output: &Path) -> Result<(), Failure> {
    for (name, text) in pages_of_results(manifests, output)? {
        let path = output.join(name);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(output)).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns the verdict on an item from its record, or that the item is impossible; `None` if it was not reproduced.
fn verdict_of(entry: ManifestEntry, output: &Path) -> Result<Option<Verdict>, Failure> {
    if entry.item.impossible.is_some() {
        return Ok(Some(Verdict::Impossible));
    }
    Ok(Record::read(&folder_of(output, entry))?.map(|record| record.verdict))
}

fn overview(manifests: &[Manifest], output: &Path) -> Result<String, Failure> {
    let mut text =
        "# What was reproduced\n\nWritten by `wearwell reproduce`: one page per paper with data, plots and verdicts, and [a page with the assumed numbers](assumptions.md), \
                    which no paper gives. Claims marked *added* are ours and do not count for the verdict on an item of a paper.\n\n| paper | items | reproduced | partly | not | impossible here | not run |\n\
                    |---|---|---|---|---|---|---|\n"
            .to_owned();
    for manifest in manifests {
        let mut counts = [0; 5];
        for item in &manifest.items {
            let column = match verdict_of(ManifestEntry { manifest, item }, output)? {
                Some(Verdict::Reproduced) => 0,
                Some(Verdict::Partly) => 1,
                Some(Verdict::NotReproduced) => 2,
                Some(Verdict::Impossible) => 3,
                Some(Verdict::Undecided) | None => 4,
            };
            counts[column] += 1;
        }
        let counts = counts.map(|count| count.to_string()).join(" | ");
        let Manifest { name, title, items, .. } = manifest;
        let _ = writeln!(text, "| [{title}]({name}/README.md) | {} | {counts} |", items.len());
    }
    Ok(text)
}

fn paper_page(manifest: &Manifest, output: &Path) -> Result<String, Failure> {
    let mut text = format!("# {}\n\n{}\n", manifest.title, manifest.about);
    for item in &manifest.items {
        text += &item_section(ManifestEntry { manifest, item }, output)?;
    }
    Ok(text)
}

fn item_section(entry: ManifestEntry, output: &Path) -> Result<String, Failure> {
    let Item { name, kind, title, summary: says, impossible, data_source: data_of, text: prose, .. } =
        entry.item;
    let mut text = format!("\n## {name}: {title}\n\n{says}\n\n");
    let folder = folder_of(output, entry);
    let prose = prose.as_ref().map_or(String::new(), |prose| format!("{}\n", prose.trim()));
    // For a question, readers need the method before the answer; for an item of a paper, the claim is already known.
    let is_prose_first = *kind == ItemKind::Question && impossible.is_none() && !prose.is_empty();
    if let Some(reason) = impossible {
        let _ = writeln!(text, "**Impossible here**: {reason}");
    } else if let Some(record) = Record::read(&folder)? {
        let effort = match record.effort {
            Effort::Quick => ", by the quick settings",
            Effort::Full => "",
        };
        let _ = writeln!(text, "**{}**{effort}. `{}`\n", capital(record.verdict.label()), record.command);
        text += &settings(entry.item, &record);
        if is_prose_first {
            let _ = writeln!(text, "{prose}");
        }
        text += &claims(entry.item, &record);
        match data_of {
            Some(other) => {
                let _ = writeln!(text, "\nThis item uses the data of {other}.");
            }
            None => text += &plots_and_tables(entry, &folder, &record)?,
        }
    } else {
        let _ = writeln!(text, "Not run. `wearwell reproduce {} --full`", entry.name());
        return Ok(if prose.is_empty() { text } else { text + "\n" + &prose });
    }
    Ok(if prose.is_empty() || is_prose_first { text } else { text + "\n" + &prose })
}

/// Describes the settings of the record, and the settings of the manifest if they have changed.
fn settings(item: &Item, record: &Record) -> String {
    let (used, default) = (record.settings(item), record.effort.settings(item));
    if item.data_source.is_some() || used.is_empty() {
        return String::new();
    }
    let one = |(key, value): (&String, &toml::Value)| match default.get(key) {
        Some(other) if other != value => format!("`{key} = {value}` (`{}`: {other})", record.effort.option()),
        _ => format!("`{key} = {value}`"),
    };
    let all: Vec<String> = used.iter().map(one).collect();
    format!("Settings: {}.\n\n", all.join(", "))
}

fn claims(item: &Item, record: &Record) -> String {
    let mut text =
        "| claim | printed | measured | cases | holds in | exceptions | verdict |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut reasons = String::new();
    for (claim, decided) in item.claims.iter().zip(&record.claims) {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let prefix = if claim.is_addition { "added: " } else { "" };
        let _ = writeln!(
            text,
            "| {prefix}{} | {} | {} | {} | {} | {} | {} |",
            claim.text,
            number(decided.printed),
            number(decided.measured),
            decided.cases,
            decided.holds_in,
            decided.exceptions,
            decided.verdict.label()
        );
        if let Some(why) = &claim.why {
            let _ = writeln!(reasons, "- *{}*: {}", claim.text, why.trim());
        }
    }
    if reasons.is_empty() { text } else { format!("{text}\n{reasons}") }
}

/// Returns the plots of the item, then its tables.
fn plots_and_tables(entry: ManifestEntry, folder: &Path, record: &Record) -> Result<String, Failure> {
    let mut text = String::new();
    let name = &entry.item.name;
    for plot in plots(folder)? {
        let _ = writeln!(text, "\n![{}, {plot}]({name}/{plot})", entry.item.title);
    }
    for table in &record.published_tables {
        let rows = table::read_table(folder, table)?;
        let Some(first) = rows.first() else { continue };
        let line = |fields: &[&str]| format!("| {} |\n", fields.join(" | "));
        let columns = first.columns_and_fields().0;
        let _ = writeln!(text, "\n[{table}.csv]({name}/{table}.csv)\n");
        text += &line(&columns);
        text += &line(&vec!["---"; columns.len()]);
        for row in rows.iter().take(ROWS) {
            text += &line(&row.columns_and_fields().1);
        }
        if rows.len() > ROWS {
            let _ = writeln!(text, "\nand {} more rows.", rows.len() - ROWS);
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
    use crate::manifest::{entries, read_all};
    use crate::runner::judge;
    use std::path::PathBuf;

    fn results() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
    }

    #[test]
    fn pages_equal_those_generated_from_recorded_data() {
        for (name, text) in pages_of_results(&read_all().unwrap(), &results()).unwrap() {
            if std::env::var_os("WEARWELL_BLESS").is_some() {
                fs::write(results().join(&name), &text).unwrap();
            }
            let existing = fs::read_to_string(results().join(&name)).unwrap_or_default();
            assert!(
                existing == text,
                "{name}: `wearwell reproduce all --judge --output experiments/results` writes it"
            );
        }
    }

    #[test]
    fn recorded_verdicts_equal_those_of_manifests() {
        let manifests = read_all().unwrap();
        for found in entries(&manifests) {
            let Some(record) = Record::read(&folder_of(&results(), found)).unwrap() else { continue };
            assert_eq!(record.effort, Effort::Full, "{}", record.item);
            assert!(
                record.claims.iter().all(|claim| claim.cases > 0),
                "{}: a claim without a case",
                record.item
            );
            let source = found
                .item
                .data_source
                .as_deref()
                .map(|other| crate::manifest::find(&manifests, other).unwrap());
            let decided =
                judge::decide_claims(found.item, &folder_of(&results(), source.unwrap_or(found))).unwrap();
            assert_eq!(record.claims, decided, "{}", record.item);
            for (claim, decided) in found.item.claims.iter().zip(&decided) {
                assert_eq!(claim.verdict, decided.verdict, "{}: {}", record.item, claim.text);
            }
        }
    }

    #[test]
    fn recorded_assumptions_are_listed_as_used() {
        let register = Assumptions::register();
        for entry in entries(&read_all().unwrap()).filter(|found| found.item.data_source.is_none()) {
            let Some(record) = Record::read(&folder_of(&results(), entry)).unwrap() else { continue };
            for name in &record.used_assumptions {
                let assumption = register.all().iter().find(|assumption| assumption.name == *name);
                let is_listed = assumption.is_some_and(|known| known.used_by.contains(&record.item));
                assert!(is_listed, "{} uses {name}, and the register does not say so", record.item);
            }
        }
    }

    #[test]
    fn recorded_costs_equal_listed_costs_within_half() {
        let (manifests, costs) = (read_all().unwrap(), crate::manifest::Costs::shipped().unwrap());
        for entry in entries(&manifests).filter(|found| found.item.data_source.is_none()) {
            let Some(record) = Record::read(&folder_of(&results(), entry)).unwrap() else { continue };
            let Some(seconds) = record.core_seconds.filter(|seconds| *seconds > 1.0) else { continue };
            let expected = costs.full_core_seconds.get(&record.item);
            let ratio = seconds / expected.copied().unwrap_or(f64::NAN);
            assert!((1.0 / 1.5..=1.5).contains(&ratio), "{}: {seconds:.0} s for {expected:?}", record.item);
        }
    }

    #[test]
    fn every_recorded_folder_is_an_item() {
        let manifests = read_all().unwrap();
        let known_folders: Vec<PathBuf> =
            entries(&manifests).map(|found| folder_of(&results(), found)).collect();
        for paper in fs::read_dir(results()).unwrap().map(|entry| entry.unwrap().path()) {
            let folders = fs::read_dir(&paper).into_iter().flatten().map(|entry| entry.unwrap().path());
            for folder in folders.filter(|path| path.is_dir()) {
                assert!(known_folders.contains(&folder), "no item has {}", folder.display());
            }
        }
    }
}
