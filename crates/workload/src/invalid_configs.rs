//! Tests of rejected configurations and their error messages.

use super::*;
use wearwell_base::seed::Seed;

/// Returns the error of reading or building `text` on a space of 100 pages.
#[track_caller]
fn error_of(text: &str) -> String {
    let config: WorkloadConfig = match toml::from_str(text) {
        Ok(config) => config,
        Err(error) => return error.message().to_owned(),
    };
    match config.build(100, Seed(1)) {
        Ok(_) => panic!("built: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn out_of_range_value_error_names_key() {
    let hot_cold = |r: &str, f: &str| format!("kind = 'hot_cold'\nhot_writes = {r}\nhot_space = {f}");
    let cases = [
        (hot_cold("1.5", "0.1"), "hot_writes: is 1.5; it must be above 0 and at most 1"),
        (hot_cold("0", "0.1"), "hot_writes: is 0; it must be above 0 and at most 1"),
        (hot_cold("nan", "0.1"), "hot_writes: is NaN; it must be above 0 and at most 1"),
        (hot_cold("0.5", "-1"), "hot_space: is -1; it must be above 0 and at most 1"),
        (hot_cold("0.5", "1"), "hot_space: is 1; it must be below 1 as long as `hot_writes` is"),
        ("kind = 'zipf'\nexponent = 0".into(), "exponent: is 0; it must be a finite number above 0"),
        ("kind = 'zipf'\nexponent = inf".into(), "exponent: is inf; it must be a finite number above 0"),
        ("kind = 'sequential'\nstart = 100".into(), "start: is 100; it must be one of the 100 pages"),
        ("kind = 'sequential'\nstride = 0".into(), "stride: is 0; it must lie from 1"),
    ];
    for (text, message) in cases {
        let error = error_of(&text);
        assert!(error.starts_with(message), "{text}\n{error}");
    }
}

#[test]
fn out_of_range_request_setting_error_names_key() {
    let cases = [
        ("read_ratio = 1.1", "read_ratio: is 1.1; it must lie from 0 to 1"),
        ("read_ratio = nan", "read_ratio: is NaN; it must lie from 0 to 1"),
        ("read_ratio = 0.7\ntrim_ratio = 0.5", "read_ratio + trim_ratio: is 1.2; it must be at most 1"),
        ("flush_ratio = 1.0", "flush_ratio: is 1; it must be a number from 0 to 0.99"),
        ("flush_ratio = nan", "flush_ratio: is NaN; it must be a number from 0 to 0.99"),
        (
            "read_ratio = 0.7\nflush_ratio = 0.5",
            "read_ratio + trim_ratio + flush_ratio: is 1.2; it must be at most 1",
        ),
        ("shift = 1", "shift: is 1; it must lie from 0 to below 1"),
        ("request_pages = 0", "request_pages: is 0; it must lie from 1 to the 100 pages of the space"),
        ("request_pages = 101", "request_pages: is 101; it must lie from 1 to the 100 pages of the space"),
        ("trim_pages = 101", "trim_pages: is 101; it must lie from 1 to the 100 pages of the space"),
        ("request_pages = []", "request_pages: is []; it must have at least one entry"),
        (
            "request_pages = [{ pages = 1, weight = 0 }]",
            "request_pages: is weights that sum to 0; it must sum to a finite number above 0",
        ),
        (
            "request_pages = [{ pages = 1, weight = 1 }, { pages = 2, weight = -1 }]",
            "request_pages[1].weight: is -1; it must be a finite number, 0 or above",
        ),
        (
            "request_pages = [{ pages = 200, weight = 1 }]",
            "request_pages[0].pages: is 200; it must lie from 1 to the 100 pages of the space",
        ),
        ("hint = 'temperature'", "hint: is \"temperature\"; it must be \"none\""),
    ];
    for (settings, message) in cases {
        let error = error_of(&format!("kind = 'uniform'\n{settings}"));
        assert!(error.starts_with(message), "{settings}\n{error}");
    }
}

#[test]
fn compound_workload_error_names_path() {
    let part = |weight: &str, space: &str, key: &str| {
        format!("[[parts]]\nweight = {weight}\nspace = {space}\nworkload = {{ kind = 'uniform', {key} }}\n")
    };
    let cases = [
        ("kind = 'mixed'\nparts = []".to_owned(), "parts: is []; it must have at least one entry"),
        (
            format!("kind = 'mixed'\n{}", part("1", "0.2", "request_pages = 21")),
            "parts[0].workload.request_pages: is 21; it must lie from 1 to the 20 pages of the space",
        ),
        (
            format!("kind = 'mixed'\n{}{}", part("1", "0.6", ""), part("1", "0.5", "")),
            "parts[1].space: is 0.5; it brings the sum of all parts above 1",
        ),
        (
            format!("kind = 'mixed'\n{}", part("1", "0.001", "")),
            "parts[0].space: is 0.001; it is less than one of the 100 pages",
        ),
        (format!("kind = 'mixed'\n{}", part("-1", "0.5", "")), "parts[0].weight: is -1; it must be a finite"),
        ("kind = 'phases'\nphases = []".to_owned(), "phases: is []; it must have at least one entry"),
        (
            "kind = 'phases'\nrepeat = true\nphases = [{ workload = { kind = 'uniform' } }]".to_owned(),
            "phases[0].writes: is nothing; it must say after how many multiples of the logical capacity",
        ),
        (
            "kind = 'phases'\nrepeat = true\nphases = [{ writes = 0, workload = { kind = 'uniform' } }]"
                .to_owned(),
            "phases[0].writes: is 0; it must be a finite number of logical capacities above 0",
        ),
        (
            "kind = 'phases'\nrepeat = true
             phases = [{ writes = 1, workload = { kind = 'uniform', read_ratio = 1 } }]"
                .to_owned(),
            "phases[0].workload: is without writes; it must write, or the phase never ends",
        ),
        (
            "kind = 'phases'\nphases = [{ workload = { kind = 'zipf', exponent = -1 } }]".to_owned(),
            "phases[0].workload.exponent: is -1; it must be a finite number above 0",
        ),
    ];
    for (text, message) in cases {
        let error = error_of(&text);
        assert!(error.starts_with(message), "{text}\n{error}");
    }
}

#[test]
fn unknown_name_error_lists_known_names() {
    let cases = [
        ("exponent = 1", "a workload with no `kind`; one of uniform, hot_cold, zipf"),
        ("kind = 3", "a workload with `kind` = 3; one of uniform, hot_cold, zipf"),
        ("kind = 'zip'", "no workload is called \"zip\"; one of uniform, hot_cold, zipf"),
        (
            "kind = 'zipf'\nexponant = 1",
            "workload \"zipf\" has no key `exponant`; it has exponent, flush_ratio, hint, kind",
        ),
        ("kind = 'zipf'", "workload \"zipf\": missing field `exponent`"),
        ("kind = 'uniform'\nhint = 'hot'", "workload \"uniform\": unknown variant `hot`, expected `none` or"),
        (
            "kind = 'uniform'\nrequest_pages = -1",
            "workload \"uniform\": must be a number of pages, or a list of { pages, weight }",
        ),
        (
            "kind = 'phases'\nphases = [{ workload = { kind = 'uniform', size = 3 } }]",
            "workload \"phases\": workload \"uniform\" has no key `size`; it has flush_ratio,",
        ),
    ];
    for (text, message) in cases {
        let error = error_of(text);
        assert!(error.starts_with(message), "{text}\n{error}");
    }
}

#[test]
fn empty_space_is_refused() {
    let config: WorkloadConfig = toml::from_str("kind = 'uniform'").unwrap();
    let error = config.build(0, Seed(1)).err().unwrap();
    assert_eq!(error.to_string(), "logical_pages: is 0; it must be at least 1");
}
