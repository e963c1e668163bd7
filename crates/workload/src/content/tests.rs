//! Tests of the generator's guarantees: shares, order, identifiers.

use super::stats::ContentStats;
use super::*;
use crate::{FIU_TRACES, PageBatch};
use proptest::prelude::*;
use std::collections::HashSet;
use wearwell_base::content::ContentId;
use wearwell_base::request::Op;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;

const LOGICAL_PAGES: u32 = 20_000;

fn config(text: &str) -> Result<ContentConfig, String> {
    #[derive(serde::Deserialize)]
    struct Table {
        content: ContentConfig,
    }
    let parsed = toml::from_str::<Table>(&format!("content = {text}"));
    parsed.map(|holder| holder.content).map_err(|error| error.message().to_owned())
}

/// Draws a page: nine of ten writes go to a tenth of the space.
fn page(random: &mut Random) -> Lpn {
    let hot = LOGICAL_PAGES / 10;
    let is_hot = random_below(random, 10) < 9;
    let drawn = if is_hot {
        random_below(random, u64::from(hot))
    } else {
        u64::from(hot) + random_below(random, u64::from(LOGICAL_PAGES - hot))
    };
    Lpn(drawn as u32)
}

fn measure(config: &ContentConfig) -> ContentStats {
    let mut contents = config.build(LOGICAL_PAGES, Seed(1)).unwrap();
    let (mut stats, mut random) = (ContentStats::default(), Seed(2).random());
    for at in 0..20 * LOGICAL_PAGES {
        if at == 10 * LOGICAL_PAGES {
            stats.reset_counts();
        }
        let page = page(&mut random);
        stats.write(u64::from(page.0), contents.next(page));
    }
    stats
}

#[test]
fn measured_shares_match_config() {
    for text in [
        "{ dedup_ratio = 0 }",
        "{ dedup_ratio = 0.5 }",
        "{ dedup_ratio = 0.9, same_content_ratio = 0.5, exponent = 0.7, cold_duplicates = 1 }",
        "{ dedup_ratio = 0.4, pair_ratio = 0.3, cold_duplicates = 0.5 }",
        "{ dedup_ratio = 0.3, same_content_ratio = 0.3 }",
    ] {
        let config = config(text).unwrap();
        let stats = measure(&config);
        assert!((stats.dedup_ratio() - config.dedup_ratio).abs() < 0.005, "{text}: {}", stats.dedup_ratio());
        let same = stats.same_content as f64 / stats.written as f64;
        // The share is lower because some addresses were never written before.
        assert!(same >= config.same_content_ratio - 0.01, "{text}: {same}");
    }
}

#[test]
fn pair_content_has_at_most_two_copies() {
    let counts = measure(&config("{ dedup_ratio = 0.4, pair_ratio = 0.4 }").unwrap()).reference_counts();
    assert_eq!(counts[0], 2);
    let counts = measure(&config("{ dedup_ratio = 0 }").unwrap()).reference_counts();
    assert_eq!(counts[0], 1);
}

#[test]
fn reference_counts_follow_popularity_distribution() {
    let steep = config("{ dedup_ratio = 0.5, exponent = 1.2, popular_lifetime = 1000 }").unwrap();
    let flat = config("{ dedup_ratio = 0.5, exponent = 0.2, popular_lifetime = 1000 }").unwrap();
    // Half of the pages hold one of 200 contents.
    let top = |config| {
        let counts = measure(config).reference_counts();
        f64::from(counts[0]) / (0.5 * f64::from(counts.iter().sum::<u32>()))
    };
    let share = |exponent: f64| 1.0 / (1..=200).map(|rank| f64::from(rank).powf(-exponent)).sum::<f64>();
    assert!((top(&steep) / share(1.2) - 1.0).abs() < 0.1, "{}, {}", top(&steep), share(1.2));
    assert!((top(&flat) / share(0.2) - 1.0).abs() < 0.4, "{}, {}", top(&flat), share(0.2));
}

/// Returns the share of popular contents (three references or more) at hot addresses.
fn popular_at_hot(cold_duplicates: f64) -> f64 {
    let config = ContentConfig { cold_duplicates, ..ContentConfig::with_ratio(0.3) };
    let mut contents = config.build(LOGICAL_PAGES, Seed(1)).unwrap();
    let mut random = Seed(2).random();
    let mut known = HashSet::new();
    let (mut hot, mut popular) = (0, 0);
    for at in 0..20 * LOGICAL_PAGES {
        let page = page(&mut random);
        let is_new = known.insert(contents.next(page));
        if at >= 10 * LOGICAL_PAGES && page.0 < LOGICAL_PAGES / 10 {
            hot += 1;
            popular += u32::from(!is_new);
        }
    }
    f64::from(popular) / f64::from(hot)
}

