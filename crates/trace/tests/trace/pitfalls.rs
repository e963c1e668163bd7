//! Pitfalls of each format, and messages about bad input.

use std::io::{Cursor, Write};

use crate::support::*;
use wearwell_trace::*;

fn read(format: &str, text: &str) -> Result<Vec<Request>, TraceError> {
    let batch = decode(text.as_bytes(), &read_options(find_format(format).unwrap()))?;
    Ok((0..batch.len()).map(|index| batch.get(index)).collect())
}

fn request(time_ns: u64, op: Op, volume: u32, offset_bytes: u64, length_bytes: u64) -> Request {
    Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }
}

/// Returns the error of reading `text`.
fn read_error(format: &str, text: &str) -> String {
    read(format, text).expect_err("bad input").to_string()
}

#[test]
fn lines_convert_with_format_units_and_operation_codes() {
    use Op::*;
    // Each line is from a published example or from the format's description.
    let cases = [
        (
            "msr",
            "128166372003061629,usr,0,Read,7014609920,24576,41286",
            request(12_816_637_200_306_162_900, Read, 0, 7_014_609_920, 24_576),
        ),
        ("spc", "1,55590,3072,w,0.000001", request(1000, Write, 1, 55_590 * 512, 3072)),
        ("alibaba", "7,R,4096,512,1577808000000000", request(1_577_808_000_000_000_000, Read, 7, 4096, 512)),
        ("tencent", "1538323200,8,16,0,1063", request(1_538_323_200_000_000_000, Read, 1063, 4096, 8192)),
        ("tencent", "1538323200,8,16,1,1063", request(1_538_323_200_000_000_000, Write, 1063, 4096, 8192)),
        (
            "systor17",
            "1456095145.133076001,,R,3,1024,512",
            request(1_456_095_145_133_076_001, Read, 3, 1024, 512),
        ),
        ("disksim", "1.5 2 8 16 1", request(1_500_000, Read, 2, 4096, 8192)),
        ("disksim", "1.5 2 8 16 10", request(1_500_000, Write, 2, 4096, 8192)),
        ("disksim", "1.5 2 8 16 b", request(1_500_000, Read, 2, 4096, 8192)),
        ("ssdsim", "26214000 0 303574 7 0", request(26_214_000, Write, 0, 303_574 * 512, 3584)),
        ("mqsim", "11413000 0 657728 16 1", request(11_413_000, Read, 0, 657_728 * 512, 8192)),
        ("cloudphysics", "1,42,2A,512,8", request(42_000, Write, 0, 4096, 512)),
        ("cloudphysics", "1,42,42,512,8", request(42_000, Trim, 0, 4096, 512)),
    ];
    for (format, line, expected) in cases {
        assert_eq!(read(format, line).unwrap(), [expected], "{format}: {line}");
    }
}

#[test]
fn mqsim_time_unit_option_sets_unit_of_times() {
    for (unit, expected_ns) in [("ps", 3), ("ns", 3000), ("us", 3_000_000)] {
        let options = ReadOptions::named("mqsim").with("time_unit", unit);
        assert_eq!(decode(b"3000 0 8 8 1", &options).unwrap().time_ns, [expected_ns]);
    }
}

#[test]
fn oracle_general_requires_the_operation_option() {
    let mut record = vec![0u8; 24];
    (record[0], record[4], record[13]) = (2, 3, 16);
    let error = decode(&record, &ReadOptions::named("oracle-general")).unwrap_err().to_string();
    assert!(error.contains("`op`") && error.contains("read, write"), "{error}");
    let options = ReadOptions::named("oracle-general").with("op", "write").with("page_bytes", "512");
    let batch = decode(&record, &options).unwrap();
    assert_eq!(batch.get(0), request(2_000_000_000, Op::Write, 0, 3 * 512, 4096));
}

#[test]
fn msr_hosts_have_separate_volumes() {
    let line = |host, disk| format!("128166372003061629,{host},{disk},Read,0,512,1\n");
    let text = line("usr", 2) + &line("web", 0) + &line("usr", 0) + &line("web", 2);
    let volumes: Vec<_> = read("msr", &text).unwrap().iter().map(|request| request.volume).collect();
    assert_eq!(volumes, [2, 65_536, 0, 65_538]);
    let mut reader = TraceReader::new("test", Cursor::new(text), &ReadOptions::default()).unwrap();
    read_all(&mut reader, 10).unwrap();
    let names: Vec<_> =
        reader.volume_names().into_iter().map(|(number, name)| format!("{number} {name}")).collect();
    assert_eq!(names, ["0 usr.0", "2 usr.2", "65536 web.0", "65538 web.2"]);
}

