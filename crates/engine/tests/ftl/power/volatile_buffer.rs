//! Verifies the harness: it must detect a faulty drive.

use crate::power::harness::{FtlUnderTest, try_all};
use crate::power::hybrid;
use crate::volatile_buffer::VolatileBufferFtl;

#[test]
fn loss_of_acknowledged_pages_is_detected() {
    if std::env::var("WEARWELL_CUT").is_ok() {
        return;
    }
    let subject = FtlUnderTest {
        kind: "forgetful",
        build: |supply, seed| {
            let (ftl, settings) = hybrid::build_bast(supply, seed);
            (VolatileBufferFtl::new(ftl), settings)
        },
        has_battery: false,
    };
    let problem = try_all(&subject, 1, 0).unwrap_err();
    assert!(problem.starts_with("forgetful:0:") && problem.contains("reads"), "{problem}");
}
