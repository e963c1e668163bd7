//! Agreement with statistics of real traces that were computed by other means.
//!
//! The traces are not part of the repository. `WEARWELL_TRACES` names the directory that holds them; without it the
//! tests print a message and pass. Pages are 4 KiB, identified by volume and address; a request counts for every page
//! it touches, its start rounded down and its end up.
//!
//! The published statistics ignore the read-ahead requests (`RA`) of the two blkreplay files (1 and 344 requests);
//! Wearwell reads them, and the rows hold its counts. They give no overwrite ratio for mqsim-wsrch-small, which has
//! four writes. All other published values agree.

use std::path::PathBuf;

use wearwell_trace::*;

/// File, format or columns, requests, writes %, pages touched, write footprint MiB, written MiB, overwrite ratio.
type TraceRow = (&'static str, &'static str, u64, f64, u64, f64, f64, f64);

#[allow(clippy::approx_constant)] // 3.14 is an overwrite ratio
const TABLE: &[TraceRow] = &[
    ("fiu-homes.blkparse", "fiu-homes", 1_000, 100.0, 871, 3.4, 3.9, 1.15),
    ("fiu-webvm.blkparse", "fiu", 1_000, 100.0, 914, 3.6, 3.9, 1.09),
    ("fiu-mail-a.blkparse", "fiu", 8_000, 10.0, 7_229, 2.4, 3.1, 1.30),
    ("msr-prxy_0.csv", "msr", 15_000, 97.8, 2_817, 5.7, 34.0, 12.54),
    ("msr-hm_0.csv", "msr", 1_000, 49.2, 1_917, 1.9, 3.4, 1.97),
    ("spc-financial1-mini.spc", "spc", 949, 80.7, 491, 1.7, 2.2, 2.71),
    ("spc-financial1-10k.spc", "spc", 10_000, 59.2, 7_322, 14.6, 28.5, 3.32),
    ("ssdsim-financial1.ascii", "ssdsim", 10_000, 59.2, 7_322, 14.6, 28.5, 3.32),
    ("blkreplay-linux-mysql.load", "blkreplay", 80_794, 91.1, 142_563, 485.5, 1_050.5, 2.22),
    ("blkreplay-linux-webserver-2.load", "blkreplay", 269_007, 44.6, 488_036, 310.1, 1_064.5, 3.66),
    ("cloudphysics.csv", "cloudphysics", 113_872, 58.7, 269_210, 815.2, 2_297.0, 3.14),
    ("alibaba-derived.csv", "alibaba", 52_277, 89.6, 42_951, 111.0, 292.3, 2.63),
    ("tencent-cbs.csv", "tencent", 50_000, 51.0, 348_239, 819.8, 831.3, 1.03),
    ("systor17-a.csv", "systor17", 999, 17.3, 9_831, 2.9, 2.6, 1.12),
    ("systor17-b.csv", "systor17", 999, 29.9, 5_460, 2.7, 2.2, 1.20),
    ("mqsim-tpcc-small.trace", "mqsim", 6_999, 37.4, 20_470, 30.8, 22.3, 1.01),
    ("mqsim-wsrch-small.trace", "mqsim", 24_783, 0.0, 93_029, 0.0, 0.0, 2.00),
    ("ssdsim-dtrs.trace", "ssdsim", 127_043, 11.0, 1_272_267, 718.9, 725.6, 1.01),
    ("blkparse-ext4.txt", "blkparse", 9_887, 8.6, 317_163, 239.8, 240.3, 1.00),
    ("blkparse-f2fs.txt", "blkparse", 5_727, 17.5, 232_492, 397.5, 419.5, 1.06),
    ("blkparse-btrfs.txt", "blkparse", 1_824, 28.7, 313_302, 221.7, 244.6, 1.10),
];

/// Rows for tables that are in none of the other formats, with their columns.
///
/// Counts include requests of all kinds. The statistics of rocksdb-xfs-octf-a count its 231 discards as writes and
/// therefore give 99.6 % of writes. A row of phone-music-md5 is one page of a request.
const TABLE_TRACES: &[TraceRow] = &[
    (
        "msr-hm_0-slice.trace",
        "time=1:ms,op=5:0=write/1=read,offset=3:bytes,size=4:bytes",
        10_000,
        79.8,
        7_385,
        22.7,
        48.7,
        2.45,
    ),
    (
        "msr-prn_0-offsets.csv",
        "time=1:filetime,op=2,offset=3:bytes,size==4096",
        96_568,
        61.2,
        44_073,
        58.1,
        230.7,
        4.90,
    ),
    (
        "flashsim-financial1.trace",
        "time=1:ms,op=5:0=write/1=read,offset=3:512,size=4:pages",
        50_000,
        41.6,
        31_150,
        34.7,
        129.0,
        5.84,
    ),
    (
        "rocksdb-xfs-octf-a.csv",
        "time=timestamp_ns:ns,op=op,offset=lba_sector:sectors,size=len_sectors:sectors",
        64_420,
        100.0,
        436_083,
        1_703.4,
        7_977.8,
        4.68,
    ),
    (
        "wiscsee-sqlite-wal.txt",
        "time=6:s,op=3,offset=4:bytes,size=5:bytes,where=2:D",
        5_008,
        99.9,
        2_174,
        8.5,
        65.9,
        7.78,
    ),
    (
        "phone-music-md5.txt",
        "time=1:s,op=2,offset=3:512,size=4:bytes,piece==4096",
        5_000,
        32.1,
        3_386,
        2.8,
        6.3,
        2.26,
    ),
];

