//! Tests of `wearwell trace`: generation, conversion, inspection.

use crate::common::outcome;
use serde_json::Value;

#[test]
fn generated_traces_survive_conversion_and_cutting() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let [csv, blk, part] = ["a.csv.gz", "b.blkparse.zst", "c.csv"].map(path);
    let generate =
        ["trace", "generate", &csv, "--to", "msr", "--kind", "hot_cold", "--set", "hot_writes=0.9"];
    let more = ["--set", "hot_space=0.1", "--capacity", "16 MiB", "--requests", "5000", "--rate", "1000"];
    outcome(&[&generate[..], &more[..]].concat(), 0);
    let describe = |file: &str, format: &str| -> Value {
        let arguments = ["trace", "describe", file, "--trace-format", format, "--format", "json"];
        serde_json::from_str(&outcome(&arguments, 0).0).unwrap()
    };
    let original = describe(&csv, "msr");
    assert_eq!(original["requests"], 5000);
    assert_eq!(original["writes"]["requests"], 5000);
    outcome(&["trace", "convert", &csv, &blk, "--trace-format", "msr", "--to", "blkparse"], 0);
    let converted = describe(&blk, "blkparse");
    assert_eq!(converted["distinct_pages_written"], original["distinct_pages_written"]);
    assert_eq!(converted["reuse"], original["reuse"]);
    let cut = ["trace", "cut", &csv, &part, "--trace-format", "msr", "--seconds", "1..2.5", "--rebase-time"];
    outcome(&cut, 0);
    assert_eq!(describe(&part, "msr")["requests"], 1500);
    let (checked, _) = outcome(&["trace", "check", &part, "--trace-format", "msr"], 0);
    assert_eq!(checked, "1500 requests in the format msr, all sound\n");
}

#[test]
fn describe_with_sample_shows_expected_errors() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.csv").display().to_string();
    let generate = ["trace", "generate", &file, "--to", "msr", "--kind", "uniform"];
    let more = ["--capacity", "16 MiB", "--requests", "20000", "--rate", "1000"];
    outcome(&[&generate[..], &more[..]].concat(), 0);
    let describe = |more: &[&str], code: i32| {
        outcome(&[&["trace", "describe", &file, "--trace-format", "msr"], more].concat(), code)
    };
    let (table, _) = describe(&["--sample", "0.5"], 0);
    for part in
        ["50.0 % of the pages", "expected errors", "writes of each written page, ±", "expected within"]
    {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(!describe(&[], 0).0.contains("expected within"));
    let json = |more: &[&str]| -> Value {
        serde_json::from_str(&describe(&[more, &["--format", "json"]].concat(), 0).0).unwrap()
    };
    let (exact, sampled) = (json(&[]), json(&["--sample", "0.5"]));
    assert_eq!(exact.get("sample"), None);
    assert_eq!(sampled["writes"], exact["writes"]);
    let pages = |found: &Value| found["distinct_pages_written"].as_f64().unwrap();
    let error = sampled["sample"]["expected_error"]["distinct_pages_written"].as_f64().unwrap();
    assert!((pages(&sampled) - pages(&exact)).abs() <= error * pages(&sampled), "{sampled}");
    let (_, problem) = describe(&["--sample", "2"], 2);
    assert!(problem.contains("above 0 and at most 1"), "{problem}");
}

#[test]
fn bad_lines_are_named_or_counted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.csv").display().to_string();
    std::fs::write(
        &file,
        "128166372003061629,host,0,Write,0,4096,0\nx\n128166372003061629,host,0,Wrote,0,4096,0\n",
    )
    .unwrap();
    let (_, err) = outcome(&["trace", "check", &file, "--trace-format", "msr"], 1);
    assert!(err.contains("bad.csv, line 2: column `Timestamp`"), "{err}");
    let (_, err) = outcome(&["trace", "check", &file, "--trace-format", "msr", "--skip-bad"], 1);
    assert!(err.contains("2 bad lines beside 1 sound requests"), "{err}");
    let (out, err) = outcome(&["trace", "describe", &file, "--trace-format", "msr", "--skip-bad"], 0);
    assert!(err.contains("2 lines or records could not be read"), "{err}");
    assert!(out.contains("1 requests"), "{out}");
}

#[test]
fn format_table_names_units_and_options() {
    let (out, _) = outcome(&["trace", "formats"], 0);
    for part in ["msr:", "blkparse:", "100 ns since 1601", "option "] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
}

const OWN_TABLE: &str = "\
Time (us);Disk;Kind;Start sector;Bytes
10;sda;Write;0;4096
20;sdb;Read;8;8192
25;sda;Erase;8;512
30;sda;Write;16;512
";

#[test]
fn table_with_named_columns_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("own.txt").display().to_string();
    std::fs::write(&file, OWN_TABLE).unwrap();
    let (_, err) = outcome(&["trace", "describe", &file], 2);
    assert!(err.contains("`wearwell trace columns FILE` suggests"), "{err}");
    let (out, _) = outcome(&["trace", "columns", &file], 0);
    for part in [
        "with a header, separator semicolon",
        "look at this: say what the words of `Kind` mean: Erase, Read, Write",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let (out, _) = outcome(&["trace", "columns", &file, "--format", "json"], 0);
    let guess: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        guess["option"],
        "time=Time (us):us,op=Kind:0=read/1=write,offset=Start sector:sectors,size=Bytes:bytes,volume=Disk"
    );
    let columns =
        "time=Time (us):us,op=Kind:words/erase=trim,offset=Start sector:sectors,size=Bytes:bytes,volume=Disk";
    let (out, _) = outcome(&["trace", "describe", &file, "--columns", columns, "--format", "json"], 0);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["requests"], &found["trims"]["requests"]), (&Value::from(4), &Value::from(1)));
    assert_eq!(found["volumes"][1]["name"], "sdb");
    let converted = directory.path().join("own.csv").display().to_string();
    outcome(&["trace", "convert", &file, &converted, "--columns", columns, "--to", "wearwell-csv"], 0);
    let text = std::fs::read_to_string(&converted).unwrap();
    assert_eq!(text.lines().nth(2), Some("20000,R,1,4096,8192,0"));
}

