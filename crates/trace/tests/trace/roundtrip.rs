//! Round trip: written requests are read back, for every writable format and any requests it can hold.

use crate::support::*;
use proptest::prelude::*;
use wearwell_trace::*;

const SECOND_NS: u64 = 1_000_000_000;

/// Generates any request that a trace may hold; its time is the time since the previous request.
fn any_request() -> impl Strategy<Value = Request> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Write), Just(Op::Trim), Just(Op::Flush)];
    let volume = prop_oneof![Just(0u32), Just(0u32), 0u32..5, Just(8 << 20 | 16), any::<u32>()];
    let unit = prop_oneof![Just(1u64), Just(512), Just(4096), Just(4096)];
    let extent = (unit, 0u64..1 << 24, 1u64..300);
    let gap_ns = prop_oneof![0u64..300_000, 0u64..3 * SECOND_NS];
    (gap_ns, op, volume, extent, any::<u16>()).prop_map(
        |(time_ns, op, volume, (unit, first, count), hint)| {
            let (offset_bytes, length_bytes) =
                if op == Op::Flush { (0, 0) } else { (first * unit, count * unit) };
            Request { time_ns, op, volume, offset_bytes, length_bytes, hint }
        },
    )
}

/// Generates requests in order of time, with digests of the given granularity or, for 0, without.
fn any_batch() -> impl Strategy<Value = RequestBatch> {
    let start_ns = prop_oneof![0..SECOND_NS, 0u64..1 << 63];
    let digest_bytes = prop_oneof![Just(0u32), Just(512), Just(4096)];
    (start_ns, digest_bytes, proptest::collection::vec(any_request(), 0..40)).prop_map(
        |(mut time_ns, digest_bytes, requests)| {
            let mut batch = RequestBatch::default();
            for mut request in requests {
                time_ns += request.time_ns;
                request.time_ns = time_ns;
                match digest_bytes {
                    0 => batch.push(&request),
                    bytes => {
                        let count = request.length_bytes.div_ceil(u64::from(bytes));
                        let digests: Vec<Digest> =
                            (0..count).map(|part| [(part + time_ns) as u8; 16]).collect();
                        batch.push_with_digests(&request, &digests, bytes);
                    }
                }
            }
            batch
        },
    )
}

/// Returns the requests of `batch` that the format can hold individually.
fn expressible(batch: &RequestBatch, format: &Format) -> RequestBatch {
    let mut accepted = RequestBatch::default();
    for index in 0..batch.len() {
        let mut one = RequestBatch::default();
        one.push_from(batch, index);
        if encode(&one, &write_options(format)).is_ok() {
            accepted.push_from(batch, index);
        }
    }
    accepted
}

/// Removes from `batch` the fields that the format does not store.
fn clear_unstored_fields(batch: &mut RequestBatch, format: &Format) {
    if format.name != "wearwell-csv" {
        batch.hint.fill(0);
    }
    if !["fiu", "fiu-homes", "wearwell-csv"].contains(&format.name) {
        (batch.digest_bytes, batch.digests, batch.digest_ends) = Default::default();
    }
}

fn round_trip(batch: &RequestBatch, format: &Format) -> Result<(), TestCaseError> {
    let mut expected = expressible(batch, format);
    let options = WriteOptions { drop_inexpressible: true, ..write_options(format) };
    let (bytes, written) = encode(batch, &options).unwrap();
    prop_assert_eq!(written.requests as usize, expected.len());
    prop_assert_eq!(written.dropped as usize, batch.len() - expected.len());
    let mut found = match bytes.is_empty() {
        true => RequestBatch::default(),
        false => decode(&bytes, &read_options(format)).unwrap(),
    };
    for (wanted_ns, found_ns) in expected.time_ns.iter_mut().zip(&mut found.time_ns) {
        match format.name {
            // The sum of waits is late by less than a time step, for any start time.
            "fio-iolog-v2" => prop_assert!(*wanted_ns - *found_ns < format.time_step_ns),
            _ => prop_assert_eq!(*wanted_ns / format.time_step_ns, *found_ns / format.time_step_ns),
        }
        *wanted_ns = *found_ns;
    }
    clear_unstored_fields(&mut expected, format);
    prop_assert_eq!(found, expected);
    Ok(())
}

proptest! {
    #[test]
    fn every_format_reads_back_what_it_wrote(batch in any_batch()) {
        for format in FORMATS.iter().filter(|format| format.write.is_some()) {
            round_trip(&batch, format)?;
        }
    }
}

#[test]
fn every_format_can_be_written() {
    assert!(FORMATS.iter().all(|format| format.write.is_some()));
}
