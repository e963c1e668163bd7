//! Tests of each placement on hand-made sequences, and of all placements on random input.

use super::*;
use crate::foresight::{FutureOperations, HostOp};
use crate::named_config_tests::NamedConfig;
use crate::seed::{Random, Seed, random_below};
use serde_json::{Value, json};

const PAGES: u32 = 4096;

/// Temperature in which every fifth page is hot.
struct EveryFifth;

impl Temperature for EveryFifth {
    fn classes(&self) -> u8 {
        2
    }
    fn class_of(&self, page: Lpn) -> u8 {
        u8::from(!page.0.is_multiple_of(5))
    }
}

pub(super) fn try_build(value: Value, logical_pages: u32) -> Result<Box<dyn Placement>, ConfigError> {
    let config: PlacementConfig = serde_json::from_value(value).unwrap();
    let size = StoreSize { blocks: 200, pages_per_block: 32, logical_pages, seed: Seed(5) };
    let (temperature, foresight) = (Some(Box::new(EveryFifth) as Box<_>), Some(Foresight::none()));
    config.build_boxed(PlacementContext { size: &size, temperature, foresight })
}

pub(super) fn build(value: Value) -> Box<dyn Placement> {
    try_build(value, PAGES).unwrap()
}

pub(super) fn host(page: u32, now: u64) -> PageContext {
    PageContext { page: Lpn(page), cause: Cause::Host, now, from: None, hint: 0, references: 1 }
}

pub(super) fn cleaned(page: u32, now: u64, from: u8) -> PageContext {
    PageContext { cause: Cause::Cleaning, from: Some(StreamId(from)), ..host(page, now) }
}

/// Returns a page of the hot/cold workload: 80 % of the writes go to the hot fifth of the pages.
fn draw(random: &mut Random) -> u32 {
    let fifth = random_below(random, u64::from(PAGES / 5)) as u32;
    if random_below(random, 10) < 8 { 5 * fifth } else { 5 * fifth + 1 + random_below(random, 4) as u32 }
}

#[test]
fn config_matches_its_table() {
    let entry_of = PlacementConfig::entry;
    NamedConfig { tag: "kind", entries: PLACEMENTS, aliases: PLACEMENT_ALIASES, entry_of }.check();
    let aliases = [
        ("fdp", "host_hint"),
        ("sepbit", "age_classes"),
        ("dac", "promotion"),
        ("fadac", "fading_average"),
        ("warcip", "interval_clusters"),
        ("sfr", "chunk_frequency"),
        ("mq", "multi_queue"),
        ("eti", "extents"),
        ("ml", "multi_log"),
        ("midas", "age_chain"),
        ("fk", "future_knowledge"),
    ];
    assert!(aliases.iter().all(|kept| PLACEMENT_ALIASES.contains(kept)));
}

#[test]
fn frontier_types_agree_with_the_boxed_placements() {
    let mut compared = 0;
    for entry in PLACEMENTS {
        let config: PlacementConfig = serde_json::from_value(json!(entry.name)).unwrap();
        let Some(frontiers) = config.frontiers() else { continue };
        let boxed = build(json!(entry.name));
        let of = |placement: &dyn Placement| {
            (placement.streams(), placement.host_stream(), placement.cleaning_stream())
        };
        assert_eq!(of(&frontiers), of(&*boxed), "{}", entry.name);
        assert!(frontiers.host_stream().is_some() && frontiers.cleaning_stream().is_some());
        compared += 1;
    }
    assert_eq!(compared, 2, "single and double");
}

#[test]
fn constant_streams_are_those_of_every_page() {
    let mut constant = 0;
    for value in variants() {
        let mut placement = build(value.clone());
        let (host_stream, cleaning_stream) = (placement.host_stream(), placement.cleaning_stream());
        constant += u32::from(host_stream.is_some());
        for now in 0..500 {
            let page = (7 * now % u64::from(PAGES)) as u32;
            let placed = placement.place(&host(page, now));
            assert!(host_stream.is_none_or(|stream| stream == placed), "{value}");
            let placed = placement.place(&cleaned(page, now, 0));
            assert!(cleaning_stream.is_none_or(|stream| stream == placed), "{value}");
        }
    }
    assert!(constant >= 3, "single, double and references");
}

