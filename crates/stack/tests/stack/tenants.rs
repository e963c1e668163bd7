//! Trees of layers with several tenants: turns, sums, and refusals.

use crate::common::{error_of, run_text, scenario, try_run};
use wearwell_stack::{LayerResult, Performance, RunResult};

const DRIVE: &str = "[device]\nblocks_per_plane = 160\npages_per_block = 16\nspare_factor = 0.15\n";

/// The stacks of Yang et al. (2014), fig. 1: names of their layers and the rest of a scenario.
const STACKS: &[(&str, &str)] = &[
    (
        "one log on one FTL",
        "[[log]]\nsegment_size = \"128 KiB\"\nspare_factor = 0.3\n[[tenant]]\nworkload = { kind = \"uniform\", trim_ratio = 0.05, read_ratio = 0.1 }\n",
    ),
    (
        "a log beside a plain application",
        r#"
        [[log]]
        name = "log"
        share = 0.5
        segment_size = "96 KiB"
        spare_factor = 0.25
        [[tenant]]
        name = "logged"
        on = "log"
        workload = { kind = "uniform", request_pages = 3, trim_ratio = 0.05, read_ratio = 0.1 }
        [[tenant]]
        name = "plain"
        on = "ftl"
        share = 0.5
        rate = 0.5
        workload = { kind = "hot_cold", hot_writes = 0.9, hot_space = 0.1, trim_ratio = 0.02, read_ratio = 0.2 }
        "#,
    ),
    (
        "two logs on one FTL",
        r#"
        [[log]]
        name = "a"
        on = "ftl"
        share = 0.6
        segment_size = "128 KiB"
        spare_factor = 0.3
        [[log]]
        name = "b"
        on = "ftl"
        share = 0.4
        segment_size = "64 KiB"
        spare_factor = 0.3
        trim = false
        [[tenant]]
        name = "x"
        on = "a"
        rate = 3
        workload = { kind = "uniform" }
        [[tenant]]
        name = "y"
        on = "b"
        workload = { kind = "sequential", request_pages = 5 }
        "#,
    ),
    (
        "an application log on a file system log, two tenants on each",
        r#"
        [[log]]
        name = "app"
        share = 0.5
        segment_size = "64 KiB"
        spare_factor = 0.3
        [[log]]
        name = "fs"
        segment_size = "128 KiB"
        spare_factor = 0.25
        [[tenant]]
        name = "p"
        on = "app"
        share = 0.7
        workload = { kind = "uniform" }
        [[tenant]]
        name = "q"
        on = "app"
        share = 0.2
        rate = 0.37
        workload = { kind = "zipf", exponent = 0.9 }
        [[tenant]]
        name = "r"
        on = "fs"
        share = 0.4
        rate = 2
        workload = { kind = "uniform", request_pages = 4 }
        "#,
    ),
];

const MEASURE: &str = "[measure]\nwarm_up = 2\ndrive_writes = 3\n";

fn run(stack: &str) -> RunResult {
    run_text(&format!("{DRIVE}{stack}{MEASURE}"))
}

fn sent(layer: &LayerResult, operation: &str) -> u64 {
    layer.outgoing.values().filter_map(|amounts| amounts.get(operation)).sum()
}

fn layer<'a>(result: &'a RunResult, name: &str) -> &'a LayerResult {
    result.layers.iter().find(|layer| layer.name == name).unwrap()
}

