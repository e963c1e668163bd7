//! Deduplication in scenarios: what adds up, what is saved, what is refused.

use crate::common::{refusal, root, run_text, scenario, try_run};
use wearwell_engine::layer::DedupReport;
use wearwell_stack::{Performance, RunResult};

const DRIVE: &str =
    "[device]\npreset = \"z_nand\"\nblocks_per_plane = 80\npages_per_block = 16\nspare_factor = 0.1\n";
const LOAD: &str = "[workload]\nkind = \"fiu\"\ntrace = \"web_vm\"\n[content]\npreset = \"web_vm\"\n";
const MEASURE: &str = "[measure]\nwarm_up = 4.0\ndrive_writes = 3.0\n";

fn run_kind(dedup: &str, ftl: &str) -> RunResult {
    run_text(&format!("{DRIVE}[ftl]\ndedup = {dedup}\n{ftl}{LOAD}{MEASURE}"))
}

fn dedup_of(result: &RunResult) -> &DedupReport {
    result.layers.last().unwrap().dedup.as_ref().expect("it deduplicates")
}

#[test]
fn every_kind_adds_up_and_saves_erases() {
    let none = run_text(&format!("{DRIVE}{LOAD}{MEASURE}"));
    assert!(none.layers[0].dedup.is_none());
    for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
        for ftl in ["", "placement = \"references\"\n", "victim = \"cost_benefit\"\nfree_blocks_high = 12\n"]
        {
            let result = run_kind(&format!("\"{kind}\""), ftl);
            let found = dedup_of(&result);
            let layer = &result.layers[0];
            assert_eq!(layer.incoming["write"], result.course.measured_host_pages, "{kind} {ftl}");
            assert_eq!(layer.incoming["write"], found.hits + found.misses, "{kind} {ftl}");
            assert_eq!(layer.outgoing["host"]["write"], found.misses, "{kind} {ftl}");
            assert!(result.nand.erases < none.nand.erases, "{kind} {ftl}");
            assert!(found.sharing_ratio.unwrap() > 1.05, "{kind} {ftl}: {found:?}");
            let on_the_way = matches!(kind, "cagc");
            assert_eq!(found.hits == 0, on_the_way, "{kind} {ftl}: {found:?}");
            assert_eq!(found.merged_pages > 0, on_the_way, "{kind} {ftl}: {found:?}");
            assert_eq!(found.promoted_pages > 0, on_the_way && ftl.contains("references"), "{kind} {ftl}");
            assert_eq!(found.collisions, 0);
        }
    }
}

#[test]
fn the_clock_changes_no_count_of_them_and_hashing_takes_its_time() {
    let counts = |mut result: RunResult| {
        (result.performance, result.timing) = (Performance::default(), None);
        (result.mode, result.scenario.timing) = (String::new(), None);
        result
    };
    for kind in ["inline", "pre_hashed", "cagc"] {
        let text = format!("{DRIVE}[ftl]\ndedup = \"{kind}\"\n{LOAD}{MEASURE}");
        let timed = run_text(&format!("{text}[timing]\nrequests = {{ requests_per_second = 300.0 }}\n"));
        let writes = &timed.timing.as_ref().unwrap().requests["write"];
        assert_eq!(writes.parts_ns["hash_ns"] > 0.0, kind != "cagc", "{kind}");
        if kind == "inline" {
            // Where cleaning takes longer than hashing, hashing is not on the critical way.
            let hash_ns = writes.parts_ns["hash_ns"];
            assert!((13_500.0..14_000.0).contains(&hash_ns), "{hash_ns}");
        }
        assert_eq!(counts(timed), counts(run_text(&text)), "{kind}");
    }
}

#[test]
fn equal_pages_are_found_in_idle_time_too() {
    for dedup in ["\"cagc\"", "{ kind = \"cagc\", map_log = true, index = { verify = true } }"] {
        let text = |ftl: &str| {
            format!(
                "{}[ftl]\ndedup = {dedup}\n{ftl}{LOAD}{MEASURE}[timing]\nrequests = {{ requests_per_second = 5.0 }}\n",
                DRIVE.replace("spare_factor = 0.1", "spare_factor = 0.3")
            )
        };
        let [used, unused] = ["free_blocks_idle = 12\n", ""].map(|ftl| run_text(&text(ftl)));
        let waited =
            |result: &RunResult| result.timing.as_ref().unwrap().requests["write"].parts_ns["cleaning_ns"];
        assert!(dedup_of(&used).merged_pages > 0);
        assert!(waited(&used) < waited(&unused) / 4.0, "{} {}", waited(&used), waited(&unused));
    }
}

#[test]
fn without_duplicates_nothing_is_saved() {
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
fn it_works_below_a_log_and_for_several_tenants() {
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
fn a_trace_with_digests_needs_no_content() {
    let sample = root().join("traces/samples/fiu.blkparse").display().to_string();
    let text = |more: &str| {
        format!(
            "{DRIVE}[ftl]\ndedup = \"inline\"\n[trace]\npath = \"{sample}\"\naddress = \"compact\"\n\
             volume_rule = \"overlay\"\n{more}[measure]\nwarm_up = 0.1\ndrive_writes = 0.1\n"
        )
    };
    let (own, repeated) = (run_text(&text("")), run_text(&text("repeat_contents = true\n")));
    assert!(dedup_of(&repeated).hits > dedup_of(&own).hits, "what was written before is there already");
    let plain = root().join("traces/samples/msr.csv").display().to_string();
    let error = try_run(&scenario(&text("").replace(&sample, &plain))).unwrap_err().to_string();
    assert!(error.contains("fiu"), "{error}");
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let cases: &[(&str, &str, &str)] = &[
        ("[ftl]\ndedup = \"inline\"\n[workload]\nkind = \"uniform\"\n", "content", "is missing"),
        ("[ftl]\ndedup = \"cagc\"\nreclaim = \"in_place\"\n", "ftl.reclaim", "free_pool"),
        ("[ftl]\ndedup = \"cagc\"\nevict = true\n", "ftl.evict", "live pages"),
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
    ];
    for (ftl, key, part) in cases {
        let load = if ftl.contains("[workload]") { "" } else { LOAD };
        let error = refusal(&format!("{DRIVE}{ftl}{load}{MEASURE}"));
        assert!(error.starts_with(key) && error.contains(part), "{error}, expected {key} … {part}");
    }
    let zoned = DRIVE.replace("spare_factor = 0.1\n", "");
    let zones = format!(
        "{zoned}[ftl]\nstructure = \"zones\"\ndedup = \"inline\"\n[[log]]\nsegment_size = \"64 KiB\"\n{LOAD}"
    );
    let error = refusal(&zones);
    assert!(error.contains("dedup"), "{error}");
}
