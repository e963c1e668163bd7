//! Timed runs: counts equal those of counting runs, times are conserved, idle time is used, wrong settings are refused.

use crate::common::{error_of, run_text, scenario, try_run, writable_ftls};
use wearwell_engine::timing::{RequestTimes, TimingReport};
use wearwell_stack::{Performance, RunResult};

const DRIVE: &str = "[device]\npreset = \"z_nand\"\nchannels = 1\nways = 1\ndies = 2\nblocks_per_plane = 40\npages_per_block = 16\nspare_factor = 0.15\n";
const MEASURE: &str = "[measure]\nwarm_up = 2.0\ndrive_writes = 1.0\n";

/// Removes warnings about waiting, which only timed runs have.
pub fn without_wait_warnings(mut result: RunResult) -> RunResult {
    result.warnings.retain(|warning| !warning.contains("waiting, while the dies were busy"));
    result
}

/// Returns a result without the parts that only timed mode adds or determines.
fn counts(mut result: RunResult) -> RunResult {
    // The cost of a read relative to a program comes from the timing settings, if there are any.
    for report in result.layers.iter_mut().filter_map(|layer| layer.ftl.as_mut()) {
        (report.delta, report.delta_source) = (0.0, String::new());
        report.write_amplification_with_reads = None;
    }
    result.performance = Performance::default();
    result.timing = None;
    result.mode = "counting".into();
    result.scenario.timing = None;
    without_wait_warnings(result)
}

fn timing(result: &RunResult) -> &TimingReport {
    result.timing.as_ref().expect("a timed run")
}

fn writes(result: &RunResult) -> &RequestTimes {
    &timing(result).requests["write"]
}

