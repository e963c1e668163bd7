//! Reproduced items of papers with claims, plots and tables.

use super::FieldType::{Bool, List, Number, OptionalNumber, Text};
use super::{Kind, check, check_all, has_keys};
use crate::MAX_KIND_BYTES;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Kind of these values: the output of `reproduction`, the record of an item, or rows of claims as the command prints
/// them.
pub const KIND: Kind = Kind {
    name: "reproduction",
    title: "record of items",
    command: "`wearwell reproduce` (a folder with item.json, or --format json)",
    matches: |value| match value {
        Value::Array(rows) => {
            rows.first().is_some_and(|row| has_keys(row, &["item", "claim", "verdict_of_item"]))
        }
        other => has_keys(other, &["item", "claims"]) || has_keys(other, &["records", "plots"]),
    },
    page_data,
    scripts: &[include_str!("../../assets/kinds/reproduction.js")],
};

/// Name of the record in an item's folder.
const RECORD: &str = "item.json";
/// Maximum number of rows of a table on the HTML page; the file of the table has all rows.
const MAX_ROWS: usize = 40;

const CLAIM: [(&str, super::FieldType); 7] = [
    ("says", Text),
    ("ours", Bool),
    ("cases", Number),
    ("holds_in", Number),
    ("printed", OptionalNumber),
    ("measured", OptionalNumber),
    ("verdict", Text),
];

fn page_data(value: Value) -> Result<Value, String> {
    let data = match value {
        Value::Array(rows) => json!({ "records": records_of_rows(&rows)?, "plots": [], "tables": [] }),
        object if object.get("records").is_some() => object,
        record => json!({ "records": [record], "plots": [], "tables": [] }),
    };
    check_all(&data, "records", &[("item", Text), ("claims", List), ("verdict", Text)])?;
    for record in data["records"].as_array().into_iter().flatten() {
        let item = record["item"].as_str().unwrap_or_default();
        check_all(record, "claims", &CLAIM).map_err(|problem| format!("{item}: {problem}"))?;
    }
    check_all(&data, "plots", &[("item", Text), ("name", Text), ("svg", Text)])?;
    check_all(&data, "tables", &[("item", Text), ("name", Text), ("columns", List), ("rows", List)])?;
    Ok(data)
}

/// Converts rows of claims to records of items.
fn records_of_rows(rows: &[Value]) -> Result<Vec<Value>, String> {
    let mut records: Vec<Value> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        check(row, &format!("[{at}]"), &[("item", Text), ("claim", Text), ("verdict_of_item", Text)])?;
        let mut claim = row.clone();
        (claim["says"], claim["ours"]) = (row["claim"].clone(), row["ours_only"].clone());
        match records.last_mut().filter(|record| record["item"] == row["item"]) {
            Some(record) => record["claims"].as_array_mut().expect("made here").push(claim),
            None => records.push(json!({
                "item": row["item"], "effort": row["effort"], "verdict": row["verdict_of_item"], "claims": [claim],
            })),
        }
    }
    Ok(records)
}

/// Adds plots and tables from the folders of the records, as many as fit on an HTML page.
///
/// # Errors
///
/// Returns an error if a file cannot be read.
pub fn with_plots_and_tables(records: Vec<(Value, PathBuf)>) -> Result<Value, String> {
    let (mut plots, mut tables, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut remaining_bytes = MAX_KIND_BYTES;
    for (record, folder) in &records {
        let item = record["item"].as_str().unwrap_or_default();
        for name in files(folder, "svg")? {
            let svg = read(&folder.join(&name))?;
            // Quotes are escaped in the HTML page, which increases the size.
            let size = json!(svg).to_string().len();
            if size > remaining_bytes {
                left_out.push(format!("{item}/{name}"));
                continue;
            }
            remaining_bytes -= size;
            plots.push(json!({ "item": item, "name": name, "svg": svg }));
        }
        for name in record["shown"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let path = folder.join(format!("{name}.csv"));
            if !path.is_file() {
                continue;
            }
            let table = table(item, name, &path)?;
            let size = table.to_string().len();
            if size > remaining_bytes {
                left_out.push(format!("{item}/{name}.csv"));
                continue;
            }
            remaining_bytes -= size;
            tables.push(table);
        }
    }
    let records: Vec<Value> = records.into_iter().map(|(record, _)| record).collect();
    Ok(json!({ "records": records, "plots": plots, "tables": tables, "left_out": left_out }))
}

/// Reads the items in a folder: the item of the folder itself, or the items of one paper or of all papers.
pub fn in_folder(folder: &Path) -> Result<Value, String> {
    let mut found = Vec::new();
    walk(folder, 2, &mut found)?;
    if found.is_empty() {
        return Err(format!(
            "there is no {RECORD} in this folder or below it, as `wearwell reproduce` leaves them"
        ));
    }
    let mut records = Vec::new();
    for folder in found {
        let path = folder.join(RECORD);
        let record: Value = serde_json::from_str(&read(&path)?)
            .map_err(|error| format!("{}: this is no JSON: {error}", path.display()))?;
        records.push((record, folder));
    }
    with_plots_and_tables(records)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    if folder.join(RECORD).is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.iter().try_for_each(|folder| walk(folder, depth - 1, found))
}

/// Returns the sorted names of the files in a folder that have this extension; none if the folder does not exist.
fn files(folder: &Path, ending: &str) -> Result<Vec<String>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.flatten().map(|entry| entry.path());
    let of_kind = paths.filter(|path| path.extension().is_some_and(|end| end == ending));
    let mut names: Vec<String> =
        of_kind.filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn table(item: &str, name: &str, path: &Path) -> Result<Value, String> {
    let failed = |error: csv::Error| format!("{}: {error}", path.display());
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).map_err(failed)?;
    let columns: Vec<String> = reader.headers().map_err(failed)?.iter().map(str::to_owned).collect();
    let (mut rows, mut more) = (Vec::new(), 0);
    for record in reader.records() {
        let record = record.map_err(failed)?;
        if rows.len() < MAX_ROWS {
            rows.push(record.iter().map(str::to_owned).collect::<Vec<_>>());
        } else {
            more += 1;
        }
    }
    Ok(json!({ "item": item, "name": name, "columns": columns, "rows": rows, "left_out": more }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/results")
    }

    #[test]
    fn recorded_items_fit_on_a_page_and_omitted_files_are_named() {
        let found = page_data(in_folder(&results()).unwrap()).unwrap();
        assert!(found["records"].as_array().unwrap().len() > 50);
        assert!(!found["left_out"].as_array().unwrap().is_empty());
        let page = crate::page("all", &[crate::Document::of_reproduction("all", &results()).unwrap()]);
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
        let one = page_data(in_folder(&results().join("geckoftl")).unwrap()).unwrap();
        assert_eq!(one["left_out"], json!([]));
    }

    #[test]
    fn rows_of_claims_are_converted_to_records() {
        let row = |item: &str| {
            json!({
                "item": item, "effort": "quick", "claim": "a", "ours_only": false, "printed": 1.0, "measured": null,
                "cases": 1, "holds_in": 1, "verdict": "reproduced", "verdict_of_item": "partly",
            })
        };
        let found = page_data(json!([row("a/b"), row("a/b"), row("a/c")])).unwrap();
        let records = found["records"].as_array().unwrap();
        assert_eq!((records.len(), records[0]["claims"].as_array().unwrap().len()), (2, 2));
    }

    #[test]
    fn folder_without_items_is_refused() {
        let problem = in_folder(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
        assert!(problem.contains("no item.json"), "{problem}");
    }
}
