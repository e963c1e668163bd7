//! The sample traces of `traces/samples`, which are only used by tests and tutorials.

use std::path::PathBuf;

use crate::samples::{Sample, samples};
use crate::support::*;
use wearwell_trace::*;

const SECOND_NS: u64 = 1_000_000_000;

fn path(sample: &Sample) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces/samples");
    directory.join(sample.file)
}

/// Returns the requests that the sample of `format` must contain.
fn expected(format: &Format) -> Vec<Request> {
    let mut requests = crate::samples::requests();
    requests.retain(|request| crate::samples::can_hold(format.name, request.op));
    let start_ns = if format.name == "msr" { 12_816_637_200_000_000_000 } else { 0 };
    for request in &mut requests {
        request.time_ns += start_ns;
        request.time_ns -= request.time_ns % format.time_step_ns;
    }
    requests
}

#[test]
fn every_format_has_sample_file() {
    let samples = samples();
    let formats: Vec<_> = samples.iter().map(|sample| sample.format).collect();
    let table: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(formats, table);
    for sample in &samples {
        let found = std::fs::read(path(sample)).expect("a sample; `make_samples` writes them");
        assert!(found == sample.content, "{} is not what make_samples writes", sample.file);
    }
    let readme = std::fs::read_to_string(path(&samples[0]).with_file_name("README.md")).unwrap();
    assert!(samples.iter().all(|sample| readme.contains(sample.file)));
}

#[test]
fn requests_of_samples_equal_the_description() {
    for sample in samples() {
        let format = find_format(sample.format).unwrap();
        let found = read_all(&mut open(path(&sample), &read_options(format)).unwrap(), 7).unwrap();
        let mut requests: Vec<_> = (0..found.len()).map(|index| found.get(index)).collect();
        // If the format has whole seconds, the reader may have spread the requests over them.
        let step_ns = if format.time_step_ns == SECOND_NS { SECOND_NS } else { 1 };
        requests.iter_mut().for_each(|request| request.time_ns -= request.time_ns % step_ns);
        assert_eq!(requests, expected(format), "{}", sample.format);
    }
}

#[test]
fn digests_of_samples_equal_the_description() {
    let digests_of = |format: &str| {
        let sample = samples().into_iter().find(|sample| sample.format == format).unwrap();
        decode(&sample.content, &ReadOptions::named(format)).unwrap()
    };
    let (pages, sectors, wearwell_csv) =
        (digests_of("fiu"), digests_of("fiu-homes"), digests_of("wearwell-csv"));
    assert_eq!((pages.digest_bytes, sectors.digest_bytes, wearwell_csv.digest_bytes), (4096, 512, 4096));
    for index in 0..pages.len() {
        let request = pages.get(index);
        let count = request.length_bytes / 4096;
        let wanted: Vec<_> = (0..count).map(|page| crate::samples::page_digest(&request, page)).collect();
        assert_eq!(pages.digests_of(index), wanted);
        let wanted: Vec<_> =
            (0..8 * count).map(|sector| crate::samples::sector_digest(&request, sector)).collect();
        assert_eq!(sectors.digests_of(index), wanted);
    }
    let writes = |batch: &RequestBatch| -> Vec<Digest> {
        let writes = (0..batch.len()).filter(|&index| batch.op[index] == Op::Write);
        writes.flat_map(|index| batch.digests_of(index).to_vec()).collect()
    };
    assert_eq!(writes(&wearwell_csv), writes(&pages));
}

#[test]
fn samples_with_identifying_content_are_recognised() {
    for sample in samples() {
        let detected = detect_format(&sample.content).map(|format| format.name);
        let certain = find_format(sample.format).unwrap().detect.is_some();
        assert_eq!(detected, certain.then_some(sample.format), "{}", sample.format);
    }
}

#[test]
fn samples_round_trip_through_own_format_and_wearwell_csv() {
    for sample in samples() {
        let format = find_format(sample.format).unwrap();
        let first = decode(&sample.content, &read_options(format)).unwrap();
        for intermediate in [format, find_format("wearwell-csv").unwrap()] {
            let (bytes, _) = encode(&first, &write_options(intermediate)).unwrap();
            let again = decode(&bytes, &read_options(intermediate)).unwrap();
            assert_eq!(again, first, "{} through {}", sample.format, intermediate.name);
        }
    }
}

#[test]
fn description_of_the_sample_workload_equals_known_counts() {
    let sample = samples().pop().unwrap();
    let mut reader = open(path(&sample), &ReadOptions::default()).unwrap();
    let found = describe(&mut reader, &DescribeOptions::default()).unwrap();
    let requests = crate::samples::requests();
    let pages =
        |request: &Request| request.offset_bytes / 4096..(request.offset_bytes + request.length_bytes) / 4096;
    let writes = || requests.iter().filter(|request| request.op == Op::Write);
    let written: std::collections::BTreeSet<_> = writes().flat_map(pages).collect();
    let page_writes = writes().flat_map(pages).count() as u64;
    assert_eq!(found.requests, 120);
    assert_eq!(found.writes.requests, writes().count() as u64);
    assert_eq!(found.writes.pages, page_writes);
    assert_eq!(found.distinct_pages_written, written.len() as u64);
    assert_eq!(found.reuse.rewrites, page_writes - written.len() as u64);
    assert_eq!(found.duplication.unwrap().unique, 10);
    let sizes: Vec<_> = found.write_sizes.histogram.iter().map(|bucket| bucket.up_to_bytes).collect();
    assert_eq!(sizes, [4096, 8192, 16384]);
}
