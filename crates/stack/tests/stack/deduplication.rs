//! Deduplication in scenarios: counts that add up, savings, and refusals.

use crate::common::{error_of, is_hybrid, root, run_text, scenario, try_run, writable_ftls};
use crate::timed::without_wait_warnings;
use wearwell_engine::layer::DedupReport;
use wearwell_stack::{Performance, RunResult};

const DRIVE: &str = "[device]\npreset = \"z_nand\"\nchannels = 1\nways = 1\ndies = 2\nblocks_per_plane = 80\npages_per_block = 16\nspare_factor = 0.1\n";
const LOAD: &str = "[workload]\nkind = \"fiu\"\ntrace = \"web_vm\"\n[content]\npreset = \"web_vm\"\n";
const MEASURE: &str = "[measure]\nwarm_up = 4.0\ndrive_writes = 3.0\n";

fn run_kind(dedup: &str, ftl: &str) -> RunResult {
    run_text(&format!("{DRIVE}[ftl]\ndedup = {dedup}\n{ftl}{LOAD}{MEASURE}"))
}

fn dedup_of(result: &RunResult) -> &DedupReport {
    result.layers.last().unwrap().dedup.as_ref().expect("it deduplicates")
}

#[test]
fn every_dedup_kind_conserves_counts_and_saves_erases() {
    let none = run_text(&format!("{DRIVE}{LOAD}{MEASURE}"));
    assert!(none.layers[0].dedup.is_none());
    for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
        for ftl in ["", "placement = \"references\"\n", "victim = \"cost_benefit\"\nfree_blocks_high = 12\n"]
        {
            let result = run_kind(&format!("\"{kind}\""), ftl);
            let found = dedup_of(&result);
            let layer = &result.layers[0];
            assert_eq!(layer.incoming["write"], result.phases.measured_host_pages, "{kind} {ftl}");
            assert_eq!(layer.incoming["write"], found.hits + found.misses, "{kind} {ftl}");
            assert_eq!(layer.outgoing["host"]["write"], found.misses, "{kind} {ftl}");
            assert!(result.nand.erases < none.nand.erases, "{kind} {ftl}");
            assert!(found.sharing_ratio.unwrap() > 1.05, "{kind} {ftl}: {found:?}");
            let during_cleaning = matches!(kind, "cagc");
            assert_eq!(found.hits == 0, during_cleaning, "{kind} {ftl}: {found:?}");
            assert_eq!(found.merged_pages > 0, during_cleaning, "{kind} {ftl}: {found:?}");
            assert_eq!(
                found.promoted_pages > 0,
                during_cleaning && ftl.contains("references"),
                "{kind} {ftl}"
            );
            assert_eq!(found.collisions, 0);
        }
    }
}

/// The windows divide warm-up and measurement evenly, so all runs have the same length.
#[test]
fn sampled_dedup_depends_on_requests_of_the_fill_and_not_on_windows() {
    let run = |dedup: &str, window: &str, request_pages: u32| {
        run_text(&format!(
            "{DRIVE}[ftl]\ndedup = \"{dedup}\"\n[workload]\nkind = \"uniform\"\n[content]\ndedup_ratio = 0.3\n\
             [precondition]\nrandom_overwrites = 0.5\nrequest_pages = {request_pages}\n{MEASURE}window = {window}\n"
        ))
        .nand
    };
    let windows = ["0.5", "0.25", "0.125"];
    for request_pages in [1, 64] {
        let found = windows.map(|window| run("sampled", window, request_pages));
        assert_eq!(found, [found[0]; 3], "requests of {request_pages} pages");
        // The sample of a one-page request is the page itself.
        assert_eq!(found[0] == run("inline", "0.5", request_pages), request_pages == 1);
    }
}

const ROOMY_DRIVE: &str = "[device]\npreset = \"z_nand\"\nchannels = 1\nways = 1\ndies = 2\nblocks_per_plane = 80\npages_per_block = 16\nspare_factor = 0.3\n";

/// Runs deduplication on an FTL with tables in flash or with merges, with the additional keys `more`.
fn run_on(ftl: &str, dedup: &str, more: &str) -> RunResult {
    run_text(&format!("{ROOMY_DRIVE}[ftl]\nstructure = \"{ftl}\"\n{dedup}{LOAD}{MEASURE}{more}"))
}

