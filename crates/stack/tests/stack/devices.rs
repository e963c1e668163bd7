//! Drives have the requested size, and stripe writes as real drives do.

use crate::common::{error_of, run_text, scenario};
use wearwell_engine::timing::Striping;
use wearwell_stack::ResolvedScenario;

const SHORT: &str = "[workload]\nkind = \"uniform\"\n[measure]\nwarm_up = 0.05\ndrive_writes = 0.05\n";

fn device(keys: &str) -> String {
    format!("[device]\n{keys}\n{SHORT}")
}

#[test]
fn spare_space_equals_config_or_is_refused_with_nearest_sizes() {
    for (preset, capacity) in
        [("tlc", "4 GiB"), ("tlc", "16 GiB"), ("qlc", "4 GiB"), ("mlc", "1100 MiB"), ("slc", "64 MiB")]
    {
        let text =
            device(&format!("preset = \"{preset}\"\ncapacity = \"{capacity}\"\nover_provisioning = 0.07"));
        let resolved = ResolvedScenario::of(scenario(&text)).unwrap();
        let (geometry, logical) = (resolved.device.geometry, f64::from(resolved.device.logical_pages));
        let over_provisioning = geometry.pages() as f64 / logical - 1.0;
        assert!((0.07..0.0735).contains(&over_provisioning), "{preset} {capacity}: {over_provisioning}");
        // The scenario with its defaults written back resolves to the same drive.
        let resolved_again = ResolvedScenario::of(resolved.scenario.clone()).unwrap();
        assert_eq!(resolved_again.device, resolved.device);
    }
    let coarse_blocks = device("preset = \"tlc\"\ncapacity = \"1100 MiB\"\nover_provisioning = 0.07");
    let error = error_of(&coarse_blocks);
    for word in ["device.over_provisioning", "whole blocks of 18.0 MiB", "0.0636 or 0.0800"] {
        assert!(error.contains(word), "{error}");
    }
    // The preset's own spare space is rounded up to one of these sizes. That is too little for blocks of that size.
    let small = "preset = \"tlc\"\ncapacity = \"1100 MiB\"\n";
    let [fits, rounded] = ["over_provisioning = 0.08", ""].map(|keys| device(&format!("{small}{keys}")));
    let sizes =
        [&fits, &rounded].map(|text| ResolvedScenario::of(scenario(text)).map(|resolved| resolved.device));
    assert_eq!(sizes[0].as_ref().unwrap().geometry, sizes[1].as_ref().unwrap().geometry);
    let error = error_of(&rounded);
    assert!(error.starts_with("device: ") && error.contains("more flash, smaller blocks"), "{error}");
    run_text(&device(&format!("{small}pages_per_block = 96")));
}

#[test]
fn planes_with_fewer_blocks_are_reported_and_configurable() {
    let shape = "channels = 4\npages_per_block = 16\nmapping_unit = \"4 KiB\"\n";
    let by_size = device(&format!("{shape}raw_capacity = \"3392 KiB\"\nspare_factor = 0.3"));
    let resolved = ResolvedScenario::of(scenario(&by_size)).unwrap();
    let geometry = resolved.device.geometry;
    assert_eq!((geometry.blocks_per_plane, geometry.unused_blocks, geometry.blocks()), (14, 3, 53));
    let named = device(&format!("{shape}blocks_per_plane = 14\nunused_blocks = 3\nspare_factor = 0.3"));
    assert_eq!(run_text(&named).final_draw, run_text(&by_size).final_draw);
    for (keys, word) in [
        ("raw_capacity = \"3392 KiB\"\nunused_blocks = 3", "without `blocks_per_plane`"),
        ("blocks_per_plane = 1\nunused_blocks = 5", "more than the 4"),
    ] {
        let error = error_of(&device(&format!("{shape}{keys}\nspare_factor = 0.3")));
        assert!(error.contains(word), "{keys}: {error}");
    }
}

