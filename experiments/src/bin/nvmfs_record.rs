//! Qiu and Reddy (2013): what real file systems send to their disk under the paper's workloads, recorded and replayed on
//! two FTLs. Must be run by root.

use lexopt::prelude::*;
use std::path::{Path, PathBuf};
use wearwell_core::trace::{Op, RequestBatch, TraceWriter, WriteOptions};
use wearwell_experiments::Failure;
use wearwell_experiments::nvmfs::guest::{self, NILFS2};
use wearwell_experiments::nvmfs::host::HostFileSystem;
use wearwell_experiments::nvmfs::job::{GeneratedJob, Job, Seen, play};
use wearwell_experiments::nvmfs::recorder::Recorder;
use wearwell_experiments::nvmfs::replay::{ReplayFtl, replay};
use wearwell_experiments::table::Table;
use wearwell_nvmfs::workload::{FILE_WORKLOADS, FileWorkloadConfig};

const HELP: &str = "\
nvmfs_record [--file-systems ext3,ext4,btrfs,nilfs2] [--workloads iozone,postmark,fio,fileserver,...]
             [--disk-mib 2048] [--cache-mib 128] [--utilisation 0.6] [--written-mib 1024] [--seed 1]
             [--sync-every WRITES] [--scratch /dev/shm] [--out experiments/results] [--traces FOLDER]
The packaged programs are workloads too: program:postmark, program:fio.
nvmfs_record play JOB DIRECTORY: plays one job; used by the recordings.";

/// What to record.
struct Settings {
    file_systems: Vec<String>,
    workloads: Vec<String>,
    /// Of the disk. The paper's has 64 GB, beside 4 GB of page cache.
    disk_mib: u64,
    /// Of the page cache: a sixteenth of the disk, as in the paper.
    cache_mib: u64,
    utilisation: f64,
    /// What the main phase is to write, about.
    written_mib: u64,
    seed: u64,
    sync_every: Option<u64>,
    scratch: PathBuf,
    out: PathBuf,
    /// Where recordings are kept; nowhere unless given.
    traces: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Settings {
            file_systems: names(&["ext3", "ext4", "btrfs", NILFS2]),
            workloads: FILE_WORKLOADS.iter().map(|entry| entry.name.to_owned()).collect(),
            disk_mib: 2048,
            cache_mib: 128,
            utilisation: 0.6,
            written_mib: 1024,
            seed: 1,
            sync_every: None,
            scratch: "/dev/shm".into(),
            out: "experiments/results".into(),
            traces: None,
        }
    }
}

fn settings(mut parser: lexopt::Parser) -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    let list = |value: std::ffi::OsString| -> Result<Vec<String>, Failure> {
        Ok(value.string()?.split(',').map(str::to_owned).collect())
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("file-systems") => settings.file_systems = list(parser.value()?)?,
            Long("workloads") => settings.workloads = list(parser.value()?)?,
            Long("disk-mib") => settings.disk_mib = parser.value()?.parse()?,
            Long("cache-mib") => settings.cache_mib = parser.value()?.parse()?,
            Long("utilisation") => settings.utilisation = parser.value()?.parse()?,
            Long("written-mib") => settings.written_mib = parser.value()?.parse()?,
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("sync-every") => settings.sync_every = Some(parser.value()?.parse()?),
            Long("scratch") => settings.scratch = parser.value()?.into(),
            Long("out") => settings.out = parser.value()?.into(),
            Long("traces") => settings.traces = Some(parser.value()?.into()),
            Long("help") => {
                println!("{HELP}");
                std::process::exit(0);
            }
            _ => return Err(arg.unexpected().into()),
        }
    }
    Ok(settings)
}

/// Operations of a workload that write about so many bytes.
fn operations(workload: &str, written_mib: u64) -> u64 {
    let bytes_each = match workload {
        "postmark" => (0.5 * 5135.0 + 0.5 * 1628.0) as u64,
        "fileserver" => (128 + 16) << 10,
        _ => 4096,
    };
    (written_mib << 20) / bytes_each
}

fn job(settings: &Settings, workload: &str, scratch: &Path) -> Result<Job, Failure> {
    let disk_bytes = settings.disk_mib << 20;
    let operations = operations(workload.trim_start_matches("program:"), settings.written_mib);
    let filled = settings.utilisation * disk_bytes as f64;
    match workload.strip_prefix("program:") {
        Some("postmark") => Job::postmark((filled / (6513.0 + 2048.0)) as u32, operations, scratch),
        Some("fio") => Ok(Job::fio((filled / 262_144.0) as u32, operations)),
        Some(other) => Err(format!("no program called {other}; postmark or fio").into()),
        None => {
            let text = format!(
                "kind = \"{workload}\"\nutilisation = {:?}\noperations = {operations}\n",
                settings.utilisation
            );
            let workload: FileWorkloadConfig = toml::from_str(&text)?;
            let Settings { seed, sync_every, .. } = *settings;
            Job::generated(&GeneratedJob { workload, capacity_bytes: disk_bytes, seed, sync_every }, scratch)
        }
    }
}

