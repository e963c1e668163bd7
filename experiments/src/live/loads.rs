//! Loads: activity of an application on a mounted file system, and the number of bytes that it intends to write.

use crate::Failure;
use crate::nvmfs::job::{GeneratedJob, Job, SET_UP_LINE};
use crate::nvmfs::timed_mount::PLAY_ARGUMENTS;
use std::fmt::Write;
use std::path::Path;
use wearwell_base::seed::{Seed, random_below};
use wearwell_nvmfs::workload::FileWorkloadConfig;

/// Sizes of a load.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    /// Size of the disk in bytes.
    pub disk_bytes: u64,
    /// Approximate size of the files in bytes.
    pub file_bytes: u64,
    /// Number of bytes to write after the files are made; the load defines which bytes count.
    pub written_bytes: u64,
    /// Rate limit for fio in MiB per second.
    pub pace_mib_per_s: Option<u32>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Folder for the files of this load.
    pub scratch: &'a Path,
}

/// Shell commands of a load, with the file system mounted at `$ROOT`.
#[derive(Clone, Debug, Default)]
pub struct LoadPlan {
    /// Commands that make the files.
    pub fill: String,
    /// Commands of the measured part.
    pub run: String,
    /// Commands that end the processes which `fill` has started.
    pub end: String,
    /// Number of bytes that the application intends to write in the measured part; `None` if the job reports the
    /// number.
    pub application_bytes: Option<u64>,
    /// Command that prints the number of bytes that the processes of the application have passed to the file system so
    /// far. Empty if this number is equal to the number of bytes that the application intends to write.
    pub file_bytes_command: &'static str,
}

/// A load.
pub struct LoadKind {
    /// Name of the load in settings and tables.
    pub name: &'static str,
    /// True if log-structured file systems must log the writes of the load, even if they would write in place.
    pub needs_log: bool,
    /// Programs that the load needs, each with its package.
    pub programs: &'static [(&'static str, &'static str)],
    /// Returns the commands of the load for these sizes.
    pub plan: fn(&Sizes) -> Result<LoadPlan, Failure>,
}

/// All loads.
pub const LOADS: [LoadKind; 8] = [
    LoadKind { name: "random", needs_log: true, programs: FIO, plan: random },
    LoadKind { name: "direct", needs_log: false, programs: FIO, plan: direct },
    LoadKind { name: "sequential", needs_log: true, programs: FIO, plan: sequential },
    LoadKind { name: "fileserver", needs_log: false, programs: &[], plan: fileserver },
    LoadKind { name: "sqlite", needs_log: false, programs: &[("sqlite3", "sqlite3")], plan: sqlite },
    LoadKind { name: "postgresql", needs_log: false, programs: POSTGRESQL, plan: postgresql },
    LoadKind { name: "rocksdb", needs_log: false, programs: DB_BENCH, plan: rocksdb },
    LoadKind { name: "rocksdb_held", needs_log: false, programs: DB_BENCH, plan: rocksdb_held },
];

const FIO: &[(&str, &str)] = &[("fio", "fio")];
const DB_BENCH: &[(&str, &str)] = &[("db_bench", "rocksdb-tools")];
const POSTGRESQL: &[(&str, &str)] =
    &[("pgbench", "postgresql"), ("psql", "postgresql"), ("runuser", "util-linux")];

/// Returns the load with this name.
///
/// # Errors
///
/// Returns an error for an unknown name.
pub fn find(name: &str) -> Result<&'static LoadKind, Failure> {
    LOADS.iter().find(|load| load.name == name).ok_or_else(|| {
        let names: Vec<&str> = LOADS.iter().map(|load| load.name).collect();
        format!("there is no load `{name}`; there are {}", names.join(", ")).into()
    })
}

/// Returns a plan with a single file, which has the same share of duplicate pages as the trace homes (Wu et al.,
/// IPDPS 2021: 23.3 %).
fn fio(sizes: &Sizes, run: &str) -> LoadPlan {
    let job = "fio --filename=$ROOT/file --ioengine=psync --fallocate=none --refill_buffers --dedupe_percentage=23 \
               --output-format=terse";
    let Sizes { file_bytes, written_bytes, seed, .. } = sizes;
    let pace = sizes.pace_mib_per_s.map(|mib| format!(" --rate={mib}m")).unwrap_or_default();
    LoadPlan {
        fill: format!("{job} --name=fill --rw=write --bs=1m --size={file_bytes} > /dev/null\n"),
        run: format!(
            "{job} --name=load --randseed={seed} --size={file_bytes} --io_size={written_bytes}{pace} {run} > /dev/null\n"
        ),
        application_bytes: Some(*written_bytes),
        ..LoadPlan::default()
    }
}

/// Overwrites blocks of 4 KiB at random through the page cache, with an fdatasync after every 64 writes.
fn random(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    Ok(fio(sizes, "--rw=randwrite --bs=4k --fdatasync=64"))
}

/// Overwrites blocks of 4 KiB at random by direct I/O, with the same fdatasyncs.
fn direct(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    Ok(fio(sizes, "--rw=randwrite --bs=4k --direct=1"))
}

