//! Verifies the harness: it must detect a faulty drive.

use crate::forgetful::Forgetful;
use crate::power::harness::{Subject, try_all};
use crate::power::hybrid;

#[test]
fn drive_that_loses_acknowledged_pages_is_detected() {
    if std::env::var("WEARWELL_CUT").is_ok() {
        return;
    }
    let subject = Subject {
        kind: "forgetful",
        build: |supply, seed| {
            let (ftl, settings) = hybrid::build_bast(supply, seed);
            (Forgetful::new(ftl), settings)
        },
        battery: false,
    };
    let problem = try_all(&subject, 1, 0).unwrap_err();
    assert!(problem.starts_with("forgetful:0:") && problem.contains("reads"), "{problem}");
}