/// Checks all sums in the result of a tree, from the numbers in the result alone.
fn assert_counts_add_up(result: &RunResult) {
    for below in &result.layers {
        for operation in ["write", "read"] {
            let logs = result.layers.iter().filter(|above| above.on.as_ref() == Some(&below.name));
            let tenants = result.tenants.iter().filter(|tenant| tenant.on == below.name);
            let arriving: u64 = logs.map(|above| sent(above, operation)).sum::<u64>()
                + tenants.map(|tenant| tenant.incoming[operation]).sum::<u64>();
            assert_eq!(arriving, below.incoming[operation], "{operation} into {}", below.name);
            let received: u64 = below.partitions.iter().map(|part| part.incoming[operation]).sum();
            assert!(below.partitions.is_empty() || received == arriving, "{operation} into {}", below.name);
        }
        let cleaned = below.outgoing.get("cleaning").and_then(|amounts| amounts.get("write")).copied();
        let moved: u64 = below.moved_pages.iter().flatten().sum();
        assert!(below.partitions.is_empty() || Some(moved) == cleaned.or(Some(0)), "{}", below.name);
        let owned: u64 = below.partitions.iter().map(|part| part.moved_owned.unwrap()).sum();
        let caused: u64 = below.partitions.iter().map(|part| part.moved_caused.unwrap()).sum();
        assert_eq!((owned, caused), (moved, moved), "{}", below.name);
    }
    let host_pages: u64 = result.tenants.iter().map(|tenant| tenant.host_pages).sum();
    assert_eq!(host_pages, result.phases.measured_host_pages);
    assert_eq!(sent(result.layers.last().unwrap(), "write"), result.nand.programs);
    assert_eq!(result.write_amplification.unwrap(), result.nand.programs as f64 / host_pages as f64);
}

#[test]
fn counts_of_every_tree_add_up() {
    for (case, stack) in STACKS {
        let result = run(stack);
        println!("{case}: {:?}", result.write_amplification);
        assert_counts_add_up(&result);
    }
}

#[test]
fn single_tenant_chain_multiplies_amplification_of_layers() {
    let result = run(STACKS[0].1);
    let product: f64 = result.layers.iter().map(|layer| layer.write_amplification.unwrap_or(1.0)).product();
    assert!((result.write_amplification.unwrap() - product).abs() < 1e-9);
    let tenant = &result.tenants[0];
    assert_eq!((tenant.share, tenant.host_share, tenant.moved_owned), (1.0, Some(1.0), None));
    let chain: Vec<&str> = tenant.chain.iter().map(|step| step.layer.as_str()).collect();
    assert_eq!(chain, ["log0", "ftl"]);
    assert_eq!(tenant.chain[0].pages_out, tenant.chain[1].pages_in);
    assert_eq!(tenant.chain[1].pages_out, result.nand.programs);
    assert!(result.layers.iter().all(|layer| layer.partitions.is_empty() && layer.moved_pages.is_empty()));
}

/// A single tenant gives the same counts as the top-level form, except for random draws.
#[test]
fn single_tenant_gives_the_counts_of_the_top_level_form() {
    let log = "[[log]]\nsegment_size = \"128 KiB\"\nspare_factor = 0.3\n";
    let plain = run(&format!("{log}[workload]\nkind = \"sequential\"\nrequest_pages = 7\n"));
    let tenant =
        run(&format!("{log}[[tenant]]\nworkload = {{ kind = \"sequential\", request_pages = 7 }}\n"));
    assert_eq!(plain.layers, tenant.layers);
    assert_eq!(plain.windows, tenant.windows);
    assert_eq!(plain.wear, tenant.wear);
    assert!(plain.tenants.is_empty());
}

#[test]
fn moved_pages_are_charged_to_owner_and_cause() {
    let result = run(STACKS[1].1);
    let ftl = layer(&result, "ftl");
    assert_eq!(ftl.partitions.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["log", "plain"]);
    assert_eq!(ftl.moved_pages.len(), 2);
    let [logged, plain] = &result.tenants[..] else { panic!("two tenants") };
    assert_eq!(logged.chain.iter().map(|step| step.layer.as_str()).collect::<Vec<_>>(), ["log", "ftl"]);
    assert_eq!(logged.moved_owned, Some(ftl.moved_pages[0][0] + ftl.moved_pages[1][0]));
    assert_eq!(logged.moved_caused, Some(ftl.moved_pages[0][0] + ftl.moved_pages[0][1]));
    assert_eq!(plain.moved_owned, Some(ftl.moved_pages[0][1] + ftl.moved_pages[1][1]));
    assert!(ftl.moved_pages.iter().flatten().all(|&pages| pages > 0), "{:?}", ftl.moved_pages);
    let charged: f64 = result
        .tenants
        .iter()
        .map(|tenant| tenant.write_amplification_owned.unwrap() * tenant.host_pages as f64)
        .sum();
    assert!((charged - result.nand.programs as f64).abs() < 1e-3, "{charged}");
}

