//! Arbitrary text as a SMART report: accepted or refused, and an accepted report can be used.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wearwell_study::drive::{DataSheet, SmartReport, evaluate_reports};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(report) = SmartReport::read("report.json", text) else { return };
    let sheet = DataSheet { pages_per_block: Some(2), endurance_cycles: Some(3000), ..DataSheet::default() };
    let _ = evaluate_reports(&sheet, Some(&report), &report, None);
    if let Ok(found) = evaluate_reports(&sheet, None, &report, None) {
        serde_json::to_string(&found).expect("plain data");
    }
});
