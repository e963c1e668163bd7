//! Tests of every workload: seeds, batching, bounds, pinned values.

use super::*;
use proptest::prelude::*;
use wearwell_base::request::Op;
use wearwell_base::seed::Seed;

/// Sample configurations: at least one of each kind, together covering all settings.
const SAMPLES: &[(&str, &str)] = &[
    ("uniform", "kind = 'uniform'"),
    (
        "uniform, all sorts of requests",
        "kind = 'uniform'
         request_pages = [{ pages = 1, weight = 0.7 }, { pages = 6, weight = 0.3 }]
         read_ratio = 0.4
         trim_ratio = 0.1
         trim_pages = 5",
    ),
    ("hot_cold", "kind = 'hot_cold'\nhot_writes = 0.8\nhot_space = 0.2"),
    (
        "hot_cold, scattered and hinted",
        "kind = 'hot_cold'
         hot_writes = 0.9
         hot_space = 0.1
         scatter = true
         hint = 'temperature'",
    ),
    ("zipf", "kind = 'zipf'\nexponent = 0.99"),
    (
        "zipf, moved, with trims",
        "kind = 'zipf'
         exponent = 1.2
         shift = 0.5
         trim_ratio = 0.05
         hint = 'temperature'",
    ),
    ("sequential", "kind = 'sequential'"),
    (
        "sequential, with reads",
        "kind = 'sequential'
         start = 3
         stride = 5
         request_pages = 3
         read_ratio = 0.5",
    ),
    (
        "mixed",
        "kind = 'mixed'
         [[parts]]
         weight = 3
         space = 0.5
         workload = { kind = 'sequential', request_pages = 2 }
         [[parts]]
         weight = 1
         space = 0.3
         workload = { kind = 'hot_cold', hot_writes = 0.8, hot_space = 0.2, read_ratio = 0.2, scatter = true }",
    ),
    (
        "phases",
        "kind = 'phases'
         repeat = true
         [[phases]]
         writes = 0.5
         workload = { kind = 'zipf', exponent = 1, read_ratio = 0.3, request_pages = 4 }
         [[phases]]
         writes = 0.25
         workload = { kind = 'uniform' }",
    ),
    ("fiu", "kind = 'fiu'\ntrace = 'web_vm'\nrequest_pages = [{ pages = 1, weight = 3 }, { pages = 8, weight = 1 }]"),
];

