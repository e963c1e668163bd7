//! Records the requests of real file systems to their disk under the workloads of Qiu and Reddy (2013). Must be run by root.

use lexopt::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wearwell_experiments::Failure;
use wearwell_experiments::nvmfs::guest::{self, NILFS2};
use wearwell_experiments::nvmfs::host::HostFileSystem;
use wearwell_experiments::nvmfs::job::{GeneratedJob, Job, play};
use wearwell_experiments::nvmfs::nilfs_logs::NilfsLogs;
use wearwell_experiments::nvmfs::recorder::{OnWrite, Recorder};
use wearwell_experiments::nvmfs::recording::{FileSystemRecordingInfo, NAME, Recording, Setting};
use wearwell_experiments::nvmfs::stop;
use wearwell_experiments::recordings::{paths, read, write};
use wearwell_nvmfs::workload::{FILE_WORKLOADS, FileWorkloadConfig};

const HELP: &str = "\
nvmfs_record --kept FOLDER [--file-systems ext3,ext4,btrfs,nilfs2] [--workloads iozone,postmark,fio,fileserver]
             [--utilisations 0.6,0.87] [--disk-mib 384] [--cache-mib 64] [--written-mib 384] [--limit-s 900] [--seed 1]
             [--memory /dev/shm] [--out experiments/recordings]
Makes a recording of each file system under each workload at each utilisation, keeps each in FOLDER as soon as it is made, and makes none
again that is there. All that are there are then written to file_systems.columns.xz and file_systems.csv in --out.
A main phase ends when the workload has written --written-mib, PostMark a quarter of it; what it wrote is synced whenever that fills the page cache, and never after some
time by the clock. --limit-s is for set-up and main phase together.
Needs the packages e2fsprogs and btrfs-progs, and for nilfs2 user-mode-linux, nilfs-tools, busybox and kmod.
nvmfs_record play JOB DIRECTORY: plays one job; used by the recordings.";

/// Options of the recording.
struct Settings {
    file_systems: Vec<String>,
    workloads: Vec<String>,
    utilisations: Vec<f64>,
    disk_mib: u64,
    /// Size of the page cache: a sixth of the disk, like the 4 GB of memory and 24 GB of disk in the paper.
    cache_mib: u64,
    /// Number of bytes that the main phase writes.
    written_mib: u64,
    /// Time limit of a run.
    limit_seconds: u32,
    seed: u64,
    /// Folder on a tmpfs for the content of the disk.
    memory: PathBuf,
    /// Folder in which each recording is stored.
    recordings_folder: Option<PathBuf>,
    out: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Settings {
            file_systems: names(&["ext3", "ext4", "btrfs", NILFS2]),
            workloads: FILE_WORKLOADS.iter().map(|entry| entry.name.to_owned()).collect(),
            utilisations: vec![0.6, 0.87],
            disk_mib: 384,
            cache_mib: 64,
            written_mib: 384,
            limit_seconds: 900,
            seed: 1,
            memory: "/dev/shm".into(),
            recordings_folder: None,
            out: "experiments/recordings".into(),
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
            Long("utilisations") => {
                let shares = list(parser.value()?)?;
                settings.utilisations = shares.iter().map(|share| share.parse()).collect::<Result<_, _>>()?;
            }
            Long("disk-mib") => settings.disk_mib = parser.value()?.parse()?,
            Long("cache-mib") => settings.cache_mib = parser.value()?.parse()?,
            Long("written-mib") => settings.written_mib = parser.value()?.parse()?,
            Long("limit-s") => settings.limit_seconds = parser.value()?.parse()?,
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("memory") => settings.memory = parser.value()?.into(),
            Long("kept") => settings.recordings_folder = Some(parser.value()?.into()),
            Long("out") => settings.out = parser.value()?.into(),
            Long("help") => {
                println!("{HELP}");
                std::process::exit(0);
            }
            _ => return Err(arg.unexpected().into()),
        }
    }
    Ok(settings)
}

fn job(settings: &Settings, setting: &Setting, scratch: &Path) -> Result<Job, Failure> {
    let Setting { workload, utilisation, disk_bytes, seed, .. } = setting;
    let job = GeneratedJob {
        workload: toml::from_str::<FileWorkloadConfig>(&format!(
            "kind = \"{workload}\"\nutilisation = {utilisation:?}\n"
        ))?,
        capacity_bytes: *disk_bytes,
        seed: *seed,
        main_bytes: main_bytes(settings, workload),
        sync_bytes: Some(setting.cache_bytes),
        unique_pages: false,
    };
    let mut job = Job::generated(&job, &["play"], scratch)?;
    job.limit_seconds = settings.limit_seconds;
    Ok(job)
}