/// Returns the defaults of every placement, and settings that change the number of streams.
fn variants() -> Vec<Value> {
    let defaults = PLACEMENTS.iter().map(|entry| json!(entry.name));
    let others = [
        json!({"kind": "oracle", "separate_cleaning": true}),
        json!({"kind": "write_count", "thresholds": [1, 2, 3, 9, 255], "counter_bits": 8, "separate_cleaning": true}),
        json!({"kind": "bloom", "filters": 1, "bits_per_page": 0.001, "hashes": 8, "threshold": 2.0}),
        json!({"kind": "host_hint", "streams": 1}),
        json!({"kind": "host_hint", "streams": 254, "cleaned": "apart", "excess_hints": "last"}),
        json!({"kind": "age_classes", "averaged_blocks": 1, "age_bounds": []}),
        json!({"kind": "references", "threshold": 3, "separate_cleaned": true}),
        json!({"kind": "promotion", "classes": 255}),
        json!({"kind": "fading_average", "classes": 3, "base": 1.5}),
        json!({"kind": "interval_clusters", "clusters": 3, "adjust_blocks": 1}),
        json!({"kind": "chunk_frequency", "classes": 1, "chunk_pages": 3, "half_life_pages": 1}),
        json!({"kind": "multi_queue", "queues": 2, "chunk_pages": 7}),
        json!({"kind": "extents", "extents": 1, "threshold": 1, "decay_runs": 1}),
        json!({"kind": "multi_log", "logs": 254}),
        json!({"kind": "age_chain", "groups": 3, "epoch_drive_writes": 0.1}),
        json!({"kind": "age_chain", "groups": 30}),
        json!({"kind": "learnt_lifetimes", "classes": 1}),
        json!({"kind": "learnt_lifetimes", "classes": 40, "epoch_drive_writes": 1e-9, "memory": 0.0}),
        json!({"kind": "age_classes", "averaged_blocks": 2, "age_bounds": [0.1, 1.0, 2.0, 5.0]}),
        json!({"kind": "future_knowledge", "streams": 2}),
        json!({"kind": "death_windows", "streams": 255, "window_pages": 1}),
        json!({"kind": "predicted_windows", "streams": 20, "window_pages": 100, "error": 3.0}),
    ];
    defaults.chain(others).collect()
}

/// Returns the streams that a placement assigns in a long random sequence of calls.
fn random_run(placement: &mut dyn Placement, steps: u32) -> Vec<StreamId> {
    let mut random = Seed(9).random();
    let (streams, mut now, mut assigned) = (placement.streams(), 0, Vec::new());
    for _ in 0..steps {
        let page = random_below(&mut random, u64::from(PAGES)) as u32;
        let from = StreamId(random_below(&mut random, u64::from(streams)) as u8);
        let hint = random_below(&mut random, 1 << 16) as u16;
        let kind = random_below(&mut random, 20);
        match kind {
            0 => placement.trimmed(Lpn(page)),
            1 => placement.reclaimed(from, now - now.min(3000), now, 7),
            2..8 => assigned.push(placement.place(&PageContext { hint, ..cleaned(page, now, from.0) })),
            8 => assigned
                .push(placement.place(&PageContext { cause: Cause::WearLevelling, ..host(page, now) })),
            _ => {
                assigned.push(placement.place(&PageContext { hint, ..host(page, now) }));
                now += 1;
            }
        }
        if kind == 9 && random_below(&mut random, 1000) == 0 {
            now += 1 << 33; // far beyond any table of 32-bit times
        }
    }
    assigned
}

#[test]
fn streams_are_in_range_and_reproducible_on_random_input() {
    for value in variants() {
        let mut placement = build(value.clone());
        let assigned = random_run(&mut *placement, 60_000);
        assert!(assigned.iter().all(|stream| stream.0 < placement.streams()), "{value}");
        assert_eq!(assigned, random_run(&mut *build(value.clone()), 60_000), "{value}");
        if let Some(cleaning) = placement.cleaning_stream() {
            assert!(cleaning.0 < placement.streams(), "{value}");
        }
    }
}