#[test]
fn invalid_columns_and_cells_are_refused_with_valid_ones() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("own.txt").display().to_string();
    std::fs::write(&file, OWN_TABLE).unwrap();
    let message_for =
        |columns: &str, code: i32| outcome(&["trace", "check", &file, "--columns", columns], code).1;
    let found = message_for("op=Kind,offset=Start sector,size=Bytes:bytes", 2);
    assert!(
        found.contains("has no unit; write offset=Start sector:UNIT with bytes, sectors (512)"),
        "{found}"
    );
    let found = message_for("op=Kind,offset=Start sector:512,size=Bytes:bytes", 1);
    assert!(
        found.contains("own.txt, line 4: column `Kind (op)` is `Erase`, expected a word for read"),
        "{found}"
    );
    let found = message_for("op=Kind,offset=LBA:512,size=Bytes:bytes", 1);
    assert!(found.contains("own.txt, line 1: column `(header)`"), "{found}");
    assert!(found.contains("a column called `LBA` among 5, cut at the separator `semicolon`"), "{found}");
    let found = message_for("op=3,offset=2:512,size=5:bytes", 1);
    assert!(
        found.contains("line 2: column `2 (offset)` is `sda`, expected a number of units of 512 bytes"),
        "{found}"
    );
}

#[test]
fn error_suggests_columns_from_complete_header() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("own.csv").display().to_string();
    std::fs::write(&file, "timestamp_ns,op,lba_sector,len_sectors\n0,W,8,8\n50,D,8,8\n").unwrap();
    let columns = "time=timestamp_ns:ns,op=op,offset=lba_sector:sectors,size=len_sectors:sectors";
    let (_, err) = outcome(&["trace", "describe", &file], 2);
    assert!(err.contains(&format!("reads as the format table with --columns '{columns}'")), "{err}");
    let (out, _) = outcome(&["trace", "check", &file, "--columns", columns], 0);
    assert_eq!(out, "2 requests in the format table, all sound\n");
    let run = ["run", "--trace", &file, "--columns", columns, "--capacity", "4 MiB", "--set"];
    let small = [
        "device={ pages_per_block = 16, capacity = '4 MiB', spare_factor = 0.2 }",
        "--set",
        "measure.max_warm_up=2.0",
    ];
    let (out, _) = outcome(&[&run[..], &small, &["--set", "measure.drive_writes=0.5"]].concat(), 0);
    assert!(out.contains("trace own.csv, in a loop"), "{out}");
}

#[test]
fn drive_is_fitted_to_trace_and_lifetime_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("own.csv").display().to_string();
    let line = |at: u64| format!("{at},W,{},8\n", at % 500 * 800);
    let text: String = (0..5000).map(line).collect();
    std::fs::write(&file, format!("ms,op,sector,sectors\n{text}")).unwrap();
    let columns = ["--columns", "time=ms:ms,op=op,offset=sector:512,size=sectors:512"];
    let describe = ["trace", "describe", &file, "--tbw", "150"];
    let (out, _) = outcome(&[&describe[..], &columns].concat(), 0);
    // The trace writes 5000 pages of 4096 bytes in 4.999 s: 354 GB per day.
    assert!(out.contains("354 GB, as over the 5.00 s of the trace: 150 TB last 1.16 years"), "{out}");
    let (out, _) = outcome(&[&describe[..], &columns, &["--format", "json"]].concat(), 0);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert!((found["years"].as_f64().unwrap() - 1.16).abs() < 0.01, "{out}");
    let run = ["run", "--trace", &file, "--fit", "--drive-writes", "2", "--set"];
    let device =
        ["device={ pages_per_block = 16, capacity = '1 GiB', spare_factor = 0.2, endurance_cycles = 3000 }"];
    let (out, _) = outcome(&[&run[..], &device, &columns].concat(), 0);
    // The host can write about 0.006 TB to the drive, which takes some minutes at the rate of the trace.
    for part in [
        "500 pages (2.0 MiB) touched",
        "compacted",
        "minutes at the trace's own 354 GB a day, seen over 5.00 s",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let checked =
        [&["scenario", "check", "--trace", &file, "--fit", "--set"][..], &device, &columns].concat();
    let (out, _) = outcome(&checked, 0);
    assert!(out.contains("capacity = 2048000") && out.contains("touched_pages = 500"), "{out}");
    for (vary, capacity) in [("ftl.victim=greedy,fifo", "500"), ("device.spare_factor=0.2,0.3", "500")] {
        let sweep = [
            "sweep",
            "--vary",
            vary,
            "--trace",
            &file,
            "--fit",
            "--drive-writes",
            "2",
            "--format",
            "csv",
            "--set",
        ];
        let (out, _) = outcome(&[&sweep[..], &device, &columns].concat(), 0);
        let mut rows = out.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let at = rows.next().unwrap().iter().position(|name| name == "logical_pages").unwrap();
        assert_eq!(rows.map(|row| row[at].clone()).collect::<Vec<_>>(), [capacity; 2], "{vary}");
    }
    let both = [&run[..], &device, &columns, &["--capacity", "8 MiB"]].concat();
    assert!(outcome(&both, 2).1.contains("cannot be used with"), "both say how large the drive is");
}