#[test]
fn tencent_requests_are_spread_evenly_within_their_second() {
    // Seconds are mixed, as in real files. All lines are parsed at once, so that even the last 10 is on time.
    let seconds = [10, 11, 10, 10, 11, 13, 10, 13];
    let text: String = seconds.iter().map(|second| format!("{second},0,8,1,0\n")).collect();
    let found: Vec<_> =
        read("tencent", &text).unwrap().iter().map(|request| request.time_ns / 1_000_000).collect();
    assert_eq!(found, [10_000, 11_000, 10_250, 10_500, 11_500, 13_000, 10_750, 13_500]);
}

#[test]
fn tencent_second_is_complete_two_seconds_later() {
    // The text has more requests than are parsed at a time, so that second 10 is returned before its last request is
    // read.
    let text = "10,0,8,1,0\n".repeat(5000) + &"12,0,8,1,0\n".repeat(5000) + "10,0,8,1,0\n";
    let found = read("tencent", &text).unwrap();
    let at = |index: usize| found[index].time_ns / 1000;
    assert_eq!((at(1), at(4999), at(5000)), (10_000_200, 10_999_800, 12_000_000));
    assert_eq!((at(10_000), found.len()), (10_000_000, 10_001));
}

#[test]
fn volume_filter_does_not_change_tencent_times() {
    let text = "10,0,8,1,1\n10,0,8,1,2\n10,0,8,1,1\n10,0,8,1,2\n";
    let options = ReadOptions { volumes: Some(vec![2]), ..ReadOptions::named("tencent") };
    assert_eq!(decode(text.as_bytes(), &options).unwrap().time_ns, [10_250_000_000, 10_750_000_000]);
}

#[test]
fn fio_waits_advance_clock_unless_short() {
    let text = "fio version 2 iolog\n/a add\n/a open\n/b add\n/a wait 99 0\n/a write 0 512\n/b wait 150 0\n\
                /b read 512 512\n/b sync\n/a wait 1000 0\n/a trim 0 4096\n/a close\n";
    let expected = [
        request(0, Op::Write, 0, 0, 512),
        request(150_000, Op::Read, 1, 512, 512),
        request(150_000, Op::Flush, 1, 0, 0),
        request(1_150_000, Op::Trim, 0, 0, 4096),
    ];
    assert_eq!(read("fio-iolog-v2", text).unwrap(), expected);
    let third = "fio version 3 iolog\n5 /a add\n7 /a open\n12 /a write 0 512\n";
    assert_eq!(read("fio-iolog-v3", third).unwrap(), [request(12_000, Op::Write, 0, 0, 512)]);
    assert!(read_error("fio-iolog-v3", "fio version 3 iolog\n5 /a wait 0 512\n").contains("`wait`"));
    assert!(read_error("fio-iolog-v3", text).contains("fio version 3 iolog"));
    assert!(read_error("fio-iolog-v2", "0,0,512\n").contains("(header)"));
}

#[test]
fn digests_of_a_line_must_cover_its_length() {
    let line =
        |size: u64, digests: usize| format!("1 2 p q {size} {size} W 6 0 {}\n", "0f".repeat(16 * digests));
    assert_eq!(read("fiu", &line(8, 1)).unwrap().len(), 1);
    assert_eq!(read("fiu", &line(16, 2)).unwrap().len(), 1);
    assert_eq!(read("fiu-homes", &line(8, 8)).unwrap().len(), 1);
    assert!(read_error("fiu", &line(8, 8)).contains("each 4096 bytes"));
    assert!(read_error("fiu-homes", &line(8, 1)).contains("each 512 bytes"));
    assert!(read_error("fiu", "1 2 p 8 8 W 6 0 zz\n").contains("`md5`"));
}

