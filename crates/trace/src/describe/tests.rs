//! Compares descriptions with plain sets and lists, and samples with all pages.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::request::Request;

/// Page of a volume.
type Address = (u32, u64);

/// Operations on pages, computed with sets and lists.
#[derive(Default)]
struct Naive {
    read: BTreeSet<Address>,
    written: BTreeSet<Address>,
    live: BTreeSet<Address>,
    discards: u64,
    live_discards: u64,
    writes: Vec<Address>,
}

impl Naive {
    fn add(&mut self, request: &Request, page_bytes: u64) {
        let (start, end) = (request.offset_bytes, request.offset_bytes + request.length_bytes);
        let touched = (start / page_bytes..end.div_ceil(page_bytes)).map(|page| (request.volume, page));
        match request.op {
            Op::Read => self.read.extend(touched),
            Op::Write => {
                self.writes.extend(touched.clone());
                self.live.extend(touched.clone());
                self.written.extend(touched);
            }
            Op::Trim => {
                for page in start.div_ceil(page_bytes)..end / page_bytes {
                    self.discards += 1;
                    self.live_discards += u64::from(self.live.remove(&(request.volume, page)));
                }
            }
            Op::Flush => {}
        }
    }

    /// Returns the intervals and the stack distances.
    fn reuse(&self) -> [Vec<u64>; 2] {
        let (mut intervals, mut distances) = (Vec::new(), Vec::new());
        let mut last = BTreeMap::new();
        for (now, page) in self.writes.iter().enumerate() {
            if let Some(before) = last.insert(page, now) {
                intervals.push((now - before) as u64);
                let between: BTreeSet<_> = self.writes[before + 1..now].iter().collect();
                distances.push(between.len() as u64);
            }
        }
        [intervals, distances]
    }
}

fn summary(distribution: Option<&Distribution>) -> Option<(u64, u64, u64, f64)> {
    distribution.map(|all| (all.count, all.min, all.max, all.mean))
}

fn naive_summary(values: &[u64]) -> Option<(u64, u64, u64, f64)> {
    let count = values.len() as u64;
    let mean = values.iter().sum::<u64>() as f64 / count as f64;
    Some((count, *values.iter().min()?, *values.iter().max()?, mean))
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op =
        prop_oneof![3 => Just(Op::Read), 6 => Just(Op::Write), 1 => Just(Op::Trim), 1 => Just(Op::Flush)];
    let offset = prop_oneof![9 => 0u64..300_000, 1 => (1u64 << 43)..(1 << 43) + 300_000];
    let request =
        (op, 0u32..3, offset, 1u64..200_000).prop_map(|(op, volume, offset_bytes, length_bytes)| {
            let (offset_bytes, length_bytes) =
                if op == Op::Flush { (0, 0) } else { (offset_bytes, length_bytes) };
            Request { time_ns: 0, op, volume, offset_bytes, length_bytes, hint: 0 }
        });
    proptest::collection::vec(request, 0..60)
}

fn describe(requests: &[Request], options: &DescribeOptions) -> TraceDescription {
    let mut describer = Describer::new(options);
    for part in requests.chunks(25) {
        let mut batch = RequestBatch::default();
        part.iter().for_each(|request| batch.push(request));
        describer.add(&batch);
    }
    describer.finish()
}

fn sample_rate(rate: f64) -> Option<SampleRate> {
    Some(SampleRate::new(rate).unwrap())
}

proptest! {
    #[test]
    fn description_matches_naive_sets(requests in requests(), page_bytes in prop_oneof![Just(4096u64), 500u64..9000]) {
        let mut naive = Naive::default();
        requests.iter().for_each(|request| naive.add(request, page_bytes));
        let description = describe(&requests, &DescribeOptions { page_bytes, ..Default::default() });
        prop_assert_eq!(description.distinct_pages_read, naive.read.len() as u64);
        prop_assert_eq!(description.distinct_pages_written, naive.written.len() as u64);
        prop_assert_eq!(description.distinct_pages_touched, naive.read.union(&naive.written).count() as u64);
        let discards = DiscardDescription { pages: naive.discards, live_pages: naive.live_discards };
        prop_assert_eq!(&description.discards, &discards);
        for volume in &description.volumes {
            let written = naive.written.iter().filter(|(number, _)| *number == volume.volume).count() as u64;
            prop_assert_eq!(volume.distinct_pages_written, written);
        }
        let [intervals, distances] = naive.reuse();
        prop_assert_eq!(summary(description.reuse.interval_pages.as_ref()), naive_summary(&intervals));
        prop_assert_eq!(summary(description.reuse.stack_distance_pages.as_ref()), naive_summary(&distances));
        prop_assert_eq!(description.sample, None);
    }

    #[test]
    fn sample_of_all_pages_is_exact(requests in requests(), stack_distance: bool) {
        let options = DescribeOptions { stack_distance, ..Default::default() };
        let exact = describe(&requests, &options);
        let mut all = describe(&requests, &DescribeOptions { sample: sample_rate(1.0), ..options });
        let sample = all.sample.take().unwrap();
        prop_assert_eq!(&all, &exact);
        prop_assert_eq!(sample.sampled_pages, exact.distinct_pages_touched);
        prop_assert!(sample.expected_error.distinct_pages_touched.is_none_or(|error| error == 0.0));
        if let (Some(bounds), Some(exact)) = (sample.expected_error.interval_pages, exact.reuse.interval_pages) {
            for (bounds, (percent, value)) in bounds.iter().zip(exact.percentiles) {
                prop_assert_eq!((bounds.percent, bounds.low, bounds.high), (percent, value, value));
            }
        }
    }
}

