//! Random and damaged bytes for every format: clear errors, never a panic, and always an end.

use std::sync::OnceLock;

use crate::samples::Sample;
use crate::support::*;
use proptest::prelude::*;
use wearwell_trace::*;

/// Returns the samples, built once.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(crate::samples::samples)
}

/// Reads to the end or the first error, in small batches.
fn read_all_or_fail(format: &Format, bytes: &[u8], skip_bad: bool) {
    let options = ReadOptions { skip_bad, ..read_options(format) };
    // A request takes at least one byte.
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
    let significant = prop::sample::select(&b"0123456789,.; \n\r\t-+eERWDFNC\0\xff"[..]);
    prop_oneof![
        (at(), significant).prop_map(|(at, byte)| Damage::Set(at, byte)),
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
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), skip_bad: bool) {
        FORMATS.iter().for_each(|format| read_all_or_fail(format, &bytes, skip_bad));
        let _ = detect_format(&bytes);
    }

    #[test]
    fn damaged_samples_never_panic(damage in proptest::collection::vec(any_damage(), 1..12), skip_bad: bool) {
        for sample in samples() {
            let bytes = damaged(sample.content.clone(), &damage);
            read_all_or_fail(find_format(sample.format).unwrap(), &bytes, skip_bad);
            let _ = detect_format(&bytes);
        }
    }

    #[test]
    fn damaged_compressed_stream_never_panics(damage in proptest::collection::vec(any_damage(), 1..4), skip_bad: bool) {
        let sample = &samples()[0];
        let bytes = damaged(zstd::encode_all(sample.content.as_slice(), 3).unwrap(), &damage);
        read_all_or_fail(find_format(sample.format).unwrap(), &bytes, skip_bad);
    }

    #[test]
    fn tables_of_random_cells_never_panic(
        rows in proptest::collection::vec(
            proptest::collection::vec("[0-9]{1,21}|[0-9.eE+x-]{0,9}|[RWDF]S?|\"[a-z,]{0,3}\"?|[ -~]{0,4}", 0..8),
            0..12,
        ),
        separator in prop::sample::select(vec![",", ";", "\t", "|", " ", " ; "]),
        columns in prop::sample::select(TABLES.to_vec()),
        header in prop::sample::select(vec!["auto", "yes", "no"]),
        skip_bad: bool,
    ) {
        let text = rows.iter().map(|row| row.join(separator)).collect::<Vec<_>>().join("\n");
        let options = ReadOptions { skip_bad, ..ReadOptions::named("table").with("columns", columns) };
        match decode(text.as_bytes(), &options.with("header", header)) {
            Ok(batch) => assert!(batch.len() <= rows.len()),
            Err(error) => assert!(error.to_string().len() < 3000, "{error}"),
        }
        // The guessed columns can be used for reading, or are refused.
        if let Some(guess) = guess_table(text.as_bytes()) {
            let options = ReadOptions { skip_bad: true, ..ReadOptions::named("table").with("columns", &guess.option) };
            let _ = decode(text.as_bytes(), &options);
        }
    }
}

/// Columns with every unit and every field.
const TABLES: &[&str] = &[
    "op=1,offset=2:1,size=3:1",
    "time=1:s,op=2,offset=3:512,size=4:pages,volume=5",
    "time=-1:filetime,op==write,offset=-2:18446744073709551615,size==4096",
    "time=1:ms,op=2:0=read/1=write/2=skip,offset=3:KiB,size=4:MiB,hint=5,volume=6",
    "time=4:us,op=3:scsi,offset=2:sectors,size=1:kB,where=3:28/2a/R",
    "time=1:ns,op=2:nvme,offset=3:bytes,size=4:bytes,piece==1,digest=5:4096",
    "time=W:ns,op=R,offset=D:bytes,size=F:bytes",
    "op==trim,offset=1:1,size=100000:1,piece==18446744073709551615",
];