fn config(text: &str) -> WorkloadConfig {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Returns the requests of fills with the given sizes, in one common batch or in one batch per fill.
fn requests(
    config: &WorkloadConfig,
    logical_pages: u32,
    fills: &[usize],
    one_batch: bool,
) -> Vec<PageRequest> {
    let mut workload = config.build(logical_pages, Seed(1)).unwrap();
    let mut batch = PageBatch::default();
    let mut requests = Vec::new();
    for &pages in fills {
        let before = batch.pages.len();
        workload.fill(&mut batch, pages);
        assert!(batch.pages.len() >= before + pages);
        if !one_batch {
            requests.extend(requests_of(&batch));
            batch.clear();
        }
    }
    requests.extend(requests_of(&batch));
    requests
}

fn requests_of(batch: &PageBatch) -> Vec<PageRequest> {
    let mut requests = Vec::new();
    for (run, pages) in batch.iter() {
        for request in pages.chunks(run.request_pages.max(1) as usize) {
            assert!(request.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "a request with a hole");
            assert_eq!(request.len(), run.request_pages as usize);
            let (first, pages) = (request[0], run.request_pages);
            requests.push(PageRequest { op: run.op, hint: run.hint, first, pages });
        }
    }
    requests
}

#[test]
fn every_kind_has_sample_that_round_trips() {
    for entry in WORKLOADS {
        assert!(SAMPLES.iter().any(|(_, text)| config(text).name() == entry.name), "{}", entry.name);
        assert!(!entry.help.is_empty() && !entry.source.is_empty());
    }
    for (name, text) in SAMPLES {
        let parsed = config(text);
        assert_eq!(parsed, config(&toml::to_string(&parsed).unwrap()), "{name}");
        assert_eq!(parsed, serde_json::from_str(&serde_json::to_string(&parsed).unwrap()).unwrap(), "{name}");
    }
}

#[test]
fn keys_of_kind_are_listed() {
    let uniform = WORKLOADS.iter().find(|entry| entry.name == "uniform").unwrap();
    let common = [
        "flush_ratio",
        "hint",
        "kind",
        "read_ratio",
        "request_pages",
        "scatter",
        "shift",
        "trim_pages",
        "trim_ratio",
    ];
    assert_eq!(uniform.keys(), common.map(str::to_owned));
}

#[test]
fn schema_describes_every_key() {
    let schema = serde_json::to_value(schemars::schema_for!(WorkloadConfig)).unwrap();
    for kind in schema["oneOf"].as_array().unwrap() {
        for (key, property) in kind["properties"].as_object().unwrap() {
            assert!(key == "kind" || property["description"].is_string(), "{key} has no help");
            assert!(!property.to_string().contains("null"), "{key}: TOML has no null, and neither have we");
        }
    }
}

#[test]
fn requests_stay_inside_smallest_spaces() {
    for (name, text) in SAMPLES {
        for logical_pages in 20..60 {
            for request in requests(&config(text), logical_pages, &[2000], true) {
                assert!(request.pages >= 1, "{name}");
                assert!(request.first.0 + request.pages <= logical_pages, "{name}: {request:?}");
            }
        }
    }
}

#[test]
fn single_page_writes_are_one_run() {
    let mut batch = PageBatch::default();
    let mut workload = config("kind = 'zipf'\nexponent = 1").build(100, Seed(1)).unwrap();
    workload.fill(&mut batch, 0);
    assert!(batch.is_empty());
    workload.fill(&mut batch, 1000);
    workload.fill(&mut batch, 1000);
    assert_eq!(batch.runs, [PageRun { op: Op::Write, hint: 0, end: 2000, request_pages: 1 }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn requests_do_not_depend_on_batch_sizes(fills in prop::collection::vec(0usize..300, 1..30), one_batch: bool) {
        for (name, text) in SAMPLES {
            let config = config(text);
            let filled = requests(&config, 150, &fills, one_batch);
            let whole = requests(&config, 150, &[filled.iter().map(|request| request.pages as usize).sum()], true);
            prop_assert_eq!(&filled, &whole, "{}", name);
        }
    }

    #[test]
    fn fill_of_one_page_adds_one_request(requests in 1usize..400) {
        for (name, text) in SAMPLES {
            let config = config(text);
            let mut workload = config.build(150, Seed(1)).unwrap();
            let mut batch = PageBatch::default();
            let mut single = Vec::new();
            for _ in 0..requests {
                batch.clear();
                workload.fill(&mut batch, 1);
                let found = requests_of(&batch);
                prop_assert_eq!(found.len(), 1, "{}", name);
                single.extend(found);
            }
            let pages = single.iter().map(|request| request.pages as usize).sum();
            prop_assert_eq!(&single, &self::requests(&config, 150, &[pages], true), "{}", name);
        }
    }

    #[test]
    fn equal_seeds_give_equal_streams_and_different_seeds_differ(seed: u64) {
        for (name, text) in SAMPLES {
            let config = config(text);
            let draws = |seed| {
                let mut workload = config.build(1000, Seed(seed)).unwrap();
                let mut batch = PageBatch::default();
                workload.fill(&mut batch, 100);
                (batch.pages, workload.final_draw())
            };
            prop_assert_eq!(draws(seed), draws(seed), "{}", name);
            prop_assert_ne!(draws(seed).1, draws(seed.wrapping_add(1)).1, "{}", name);
        }
    }
}

#[test]
fn read_ratio_does_not_change_addresses() {
    let addresses =
        |text: &str| requests(&config(text), 1000, &[500], true).into_iter().map(|request| request.first);
    assert!(addresses("kind = 'uniform'\nread_ratio = 0.5").eq(addresses("kind = 'uniform'")));
}

#[test]
fn operation_and_length_frequencies_match_config() {
    let text = "kind = 'uniform'\nread_ratio = 0.5\ntrim_ratio = 0.2\ntrim_pages = 3
                request_pages = [{ pages = 1, weight = 6 }, { pages = 4, weight = 2 }]";
    let mut counts = [0; 5];
    for request in requests(&config(text), 12_000, &[300_000], true) {
        let cell = match (request.op, request.pages) {
            (Op::Read, 1) => 0,
            (Op::Read, 4) => 1,
            (Op::Write, 1) => 2,
            (Op::Write, 4) => 3,
            (Op::Trim, 3) => 4,
            other => panic!("{other:?}"),
        };
        counts[cell] += 1;
    }
    statistical_tests::assert_matches_weights(
        &counts,
        &[0.5 * 0.75, 0.5 * 0.25, 0.3 * 0.75, 0.3 * 0.25, 0.2],
    );
    assert!((config(text).written_per_request() - 0.3 * 1.75).abs() < 1e-12);
}

/// Ratios that sum to 1 leave no writes, even if their decimal representations are rounded.
#[test]
fn ratios_that_sum_to_1_leave_no_writes() {
    let ratios = |[read, trim, flush]: [u32; 3]| {
        format!(
            "kind = 'uniform'\nread_ratio = 0.{read:02}\ntrim_ratio = 0.{trim:02}\nflush_ratio = 0.{flush:02}"
        )
    };
    for read in 1..=98 {
        for trim in 1..99 - read {
            let text = ratios([read, trim, 100 - read - trim]);
            assert_eq!(config(&text).written_per_request(), 0.0, "{text}");
            assert!(config(&text).build(1000, Seed(1)).is_ok(), "{text}");
        }
    }
    assert!(config(&ratios([50, 40, 9])).written_per_request() > 0.009);
    assert!(config(&ratios([50, 40, 11])).build(1000, Seed(1)).is_err());
}

/// Checks that a fill of one page may return a flush as its single request, and that flushes do not change the
/// addresses of writes.
#[test]
fn flush_frequency_matches_config_and_flushes_have_no_pages() {
    let mixed = "kind = 'mixed'\nparts = [{ weight = 1, space = 1, workload = { kind = 'uniform', flush_ratio = 0.25 } }]";
    let phases = "kind = 'phases'\nphases = [{ workload = { kind = 'uniform', flush_ratio = 0.25 } }]";
    for text in ["kind = 'uniform'\nflush_ratio = 0.25", mixed, phases] {
        let mut source = config(text).build(1000, Seed(1)).unwrap();
        let mut batch = PageBatch::default();
        let mut counts = [0; 2];
        for _ in 0..20_000 {
            batch.clear();
            source.fill(&mut batch, 1);
            assert_eq!(batch.runs.len(), 1, "{text}");
            match (batch.runs[0].op, batch.pages.len()) {
                (Op::Flush, 0) => counts[0] += 1,
                (Op::Write, 1) => counts[1] += 1,
                other => panic!("{text}: {other:?}"),
            }
        }
        statistical_tests::assert_matches_weights(&counts, &[0.25, 0.75]);
        assert!((config(text).written_per_request() - 0.75).abs() < 1e-12);
    }
    let writes = |text: &str| {
        let all = requests(&config(text), 1000, &[6000], true).into_iter();
        all.filter(|request| request.op == Op::Write)
            .map(|request| request.first)
            .take(5000)
            .collect::<Vec<_>>()
    };
    assert_eq!(writes("kind = 'uniform'\nflush_ratio = 0.3"), writes("kind = 'uniform'"));
}

#[test]
fn hint_is_temperature_class_plus_1() {
    for text in [SAMPLES[3].1, SAMPLES[5].1] {
        let config = config(text);
        let oracle = config.temperature(1000, Seed(1)).unwrap().unwrap();
        let mut hottest = 0;
        let drawn = requests(&config, 1000, &[5000], true);
        for request in &drawn {
            assert_eq!(request.hint, 1 + u16::from(oracle.class_of(request.first)));
            hottest += usize::from(request.hint == 1);
        }
        let pages = (0..1000).filter(|&page| oracle.class_of(wearwell_base::units::Lpn(page)) == 0).count();
        assert!(hottest * 1000 > 3 * pages * drawn.len(), "{hottest} of {}, {pages} pages", drawn.len());
    }
}

#[test]
fn mixture_parts_stay_in_their_page_ranges() {
    let config = config(SAMPLES[8].1);
    let mut counts = [0, 0];
    for request in requests(&config, 1000, &[50_000], true) {
        let is_log = request.first.0 < 500;
        assert!(request.first.0 + request.pages <= if is_log { 500 } else { 800 });
        counts[usize::from(!is_log)] += 1;
    }
    statistical_tests::assert_matches_weights(&counts, &[3.0, 1.0]);
    let oracle = config.temperature(1000, Seed(1)).unwrap().unwrap();
    let classes = [0, 499, 500, 799, 800, 999].map(|page| oracle.class_of(wearwell_base::units::Lpn(page)));
    assert_eq!((oracle.classes(), classes), (2, [0, 0, 1, 1, 1, 1]));
}

#[test]
fn phase_ends_with_the_write_that_completes_it() {
    let text = "kind = 'phases'
                [[phases]]
                writes = 0.5
                workload = { kind = 'sequential', read_ratio = 0.5 }
                [[phases]]
                workload = { kind = 'uniform', request_pages = 2 }";
    let drawn = requests(&config(text), 100, &[100_000], true);
    let first = drawn.iter().position(|request| request.pages == 2).unwrap();
    assert_eq!(drawn[..first].iter().filter(|request| request.op == Op::Write).count(), 50);
    assert_eq!(drawn[first - 1].op, Op::Write);
    assert!(drawn[first..].iter().all(|request| request.pages == 2), "the last phase never ends");
    assert_eq!(config(text).written_per_request(), 2.0);
    // The phases repeat: 50 pages are written at 4 * 0.7 pages per request, and then 25 pages at one page per request.
    let expected = 75.0 / (50.0 / 2.8 + 25.0);
    assert!((config(SAMPLES[9].1).written_per_request() - expected * 1.0).abs() < 1e-12);
}

#[test]
fn phases_share_one_scattering() {
    let text = "kind = 'phases'
                repeat = true
                [[phases]]
                writes = 1
                workload = { kind = 'hot_cold', hot_writes = 1, hot_space = 0.1, scatter = true }
                [[phases]]
                writes = 1
                workload = { kind = 'hot_cold', hot_writes = 1, hot_space = 0.1, scatter = true, shift = 0.5 }";
    let drawn = requests(&config(text), 1000, &[4000], true);
    let touched = |phase: usize| -> std::collections::BTreeSet<u32> {
        drawn[1000 * phase..1000 * (phase + 1)].iter().map(|request| request.first.0).collect()
    };
    assert!(touched(0).union(&touched(2)).count() <= 100, "the hot set stays");
    assert!(touched(0).is_disjoint(&touched(1)), "unless it is shifted");
}

/// Pins the streams of the samples on a million pages: the first pages of four requests, and a hash of 10,000. A
/// change here changes every published result, so it must be intentional.
#[test]
fn streams_equal_pinned_values() {
    let streams: Vec<([u32; 4], u64)> = SAMPLES
        .iter()
        .map(|(_, text)| {
            let drawn = &requests(&config(text), 1_000_000, &[70_000], true)[..10_000];
            let hash = drawn.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, request| {
                let fields = [request.op as u32, u32::from(request.hint), request.first.0, request.pages];
                fields
                    .iter()
                    .fold(hash, |hash, &field| (hash ^ u64::from(field)).wrapping_mul(0x0100_0000_01b3))
            });
            (std::array::from_fn(|index| drawn[index].first.0), hash)
        })
        .collect();
    assert_eq!(streams, PINNED);
}

const PINNED: &[([u32; 4], u64)] = &[
    ([594357, 374379, 646521, 31679], 0x5988_bd6c_9e60_765b),
    ([594357, 374379, 646521, 31679], 0x7c89_1261_4fd0_3880),
    ([148589, 93594, 161630, 7919], 0xfdd7_5e94_84f1_3f37),
    ([790718, 367735, 598000, 556909], 0x4384_e87c_34d9_fc22),
    ([7, 22033, 65843, 1007], 0x11d0_94ef_8901_070b),
    ([500001, 500002, 565843, 501007], 0x2341_ed69_2c53_68ba),
    ([0, 1, 2, 3], 0x3b8b_2bc3_5cf7_12b5),
    ([3, 8, 13, 18], 0x0595_4cc7_506c_4dc4),
    ([0, 2, 4, 6], 0xbf34_8614_18fe_fc5a),
    ([64, 4, 272, 968904], 0xc39a_a437_360b_cfb0),
    ([148589, 93594, 161630, 7919], 0x7b9b_19ad_de9f_3b58),
];