#[test]
fn every_dedup_kind_conserves_counts_on_every_ftl() {
    for ftl in writable_ftls().into_iter().filter(|ftl| *ftl != "log") {
        let none = run_on(ftl, "", "");
        for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
            for placement in ["", "placement = \"references\"\n"] {
                if is_hybrid(ftl) && (kind == "cagc" || !placement.is_empty()) {
                    continue;
                }
                let name = format!("{kind} on {ftl} {placement}");
                let result = run_on(ftl, &format!("dedup = \"{kind}\"\n{placement}"), "");
                let (found, layer) = (dedup_of(&result), &result.layers[0]);
                assert_eq!(layer.incoming["write"], result.phases.measured_host_pages, "{name}");
                assert_eq!(layer.incoming["write"], found.hits + found.misses, "{name}");
                assert_eq!(layer.outgoing["host"]["write"], found.misses, "{name}");
                // Slots are reused in any order, which makes an FTL with a block map merge more.
                let has_fewer_programs = result.nand.programs < none.nand.programs;
                assert!(has_fewer_programs || is_hybrid(ftl), "{name}");
                // The drive has so much spare space that cleaning examines few pages.
                let least = if kind == "cagc" { 1.01 } else { 1.05 };
                assert!(found.sharing_ratio.unwrap() > least, "{name}: {found:?}");
                assert_eq!(found.hits == 0, kind == "cagc", "{name}: {found:?}");
                assert_eq!(found.merged_pages > 0, kind == "cagc", "{name}: {found:?}");
                assert_eq!(found.promoted_pages > 0, kind == "cagc" && !placement.is_empty(), "{name}");
                let ram = &layer.ftl.as_ref().unwrap().ram;
                assert!(ram.iter().any(|part| part.name == "map of slots" && part.bytes > 0), "{name}");
            }
        }
    }
}

/// Returns all counts, without the recovery from a cut at the end and without the source of the times.
fn without_times_and_recovery(mut result: RunResult) -> RunResult {
    (result.performance, result.timing) = (Performance::default(), None);
    (result.mode, result.scenario.timing, result.scenario.power) = (String::new(), None, None);
    for ftl in result.layers.iter_mut().filter_map(|layer| layer.ftl.as_mut()) {
        (ftl.recovery, ftl.write_amplification_with_reads, ftl.delta) = (None, None, 0.0);
        ftl.delta_source.clear();
    }
    result.layers.iter_mut().filter(|layer| layer.directory == "page").for_each(|layer| layer.ftl = None);
    without_wait_warnings(result)
}

#[test]
fn timed_mode_and_cut_at_end_change_no_count_on_any_ftl() {
    let clock = "[timing]\nrequests = { requests_per_second = 300.0 }\n";
    for ftl in writable_ftls() {
        for kind in ["inline", "cagc"] {
            if is_hybrid(ftl) && kind == "cagc" {
                continue;
            }
            let dedup =
                format!("dedup = {{ kind = \"{kind}\", map_log = true, map_log_page_records = 64 }}\n");
            let plain = without_times_and_recovery(run_on(ftl, &dedup, ""));
            assert_eq!(
                without_times_and_recovery(run_on(ftl, &dedup, clock)),
                plain,
                "{kind} on {ftl}, with a clock"
            );
            let cut = run_on(ftl, &dedup, "[power]\nat_end = true\n");
            let recovery = cut.layers[0].ftl.as_ref().unwrap().recovery.clone().expect("its power was cut");
            let step = |name: &str| recovery.steps.iter().find(|step| step.name == name);
            assert!(step("log of the map").unwrap().page_reads > 0, "{kind} on {ftl}");
            assert_eq!(step("spare areas of slots").is_none(), ftl == "log", "{kind} on {ftl}");
            assert!(recovery.seconds > 0.0 && recovery.model_seconds.is_none(), "{kind} on {ftl}");
            assert_eq!(without_times_and_recovery(cut), plain, "{kind} on {ftl}, cut at the end");
        }
    }
}

#[test]
fn flushed_data_survives_cuts_during_work() {
    for ftl in writable_ftls() {
        for kind in ["inline", "sampled", "cagc"] {
            if is_hybrid(ftl) && kind == "cagc" {
                continue;
            }
            let dedup =
                format!("dedup = {{ kind = \"{kind}\", map_log = true, map_log_page_records = 64 }}\n");
            let more = "[power]\nrandom = 9\nrecovery_cut_probability = 0.3\n";
            let result = run_on(ftl, &dedup, more);
            let power = result.power.as_ref().expect("its power was cut");
            assert!(power.cuts > 3 && power.pages_verified > power.cuts * 1000, "{kind} on {ftl}: {power:?}");
            let names: Vec<&str> = power.steps.iter().map(|step| step.name.as_str()).collect();
            assert!(names.contains(&"log of the map"), "{names:?}");
            let found = dedup_of(&result);
            // A request interrupted by a power cut is repeated, so some of its pages are written twice.
            assert!(found.hits + found.misses >= result.layers[0].incoming["write"], "{kind} on {ftl}");
        }
    }
}