/// Records one file system under one workload; the requests, and what was seen.
fn record(settings: &Settings, file_system: &str, workload: &str) -> Result<(RequestBatch, Seen), Failure> {
    let scratch = tempfile::Builder::new().prefix("wearwell-").tempdir_in(&settings.scratch)?;
    let recorder = Recorder::start(scratch.path(), settings.disk_mib << 20)?;
    let job = job(settings, workload, scratch.path())?;
    let memory_bytes = settings.cache_mib << 20;
    let seen = match HostFileSystem::named(file_system) {
        Some(host) => host.run(&recorder, &job, memory_bytes, scratch.path())?,
        None if file_system == NILFS2 => guest::run(&recorder, &job, memory_bytes, scratch.path())?,
        None => return Err(format!("no file system called {file_system}").into()),
    };
    Ok((recorder.requests(), seen))
}

/// Requests of one kind from `from` on: how many, and MiB.
fn sum(requests: &RequestBatch, from: usize, op: Op) -> (u64, f64) {
    let of_kind = (from..requests.len()).filter(|at| requests.op[*at] == op);
    let (count, bytes) =
        of_kind.fold((0, 0), |(count, bytes), at| (count + 1, bytes + requests.length_bytes[at]));
    (count, bytes as f64 / f64::from(1 << 20))
}

fn row(
    file_system: &str,
    workload: &str,
    requests: &RequestBatch,
    seen: &Seen,
    disk_bytes: u64,
) -> Result<Vec<String>, Failure> {
    let from = seen.set_up_requests;
    let [(writes, written), (trims, trimmed), (reads, _), (flushes, _)] =
        [Op::Write, Op::Trim, Op::Read, Op::Flush].map(|op| sum(requests, from, op));
    let user = seen.report.map(|report| report.counts.written_bytes as f64 / f64::from(1 << 20));
    let mut row = vec![file_system.to_owned(), workload.to_owned(), from.to_string()];
    row.push(user.map_or(String::new(), |user| format!("{user:.0}")));
    row.extend([writes.to_string(), format!("{written:.0}"), reads.to_string()]);
    row.extend([trims.to_string(), format!("{trimmed:.0}"), flushes.to_string()]);
    row.push(seen.report.map_or(String::new(), |report| format!("{:.1}", report.seconds)));
    for ftl in ReplayFtl::ALL {
        let replayed = replay(requests, from, ftl, disk_bytes)?;
        row.push(replayed.erases.to_string());
        row.push(replayed.erase_cost().map_or(String::new(), |cost| format!("{cost:.1}")));
    }
    Ok(row)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [first, job, root] = &arguments[..]
        && first == "play"
    {
        return play(Path::new(job), Path::new(root));
    }
    let settings = settings(lexopt::Parser::from_args(arguments))?;
    let mut table = Table::new(&[
        "file_system",
        "workload",
        "set_up_requests",
        "user_mib",
        "writes",
        "written_mib",
        "reads",
        "trims",
        "trimmed_mib",
        "flushes",
        "seconds",
        "page_erases",
        "page_erase_cost",
        "fast_erases",
        "fast_erase_cost",
    ]);
    for file_system in &settings.file_systems {
        for workload in &settings.workloads {
            let (requests, seen) = record(&settings, file_system, workload)?;
            if let Some(folder) = &settings.traces {
                std::fs::create_dir_all(folder)?;
                let name = format!("{file_system}-{}.csv.zst", workload.replace(':', "-"));
                let mut writer =
                    TraceWriter::create(folder.join(name), &WriteOptions::named("wearwell-csv"))?;
                writer.write_batch(&requests)?;
                writer.finish()?;
            }
            let row = row(file_system, workload, &requests, &seen, settings.disk_mib << 20)?;
            eprintln!("{}", row.join(" "));
            table.push(row);
        }
    }
    let command = format!(
        "cargo run --release -p wearwell-experiments --bin nvmfs_record -- --disk-mib {} --cache-mib {} --utilisation {} \
         --written-mib {} --seed {}",
        settings.disk_mib, settings.cache_mib, settings.utilisation, settings.written_mib, settings.seed
    );
    table.publish(&settings.out.join("nvmfs_record.csv"), &command)
}
