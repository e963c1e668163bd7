//! Qiu and Reddy (2013): what real file systems send to their disk under the paper's workloads, recorded and replayed on
//! two FTLs. Must be run by root.

use lexopt::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wearwell_experiments::Failure;
use wearwell_experiments::nvmfs::guest::{self, NILFS2};
use wearwell_experiments::nvmfs::host::HostFileSystem;
use wearwell_experiments::nvmfs::job::{GeneratedJob, Job, Seen, play};
use wearwell_experiments::nvmfs::nilfs_logs::NilfsLogs;
use wearwell_experiments::nvmfs::recorder::Recorder;
use wearwell_experiments::nvmfs::recording::{Recording, Setting};
use wearwell_experiments::nvmfs::replay::{ReplayFtl, replay};
use wearwell_experiments::nvmfs::stop;
use wearwell_experiments::table::Table;
use wearwell_nvmfs::workload::{FILE_WORKLOADS, FileWorkloadConfig};
use wearwell_trace::RequestBatch;

const HELP: &str = "\
nvmfs_record [--file-systems ext3,ext4,btrfs,nilfs2] [--workloads iozone,postmark,fio,fileserver,...]
             [--disk-mib 1536] [--cache-mib 96] [--utilisations 0.6,...] [--written-mib 3072] [--main-s 120]
             [--limit-s 600] [--seed 1] [--sync-every WRITES] [--memory /dev/shm] [--out experiments/results]
             [--name nvmfs_record] [--traces FOLDER]
A main phase ends when it has written --written-mib, or after --main-s; --limit-s is for set-up and main phase together.
The packaged programs are workloads too: program:postmark, program:fio.
nvmfs_record play JOB DIRECTORY: plays one job; used by the recordings.";