#[test]
fn timed_mode_does_not_change_power_cuts() {
    let clock = "[timing]\nrequests = { requests_per_second = 300.0 }\n";
    for (ftl, kind) in [("gecko", "cagc"), ("dftl", "inline"), ("fast", "inline"), ("log", "cagc")] {
        let dedup = format!("dedup = {{ kind = \"{kind}\", map_log = true, map_log_page_records = 64 }}\n");
        let cuts = "[power]\nrandom = 5\n";
        let [plain, timed] = ["", clock].map(|clock| run_on(ftl, &dedup, &format!("{cuts}{clock}")));
        let power = |result: &RunResult| {
            let power = result.power.as_ref().expect("its power was cut");
            (power.cuts, power.torn_cuts, power.pages_verified)
        };
        assert!(power(&plain).0 > 0);
        assert_eq!(power(&plain), power(&timed), "{kind} on {ftl}");
        let [plain, timed] =
            [plain, timed].map(|result| without_times_and_recovery(RunResult { power: None, ..result }));
        assert_eq!(plain, timed, "{kind} on {ftl}");
    }
}

#[test]
fn timed_mode_changes_no_count_and_hashing_takes_time() {
    let counts = |mut result: RunResult| {
        (result.performance, result.timing) = (Performance::default(), None);
        (result.mode, result.scenario.timing) = (String::new(), None);
        without_wait_warnings(result)
    };
    for kind in ["inline", "pre_hashed", "cagc"] {
        let text = format!("{DRIVE}[ftl]\ndedup = \"{kind}\"\n{LOAD}{MEASURE}");
        let timed = run_text(&format!(
            "{text}[timing]\ncontroller = \"ideal\"\nrequests = {{ requests_per_second = 300.0 }}\n"
        ));
        let writes = &timed.timing.as_ref().unwrap().requests["write"];
        assert_eq!(writes.parts_ns["hash_ns"] > 0.0, kind != "cagc", "{kind}");
        if kind == "inline" {
            // If cleaning takes longer than hashing, hashing is not on the critical path.
            let hash_ns = writes.parts_ns["hash_ns"];
            assert!((13_500.0..14_000.0).contains(&hash_ns), "{hash_ns}");
        }
        assert_eq!(counts(timed), counts(run_text(&text)), "{kind}");
    }
}

#[test]
fn idle_cleaning_merges_equal_pages() {
    for dedup in ["\"cagc\"", "{ kind = \"cagc\", map_log = true, index = { verify = true } }"] {
        let text = |ftl: &str| {
            format!(
                "{}[ftl]\ndedup = {dedup}\n{ftl}{LOAD}{MEASURE}[timing]\ncontroller = \"ideal\"\nrequests = {{ requests_per_second = 5.0 }}\n",
                DRIVE.replace("spare_factor = 0.1", "spare_factor = 0.3")
            )
        };
        let [with_idle, without_idle] = ["free_blocks_idle = 12\n", ""].map(|ftl| run_text(&text(ftl)));
        let mean_wait_ns =
            |result: &RunResult| result.timing.as_ref().unwrap().requests["write"].parts_ns["cleaning_ns"];
        assert!(dedup_of(&with_idle).merged_pages > 0);
        assert!(
            mean_wait_ns(&with_idle) < mean_wait_ns(&without_idle) / 4.0,
            "{} {}",
            mean_wait_ns(&with_idle),
            mean_wait_ns(&without_idle)
        );
    }
}

#[test]
fn dedup_saves_nothing_without_duplicates() {
    let text = |ftl: &str| {
        format!("{DRIVE}[ftl]\n{ftl}[workload]\nkind = \"uniform\"\n[content]\ndedup_ratio = 0.0\n{MEASURE}")
    };
    let none = run_text(&text(""));
    for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
        let result = run_text(&text(&format!("dedup = \"{kind}\"\n")));
        assert_eq!(
            (result.nand.programs, result.nand.erases),
            (none.nand.programs, none.nand.erases),
            "{kind}"
        );
        assert_eq!(result.wear, none.wear, "{kind}");
    }
}