const MIB: f64 = (1 << 20) as f64;

fn traces() -> Option<PathBuf> {
    let directory = std::env::var_os("WEARWELL_TRACES").map(PathBuf::from);
    if directory.is_none() {
        eprintln!("skipped: WEARWELL_TRACES does not name a directory of traces");
    }
    directory
}

fn describe_file(path: &PathBuf, options: &ReadOptions) -> TraceDescription {
    let mut reader = open(path, options).unwrap_or_else(|error| panic!("{error}"));
    describe(&mut reader, &DescribeOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn is_close(found: f64, expected: f64, digits: i32) -> bool {
    (found - expected).abs() <= 0.5000001 * 10f64.powi(-digits) || (found.is_nan() && expected.is_nan())
}

#[test]
fn statistics_match_reference_values() {
    let Some(directory) = traces() else { return };
    let mut mismatches = Vec::new();
    let named = TABLE.iter().map(|row| (row, ReadOptions::named(row.1)));
    let tables = TABLE_TRACES.iter().map(|row| (row, ReadOptions::default().with("columns", row.1)));
    for (&(file, _, requests, write_percent, pages, footprint, written, overwrite), options) in
        named.chain(tables)
    {
        let found = describe_file(&directory.join(format!("{file}.zst")), &options);
        let agrees = found.requests == requests
            && is_close(found.write_ratio.unwrap() * 100.0, write_percent, 1)
            && found.distinct_pages_touched == pages
            && is_close(found.distinct_pages_written as f64 * 4096.0 / MIB, footprint, 1)
            && is_close(found.writes.bytes as f64 / MIB, written, 1)
            && is_close(found.overwrite_ratio.unwrap_or(f64::NAN), overwrite, 2);
        if !agrees {
            mismatches.push(format!(
                "{file}: {} requests, {:?} writes, {} pages, {} MiB footprint, {} MiB written, {:?}",
                found.requests,
                found.write_ratio,
                found.distinct_pages_touched,
                found.distinct_pages_written as f64 * 4096.0 / MIB,
                found.writes.bytes as f64 / MIB,
                found.overwrite_ratio
            ));
        }
    }
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}

#[test]
fn duplication_matches_reference_values() {
    let Some(directory) = traces() else { return };
    for (file, format, pages, unique) in [
        ("fiu-homes.blkparse", "fiu-homes", 1_000, 829),
        ("fiu-webvm.blkparse", "fiu", 1_000, 845),
        ("fiu-mail-a.blkparse", "fiu", 798, 578),
    ] {
        let options = ReadOptions::named(format);
        let found = describe_file(&directory.join(format!("{file}.zst")), &options).duplication.unwrap();
        assert_eq!((found.pages, found.unique), (pages, unique), "{file}");
        assert_eq!(found.granularity_bytes, 4096);
    }
    // In 63 rows, 18 of them writes, a process name with a tab in it displaces the digest. The published statistics,
    // 1,607 pages with 1,350 contents, count the text in place of the digest as one more content.
    let columns = "time=1:s,op=2,offset=3:512,size=4:bytes,digest=7:4096,piece==4096";
    let options = ReadOptions { skip_bad: true, ..ReadOptions::default().with("columns", columns) };
    let found = describe_file(&directory.join("phone-music-md5.txt.zst"), &options);
    let duplication = found.duplication.unwrap();
    assert_eq!((found.skipped, duplication.pages, duplication.unique), (63, 1_589, 1_349));
}

#[test]
fn format_is_detected_or_required() {
    let Some(directory) = traces() else { return };
    for &(file, format, ..) in TABLE {
        let path = directory.join(format!("{file}.zst"));
        let certain = find_format(format).unwrap().detect.is_some();
        match open(&path, &ReadOptions::default()) {
            Ok(reader) => assert!(certain && reader.format().name == format, "{file}"),
            Err(TraceError::FormatNeeded { .. }) => assert!(!certain, "{file}"),
            Err(error) => panic!("{error}"),
        }
    }
}