#[test]
fn cold_duplicates_moves_duplicates_to_cold_addresses() {
    let shares = [0.0, 0.5, 1.0].map(popular_at_hot);
    assert!((shares[0] - 0.3).abs() < 0.01, "{shares:?}");
    assert!(shares[1] < 0.285 && shares[2] < 0.25 && shares[2] < shares[1], "{shares:?}");
}

#[test]
fn longer_popular_lifetime_means_fewer_unreferenced_popular_contents() {
    let short = config("{ dedup_ratio = 0.5, popular_lifetime = 0.5 }").unwrap();
    let long = config("{ dedup_ratio = 0.5, popular_lifetime = 500 }").unwrap();
    assert!(measure(&short).unreferenced_share(3) > 4.0 * measure(&long).unreferenced_share(3));
}

#[test]
fn generators_with_different_seeds_share_no_contents() {
    let contents_of = |seed| {
        let mut contents = config("{ dedup_ratio = 0.5 }").unwrap().build(100, Seed(seed)).unwrap();
        (0..5000).map(|at| contents.next(Lpn(at % 100))).collect::<HashSet<_>>()
    };
    assert!(contents_of(1).is_disjoint(&contents_of(2)));
    assert_eq!(contents_of(1), contents_of(1));
    assert!(!contents_of(1).contains(&ContentId::UNKNOWN));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn contents_do_not_depend_on_batch_sizes(fills in prop::collection::vec(0usize..50, 1..40)) {
        let config = config("{ preset = 'mail', pair_ratio = 0.05 }").unwrap();
        let run = |fills: &[usize]| {
            let mut contents = config.build(40, Seed(1)).unwrap();
            let mut batch = PageBatch::default();
            let mut next = 0;
            for &pages in fills {
                for _ in 0..pages {
                    let op = if next % 7 == 3 { Op::Read } else { Op::Write };
                    batch.push_request(op, 0, Lpn(next * 13 % 38), 1 + next % 3);
                    next += 1;
                }
                contents.add_contents(&mut batch);
            }
            (batch.contents, contents.final_draw())
        };
        prop_assert_eq!(run(&fills), run(&[fills.iter().sum()]));
    }
}

#[test]
fn preset_by_name_round_trips_and_accepts_overrides() {
    for trace in FIU_TRACES {
        let name = trace.entry.name;
        let by_name = config(&format!("'{name}'")).unwrap();
        assert_eq!(by_name, ContentConfig { preset: Some(name.to_owned()), ..trace.content.clone() });
        let again: ContentConfig = serde_json::from_str(&serde_json::to_string(&by_name).unwrap()).unwrap();
        assert_eq!(again, by_name, "what a result says can be read again");
        assert!(by_name.build(100, Seed(1)).is_ok());
    }
    let changed = config("{ preset = 'mail', exponent = 0.5 }").unwrap();
    assert_eq!((changed.exponent, changed.dedup_ratio), (0.5, 0.893));
}

#[test]
fn invalid_setting_error_names_key_and_allowed_values() {
    let error_of = |text: &str| match config(text) {
        Ok(config) => config.build(100, Seed(1)).err().unwrap().to_string(),
        Err(message) => message,
    };
    let cases = [
        ("'web'", "preset: is \"web\"; it must be one of homes, web_vm, mail"),
        ("{ exponent = 1 }", "dedup_ratio: is missing; give it, or a `preset`: homes, web_vm, mail"),
        ("{ dedup_ratio = 1 }", "dedup_ratio: is 1; it must lie from 0 to below 1"),
        (
            "{ dedup_ratio = 0.5, pair_ratio = 0.6 }",
            "same_content_ratio + pair_ratio: is 0.6; it must be at most `dedup_ratio`, 0.5",
        ),
        ("{ dedup_ratio = 0.5, exponent = 0 }", "exponent: is 0; it must be a finite number above 0"),
        ("{ dedup_ratio = 0.5, popular_lifetime = -1 }", "popular_lifetime: is -1; it must be a finite"),
        ("{ dedup_ratio = 0.5, popular_contents = 0 }", "popular_contents: is 0; it must be above 0"),
        ("{ dedup_ratio = 0.5, cold_duplicates = 2 }", "cold_duplicates: is 2; it must lie from 0 to 1"),
        ("{ dedup = 0.5 }", "unknown field `dedup`, expected one of `preset`, `dedup_ratio`"),
    ];
    for (text, message) in cases {
        let found = error_of(text);
        assert!(found.starts_with(message), "{text}\n{found}");
    }
}