#[test]
fn presets_stripe_in_timed_mode_by_default() {
    let striping = |device_keys: &str, timing: &str| {
        let text = format!("{}[timing]\n{timing}\n", device(device_keys));
        ResolvedScenario::of(scenario(&text)).unwrap().scenario.timing.unwrap().striping.unwrap()
    };
    let preset = "preset = \"mlc\"\ncapacity = \"256 MiB\"\n";
    let bare = "blocks_per_plane = 40\npages_per_block = 16\nspare_factor = 0.3\nchannels = 4\n";
    let times = "read_us = 50.0\nprogram_us = 200.0\nerase_us = 1000.0\nchannel_mb_per_s = 400.0";
    assert_eq!(striping(preset, ""), Striping::Drive);
    assert_eq!(striping(preset, "striping = \"block\""), Striping::Block);
    assert_eq!(striping(&format!("{preset}superblock_blocks = 2"), ""), Striping::Block);
    // Blocks are too short for a row of a die's planes.
    assert_eq!(striping(&format!("{preset}pages_per_block = 3"), ""), Striping::Block);
    assert_eq!(striping(bare, times), Striping::Block);
    assert_eq!(striping(bare, &format!("{times}\nstriping = \"drive\"")), Striping::Drive);
}

#[test]
fn striping_raises_throughput_without_changing_counts_and_idle_dies_cause_warning() {
    let text = |timing: &str| {
        format!(
            "{}[timing]\n{timing}\n",
            device("preset = \"mlc\"\ncapacity = \"256 MiB\"\nover_provisioning = 0.3")
        )
    };
    let [block, drive] = ["block", "drive"].map(|name| run_text(&text(&format!("striping = \"{name}\""))));
    assert_eq!((&block.nand, &block.final_draw), (&drive.nand, &drive.final_draw));
    let rate = |result: &wearwell_stack::RunResult| result.timing.as_ref().unwrap().requests_per_s;
    assert!(rate(&drive) > 5.0 * rate(&block), "{} and {}", rate(&drive), rate(&block));
    let wait_warning = |result: &wearwell_stack::RunResult| {
        result.warnings.iter().find(|warning| warning.contains("waiting, while the dies were busy")).cloned()
    };
    assert!(wait_warning(&block).unwrap().contains("timing.striping = \"drive\""), "{block:?}");
    let one_at_a_time = run_text(&text("queue_depth = 1"));
    assert_eq!(wait_warning(&one_at_a_time), None, "one request at a time waits for nobody");
    let timeless =
        run_text(&text("striping = \"block\"").replace("[measure]", "trim_ratio = 1.0\n[measure]"));
    assert_eq!(wait_warning(&timeless), None, "trims take no time, of which no share is waiting");
}

#[test]
fn preset_defaults_to_controller_of_its_drive() {
    let timing = |device_keys: &str, timing: &str| {
        let text = format!("{}[timing]\n{timing}\n", device(device_keys));
        let resolved = ResolvedScenario::of(scenario(&text)).unwrap();
        // Settings that were filled in resolve to themselves.
        let again = ResolvedScenario::of(resolved.scenario.clone()).unwrap();
        assert_eq!(again.scenario, resolved.scenario);
        resolved.scenario.timing.unwrap()
    };
    let preset = "preset = \"qlc\"\ncapacity = \"8 GiB\"\n";
    let drive = timing(preset, "");
    assert_eq!(
        (drive.host_mb_per_s, drive.controller_read_us, drive.controller_write_us),
        (Some(550.0), Some(10.3), Some(11.2))
    );
    // The drive has 8 channels of 2 dies of 2 planes.
    assert_eq!(drive.write_buffer.map(|size| size.0), Some(4 * 32 * 16_384));
    let customised =
        timing(preset, "host_mb_per_s = 100.0\ncontroller_read_us = 1.0\nwrite_buffer = \"64 KiB\"");
    assert_eq!(
        (customised.host_mb_per_s, customised.controller_read_us, customised.controller_write_us),
        (Some(100.0), Some(1.0), Some(11.2))
    );
    assert_eq!(customised.write_buffer.map(|size| size.0), Some(64 << 10));
    let ideal = timing(preset, "controller = \"ideal\"");
    assert_eq!((ideal.host_mb_per_s, ideal.controller_read_us, ideal.write_buffer), (None, Some(0.0), None));
    // A preset for counting runs models no drive.
    assert_eq!(timing("preset = \"gecko\"\ncapacity = \"256 MiB\"", "").host_mb_per_s, None);
    let error = error_of(&format!(
        "{}[timing]\ncontroller = \"drive\"\n",
        device("preset = \"gecko\"\ncapacity = \"256 MiB\"")
    ));
    assert!(error.contains("timing.controller") && error.contains("controller_read_us"), "{error}");
    let error = error_of(&format!("{}[timing]\ncontroller_write_us = -1.0\n", device(preset)));
    assert!(error.contains("timing.controller_write_us"), "{error}");
}