/// Overwrites blocks of 128 KiB sequentially through the page cache.
fn sequential(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    Ok(fio(sizes, "--rw=write --bs=128k --fdatasync=64"))
}

/// Writes, reads, extends and removes whole files, like the Filebench personality in the experiments on NVMFS;
/// everything is synced after every 16 MiB.
fn fileserver(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    let utilisation = sizes.file_bytes as f64 / sizes.disk_bytes as f64;
    let job = GeneratedJob {
        workload: toml::from_str::<FileWorkloadConfig>(&format!(
            "kind = \"fileserver\"\nutilisation = {utilisation:?}\n"
        ))?,
        capacity_bytes: sizes.disk_bytes,
        seed: sizes.seed,
        main_bytes: sizes.written_bytes,
        sync_bytes: Some(16 << 20),
        unique_pages: true,
    };
    let command = Job::generated(&job, &PLAY_ARGUMENTS, sizes.scratch)?.command("$ROOT");
    let quoted: Vec<String> = command.iter().map(|part| format!("\"{part}\"")).collect();
    Ok(LoadPlan { run: format!("{}\n", quoted.join(" ")), ..LoadPlan::default() })
}

/// Command that prints the number of bytes that the shell and its finished children have passed to the file system.
const SHELL_WRITTEN_BYTES: &str = "awk '/^wchar/ { print $2 }' /proc/$$/io";

/// Bytes of a row's value.
const SQLITE_VALUE_BYTES: u64 = 100;

/// Updates rows of 100 bytes, each in a separate transaction, with a write-ahead log and full synchronisation. The
/// number of transactions is `written_bytes` / 32 KiB.
fn sqlite(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    let rows = (sizes.file_bytes / 8 / SQLITE_VALUE_BYTES).max(1000);
    let updates = (sizes.written_bytes >> 15).max(1);
    let value = |seed: u64| format!("printf('%0{SQLITE_VALUE_BYTES}d', {seed})");
    let create_sql = format!(
        "PRAGMA journal_mode = WAL;\nCREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);\n\
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})\n\
         INSERT INTO t SELECT i, {} FROM n;\nPRAGMA wal_checkpoint(TRUNCATE);\n",
        value(0).replace(", 0)", ", i)")
    );
    let mut update_sql = "PRAGMA synchronous = FULL;\n".to_owned();
    let mut random = Seed(sizes.seed).random();
    for _ in 0..updates {
        let (row, value) = (random_below(&mut random, rows) + 1, value(random_below(&mut random, 1 << 40)));
        writeln!(update_sql, "UPDATE t SET v = {value} WHERE id = {row};")?;
    }
    std::fs::write(sizes.scratch.join("made.sql"), create_sql)?;
    std::fs::write(sizes.scratch.join("updated.sql"), update_sql)?;
    let run = |file: &str| format!("sqlite3 $ROOT/db < {}/{file}.sql > /dev/null\n", sizes.scratch.display());
    Ok(LoadPlan {
        fill: run("made"),
        run: run("updated"),
        application_bytes: Some(updates * SQLITE_VALUE_BYTES),
        file_bytes_command: SHELL_WRITTEN_BYTES,
        ..LoadPlan::default()
    })
}

/// Number of bytes that a transaction of TPC-B changes: three rows of 100 bytes and one of 50 (TPC Benchmark B,
/// clause 3.1).
const TPCB_BYTES: u64 = 350;

/// Runs TPC-B by pgbench. The number of transactions is `written_bytes` / 64 KiB. Checkpoints do not depend on time;
/// a command at the end makes one.
fn postgresql(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    let scale = (sizes.file_bytes / 4 / (16 << 20)).max(1);
    let transactions = (sizes.written_bytes >> 16).max(1);
    let fill = format!(
        "PG=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1); SOCKET=$(mktemp -d -p /dev/shm)\n\
         mkdir $ROOT/pg; chown postgres $ROOT/pg $SOCKET\n\
         as_postgres() {{ runuser -u postgres -- \"$@\" > /dev/null 2>&1; }}\n\
         as_postgres $PG/initdb -D $ROOT/pg -A trust\n\
         as_postgres $PG/pg_ctl -D $ROOT/pg -w -l $SOCKET/log -o \"-k $SOCKET -c listen_addresses= \
         -c checkpoint_timeout=1d\" start\n\
         stop() {{ as_postgres $PG/pg_ctl -D $ROOT/pg -m fast -w stop; rm -rf $SOCKET; }}\n\
         trap 'stop' EXIT; trap 'exit 1' TERM INT HUP\n\
         as_postgres pgbench -h $SOCKET -i -q -s {scale} postgres\n\
         as_postgres psql -h $SOCKET -c CHECKPOINT postgres\n"
    );
    let run = format!(
        "as_postgres pgbench -h $SOCKET -n -c 1 -t {transactions} --random-seed={} postgres\n\
         as_postgres psql -h $SOCKET -c CHECKPOINT postgres\n",
        sizes.seed
    );
    // These are the files of the server and of its processes that are still running.
    let files = "P=$(head -n 1 $ROOT/pg/postmaster.pid); cat /proc/$P/io $(awk -v p=$P '/^PPid:/ && $2 == p \
                 { split(FILENAME, f, \"/\"); print \"/proc/\" f[3] \"/io\" }' /proc/[0-9]*/status 2> /dev/null) | \
                 awk '/^wchar/ { sum += $2 } END { print sum }'";
    let end = "trap - EXIT\nstop\n".to_owned();
    Ok(LoadPlan {
        fill,
        run,
        end,
        application_bytes: Some(transactions * TPCB_BYTES),
        file_bytes_command: files,
    })
}

