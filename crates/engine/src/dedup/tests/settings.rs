//! Meaning of settings, and rejection of invalid ones.

use super::super::*;
use serde_json::{Value, json};

fn config(value: Value) -> DedupConfig {
    serde_json::from_value(value).unwrap()
}

fn rejected_key(value: Value) -> Option<String> {
    config(value).check().err().map(|error| error.key)
}

#[test]
fn smallest_and_largest_value_of_each_setting_work() {
    for (accepted, refused, key) in [
        (
            json!({"kind": "inline", "index": {"entries": 1}}),
            json!({"kind": "inline", "index": {"entries": 0}}),
            "index.entries",
        ),
        (
            json!({"kind": "inline", "index": {"fingerprint_bits": 1}}),
            json!({"kind": "inline", "index": {"fingerprint_bits": 0}}),
            "index.fingerprint_bits",
        ),
        (
            json!({"kind": "inline", "index": {"fingerprint_bits": 64}}),
            json!({"kind": "inline", "index": {"fingerprint_bits": 65}}),
            "index.fingerprint_bits",
        ),
        (
            json!({"kind": "inline", "index": {"paged": {"page_entries": 1, "cached_pages": 1}}}),
            json!({"kind": "inline", "index": {"paged": {"page_entries": 0, "cached_pages": 1}}}),
            "index.paged.page_entries",
        ),
        (
            json!({"kind": "sampled", "map_log": true, "map_log_page_records": 1}),
            json!({"kind": "sampled", "map_log": true, "map_log_page_records": 0}),
            "map_log_page_records",
        ),
        (json!({"kind": "inline", "hash_us": 0.0}), json!({"kind": "inline", "hash_us": -0.001}), "hash_us"),
        (
            json!({"kind": "pre_hashed", "pre_hash_bits": 1}),
            json!({"kind": "pre_hashed", "pre_hash_bits": 0}),
            "pre_hash_bits",
        ),
        (
            json!({"kind": "pre_hashed", "pre_hash_bits": 32}),
            json!({"kind": "pre_hashed", "pre_hash_bits": 33}),
            "pre_hash_bits",
        ),
        (json!({"kind": "cagc", "threshold": 1}), json!({"kind": "cagc", "threshold": 0}), "threshold"),
    ] {
        assert_eq!(rejected_key(accepted), None, "{key}");
        assert_eq!(rejected_key(refused), Some(key.to_owned()));
    }
    let infinite = DedupConfig::Inline(Inline { hash_us: f64::INFINITY, ..Inline::default() });
    assert_eq!(infinite.check().unwrap_err().key, "hash_us");
    // Without a log, the number of records per page has no effect.
    assert_eq!(rejected_key(json!({"kind": "inline", "map_log_page_records": 0})), None);
}

#[test]
fn each_kind_detects_as_configured() {
    let detect = |value: Value| config(value).detect();
    assert_eq!(detect(json!("none")), Detect::Nothing);
    assert_eq!(detect(json!("inline")), Detect::EveryPage);
    assert_eq!(detect(json!("sampled")), Detect::Sample);
    assert_eq!(detect(json!("pre_hashed")), Detect::PreHash { percent: 10, bits: 32 });
    let other = json!({"kind": "pre_hashed", "pre_hash_percent": 25, "pre_hash_bits": 8});
    assert_eq!(detect(other), Detect::PreHash { percent: 25, bits: 8 });
    let (rehash, promotion) = (true, Promotion::Now);
    assert_eq!(detect(json!("cagc")), Detect::Cleaning { rehash, threshold: 1, promotion });
    let other = json!({"kind": "cagc", "rehash": false, "threshold": 3, "promotion": "when_moved"});
    let (rehash, promotion) = (false, Promotion::WhenMoved);
    assert_eq!(detect(other), Detect::Cleaning { rehash, threshold: 3, promotion });
    assert!(config(json!("none")).is_none() && !config(json!("cagc")).is_none());
}

#[test]
fn only_cleaning_has_a_cold_region() {
    let mut cagc = config(json!({"kind": "cagc", "threshold": 5}));
    assert_eq!(cagc.threshold(), Some(5));
    cagc.promote_when_moved();
    assert_eq!(cagc, config(json!({"kind": "cagc", "threshold": 5, "promotion": "when_moved"})));
    for kind in ["none", "inline", "sampled", "pre_hashed"] {
        let mut other = config(json!(kind));
        assert_eq!(other.threshold(), None);
        other.promote_when_moved();
        assert_eq!(other, config(json!(kind)));
    }
}

#[test]
fn log_exists_only_if_configured() {
    assert_eq!(config(json!("inline")).map_log_page_records(), None);
    let log = json!({"kind": "inline", "map_log": true});
    assert_eq!(config(log).map_log_page_records(), Some(341), "of 12 bytes in 4096");
    assert_eq!(config(json!({"kind": "inline", "hash_us": 1.2345})).hash_ns(), 1235);
}

#[test]
fn index_in_flash_reserves_a_quarter() {
    let pages = |entries: Option<u32>, page_entries: u32, slots: u32| {
        let paged = Some(Paged { page_entries, cached_pages: 1 });
        IndexSettings { entries, paged, ..IndexSettings::default() }.pages(slots)
    };
    assert_eq!(pages(None, 4, 12), 4);
    assert_eq!(pages(None, 4, 13), 5);
    assert_eq!(pages(Some(3), 4, 12), 1);
    assert_eq!(pages(Some(100), 4, 12), 4, "no more entries than slots");
    assert_eq!(IndexSettings::default().pages(12), 0);
    assert_eq!(Paged::default().page_entries, 170, "of 24 bytes in 4096");
}

#[test]
fn slots_suffice_for_pages_groups_and_waiting_records() {
    let slots = |value: Value, pages: u32, atomic: u32| {
        let sharing = SharedTables::new(&config(value), pages, atomic);
        sharing.map(|sharing| sharing.store_pages()).map_err(|error| error.key)
    };
    assert_eq!(slots(json!("inline"), 100, 0), Ok(100));
    assert_eq!(slots(json!("inline"), 100, 8), Ok(108));
    // 5 records per page, 15 slots per page of the checkpoint: 7 checkpoint pages, and a ring of twice as many.
    let log = json!({"kind": "inline", "map_log": true, "map_log_page_records": 5});
    assert_eq!(slots(log.clone(), 100, 0), Ok(100 + 5 + 7 + 14));
    assert_eq!(slots(log, 100, 8), Err("map_log".to_owned()));
    // 60 entries fill three quarters of 8 pages of 10.
    let paged = json!({"kind": "cagc", "index": {"entries": 60, "paged": {"page_entries": 10}}});
    assert_eq!(slots(paged, 100, 3), Ok(103 + 8));
    let small = SharedTables::new(&config(json!("inline")), (1 << 31) - 8, 8);
    assert_eq!(small.err().unwrap().key, "kind", "2^31 slots are one too many");
    assert_eq!(slots(json!({"kind": "cagc", "threshold": 0}), 4, 0), Err("threshold".to_owned()));
}

#[test]
fn migration_policy_exists_only_for_merging_or_references() {
    let has_policy = |kind: &str, needs_references: bool| {
        let sharing = SharedTables::new(&config(json!(kind)), 4, 0).unwrap();
        sharing.migration_policy(None, needs_references).is_some()
    };
    assert_eq!((has_policy("inline", false), has_policy("inline", true)), (false, true));
    assert_eq!((has_policy("cagc", false), has_policy("cagc", true)), (true, true));
}