#[test]
fn deduplication_works_below_a_log_and_for_several_tenants() {
    let stacked = format!(
        "{DRIVE}[ftl]\ndedup = \"cagc\"\nplacement = \"references\"\n[[log]]\nsegment_size = \"128 KiB\"\n\
         spare_factor = 0.2\nmetadata = \"f2fs\"\n{LOAD}{MEASURE}"
    );
    assert!(dedup_of(&run_text(&stacked)).merged_pages > 0);
    let tenants = format!(
        "{DRIVE}[ftl]\ndedup = \"inline\"\n[[tenant]]\nname = \"a\"\nshare = 0.5\n\
         workload = {{ kind = \"uniform\", trim_ratio = 0.05 }}\ncontent = \"mail\"\n\
         [[tenant]]\nname = \"b\"\nshare = 0.5\nworkload = {{ kind = \"zipf\", exponent = 0.9 }}\n\
         content = {{ dedup_ratio = 0.2 }}\n{MEASURE}"
    );
    let result = run_text(&tenants);
    assert!(dedup_of(&result).hits > 0);
    assert_eq!(result.tenants.len(), 2);
}

#[test]
fn trace_with_digests_needs_no_content() {
    let sample = root().join("traces/samples/fiu.blkparse").display().to_string();
    let text = |more: &str| {
        format!(
            "{DRIVE}[ftl]\ndedup = \"inline\"\n[trace]\npath = \"{sample}\"\naddress = \"compact\"\n\
             volume_rule = \"overlay\"\n{more}[measure]\nwarm_up = 0.1\ndrive_writes = 0.1\n"
        )
    };
    let (first, repeated) = (run_text(&text("")), run_text(&text("repeat_contents = true\n")));
    assert!(dedup_of(&repeated).hits > dedup_of(&first).hits, "what was written before is there already");
    let plain = root().join("traces/samples/msr.csv").display().to_string();
    let error = try_run(&scenario(&text("").replace(&sample, &plain))).unwrap_err().to_string();
    assert!(error.contains("fiu"), "{error}");
}

#[test]
fn invalid_dedup_settings_are_refused_by_key() {
    let cases: &[(&str, &str, &str)] = &[
        ("[ftl]\ndedup = \"inline\"\n[workload]\nkind = \"uniform\"\n", "content", "is missing"),
        ("[ftl]\ndedup = \"cagc\"\nreclaim = \"in_place\"\n", "ftl.reclaim", "free_pool"),
        ("[ftl]\ndedup = \"cagc\"\nevict = true\n", "ftl.evict", "live pages"),
        ("[ftl]\ndedup = \"inline\"\nevict = true\n", "ftl.evict", "share one would be lost"),
        (
            "[ftl]\ndedup = { kind = \"pre_hashed\", map_log = true }\nevict = true\n[power]\nat_end = true\n",
            "ftl.evict",
            "log above",
        ),
        ("[ftl]\ndedup = { kind = \"cagc\", threshold = 0 }\n", "ftl.dedup.threshold", "at least 1"),
        (
            "[ftl]\ndedup = { kind = \"cagc\", threshold = 2 }\nplacement = \"references\"\n",
            "ftl.dedup.threshold",
            "1 of the placement",
        ),
        (
            "[ftl]\ndedup = { kind = \"inline\", index = { fingerprint_bits = 65 } }\n",
            "ftl.dedup.index.fingerprint_bits",
            "1 to 64",
        ),
        (
            "[ftl]\nplacement = \"single\"\nreclaim = \"in_place\"\ndirectory = \"block\"\ndedup = \"inline\"\n",
            "ftl.directory",
            "block",
        ),
        ("[[log]]\nsegment_size = \"128 KiB\"\ndedup = \"inline\"\n", "log[0].dedup", "FTL"),
        ("[ftl]\nstructure = \"fast\"\ndedup = \"cagc\"\n", "ftl.dedup", "padding"),
        ("[ftl]\ndedup = \"inline\"\n[power]\nat_end = true\n", "power", "map_log"),
        (
            "[ftl]\ndedup = { kind = \"inline\", map_log = true, index = { fingerprint_bits = 32 } }\n[power]\nrandom = 3\n",
            "power",
            "verify",
        ),
        (
            "[ftl]\nstructure = \"gecko\"\ndedup = { kind = \"cagc\", threshold = 2 }\nplacement = \"references\"\n",
            "ftl.dedup.threshold",
            "1 of the placement",
        ),
    ];
    for (ftl, key, part) in cases {
        let load = if ftl.contains("[workload]") { "" } else { LOAD };
        let error = error_of(&format!("{DRIVE}{ftl}{load}{MEASURE}"));
        assert!(error.starts_with(key) && error.contains(part), "{error}, expected {key} … {part}");
    }
    let zoned = DRIVE.replace("spare_factor = 0.1\n", "");
    let zones = format!(
        "{zoned}[ftl]\nstructure = \"zones\"\ndedup = \"inline\"\n[[log]]\nsegment_size = \"64 KiB\"\n{LOAD}"
    );
    let error = error_of(&zones);
    assert!(error.contains("dedup"), "{error}");
}
