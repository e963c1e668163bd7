//! Tests of contents from digests, of times, and of single requests.

use super::*;
use crate::build::build;
use crate::run::tenants;
use crate::scenario::resolve::ResolvedScenario;
use crate::scenario::{Scenario, TraceConfig};
use std::path::PathBuf;
use wearwell_base::seed::Seed;
use wearwell_engine::layer::ContentId;
use wearwell_trace::Op;
use wearwell_workload::{ArrivalConfig, Arrivals, ContentConfig, WorkloadConfig};

/// A trace in Wearwell's CSV format, with a header that matches the lines.
struct Trace {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

const TIMED: Option<ArrivalTimes> = Some(ArrivalTimes { speed_up: 1.0, arrivals: None });

impl Trace {
    fn new(digests: &str, lines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        let header = format!("time_ns,op,volume,offset_bytes,length_bytes,hint{digests}\n");
        std::fs::write(&path, header + &lines.join("\n") + "\n").unwrap();
        Trace { _folder: folder, path }
    }

    fn replay(&self, settings: &str, needs: &SourceNeeds) -> Result<TraceReplay, SourceError> {
        let config: TraceConfig =
            toml::from_str(&format!("path = '{}'\n{settings}", self.path.display())).unwrap();
        TraceReplay::new(&config, 100, 4096, needs)
    }

    /// Returns the contents of the first `passes` passes.
    fn contents(&self, settings: &str, passes: u64) -> Result<Vec<u64>, String> {
        let needs = SourceNeeds { contents: true, ..SourceNeeds::default() };
        let mut batch = PageBatch::default();
        let mut run = || {
            let mut replay = self.replay(settings, &needs)?;
            while replay.passes() < Some(passes) {
                replay.fill(&mut batch, 1000)?;
                assert_eq!(batch.contents.len(), batch.pages.len());
            }
            Ok(())
        };
        run().map_err(|error: SourceError| error.to_string())?;
        Ok(batch.contents.iter().map(|content| content.0).collect())
    }

