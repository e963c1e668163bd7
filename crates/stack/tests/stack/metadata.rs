//! What a log writes for itself, in scenarios.

use crate::common::{run_text, scenario, try_run};

#[test]
fn f2fs_writes_a_summary_a_log_at_each_checkpoint() {
    for (preset, streams, placement) in [
        ("f2fs_2", 2, "\"single\""),
        ("f2fs_6", 6, r#"{ kind = "host_hint", streams = 2, cleaned = "apart" }"#),
    ] {
        let text = format!(
            r#"
            device = {{ capacity = "128 MiB", spare_factor = 0.1, pages_per_block = 128 }}
            log = [{{ segment_size = "256 KiB", spare_factor = 0.2,
                     metadata = {{ preset = "{preset}", checkpoint_every = "2 MiB" }},
                     placement = {placement} }}]
            workload = {{ kind = "hot_cold", hot_writes = 0.8, hot_space = 0.2 }}
            measure = {{ warm_up = 0.5, drive_writes = 0.5 }}
            "#
        );
        let result = run_text(&text);
        let metadata = result.layers[0].metadata.unwrap();
        assert!(metadata.checkpoints > 0 && metadata.metadata_share > 0.0);
        assert_eq!(metadata.checkpoint_pages, metadata.checkpoints * (2 + streams));
        let kinds = [metadata.summary_pages, metadata.map_pages, metadata.segment_info_pages];
        let sum = kinds.iter().sum::<u64>() + metadata.checkpoint_pages;
        assert_eq!(result.layers[0].outgoing["log_metadata"]["write"], sum);
    }
    let one = "device = { capacity = '128 MiB', spare_factor = 0.1, pages_per_block = 128 }
               log = [{ segment_size = '256 KiB', metadata = 'f2fs_6' }]
               workload = { kind = 'uniform' }";
    let error = try_run(&scenario(one)).unwrap_err();
    assert!(error.to_string().contains("laid out for 6 streams"), "{error}");
}
