//! Metadata that a log writes, in scenarios.

use crate::common::{run_text, scenario, try_run};
use std::fmt::Write;
use wearwell_stack::MetadataResult;

/// Layouts with two, four and six logs for nodes and data together, and the matching placements.
const LAYOUTS: [(&str, &str); 3] = [
    ("f2fs_2", "\"single\""),
    ("f2fs_4", "{ kind = \"host_hint\", streams = 2 }"),
    ("f2fs_6", r#"{ kind = "host_hint", streams = 2, cleaned = "apart" }"#),
];

#[test]
fn f2fs_checkpoint_has_two_pages_and_packed_summaries_with_any_number_of_logs() {
    for (preset, placement) in LAYOUTS {
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
        // Three open segments of 64 pages have at most 192 summaries, and a page holds up to 440.
        assert_eq!(metadata.checkpoint_pages, metadata.checkpoints * 3, "{preset}");
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

/// Returns a trace that writes 8 MiB of a new file in pages of 4 KiB, sequentially or at random, with a flush after
/// every `sync_every` pages.
fn file_of_8_mib(is_random: bool, sync_every: usize) -> String {
    let mut trace = "time_ns,op,volume,offset_bytes,length_bytes,hint\n".to_owned();
    for at in 0..2048usize {
        let page = if is_random { at * 1229 % 2048 } else { at };
        writeln!(trace, "{at},W,0,{},4096,0", page * 4096).unwrap();
        if (at + 1) % sync_every == 0 {
            writeln!(trace, "{at},F,0,0,0,0").unwrap();
        }
    }
    trace
}

/// Returns the pages of 4 KiB that a new log with this metadata writes for the file of `trace`.
fn pages_written(metadata: &str, placement: &str, trace: &str) -> (f64, MetadataResult) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.csv");
    std::fs::write(&path, trace).unwrap();
    let result = run_text(&format!(
        r#"
        device = {{ capacity = "256 MiB", spare_factor = 0.1, pages_per_block = 128 }}
        log = [{{ segment_size = "2 MiB", placement = {placement}, metadata = {metadata} }}]
        trace = {{ path = "{}" }}
        precondition = {{ fill = "none" }}
        measure = {{ warm_up = 0.0, drive_writes = 0.02 }}
        "#,
        path.display()
    ));
    assert_eq!(result.phases.measured_host_pages, 2048, "the file once");
    let metadata = result.layers[0].metadata.unwrap();
    (2048.0 * (1.0 + metadata.metadata_per_written_page.unwrap()), metadata)
}

/// Sectors that F2FS of Linux 6.1 wrote for such a file, from mount to sync, measured with User-mode Linux, `mkfs.f2fs`
/// 1.15 and fio. The only options are `active_logs` and, in the last three, `fastboot`: a checkpoint at each fsync with
/// any number of logs, which contains the summaries of the three node segments.
#[test]
fn f2fs_model_writes_as_many_sectors_as_linux() {
    let fastboot = "{ preset = 'f2fs', own_streams = 1, on_flush = 'checkpoint', checkpoint_pages = 5 }";
    let [two, four, six] = LAYOUTS;
    let measured = [
        ("'f2fs_2'", two.1, false, 1, 93_816),
        ("'f2fs_4'", four.1, false, 1, 42_296),
        ("'f2fs_6'", six.1, false, 1, 42_296),
        ("'f2fs_2'", two.1, true, 1, 93_816),
        ("'f2fs_6'", six.1, true, 1, 42_296),
        (fastboot, two.1, false, 4, 48_080),
        (fastboot, two.1, false, 16, 24_360),
        (fastboot, two.1, true, 16, 25_472),
    ];
    for (metadata, placement, is_random, sync_every, sectors) in measured {
        let (pages, kinds) = pages_written(metadata, placement, &file_of_8_mib(is_random, sync_every));
        let relative_error = pages * 8.0 / f64::from(sectors) - 1.0;
        // The measurement includes a directory, the inode's attributes and the writes of the mount; the model does not.
        let case = format!(
            "{metadata}, random {is_random}, {sync_every}: {relative_error:.4} of {sectors}; {kinds:?}"
        );
        assert!(relative_error.abs() < 0.015, "{case}");
    }
}

#[test]
fn number_of_logs_changes_no_count_without_flushes() {
    let all = LAYOUTS.map(|(preset, placement)| {
        pages_written(&format!("'{preset}'"), placement, &file_of_8_mib(true, usize::MAX)).0
    });
    assert!(all[0] < 2048.0 + 20.0 && all.iter().all(|pages| pages.to_bits() == all[0].to_bits()), "{all:?}");
}