#[test]
fn errors_name_file_line_column_found_and_expected() {
    let good = "0,W,0,4096,1\r\n\n";
    let bad = read_error("alibaba", &format!("{good}0,W,0,four,2\n"));
    assert_eq!(bad, "test, line 3: column `length` is `four`, expected a whole number from 0 to 2^64 - 1");
    let bad = |line: &str| read_error("alibaba", line);
    assert!(bad("0,W,-4096,4096,1").contains("`offset` is `-4096`"));
    assert!(bad("0,X,0,4096,1").contains("`opcode` is `X`, expected R or W"));
    assert!(bad("0,W,0").contains("`length` is missing"));
    assert!(bad("0,W,0,4096,1,9").contains("one too many"));
    assert!(bad("0,W,0,0,1").contains("more than 0"));
    assert!(bad("0,W,0,99999999999,1").contains("at most 2^32 bytes"));
    assert!(bad("0,W,18446744073709551615,2,1").contains("ends below 2^64"));
    assert!(bad("0,W,18446744073709551616,2,1").contains("`offset`"));
    assert!(bad("0,W,0,2,18446744073709551615").contains("below 2^64 in ns"));
    assert!(bad("0,W,\0\0,2,1").contains(r"\x00\x00"));
    assert!(bad("4294967296,W,0,2,1").contains("2^32 - 1"));
    assert!(read_error("spc", "0,36028797018963968,512,w,0").contains("`LBA`"));
    assert!(read_error("blkreplay", "no header").contains("start ; sector"));
    assert!(read_error("msr", "1.28166E+17,hm,0,Write,0,512,1").contains("`Timestamp` is `1.28166E+17`"));
    assert!(bad(&"7".repeat(1000)).len() < 200);
}

#[test]
fn bad_lines_are_counted_if_skipped() {
    let text = "0,W,0,4096,1\nrubbish\n0,R,0,512,2\n0,W,0,0,3\n".to_owned() + &"x\n".repeat(10);
    let options = ReadOptions { skip_bad: true, ..ReadOptions::named("alibaba") };
    let mut reader = TraceReader::new("test", Cursor::new(text), &options).unwrap();
    assert_eq!(read_all(&mut reader, 1).unwrap().len(), 2);
    assert_eq!(reader.skipped().count, 12);
    assert_eq!(reader.skipped().messages.len(), 5);
    assert!(reader.skipped().messages[0].starts_with("line 2: "));
}

#[test]
fn endless_lines_are_refused_or_skipped() {
    let long = "9".repeat(3 << 20);
    let text = format!("0,W,0,4096,1\n{long}\n0,R,0,512,2\n");
    assert!(read_error("alibaba", &text).contains("line 2: column `(line)` is `9999"));
    let options = ReadOptions { skip_bad: true, ..ReadOptions::named("alibaba") };
    assert_eq!(decode(text.as_bytes(), &options).unwrap().len(), 2);
    assert_eq!(decode(long.as_bytes(), &options).unwrap().len(), 0);
    let too_long = "9".repeat(MAX_LINE_BYTES + 1) + "\n0,R,0,512,2";
    assert_eq!(decode(too_long.as_bytes(), &options).unwrap().len(), 1);
}

#[test]
fn unknown_formats_and_options_are_refused() {
    let unknown = |options: ReadOptions| decode(b"x", &options).unwrap_err().to_string();
    assert!(unknown(ReadOptions::named("mrs")).contains("no trace format `mrs`; the formats are msr, fiu,"));
    assert!(unknown(ReadOptions::named("msr").with("action", "D")).contains("it has none"));
    assert!(unknown(ReadOptions::named("blkparse").with("acton", "D")).contains("it has action"));
    assert!(unknown(ReadOptions::named("blkparse").with("action", "X")).contains("one of Q, I, D, C"));
    assert!(unknown(ReadOptions::named("spc").with("block_bytes", "0")).contains("positive"));
    let five_numbers =
        decode(b"938513000 4 264719034 16 0", &ReadOptions::default()).unwrap_err().to_string();
    assert!(five_numbers.contains("name one of msr, fiu"), "{five_numbers}");
    assert!(matches!(decode(b"", &ReadOptions::named("msr")), Err(TraceError::Empty { .. })));
}

