//! `wearwell live demo`: effect of live software on a small drive, and possible improvements.

use super::writers::{DemoPart, PARTS, has_fio};
use crate::commands::advise;
use crate::exit::Failure;
use crate::interrupt::wait_for_cleanup;
use crate::output::{print, write_text};
use crate::report::grid;
use clap::Parser;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_serve::nbd::{Address, Limits, Server};
use wearwell_serve::{Device, SharedDevice, Status};
use wearwell_stack::Draft;

/// Scenario of the demonstration's drive.
const DRIVE: &str = include_str!("../../../../../scenarios/live.toml");

/// Options of the `wearwell advise` command: few families, to keep the demonstration short.
const ADVICE: [&str; 8] =
    ["--set", "measure.max_warm_up=60", "--only", "victim,streams", "--replicas", "3", "--depth", "1"];

/// Serves a small drive, writes to it as real software does, and shows the effect on the flash and possible improvements
///
/// Needs no privileges and no set-up, and takes less than two minutes. fio writes if it is installed and supports NBD;
/// otherwise a built-in client writes. The requests are recorded and `wearwell advise` runs on the recording; the
/// equivalent command of each step is shown.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Client that writes
    #[arg(long, value_enum, default_value_t = ClientKind::Auto)]
    client: ClientKind,
    /// Most seconds for each part
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// Keep scenario and recording in a new folder, for further commands
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Client that writes.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ClientKind {
    /// fio if it is installed
    Auto,
    /// fio
    Fio,
    /// Built-in client
    Own,
}

const HELP: &str = "\
Examples:
  wearwell live demo
  wearwell live demo --client own --seconds 5 --keep demo
  wearwell run demo/drive.toml --trace demo/recording.csv.zst --report demo.html    what was kept, once more";

/// Arguments of `advise` as its command line parses them.
#[derive(Parser)]
#[command(name = "wearwell advise", no_binary_name = true)]
struct AdviseCommand {
    #[command(flatten)]
    args: advise::Args,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let uses_fio = match args.client {
        ClientKind::Own => false,
        ClientKind::Auto => has_fio(),
        ClientKind::Fio if has_fio() => true,
        ClientKind::Fio => {
            return Err(Failure::usage(
                "--client fio: fio is not installed, or does not speak NBD (`fio --enghelp=nbd`)",
            ));
        }
    };
    let temporary = tempfile::Builder::new().prefix("wearwell-demo-").tempdir();
    let temporary =
        temporary.map_err(|error| Failure::run(format!("a folder for the demonstration: {error}")))?;
    let folder = match &args.keep {
        Some(folder) => {
            let created = std::fs::create_dir(folder);
            created.map_err(|error| {
                Failure::Usage(format!(
                    "--keep {}: {error}; name a folder that is not there yet",
                    folder.display()
                ))
            })?;
            folder.as_path()
        }
        None => temporary.path(),
    };
    let (scenario, recording) = (folder.join("drive.toml"), folder.join("recording.csv.zst"));
    write_text(&scenario, DRIVE)?;
    wait_for_cleanup();
    write(args, uses_fio, temporary.path(), &recording)?;
    advice(&scenario, &recording)
}