/// Bytes of a record of db_bench: its key and its value.
pub const RECORD_BYTES: u64 = 16 + 400;

/// Runs db_bench: fills half of the space in order, then overwrites at random. Tables have 4 MiB, each level has ten
/// times the size of the previous one, and there is no compression.
fn rocksdb(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    Ok(db_bench(sizes, ""))
}

/// Runs the same load with a writer that waits while level 0 has as many runs as a merge takes. Otherwise, more runs
/// gather during a merge if the writer is faster.
fn rocksdb_held(sizes: &Sizes) -> Result<LoadPlan, Failure> {
    let runs = LEVEL_0_RUNS;
    Ok(db_bench(
        sizes,
        &format!("--level0_slowdown_writes_trigger={runs} --level0_stop_writes_trigger={runs}"),
    ))
}

/// Number of runs in level 0 at which RocksDB starts a merge by default.
pub const LEVEL_0_RUNS: u32 = 4;

fn db_bench(sizes: &Sizes, options: &str) -> LoadPlan {
    let records = (sizes.file_bytes / 2 / RECORD_BYTES).max(1000);
    let writes = (sizes.written_bytes / RECORD_BYTES).max(1);
    let command = format!(
        "db_bench --db=$ROOT/db --num={records} --key_size=16 --value_size=400 --compression_type=none \
         --write_buffer_size=4194304 --target_file_size_base=4194304 --max_bytes_for_level_base=16777216 \
         --use_direct_io_for_flush_and_compaction=1 --threads=1 --seed={} {options}",
        sizes.seed
    );
    let quiet = "> /dev/null 2>&1\n";
    LoadPlan {
        fill: format!("{command} --benchmarks=fillseq {quiet}"),
        run: format!("{command} --use_existing_db=1 --benchmarks=overwrite --writes={writes} {quiet}"),
        application_bytes: Some(writes * RECORD_BYTES),
        file_bytes_command: SHELL_WRITTEN_BYTES,
        ..LoadPlan::default()
    }
}

impl LoadPlan {
    /// Returns the script of the fill, the measured part and the end, with a marker line at the start of each;
    /// `count_script` prints counts.
    pub fn script(&self, count_script: &str, done_line: &str) -> String {
        let LoadPlan { fill, run, end, file_bytes_command: files, .. } = self;
        let files =
            if files.is_empty() { String::new() } else { format!("echo \"live: files $({files})\"\n") };
        // A generated job reports when its files are made.
        let set_up = if fill.is_empty() {
            String::new()
        } else {
            format!("sync\n{files}{count_script}echo '{SET_UP_LINE}'\n")
        };
        format!("{fill}{set_up}{run}sync\n{files}{count_script}echo '{done_line}'\n{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_marks_start_and_end_of_its_measured_part() {
        let scratch = tempfile::tempdir().unwrap();
        let sizes = Sizes {
            disk_bytes: 1 << 29,
            file_bytes: 1 << 28,
            written_bytes: 1 << 27,
            pace_mib_per_s: Some(4),
            seed: 3,
            scratch: scratch.path(),
        };
        for load in &LOADS {
            let plan = (load.plan)(&sizes).unwrap();
            let script = plan.script("", "DONE");
            let (before, after) = script.split_once("echo 'DONE'").unwrap();
            assert_eq!(before.contains(SET_UP_LINE), load.name != "fileserver", "{script}");
            assert_eq!(plan.application_bytes.is_none(), load.name == "fileserver", "{}", load.name);
            assert_eq!(after.contains("stop"), load.name == "postgresql", "{script}");
            assert_eq!(before.contains("--rate=4m"), load.programs == FIO, "{script}");
        }
        assert!(find("mysql").err().unwrap().to_string().contains("sqlite"));
    }

    #[test]
    fn updated_rows_depend_on_seed_alone() {
        let folders = [1, 1, 2].map(|seed| {
            let scratch = tempfile::tempdir().unwrap();
            let sizes = Sizes {
                disk_bytes: 1 << 26,
                file_bytes: 1 << 25,
                written_bytes: 1 << 21,
                pace_mib_per_s: None,
                seed,
                scratch: scratch.path(),
            };
            let plan = sqlite(&sizes).unwrap();
            assert_eq!(plan.application_bytes, Some(64 * 100));
            std::fs::read_to_string(scratch.path().join("updated.sql")).unwrap()
        });
        assert!(folders[0] == folders[1] && folders[0] != folders[2]);
        assert_eq!(folders[0].lines().count(), 65);
    }
}