/// Below the first shared layer the tenants' pages are indistinguishable.
#[test]
fn chain_ends_at_the_first_shared_layer() {
    let result = run(STACKS[3].1);
    let chains: Vec<Vec<&str>> = result
        .tenants
        .iter()
        .map(|tenant| tenant.chain.iter().map(|step| step.layer.as_str()).collect())
        .collect();
    assert_eq!(chains, [vec!["app"], vec!["app"], vec!["fs"]]);
    // A tenth of `app` and of `fs` has no owner, and is never moved.
    let (app, fs) = (layer(&result, "app"), layer(&result, "fs"));
    assert_eq!((app.moved_pages.len(), fs.moved_pages.len()), (2, 2));
    assert_eq!((app.on.as_deref(), fs.on.as_deref()), (Some("fs"), Some("ftl")));
    assert!((app.share - 0.5).abs() < 0.02, "{}", app.share);
}

#[test]
fn tenant_rates_are_exact_to_one_request() {
    let longest = 5.0;
    for (case, stack) in STACKS {
        let result = run(stack);
        for tenant in &result.tenants {
            let first = &result.tenants[0];
            let served = [first, tenant].map(|tenant| tenant.host_pages as f64 / tenant.rate);
            // At the start and end of measuring, a tenant is ahead by one request at most.
            let slack = 2.0 * longest * (1.0 / first.rate + 1.0 / tenant.rate);
            assert!((served[0] - served[1]).abs() <= slack, "{case}, {}: {served:?}", tenant.name);
        }
    }
}

fn without_performance(mut result: RunResult) -> RunResult {
    result.performance = Performance::default();
    result
}

#[test]
fn equal_trees_give_equal_results_and_results_repeat() {
    for (_, stack) in STACKS {
        let first = without_performance(run(stack));
        assert_eq!(first, without_performance(try_run(&first.scenario).unwrap()));
        let through_json: RunResult = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        assert_eq!(first, through_json);
    }
}