#[test]
fn oracle_gives_each_class_its_stream() {
    let mut shared = build(json!("oracle"));
    let mut separate = build(json!({"kind": "oracle", "separate_cleaning": true}));
    assert_eq!((shared.streams(), separate.streams()), (2, 4));
    for (page, class) in [(0, 0), (1, 1), (5, 0), (4094, 1)] {
        assert_eq!(shared.place(&host(page, 0)), StreamId(class));
        assert_eq!(shared.place(&cleaned(page, 0, 1)), StreamId(class));
        assert_eq!(separate.place(&host(page, 0)), StreamId(class));
        assert_eq!(separate.place(&cleaned(page, 0, 1)), StreamId(class + 2));
    }
    assert_eq!(shared.memory_bytes(), 0);
}

#[test]
fn oracle_refuses_a_workload_without_temperatures() {
    let size = StoreSize { blocks: 10, pages_per_block: 4, logical_pages: 30, seed: Seed(1) };
    let config: PlacementConfig = serde_json::from_value(json!("oracle")).unwrap();
    let error = config.build_boxed(PlacementContext { size: &size, temperature: None, foresight: None });
    let error = error.err().unwrap();
    assert!(error.to_string().starts_with("kind: oracle needs a workload"), "{error}");
}

#[test]
fn placements_with_foresight_are_refused_without_known_writes() {
    let size = StoreSize { blocks: 10, pages_per_block: 4, logical_pages: 30, seed: Seed(1) };
    for name in ["future_knowledge", "death_windows", "predicted_windows"] {
        let config: PlacementConfig = serde_json::from_value(json!(name)).unwrap();
        let context = PlacementContext { size: &size, temperature: None, foresight: None };
        let error = config.build_boxed(context).err().unwrap().to_string();
        assert!(error.starts_with(&format!("kind: {name} needs a workload")), "{error}");
    }
}