#[test]
fn timed_mode_changes_no_count() {
    let mixed = "[workload]\nkind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\nread_ratio = 0.3\ntrim_ratio = 0.05\n\
                 request_pages = [{ pages = 1, weight = 2 }, { pages = 4, weight = 1 }]\n";
    let uniform = "[workload]\nkind = \"uniform\"\n";
    let single = "[ftl]\nplacement = \"single\"\nreclaim = \"in_place\"\ncopy_order = \"random\"\nvictim = \"d_choices\"\n";
    let stacked = "[[log]]\nsegment_size = \"128 KiB\"\nspare_factor = 0.3\nmetadata = \"f2fs\"\n";
    let zones =
        "[ftl]\nstructure = { kind = \"zones\", zone_blocks = 2 }\n[[log]]\nsegment_size = \"128 KiB\"\n";
    let tenants = "[[tenant]]\nname = \"a\"\nshare = 0.5\nrate = 2\nworkload = { kind = \"uniform\", read_ratio = 0.2 }\n\
                   [[tenant]]\nname = \"b\"\nshare = 0.5\nworkload = { kind = \"zipf\", exponent = 1.0 }\n";
    let log_with = |keys: &str| format!("[[log]]\nsegment_size = \"128 KiB\"\nspare_factor = 0.3\n{keys}");
    let page_trims = log_with("trim = { unit = \"page\" }\n");
    let trims = "[workload]\nkind = \"sequential\"\ntrim_ratio = 0.3\n";
    let sampled = "[ftl]\ndedup = \"sampled\"\n[content]\ndedup_ratio = 0.3\n";
    let tree = "[[log]]\nspare_factor = 0.6\nstructure = { kind = \"lsm\", memtable_size = \"256 KiB\", \
                table_size = \"128 KiB\", write_ahead_log = \"256 KiB\" }\n";
    let merging = "[device]\npreset = \"z_nand\"\nchannels = 1\nways = 1\ndies = 1\nplanes = 1\nblocks_per_plane = 100\n\
                   pages_per_block = 16\nspare_factor = 0.3\n[ftl]\ndedup = \"cagc\"\n\
                   structure = { kind = \"dftl\", cache_size = \"1 KiB\" }\n\
                   [workload]\nkind = \"uniform\"\nread_ratio = 0.4\n[content]\ndedup_ratio = 0.5\n\
                   [measure]\nwarm_up = 1.0\ndrive_writes = 5.0\nwindow = 0.5\n";
    let zoned = DRIVE.replace("spare_factor = 0.15\n", "");
    let cases = [
        format!("{DRIVE}{uniform}{MEASURE}"),
        format!("{DRIVE}{mixed}[ftl]\nvictim = \"cost_benefit\"\nplacement = \"age_classes\"\n{MEASURE}"),
        format!("{DRIVE}{uniform}{single}{MEASURE}"),
        format!("{DRIVE}{mixed}{stacked}{MEASURE}"),
        format!("{zoned}{mixed}{zones}{MEASURE}"),
        format!("{DRIVE}{tenants}{MEASURE}"),
        format!("{DRIVE}{uniform}{page_trims}{MEASURE}"),
        format!("{DRIVE}{mixed}{page_trims}metadata = \"f2fs\"\n{MEASURE}"),
        format!("{DRIVE}{uniform}{}{MEASURE}", log_with("trim = { delay = \"40 KiB\" }\n")),
        format!("{DRIVE}{uniform}{}{page_trims}{MEASURE}", log_with("name = \"top\"\n")),
        format!("{DRIVE}{trims}{MEASURE}"),
        format!("{DRIVE}{uniform}{sampled}{}{MEASURE}", log_with("")),
        format!(
            "{}{uniform}{sampled}{tree}{MEASURE}",
            DRIVE.replace("blocks_per_plane = 40", "blocks_per_plane = 400")
        ),
        merging.to_owned(),
        format!(
            "{}{mixed}{MEASURE}",
            DRIVE.replace("pages_per_block", "superblock_blocks = 4\npages_per_block")
        ),
    ];
    for case in cases {
        let counted = run_text(&case);
        assert_eq!(counted.mode, "counting");
        for clock in [
            "",
            "contention = \"die\"\ncleaning = \"background\"\nqueue_depth = 3\nwrite_buffer = \"64 KiB\"\n",
        ] {
            let timed = run_text(&format!("{case}[timing]\n{clock}"));
            assert_eq!(timed.mode, "timed");
            // The granularity of the directory may differ: a timed run always keeps pages.
            let (mut timed, mut counted) = (counts(timed), counted.clone());
            for layer in timed.layers.iter_mut().chain(&mut counted.layers) {
                layer.directory = String::new();
            }
            assert_eq!(timed, counts(counted), "{case}{clock}");
        }
    }
}

#[test]
fn timed_result_repeats_from_its_scenario() {
    let text = format!(
        "{DRIVE}[workload]\nkind = \"uniform\"\nread_ratio = 0.5\n{MEASURE}\
         [timing]\nrequests = {{ requests_per_second = 20000.0, spacing = \"exponential\" }}\npriority = \"read_first\"\n\
         suspend_erase = true\nsuspend_us = 5.0\n"
    );
    let without_performance = |mut result: RunResult| {
        result.performance = Performance::default();
        result
    };
    let first = without_performance(run_text(&text));
    assert_eq!(first, without_performance(try_run(&first.scenario).unwrap()));
    let through_json: RunResult = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
    assert_eq!(first, without_performance(try_run(&through_json.scenario).unwrap()));
}

#[test]
fn response_times_under_light_load_equal_flash_times() {
    // Requests are so far apart that none overlap, and the drive has so much spare space that cleaning ends long before
    // the next.
    let text = format!(
        "{DRIVE}[workload]\nkind = \"uniform\"\nread_ratio = 0.5\n{MEASURE}\
         [timing]\ncontroller = \"ideal\"\nrequests = {{ requests_per_second = 10.0 }}\ncleaning = \"background\"\n"
    );
    let result = run_text(&text);
    // Transfer of 4096 + 128 bytes at 800 MB/s.
    let transfer = 5_280.0;
    let reads = &timing(&result).requests["read"];
    assert_eq!((reads.mean_ns, reads.max_ns as f64), (12_000.0 + transfer, 12_000.0 + transfer));
    assert_eq!(writes(&result).percentiles[0].response_ns / 100, ((16_000.0 + transfer) / 100.0) as u64);
    let busy: u64 = timing(&result).dies.iter().map(|die| die.total_ns()).sum();
    assert!(busy < timing(&result).elapsed_ns / 10);
}