/// Boundaries of batches and windows do not matter: turns depend only on the pages written.
#[test]
fn order_of_tenants_does_not_depend_on_batches() {
    let single = STACKS[3].1.replace("request_pages = 4", "request_pages = 1");
    // The windows divide the measured part evenly, so that all runs end at the same page.
    let results = ["1", "2", "4"].map(|window| {
        let measure = format!("[measure]\nwarm_up = 0\ndrive_writes = 4\nwindow = {window}\n");
        let result = run_text(&format!("{DRIVE}{single}{measure}"));
        (result.layers, result.tenants, result.nand, result.wear, result.final_draw)
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

/// A tenant's seed depends on its name: a second tenant does not change the requests of the first tenant.
#[test]
fn tenant_seed_does_not_depend_on_other_tenants() {
    let two_tenants = |second: &str| {
        run(&format!(
            "[[tenant]]\nname = \"a\"\nshare = 0.5\nworkload = {{ kind = \"uniform\", trim_ratio = 0.1, read_ratio = 0.3 }}\n\
             [[tenant]]\nname = \"{second}\"\nshare = 0.5\nworkload = {{ kind = \"uniform\", trim_ratio = 0.1, read_ratio = 0.3 }}\n"
        ))
    };
    let (first, second) = (two_tenants("b"), two_tenants("c"));
    let incoming = |result: &RunResult, at: usize| result.tenants[at].incoming.clone();
    assert_ne!(incoming(&first, 0), incoming(&first, 1), "two tenants with one seed");
    assert_ne!(incoming(&first, 1), incoming(&second, 1));
    assert_eq!(incoming(&first, 0), incoming(&second, 0));
}

/// Reads and writes of a trace stay in their tenant's space while a second tenant runs a workload.
#[test]
fn trace_tenant_and_workload_tenant_share_a_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let mut trace = String::from("time_ns,op,volume,offset_bytes,length_bytes,hint\n");
    for at in 0..200 {
        trace += &format!("{at},W,0,{},8192,0\n", at * 4096 * 7 % 800_000);
    }
    std::fs::write(&path, trace).unwrap();
    let text = format!(
        "{DRIVE}[[tenant]]\nname = \"trace\"\nshare = 0.3\nrate = 2\n\
         trace = {{ path = \"{}\", address = \"wrap\" }}\n\
         [[tenant]]\nname = \"workload\"\nshare = 0.7\nworkload = {{ kind = \"uniform\" }}\n{MEASURE}",
        path.display()
    );
    let result = run_text(&text);
    assert_counts_add_up(&result);
    assert_eq!(result.phases.trace_passes, None, "windows, not passes, where a workload goes on");
    assert!(result.tenants[0].trace_passes.unwrap() > 3);
    assert_eq!(result.tenants[1].trace_passes, None);
}

/// Impossible settings, each with the key that the error must name and words that it must contain.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "[[log]]\non = \"nothing\"\nsegment_size = 65536\n[workload]\nkind = \"uniform\"",
        "log[0].on",
        "one of log0, ftl",
    ),
    (
        "[[log]]\nname = \"a\"\non = \"b\"\n[[log]]\nname = \"b\"\non = \"a\"\n[workload]\nkind = \"uniform\"",
        "log[0].on",
        "a on b on a; one of them must stand on ftl",
    ),
    ("[[log]]\nname = \"a\"\non = \"a\"\n[workload]\nkind = \"uniform\"", "log[0].on", "a on a"),
    (
        "[[log]]\nname = \"ftl\"\nsegment_size = 65536\n[workload]\nkind = \"uniform\"",
        "ftl.name",
        "also the name of log[0]",
    ),
    (
        "[[tenant]]\nname = \"x\"\nshare = 0.5\nworkload = { kind = \"uniform\" }\n\
         [[tenant]]\nname = \"x\"\nshare = 0.5\nworkload = { kind = \"uniform\" }",
        "tenant[1].name",
        "also the name of tenant[0]",
    ),
    ("[[tenant]]\non = \"x\"\nworkload = { kind = \"uniform\" }", "tenant[0].on", "one of ftl"),
    (
        "[[tenant]]\nshare = 0.6\nworkload = { kind = \"uniform\" }\n[[tenant]]\nshare = 0.6\nworkload = { kind = \"uniform\" }",
        "tenant[1].share",
        "makes 1.2 of ftl; at most 0.4 is left",
    ),
    (
        "[[tenant]]\nshare = 0.6\nworkload = { kind = \"uniform\" }\n[[tenant]]\nworkload = { kind = \"uniform\" }",
        "tenant[1].share",
        "2 stand on ftl, and 0.4 of it is left",
    ),
    (
        "[[tenant]]\nworkload = { kind = \"uniform\" }\n[[tenant]]\nshare = 1.0\nworkload = { kind = \"uniform\" }",
        "tenant[0].share",
        "nothing of it is left",
    ),
    ("[[tenant]]\nshare = 1.5\nworkload = { kind = \"uniform\" }", "tenant[0].share", "at most 1"),
    (
        "[[tenant]]\nshare = 1e-5\nworkload = { kind = \"uniform\" }",
        "tenant[0].share",
        "less than a page of ftl",
    ),
    ("[[tenant]]\nrate = 0.0\nworkload = { kind = \"uniform\" }", "tenant[0].rate", "above 0"),
    ("[[tenant]]", "tenant[0].workload", "missing"),
    (
        "[[tenant]]\nworkload = { kind = \"uniform\" }\ntrace = { path = \"t.csv\" }",
        "tenant[0].workload",
        "stands beside `trace`",
    ),
    (
        "[[tenant]]\nworkload = { kind = \"uniform\" }\n[workload]\nkind = \"uniform\"",
        "workload",
        "stands beside `tenant`",
    ),
    ("[[tenant]]\nworkload = { kind = \"uniform\", read_ratio = 1.0 }", "tenant[0].workload", "write"),
    (
        "[[log]]\nname = \"a\"\non = \"ftl\"\n[[log]]\nname = \"b\"\n[workload]\nkind = \"uniform\"",
        "workload",
        "cannot be on several layers (a, b)",
    ),
    (
        "[[log]]\nname = \"a\"\non = \"ftl\"\n[[log]]\nname = \"b\"\n[[tenant]]\nworkload = { kind = \"uniform\" }",
        "tenant[0].on",
        "several layers are topmost: a, b",
    ),
    (
        "[[log]]\nname = \"a\"\non = \"ftl\"\n[[log]]\nname = \"b\"\n[[tenant]]\non = \"a\"\nworkload = { kind = \"uniform\" }",
        "log[1]",
        "nothing writes to it; remove it, or give a tenant or a log `on = \"b\"`",
    ),
    ("ftl = { share = 0.5 }\n[workload]\nkind = \"uniform\"", "ftl.share", "stacked logs"),
    ("ftl = { on = \"ftl\" }\n[workload]\nkind = \"uniform\"", "ftl.on", "stacked logs"),
    (
        "ftl = { directory = \"block\", reclaim = \"in_place\", placement = \"single\" }\n\
         [[tenant]]\nshare = 0.5\nworkload = { kind = \"uniform\" }\n[[tenant]]\nshare = 0.5\nworkload = { kind = \"uniform\" }",
        "ftl.directory",
        "sharing",
    ),
];