/// Returns the bytes that the main phase of a workload writes. PostMark's files are so small that file systems send
/// about five times this number of bytes to the disk.
fn main_bytes(settings: &Settings, workload: &str) -> u64 {
    let share = if workload == "postmark" { 4 } else { 1 };
    (settings.written_mib << 20) / share
}

/// Records one file system under one workload; further output of the job is written to `log_path`.
fn record(settings: &Settings, setting: &Setting, log_path: &Path) -> Result<Recording, Failure> {
    let folder = |parent: &Path| tempfile::Builder::new().prefix("wearwell-").tempdir_in(parent);
    let memory = folder(&settings.memory)?;
    // The scratch folder must not be in the usual folder for memory, because a guest mounts another file system
    // there.
    let scratch = folder(&std::env::temp_dir())?;
    let logs = Arc::new(NilfsLogs::default());
    let observer = Arc::clone(&logs);
    let on_write: OnWrite = Box::new(move |disk, offset, data| observer.record_write(disk, offset, data));
    let recorder = Recorder::start_with_callback(memory.path(), setting.disk_bytes, on_write)?;
    let job = job(settings, setting, scratch.path())?;
    let (requests, output) = match HostFileSystem::named(&setting.file_system) {
        Some(host) => {
            let output = host.run(&recorder, &job, setting.cache_bytes, scratch.path())?;
            (recorder.requests(), output)
        }
        None if setting.file_system == NILFS2 => {
            let mut output = guest::run(&recorder, &logs, &job, setting.cache_bytes, scratch.path())?;
            let (requests, measured_from) =
                guest::merge_requests(&recorder.requests(), output.set_up_requests);
            output.set_up_requests = measured_from;
            (requests, output)
        }
        None => return Err(format!("no file system called {}", setting.file_system).into()),
    };
    std::fs::write(log_path, output.lines.join("\n"))?;
    Ok(Recording { info: FileSystemRecordingInfo::new(setting, &requests, &output)?, requests })
}

/// Returns all settings to record.
fn all_settings(settings: &Settings) -> Vec<Setting> {
    let mut all = Vec::new();
    for file_system in &settings.file_systems {
        for utilisation in &settings.utilisations {
            all.extend(settings.workloads.iter().map(|workload| Setting {
                file_system: file_system.clone(),
                workload: workload.clone(),
                utilisation: *utilisation,
                disk_bytes: settings.disk_mib << 20,
                cache_bytes: settings.cache_mib << 20,
                seed: settings.seed,
            }));
        }
    }
    all
}

/// Returns the recording that is stored in `folder`; records it if it is missing.
fn read_or_record(settings: &Settings, setting: &Setting, folder: &Path) -> Result<Recording, Failure> {
    let name = setting.name();
    let [requests, table] = paths(folder, &name);
    if !table.exists() {
        std::fs::create_dir_all(folder)?;
        let recording = record(settings, setting, &folder.join(format!("{name}.log")))?;
        let FileSystemRecordingInfo { user_written_bytes, written_bytes, seconds, .. } = recording.info;
        eprintln!("{name}: {} MiB made {} in {seconds:.0} s", user_written_bytes >> 20, written_bytes >> 20);
        write(&[recording], folder, &name)?;
    }
    let found = read(&name, std::fs::File::open(requests)?, &std::fs::read_to_string(table)?)?;
    Ok(found.into_iter().next().ok_or("a file without a recording")?)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [first, job, root] = &arguments[..]
        && first == "play"
    {
        return play(Path::new(job), Path::new(root));
    }
    let settings = settings(lexopt::Parser::from_args(arguments))?;
    let folder = settings.recordings_folder.as_ref().ok_or("--kept FOLDER is missing")?;
    stop::on_signals()?;
    let (mut recordings, mut failed) = (Vec::new(), 0);
    for setting in all_settings(&settings) {
        match read_or_record(&settings, &setting, folder) {
            Ok(recording) => recordings.push(recording),
            Err(error) if stop::is_stop_requested() => return Err(error),
            Err(error) => {
                eprintln!("{}: {error}", setting.name());
                failed += 1;
            }
        }
    }
    write(&recordings, &settings.out, NAME)?;
    if failed > 0 {
        return Err(format!("{failed} recordings failed").into());
    }
    Ok(())
}