#[test]
fn writes_wait_for_foreground_cleaning() {
    let text = |cleaning: &str| {
        format!(
            "{DRIVE}[workload]\nkind = \"uniform\"\n{MEASURE}[timing]\ncontroller = \"ideal\"\nrequests = {{ requests_per_second = 3000.0 }}\n\
             cleaning = \"{cleaning}\"\n"
        )
    };
    let [foreground, background] = ["foreground", "background"].map(|cleaning| run_text(&text(cleaning)));
    assert_eq!(foreground.nand, background.nand);
    assert!(writes(&foreground).parts_ns["cleaning_ns"] > 1.2 * writes(&background).parts_ns["cleaning_ns"]);
    // With background cleaning a write still waits if the erase of its own block has not ended.
    assert!(writes(&foreground).mean_ns > writes(&background).mean_ns);
    let last = |result: &RunResult| writes(result).percentiles.last().unwrap().cleaning_share;
    assert!(last(&foreground) > 0.5, "{:?}", writes(&foreground).percentiles);
}

#[test]
fn idle_cleaning_shortens_writes_and_costs_erases() {
    let text = |ftl: &str, rate: f64| {
        format!(
            "{DRIVE}[ftl]\n{ftl}[workload]\nkind = \"zipf\"\nexponent = 1.0\n{MEASURE}\
             [timing]\ncontroller = \"ideal\"\nrequests = {{ requests_per_second = {rate:?} }}\n"
        )
    };
    let idle = "free_blocks_idle = 9\n";
    let [with_idle, without_idle] = [idle, ""].map(|ftl| run_text(&text(ftl, 200.0)));
    assert_eq!(writes(&with_idle).parts_ns["cleaning_ns"], 0.0, "all cleaning is done ahead");
    assert!(writes(&without_idle).parts_ns["cleaning_ns"] > 0.0);
    assert!(
        with_idle.nand.erases > without_idle.nand.erases,
        "blocks are cleaned before more of their pages have died"
    );
    // Without idle time, idle cleaning changes nothing except the state of the pool at the beginning.
    let [busy_with_idle, busy_without_idle] = [idle, ""].map(|ftl| run_text(&text(ftl, 1e6)));
    assert!((busy_with_idle.nand.erases as f64 / busy_without_idle.nand.erases as f64 - 1.0).abs() < 0.02);
}

#[test]
fn deeper_queue_uses_more_dies_up_to_their_number() {
    let text = |depth: u32, superblock: u32| {
        format!(
            "{}[workload]\nkind = \"uniform\"\nread_ratio = 1.0\n[measure]\nwarm_up = 0.1\n[timing]\nqueue_depth = {depth}\n",
            DRIVE.replace("pages_per_block", &format!("superblock_blocks = {superblock}\npages_per_block"))
        )
    };
    let error = try_run(&scenario(&text(1, 3))).unwrap_err().to_string();
    assert!(error.contains("superblocks of 3 erase blocks"), "{error}");
    let rate_at_depth = |depth| {
        let text = text(depth, 4).replace("read_ratio = 1.0", "read_ratio = 0.9");
        timing(&run_text(&text)).requests_per_s
    };
    let (one, four, many) = (rate_at_depth(1), rate_at_depth(4), rate_at_depth(64));
    assert!(four > 1.2 * one && many > four && many < 2.2 * one, "{one}, {four}, {many}");
}

