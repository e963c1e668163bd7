use super::*;
use proptest::prelude::*;

fn option(text: &str) -> (String, bool) {
    let guess = guess_table(text.as_bytes()).unwrap_or_else(|| panic!("no table: {text}"));
    (guess.option.clone(), guess.is_certain())
}

#[test]
fn complete_header_leaves_no_doubts() {
    let cases = [
        (
            "timestamp_ns,op,lba_sector,len_sectors,write_hint,file_offset_sectors\n0,W,1652296,256,0,0\n5,D,8,8,0,256\n",
            "time=timestamp_ns:ns,op=op,offset=lba_sector:sectors,size=len_sectors:sectors",
        ),
        (
            "Time (us);Disk ID;IOType;Offset;Size\n10;0;Read;4096;8192\n20;0;Write;0;512\n",
            "time=Time (us):us,op=IOType,offset=Offset:bytes,size=Size:bytes,volume=Disk ID",
        ),
        (
            "ts\tis_write\tsector\tbytes\n1484803046.18\t1\t49135896\t4096\n1484803046.19\t0\t7\t512\n",
            "time=ts:s,op=is_write:0=read/1=write,offset=sector:sectors,size=bytes:bytes",
        ),
        (
            "ArrivalTime[ms] Opcode ByteOffset Length\n128166372003 2a 4096 8192\n128166372004 28 0 512\n",
            "time=ArrivalTime[ms]:ms,op=Opcode:scsi,offset=ByteOffset:bytes,size=Length:bytes",
        ),
        (
            "ms,rw,Sector,nr_sectors\n1,r,0,8\n",
            "time=ms:ms,op=rw,offset=Sector:sectors,size=nr_sectors:sectors",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(option(text), (expected.to_owned(), true), "{:?}", guess_table(text.as_bytes()));
    }
}

#[test]
fn missing_information_raises_doubts() {
    let doubts = |text: &str| guess_table(text.as_bytes()).unwrap().doubts.join("; ");
    let found = doubts("time,op,lba,len\n1,0,8,8\n2,1,16,8\n");
    for part in ["the unit of `time`", "0 or 1 in `op`", "`lba` is taken to count sectors", "`len` is taken"]
    {
        assert!(found.contains(part), "{found}");
    }
    let found = doubts("time_us,op,lba_sector,offset_bytes,size_bytes\n1,R,8,512,512\n");
    assert!(found.contains("`offset` may be `lba_sector` or `offset_bytes`"), "{found}");
    assert!(doubts("time_us,what,offset_bytes\n1,x,512\n").contains("no column looks like `op`"));
    assert!(doubts("time_us,what,offset_bytes\n1,R,512\n").contains("`what` is taken for `op`"));
    assert!(doubts("time_us,op,offset_bytes,size\n1,erase,512,512\n").contains("mean: erase"));
}

#[test]
fn comment_before_rows_names_columns() {
    let text = "# made by hand\n#time_us op offset_bytes size\n0 write 0 4096\n10 write 4096 4096\n";
    let guess = guess_table(text.as_bytes()).unwrap();
    // A reader ignores comments, so the guess refers to columns by number.
    assert_eq!(guess.option, "time=1:us,op=2,offset=3:bytes,size=4:bytes");
    assert_eq!(guess.doubts, ["the names are those of a comment in front of the first row"]);
    assert_eq!((guess.has_header, guess.columns[0].name.as_deref()), (false, Some("time_us")));
    // A comment that names no columns, and a comment followed by a header.
    let found = |text: &str| guess_table(text.as_bytes()).unwrap();
    assert_eq!(found(&text.replace(" size\n", "\n")).columns[0].name, None);
    let named = found("# a b c d\ntime_us op offset_bytes size\n0 write 0 4096\n");
    assert_eq!(named.option, "time=time_us:us,op=op,offset=offset_bytes:bytes,size=size:bytes");
}

#[test]
fn table_without_header_is_guessed_from_values() {
    let cases = [
        (
            "1.28166E+17,Write,3213955072\n1.28166E+17,Read,3154137088\n",
            "time=1:filetime,op=2,offset=3:bytes,size==4096",
        ),
        (
            "39949 D read 299008 4096 0.000000000 0 False\n0 C read 299008 8192 0.000122793 0.000122793 False\n",
            "time=6:s,op=3,offset=4:bytes,size=5:bytes",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(option(text), (expected.to_owned(), false));
    }
    let events = guess_table(cases[1].0.as_bytes()).unwrap().doubts;
    assert!(events.iter().any(|doubt| doubt.starts_with("`2` holds C, D: if only some")), "{events:?}");
    assert_eq!(
        option("0.5 0 7 8 0\n0.6 0 9 16 1\n").0,
        "time=1:s,op=5:0=read/1=write,offset=4:sectors,size=3:sectors"
    );
    let digest = "080617000bbba905fb80567c1165d6fa";
    let rows = format!(
        "1484803046.18\tW\t49135896\t4096\tmain\t{digest}\n1484803046.19\tW\t1810\t8192\tmain\t{digest}\n"
    );
    assert_eq!(option(&rows).0, "time=1:s,op=2,offset=3:sectors,size=4:bytes,digest=6:4096");
}

#[test]
fn text_without_columns_is_not_a_table() {
    let long = "x".repeat(100);
    for text in ["", "\n\n", "one\ntwo\n", "a b c\nd e f\n", "# only\n# comments\n", "\0\0,\0\n", &long] {
        assert_eq!(guess_table(text.as_bytes()), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_examined_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = guess_table(&bytes);
    }

    #[test]
    fn guessed_option_parses_unless_doubted(rows in proptest::collection::vec("[a-z0-9.,;=: RW\t|\"]{0,30}", 0..8)) {
        let Some(guess) = guess_table(rows.join("\n").as_bytes()) else { return Ok(()) };
        let open = guess.doubts.iter().any(|doubt| doubt.contains("has to be put right"));
        let parsed = super::super::columns::Columns::parse(&guess.option);
        prop_assert!(open || parsed.is_ok(), "{} {:?}", guess.option, parsed);
    }
}
