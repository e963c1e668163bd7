//! Traces in the user's folder, as parts of a scenario.

use crate::session::Session;

/// Supported traces, each of which writes and accesses at least 64 blocks of a drive: name, file, and format.
pub(crate) const TRACES: [(&str, &str, &str); 21] = [
    ("MSR prxy_0", "msr-prxy_0.csv.zst", "format = \"msr\""),
    (
        "MSR hm_0",
        "msr-hm_0-slice.trace.zst",
        "options = { columns = \"time=1:ms,op=5:0=write/1=read,offset=3:bytes,size=4:bytes\" }",
    ),
    (
        "MSR prn_0",
        "msr-prn_0-offsets.csv.zst",
        "skip_bad = true\noptions = { columns = \"time=1:filetime,op=2,offset=3:bytes,size==4096\" }",
    ),
    ("FIU mail", "fiu-mail-a.blkparse.zst", "format = \"fiu\""),
    ("Alibaba", "alibaba-derived.csv.zst", "format = \"alibaba\""),
    ("Tencent", "tencent-cbs.csv.zst", "format = \"tencent\""),
    ("CloudPhysics", "cloudphysics.csv.zst", "format = \"cloudphysics\""),
    ("MySQL", "blkreplay-linux-mysql.load.zst", "format = \"blkreplay\""),
    ("web server", "blkreplay-linux-webserver-2.load.zst", "format = \"blkreplay\""),
    (
        "RocksDB on XFS",
        "rocksdb-xfs-octf-a.csv.zst",
        "options = { columns = \"time=timestamp_ns:ns,op=op,offset=lba_sector:sectors,size=len_sectors:sectors\" }",
    ),
    (
        "SQLite on ext4",
        "wiscsee-sqlite-wal.txt.zst",
        "options = { columns = \"time=6:s,op=3,offset=4:bytes,size=5:bytes,where=2:D\" }",
    ),
    (
        "Financial1",
        "flashsim-financial1.trace.zst",
        "options = { columns = \"time=1:ms,op=5:0=write/1=read,offset=3:512,size=4:pages\" }",
    ),
    ("Financial1 beginning", "spc-financial1-10k.spc.zst", "format = \"spc\""),
    (
        "phone",
        "phone-music-md5.txt.zst",
        "skip_bad = true\noptions = { columns = \"time=1:s,op=2,offset=3:512,size=4:bytes,digest=7:4096,piece==4096\" }",
    ),
    ("TPC-C", "mqsim-tpcc-small.trace.zst", "format = \"mqsim\""),
    ("DTRS", "ssdsim-dtrs.trace.zst", "format = \"ssdsim\""),
    ("YCSB on ext4", "blkparse-ext4.txt.zst", "format = \"blkparse\"\nskip_bad = true"),
    ("YCSB on F2FS", "blkparse-f2fs.txt.zst", "format = \"blkparse\"\nskip_bad = true"),
    ("YCSB on Btrfs", "blkparse-btrfs.txt.zst", "format = \"blkparse\"\nskip_bad = true"),
    ("desktops a", "systor17-a.csv.zst", "format = \"systor17\""),
    ("desktops b", "systor17-b.csv.zst", "format = \"systor17\""),
];

/// A trace in the folder.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the trace.
    pub name: &'static str,
    /// TOML table for a scenario: all volumes on one drive, fitted to the extent of the trace.
    pub toml: String,
}

/// Returns the traces in the folder of `WEARWELL_TRACES`, in the order of the list.
pub fn available(session: &Session) -> Vec<Trace> {
    let Some(folder) = session.traces() else { return Vec::new() };
    let available = TRACES.iter().map(|(name, file, format)| (name, folder.join(file), format));
    let available = available.filter(|(_, path, _)| path.is_file());
    available
        .map(|(name, path, format)| Trace {
            name,
            toml: format!(
                "[trace]\npath = {:?}\naddress = \"compact\"\nvolume_rule = \"side_by_side\"\n{format}\n",
                path.to_string_lossy()
            ),
        })
        .collect()
}