#[test]
fn tenants_are_served_in_order_of_arrival() {
    let text = format!(
        "{DRIVE}[[tenant]]\nname = \"often\"\nshare = 0.5\nrate = 9\nworkload = {{ kind = \"uniform\" }}\n\
         [[tenant]]\nname = \"seldom\"\nshare = 0.5\nworkload = {{ kind = \"uniform\" }}\n[measure]\nwarm_up = 1.0\ndrive_writes = 10.0\n\
         [timing]\nrequests = {{ requests_per_second = 100.0, spacing = \"exponential\" }}\n"
    );
    let result = run_text(&text);
    let share = result.tenants[0].host_share.unwrap();
    assert!((share - 0.9).abs() < 0.01, "nine of ten requests a second are its own: {share}");
    let rate = timing(&result).requests_per_s;
    assert!((rate / 1000.0 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn speed_up_shortens_trace_and_lengthens_responses() {
    let text = |speed_up: f64| {
        format!(
            "{DRIVE}[trace]\npath = \"{}\"\nformat = \"ssdsim\"\naddress = \"wrap\"\n{MEASURE}[timing]\nspeed_up = {speed_up:?}\n",
            crate::common::root().join("traces/samples/ssdsim.ascii").display()
        )
    };
    let samples = crate::common::root().join("traces/samples/ssdsim.ascii");
    if !samples.exists() {
        panic!("{} is shipped", samples.display());
    }
    let [slow, fast] = [1.0, 100.0].map(|speed_up| run_text(&text(speed_up)));
    assert_eq!(slow.nand, fast.nand);
    assert!(timing(&slow).elapsed_ns > 20 * timing(&fast).elapsed_ns);
}

/// A drive that wears out may end between any two requests, so that no request is drawn before its turn.
#[test]
fn timed_replay_with_requests_drawn_ahead_equals_one_request_at_a_time() {
    let trace = crate::common::root().join("traces/samples/ssdsim.ascii");
    for address in ["wrap", "compact"] {
        let text = |device: &str| {
            format!(
                "{DRIVE}{device}[trace]\npath = \"{}\"\nformat = \"ssdsim\"\naddress = \"{address}\"\n{MEASURE}[timing]\n",
                trace.display()
            )
        };
        let ahead = run_text(&text(""));
        let one_by_one = run_text(&text("wears_out = true\nendurance_cycles = 1000000\n"));
        assert!(one_by_one.measured_life.is_none_or(|worn_out| worn_out.blocks == 0), "no block wears out");
        assert_eq!((ahead.timing, ahead.windows), (one_by_one.timing, one_by_one.windows), "{address}");
        assert_eq!(ahead.final_draw, one_by_one.final_draw);
    }
}

#[test]
fn invalid_timing_settings_are_refused_by_key() {
    let workload = "[workload]\nkind = \"uniform\"\n";
    let bare = "[device]\nblocks_per_plane = 40\npages_per_block = 16\nspare_factor = 0.15\n";
    let open = "requests = { requests_per_second = 100.0 }\n";
    let cases: &[(&str, &str, &str, &[&str])] = &[
        (bare, "", "timing.channel_mb_per_s", &["is missing", "device.preset"]),
        (bare, "channel_mb_per_s = 100.0\n", "timing.read_us", &["is missing"]),
        (DRIVE, "read_us = -1.0\n", "timing.read_us", &["is -1", "0 or above"]),
        (DRIVE, "channel_mb_per_s = 0.0\n", "timing.channel_mb_per_s", &["above 0"]),
        (DRIVE, "queue_depth = 0\n", "timing.queue_depth", &["at least 1"]),
        (DRIVE, "hash_engines = 0\n", "timing.hash_engines", &["at least one"]),
        (DRIVE, "erase_us = 1e12\n", "timing.erase_us", &["at most an hour"]),
        (DRIVE, "arrivals = \"open\"\n", "timing.requests", &["is missing", "closed"]),
        (DRIVE, "speed_up = 2.0\n", "timing.speed_up", &["closed"]),
        (DRIVE, &format!("{open}arrivals = \"closed\"\n"), "timing.requests", &["closed"]),
        (DRIVE, &format!("{open}speed_up = 0.0\n"), "timing.speed_up", &["above 0"]),
        (
            DRIVE,
            "requests = { requests_per_second = 0.0 }\n",
            "timing.requests.requests_per_second",
            &["above 0"],
        ),
        (DRIVE, "write_buffer = \"1 KiB\"\n", "timing.write_buffer", &["at least a page"]),
        (DRIVE, "host_mb_per_s = 0.0\n", "timing.host_mb_per_s", &["above 0"]),
    ];
    for (drive, timing, key, parts) in cases {
        let error =
            try_run(&scenario(&format!("{drive}{workload}[timing]\n{timing}"))).unwrap_err().to_string();
        assert!(error.starts_with(key), "{error}");
        parts.iter().for_each(|part| assert!(error.contains(part), "{error}"));
    }
    for (ftl, part) in
        [("free_blocks_idle = 2\n", "must be from"), ("free_blocks_idle = 1000\n", "must be from")]
    {
        let error = try_run(&scenario(&format!("{DRIVE}{workload}[ftl]\n{ftl}"))).unwrap_err().to_string();
        assert!(error.starts_with("ftl.free_blocks_idle") && error.contains(part), "{error}");
    }
}

/// Traces shipped with MQSim and SSDsim, if available, run to the end with plausible times.
#[test]
fn traces_of_other_simulators_run_to_the_end() {
    let Some(folder) = std::env::var_os("WEARWELL_TRACES").map(std::path::PathBuf::from) else {
        return eprintln!("skipped: WEARWELL_TRACES does not name a directory of traces");
    };
    let spread = "superblock_blocks = 32\n";
    let runs = [
        ("mqsim-tpcc-small.trace.zst", "mqsim", "mlc", ""),
        ("mqsim-tpcc-small.trace.zst", "mqsim", "mlc", spread),
        ("ssdsim-financial1.ascii.zst", "ssdsim", "slc", ""),
        ("ssdsim-dtrs.trace.zst", "ssdsim", "mlc", spread),
    ];
    for (file, format, preset, layout) in runs {
        let result = run_text(&format!(
            "[device]\npreset = \"{preset}\"\ncapacity = \"16 GiB\"\nmapping_unit = \"4 KiB\"\n{layout}\
             [trace]\npath = \"{}\"\nformat = \"{format}\"\naddress = \"wrap\"\nvolume_rule = \"overlay\"\ndecreasing_times = \"sort\"\n\
             [precondition]\nfill = \"none\"\n[measure]\nwarm_up = 0.0\npasses = 1\ndrive_writes = 0.000001\n[timing]\ncontroller = \"ideal\"\n",
            folder.join(file).display()
        ));
        let (report, preset) = (timing(&result), wearwell_engine::nand::Preset::find(preset).unwrap());
        let reads = &report.requests["read"];
        // A page that was never written is read without the flash; any other read takes at least the time of the cells.
        assert!(
            writes(&result).mean_ns >= 1e3 * preset.program_us / 4.0,
            "{file}: {}",
            writes(&result).mean_ns
        );
        assert!(reads.max_ns as f64 >= 1e3 * preset.read_us, "{file}: {}", reads.max_ns);
        assert!(report.die_utilisation() < 1.0);
        eprintln!(
            "{file} {layout:?}: reads {:.0} us, writes {:.0} us on average, {:.0} requests a second",
            reads.mean_ns / 1e3,
            writes(&result).mean_ns / 1e3,
            report.requests_per_s
        );
    }
}

/// Returns a scenario of a small drive that loses power while it is measured.
fn scenario_with_power_cuts(ftl: &str) -> String {
    let workload = "[workload]\nkind = \"uniform\"\ntrim_ratio = 0.05\nread_ratio = 0.1\n";
    format!(
        "ftl = \"{ftl}\"\n[device]\nblocks_per_plane = 160\npages_per_block = 16\nspare_factor = 0.3\nchannels = 2\n\
         {workload}[measure]\nwarm_up = 0.5\ndrive_writes = 1.0\n\
         [power]\nrandom = 6\nrecovery_cut_probability = 0.3\nread_us = 60.0\nprogram_us = 700.0\nerase_us = 3500.0\n"
    )
}

#[test]
fn power_cuts_take_time_and_change_no_count() {
    let clock = "[timing]\nread_us = 60.0\nprogram_us = 700.0\nerase_us = 3500.0\nchannel_mb_per_s = 400.0\n";
    for ftl in writable_ftls() {
        let mut plain = counts(run_text(&scenario_with_power_cuts(ftl)));
        let timed = run_text(&format!("{}{clock}", scenario_with_power_cuts(ftl)));
        let power = timed.power.clone().expect("cuts");
        let outages = timing(&timed).outages.expect("cuts");
        assert_eq!(outages.outages, power.cuts, "{ftl}");
        // Dies work in parallel, and never longer than their operations take one after another; transfers come on top.
        let sequential_ns = 1e9 * power.recovery_seconds_max.unwrap();
        assert!(outages.max_ns as f64 > 0.4 * sequential_ns, "{ftl}: {outages:?} {sequential_ns}");
        assert!(
            power.cuts_in_recovery > 0 || (outages.max_ns as f64) < 1.3 * sequential_ns,
            "{ftl}: {outages:?}"
        );
        assert!(writes(&timed).max_ns >= outages.max_ns && writes(&timed).parts_ns["outage_ns"] > 0.0);

        let off = scenario_with_power_cuts(ftl).replace("[power]", "[power]\noff_ms = 5.0");
        let off = run_text(&format!("{off}{clock}"));
        let longer = timing(&off).outages.expect("cuts");
        let expected_extra_ns = 5e6 * (power.cuts + power.cuts_in_recovery) as f64 / power.cuts as f64;
        assert_eq!((longer.outages, longer.mean_off_ns), (outages.outages, expected_extra_ns), "{ftl}");
        assert!((longer.mean_ns - outages.mean_ns - expected_extra_ns).abs() < 1e-3, "{ftl}");

        let mut timed = counts(timed);
        for result in [&mut plain, &mut timed] {
            result.layers.iter_mut().for_each(|layer| layer.directory = String::new());
            result.scenario.power = None;
        }
        assert!(timed == plain, "{ftl}");
    }
}

#[test]
fn off_ms_is_refused_without_timed_mode_or_cuts() {
    let off = scenario_with_power_cuts("gecko").replace("[power]", "[power]\noff_ms = 5.0");
    assert!(error_of(&off).contains("power.off_ms: means nothing without `timing`"), "{}", error_of(&off));
    let clock = "[timing]\nread_us = 60.0\nprogram_us = 700.0\nerase_us = 3500.0\nchannel_mb_per_s = 400.0\n";
    let at_end =
        format!("{}{clock}", off.replace("random = 6\nrecovery_cut_probability = 0.3", "at_end = true"));
    assert!(error_of(&at_end).contains("power.off_ms: means nothing"), "{}", error_of(&at_end));
    let negative = format!("{}{clock}", off.replace("5.0", "-1.0"));
    assert!(error_of(&negative).contains("power.off_ms: is -1"), "{}", error_of(&negative));
}

#[test]
fn read_only_workload_is_refused_or_measured_by_its_reads() {
    for ratio in ["read_ratio", "trim_ratio"] {
        let text = format!("{DRIVE}[workload]\nkind = \"uniform\"\n{ratio} = 1.0\n");
        let error = error_of(&text);
        assert!(error.contains("nothing was written in the last") && error.contains("[timing]"), "{error}");
        let timed = run_text(&format!("{text}[measure]\ndrive_writes = 3.0\n[timing]\n"));
        let logical_pages = u64::from(timed.device.logical_pages);
        let requests: u64 = timing(&timed).requests.values().map(|times| times.requests).sum();
        assert!(
            (3 * logical_pages..4 * logical_pages).contains(&requests),
            "{requests} of {logical_pages} pages"
        );
        assert_eq!((timed.write_amplification, timed.phases.measured_host_pages), (None, 0));
        assert!(
            timed.warnings[0].starts_with("next to nothing was written: the run was as long as"),
            "{:?}",
            timed.warnings
        );
        assert!(!timed.warnings.iter().any(|warning| warning.contains("not steady")), "{:?}", timed.warnings);
    }
}