/// Returns requests of one to four pages with skewed addresses: half of them go to 3 % of the pages. Each seed has its
/// own volumes, so that different pages are sampled.
fn skewed_requests(seed: u64, requests: usize) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut request = || Request {
        time_ns: 0,
        op: if random.random_bool(0.7) { Op::Write } else { Op::Read },
        volume: 2 * seed as u32 + random.random_range(0..2),
        offset_bytes: (random.random::<f64>().powi(5) * 30_000.0) as u64 * 4096,
        length_bytes: 4096 * random.random_range(1..5),
        hint: 0,
    };
    (0..requests).map(|_| request()).collect()
}

/// Returns, for each estimate from a sample, true if the exact value is within the expected error.
fn check_estimates(exact: &TraceDescription, estimate: &TraceDescription) -> Vec<(String, bool)> {
    let errors = &estimate.sample.as_ref().unwrap().expected_error;
    let within = |name: &str, exact: f64, estimate: f64, error: Option<f64>| {
        (name.to_owned(), (exact - estimate).abs() <= error.unwrap() * estimate)
    };
    let pages = |part: fn(&TraceDescription) -> u64| (part(exact) as f64, part(estimate) as f64);
    let (touched, read) = (pages(|all| all.distinct_pages_touched), pages(|all| all.distinct_pages_read));
    let written = pages(|all| all.distinct_pages_written);
    let ratio = (exact.overwrite_ratio.unwrap(), estimate.overwrite_ratio.unwrap());
    let mut checks = vec![
        within("touched", touched.0, touched.1, errors.distinct_pages_touched),
        within("read", read.0, read.1, errors.distinct_pages_read),
        within("written", written.0, written.1, errors.distinct_pages_written),
        within("overwrite ratio", ratio.0, ratio.1, errors.overwrite_ratio),
    ];
    let reuse = &exact.reuse;
    let intervals = ("interval", &reuse.interval_pages, &errors.interval_pages);
    let distances = ("distance", &reuse.stack_distance_pages, &errors.stack_distance_pages);
    for (name, exact, bounds) in [intervals, distances] {
        for (bounds, (percent, value)) in bounds.iter().flatten().zip(&exact.as_ref().unwrap().percentiles) {
            checks.push((format!("{name} {percent}"), (bounds.low..=bounds.high).contains(value)));
        }
    }
    checks
}

#[test]
fn sampled_estimates_lie_within_their_errors() {
    let requests = skewed_requests(6, 100_000);
    let exact = describe(&requests, &DescribeOptions::default());
    let estimate = describe(&requests, &DescribeOptions { sample: sample_rate(0.1), ..Default::default() });
    let checks = check_estimates(&exact, &estimate);
    assert_eq!(checks.len(), 4 + 2 * 9);
    let misses: Vec<_> = checks.iter().filter(|(_, is_hit)| !is_hit).collect();
    assert!(misses.is_empty(), "{misses:?}");
    let counted = |all: &TraceDescription| {
        (all.requests, all.reads.clone(), all.writes.clone(), all.write_sizes.clone())
    };
    assert_eq!(counted(&estimate), counted(&exact));
    assert_eq!(estimate.reuse.rewrites, estimate.writes.pages - estimate.distinct_pages_written);
}

#[test]
fn ninety_five_of_a_hundred_estimates_lie_within_their_errors() {
    let (mut within, mut all) = (0, 0);
    let mut hits_by_name = BTreeMap::<_, u32>::new();
    for seed in 0..40 {
        let requests = skewed_requests(seed, 20_000);
        let exact = describe(&requests, &DescribeOptions::default());
        let estimate =
            describe(&requests, &DescribeOptions { sample: sample_rate(0.2), ..Default::default() });
        for (name, is_hit) in check_estimates(&exact, &estimate) {
            *hits_by_name.entry(name).or_default() += u32::from(is_hit);
            within += u32::from(is_hit);
            all += 1;
        }
    }
    assert!(f64::from(within) >= 0.93 * f64::from(all), "{within} of {all}: {hits_by_name:?}");
}

#[test]
fn sample_without_pages_has_no_error() {
    let requests = skewed_requests(1, 100);
    let description =
        describe(&requests, &DescribeOptions { sample: sample_rate(1e-12), ..Default::default() });
    let sample = description.sample.unwrap();
    assert_eq!(sample.sampled_pages, 0);
    assert_eq!(sample.expected_error.distinct_pages_touched, None);
    assert_eq!(description.overwrite_ratio, None);
    assert_eq!(description.writes.requests + description.reads.requests, 100);
}