/// Serves the drive, runs all parts on it, and shows their effects.
fn write(args: &Args, uses_fio: bool, folder: &Path, recording: &Path) -> Result<(), Failure> {
    let draft = Draft::from_toml(DRIVE, "live.toml (built in)")?;
    let mut device = Device::in_memory(&draft.scenario()?).map_err(|error| draft.explain(&error))?;
    device.record(recording).map_err(Failure::run)?;
    let (bytes, shared) = (device.bytes(), SharedDevice::new(device));
    let socket = folder.join("drive.sock");
    let server = Server::start(shared.clone(), &Address::Unix(socket.clone()), Limits::default());
    let server = server.map_err(|error| Failure::run(format!("{}: {error}", socket.display())))?;
    let mib = bytes >> 20;
    print(&format!(
        "A drive of {mib} MiB is served at {}, as `wearwell serve scenarios/live.toml --nbd` does.\n\n",
        server.uri()
    ))?;
    let max_duration = Duration::from_secs(args.seconds.into());
    let mut parts = Vec::new();
    let mut before = status(&shared)?;
    for part in PARTS {
        let client = part.run(&socket, uses_fio, max_duration)?;
        let after = status(&shared)?;
        print(&format!("{}: written by {client}\n", part.name))?;
        parts.push(PartEffect::of_part(part, &before, &after));
        before = after;
    }
    server.stop();
    let mut device = shared.take().ok_or_else(|| Failure::run("the drive is served no more"))?;
    if let Some(recorded) = device.end_recording() {
        recorded.map_err(Failure::run)?;
    }
    print(&format!("\nPages that the flash programmed for each page written, by cause:\n{}\n", table(&parts)))
}

fn status(device: &SharedDevice) -> Result<Status, Failure> {
    device.with(|device| Ok(device.status())).map_err(Failure::run)
}

/// Effect of one part.
struct PartEffect {
    name: &'static str,
    /// Counters of the FTL.
    counters: Counters,
    page_bytes: u64,
    /// 99th percentile of the write latency.
    p99_ns: Option<u64>,
}

impl PartEffect {
    /// Returns the differences between two readings of the drive's status.
    fn of_part(part: &DemoPart, before: &Status, after: &Status) -> Self {
        let ftl = |status: &Status| {
            status.snapshot.reports().layers.last().expect("every stack has an FTL").counters
        };
        let writes = |status: &Status| status.read().requests["write"].clone();
        PartEffect {
            name: part.name,
            counters: ftl(after).since(&ftl(before)),
            page_bytes: u64::from(after.snapshot.result().device.page_bytes),
            p99_ns: writes(after).since(&writes(before)).percentile_ns(99.0),
        }
    }

    fn row(&self, causes: &[Cause]) -> Vec<String> {
        let written = self.counters.incoming(Operation::Write);
        let per_page = |pages: u64| match written {
            0 => "-".into(),
            _ => format!("{:.3}", pages as f64 / written as f64),
        };
        let mut row = vec![self.name.to_owned(), ((written * self.page_bytes) >> 20).to_string()];
        row.extend(causes.iter().map(|&cause| per_page(self.counters.outgoing(cause, Operation::Write))));
        row.push(per_page(self.counters.outgoing_total(Operation::Write)));
        row.push(self.p99_ns.map_or("-".into(), |ns| format!("{:.0} us", ns as f64 / 1000.0)));
        row
    }
}

/// Returns a table with a row for each part, and a column for each cause that wrote anything.
fn table(parts: &[PartEffect]) -> String {
    let has_writes =
        |cause: &Cause| parts.iter().any(|part| part.counters.outgoing(*cause, Operation::Write) > 0);
    let causes: Vec<Cause> = Cause::ALL.into_iter().filter(has_writes).collect();
    let names = causes.iter().map(|cause| cause.name());
    let head: Vec<&str> =
        ["", "MiB written"].into_iter().chain(names).chain(["all", "99 % of writes within"]).collect();
    let right: Vec<usize> = (1..head.len()).collect();
    grid(&head, parts.iter().map(|part| part.row(&causes)).collect(), &right)
}

/// Runs `wearwell advise` on the recorded requests, as a user would.
fn advice(scenario: &Path, recording: &Path) -> Result<(), Failure> {
    let (scenario, recording) = (scenario.display().to_string(), recording.display().to_string());
    let words = [&scenario, "--trace", &recording, "--set", "trace.address=direct"];
    let words: Vec<&str> = words.into_iter().chain(ADVICE).collect();
    print(&format!(
        "What would be better, by the recording of that (--keep FOLDER keeps both files):\n$ wearwell advise {}\n",
        words.join(" ")
    ))?;
    let advise = AdviseCommand::try_parse_from(words).map_err(|error| Failure::run(error.to_string()))?;
    advise::run(&advise.args)
}