#[test]
fn write_counts_rise_saturate_and_are_halved() {
    let value =
        json!({"kind": "write_count", "thresholds": [2, 3], "counter_bits": 2, "decay_drive_writes": 10.0});
    let mut placement = try_build(value, 1).unwrap();
    let mut classes =
        |writes: usize| -> Vec<u8> { (0..writes).map(|at| placement.place(&host(0, at as u64)).0).collect() };
    // Counts 1, 2, 3 and then always 3; classes from coldest to hottest are 2, 1, 0.
    assert_eq!(classes(10), [2, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    // The count is halved to 1 and then incremented.
    assert_eq!(classes(2), [1, 0]);
    placement.trimmed(Lpn(0));
    assert_eq!(placement.place(&cleaned(0, 12, 0)), StreamId(2));
    assert_eq!(placement.place(&host(0, 12)), StreamId(2));
    assert_eq!(build(json!("write_count")).memory_bytes(), PAGES as usize / 2);
}

#[test]
fn bloom_filters_weigh_recent_writes_more_and_forget() {
    // The filters have weights 2, 1.5, 1 and 0.5; filter 0 is the newest at first, and a period is 100 writes.
    let mut placement =
        try_build(json!({"kind": "bloom", "decay_drive_writes": 1.0, "bits_per_page": 64.0}), 100).unwrap();
    let classes: Vec<u8> = (0..5).map(|at| placement.place(&host(7, at)).0).collect();
    // Filters 0, 1, 2, 3 in turn: weights 2, 2.5, 3.5, 5 (filter 1 counts as cleared longest ago).
    assert_eq!(classes, [1, 1, 1, 0, 0]);
    assert_eq!(placement.place(&cleaned(7, 5, 0)), StreamId(0));
    assert_eq!(placement.place(&cleaned(8, 5, 0)), StreamId(1));
    // One of page 7's four entries is cleared each period; after the first, the rest weighs less than 4.
    for at in 5..101 {
        placement.place(&host(8, at));
    }
    assert_eq!(placement.place(&cleaned(7, 101, 0)), StreamId(1));
    assert_eq!(build(json!("bloom")).memory_bytes(), PAGES as usize);
}

/// Returns the mean of two fractions: hot host writes in the hot stream, and cold ones in the cold stream. Measured
/// over the last of three drive writes after a warm-up; Random placement gives 0.5.
fn separation(value: Value) -> f64 {
    let mut placement = build(value);
    let mut random = Seed(21).random();
    let (mut correct, mut total) = ([0.0; 2], [0.0; 2]);
    for now in 0..u64::from(9 * PAGES) {
        let page = draw(&mut random);
        let class = EveryFifth.class_of(Lpn(page));
        let stream = placement.place(&host(page, now));
        if now >= u64::from(6 * PAGES) {
            total[usize::from(class)] += 1.0;
            correct[usize::from(class)] += f64::from(u8::from(stream.0 == class));
        }
    }
    (correct[0] / total[0] + correct[1] / total[1]) / 2.0
}

#[test]
fn detectors_separate_hot_from_cold_well_above_chance() {
    for kind in ["write_count", "bloom"] {
        let separation = separation(json!(kind));
        println!("{kind}: {separation:.3}");
        assert!(separation > 0.85, "{kind}: {separation}");
    }
}

#[test]
fn hints_select_streams_and_large_hints_follow_the_rule() {
    let streams = |value: Value, hints: &[u16]| -> Vec<u8> {
        let mut placement = build(value);
        hints.iter().map(|&hint| placement.place(&PageContext { hint, ..host(0, 0) }).0).collect()
    };
    let hints = [0, 1, 3, 4, 5, 65535];
    assert_eq!(streams(json!("host_hint"), &hints), [0, 1, 3, 0, 1, 3]);
    assert_eq!(streams(json!({"kind": "host_hint", "excess_hints": "last"}), &hints), [0, 1, 3, 3, 3, 3]);
}

#[test]
fn pages_cleaned_from_hinted_streams_stay_or_are_separated() {
    let mut keep = build(json!("host_hint"));
    assert!(keep.needs_block_history() && keep.cleaning_stream().is_none());
    assert_eq!(keep.place(&cleaned(0, 0, 3)), StreamId(3));
    let mut separate = build(json!({"kind": "host_hint", "cleaned": "apart"}));
    assert!(!separate.needs_block_history());
    assert_eq!((separate.streams(), separate.cleaning_stream()), (5, Some(StreamId(4))));
    assert_eq!(separate.place(&cleaned(0, 0, 3)), StreamId(4));
}

#[test]
fn age_classes_follow_the_paper_on_a_hand_made_history() {
    let mut placement = build(json!("sepbit"));
    assert_eq!(placement.streams(), 6);
    // New pages are of class 2 (stream 1); with an infinite threshold every overwrite is of class 1.
    assert_eq!(placement.place(&host(1, 0)), StreamId(1));
    assert_eq!(placement.place(&host(2, 1)), StreamId(1));
    assert_eq!(placement.place(&host(1, 1000)), StreamId(0));
    assert_eq!(placement.place(&cleaned(2, 1000, 1)), StreamId(3));
    // 16 blocks of class 1 lived for 50 to 200 pages, which gives a threshold of 125. Blocks of other classes do not
    // count.
    for block in 0..16 {
        placement.reclaimed(StreamId(0), 2000 - 50 - 10 * block, 2000, 0);
        placement.reclaimed(StreamId(1), 0, 2000, 0);
    }
    for (page, age, class) in [(10, 124, 1), (11, 125, 2), (12, 0, 1)] {
        placement.place(&host(page, 3000));
        assert_eq!(placement.place(&host(page, 3000 + age)), StreamId(class - 1), "age {age}");
    }
    placement.place(&host(20, 5000));
    for (age, class) in [(0, 4), (499, 4), (500, 5), (1999, 5), (2000, 6), (100_000, 6)] {
        assert_eq!(placement.place(&cleaned(20, 5000 + age, 1)), StreamId(class - 1), "age {age}");
        assert_eq!(placement.place(&cleaned(20, 5000 + age, 5)), StreamId(class - 1), "age {age}");
        assert_eq!(placement.place(&cleaned(20, 5000 + age, 0)), StreamId(2), "cleaned from class 1");
    }
    // After a trim, page 20 is new again.
    placement.trimmed(Lpn(20));
    assert_eq!(placement.place(&host(20, 5001)), StreamId(1));
    assert_eq!(placement.memory_bytes(), 4 * PAGES as usize);
}

#[test]
fn ages_survive_the_wraparound_of_32_bit_times() {
    let mut placement = build(json!("age_classes"));
    (0..16).for_each(|_| placement.reclaimed(StreamId(0), 0, 100, 0));
    for round in [u64::from(u32::MAX) - 60, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40] {
        placement.place(&host(3, round));
        assert_eq!(placement.place(&host(3, round + 99)), StreamId(0), "at {round}");
        assert_eq!(placement.place(&host(3, round + 99 + 100)), StreamId(1), "at {round}");
    }
}

#[test]
fn settings_that_do_not_fit_are_refused_by_key() {
    let cases = [
        (json!({"kind": "write_count", "counter_bits": 9}), "counter_bits"),
        (json!({"kind": "write_count", "thresholds": []}), "thresholds"),
        (json!({"kind": "write_count", "thresholds": [3, 3]}), "thresholds"),
        (json!({"kind": "write_count", "thresholds": [16]}), "thresholds"),
        (json!({"kind": "write_count", "decay_drive_writes": 0.0}), "decay_drive_writes"),
        (json!({"kind": "bloom", "filters": 0}), "filters"),
        (json!({"kind": "bloom", "hashes": 9}), "hashes"),
        (json!({"kind": "bloom", "bits_per_page": 0.0}), "bits_per_page"),
        (json!({"kind": "bloom", "threshold": 5.5}), "threshold"),
        (json!({"kind": "host_hint", "streams": 0}), "streams"),
        (json!({"kind": "host_hint", "streams": 255, "cleaned": "apart"}), "streams"),
        (json!({"kind": "future_knowledge", "streams": 1}), "streams"),
        (json!({"kind": "death_windows", "streams": 1}), "streams"),
        (json!({"kind": "death_windows", "window_pages": 0}), "window_pages"),
        (json!({"kind": "death_windows", "look_ahead": -1.0}), "look_ahead"),
        (json!({"kind": "predicted_windows", "error": -0.1}), "error"),
        (json!({"kind": "predicted_windows", "look_ahead": 0.0}), "look_ahead"),
        (json!({"kind": "age_classes", "averaged_blocks": 0}), "averaged_blocks"),
        (json!({"kind": "age_classes", "age_bounds": [4.0, 1.0]}), "age_bounds"),
    ];
    for (value, key) in cases {
        let error = try_build(value.clone(), PAGES).err().unwrap_or_else(|| panic!("{value} is not refused"));
        assert_eq!(error.key, key, "{value}");
    }
}

#[test]
fn pages_with_more_references_than_the_threshold_are_cold() {
    let streams = |value: Value| {
        let mut placement = build(value);
        let moved = |references| PageContext { references, ..cleaned(1, 0, 0) };
        let first = placement.place(&PageContext { references: 9, ..host(1, 0) }).0;
        let assigned: Vec<u8> = [1, 2, 3, 4].map(|count| placement.place(&moved(count)).0).into();
        (placement.streams(), first, assigned)
    };
    assert_eq!(streams(json!("references")), (2, 0, vec![0, 1, 1, 1]));
    assert_eq!(streams(json!({"kind": "references", "threshold": 2})), (2, 0, vec![0, 0, 1, 1]));
    let apart = json!({"kind": "references", "threshold": 3, "separate_cleaned": true});
    assert_eq!(streams(apart), (3, 0, vec![2, 2, 2, 1]));
    let refused = try_build(json!({"kind": "references", "threshold": 0}), PAGES);
    assert_eq!(refused.err().unwrap().key, "threshold");
}

/// A host that writes the given pages.
struct Writes(std::vec::IntoIter<u32>);

impl FutureOperations for Writes {
    fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool {
        self.0.next().map(|page| sink(HostOp::Write(Lpn(page)))).is_some()
    }
}

/// Builds the placement on 10 blocks of 4 pages, of which 20 hold data, with these future writes.
fn build_with_future(value: Value, writes: &[u32]) -> Box<dyn Placement> {
    let size = StoreSize { blocks: 10, pages_per_block: 4, logical_pages: 20, seed: Seed(5) };
    let config: PlacementConfig = serde_json::from_value(value).unwrap();
    let look_ahead_pages = config.look_ahead_pages(&size).expect("it sees ahead");
    let foresight =
        Foresight::new(Box::new(Writes(Vec::from(writes).into_iter())), size.logical_pages, look_ahead_pages);
    config
        .build_boxed(PlacementContext { size: &size, temperature: None, foresight: Some(foresight) })
        .unwrap()
}

/// Returns the streams of the host's writes, and of some pages that cleaning then moves.
fn streams(placement: &mut dyn Placement, writes: &[u32], moved: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let assigned = (0..).zip(writes).map(|(now, &page)| placement.place(&host(page, now)).0).collect();
    let now = writes.len() as u64;
    (assigned, moved.iter().map(|&page| placement.place(&cleaned(page, now, 0)).0).collect())
}

#[test]
fn future_knowledge_counts_blocks_of_future_writes() {
    // Page 0 lives 3 writes, then 1, then 9; page 1 lives 5 writes; write 13 invalidates page 2.
    let writes = [0, 1, 2, 0, 0, 9, 1, 9, 9, 9, 9, 9, 9, 0, 2];
    let mut placement = build_with_future(json!({"kind": "fk", "streams": 3}), &writes);
    let (assigned, moved) = streams(&mut *placement, &writes[..7], &[0, 2, 9]);
    // Lives of 3, 5, 12, 1, 9, 2 and infinitely many writes.
    assert_eq!(assigned, [0, 1, 2, 0, 2, 0, 2]);
    // Page 0 has six writes left, page 2 seven, page 9 none.
    assert_eq!(moved, [1, 1, 0]);
}

#[test]
fn pages_invalidated_in_one_window_share_a_stream() {
    let writes = [0, 1, 2, 0, 0, 9, 1, 9, 9, 9, 9, 9, 9, 0, 2];
    let settings = json!({"kind": "death_windows", "streams": 3, "window_pages": 4});
    let mut placement = build_with_future(settings, &writes);
    assert_eq!(placement.streams(), 3);
    let (assigned, moved) = streams(&mut *placement, &writes[..7], &[0, 2, 9]);
    // Invalidations at writes 3, 6, 14, 4, 13 and 7, and never: windows 0, 1, 3, 1, 3, 1. Window 3 is too far ahead
    // from windows 0 and 1.
    assert_eq!(assigned, [0, 1, 2, 1, 2, 1, 2]);
    // Seen from window 1, window 3 is too far ahead for two streams; the next write invalidates page 9.
    assert_eq!(moved, [2, 2, 1]);
    // With as much spare space as data, one window spans the look-ahead.
    assert_eq!(build_with_future(json!("death_windows"), &writes).streams(), 2);
}

#[test]
fn exact_predictions_place_like_future_knowledge() {
    let mut random = Seed(8).random();
    let writes: Vec<u32> = (0..4000).map(|_| random_below(&mut random, 20) as u32).collect();
    let settings = |kind: &str| json!({"kind": kind, "streams": 5, "window_pages": 6});
    let mut exact = settings("predicted_windows");
    exact["error"] = json!(0.0);
    let moved: Vec<u32> = (0..20).collect();
    let predicted = streams(&mut *build_with_future(exact, &writes), &writes, &moved);
    assert_eq!(
        predicted,
        streams(&mut *build_with_future(settings("death_windows"), &writes), &writes, &moved)
    );
}

#[test]
fn useless_predictions_are_ignored() {
    let mut random = Seed(8).random();
    let writes: Vec<u32> = (0..4000).map(|_| random_below(&mut random, 20) as u32).collect();
    let settings = json!({"kind": "predicted_windows", "streams": 5, "window_pages": 6, "error": 100.0});
    let mut placement = build_with_future(settings, &writes);
    let (assigned, moved) = streams(&mut *placement, &writes, &[0, 1, 2]);
    let is_frontier = assigned[1000..].iter().filter(|&&stream| stream == 0).count();
    println!("{is_frontier} of 3000 to the host's stream");
    assert!(is_frontier > 2700 && moved.iter().all(|&stream| stream <= 1), "{is_frontier}, {moved:?}");
    assert_eq!(placement.memory_bytes(), 16 * 20);
}