#[test]
fn impossible_trees_are_refused_by_key() {
    for (stack, key, word) in REFUSED {
        let text = format!("{stack}\n{DRIVE}");
        let message = error_of(&text);
        assert!(message.starts_with(&format!("{key}: ")), "{stack}: {message}");
        assert!(message.contains(word), "{stack}: {message}");
    }
}

/// Runs a log with segments of `segment_pages` pages on a share of the drive.
fn log_of(segment_pages: u32, share: f64, spare_factor: f64) -> Result<RunResult, String> {
    let text = format!(
        "{DRIVE}[[log]]\nshare = {share}\nsegment_size = {}\nspare_factor = {spare_factor}\n\
         [workload]\nkind = \"uniform\"\n{MEASURE}",
        4096 * segment_pages
    );
    try_run(&scenario(&text)).map_err(|error| error.to_string())
}

/// Returns the number after `words` in an error.
fn number_after(error: &str, words: &str) -> f64 {
    let rest = error.split(words).nth(1).unwrap_or_else(|| panic!("{words:?} is not in: {error}"));
    let number: String = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.trim_end_matches('.').parse().unwrap()
}

/// The value that an error recommends works, and anything less does not.
#[test]
fn value_recommended_by_error_is_smallest_that_works() {
    // The drive has 2176 pages; a segment of 900 does not fit into a share of 0.4.
    let error = log_of(900, 0.4, 0.3).unwrap_err();
    assert!(error.starts_with("log[0].segment_size: "), "{error}");
    let share = number_after(&error, "`share` must be at least");
    // Partitions end on whole blocks of 16 pages.
    assert!((share * 2176.0 - 912.0).abs() < 1.0, "{error}");
    assert!(log_of(900, share - 0.001, 0.3).unwrap_err().contains("`share` must be at least"));
    // The share then holds one segment, but cleaning needs several.
    let error = log_of(900, share, 0.3).unwrap_err();
    assert!(error.starts_with("log[0].segment_size: ") && error.contains("at most"), "{error}");
    // Segments of 128 pages: 0.2 of the drive has three segments.
    let error = log_of(128, 0.2, 0.3).unwrap_err();
    let share = number_after(&error, "`share` at least");
    assert!(log_of(128, share - 0.001, 0.9).is_err());
    let error = log_of(128, share, 0.3).unwrap_err();
    assert!(error.starts_with("log[0].spare_factor: "), "{error}");
    let spare = number_after(&error, "at least");
    assert!(log_of(128, share, spare - 0.001).is_err());
    log_of(128, share, spare).unwrap();
}