fn compressed(text: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    gzip.write_all(text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(text).unwrap();
    let zstd = zstd::encode_all(text, 3).unwrap();
    [("gzip", gzip.finish().unwrap()), ("xz", xz.finish().unwrap()), ("zstd", zstd)]
}

#[test]
fn truncated_compressed_streams_are_errors() {
    let text: String = (0..2000).map(|line| format!("0,W,{},4096,{line}\n", line * 7919)).collect();
    let options = ReadOptions { skip_bad: true, ..ReadOptions::named("alibaba") };
    for (name, bytes) in compressed(text.as_bytes()) {
        assert_eq!(decode(&bytes, &options).unwrap().len(), 2000, "{name}");
        // The file holds two streams, as parallel compressors write them.
        assert_eq!(decode(&bytes.repeat(2), &options).unwrap().len(), 4000, "{name}");
        let error = decode(&bytes[..bytes.len() - 20], &options).unwrap_err();
        assert!(matches!(error, TraceError::Compressed { .. }), "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    for (name, bytes) in compressed(b"") {
        assert!(matches!(decode(&bytes, &options), Err(TraceError::Empty { .. })), "{name}");
    }
}

#[test]
fn truncated_records_are_errors_even_if_bad_ones_are_skipped() {
    let mut one = RequestBatch::default();
    one.push(&request(1, Op::Write, 0, 4096, 4096));
    let (bytes, _) = encode(&one, &WriteOptions::named("blktrace")).unwrap();
    let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    assert_eq!(decode(&bytes, &options).unwrap(), one);
    let error = decode(&[&bytes[..], &bytes[..20]].concat(), &options).unwrap_err().to_string();
    assert!(error.contains("record 2") && error.contains("cut short"), "{error}");
    let error = decode(&[&bytes[..], &[0; 48]].concat(), &options).unwrap_err().to_string();
    assert!(error.contains("record 2") && error.contains("`magic`"), "{error}");
}

/// Reads `text` as a table with these options.
fn table(columns: &str, more: &[(&str, &str)], text: &str) -> Result<Vec<Request>, String> {
    let options = ReadOptions::default().with("columns", columns);
    let options = more.iter().fold(options, |options, (name, value)| options.with(name, value));
    let batch = decode(text.as_bytes(), &options).map_err(|error| error.to_string())?;
    Ok((0..batch.len()).map(|index| batch.get(index)).collect())
}

#[test]
fn tables_in_every_layout_give_equal_requests() {
    use Op::*;
    let expected = [request(1500, Write, 3, 4096, 8192), request(2000, Read, 3, 0, 512)];
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
    let cases: [Case; 9] = [
        (
            "time=t:us,op=op,offset=lba:512,size=len:512,volume=dev",
            &[],
            "t,dev,op,lba,len\n1.5,3,W,8,16\n2,3,R,0,1\n",
        ),
        (
            "time=T:us,op=OP,offset=LBA:512,size=Len:512,volume=dev",
            &[],
            "t,dev,op,lba,len\n1.5,3,W,8,16\n2,3,R,0,1\n",
        ),
        (
            "time=1:ns,op=2,offset=3:bytes,size=4:KiB,volume=-1",
            &[],
            "1500 write 4096 8 x 3\n2000 read 0 0.5 y z 3\n",
        ),
        (
            "time=1:ns,op=2:0=write/1=read,offset=3:pages,size=4:1,volume=5",
            &[],
            "1500|0|1|8192|3\n2000|1|0|512|3\n",
        ),
        (
            "time=1:ms,op=2:scsi,offset=3:512,size=4:1,volume=5",
            &[("header", "yes")],
            "1,2,3,4,5\n0.0015,2a,8,8192,3\n0.002,28,0,512,3\n",
        ),
        (
            "time=1:ns,op=2,offset=3:1,size=4:1,volume=5",
            &[("skip_lines", "2")],
            "any text\n7,7\n\n1500,W,4096,8192,3\n2000,R,0,512,3\n",
        ),
        (
            "time=1:ns,op=2,offset=3:1,size=4:1,volume=5",
            &[("comment", "//")],
            "a;b;c;d;e\n// no\n1500;W;0x1000;8192.0;3\n2e3;R;0;512;3\n",
        ),
        (
            "time=1:ns,op=2,offset=3:1,size=4:1,volume=5,where=6:D",
            &[],
            "1500,W,4096,8192,3,D\n1,W,1,1,9,C\n2000,R,0,512,3,D\n",
        ),
        (
            "time=1:ns,op=3:words/C=skip,offset=4:1,size=5:1,volume=2",
            &[],
            "1500\t3\t\"W\"\t4096\t8192\n1\t9\tC\t1\t1\n2000\t3\tr\t0\t512\n",
        ),
    ];
    for (columns, options, text) in cases {
        assert_eq!(table(columns, options, text).as_deref(), Ok(&expected[..]), "{columns}: {text}");
    }
}

#[test]
fn errors_of_tables_describe_the_problem() {
    let columns = "time=t:us,op=op,offset=lba:512,size=len:512";
    let header = "t,op,lba,len\n";
    let cases = [
        ("t,op,lba\n", "line 1: column `(header)` is `t,op,lba`, expected a column called `len` among 3"),
        ("t,op,lba,len,LBA,lba\n", "expected one column called `lba`, not several"),
        ("t,op,lba,len\n1,W,8\n", "line 2: column `len (size)` is missing or empty"),
        ("t,op,lba,len\n-1,W,8,8\n", "column `t (time)` is `-1`, expected a number, not negative"),
        (
            "t,op,lba,len\n1,W,8.001,8\n",
            "column `lba (offset)` is `8.001`, expected a number of units of 512 bytes that is a whole",
        ),
        ("t,op,lba,len\n1,0,8,8\n", "column `op (op)` is `0`, expected a word for read"),
        ("t,op,lba,len\n1,W,8,0\n", "column `length in bytes` is `0`"),
        ("t,op,lba,len\n1,\"W,8,8\n", "expected quotation marks that are closed"),
        ("# nothing\n", "column `(row)` is missing"),
    ];
    for (text, expected) in cases {
        let found = table(columns, &[], text).expect_err(text);
        assert!(found.contains(expected), "{text}: {found}");
    }
    let found = table(columns, &[("header", "no")], header).unwrap_err();
    assert!(found.contains("a header, since `columns` names columns"), "{found}");
    let found = table(columns, &[("skip_lines", "x")], header).unwrap_err();
    assert!(found.contains("`x` is no such number; expected a whole number from 0"), "{found}");
    let found = decode(b"1,2\n", &ReadOptions::named("table")).unwrap_err().to_string();
    assert!(found.contains("it has to be given; expected FIELD=COLUMN:UNIT"), "{found}");
}

#[test]
fn concatenated_tables_flushes_and_named_volumes_are_read() {
    let text = "op,lba,len,dev\nW,8,8,sda\nop,lba,len,dev\nF,,,sdb\nD,8,8,sda\n";
    let found = table("op=op,offset=lba:512,size=len:512,volume=dev", &[], text).unwrap();
    let expected = [
        request(0, Op::Write, 0, 4096, 4096),
        request(0, Op::Flush, 1, 0, 0),
        request(0, Op::Trim, 0, 4096, 4096),
    ];
    assert_eq!(found, expected);
}

#[test]
fn table_digests_follow_pieces_of_request() {
    let digest = |digit: &str| digit.repeat(32);
    let row = |digits: &str| format!("1\tW\t8\t8192\tsome app\t{}\n", digest(digits));
    let text = row("a") + &row("b");
    let options = ReadOptions::default()
        .with("columns", "time=1:s,op=2,offset=3:512,size=4:1,digest=-1:4096,piece==4096");
    let batch = decode(text.as_bytes(), &options).unwrap();
    assert_eq!(
        (batch.offset_bytes.clone(), batch.length_bytes.clone()),
        (vec![4096, 8192], vec![4096, 4096])
    );
    assert_eq!((batch.digest_bytes, batch.digests_of(1)), (4096, &[[0xbb; 16]][..]));
}

#[test]
fn repeated_blkreplay_head_is_skipped() {
    let head = "Copyright of somebody\n\nPLEASE do not edit\n#####\n";
    let header = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n";
    let line = "  0.5 ; 8 ; 8 ; W ; 0.0 ; 0.0\n";
    let expected = request(500_000_000, Op::Write, 0, 4096, 4096);
    let twice = format!("{head}{header}{head}{header}{line}");
    assert_eq!(read("blkreplay", &twice).unwrap(), std::slice::from_ref(&expected));
    // Concatenated loads, each with a different line in its head.
    let different_heads =
        format!("{head}of today\n{header}{line}{head}of tomorrow\n{header}{line}{header}{line}");
    assert_eq!(read("blkreplay", &different_heads).unwrap(), [expected.clone(), expected.clone(), expected]);
    // Other text is still refused, and so is a head without requests after it.
    assert!(
        read_error("blkreplay", &format!("{head}{header}{line}other text\n"))
            .contains("line 7: column `start`")
    );
    assert!(read_error("blkreplay", &format!("{head}{header}{line}{head}")).contains("before the requests"));
}