/// What to record.
struct Settings {
    file_systems: Vec<String>,
    workloads: Vec<String>,
    /// Of the disk. A sixteenth of the paper's flash, 24 GB.
    disk_mib: u64,
    /// Of the page cache: a sixteenth of the disk, as in the paper.
    cache_mib: u64,
    utilisations: Vec<f64>,
    /// What the main phase is to write, about.
    written_mib: u64,
    /// Longest main phase.
    main_seconds: f64,
    /// When a run is ended at the latest.
    limit_seconds: u32,
    seed: u64,
    sync_every: Option<u64>,
    /// Where the disk's content is kept, a tmpfs.
    memory: PathBuf,
    out: PathBuf,
    /// Of the table.
    name: String,
    /// Where recordings are kept; nowhere unless given.
    traces: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Settings {
            file_systems: names(&["ext3", "ext4", "btrfs", NILFS2]),
            workloads: FILE_WORKLOADS.iter().map(|entry| entry.name.to_owned()).collect(),
            disk_mib: 1536,
            cache_mib: 96,
            utilisations: vec![0.6],
            written_mib: 3072,
            main_seconds: 120.0,
            limit_seconds: 600,
            seed: 1,
            sync_every: None,
            memory: "/dev/shm".into(),
            out: "experiments/results".into(),
            name: "nvmfs_record".into(),
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
            Long("utilisations") => {
                let shares = list(parser.value()?)?;
                settings.utilisations = shares.iter().map(|share| share.parse()).collect::<Result<_, _>>()?;
            }
            Long("written-mib") => settings.written_mib = parser.value()?.parse()?,
            Long("main-s") => settings.main_seconds = parser.value()?.parse()?,
            Long("limit-s") => settings.limit_seconds = parser.value()?.parse()?,
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("sync-every") => settings.sync_every = Some(parser.value()?.parse()?),
            Long("memory") => settings.memory = parser.value()?.into(),
            Long("out") => settings.out = parser.value()?.into(),
            Long("name") => settings.name = parser.value()?.string()?,
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

fn job(settings: &Settings, setting: &Setting, scratch: &Path) -> Result<Job, Failure> {
    let Setting { workload, utilisation, disk_bytes, seed, .. } = *setting;
    let operations = operations(workload.trim_start_matches("program:"), settings.written_mib);
    let filled = utilisation * disk_bytes as f64;
    let mut job = match workload.strip_prefix("program:") {
        Some("postmark") => Job::postmark((filled / (6513.0 + 2048.0)) as u32, operations, scratch)?,
        Some("fio") => Job::fio((filled / 262_144.0) as u32, operations),
        Some(other) => return Err(format!("no program called {other}; postmark or fio").into()),
        None => {
            let text =
                format!("kind = \"{workload}\"\nutilisation = {utilisation:?}\noperations = {operations}\n");
            let job = GeneratedJob {
                workload: toml::from_str::<FileWorkloadConfig>(&text)?,
                capacity_bytes: disk_bytes,
                seed,
                sync_every: settings.sync_every,
                main_seconds: Some(settings.main_seconds),
            };
            Job::generated(&job, scratch)?
        }
    };
    job.limit_seconds = settings.limit_seconds;
    Ok(job)
}

/// Records one file system under one workload; the requests, and what was seen.
fn record(settings: &Settings, setting: &Setting) -> Result<(RequestBatch, Seen), Failure> {
    let folder = |parent: &Path| tempfile::Builder::new().prefix("wearwell-").tempdir_in(parent);
    let memory = folder(&settings.memory)?;
    // Elsewhere: a guest has another file system over the usual place for memory.
    let scratch = folder(&std::env::temp_dir())?;
    let logs = Arc::new(NilfsLogs::default());
    let witness = Arc::clone(&logs);
    let on_write = Box::new(move |disk: &_, offset, data: &_| witness.written(disk, offset, data));
    let recorder = Recorder::start_watched(memory.path(), setting.disk_bytes, on_write)?;
    let job = job(settings, setting, scratch.path())?;
    let seen = match HostFileSystem::named(setting.file_system) {
        Some(host) => host.run(&recorder, &job, setting.cache_bytes, scratch.path())?,
        None if setting.file_system == NILFS2 => {
            let mut seen = guest::run(&recorder, &logs, &job, setting.cache_bytes, scratch.path())?;
            let (requests, set_up_requests) = guest::merged(&recorder.requests(), seen.set_up_requests);
            seen.set_up_requests = set_up_requests;
            return Ok((requests, seen));
        }
        None => return Err(format!("no file system called {}", setting.file_system).into()),
    };
    Ok((recorder.requests(), seen))
}

const COLUMNS: [&str; 19] = [
    "file_system",
    "workload",
    "utilisation",
    "set_up_requests",
    "user_mib",
    "writes",
    "written_mib",
    "reads",
    "trims",
    "trimmed_mib",
    "flushes",
    "seconds",
    "waited_s",
    "recycled_blocks",
    "cleaning_efficiency",
    "page_erases",
    "page_erase_cost",
    "fast_erases",
    "fast_erase_cost",
];

fn row(recording: &Recording, requests: &RequestBatch) -> Result<Vec<String>, Failure> {
    let Recording { writes, reads, trims, flushes, report, cleaned, .. } = recording;
    let maybe = |text: Option<String>| text.unwrap_or_default();
    let user = report.map(|report| report.counts.written_bytes as f64 / f64::from(1 << 20));
    let mut row = vec![recording.file_system.clone(), recording.workload.clone()];
    row.extend([recording.utilisation.to_string(), recording.main_phase_from.to_string()]);
    row.push(maybe(user.map(|user| format!("{user:.0}"))));
    row.extend([writes.count.to_string(), format!("{:.0}", writes.mib()), reads.count.to_string()]);
    row.extend([trims.count.to_string(), format!("{:.0}", trims.mib()), flushes.count.to_string()]);
    row.push(maybe(report.map(|report| format!("{:.1}", report.seconds))));
    row.push(maybe(report.map(|report| format!("{:.1}", report.waited_seconds))));
    row.push(maybe(cleaned.map(|cleaned| cleaned.recycled_blocks.to_string())));
    let efficiency = cleaned.and_then(|cleaned| cleaned.efficiency());
    row.push(maybe(efficiency.map(|efficiency| format!("{efficiency:.2}"))));
    for ftl in ReplayFtl::ALL {
        let replayed = replay(requests, recording.main_phase_from, ftl, recording.disk_bytes)?;
        row.push(replayed.erases.to_string());
        row.push(maybe(replayed.erase_cost().map(|cost| format!("{cost:.1}"))));
    }
    Ok(row)
}

/// Records, keeps what was recorded, and sums it up.
fn record_and_save(settings: &Settings, setting: &Setting) -> Result<Vec<String>, Failure> {
    let (requests, seen) = record(settings, setting)?;
    let recording = Recording::new(setting, &requests, &seen);
    if let Some(folder) = &settings.traces {
        recording.save(folder, &requests, &seen.lines)?;
    }
    row(&recording, &requests)
}

/// All that is to be recorded.
fn all(settings: &Settings) -> Vec<Setting<'_>> {
    let mut all = Vec::new();
    for file_system in &settings.file_systems {
        for utilisation in &settings.utilisations {
            all.extend(settings.workloads.iter().map(|workload| Setting {
                file_system,
                workload,
                utilisation: *utilisation,
                disk_bytes: settings.disk_mib << 20,
                cache_bytes: settings.cache_mib << 20,
                seed: settings.seed,
            }));
        }
    }
    all
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [first, job, root] = &arguments[..]
        && first == "play"
    {
        return play(Path::new(job), Path::new(root));
    }
    let settings = settings(lexopt::Parser::from_args(arguments.clone()))?;
    stop::on_signals()?;
    let mut table = Table::new(&COLUMNS);
    let mut failed = 0;
    for setting in all(&settings) {
        match record_and_save(&settings, &setting) {
            Ok(row) => {
                eprintln!("{}", row.join(" "));
                table.push(row);
            }
            Err(error) if stop::asked() => return Err(error),
            Err(error) => {
                let Setting { file_system, workload, utilisation, .. } = setting;
                eprintln!("{file_system} {workload} {utilisation}: {error}");
                failed += 1;
            }
        }
    }
    let mut command = "cargo run --release -p wearwell-experiments --bin nvmfs_record --".to_owned();
    arguments.iter().for_each(|argument| command.extend([" ", &argument.to_string_lossy()]));
    let text = table.to_csv(&command);
    print!("{text}");
    std::fs::create_dir_all(&settings.out)?;
    std::fs::write(settings.out.join(format!("{}.csv", settings.name)), text)?;
    if failed > 0 {
        return Err(format!("{failed} recordings failed").into());
    }
    Ok(())
}
