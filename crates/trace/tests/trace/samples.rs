//! The sample traces, built from the formats' descriptions without the library's writers: a reader that reads them
//! correctly agrees with the descriptions and not only with Wearwell's own writers.

use wearwell_trace::{Digest, Op, Request};

/// A sample: its format, file name and content.
pub struct Sample {
    pub format: &'static str,
    pub file: &'static str,
    pub content: Vec<u8>,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Returns request `number` of the sample workload: whole pages, 200 us to 0.1 s apart, a tenth discards and flushes.
fn request(number: u64, time_ns: &mut u64) -> Request {
    // A multiplicative generator, so that the samples do not depend on a library's random numbers.
    let random =
        (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number + 7).wrapping_mul(0xd1b5_4a32_d192_ed03);
    let random = (random ^ (random >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8;
    *time_ns += (2 + random % 999) * 100_000;
    let op = match random / 1000 % 20 {
        0..=4 => Op::Read,
        5..=17 => Op::Write,
        18 => Op::Trim,
        _ => Op::Flush,
    };
    let (page, pages) = match op {
        Op::Flush => (0, 0),
        _ => (random / 20_000 % 40, 1 + random / 800_000 % 4),
    };
    Request {
        time_ns: *time_ns,
        op,
        volume: 0,
        offset_bytes: page * 4096,
        length_bytes: pages * 4096,
        hint: 0,
    }
}

/// Returns the sample workload.
pub fn requests() -> Vec<Request> {
    let mut time_ns = 0;
    (0..120).map(|number| request(number, &mut time_ns)).collect()
}

/// Returns the digest of a sector: one of ten contents, the first of them zeros.
pub fn sector_digest(request: &Request, sector: u64) -> Digest {
    const ZEROS: u128 = 0xbf61_9eac_0cdf_3f68_d496_ea93_4413_7e8b;
    match (request.time_ns / 100_000 + request.offset_bytes / 4096 + sector / 8) % 10 {
        0 => ZEROS.to_be_bytes(),
        kind => [kind as u8; 16],
    }
}

/// Returns the digest of a page: one of ten contents, the first of them zeros.
pub fn page_digest(request: &Request, page: u64) -> Digest {
    const ZEROS: u128 = 0x620f_0b67_a91f_7f74_151b_c5be_745b_7110;
    match (request.time_ns / 100_000 + request.offset_bytes / 4096 + page) % 10 {
        0 => ZEROS.to_be_bytes(),
        kind => [kind as u8; 16],
    }
}

pub fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True if `format` can hold the operation.
pub fn can_hold(format: &str, op: Op) -> bool {
    match format {
        "blkparse" | "blktrace" | "fio-iolog-v2" | "fio-iolog-v3" | "cloudphysics" | "table"
        | "wearwell-csv" => true,
        "oracle-general" => op == Op::Write,
        _ => matches!(op, Op::Read | Op::Write),
    }
}

/// Returns all samples.
pub fn samples() -> Vec<Sample> {
    let text = |format, file, before: &str, line: fn(&Request) -> String, after: &str| {
        let lines: String =
            requests().iter().filter(|request| can_hold(format, request.op)).map(line).collect();
        Sample { format, file, content: format!("{before}{lines}{after}").into_bytes() }
    };
    let binary = |format, file, record: fn(&Request) -> Vec<u8>| {
        let records = requests();
        let records = records.iter().filter(|request| can_hold(format, request.op));
        Sample { format, file, content: records.flat_map(record).collect() }
    };
    vec![
        text("msr", "msr.csv", "", msr, ""),
        text("fiu", "fiu.blkparse", "", |request| fiu(request, 8, page_digest), ""),
        text("fiu-homes", "fiu-homes.blkparse", "", |request| fiu(request, 1, sector_digest), ""),
        text("blkparse", "blkparse.txt", "", blkparse, BLKPARSE_SUMMARY),
        binary("blktrace", "blktrace.bin", blktrace),
        text("fio-iolog-v2", "fio-iolog-v2.log", FIO_V2_HEAD, fio_v2, "/dev/sdz close\n"),
        text("fio-iolog-v3", "fio-iolog-v3.log", FIO_V3_HEAD, fio_v3, "13000000 /dev/sdz close\n"),
        text("spc", "spc.spc", "", spc, ""),
        text("alibaba", "alibaba.csv", "", alibaba, ""),
        text("tencent", "tencent.csv", "", tencent, ""),
        text("systor17", "systor17.csv", "Timestamp,Response,IOType,LUN,Offset,Size\n", systor17, ""),
        text("disksim", "disksim.trace", "", disksim, ""),
        text("ssdsim", "ssdsim.ascii", "", five_numbers, ""),
        text("mqsim", "mqsim.trace", "", five_numbers, ""),
        text("blkreplay", "blkreplay.load", BLKREPLAY_HEAD, blkreplay, ""),
        text("cloudphysics", "cloudphysics.csv", "version,time,op,size,lbn\n", cloudphysics, ""),
        binary("oracle-general", "oracle-general.bin", oracle_general),
        text("table", "table.csv", TABLE_HEAD, table, ""),
        text("wearwell-csv", "wearwell-csv.csv", WEARWELL_HEAD, wearwell_csv, ""),
    ]
}

const BLKPARSE_SUMMARY: &str = "\
CPU0 (8,16):
 Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB
 Read Dispatches:       31,      300KiB\t Write Dispatches:       79,      800KiB

Total (8,16):
 Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB

Throughput (R/W): 0KiB/s / 0KiB/s
Events (8,16): 360 entries
Skips: 0 forward (0 -   0.0%)
";
const FIO_V2_HEAD: &str = "fio version 2 iolog\n/dev/sdz add\n/dev/sdz open\n";
const FIO_V3_HEAD: &str = "fio version 3 iolog\n0 /dev/sdz add\n0 /dev/sdz open\n";
const BLKREPLAY_HEAD: &str = "A made-up load.\n\n12 ; 13 ; this is still free text\n\
                              start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n";
const TABLE_HEAD: &str = "# a table of somebody's own\ndev,ts,type,\"lba\",len,latency\n";
const WEARWELL_HEAD: &str = "time_ns,op,volume,offset_bytes,length_bytes,hint,digests_4096\n";

fn letter(request: &Request) -> char {
    if request.op == Op::Read { 'R' } else { 'W' }
}

fn sectors(request: &Request) -> (u64, u64) {
    (request.offset_bytes / 512, request.length_bytes / 512)
}

fn seconds(request: &Request) -> String {
    format!("{}.{:09}", request.time_ns / SECOND_NS, request.time_ns % SECOND_NS)
}

fn msr(request: &Request) -> String {
    let op = if request.op == Op::Read { "Read" } else { "Write" };
    let time = 128_166_372_000_000_000 + request.time_ns / 100;
    format!("{time},here,0,{op},{},{},2833\n", request.offset_bytes, request.length_bytes)
}

fn fiu(request: &Request, sectors_per_digest: usize, digest: fn(&Request, u64) -> Digest) -> String {
    let (sector, sectors) = sectors(request);
    let parts = (0..sectors).step_by(sectors_per_digest);
    let digests: String = parts.map(|part| hex(&digest(request, part / sectors_per_digest as u64))).collect();
    format!("{} 4270 a process {sector} {sectors} {} 0 0 {digests}\n", request.time_ns, letter(request))
}

/// Returns a request with all its events: queued, issued, completed 1 ms later.
fn blkparse(request: &Request) -> String {
    let (sector, sectors) = sectors(request);
    let (rwbs, extent) = match request.op {
        Op::Read => ("RA", format!("{sector} + {sectors} ")),
        Op::Write => ("WS", format!("{sector} + {sectors} ")),
        Op::Trim => ("D", format!("{sector} + {sectors} ")),
        Op::Flush => ("FN", String::new()),
    };
    let done = Request { time_ns: request.time_ns + 1_000_000, ..request.clone() };
    let event = |action, at, process| {
        format!("  0,0    1       42 {at:>15}  3645  {action} {rwbs:>3} {extent}[{process}]\n")
    };
    event('Q', seconds(request), "java")
        + &event('D', seconds(request), "java")
        + &event('C', seconds(&done), "0")
}

/// Returns a request with its queue and issue events, the latter with a payload.
fn blktrace(request: &Request) -> Vec<u8> {
    let kind: u32 = match request.op {
        Op::Read => 1,
        Op::Write => 2 | 1 << 3,
        Op::Trim => 2 | 1 << 13,
        Op::Flush => 1 | 1 << 2,
    };
    let event = |event: u32, category: u32, payload: &[u8]| {
        let mut record = 0x6561_7407u32.to_le_bytes().to_vec();
        record.extend(1u32.to_le_bytes());
        record.extend(request.time_ns.to_le_bytes());
        record.extend((request.offset_bytes / 512).to_le_bytes());
        record.extend((request.length_bytes as u32).to_le_bytes());
        record.extend((event | (kind | category | 1 << 8) << 16).to_le_bytes());
        record.extend([0; 14]);
        record.extend((payload.len() as u16).to_le_bytes());
        record.extend(payload);
        record
    };
    [event(1, 1 << 4, b""), event(7, 1 << 6, b"abcd")].concat()
}

fn fio_line(request: &Request) -> String {
    match request.op {
        Op::Read => format!("/dev/sdz read {} {}\n", request.offset_bytes, request.length_bytes),
        Op::Write => format!("/dev/sdz write {} {}\n", request.offset_bytes, request.length_bytes),
        Op::Trim => format!("/dev/sdz trim {} {}\n", request.offset_bytes, request.length_bytes),
        Op::Flush => "/dev/sdz datasync 0 0\n".to_owned(),
    }
}

fn fio_v2(request: &Request) -> String {
    // The time since the previous request, and a wait that fio ignores.
    let all = requests();
    let before = all.iter().rev().find(|other| other.time_ns < request.time_ns);
    let wait_us = (request.time_ns - before.map_or(0, |other| other.time_ns)) / 1000;
    format!("/dev/sdz wait {wait_us} 0\n/dev/sdz wait 99 0\n") + &fio_line(request)
}

fn fio_v3(request: &Request) -> String {
    format!("{} {}", request.time_ns / 1000, fio_line(request))
}

fn spc(request: &Request) -> String {
    let (sector, letter) = (request.offset_bytes / 512, letter(request).to_ascii_lowercase());
    format!("0,{sector},{},{letter},{},1,2\n", request.length_bytes, seconds(request))
}

fn alibaba(request: &Request) -> String {
    let us = request.time_ns / 1000;
    format!("0,{},{},{},{us}\n", letter(request), request.offset_bytes, request.length_bytes)
}

fn tencent(request: &Request) -> String {
    let (sector, sectors) = sectors(request);
    let op = if request.op == Op::Read { 0 } else { 1 };
    format!("{},{sector},{sectors},{op},0\n", request.time_ns / SECOND_NS)
}

fn systor17(request: &Request) -> String {
    let (offset, length) = (request.offset_bytes, request.length_bytes);
    format!("{},0.000806000,{},0,{offset},{length}\n", seconds(request), letter(request))
}

fn disksim(request: &Request) -> String {
    let (sector, sectors) = sectors(request);
    let flags = if request.op == Op::Read { "1f" } else { "10" };
    let (ms, ns) = (request.time_ns / 1_000_000, request.time_ns % 1_000_000);
    format!("{ms}.{ns:06} 0 {sector} {sectors} {flags}\n")
}

fn five_numbers(request: &Request) -> String {
    let (sector, sectors) = sectors(request);
    let op = if request.op == Op::Read { 1 } else { 0 };
    format!("{} 0 {sector} {sectors} {op}\n", request.time_ns)
}

fn blkreplay(request: &Request) -> String {
    let (sector, sectors) = sectors(request);
    format!("{:>17} ; {sector:12} ; {sectors:4} ; {} ; 0.0 ; 0.0\n", seconds(request), letter(request))
}

fn cloudphysics(request: &Request) -> String {
    let code = match request.op {
        Op::Read => "28",
        Op::Write => "2a",
        Op::Trim => "42",
        Op::Flush => "35",
    };
    format!("1,{},{code},{},{}\n", request.time_ns / 1000, request.length_bytes, request.offset_bytes / 512)
}

fn oracle_general(request: &Request) -> Vec<u8> {
    let mut record = ((request.time_ns / SECOND_NS) as u32).to_le_bytes().to_vec();
    record.extend((request.offset_bytes / 4096).to_le_bytes());
    record.extend((request.length_bytes as u32).to_le_bytes());
    record.extend((-1i64).to_le_bytes());
    record
}

/// Returns a row of a table that needs the option `columns`, with words, quotation marks and unused columns.
fn table(request: &Request) -> String {
    let (sector, sectors) = sectors(request);
    let op = ["read", "Write", "DISCARD", "f"][request.op as usize];
    format!("0,{},\"{op}\",{sector},{sectors},0.25\n", request.time_ns)
}

fn wearwell_csv(request: &Request) -> String {
    let op = ["R", "W", "T", "F"][request.op as usize];
    let pages = if request.op == Op::Write { request.length_bytes / 4096 } else { 0 };
    let digests: Vec<_> = (0..pages).map(|page| hex(&page_digest(request, page))).collect();
    let (offset, length) = (request.offset_bytes, request.length_bytes);
    format!("{},{op},0,{offset},{length},0,{}\n", request.time_ns, digests.join("+"))
}
