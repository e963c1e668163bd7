//! Consistency of the documents with the code: lists are complete, and links have targets.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use wearwell_engine::dedup::{DEDUPS, DedupConfig};
use wearwell_engine::nand::{FRONT_ENDS, PRESETS};
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::victim::VICTIMS;
use wearwell_engine::wear::{WEAR_LEVELLINGS, WearConfig};
use wearwell_stack::{FTLS, LAYERS, LOG_LAYOUTS, MetadataResult, Progress, Scenario, run, structures};
use wearwell_trace::FORMATS;
use wearwell_workload::WORKLOADS;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn schema() -> Value {
    serde_json::to_value(schemars::schema_for!(Scenario)).unwrap()
}

/// Returns the part of a document between the line `heading` and the next heading of the same or a higher level.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = document.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let body = &document[start + heading.len() + 2..];
    let depth = heading.find(' ').unwrap();
    let ends = (1..=depth).filter_map(|depth| body.find(&format!("\n{} ", "#".repeat(depth))));
    &body[..ends.min().unwrap_or(body.len())]
}

/// Returns the rows of a section's tables as cells, without header and rule.
fn rows(section: &str) -> Vec<Vec<&str>> {
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

fn unquoted(cell: &str) -> &str {
    cell.trim_matches('`')
}

const TABLES: &[(&str, &[&str])] = &[
    ("## The file", &[]),
    ("## `[device]`", &["Device"]),
    ("## `[ftl]` and `[[log]]`", &["FtlConfig", "LayerConfig"]),
    ("## `[[tenant]]`", &["TenantConfig"]),
    ("## Metadata of a log", &["LogMetadata"]),
    ("## `[trace]`", &["TraceConfig"]),
    ("## `[timing]`", &["TimingConfig"]),
    ("## `[power]`", &["PowerConfig"]),
    ("## `[precondition]`", &["Precondition"]),
    ("## `[measure]`", &["Measure"]),
];

/// Returns all alternative forms of a table.
fn alternatives(table: &Value) -> impl Iterator<Item = &Value> {
    let several = table["anyOf"].as_array().into_iter().flatten();
    several.chain(std::iter::once(table)).filter(|form| form["properties"].is_object())
}

/// Returns the keys of the tables with these definitions, in any form; without definitions, those of a scenario.
fn properties(schema: &Value, definitions: &[&str]) -> Map<String, Value> {
    let tables: Vec<&Value> = match definitions {
        [] => vec![schema],
        names => names.iter().map(|name| &schema["$defs"][name]).collect(),
    };
    let properties =
        tables.into_iter().flat_map(alternatives).flat_map(|form| form["properties"].as_object().unwrap());
    properties.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[test]
fn scenario_page_lists_exactly_the_keys() {
    let (schema, page) = (schema(), read("docs/scenario.md"));
    for &(heading, definitions) in TABLES {
        let properties = properties(&schema, definitions);
        let keys: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let section = section(&page, heading);
        let listed: BTreeSet<&str> = rows(section).iter().map(|row| unquoted(row[0])).collect();
        assert_eq!(listed, keys, "docs/scenario.md, {heading}");
        for row in rows(section) {
            let default = &properties[unquoted(row[0])]["default"];
            let written = match default {
                Value::Number(_) | Value::Bool(_) => default.to_string(),
                Value::String(text) => text.clone(),
                _ => continue,
            };
            let found = unquoted(row[2]).trim_matches('"');
            assert_eq!(found, written, "docs/scenario.md, default of {}", row[0]);
        }
    }
}

/// Returns the values of enumerations in the schema that have a name but no settings.
fn choice_values(schema: &Value) -> Vec<String> {
    let forms =
        schema["$defs"].as_object().unwrap().values().filter_map(|definition| {
            definition["oneOf"].as_array().or_else(|| definition["enum"].as_array())
        });
    let name = |form: &Value| form["const"].as_str().or_else(|| form.as_str()).map(str::to_owned);
    forms.flatten().filter_map(name).collect()
}

#[test]
fn every_choice_of_a_setting_is_documented() {
    let pages = ["scenario", "workloads", "placements", "dedup", "ftl"]
        .map(|page| read(&format!("docs/{page}.md")))
        .concat();
    let choices = choice_values(&schema());
    assert!(choices.contains(&"side_by_side".to_owned()), "{choices:?}");
    for choice in choices {
        assert!(pages.contains(&format!("`{choice}`")), "no page names the choice `{choice}`");
    }
}

/// Collects every field name of a JSON value at any depth; `open` names maps whose keys are data.
fn fields(value: &Value, open: &[&str], found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                found.insert(name.clone());
                if !open.contains(&name.as_str()) {
                    fields(value, open, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, open, found)),
        _ => {}
    }
}

fn result_of(scenario: Value) -> Value {
    let scenario: Scenario = serde_json::from_value(scenario).unwrap();
    let result = run(&scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    serde_json::to_value(&result).unwrap()
}

#[test]
fn every_field_of_a_result_is_documented() {
    let worn_out = result_of(json!({
        "device": {
            "blocks_per_plane": 40, "pages_per_block": 8, "spare_factor": 0.25,
            "endurance_cycles": 20, "wears_out": true, "tbw": 0.001,
        },
        "workload": { "kind": "uniform" },
        "measure": { "until_worn_out_blocks": 1 },
    }));
    for optional in
        ["write_amplification", "write_amplification_estimate", "lifetime", "rating", "measured_life"]
    {
        assert!(!worn_out[optional].is_null(), "{optional} is missing from the test's own result");
    }
    let divided = result_of(json!({
        "device": { "blocks_per_plane": 40, "pages_per_block": 8, "spare_factor": 0.25 },
        "tenant": [
            { "share": 0.5, "workload": { "kind": "uniform" } },
            { "share": 0.5, "workload": { "kind": "uniform" } },
        ],
        "measure": { "warm_up": 1, "drive_writes": 2 },
    }));
    for list in [&divided["tenants"], &divided["tenants"][0]["chain"], &divided["layers"][0]["partitions"]] {
        assert!(list.as_array().is_some_and(|list| !list.is_empty()), "{divided}");
    }
    let stacked = result_of(json!({
        "device": { "blocks_per_plane": 60, "pages_per_block": 8, "page_size": 4096, "spare_factor": 0.25 },
        "log": [{ "segment_size": "48 KiB", "spare_factor": 0.3 }],
        "workload": { "kind": "uniform" },
        "measure": { "warm_up": 4.0 },
    }));
    let timed = result_of(json!({
        "device": { "preset": "z_nand", "channels": 1, "ways": 1, "dies": 2, "blocks_per_plane": 20, "pages_per_block": 8, "spare_factor": 0.25 },
        "ftl": { "dedup": "cagc", "placement": "references" },
        "workload": { "kind": "uniform", "read_ratio": 0.2, "trim_ratio": 0.1 },
        "content": "mail",
        "timing": {},
        "measure": { "warm_up": 2.0 },
    }));
    let cut = result_of(json!({
        "ftl": "gecko",
        "device": { "blocks_per_plane": 80, "pages_per_block": 16, "spare_factor": 0.3 },
        "workload": { "kind": "uniform" },
        "power": { "at_end": true, "random": 3 },
        "measure": { "warm_up": 1.0, "drive_writes": 1.0 },
    }));
    assert!(!cut["power"].is_null() && !cut["layers"][0]["ftl"]["recovery"].is_null(), "{cut}");
    assert!(!timed["timing"].is_null() && !timed["layers"][0]["dedup"].is_null());
    assert!(!stacked["layers"][1]["arrivals"].is_null() && !stacked["layers"][0]["trims"].is_null());
    let page = read("docs/results.md");
    for result in [worn_out, divided, stacked, timed, cut] {
        let mut names = BTreeSet::new();
        fields(&result, &["scenario", "incoming", "outgoing", "counts", "spare_reads"], &mut names);
        for name in names {
            assert!(page.contains(&format!("| `{name}` |")), "docs/results.md does not list `{name}`");
        }
    }
}

#[test]
fn every_name_has_a_row_on_its_page() {
    let listed = |page: &str, names: Vec<&str>| {
        let text = read(&format!("docs/{page}.md"));
        for name in names {
            assert!(text.contains(&format!("\n| `{name}` |")), "docs/{page}.md has no row for `{name}`");
        }
    };
    listed("traces", FORMATS.iter().map(|format| format.name).collect());
    listed("workloads", WORKLOADS.iter().map(|entry| entry.name).collect());
    listed("victims", VICTIMS.iter().map(|entry| entry.name).collect());
    listed("placements", PLACEMENTS.iter().map(|entry| entry.name).collect());
    listed("wear-levelling", WEAR_LEVELLINGS.iter().map(|entry| entry.name).collect());
    listed("dedup", DEDUPS.iter().map(|entry| entry.name).collect());
    listed("ftl", FTLS.iter().map(|entry| entry.name).collect());
    listed("devices", PRESETS.iter().map(|preset| preset.entry.name).collect());
}

/// Parses a figure and its unit, as in `45,200 a second`.
fn figure(cell: &str) -> (f64, &str) {
    let (number, unit) = cell.split_once(' ').unwrap_or_else(|| panic!("no unit in {cell}"));
    (number.replace(',', "").parse().unwrap_or_else(|error| panic!("{cell}: {error}")), unit)
}

#[test]
fn every_drive_is_within_thirty_percent_of_its_data_sheet() {
    let document = read("docs/devices.md");
    let (_, table) = document.split_once("<!-- data sheets -->").expect("the mark before the table");
    let (table, _) = table.split_once("<!-- end of data sheets -->").expect("the mark behind the table");
    let mut presets = BTreeSet::new();
    for row in rows(table) {
        let [preset, product, case, sheet, measured, ratio, verdict, source] = row[..] else {
            panic!("not eight cells: {row:?}");
        };
        let front = FRONT_ENDS.iter().find(|front| front.preset == unquoted(preset));
        assert_eq!(front.map(|front| front.product), Some(product), "{preset}");
        let [sheet, measured] = [sheet, measured].map(figure);
        assert_eq!(sheet.1, measured.1, "{row:?}");
        assert_eq!(format!("{:.2}", measured.0 / sheet.0), ratio, "{row:?}");
        // The only exception, which the document explains: the data sheet of the Z-SSD does not give its spare space.
        let excepted = (unquoted(preset), case) == ("z_nand", "random write, steady");
        assert_eq!((measured.0 / sheet.0 - 1.0).abs() <= 0.3, !excepted, "{row:?}");
        assert_eq!(verdict, if excepted { "no" } else { "yes" }, "{row:?}");
        assert!(!source.is_empty());
        presets.insert(unquoted(preset));
    }
    for front in FRONT_ENDS {
        assert!(presets.contains(front.preset), "no row of {}", front.preset);
    }
}

#[test]
fn every_log_layout_and_what_it_writes_is_documented() {
    let (scenarios, results) = (read("docs/scenario.md"), read("docs/results.md"));
    let layouts = section(&scenarios, "## Log layouts");
    for layout in LOG_LAYOUTS {
        assert!(
            layouts.contains(&format!("| `{}`", layout.entry.name))
                || layouts.contains(&format!(", `{}`", layout.entry.name))
        );
    }
    let result = MetadataResult {
        summary_pages: 0,
        map_pages: 0,
        tree_pages: 0,
        segment_info_pages: 0,
        checkpoint_pages: 0,
        trim_record_pages: 0,
        checkpoints: 0,
        cleaned_metadata_pages: 0,
        metadata_per_written_page: None,
        metadata_share: 0.0,
    };
    for name in serde_json::to_value(result).unwrap().as_object().unwrap().keys() {
        assert!(results.contains(&format!("| `{name}` |")), "docs/results.md does not list `{name}`");
    }
}

#[test]
fn every_structure_and_its_settings_are_documented() {
    let (schema, page, ftl_page) = (schema(), read("docs/scenario.md"), read("docs/ftl.md"));
    let section = section(&page, "## Structures");
    for entry in structures() {
        assert!(section.contains(&format!("| `{}` |", entry.name)), "docs/scenario.md: {}", entry.name);
    }
    for (definition, kinds) in [("FtlConfig", FTLS), ("LayerConfig", LAYERS)] {
        for (form, entry) in alternatives(&schema["$defs"][definition]).zip(kinds) {
            let settings = alternatives(&form["properties"]["structure"]).next().unwrap();
            for key in settings["properties"].as_object().unwrap().keys().filter(|key| *key != "kind") {
                let listed =
                    section.contains(&format!("| {key} |")) || ftl_page.contains(&format!("`{key}`"));
                assert!(listed, "docs/scenario.md, docs/ftl.md: {key} of {}", entry.name);
            }
        }
    }
}

#[test]
fn every_setting_of_wear_levelling_is_documented_with_its_default() {
    let page = read("docs/wear-levelling.md");
    for entry in WEAR_LEVELLINGS {
        let config: WearConfig = serde_json::from_value(json!(entry.name)).unwrap();
        let settings = serde_json::to_value(config).unwrap();
        for (key, default) in settings.as_object().unwrap().iter().filter(|(key, _)| *key != "kind") {
            let row = format!("\n| `{key}` | `{}` | `{default}` |", entry.name);
            assert!(page.contains(&row), "docs/wear-levelling.md: `{key}` of {}", entry.name);
        }
    }
}

#[test]
fn every_setting_of_deduplication_is_documented() {
    let page = read("docs/dedup.md");
    for entry in DEDUPS {
        let config: DedupConfig = serde_json::from_value(json!(entry.name)).unwrap();
        let mut keys = BTreeSet::new();
        fields(&serde_json::to_value(config).unwrap(), &[], &mut keys);
        for key in keys.iter().filter(|key| !["kind", "index"].contains(&key.as_str())) {
            let is_listed =
                page.contains(&format!("| `{key}` |")) || page.contains(&format!("| `index.{key}` |"));
            assert!(is_listed, "docs/dedup.md: `{key}` of {}", entry.name);
        }
    }
}

#[test]
fn every_key_of_a_workload_is_documented() {
    let page = read("docs/workloads.md");
    for entry in WORKLOADS {
        for key in entry.keys() {
            assert!(page.contains(&format!("`{key}`")), "docs/workloads.md: `{key}` of {}", entry.name);
        }
    }
}

#[test]
fn every_option_of_a_format_is_documented() {
    let page = read("docs/traces.md");
    for format in FORMATS {
        for option in format.options {
            assert!(page.contains(&format!("`{}`", option.name)), "docs/traces.md: `{}`", option.name);
        }
    }
}

/// Collects all documents, except those of tools and third parties.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    const FOREIGN: &[&str] = &["target", "node_modules", "results"];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                documents(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Returns the link targets in a document, outside code blocks.
fn links(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let prose = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    prose.flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split(')').next()).collect()
}

#[test]
fn every_relative_link_has_a_target() {
    let mut found = Vec::new();
    documents(&root(), &mut found);
    assert!(found.len() >= 10, "only {} documents found", found.len());
    for document in found {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            let target = document.parent().unwrap().join(path);
            assert!(target.exists(), "{}: the link to {link} leads nowhere", document.display());
        }
    }
}
