//! Random and damaged bytes for every format: clear errors, never a panic, always an end.

use std::sync::OnceLock;

use crate::samples::Sample;
use crate::support::*;
use proptest::prelude::*;
use wearwell_trace::*;

/// The samples, made once.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(crate::samples::samples)
}

/// Reads to the end or the first error, in small batches.
fn read_through(format: &Format, bytes: &[u8], skip_bad: bool) {
    let options = ReadOptions { skip_bad, ..read_options(format) };
    // One request takes at least a byte.
    match decode(bytes, &options) {
        Ok(batch) => {
            assert!(batch.len() <= bytes.len());
            assert!(
                (0..batch.len())
                    .all(|index| batch.offset_bytes[index].checked_add(batch.length_bytes[index]).is_some())
            );
        }
        Err(error) => assert!(error.to_string().len() < 2000, "{error}"),
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let at = || any::<prop::sample::Index>();
    let telling = prop::sample::select(&b"0123456789,.; \n\r\t-+eERWDFNC\0\xff"[..]);
    prop_oneof![
        (at(), telling).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (at(), 1..40usize).prop_map(|(at, bytes)| Damage::Remove(at, bytes)),
        (at(), 1..400usize).prop_map(|(at, bytes)| Damage::Repeat(at, bytes)),
        at().prop_map(Damage::Cut),
        (at(), proptest::collection::vec(b'0'..=b'9', 1..30))
            .prop_map(|(at, digits)| Damage::Insert(at, digits)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damage: &[Damage]) -> Vec<u8> {
    for damage in damage {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Set(at, byte) => *at.get_mut(&mut bytes) = *byte,
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Remove(at, count) | Damage::Repeat(at, count) => {
                let start = at.index(bytes.len());
                let part = start..(start + count).min(bytes.len());
                match damage {
                    Damage::Remove(..) => drop(bytes.drain(part)),
                    _ => bytes.extend_from_within(part),
                }
            }
            Damage::Insert(at, digits) => {
                let start = at.index(bytes.len());
                bytes.splice(start..start, digits.iter().copied());
            }
        }
    }
    bytes
}

proptest! {
    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), skip_bad: bool) {
        FORMATS.iter().for_each(|format| read_through(format, &bytes, skip_bad));
        let _ = detect_format(&bytes);
    }

    #[test]
    fn damaged_samples(damage in proptest::collection::vec(any_damage(), 1..12), skip_bad: bool) {
        for sample in samples() {
            let bytes = damaged(sample.content.clone(), &damage);
            read_through(find_format(sample.format).unwrap(), &bytes, skip_bad);
            let _ = detect_format(&bytes);
        }
    }

    #[test]
    fn damaged_compression(damage in proptest::collection::vec(any_damage(), 1..4), skip_bad: bool) {
        let sample = &samples()[0];
        let bytes = damaged(zstd::encode_all(sample.content.as_slice(), 3).unwrap(), &damage);
        read_through(find_format(sample.format).unwrap(), &bytes, skip_bad);
    }
}
