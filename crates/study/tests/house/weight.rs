//! Size of the repository: the limits of single files and of all files, and files that a command makes.

use crate::common::root;
use crate::tidy::{assert_no_complaints, files, ignored};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Largest file without an entry in [`LARGE_FILES`], bytes.
const FILE_BYTES: u64 = 128 << 10;

/// Largest sum of all files, bytes: a tenth more than when the limit was set.
const TOTAL_BYTES: u64 = 25_000_000;

/// Files that may be larger: the limit of each in bytes, and the reason for keeping it.
const LARGE_FILES: &[(&str, u64, &str)] = &[
    (
        "traces/rocksdb-pgbench-ext4.blkparse.zst",
        3_100_000,
        "trace of `make demo`, which runs without a network; another recording has other times",
    ),
    (
        "experiments/recordings/file_systems.columns.xz",
        2_600_000,
        "recordings that need root, six file systems and hours to make again",
    ),
    ("experiments/recordings/f2fs.columns.xz", 1_500_000, "recordings that need root and F2FS to make again"),
    ("experiments/results/limit/table/data.csv", 450_000, "recorded data of which pages and tests are made"),
    ("experiments/results/assumptions.csv", 400_000, "recorded data of which pages and tests are made"),
    (
        "experiments/results/beyond/transient/data.csv",
        170_000,
        "recorded data of which pages and tests are made",
    ),
    (
        "experiments/results/nvmfs/readings/grid.csv",
        160_000,
        "recorded data of which pages and tests are made",
    ),
    (
        "crates/report/assets/charts.min.js.gz",
        240_000,
        "charts of pages, which load nothing; npm makes it again",
    ),
];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns complaints about files with their sizes in bytes.
fn complaints(sizes: &[(String, u64)]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, bytes) in sizes {
        let limit = LARGE_FILES.iter().find(|(large, _, _)| large == path).map_or(FILE_BYTES, |file| file.1);
        if *bytes > limit {
            complaints
                .push(format!("{path}: {bytes} bytes, more than {limit}; see CONTRIBUTING.md, Large files"));
        }
    }
    for (large, _, _) in LARGE_FILES {
        if !sizes.iter().any(|(path, bytes)| path == large && *bytes > FILE_BYTES) {
            complaints.push(format!("{large}: needs no entry in LARGE_FILES"));
        }
    }
    let total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    if total > TOTAL_BYTES {
        complaints.push(format!("all files: {total} bytes, more than {TOTAL_BYTES}"));
    }
    complaints
}

#[test]
fn files_and_their_sum_stay_within_size_limits() {
    let sizes: Vec<(String, u64)> = files()
        .iter()
        .map(|path| (path.display().to_string(), root().join(path).metadata().unwrap().len()))
        .collect();
    assert_no_complaints(&complaints(&sizes));

    let with = |path: &str, bytes| {
        let mut sizes = sizes.clone();
        sizes.push((path.to_owned(), bytes));
        complaints(&sizes)
    };
    assert_eq!(with("docs/new.json", FILE_BYTES), [""; 0]);
    assert_eq!(with("docs/new.json", FILE_BYTES + 1).len(), 1);
    assert_eq!(with("docs/new.json", TOTAL_BYTES).len(), 2);
    assert_eq!(complaints(&sizes[..1]).len(), LARGE_FILES.len());
}

#[test]
fn contributing_lists_large_files() {
    let guide = read("CONTRIBUTING.md");
    let missing = LARGE_FILES.iter().filter(|(path, _, _)| !guide.contains(&format!("`{path}`")));
    assert_no_complaints(
        &missing.map(|(path, _, _)| format!("CONTRIBUTING.md does not list {path}")).collect::<Vec<_>>(),
    );
}

/// Returns the schemas that scenarios and samples name in their first line, relative to the root.
fn named_schemas() -> BTreeSet<String> {
    let mut schemas = BTreeSet::new();
    for path in files().iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let Some(schema) = text.lines().next().and_then(|line| line.strip_prefix("#:schema ")) else {
            continue;
        };
        let mut place = path.parent().unwrap().to_owned();
        for step in Path::new(schema) {
            if step == ".." { assert!(place.pop(), "{}", path.display()) } else { place.push(step) }
        }
        schemas.insert(place.display().to_string());
    }
    schemas
}

#[test]
fn schemas_that_files_name_are_made_by_a_documented_command() {
    let schemas = named_schemas();
    assert_eq!(schemas.iter().collect::<Vec<_>>(), ["docs/fleet.schema.json", "docs/scenario.schema.json"]);
    let (makefile, ignored) = (read("Makefile"), ignored());
    for schema in &schemas {
        assert!(makefile.contains(&format!("> {schema}")), "the Makefile does not write {schema}");
        assert!(ignored.iter().any(|path| path == schema), ".gitignore does not have {schema}");
    }
    assert!(makefile.lines().any(|line| line.starts_with("schemas:")));
    for page in ["docs/scenario.md", "CONTRIBUTING.md"] {
        assert!(read(page).contains("`make schemas`"), "{page} does not name `make schemas`");
    }
}