    /// Returns page and arrival time of each of the first requests.
    fn arrivals(&self, settings: &str, speed_up: f64, requests: usize) -> Result<Vec<(u32, u64)>, String> {
        let needs =
            SourceNeeds { time: Some(ArrivalTimes { speed_up, arrivals: None }), ..SourceNeeds::default() };
        let mut replay = self.replay(settings, &needs).map_err(|error| error.to_string())?;
        assert_eq!(replay.arrival_ns(), None);
        let mut batch = PageBatch::default();
        let mut found = Vec::new();
        while found.len() < requests {
            batch.clear();
            replay.fill(&mut batch, 1).map_err(|error| error.to_string())?;
            if let Some(page) = batch.pages.first() {
                found.push((page.0, replay.arrival_ns().unwrap()));
            }
        }
        Ok(found)
    }
}

/// Returns a digest of 32 equal digits.
fn digest(digit: char) -> String {
    digit.to_string().repeat(32)
}

fn line(op: char, offset: u64, length: u64, digits: &str) -> String {
    let digests: Vec<String> = digits.chars().map(digest).collect();
    format!("0,{op},0,{offset},{length},0,{}", digests.join("+"))
}

#[test]
fn digests_of_page_size_identify_page_contents() {
    let lines = [
        line('W', 0, 8192, "12"),
        line('R', 0, 4096, "1"),
        line('W', 40_960, 4096, "1"),
        line('W', 4096, 4096, "0"),
        "0,T,0,0,4096,0,".to_owned(),
    ];
    let trace = Trace::new(",digests_4096", &lines.each_ref().map(String::as_str));
    let found = trace.contents("", 1).unwrap();
    let [one, two, read, again, zero, trimmed] = found[..] else { panic!("{found:?}") };
    assert_eq!((read, trimmed), (0, 0));
    assert_eq!(one, again);
    assert!(one != two && one != 0 && zero != 0, "0 is no content's name: {found:?}");
}

#[test]
fn sector_digests_are_combined_and_partial_pages_are_unique() {
    let lines = [
        line('W', 0, 4096, "12345678"),
        line('W', 8192, 4096, "12345678"),
        line('W', 16_384, 4096, "12345687"),
        // The request begins in the middle of a page. It touches three pages and covers one of them, whose content is
        // in the digests from the fifth on.
        line('W', 22_528, 8192, "abcd12345678abcd"),
        line('W', 22_528, 2048, "abcd"),
        line('W', 22_528, 2048, "abcd"),
    ];
    let trace = Trace::new(",digests_512", &lines.each_ref().map(String::as_str));
    let found = trace.contents("", 1).unwrap();
    assert_eq!(found.len(), 8);
    assert_eq!((found[0], found[0]), (found[1], found[4]));
    let unique = [2, 3, 5, 6, 7].map(|at: usize| found[at]);
    let distinct: std::collections::BTreeSet<u64> = unique.into_iter().chain([found[0], 0]).collect();
    assert_eq!(distinct.len(), 7, "{found:?}");
}

#[test]
fn passes_repeat_contents_only_if_configured() {
    let trace = Trace::new(",digests_4096", &[&line('W', 0, 12_288, "121")]);
    let found = trace.contents("", 2).unwrap();
    assert!(found[0] == found[2] && found[3] == found[5] && found[0] != found[3] && found[1] != found[4]);
    let found = trace.contents("repeat_contents = true", 2).unwrap();
    assert_eq!(found[..3], found[3..]);
}

#[test]
fn missing_digests_are_refused_or_unique() {
    let good = line('W', 0, 4096, "1");
    let cases = [
        (",digests_4096", line('W', 0, 4096, ""), "request 2 has no digest, and"),
        (
            ",digests_4096",
            line('W', 0, 8192, "1"),
            "request 2 has 1 digests where its length asks for 2, and",
        ),
    ];
    for (header, bad, message) in cases {
        let trace = Trace::new(header, &[&good, &bad]);
        let error = trace.contents("", 1).unwrap_err();
        assert!(error.contains(message) && error.contains("trace.csv: "), "{error}");
        assert!(error.contains("`trace.missing_digests` = \"unique\""), "{error}");
        let found = trace.contents("missing_digests = 'unique'", 1).unwrap();
        assert!(found.len() >= 2 && !found[1..].contains(&found[0]) && !found.contains(&0));
    }
    let trace = Trace::new(",digests_8192", &[&line('W', 0, 8192, "1")]);
    assert!(
        trace.contents("", 1).unwrap_err().contains("has a digest for each 8192 bytes, which do not divide")
    );
    let trace = Trace::new("", &["0,W,0,0,8192,0", "1,W,0,0,4096,0"]);
    let error = trace.contents("", 1).unwrap_err();
    assert!(
        error.contains("the format wearwell-csv carries no digests") && error.contains("fiu, fiu-homes"),
        "{error}"
    );
    let found = trace.contents("missing_digests = 'unique'", 1).unwrap();
    assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
}

#[test]
fn contents_follow_address_mapping() {
    // Pages 0 to 3 of a trace of 200 pages, whose length is due to one distant page, on a drive of 100 pages.
    let lines = [line('W', 0, 16_384, "1234"), line('W', 199 * 4096, 4096, "5")];
    let trace = Trace::new(",digests_4096", &lines.each_ref().map(String::as_str));
    let direct = Trace::new(",digests_4096", &[&lines[0]]).contents("", 1).unwrap();
    assert_eq!(trace.contents("address = 'scale'", 1).unwrap()[..2], [direct[1], direct[3]]);
    assert_eq!(trace.contents("address = 'compact'", 1).unwrap()[..4], direct[..]);
    assert_eq!(trace.contents("address = 'wrap'", 1).unwrap()[..4], direct[..]);
}

#[test]
fn source_provides_only_needed_information() {
    let trace = Trace::new("", &["5,W,0,0,4096,0", "3,W,0,4096,4096,0"]);
    let mut replay = trace.replay("", &SourceNeeds::default()).unwrap();
    let mut batch = PageBatch::default();
    replay.fill(&mut batch, 2).unwrap();
    assert_eq!((batch.pages.len(), batch.contents.len(), replay.arrival_ns()), (2, 0, None));
}

#[test]
fn request_without_pages_is_one_request() {
    let lines =
        ["0,F,0,0,0,0", "1,T,0,0,512,0", "2,W,0,0,8192,0", "3,F,0,0,0,0", "4,F,0,0,0,0", "5,R,0,0,512,0"];
    let trace = Trace::new("", &lines);
    let mut replay = trace.replay("", &SourceNeeds { time: TIMED, ..SourceNeeds::default() }).unwrap();
    let mut found = Vec::new();
    while replay.passes() == Some(0) {
        let mut batch = PageBatch::default();
        replay.fill(&mut batch, 1).unwrap();
        found.extend(batch.runs.iter().map(|run| (run.op, replay.arrival_ns().unwrap())));
    }
    assert_eq!(found, [(Op::Flush, 0), (Op::Write, 2), (Op::Flush, 3), (Op::Flush, 4), (Op::Read, 5)]);
}

#[test]
fn arrival_times_begin_at_0_and_continue_across_passes() {
    let trace = Trace::new("", &["1000,W,0,0,1,0", "1400,W,0,4096,1,0", "3000,W,0,8192,1,0"]);
    let found = trace.arrivals("", 1.0, 7).unwrap();
    assert_eq!(found, [(0, 0), (1, 400), (2, 2000), (0, 3000), (1, 3400), (2, 5000), (0, 6000)]);
    let faster: Vec<_> = found.iter().map(|&(page, ns)| (page, ns / 2)).collect();
    assert_eq!(trace.arrivals("", 2.0, 7).unwrap(), faster);
    let single = Trace::new("", &["7,W,0,0,1,0"]);
    assert_eq!(single.arrivals("", 1.0, 2).unwrap(), [(0, 0), (0, 0)]);
}

#[test]
fn decreasing_times_are_refused_clamped_or_sorted() {
    let trace = Trace::new("", &["10,W,0,0,1,0", "40,W,0,4096,1,0", "20,W,0,8192,1,0", "50,W,0,0,1,0"]);
    let error = trace.arrivals("", 1.0, 4).unwrap_err();
    assert!(
        error.contains("trace.csv: request 3 arrives at 20 ns, before the one in front of it at 40 ns"),
        "{error}"
    );
    assert!(error.contains("`trace.decreasing_times`: clamp") && error.contains("or sort"), "{error}");
    let clamped = trace.arrivals("decreasing_times = 'clamp'", 1.0, 5).unwrap();
    assert_eq!(clamped, [(0, 0), (1, 30), (2, 30), (0, 40), (0, 53)]);
    let sorted = trace.arrivals("decreasing_times = 'sort'", 1.0, 5).unwrap();
    assert_eq!(sorted, [(0, 0), (2, 10), (1, 30), (0, 40), (0, 53)]);
}

#[test]
fn sort_handles_requests_late_by_at_most_its_window() {
    let arrivals_with_delay = |requests: usize| {
        let mut lines: Vec<String> =
            (0..9000).map(|at| format!("{},W,0,{},1,0", 10 * at + 10, at % 100 * 4096)).collect();
        lines.insert(100 + requests, "1005,R,0,0,1,0".to_owned());
        Trace::new("", &lines.iter().map(String::as_str).collect::<Vec<_>>()).arrivals(
            "decreasing_times = 'sort'",
            1.0,
            9002,
        )
    };
    let sorted = arrivals_with_delay(clock::SORT_WINDOW).unwrap();
    assert_eq!(sorted[100], (0, 995));
    assert!(sorted.is_sorted_by_key(|&(_, ns)| ns));
    let error = arrivals_with_delay(2 * clock::SORT_WINDOW).unwrap_err();
    assert!(error.contains("request 8293 arrives at 1005 ns") && error.contains("4096 requests"), "{error}");
}

#[test]
fn workload_times_and_contents_do_not_depend_on_batch_sizes() {
    let source = || -> Box<dyn Source> {
        let text = "kind = 'fiu'\ntrace = 'homes'";
        let workload = toml::from_str::<WorkloadConfig>(text).unwrap().build(1000, Seed(1)).unwrap();
        let contents = ContentConfig::preset("homes").unwrap().build(1000, Seed(1)).unwrap();
        let arrivals = ArrivalConfig { requests_per_second: 1000.0, spacing: Default::default() };
        let arrivals = Arrivals::new(&arrivals, Seed(1)).unwrap();
        Box::new(TimedSource::new(Box::new(ContentSource::new(Box::new(workload), contents)), arrivals))
    };
    let run = |fills: &[usize]| {
        let mut source = source();
        let mut batch = PageBatch::default();
        fills.iter().for_each(|&pages| source.fill(&mut batch, pages).unwrap());
        (batch.pages, batch.contents, source.arrival_ns(), source.final_draw())
    };
    let single = run(&[1; 300]);
    assert_eq!(single.2, Some(299_000_000), "a request each");
    assert_eq!(single, run(&[single.0.len()]));
    assert_eq!(single.0.len(), single.1.len());
    let mut source = source();
    let mut fill = PageBatch::default();
    fill.push_request(Op::Write, 0, wearwell_base::units::Lpn(0), 1000);
    source.add_contents(&mut fill);
    assert!(fill.contents.len() == 1000 && !fill.contents.contains(&ContentId::UNKNOWN));
}

/// Returns the scenario with every default filled in, or the error.
fn resolve(settings: &str) -> Result<Scenario, String> {
    let device = "device = { blocks_per_plane = 40, pages_per_block = 8, spare_factor = 0.25 }\n";
    let scenario = toml::from_str(&format!("{device}{settings}")).map_err(|error| error.to_string())?;
    let resolved = ResolvedScenario::of(scenario).map_err(|error| error.to_string())?;
    resolved.check_workloads().map_err(|error| error.to_string())?;
    Ok(resolved.scenario)
}

#[test]
fn resolved_scenario_contains_settings_of_its_presets() {
    let resolved = resolve("content = 'mail'\nworkload = { kind = 'fiu', trace = 'mail' }").unwrap();
    let text = toml::to_string(&resolved).unwrap();
    for shown in ["preset = \"mail\"", "dedup_ratio = 0.893", "read_ratio = 0.302", "hot_space = 0.2"] {
        assert!(text.contains(shown), "{text}");
    }
    assert_eq!(toml::from_str::<Scenario>(&text).unwrap(), resolved);
}

#[test]
fn impossible_content_settings_are_refused_by_key() {
    let workload = "workload = { kind = 'uniform' }";
    let cases = [
        (
            format!("content = {{ dedup_ratio = 2 }}\n{workload}"),
            "content.dedup_ratio: is 2; it must lie from 0",
        ),
        (
            format!("tenant = [{{ {workload}, content = {{ dedup_ratio = 0.5, exponent = 0 }} }}]"),
            "tenant[0].content.exponent: is 0; it must be",
        ),
        (
            format!("content = 'mail'\ntenant = [{{ {workload} }}]"),
            "content: stands beside `tenant`; put it into a tenant of its own",
        ),
    ];
    for (text, message) in cases {
        let found = resolve(&text).unwrap_err();
        assert!(found.starts_with(message), "{text}\n{found}");
    }
    assert!(
        resolve(&format!("content = 'web'\n{workload}")).unwrap_err().contains("one of homes, web_vm, mail")
    );
}

#[test]
fn tenant_sources_provide_needed_information() {
    let scenario = resolve(
        "tenant = [{ share = 0.5, workload = { kind = 'uniform' }, content = { dedup_ratio = 0.5 } },
                   { share = 0.5, workload = { kind = 'uniform' } }]",
    )
    .unwrap();
    let arrivals = ArrivalConfig { requests_per_second: 1e9, spacing: Default::default() };
    let time = Some(ArrivalTimes { speed_up: 1.0, arrivals: Some(arrivals) });
    let run = |needs: &SourceNeeds| {
        let stack = build::<()>(&mut scenario.clone()).unwrap();
        let mut tenants = tenants::build(&scenario, &stack, None, needs).unwrap();
        let batches = tenants.iter_mut().map(|tenant| {
            let mut batch = PageBatch::default();
            tenant.source.fill(&mut batch, 10).unwrap();
            (batch.pages, batch.contents.len(), tenant.source.arrival_ns())
        });
        batches.collect::<Vec<_>>()
    };
    let (plain, all) =
        (run(&SourceNeeds::default()), run(&SourceNeeds { contents: true, time, ..SourceNeeds::default() }));
    assert!(plain.iter().zip(&all).all(|(plain, all)| plain.0 == all.0), "what is written stays the same");
    assert_eq!(
        all.iter().map(|(_, contents, ns)| (*contents, *ns)).collect::<Vec<_>>(),
        [(10, Some(9)), (0, Some(9))]
    );
    assert!(plain.iter().all(|(_, contents, ns)| (*contents, *ns) == (0, None)));
}
